//! Field cases of routing by their ids, and their neighbours: everything is down at once, the list of
//! targets changes under running requests, the upstream is another router.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::support::{Answer, Gate, Reply, Setup, World, credential, eventually};

const CHAT: &str = "/v1/chat/completions";

/// Rests long enough for any test.
const LONG: &str = "[resilience.connection_cooldown.apikey]\nbase_cooldown_ms = 600000\n";

fn asked(world: &World, providers: &[&str]) -> usize {
    providers.iter().map(|provider| world.upstream(provider).asked()).sum()
}

const REFUSED: &str = r#"{"type":"error","error":{"type":"invalid_request_error","message":"messages.1.content.0: Invalid `signature` in `thinking` block"}}"#;

fn with_thoughts(model: &str) -> Value {
    let thought = json!({"type": "thinking", "thinking": "hm", "signature": "c2ln"});
    let text = json!({"type": "text", "text": "hello"});
    let messages = json!([
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": [thought, text]},
        {"role": "user", "content": "and?"}
    ]);
    json!({"model": model, "max_tokens": 5, "messages": messages})
}

/// The account that signed them is out: another one is asked once more without them, and does not
/// rest for it.
#[test]
fn fc_045_thoughts_of_another_account_are_left_out_once() {
    let world = Setup::new().section(LONG).provider("a", 1).provider("b", 1).combo("c", &["a", "b"]).start();
    world.post("/v1/messages", with_thoughts("c")).served_by("a");
    assert!(world.upstream("a").requests()[0].body.windows(9).any(|part| part == b"signature"));
    world.order("connection", "a-1", json!({"message": "cool", "for": "10m"}));
    world.upstream("b").answers_first([Answer::json(400, REFUSED)]);
    world.post("/v1/messages", with_thoughts("c")).served_by("b");
    let sent: Vec<Value> = world
        .upstream("b")
        .requests()
        .iter()
        .map(|request| serde_json::from_slice(&request.body).unwrap())
        .collect();
    let mut whole = with_thoughts("x");
    assert_eq!((sent.len(), &sent[0]), (2, &whole));
    whole["messages"][1]["content"].as_array_mut().unwrap().remove(0);
    assert_eq!(sent[1], whole);
    assert_eq!((world.failures("b"), world.in_flight("b-1")), (0, 0));
    world.ask("b/x").served_by("b");
}

/// Whoever refuses them again, or was sent none, has the last word.
#[test]
fn fc_045_a_second_refusal_is_told_as_it_came() {
    let world = Setup::new().provider("b", 1).start();
    world.upstream("b").answers(Answer::json(400, REFUSED));
    let reply = world.post("/v1/messages", with_thoughts("b/x"));
    assert_eq!((reply.status, reply.text().as_str(), world.upstream("b").asked()), (400, REFUSED, 2));
    let reply = world.post("/v1/messages", json!({"model": "b/x", "max_tokens": 5, "messages": []}));
    assert_eq!((reply.status, world.upstream("b").asked()), (400, 3));
    assert_eq!(world.failures("b"), 0);
}

