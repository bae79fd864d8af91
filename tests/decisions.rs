//! Saying why: the decision log, the answer's headers and the explanation tell one story
//! (contract 4, 8).

#[allow(dead_code, unused_imports, reason = "each test file uses its part")]
mod support;

use serde_json::{Value, json};
use support::{Answer, Gate, Setup, World, eventually};

/// Rests long enough for any test.
const LONG: &str = "[resilience.connection_cooldown.apikey]\nbase_cooldown_ms = 600000\n";

fn explain(world: &World, body: Value) -> Value {
    let reply = world.manage("POST", "/api/route/explain", &body);
    assert_eq!(reply.status, 200, "{}", reply.text());
    reply.json()
}

fn pairs(rows: &Value, what: &str) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    rows.as_array().unwrap().iter().map(|row| (text(&row["provider"]), text(&row[what]))).collect()
}

fn of(rows: &[(&str, &str)]) -> Vec<(String, String)> {
    rows.iter().map(|(one, other)| ((*one).to_owned(), (*other).to_owned())).collect()
}

/// One that cools, one that is locked, one behind an open breaker, one that fails, one that is well.
fn a_world_of_each() -> World {
    let mut setup = Setup::new().section(LONG);
    for provider in ["a", "b", "c", "d", "e"] {
        setup = setup.provider(provider, 1);
    }
    let world = setup.combo("each", &["a", "b", "c", "d", "e"]).start();
    for (model, status) in [("a/x", 503), ("b/x", 404)] {
        world.upstream(&model[..1]).answers_first([Answer::status(status)]);
        assert_ne!(world.ask(model).status, 200, "{model}");
    }
    world.order("provider", "c", json!({"message": "trip", "for": "10m"}));
    world
}

#[test]
fn log_headers_and_explanation_agree() {
    let world = a_world_of_each();
    let plan = explain(&world, json!({"model": "each"}));
    assert_eq!(plan["strategy"], "priority");
    assert_eq!(pairs(&plan["order"], "connection"), of(&[("d", "d-1"), ("e", "e-1")]));
    let left_out = of(&[("a", "connection_cooldown"), ("b", "model_lockout"), ("c", "circuit_open")]);
    assert_eq!(pairs(&plan["excluded"], "reason"), left_out);

    world.upstream("d").answers_first([Answer::status(503)]);
    let reply = world.ask("each");
    reply.served_by("e");
    assert_eq!(reply.header("x-omniroute-decision"), Some("strategy=priority; provider=e; attempts=2"));
    assert_eq!(reply.header("x-omniroute-fallback-attempts"), Some("1"));
    let listed = reply.header("x-omniroute-combo-excluded").unwrap();
    assert_eq!(listed, "a/x:connection_cooldown,b/x:model_lockout,c/x:circuit_open");

    let log = world.admin("/api/decisions?model=each&limit=1").json();
    let decision = &log["decisions"][0];
    assert_eq!(decision["id"].as_str(), reply.header("x-request-id"));
    assert_eq!((&decision["status"], &decision["strategy"]), (&json!(200), &json!("priority")));
    assert_eq!(pairs(&decision["attempts"], "connection"), pairs(&plan["order"], "connection"));
    assert_eq!(pairs(&decision["attempts"], "verdict")[1], ("e".to_owned(), "success".to_owned()));
    assert_eq!(decision["attempts"][0]["status"], 503);
    assert_eq!(decision["attempts"][0]["reason"], "server_error");
    assert_eq!(pairs(&decision["excluded"], "reason"), left_out);
    for (logged, planned) in
        decision["excluded"].as_array().unwrap().iter().zip(plan["excluded"].as_array().unwrap())
    {
        assert_eq!(logged["until"], planned["until"], "the same end is told");
    }
    let spoken = decision["overheadUs"].as_u64().unwrap().to_string();
    assert_eq!(reply.header("x-switchtower-overhead-us"), Some(spoken.as_str()));
}

