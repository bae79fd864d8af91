//! What is built in about the errors of some gateways: a status that says the wrong thing is
//! told as what it means, and a rule knows whom it is about (rules 2, 3).

use serde_json::{Value, json};

use super::{assert_idle, error_type, level, locks, only_lock, reset, rest, says, short_rests, state, told};
use crate::support::{Setup, World, eventually};

const NO_QUOTA: &str = "用户额度不足, 剩余额度: ＄0.000000";
const NO_ACCESS: &str = "无权访问模型 m1";

fn gateway(extra: &str) -> World {
    Setup::new()
        .section(extra)
        .provider("agentrouter", 1)
        .provider("b", 1)
        .combo("m", &["agentrouter", "b"])
        .start()
}

#[test]
fn c1_a_misstated_quota_is_told_as_429_with_a_minute_and_rests_the_account_for_its_base() {
    for status in [400, 403] {
        let world = gateway("");
        world.upstream("agentrouter").answers(says(status, NO_QUOTA));
        for path in ["/v1/chat/completions", "/v1/messages", "/v1/responses"] {
            reset(&world, "agentrouter-1");
            let reply = world.post(path, json!({"model": "agentrouter/x"}));
            assert_eq!(
                (reply.status, reply.header("retry-after")),
                (429, Some("60")),
                "{path}: {}",
                reply.text()
            );
            assert!(reply.text().contains(NO_QUOTA), "the vendor's own words: {}", reply.text());
            assert_eq!(state(&world, "agentrouter-1"), "cooling");
            let (rests, level) = (rest(&world, "agentrouter-1"), level(&world, "agentrouter-1"));
            assert_eq!((rests, level), (3_000, 1), "the minute is for the client only (rules 2.3.2)");
            assert_eq!(error_type(&world, "agentrouter-1"), "quota_exhausted");
            assert_eq!(world.failures("agentrouter"), 0);
        }
        reset(&world, "agentrouter-1");
        world.ask("m").served_by("b");
        assert_eq!(locks(&world), []);
    }
}

/// Rules 2.2.8: JSON may write the words in escapes.
#[test]
fn rules_2_2_8_escaped_words_are_the_same_words() {
    let world = gateway("");
    let body = r#"{"error":{"message":"\u989d\u5ea6\u4e0d\u8db3"}}"#;
    world.upstream("agentrouter").answers(told(403, "", body));
    let reply = world.ask("agentrouter/x");
    assert_eq!((reply.status, reply.header("retry-after")), (429, Some("60")), "{}", reply.text());
}

#[test]
fn c2_the_same_again_climbs() {
    let world = gateway(&short_rests(30));
    world.upstream("agentrouter").answers(says(403, NO_QUOTA));
    for (step, length) in [(1, 30), (2, 60), (3, 120)] {
        assert_eq!(world.ask("agentrouter/x").status, 429);
        assert_eq!((level(&world, "agentrouter-1"), rest(&world, "agentrouter-1")), (step, length));
        eventually("its rest is over", || state(&world, "agentrouter-1") == "ready");
    }
}

#[test]
fn c3_a_stated_wait_beats_the_rules_own_and_is_told() {
    let world = gateway("");
    let body = json!({"error": {"message": NO_QUOTA}}).to_string();
    world.upstream("agentrouter").answers(told(403, "retry-after: 120\r\n", &body));
    let reply = world.ask("agentrouter/x");
    assert_eq!((reply.status, reply.header("retry-after")), (429, Some("120")), "{}", reply.text());
    assert_eq!((rest(&world, "agentrouter-1"), level(&world, "agentrouter-1")), (120_000, 0));
}

/// Rules 3.10.6: what may not rest the account bars the model.
#[test]
fn c4_an_account_that_never_rests_has_its_model_barred_instead() {
    let world = Setup::new()
        .provider_with("agentrouter", 1, "format = \"openai\"\nper_model_quota = true")
        .section("provider_specific = { disable_cooling = true }")
        .start();
    world.upstream("agentrouter").answers(says(403, NO_QUOTA));
    assert_eq!(world.ask("agentrouter/x").status, 429);
    assert_eq!(state(&world, "agentrouter-1"), "ready");
    let locks = locks(&world);
    assert_eq!(locks.len(), 1, "{locks:?}");
    assert!(locks[0].0.starts_with("agentrouter-1/x/"), "{locks:?}");
}

/// A combo `k` of these `model@connection` of agentrouter.
fn pinned(targets: &[&str]) -> World {
    let target = |name: &&str| {
        let (model, connection) = name.split_once('@').unwrap();
        format!("{{ model = \"agentrouter/{model}\", connection = \"agentrouter-{connection}\" }}")
    };
    let targets: Vec<String> = targets.iter().map(target).collect();
    let combo = format!(
        "[[combos]]\nname = \"k\"\nstrategy = \"priority\"\ntargets = [{}]\nconfig = {{ max_retries = 0 }}",
        targets.join(", ")
    );
    Setup::new().provider("agentrouter", 2).section(&combo).start()
}

/// The models that were asked for, in order.
fn models(world: &World) -> Vec<String> {
    let requests = world.upstream("agentrouter").requests();
    let model =
        |body: &[u8]| serde_json::from_slice::<Value>(body).unwrap()["model"].as_str().unwrap().to_owned();
    requests.iter().map(|request| model(&request.body)).collect()
}