/// Decision 26b: the cap is an operator's, and only of the header; what is inside stays true.
#[test]
fn fc_068_a_cap_shortens_the_header_and_nothing_else() {
    for (cap, told) in [("59s", "59"), ("0s", "57600")] {
        let world = Setup::new().server(&format!("max_retry_after = \"{cap}\"")).provider("a", 1).start();
        let headers = "content-type: application/json\r\nretry-after: 57600\r\n";
        world.upstream("a").answers(Answer::sized(429, headers, r#"{"error":{"message":"later"}}"#));
        for poll in 0..4 {
            let reply = world.post("/v1/messages", json!({"model": "a/x", "max_tokens": 1, "messages": []}));
            assert_eq!(reply.status, 429, "{}", reply.text());
            let wait: u64 = reply.header("retry-after").unwrap().parse().unwrap();
            assert!(
                (told.parse::<u64>().unwrap() - 5..=told.parse().unwrap()).contains(&wait),
                "{cap}: {wait}"
            );
            if poll > 0 {
                let body = reply.json();
                assert_eq!(body["type"], "error", "{body}");
                let true_wait = body["error"]["reset_seconds"].as_u64().unwrap_or_default();
                assert!((57_590..=57_600).contains(&true_wait), "{body}");
            }
        }
        assert_eq!(world.upstream("a").asked(), 1, "polling costs nothing");
    }
}

/// Decision 30a: what is full is the model upstream, by whatever name it was asked for.
#[test]
fn fc_103_two_names_of_one_model_share_its_cap() {
    let world = Setup::new()
        .provider("a", 1)
        .section("rate_limit_overrides = { model_concurrency = { x = 1 } }")
        .provider("b", 1)
        .combo("low", &["a", "b"])
        .section("[aliases]\nx-high = \"a/x\"\nx-low = \"a/x\"")
        .start();
    let gate = Gate::default();
    world.upstream("a").answers_first([Answer::good("a").held_by(&gate)]);
    let mut first = world.open(CHAT, &json!({"model": "x-high"}));
    eventually("the first runs", || world.upstream("a").asked() == 1);
    world.ask("low").served_by("b");
    let mut second = world.open(CHAT, &json!({"model": "x-low"}));
    let inside = || world.admin("/api/actors/router/router").json()["inFlight"].as_u64().unwrap();
    eventually("the second is there", || inside() == 2);
    world.ask("low").served_by("b");
    let opened = Instant::now();
    gate.open();
    first.reply().served_by("a");
    second.reply().served_by("a");
    assert!(world.upstream("a").requests()[1].at >= opened, "it has waited");
    assert_eq!(world.in_flight("a-1"), 0);
}

/// Decision 26b: what the upstream wrote is not touched; a header tells what the name stood for.
#[test]
fn fc_123_an_alias_is_resolved_in_a_header_and_the_answer_stays_as_it_came() {
    let world = Setup::new().provider("a", 1).section("[aliases]\nclaude-x = \"a/gpt-y\"").start();
    let said = r#""model":"GPT-Y-2026","served_by":"a""#;
    let bodies = [
        (
            CHAT,
            format!(r#"{{{said},"choices":[{{"message":{{"content":"hi"}},"delta":{{"content":"hi"}}}}]}}"#),
        ),
        (
            "/v1/messages",
            format!(
                r#"{{{said},"type":"message","content":[{{"type":"text","text":"hi"}}],"stop_reason":"end_turn"}}"#
            ),
        ),
        (
            "/v1/responses",
            format!(
                r#"{{{said},"output":[{{"type":"message","content":[{{"type":"output_text","text":"hi"}}]}}]}}"#
            ),
        ),
    ];
    for (path, body) in bodies {
        world.upstream("a").answers(Answer::json(200, &body));
        let reply = world.post(path, json!({"model": "claude-x", "max_tokens": 5}));
        assert_eq!((reply.status, reply.text()), (200, body), "{path}");
        assert_eq!(reply.header("x-omniroute-model"), Some("gpt-y"), "{path}");
        let sent = world.upstream("a").requests().pop().unwrap();
        assert_eq!(serde_json::from_slice::<Value>(&sent.body).unwrap()["model"], "gpt-y", "{path}");
    }
    let chunk =
        format!("data: {{{said},\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"hi\"}}}}]}}\n\n");
    let stream = Answer::stream().chunk(&chunk).chunk(&chunk).chunk("data: [DONE]\n\n").last_chunk();
    world.upstream("a").answers(stream);
    let reply = world.ask_streamed("claude-x");
    assert_eq!(reply.text(), format!("{chunk}{chunk}data: [DONE]\n\n"));
    assert_eq!(reply.header("x-omniroute-model"), Some("gpt-y"));
    let decision = world.admin("/api/decisions?limit=1").json()["decisions"][0].clone();
    assert_eq!(decision["model"], "claude-x", "{decision}");
    assert_eq!(decision["attempts"][0]["model"], "gpt-y", "{decision}");
}

/// One cools, one is locked, one fails, one serves; no key and no prompt is told.
#[test]
fn fc_130_who_served_and_who_was_skipped_is_told() {
    let mut setup = Setup::new().section(LONG);
    for provider in ["a", "b", "d", "e"] {
        setup = setup.provider(provider, 1);
    }
    let world = setup.combo("each", &["a", "b", "d", "e"]).start();
    for (model, status) in [("a/x", 503), ("b/x", 404)] {
        world.upstream(&model[..1]).answers_first([Answer::status(status)]);
        assert_ne!(world.ask(model).status, 200, "{model}");
    }
    world.upstream("d").answers_first([Answer::status(503)]);
    let prompt = "prompt-canary-4711";
    let reply = world.post(CHAT, json!({"model": "each", "messages": [{"role": "user", "content": prompt}]}));
    reply.served_by("e");
    let header = |name| reply.header(name).unwrap_or_else(|| panic!("no {name}"));
    assert!(header("x-request-id").starts_with("req_"));
    let served =
        ["x-omniroute-provider", "x-omniroute-model", "x-omniroute-selected-connection-id"].map(header);
    assert_eq!(served, ["e", "x", "e-1"]);
    assert_eq!(header("x-omniroute-combo-attempted"), "2");
    assert_eq!(header("x-omniroute-combo-pool-size"), "4");
    assert_eq!(header("x-omniroute-combo-excluded"), "a/x:connection_cooldown,b/x:model_lockout");
    let log = world.admin("/api/decisions?model=each&limit=1");
    let decision = log.json()["decisions"][0].clone();
    let rows = |what: &str, field: &str| {
        let rows = decision[what].as_array().unwrap().iter();
        rows.map(|row| row[field].as_str().unwrap_or("-").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(rows("attempts", "connection"), ["d-1", "e-1"]);
    assert_eq!(rows("attempts", "reason"), ["server_error", "-"]);
    assert_eq!(rows("excluded", "reason"), ["connection_cooldown", "model_lockout"]);
    let shown = format!("{:?}{}", reply.headers, log.text());
    assert!(!shown.contains(prompt), "{shown}");
    for connection in ["a-1", "b-1", "d-1", "e-1"] {
        assert!(!shown.contains(&credential(connection)), "{shown}");
    }
}

fn counted(world: &World, query: &str) -> u64 {
    let items = world.admin(&format!("/api/usage/history{query}")).json()["items"].clone();
    items.as_array().unwrap().iter().map(|item| item["requests"].as_u64().unwrap()).sum()
}

/// Served, failed, left by its client, never sent: one row each, however they are added up.
#[test]
fn fc_131_every_request_leaves_one_row_whatever_the_window() {
    let world = Setup::new().provider("a", 1).provider("b", 1).start();
    world.ask("a/x").served_by("a");
    world.upstream("b").answers_first([Answer::status(503)]);
    assert_eq!(world.ask("b/x").status, 503);
    world.ask("nobody/x").is_error(404, "model_not_found");
    world.upstream("a").answers_first([Answer::silence()]);
    let left = world.open(CHAT, &json!({"model": "a/x"}));
    eventually("it was sent", || world.upstream("a").asked() == 2);
    drop(left);
    eventually("all are counted", || counted(&world, "") >= 4);
    for by in ["key", "model", "provider", "connection", "day"] {
        assert_eq!(counted(&world, &format!("?groupBy={by}")), 4, "{by}");
    }
    // Days are UTC, whoever looks: an instant of UTC+8 stands for the day that it is there.
    let items = world.admin("/api/usage/history?groupBy=day").json()["items"].clone();
    let day = items[0]["day"].as_str().unwrap().to_owned();
    assert_eq!(counted(&world, &format!("?from={day}&to={day}")), 4);
    assert_eq!(counted(&world, &format!("?from={day}T10:00:00%2B08:00&to={day}T10:00:00%2B08:00")), 4);
    assert_eq!(counted(&world, &format!("?from={day}T02:00:00%2B08:00&to={day}T02:00:00%2B08:00")), 0);
}

/// A first request finds out, and costs each target once; the others are told at once, with a wait.
/// Whoever comes back first is asked again.
#[test]
fn everything_down_at_once_costs_each_target_once_and_ends_when_one_is_back() {
    let all = ["a", "b", "d"];
    let mut setup = Setup::new().section(LONG);
    for provider in all {
        setup = setup.provider(provider, 2);
    }
    let world = setup.combo("all", &all).start();
    for provider in all {
        world.upstream(provider).answers(Answer::status(503));
    }
    assert_eq!(world.ask("all").status, 503);
    let before = asked(&world, &all);
    assert!((3..=6).contains(&before), "{before}");
    let started = Instant::now();
    for _ in 0..20 {
        for reply in [world.ask("all"), world.ask_streamed("all")] {
            assert!([429, 503].contains(&reply.status), "{}", reply.text());
            assert!(reply.header("retry-after").is_some(), "{}", reply.text());
        }
    }
    assert!(started.elapsed() < Duration::from_secs(10));
    assert!(asked(&world, &all) <= before + 3, "resting targets are not asked");
    world.upstream("d").answers(Answer::good("d"));
    for connection in ["d-1", "d-2"] {
        world.order("connection", connection, json!({"message": "reset"}));
    }
    world.order("provider", "d", json!({"message": "reset"}));
    world.ask("all").served_by("d");
    for provider in all {
        for number in 1..=2 {
            assert_eq!(world.in_flight(&format!("{provider}-{number}")), 0);
        }
    }
}

fn combo(world: &World, method: &str, path: &str, targets: &[&str]) -> Reply {
    let models: Vec<Value> = targets.iter().map(|model| json!({"model": model})).collect();
    let reply = world.manage(method, path, &json!({"name": "c", "strategy": "priority", "models": models}));
    assert!([200, 201].contains(&reply.status), "{}", reply.text());
    reply
}

/// Requests under way keep the list that they began with; the next one has the new list.
#[test]
fn a_catalogue_that_changes_cuts_no_request() {
    let world = Setup::new().provider("a", 1).provider("b", 1).provider("d", 1).start();
    let made = combo(&world, "POST", "/api/combos", &["a/x", "b/x"]).json();
    let id =
        made["id"].as_str().or(made["combo"]["id"].as_str()).unwrap_or_else(|| panic!("{made}")).to_owned();
    let path = format!("/api/combos/{id}");
    let gate = Gate::default();
    world.upstream("a").answers_first([Answer::status(503).held_by(&gate)]);
    let mut running = world.open(CHAT, &json!({"model": "c"}));
    eventually("it was sent", || world.upstream("a").asked() == 1);
    combo(&world, "PUT", &path, &["d/x"]);
    world.ask("c").served_by("d");
    gate.open();
    running.reply().served_by("b");
    assert!([200, 204].contains(&world.manage("DELETE", &path, &Value::Null).status));
    world.ask("c").is_error(404, "model_not_found");
    for connection in ["a-1", "b-1", "d-1"] {
        assert_eq!(world.in_flight(connection), 0);
    }
}

/// Its words about itself are not ours: what we say is said once, and its refusals are an upstream's.
#[test]
fn another_router_as_the_upstream_is_an_upstream_like_any_other() {
    let world = Setup::new().section(LONG).provider("a", 1).provider("b", 1).combo("c", &["a", "b"]).start();
    let theirs = "content-type: application/json\r\nx-request-id: req_theirs\r\n\
                  x-omniroute-provider: theirs\r\nx-omniroute-model: theirs\r\n\
                  x-omniroute-selected-connection-id: theirs\r\nx-omniroute-decision: theirs\r\n\
                  x-omniroute-combo-excluded: theirs\r\nx-omniroute-fallback-attempts: 7\r\n\
                  x-switchtower-overhead-us: 9999999999\r\n";
    let good = r#"{"choices":[{"message":{"content":"hi"}}],"served_by":"a"}"#;
    world.upstream("a").answers_first([Answer::sized(200, theirs, good)]);
    let reply = world.ask("c");
    reply.served_by("a");
    assert_eq!(reply.header("x-upstream-request-id"), Some("req_theirs"));
    assert_ne!(reply.header("x-request-id"), Some("req_theirs"));
    assert_eq!(reply.header("x-omniroute-provider"), Some("a"));
    for (name, value) in &reply.headers {
        assert!(value != "theirs" && value != "7" && value != "9999999999", "{name}: {value}");
    }
    // It is full, and says for how long.
    let full = r#"{"error":{"message":"all targets are cooling","type":"rate_limit_error","code":"model_cooldown","reset_seconds":90}}"#;
    let head = "content-type: application/json\r\nretry-after: 90\r\n";
    world.upstream("a").answers(Answer::sized(429, head, full));
    let before = world.upstream("a").asked();
    for _ in 0..3 {
        world.ask("c").served_by("b");
    }
    assert_eq!(world.upstream("a").asked(), before + 1, "it is left alone as long as it says");
    let refused = world.ask("a/x");
    refused.is_error(429, "model_cooldown");
    let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((80..=90).contains(&wait), "{wait}");
}
