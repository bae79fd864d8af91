//! How many tools a provider takes is learnt from its refusals (rules 8.2).

use serde_json::{Value, json};

use crate::support::{Answer, Reply, Setup, World, post};

fn body(model: &str, tools: usize) -> String {
    let tools: Vec<String> = (0..tools).map(|n| format!("{{\"function\":{{\"name\":\"f{n}\"}}}}")).collect();
    format!("{{\"tools\":[{}],  \"model\":\"{model}\",\"messages\":[]}}", tools.join(", "))
}

fn ask(world: &World, model: &str, tools: usize) -> Reply {
    post(world.address, "/v1/chat/completions", "", body(model, tools).as_bytes())
}

fn refusal(words: &str) -> Answer {
    Answer::json(400, json!({"error": {"message": words}}).to_string())
}

/// How many tools each request had.
fn tools_of(world: &World, provider: &str) -> Vec<usize> {
    let count =
        |body: &[u8]| serde_json::from_slice::<Value>(body).unwrap()["tools"].as_array().unwrap().len();
    world.upstream(provider).requests().iter().map(|got| count(&got.body)).collect()
}

#[test]
fn d3_the_next_attempt_has_the_learnt_number_of_tools() {
    let world = Setup::new().provider("p", 1).provider("q", 1).start();
    world.upstream("p").answers_first([refusal("'tools': maximum number of items is 64")]);
    assert_eq!(ask(&world, "p/x", 70).status, 400, "no retry of the same request (8.2.6)");
    assert_eq!(world.upstream("p").asked(), 1);
    assert_eq!(ask(&world, "p/x", 70).status, 200);
    assert_eq!(ask(&world, "p/x", 64).status, 200);
    assert_eq!(tools_of(&world, "p"), [70, 64, 64]);
    let requests = world.upstream("p").requests();
    assert_eq!(requests[1].body, body("x", 64).as_bytes(), "the first ones, and nothing else is changed");
    assert_eq!(requests[2].body, body("x", 64).as_bytes());
    assert_eq!(ask(&world, "q/x", 70).status, 200);
    assert_eq!(tools_of(&world, "q"), [70], "nobody else's");
}

#[test]
fn rules_8_2_6_a_combo_moves_on_and_nobody_is_harmed() {
    let world = Setup::new().provider("a", 1).provider("b", 1).combo("m", &["a", "b"]).start();
    world.upstream("a").answers_first([refusal("Too many tools (maximum 5)")]);
    ask(&world, "m", 9).served_by("b");
    assert_eq!(world.failures("a"), 0);
    ask(&world, "m", 9).served_by("a");
    assert_eq!((tools_of(&world, "a"), tools_of(&world, "b")), (vec![9, 5], vec![9]));
}

#[test]
fn rules_8_2_6_when_all_targets_refuse_the_first_refusal_is_told() {
    let world = Setup::new().provider("a", 1).provider("b", 1).combo("m", &["a", "b"]).start();
    world.upstream("a").answers(refusal("too many tools: maximum 5"));
    world.upstream("b").answers(refusal("too many tools: maximum 6"));
    let reply = ask(&world, "m", 9);
    assert_eq!(reply.status, 400);
    assert!(reply.text().contains("maximum 5"), "{}", reply.text());
}

#[test]
fn rules_8_2_1_a_hundred_and_twenty_eight_unless_it_is_known_better() {
    let world = Setup::new().provider("p", 1).provider("nvidia", 1).start();
    for model in ["p/x", "nvidia/x"] {
        assert_eq!(ask(&world, model, 128).status, 200);
        assert_eq!(ask(&world, model, 130).status, 200);
    }
    assert_eq!((tools_of(&world, "p"), tools_of(&world, "nvidia")), (vec![128, 128], vec![128, 130]));
    let native = "user-agent: claude-cli/2.0.1 (external, cli)\r\n";
    let body = body("p/x", 130);
    assert_eq!(post(world.address, "/v1/messages", native, body.as_bytes()).status, 200);
    assert_eq!(tools_of(&world, "p").last(), Some(&130), "8.2.5");
}

#[test]
fn d5_nothing_is_learnt_from_another_status_or_about_fewer_tools_than_were_refused() {
    let world = Setup::new().provider("p", 1).combo("m", &["p"]).start();
    let words = "'tools': maximum number of items is 4";
    let failed = Answer::json(500, json!({"error": {"message": words}}).to_string());
    world.upstream("p").answers_first([failed]);
    assert_eq!(ask(&world, "p/x", 9).status, 500);
    world.order("connection", "p-1", json!({"message": "reset"}));
    // An answer that repeats what the client wrote says nothing of what the provider takes.
    world.upstream("p").answers_first([refusal(words)]);
    assert_eq!(ask(&world, "m", 3).status, 400);
    assert_eq!(ask(&world, "p/x", 9).status, 200);
    assert_eq!(tools_of(&world, "p"), [9, 3, 9]);
}