#[test]
fn k1_k5_k7_within_a_request_an_account_is_left_out_and_a_models_account_is_not() {
    for (row, answer, asked) in [
        ("K1", says(403, NO_QUOTA), vec!["m1", "m3"]),
        ("K5", says(401, "Invalid token"), vec!["m1", "m3"]),
        ("K7", says(403, NO_ACCESS), vec!["m1", "m2"]),
    ] {
        let world = pinned(&["m1@1", "m2@1", "m3@2"]);
        world.upstream("agentrouter").answers_first([answer]);
        world.ask("k").served_by("agentrouter");
        assert_eq!(models(&world), asked, "{row}");
        assert_idle(&world, &["agentrouter-1", "agentrouter-2"]);
    }
}

/// Decision 9b: the smallest wait of all failures, also one that a rule states.
#[test]
fn decision_9b_the_smallest_wait_of_all_is_told() {
    let world = gateway("");
    world.upstream("agentrouter").answers(says(403, NO_QUOTA));
    let body = r#"{"error":{"message":"slow down, says b"}}"#;
    world.upstream("b").answers(told(429, "retry-after: 120\r\n", body));
    let reply = world.ask("m");
    assert_eq!((reply.status, reply.text().as_str()), (429, body), "the last one's own words");
    assert_eq!(reply.header("retry-after"), Some("60"));
}

#[test]
fn c5_no_access_to_one_model_locks_it_for_half_an_hour_and_the_account_goes_on() {
    let world = gateway("");
    world.upstream("agentrouter").answers_first([says(403, NO_ACCESS)]);
    let reply = world.ask("agentrouter/m1");
    assert_eq!((reply.status, reply.header("retry-after")), (403, None), "never restated: {}", reply.text());
    only_lock(&world, "agentrouter-1/m1/family/forbidden", 1_800_000);
    assert_eq!((state(&world, "agentrouter-1").as_str(), level(&world, "agentrouter-1")), ("ready", 0));
    world.ask("agentrouter/m2").served_by("agentrouter");
    world.ask("agentrouter/m1").is_error(429, "model_cooldown");
    assert_eq!(world.upstream("agentrouter").asked(), 2);
}

#[test]
fn c6_the_longest_lock_is_the_operators() {
    let world = gateway("[resilience.model_lockout]\nmax_cooldown_ms = 3600000");
    world.upstream("agentrouter").answers(says(403, NO_ACCESS));
    world.ask("m").served_by("b");
    only_lock(&world, "agentrouter-1/x/family/forbidden", 3_600_000);
}

/// Rules 3.5.4 (decision 29): both texts at once are about the model.
#[test]
fn decision_29_no_access_stands_before_the_quota() {
    let world = gateway("");
    world.upstream("agentrouter").answers_first([says(403, &format!("{NO_ACCESS}; {NO_QUOTA}"))]);
    assert_eq!(world.ask("agentrouter/m1").status, 403);
    only_lock(&world, "agentrouter-1/m1/family/forbidden", 1_800_000);
    assert_eq!(state(&world, "agentrouter-1"), "ready");
}

#[test]
fn c7_another_403_of_the_gateway_is_any_403() {
    let world = gateway("");
    world.upstream("agentrouter").answers_first([says(403, "Invalid API key")]);
    assert_eq!(world.ask("agentrouter/x").status, 403);
    assert_eq!(
        (error_type(&world, "agentrouter-1"), rest(&world, "agentrouter-1")),
        (json!("auth_error"), 3_000)
    );
    assert_eq!((level(&world, "agentrouter-1"), locks(&world)), (1, vec![]));
}

/// Rules 2: a restatement belongs to its provider, and to its statuses.
#[test]
fn s12_nobody_else_is_restated() {
    let world = gateway("");
    world.upstream("b").answers_first([says(403, NO_QUOTA)]);
    let reply = world.ask("b/x");
    assert_eq!((reply.status, reply.header("retry-after")), (403, None), "{}", reply.text());
    world.upstream("agentrouter").answers_first([says(500, NO_QUOTA)]);
    assert_eq!(world.ask("agentrouter/x").status, 500);
    assert_eq!(world.failures("agentrouter"), 1, "a 500 stays one");
}

#[test]
fn c8_to_c12_a_rule_reads_what_its_provider_lets_it_read() {
    let world =
        Setup::new().provider("cloudflare-ai", 1).provider("openrouter", 1).provider("minimax", 1).start();
    let daily = "you have used up your daily free allocation of 10,000 neurons";
    world.upstream("cloudflare-ai").answers(says(429, daily));
    world.ask("cloudflare-ai/x");
    assert_eq!(error_type(&world, "cloudflare-ai-1"), "rate_limit_exceeded", "C8");
    // Where the operator declared something, the text is read (C9).
    let declared = json!({"providerErrorDefaults": {"cloudflare-ai": {"cooldownMs": 60_000}}});
    assert_eq!(world.manage("PATCH", "/api/settings", &declared).status, 200);
    reset(&world, "cloudflare-ai-1");
    world.ask("cloudflare-ai/x");
    assert_eq!(error_type(&world, "cloudflare-ai-1"), "quota_exhausted", "C9");
    world.upstream("openrouter").answers(says(402, "pay"));
    world.ask("openrouter/x");
    assert_eq!(
        (state(&world, "openrouter-1").as_str(), rest(&world, "openrouter-1")),
        ("cooling", 120_000),
        "C10"
    );
    assert_eq!(locks(&world), []);
    world.upstream("minimax").answers(told(429, "x-model-quota-remaining: haiku=3\r\n", "{}"));
    world.ask("minimax/haiku");
    assert_eq!(error_type(&world, "minimax-1"), "rate_limit_exceeded", "C12");
    reset(&world, "minimax-1");
    world.upstream("minimax").answers(told(429, "x-model-quota-remaining: haiku=0, sonnet=42\r\n", "{}"));
    world.ask("minimax/haiku");
    assert_eq!(error_type(&world, "minimax-1"), "quota_exhausted", "C11");
}
