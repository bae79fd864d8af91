//! Refused credentials: confirmed before they are called expired, told as ours and not as the
//! client's, and forgotten with the credential (decisions 1, 3c, 9b, 12a).

use serde_json::{Value, json};

use super::process::{Process, Site, actor, actors, ask, eventually as soon, order};
use super::{a_then_b, error_type, level, reset, rest, says, short_rests, state};
use crate::support::{Answer, Gate, Setup, Upstream, World, credential, eventually};

/// A provider `o` of accounts with a token that is good for long.
fn oauth(upstream: &Upstream, base_ms: u64) -> World {
    let address = upstream.address;
    Setup::new()
        .section(&format!(
            "[resilience.connection_cooldown.oauth]\nbase_cooldown_ms = {base_ms}\n\
             [[providers]]\nid = \"o\"\nauth = \"oauth\"\nformat = \"openai\"\nbase_url = \"http://{address}\"\n\
             [[connections]]\nid = \"o-1\"\nprovider = \"o\"\naccess_token = \"token-of-o-1\"\n\
             expires_at = \"2100-01-01T00:00:00Z\""
        ))
        .start()
}

#[test]
fn decision_1_an_oauth_403_rests_the_account_and_bans_nobody() {
    let vendor = Upstream::start("o");
    let world = oauth(&vendor, 5_000);
    vendor.answers(says(403, "Forbidden"));
    let reply = world.ask("o/x");
    assert_eq!(reply.status, 403, "it may be about the request (decision 9b)");
    assert_eq!(
        (state(&world, "o-1").as_str(), rest(&world, "o-1"), level(&world, "o-1")),
        ("cooling", 5_000, 1)
    );
    assert_eq!(error_type(&world, "o-1"), "auth_error");
    let world = oauth(&vendor, 30);
    for length in [30, 60, 120] {
        world.ask("o/x");
        assert_eq!(rest(&world, "o-1"), length, "the ladder of core 3.8.3");
        eventually("its rest is over", || state(&world, "o-1") == "ready");
    }
    vendor.answers(Answer::good("o"));
    world.ask("o/x").served_by("o");
}

#[test]
fn decision_1_a_ban_needs_words() {
    let vendor = Upstream::start("o");
    let world = oauth(&vendor, 5_000);
    vendor.answers(says(403, "Your account has been suspended"));
    world.ask("o/x");
    assert_eq!(state(&world, "o-1"), "banned");
    world.ask("o/x").is_error(503, "no_usable_connection");
}

#[test]
fn core_3_8_a_request_that_an_oauth_account_refuses_locks_its_model_only() {
    let vendor = Upstream::start("o");
    let world = oauth(&vendor, 5_000);
    vendor.answers_first([says(403, "Request not allowed")]);
    assert_eq!(world.ask("o/x").status, 403);
    super::only_lock(&world, "o-1/x/exact/request_rejected", 300_000);
    assert_eq!(state(&world, "o-1"), "ready");
    world.ask("o/y").served_by("o");
}

#[test]
fn decision_12a_a_second_401_after_the_rest_of_the_first_expires_the_key() {
    let world = Setup::new().section(&short_rests(40)).provider("a", 1).start();
    world.upstream("a").answers(says(401, "Incorrect API key provided"));
    world.ask("a/x").is_error(502, "upstream_auth_failed");
    assert_eq!(
        (state(&world, "a-1").as_str(), rest(&world, "a-1"), level(&world, "a-1")),
        ("cooling", 40, 1)
    );
    eventually("its rest is over", || state(&world, "a-1") == "ready");
    world.ask("a/x").is_error(502, "upstream_auth_failed");
    assert_eq!(state(&world, "a-1"), "expired");
    world.ask("a/x").is_error(503, "no_usable_connection");
    assert_eq!((world.upstream("a").asked(), world.failures("a")), (2, 0));
    reset(&world, "a-1");
    world.upstream("a").answers(Answer::good("a"));
    world.ask("a/x").served_by("a");
}

