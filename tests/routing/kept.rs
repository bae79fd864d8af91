//! A session that stays with its model, over sockets (routing 3.9).

use serde_json::json;

use super::support::{Answer, Reply, Setup, World, post};
use super::{asked, tireless};

/// Sessions have no accounts here: only the model is kept.
fn world() -> World {
    let combo = "[settings]\nsession_affinity_ttl_ms = 0\n\
                 [[combos]]\nname = \"kept\"\ncontext_cache_protection = true\n\
                 targets = [{ model = \"a/x\" }, { model = \"b/x\" }]\n\
                 config = { max_retries = 0, max_set_retries = 1, set_retry_delay_ms = 1, combo_cooldown_wait_enabled = false }\n";
    tireless(tireless(Setup::new(), "a"), "b").section(combo).start()
}

fn ask(world: &World) -> Reply {
    let body = json!({"model": "kept", "messages": [{"role": "user", "content": "hi"}]}).to_string();
    post(world.address, "/v1/chat/completions", "X-Session-Id: s1\r\n", body.as_bytes())
}

/// The session is at `b`, because `a` failed once.
fn at_b() -> World {
    let world = world();
    world.upstream("a").answers_first([Answer::status(503)]);
    ask(&world).served_by("b");
    ask(&world).served_by("b");
    assert_eq!(asked(&world, ["a", "b"]), [1, 2]);
    world
}

#[test]
fn routing_3_9_a_failure_that_is_not_the_vendors_is_returned() {
    let world = at_b();
    world.upstream("b").answers_first([Answer::status(404)]);
    ask(&world).is_error(404, "fake_404");
    assert_eq!(asked(&world, ["a", "b"]), [1, 3], "nobody else, and no set once more");
}

#[test]
fn routing_3_9_a_vendor_that_is_ill_gives_its_turn_away() {
    for answer in [Answer::status(503), Answer::status(429), Answer::json(200, r#"{"choices":[]}"#)] {
        let world = at_b();
        world.upstream("b").answers_first([answer]);
        ask(&world).served_by("a");
        ask(&world).served_by("a");
        assert_eq!(asked(&world, ["a", "b"]), [3, 3], "whoever served last is the session's");
    }
}

#[test]
fn routing_3_9_three_failed_requests_end_it() {
    let world = at_b();
    world.upstream("b").answers_first([Answer::status(409), Answer::status(409), Answer::status(409)]);
    for _ in 0..3 {
        assert_eq!(ask(&world).status, 409);
    }
    ask(&world).served_by("a");
    assert_eq!(asked(&world, ["a", "b"]), [2, 5]);
}
