//! Where a quota belongs to an address, the accounts behind it rest together (rules 4,
//! decision 31a). Everything here leaves from one local address.

use serde_json::json;

use super::{assert_left, error_type, level, locks, reset, rest, says, state};
use crate::support::{Answer, Setup, World};

/// Two accounts whose address is known, and a provider whose quota is its accounts' own.
fn family() -> World {
    let world = Setup::new().provider("opencode", 2).provider("other", 2).start();
    for provider in ["opencode", "other"] {
        let first = format!("{provider}-1");
        world.ask(&format!("{provider}/x")).served_by(provider);
        world.order("connection", &first, json!({"message": "drain"}));
        world.ask(&format!("{provider}/x")).served_by(provider);
        world.order("connection", &first, json!({"message": "undrain"}));
    }
    world
}

fn until(world: &World, connection: &str) -> u64 {
    world.snapshot(connection)["cooldown"]["until"].as_u64().unwrap()
}

#[test]
fn rules_4_a_429_rests_the_accounts_behind_one_address_as_long() {
    for (message, length, reason) in [
        ("rate limit reached", 3_000, "rate_limit_exceeded"),
        ("monthly usage limit reached", 3_600_000, "quota_exhausted"),
    ] {
        let world = family();
        world.upstream("opencode").answers_first([says(429, message)]);
        world.ask("opencode/x");
        for connection in ["opencode-1", "opencode-2"] {
            assert_eq!(state(&world, connection), "cooling", "{message}: {connection}");
            assert_left(rest(&world, connection), length, message);
            assert_eq!(error_type(&world, connection), reason, "{message}: {connection}");
        }
        assert!(until(&world, "opencode-1").abs_diff(until(&world, "opencode-2")) < 2_000, "{message}");
        assert_eq!(level(&world, "opencode-2"), 0, "{message}: the sibling's level is untouched");
        assert_eq!(locks(&world), [], "{message}: no model is barred as well (4.5)");
        for connection in ["other-1", "other-2"] {
            assert_eq!(state(&world, connection), "ready", "{message}: {connection}");
        }
        world.ask("other/x").served_by("other");
        world.ask("opencode/x").is_error(429, "model_cooldown");
    }
}

#[test]
fn rules_4_8_a_terminal_sibling_and_one_that_rests_longer_stay_as_they_are() {
    let world = family();
    world.order("connection", "opencode-2", json!({"message": "cool", "for": "2h"}));
    let before = until(&world, "opencode-2");
    world.upstream("opencode").answers_first([says(429, "monthly usage limit reached")]);
    world.ask("opencode/x");
    assert_eq!((state(&world, "opencode-1").as_str(), until(&world, "opencode-2")), ("cooling", before));
    let world = family();
    world.order("connection", "opencode-1", json!({"message": "drain"}));
    world.upstream("opencode").answers_first([says(403, "account_deactivated")]);
    world.ask("opencode/x");
    world.order("connection", "opencode-1", json!({"message": "undrain"}));
    world.upstream("opencode").answers_first([says(429, "monthly usage limit reached")]);
    world.ask("opencode/x");
    assert_eq!([state(&world, "opencode-1"), state(&world, "opencode-2")], ["cooling", "banned"]);
}

#[test]
fn rules_4_3_only_a_429_of_a_listed_provider_rests_siblings() {
    let world = family();
    for status in [402, 403, 503] {
        world.upstream("opencode").answers_first([says(status, "quota exceeded")]);
        world.ask("opencode/x");
        assert_ne!(state(&world, "opencode-1"), "ready", "{status}");
        assert_eq!(state(&world, "opencode-2"), "ready", "{status}");
        reset(&world, "opencode-1");
    }
    world.upstream("other").answers_first([Answer::status(429)]);
    world.ask("other/x").served_by("other");
    assert_eq!([state(&world, "other-1"), state(&world, "other-2")], ["cooling", "ready"]);
}

/// E5: what never rests does not make others rest.
#[test]
fn rules_4_3_an_account_that_never_rests_takes_no_sibling_along() {
    let never = "provider_specific = { disable_cooling = true }";
    let world = Setup::new()
        .provider("opencode", 2)
        .section("[[connections]]\nid = \"opencode-0\"\nprovider = \"opencode\"\ncredential = \"zero\"\npriority = 0")
        .section(never)
        .start();
    for connection in ["opencode-0", "opencode-1"] {
        world.ask("opencode/x").served_by("opencode");
        world.order("connection", connection, json!({"message": "drain"}));
    }
    world.ask("opencode/x").served_by("opencode");
    for connection in ["opencode-0", "opencode-1"] {
        world.order("connection", connection, json!({"message": "undrain"}));
    }
    world.upstream("opencode").answers_first([says(429, "monthly usage limit reached")]);
    world.ask("opencode/x").served_by("opencode");
    for connection in ["opencode-0", "opencode-1", "opencode-2"] {
        assert_eq!(state(&world, connection), "ready", "{connection}");
    }
}

/// The address is not known before the first request has left.
#[test]
fn rules_4_7_a_sibling_that_was_never_seen_is_left_alone() {
    let world = Setup::new().provider("opencode", 2).start();
    world.upstream("opencode").answers_first([says(429, "monthly usage limit reached")]);
    world.ask("opencode/x").served_by("opencode");
    assert_eq!([state(&world, "opencode-1"), state(&world, "opencode-2")], ["cooling", "ready"]);
}