#[test]
fn decision_12a_401s_in_parallel_are_one() {
    let world = Setup::new().section(&short_rests(40)).provider("a", 1).start();
    let (early, late) = (Gate::default(), Gate::default());
    let refused = || says(401, "Incorrect API key provided");
    let later = (0..3).map(|_| refused().held_by(&late));
    world.upstream("a").answers_first([refused().held_by(&early)].into_iter().chain(later));
    let open = |_| world.open("/v1/chat/completions", &json!({"model": "a/x"}));
    let mut wires: Vec<_> = (0..4).map(open).collect();
    eventually("all are there", || world.upstream("a").asked() == 4);
    early.open();
    eventually("the first one has rested", || level(&world, "a-1") == 1 && state(&world, "a-1") == "ready");
    late.open();
    for wire in &mut wires {
        wire.reply().is_error(502, "upstream_auth_failed");
    }
    eventually("every slot is free", || world.in_flight("a-1") == 0);
    assert_ne!(state(&world, "a-1"), "expired");
    assert_eq!(level(&world, "a-1"), 1, "one step");
}

#[test]
fn decision_12a_a_success_between_two_401s_forgets_the_first() {
    let world = Setup::new().section(&short_rests(40)).provider("a", 1).start();
    for _ in 0..3 {
        world.upstream("a").answers_first([says(401, "Incorrect API key provided")]);
        world.ask("a/x").is_error(502, "upstream_auth_failed");
        eventually("its rest is over", || state(&world, "a-1") == "ready");
        world.ask("a/x").served_by("a");
    }
    assert_eq!((state(&world, "a-1").as_str(), level(&world, "a-1")), ("ready", 0));
}

#[test]
fn decision_9b_what_is_wrong_with_our_account_is_not_told_as_the_clients() {
    let rows = [(401, 502, "upstream_auth_failed"), (402, 502, "upstream_credits_exhausted"), (403, 403, "")];
    for (status, told, code) in rows {
        for model in ["a/x", "m"] {
            let world = Setup::new().provider("a", 1).provider("b", 1).combo("m", &["a", "b"]).start();
            for provider in ["a", "b"] {
                world.upstream(provider).answers(says(status, "canary-of-the-vendor"));
            }
            for path in ["/v1/chat/completions", "/v1/messages", "/v1/responses"] {
                for connection in ["a-1", "b-1"] {
                    reset(&world, connection);
                }
                let reply = world.post(path, json!({ "model": model }));
                assert_eq!(
                    (reply.status, reply.code().as_str()),
                    (told, code),
                    "{path} {model}: {}",
                    reply.text()
                );
                assert_eq!(reply.text().contains("canary"), status == 403, "{path} {model}");
            }
        }
    }
}

#[test]
fn decision_9b_two_accounts_that_are_both_out_leave_none() {
    let world = Setup::new().provider("a", 2).start();
    world.upstream("a").answers(says(402, "insufficient credits"));
    world.ask("a/x").is_error(502, "upstream_credits_exhausted");
    assert_eq!(world.upstream("a").asked(), 2);
    for account in ["a-1", "a-2"] {
        assert_eq!(state(&world, account), "credits_exhausted");
    }
    world.ask("a/x").is_error(503, "no_usable_connection");
    let combo = a_then_b();
    for provider in ["a", "b"] {
        combo.upstream(provider).answers(says(402, "insufficient credits"));
    }
    combo.ask("m").is_error(502, "upstream_credits_exhausted");
    combo.ask("m").is_error(503, "ALL_TARGETS_SKIPPED");
}