/// Routing 3.1: whose window is too small is told everywhere, and changes nothing of how it ends.
#[test]
fn who_could_not_serve_it_at_all_is_told() {
    let models = "format = \"openai\"\nmodels = [{ id = \"x\", context_window = 1000 }]";
    let world = Setup::new().provider_with("a", 1, models).provider("b", 1).combo("m", &["a", "b"]).start();
    let left_out = of(&[("a", "context_window_too_small")]);
    let plan = explain(&world, json!({"model": "m", "estimated_tokens": 5000}));
    assert_eq!(pairs(&plan["order"], "connection"), of(&[("b", "b-1")]));
    assert_eq!(pairs(&plan["excluded"], "reason"), left_out);
    assert_eq!(explain(&world, json!({"model": "m", "estimated_tokens": 1000}))["excluded"], json!([]));

    let ask = |letters: usize| {
        let content = "x".repeat(letters);
        let body = json!({"model": "m", "messages": [{"role": "user", "content": content}]});
        world.post("/v1/chat/completions", body)
    };
    let reply = ask(20_000);
    let told = |reply: &support::Reply| reply.header("x-omniroute-combo-excluded").map(str::to_owned);
    assert_eq!(told(reply.served_by("b")), Some("a/x:context_window_too_small".into()));
    let latest = || world.admin("/api/decisions?limit=1").json()["decisions"][0].clone();
    assert_eq!(pairs(&latest()["excluded"], "reason"), left_out);
    assert_eq!(told(ask(2).served_by("a")), None);
    assert_eq!(latest()["excluded"], json!([]));

    world.order("connection", "b-1", json!({"message": "cool", "for": "60s"}));
    let reply = ask(20_000);
    reply.is_error(429, "ALL_TARGETS_SKIPPED");
    let both = of(&[("b", "connection_cooldown"), ("a", "context_window_too_small")]);
    assert_eq!(told(&reply), Some("b/x:connection_cooldown,a/x:context_window_too_small".into()));
    assert_eq!(pairs(&reply.json()["diagnostics"]["excluded"], "reason"), both);
    assert_eq!(pairs(&latest()["excluded"], "reason"), both);
}

#[test]
fn an_explanation_asks_nobody_and_changes_nothing() {
    let world = Setup::new().provider("a", 2).provider("b", 1).combo("m", &["a", "b"]).start();
    let first = explain(&world, json!({"model": "m"}));
    for _ in 0..5 {
        assert_eq!(explain(&world, json!({"model": "m"})), first);
    }
    assert_eq!(world.upstream("a").asked() + world.upstream("b").asked(), 0);
    assert_eq!(world.admin("/api/decisions").json()["decisions"], json!([]));
    let connections = pairs(&first["order"], "connection");
    assert_eq!(connections, of(&[("a", "a-1"), ("a", "a-2"), ("b", "b-1")]));
    assert_eq!(pairs(&first["order"], "why")[1].1, "the next account of the same target");
}

#[test]
fn what_cannot_be_explained_is_refused_by_name() {
    let world = Setup::new().provider("a", 1).start();
    let refused = |body: Value| {
        let reply = world.manage("POST", "/api/route/explain", &body);
        (reply.status, reply.json())
    };
    let (status, body) = refused(json!({}));
    assert_eq!((status, &body["error"]["details"][0]["field"]), (400, &json!("model")));
    let (status, body) = refused(json!({"model": "a/x", "tokens": 3}));
    assert_eq!((status, &body["error"]["details"][0]["field"]), (400, &json!("tokens")));
    let (status, body) = refused(json!({"model": "nobody"}));
    assert_eq!((status, &body["error"]["code"]), (404, &json!("model_not_found")));
    assert_eq!(refused(json!({"model": "a/x", "key": "nobody"})).0, 404);
    assert_eq!(world.post("/api/route/explain", json!({"model": "a/x"})).status, 401);
    let limit = world.manage("GET", "/api/decisions?limit=0", &Value::Null);
    assert_eq!((limit.status, limit.json()["error"]["details"][0]["field"].clone()), (400, json!("limit")));
    assert_eq!(world.manage("GET", "/api/decisions?newest=1", &Value::Null).status, 400);
}

#[test]
fn a_request_that_nobody_could_serve_is_remembered() {
    let world = Setup::new().provider("a", 1).start();
    world.ask("nobody").is_error(404, "model_not_found");
    let decision = world.admin("/api/decisions").json()["decisions"][0].clone();
    assert_eq!((&decision["status"], &decision["model"]), (&json!(404), &json!("nobody")));
    assert_eq!(decision["attempts"], json!([]));
}

