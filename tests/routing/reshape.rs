//! What combos make of a request before it is sent: their own words first, and only some tools
//! (routing 1.1). The bytes that vendors get are compared.

use serde_json::{Value, json};

use super::support::{Answer, Reply, Setup, World, eventually, post};

/// A combo over `a` and `b` with these lines.
fn setup(lines: &str) -> Setup {
    let combo = format!(
        "[[combos]]\nname = \"m\"\ntargets = [\"a/x\", \"b/y\"]\nconfig = {{ max_retries = 0 }}\n{lines}"
    );
    Setup::new().provider("a", 1).provider("b", 1).section(&combo)
}

fn ask(world: &World, path: &str, body: &str) -> Reply {
    post(world.address, path, "", body.as_bytes())
}

fn last(world: &World, provider: &str) -> String {
    let got = world.upstream(provider).requests().pop().expect("it was asked");
    String::from_utf8(got.body).unwrap()
}

#[test]
fn routing_1_1_each_target_hears_the_combo_first_in_its_dialect() {
    let world = setup("system_message = \"Be\\n\\\"brief\\\".\"").start();
    world.upstream("a").answers(Answer::status(503));
    for (path, body, sent) in [
        (
            "/v1/chat/completions",
            r#"{ "model":"m", "messages":[{"role":"user","content":"hi"}] ,"n":1.0}"#,
            r#"{ "model":"y", "messages":[{"role":"system","content":"Be\n\"brief\"."},{"role":"user","content":"hi"}] ,"n":1.0}"#,
        ),
        (
            "/v1/messages",
            r#"{"max_tokens":9,"system":"own","messages":[],"model":"m"}"#,
            r#"{"max_tokens":9,"system":"Be\n\"brief\".\n\nown","messages":[],"model":"y"}"#,
        ),
        (
            "/v1/messages/count_tokens",
            r#"{"messages":[],"model":"m"}"#,
            r#"{"system":"Be\n\"brief\".","messages":[],"model":"y"}"#,
        ),
        (
            "/v1/responses",
            r#"{"model":"m","input":"hi"}"#,
            r#"{"instructions":"Be\n\"brief\".","model":"y","input":"hi"}"#,
        ),
        ("/v1/embeddings", r#"{"model":"m","input":"hi"}"#, r#"{"model":"y","input":"hi"}"#),
    ] {
        world.order("connection", "a-1", json!({"message": "reset"}));
        assert_eq!(ask(&world, path, body).status, 200, "{path}");
        assert_eq!(last(&world, "b"), sent, "{path}");
        assert_eq!(last(&world, "a"), sent.replace("\"y\"", "\"x\""), "{path}: as the first target had it");
    }
    let body = r#"{"model":"b/y","messages":[]}"#;
    ask(&world, "/v1/chat/completions", body);
    assert_eq!(last(&world, "b"), body.replace("b/y", "y"), "whoever asks no combo is told nothing");
}

/// The outer combo hands on what it has made; the inner one speaks before it.
#[test]
fn routing_1_1_a_combo_that_is_asked_as_a_whole_speaks_before_the_one_that_asks() {
    let world = setup("system_message = \"inner\"")
        .section(
            "[[combos]]\nname = \"outer\"\ntargets = [{ combo = \"m\" }]\nsystem_message = \"outer\"\n\
             config = { nested_combo_mode = \"execute\" }\n\
             [[combos]]\nname = \"flat\"\ntargets = [{ combo = \"m\" }]\n\
             [[combos]]\nname = \"line\"\nstrategy = \"pipeline\"\nsystem_message = \"line\"\n\
             targets = [{ model = \"a/x\", prompt = \"step\" }, \"b/y\"]",
        )
        .start();
    let system = |provider: &str| -> Vec<String> {
        let body: Value = serde_json::from_str(&last(&world, provider)).unwrap();
        let turns = body["messages"].as_array().unwrap().iter();
        let own = turns.filter(|turn| turn["role"] == "system");
        own.map(|turn| turn["content"].as_str().unwrap().to_owned()).collect()
    };
    let body = |model: &str| {
        format!(
            r#"{{"model":"{model}","messages":[{{"role":"system","content":"own"}},{{"role":"user","content":"hi"}}]}}"#
        )
    };
    ask(&world, "/v1/chat/completions", &body("outer"));
    assert_eq!(system("a"), ["inner", "outer", "own"]);
    ask(&world, "/v1/chat/completions", &body("flat"));
    assert_eq!(system("a"), ["own"], "its targets take its place, and it is asked nothing");
    assert_eq!(ask(&world, "/v1/chat/completions", &body("line")).status, 200);
    assert_eq!(
        (system("a"), system("b")),
        (vec!["line".into(), "step".into(), "own".into()], vec!["line".into()])
    );
}

#[test]
fn routing_1_1_only_tools_whose_names_fit_are_passed_on() {
    let world = setup("tool_filter_regex = \"^(read|list)_\"").start();
    let tool = |name: &str| format!(r#"{{"type":"function","function":{{"name":"{name}"}}}}"#);
    let body = |model: &str, tools: &[&str], rest: &str| {
        let tools: Vec<String> = tools.iter().map(|name| tool(name)).collect();
        format!(r#"{{"model":"{model}","messages":[],"tools":[{}]{rest}}}"#, tools.join(","))
    };
    let chosen = format!(r#","tool_choice":{}"#, tool("rm"));
    ask(&world, "/v1/chat/completions", &body("m", &["read_file", "rm", "list_files"], &chosen));
    assert_eq!(last(&world, "a"), body("x", &["read_file", "list_files"], ""));
    ask(&world, "/v1/chat/completions", &body("m", &["rm", "mv"], r#","tool_choice":"auto""#));
    assert_eq!(last(&world, "a"), r#"{"model":"x","messages":[]}"#);
    let whole = body("m", &["read_file"], r#","tool_choice":"auto""#);
    ask(&world, "/v1/chat/completions", &whole);
    assert_eq!(last(&world, "a"), whole.replace("\"m\"", "\"x\""));
}

/// Routing 3.1: what a combo adds counts where windows are compared.
#[test]
fn routing_1_1_the_combos_words_count_as_input() {
    let world = Setup::new()
        .provider_with("a", 1, "format = \"openai\"\nmodels = [{ id = \"x\", context_window = 100 }]")
        .section(&format!(
            "[[combos]]\nname = \"m\"\ntargets = [\"a/x\"]\nsystem_message = \"{}\"\n\
             [[combos]]\nname = \"short\"\ntargets = [\"a/x\"]\nsystem_message = \"be brief\"",
            "y".repeat(400)
        ))
        .start();
    let body = r#"{"model":"m","messages":[{"role":"user","content":"hi"}]}"#;
    ask(&world, "/v1/chat/completions", body).is_error(400, "context_length_exceeded");
    assert_eq!(world.upstream("a").asked(), 0);
    assert_eq!(ask(&world, "/v1/chat/completions", &body.replace("\"m\"", "\"short\"")).status, 200);
}

/// FC-098: an estimate of what was asked is of all that was sent.
#[test]
fn routing_1_1_the_combos_words_count_where_a_use_is_estimated() {
    let world = setup("system_message = \"be brief\"").start();
    let event = |data: &str| format!("data: {data}\n\n");
    let stream = [
        r#"{"choices":[{"delta":{"content":"12345678"}}]}"#,
        r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#,
        "[DONE]",
    ];
    let stream = stream.iter().fold(Answer::stream(), |answer, data| answer.chunk(event(data)));
    world.upstream("a").answers(stream.last_chunk());
    let body = r#"{"model":"m","stream":true,"messages":[]}"#;
    assert_eq!(ask(&world, "/v1/chat/completions", body).status, 200);
    let input = || world.admin("/api/usage/history").json()["items"][0]["inputTokens"].clone();
    let asked = (body.len() + "be brief".len()).div_ceil(4);
    eventually("it is counted", || input() == json!(asked));
}