/// Each way out of use: the answers that lead to it, one after the other.
fn ways_out() -> [(&'static str, Vec<Answer>); 3] {
    [
        ("banned", vec![says(403, "account_deactivated")]),
        ("credits_exhausted", vec![says(402, "insufficient credits")]),
        ("expired", vec![says(401, "Incorrect API key provided"), says(401, "Incorrect API key provided")]),
    ]
}

#[test]
fn decision_3c_another_credential_ends_a_terminal_state_and_the_same_one_does_not() {
    let one = Upstream::start("one");
    let vendor = format!(
        "{}\n[[providers]]\nid = \"one\"\nformat = \"openai\"\nbase_url = \"http://{}\"\n\
         [[connections]]\nid = \"one-1\"\nprovider = \"one\"\ncredential = \"secret-0\"\n",
        short_rests(20),
        one.address
    );
    let site = Site::with("verdicts-credential", &vendor);
    let process = site.start();
    let now = || actors(&process.address)["connection/one-1"]["state"].as_str().unwrap().to_owned();
    for (number, (terminal, answers)) in ways_out().into_iter().enumerate() {
        for answer in answers {
            soon("it may be asked", || now() == "ready");
            one.answers_first([answer]);
            let _ = ask(&process.address, "one/x");
        }
        assert_eq!(now(), terminal);
        hang_up(&site, &process, |text| text.replace("grace = \"5s\"", "grace = \"4s\""));
        assert_eq!(now(), terminal, "the same credential");
        let (old, new) = (format!("secret-{number}"), format!("secret-{}", number + 1));
        hang_up(&site, &process, |text| text.replace(&old, &new));
        assert_eq!(now(), "ready", "{terminal}: another credential");
        let kept: Value =
            actor(&process.address, "connection/one-1")["snapshot"]["cooldown"]["terminal"].clone();
        assert_eq!(kept, Value::Null);
        assert_eq!(ask(&process.address, "one/x").0, 200);
    }
}

#[test]
fn decision_3c_another_credential_by_patch_ends_a_terminal_state_and_another_field_does_not() {
    for (terminal, answers) in ways_out() {
        let world = Setup::new().section(&short_rests(20)).provider("a", 1).start();
        for answer in answers {
            eventually("it may be asked", || state(&world, "a-1") == "ready");
            world.upstream("a").answers_first([answer]);
            world.ask("a/x");
        }
        let patch = |body: Value| {
            let reply = world.manage("PATCH", "/api/providers/a-1", &body);
            assert_eq!(reply.status, 200, "{body}: {}", reply.text());
        };
        for same in [json!({"priority": 5}), json!({"apiKey": credential("a-1")})] {
            patch(same.clone());
            assert_eq!(state(&world, "a-1"), terminal, "{same}");
        }
        patch(json!({"apiKey": "rotated-0123456789"}));
        assert_eq!((state(&world, "a-1").as_str(), level(&world, "a-1")), ("ready", 0), "{terminal}");
        world.ask("a/x").served_by("a");
        let sent = world.upstream("a").requests().pop().unwrap();
        assert_eq!(sent.header("authorization"), Some("Bearer rotated-0123456789"));
    }
}

#[test]
fn decision_3c_another_credential_ends_an_auth_rest_and_no_other() {
    for (status, ends) in [(401, true), (403, true), (429, false), (503, false)] {
        let world = Setup::new().provider("a", 1).start();
        world.upstream("a").answers_first([Answer::status(status)]);
        world.ask("a/x");
        assert_eq!(state(&world, "a-1"), "cooling", "{status}");
        let reply = world.manage("PATCH", "/api/providers/a-1", &json!({"apiKey": "rotated-0123456789"}));
        assert_eq!(reply.status, 200, "{}", reply.text());
        assert_eq!(state(&world, "a-1") == "ready", ends, "{status}");
    }
}

/// Changes the config and has it read and known to the owner.
fn hang_up(site: &Site, process: &Process, change: impl FnOnce(String) -> String) {
    let done = "the config was read again";
    let before = site.log().matches(done).count();
    site.edit(change);
    process.signal("HUP");
    soon(done, || site.log().matches(done).count() > before);
    // An order goes behind the new config, to the router and to the owner.
    order(&process.address, "connection/one-1", r#"{"message":"undrain"}"#);
}