/// Who only stood beside it is told in each row, and is asked for by no filter.
#[test]
fn the_rows_of_a_connection_are_those_that_tried_it() {
    let world = Setup::new().section(LONG).provider("a", 1).provider("b", 1).combo("m", &["a", "b"]).start();
    world.upstream("a").answers_first([Answer::status(503)]);
    let tried_both = world.ask("m").header("x-request-id").unwrap().to_owned();
    let left_one_out = world.ask("m").header("x-request-id").unwrap().to_owned();
    let rows = |query: &str| {
        let log = world.admin(&format!("/api/decisions{query}")).json();
        let rows = log["decisions"].as_array().unwrap().clone();
        rows.iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let excluded = world.admin("/api/decisions?limit=1").json()["decisions"][0]["excluded"].clone();
    assert_eq!(pairs(&excluded, "connection"), of(&[("a", "a-1")]));
    assert_eq!(rows("?connection=b-1"), [left_one_out, tried_both.clone()]);
    assert_eq!(rows("?connection=a-1"), [tried_both]);
    assert_eq!(rows("?connection=nobody"), [""; 0]);
}

/// Contract 4: an unknown kind is nothing of that name, as an unknown id is.
#[test]
fn an_actor_of_no_kind_is_not_found() {
    let world = Setup::new().provider("a", 1).start();
    for path in ["/api/actors/nope/x", "/api/actors/provider/x", "/api/actors/router/x"] {
        world.manage("GET", path, &Value::Null).is_error(404, "not_found");
        let order = world.manage("POST", &format!("{path}/messages"), &json!({"message": "reset"}));
        order.is_error(404, "not_found");
    }
}

/// FC-131: one row for each, also for who did not wait for an answer; it says whom it was that did not
/// give one.
#[test]
fn fc_131_a_client_that_leaves_is_a_row_that_names_who_kept_it_waiting() {
    let world = Setup::new().provider("a", 1).provider("b", 1).combo("m", &["a", "b"]);
    let fusion = "[[combos]]\nname = \"f\"\nstrategy = \"fusion\"\n\
                  targets = [{ model = \"a/x\" }, { model = \"b/x\" }]\n";
    let world = world.section(fusion).start();
    for model in ["m", "f"] {
        world.upstream("a").answers_first([Answer::status(503)]);
        let (asked, open) = (world.upstream("b").asked(), Gate::default());
        world.upstream("b").answers_first([Answer::good("b").held_by(&open)]);
        let wire = world.open(
            "/v1/chat/completions",
            &json!({"model": model, "messages": [{"role": "user", "content": "hi"}]}),
        );
        eventually("b is asked", || world.upstream("b").asked() > asked);
        // A panel is asked at once: who fails may do so later.
        eventually("a has failed", || world.failures("a") == 1);
        wire.reset();
        let log = || world.admin(&format!("/api/decisions?model={model}")).json();
        eventually("it is told", || log()["decisions"][0].is_object());
        let log = log();
        open.open();
        assert_eq!(log["decisions"].as_array().map(Vec::len), Some(1), "{log}");
        let row = &log["decisions"][0];
        assert_eq!(row["status"], 499, "{row}");
        assert!(row["id"].as_str().is_some_and(|id| id.starts_with("req_")), "{row}");
        let verdicts = pairs(&row["attempts"], "verdict");
        assert_eq!(verdicts, of(&[("a", "server_error"), ("b", "dropped")]), "{row}");
        assert_eq!(world.order("connection", "a-1", json!({"message": "reset"})).status, 200);
        assert_eq!(world.order("provider", "a", json!({"message": "reset"})).status, 200);
    }
}

/// Contract 4: Prometheus text, unless OpenMetrics is asked for.
#[test]
fn metrics_are_prometheus_text_or_what_is_accepted() {
    let world = Setup::new().section("[metrics]\npublic = true\n").provider("a", 1).start();
    world.ask("a/x").served_by("a");
    let open = "accept: text/html;q=0.1, application/openmetrics-text;version=1.0.0;q=0.5\r\n";
    let rows = [
        (
            "",
            "text/plain; version=0.0.4; charset=utf-8",
            "# TYPE switchtower_requests_total counter\n",
            false,
        ),
        (
            "accept: text/plain\r\n",
            "text/plain; version=0.0.4; charset=utf-8",
            "switchtower_requests_total{",
            false,
        ),
        (
            open,
            "application/openmetrics-text; version=1.0.0; charset=utf-8",
            "# TYPE switchtower_requests counter\n",
            true,
        ),
    ];
    for (accept, kind, line, ends) in rows {
        let reply = world.get("/metrics", accept);
        assert_eq!((reply.status, reply.header("content-type")), (200, Some(kind)), "{accept}");
        assert!(reply.text().contains(line), "{accept}: {}", reply.text());
        assert_eq!(reply.text().ends_with("# EOF\n"), ends, "{accept}");
    }
}

/// Whoever may ask could fill the memory: a thousand rows are kept, and a body may be 32 MiB.
#[test]
fn a_name_that_is_too_long_is_remembered_in_part() {
    let world = Setup::new().provider("a", 1).start();
    for (model, length) in
        [(format!("a/{}", "x".repeat(510)), 512), (format!("a/{}", "ö".repeat(500_000)), 515)]
    {
        world.ask(&model);
        let row = &world.admin("/api/decisions?limit=1").json()["decisions"][0];
        let kept = row["model"].as_str().unwrap();
        assert_eq!(kept.len(), length, "{row}");
        assert!(model.starts_with(kept.trim_end_matches('…')));
    }
}
