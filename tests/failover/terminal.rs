//! What a combo says when it has no answer: status, code, diagnostics and their headers
//! (routing 9.2).

use serde_json::json;

use crate::support::{Answer, Reply, Setup, World};

const JSON: &str = "content-type: application/json\r\n";
/// Rests long enough for any test.
const LONG: &str = "[resilience.connection_cooldown.apikey]\nbase_cooldown_ms = 600000\n";
const PLAIN: &str = "max_retries = 0, combo_cooldown_wait_enabled = false";

fn draw(providers: &[&str]) -> String {
    let target = |provider: &&str| format!("{{ model = \"{provider}/x\", weight = 50 }}");
    let targets: Vec<String> = providers.iter().map(target).collect();
    format!(
        "[[combos]]\nname = \"draw\"\nstrategy = \"weighted\"\ntargets = [{}]\nconfig = {{ {PLAIN} }}\n",
        targets.join(", ")
    )
}

fn headers(reply: &Reply) -> [Option<&str>; 3] {
    [
        reply.header("x-omniroute-combo-terminal-reason"),
        reply.header("x-omniroute-recovery-action"),
        reply.header("x-omniroute-retry-after-seconds"),
    ]
}

fn fail(world: &World, provider: &str, status: u16) {
    world.upstream(provider).answers_first([Answer::status(status)]);
    assert_ne!(world.ask(&format!("{provider}/x")).status, 200);
}

/// Row A, routing 16 #80: the soonest of those that only rest.
#[test]
fn row_a_a_draw_of_which_all_rest_says_for_how_long() {
    let world =
        Setup::new().section(LONG).provider("a", 1).provider("b", 1).section(&draw(&["a", "b"])).start();
    fail(&world, "a", 503);
    world.order("provider", "b", json!({"message": "trip", "for": "20s"}));
    let reply = world.ask("draw");
    reply.is_error(503, "all_targets_cooling_down");
    let wait: u64 = reply.header("retry-after").unwrap().parse().unwrap();
    assert!((15..=20).contains(&wait), "{wait}");
    let seconds = wait.to_string();
    assert_eq!(headers(&reply), [Some("all_targets_cooling_down"), Some("wait"), Some(seconds.as_str())]);
    let body = reply.json();
    assert_eq!(body["error"]["type"], "service_unavailable");
    assert_eq!(body["recovery_hint"]["retry_after_seconds"], wait);
    let reasons: Vec<_> = body["diagnostics"]["excluded"].as_array().unwrap().iter().collect();
    assert_eq!((reasons.len(), &reasons[0]["reason"]), (2, &json!("connection_cooldown")));
    assert_eq!(reasons[1]["reason"], "circuit_open");
}

/// Row B, routing 16 #81: nothing of it comes back by itself.
#[test]
fn row_b_a_draw_of_which_none_could_run_is_404() {
    let world = Setup::new().provider("a", 1).section(&draw(&["a"])).start();
    world.order("connection", "a-1", json!({"message": "drain"}));
    let reply = world.ask("draw");
    reply.is_error(404, "no_executable_targets");
    assert_eq!(headers(&reply), [Some("no_executable_targets"), Some("switch-combo"), None]);
}

/// Rows F and G, routing 16 #85.
#[test]
fn rows_f_and_g_all_skipped_with_a_wait_and_without() {
    let world = Setup::new().section(LONG).provider("a", 1).combo("m", &["a"]).start();
    fail(&world, "a", 503);
    let reply = world.ask("m");
    reply.is_error(429, "ALL_TARGETS_SKIPPED");
    let body = reply.json();
    assert_eq!(body["error"]["type"], "rate_limit_error");
    let wait = body["error"]["retry_after"].as_u64().unwrap();
    assert!((590..=600).contains(&wait), "{wait}");
    assert!(body["error"]["reset_at"].as_str().unwrap().ends_with('Z'));
    assert_eq!(headers(&reply)[..2], [Some("all_targets_skipped"), Some("switch-combo")]);

    let world = Setup::new().provider("a", 1).combo("m", &["a"]).start();
    fail(&world, "a", 402);
    let reply = world.ask("m");
    reply.is_error(503, "ALL_TARGETS_SKIPPED");
    assert_eq!(
        (reply.header("retry-after"), reply.json()["error"]["type"].clone()),
        (None, json!("service_unavailable"))
    );
}

/// Row K: the quota is gone everywhere; decision 9b gives the last body as it came.
#[test]
fn row_k_quota_everywhere_is_told() {
    let world = Setup::new().provider("a", 1).provider("b", 1).combo("m", &["a", "b"]).start();
    let gone = r#"{"error":{"message":"You exceeded your current quota, please check your plan","code":"insufficient_quota"}}"#;
    for provider in ["a", "b"] {
        world.upstream(provider).answers(Answer::sized(429, JSON, gone));
    }
    let reply = world.ask("m");
    assert_eq!((reply.status, reply.text().as_str()), (429, gone));
    assert_eq!(headers(&reply)[0], Some("quota_exhausted"));
}

/// Row L, and a body of ours where the failures are of two kinds (routing 9.6).
#[test]
fn row_l_mixed_failures_are_ours_to_tell() {
    let world = Setup::new().provider("a", 1).provider("b", 1).combo("m", &["a", "b"]).start();
    world.upstream("a").answers(Answer::status(429));
    world.upstream("b").answers(Answer::status(503));
    let reply = world.ask("m");
    reply.is_error(502, "bad_gateway");
    assert_eq!(headers(&reply)[..2], [Some("all_models_failed"), Some("retry")]);
    assert_eq!(reply.json()["diagnostics"]["terminalReason"], "all_models_failed");
}

/// Row J: what is in flight is dropped, and speaks against nobody.
#[test]
fn row_j_a_combo_has_its_time() {
    let config = format!("{PLAIN}, combo_timeout_ms = 300");
    let world = Setup::new().provider("a", 1).combo_with("m", &["a"], &config).start();
    world.upstream("a").answers(Answer::silence());
    let reply = world.ask("m");
    reply.is_error(504, "COMBO_TIMEOUT");
    assert_eq!(headers(&reply)[..2], [Some("combo_timeout"), Some("retry")]);
    assert_eq!((world.failures("a"), world.in_flight("a-1")), (0, 0));
}

#[test]
fn an_answer_that_came_in_the_end_ends_for_no_reason() {
    let config = format!("{PLAIN}, max_set_retries = 1, set_retry_delay_ms = 1");
    let world = Setup::new()
        .section("[resilience.connection_cooldown.apikey]\nbase_cooldown_ms = 1\n")
        .provider("a", 1)
        .combo_with("m", &["a"], &config)
        .start();
    world.upstream("a").answers_first([Answer::status(503)]);
    let reply = world.ask("m");
    reply.served_by("a");
    assert_eq!((headers(&reply), world.upstream("a").asked()), ([None; 3], 2));
}
