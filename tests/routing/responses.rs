//! A request that goes on from a response goes to the account that made it, over sockets (FC-101).

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::support::{Answer, Reply, Setup, World};

/// Accounts take turns, so that nobody meets the right one by chance.
const TURNS: &str = "[settings]\nfallback_strategy = \"round-robin\"";

fn made(id: &str) -> Answer {
    let text = json!({"type": "message", "content": [{"type": "output_text", "text": "hi"}]});
    Answer::json(200, json!({"id": id, "object": "response", "output": [text]}).to_string())
}

fn streamed(id: &str) -> Answer {
    let response = json!({"id": id, "object": "response", "status": "in_progress", "output": []});
    let event = |data: Value| format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap());
    [
        json!({"type": "response.created", "response": response}),
        json!({"type": "response.in_progress", "response": response}),
        json!({"type": "response.output_text.delta", "delta": "hi"}),
        json!({"type": "response.completed", "response": response}),
    ]
    .into_iter()
    .fold(Answer::stream(), |answer, data| answer.chunk(event(data)))
    .last_chunk()
}

fn ask(world: &World, mut body: Value) -> Reply {
    body["input"] = "hi".into();
    world.post("/v1/responses", body)
}

fn account(world: &World, body: Value) -> String {
    let reply = ask(world, body);
    assert_eq!(reply.status, 200, "{}", reply.text());
    reply.header("x-omniroute-selected-connection-id").unwrap().to_owned()
}

fn goes_on(id: &str) -> Value {
    json!({"model": "a/m", "previous_response_id": id})
}

#[test]
fn fc_101_the_next_turn_goes_to_the_account_that_made_the_response() {
    for stream in [false, true] {
        let world = Setup::new().section(TURNS).provider("a", 3).start();
        let answer = if stream { streamed } else { made };
        world.upstream("a").answers(answer("other"));
        world.upstream("a").answers_first([answer("resp_1")]);
        let home = account(&world, json!({"model": "a/m", "stream": stream}));
        let mut others = BTreeSet::new();
        for _ in 0..4 {
            others.insert(account(&world, json!({"model": "a/m", "stream": stream})));
            others.insert(account(&world, json!({"model": "a/m", "stream": stream})));
            assert_eq!(account(&world, goes_on("resp_1")), home, "streamed: {stream}");
        }
        assert!(others.len() > 1, "those that go on from nothing take turns");
        for request in world.upstream("a").requests() {
            let body: Value = serde_json::from_slice(&request.body).unwrap();
            assert!(body["previous_response_id"].is_null() || body["previous_response_id"] == "resp_1");
        }
    }
}

/// No blind send to another account: the client hears how long it has to wait.
#[test]
fn fc_101_while_the_account_cools_the_client_is_told_to_wait() {
    let world = Setup::new().section(TURNS).provider("a", 2).combo("c", &["a"]).start();
    world.upstream("a").answers_first([made("resp_1")]);
    let home = account(&world, json!({"model": "a/m"}));
    world.order("connection", &home, json!({"message": "cool", "for": "90s"}));
    let asked = world.upstream("a").asked();
    for model in ["a/m", "c"] {
        let refused = ask(&world, json!({"model": model, "previous_response_id": "resp_1"}));
        assert_eq!(refused.status, 429, "{}", refused.text());
        let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
        assert!((80..=90).contains(&wait), "{wait}");
    }
    assert_eq!(world.upstream("a").asked(), asked);
    world.upstream("a").answers(made("resp_2"));
    assert_ne!(account(&world, json!({"model": "a/m"})), home, "others are served");
    world.order("connection", &home, json!({"message": "reset"}));
    assert_eq!(account(&world, goes_on("resp_1")), home);
}

/// The same when it fails just then: another account would say that it knows no such response.
#[test]
fn fc_101_a_failure_of_the_account_is_no_reason_to_ask_another() {
    let world = Setup::new().section(TURNS).provider("a", 2).start();
    world.upstream("a").answers_first([made("resp_1")]);
    let home = account(&world, json!({"model": "a/m"}));
    world.upstream("a").answers(Answer::status(503));
    let failed = ask(&world, goes_on("resp_1"));
    assert_eq!(failed.status, 503, "{}", failed.text());
    let keys = world.upstream("a").requests();
    let keys = keys.iter().map(|request| request.header("authorization").unwrap().to_owned());
    let keys: BTreeSet<_> = keys.collect();
    assert_eq!(keys.len(), 1, "{keys:?}");
    assert!(keys.iter().all(|key| key.contains(&home)), "{keys:?}");
}

/// FC-080: nobody remembers it, so its upstream says what is wrong, and nothing is locked.
#[test]
fn fc_101_an_unknown_response_goes_the_usual_way() {
    let missing = r#"{"error":{"message":"Previous response with id 'resp_9' not found.","param":"previous_response_id","code":"previous_response_not_found"}}"#;
    let world = Setup::new().section(TURNS).provider("a", 2).start();
    world.upstream("a").answers_first([Answer::json(404, missing)]);
    let reply = ask(&world, goes_on("resp_9"));
    assert_eq!((reply.status, reply.text().as_str()), (404, missing));
    assert_eq!(world.upstream("a").asked(), 1);
    // What is not stored is nobody's.
    let unkept = r#"{"id":"resp_9","store":false,"output":[{"type":"message","content":[{"text":"hi"}]}]}"#;
    world.upstream("a").answers(Answer::json(200, unkept));
    let accounts: BTreeSet<String> = (0..4).map(|_| account(&world, goes_on("resp_9"))).collect();
    assert_eq!(accounts.len(), 2, "{accounts:?}");
}

/// A later provider of a combo made it while the first one was out.
#[test]
fn fc_101_a_combo_goes_on_where_its_answer_came_from() {
    let world = Setup::new().provider("a", 1).provider("b", 1).combo("c", &["a", "b"]).start();
    world.upstream("a").answers(made("resp_a"));
    world.upstream("a").answers_first([Answer::status(503)]);
    world.upstream("b").answers(made("resp_b"));
    assert_eq!(account(&world, json!({"model": "c"})), "b-1");
    world.order("connection", "a-1", json!({"message": "reset"}));
    assert_eq!(account(&world, json!({"model": "c"})), "a-1");
    assert_eq!(account(&world, json!({"model": "c", "previous_response_id": "resp_b"})), "b-1");
    assert_eq!(account(&world, json!({"model": "c", "previous_response_id": "resp_a"})), "a-1");
}

/// Core D2: it is the request's fault, and nobody else is asked.
#[test]
fn d2_a_response_of_another_account_stops_the_request() {
    let world = Setup::new().section(TURNS).provider("a", 2).start();
    world.upstream("a").answers_first([made("resp_1")]);
    let home = account(&world, json!({"model": "a/m"}));
    let binding = r#"{"error":{"message":"previous_response_id does not belong to you","code":"invalid_previous_response_binding"}}"#;
    world.upstream("a").answers_first([Answer::json(409, binding)]);
    let reply = ask(&world, goes_on("resp_1"));
    assert_eq!((reply.status, reply.text().as_str()), (409, binding));
    assert_eq!(world.upstream("a").asked(), 2);
    world.upstream("a").answers(made("resp_2"));
    assert_eq!(account(&world, goes_on("resp_1")), home, "nothing rests");
}
