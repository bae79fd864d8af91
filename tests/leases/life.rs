//! A lease from its acquisition to its end: renewals, releases, crashes (rules 9.8 M1 to M8, M24).

use serde_json::json;

use crate::stage::{KA, KB, KC, OA, OB, OC, PLAIN, Stage, instant};

const TTL_MS: i64 = 120_000;

/// M1, M2, M3, M24.
#[test]
fn a_lease_is_extended_by_its_owner_alone() {
    let stage = Stage::new("extended");
    let first = stage.acquire(KA, OA);
    assert_eq!(
        (first.status, &first.body["state"], &first.body["generation"]),
        (200, &json!("ACTIVE"), &json!(1))
    );
    let (acquired, expires) = (instant(&first.body["acquiredAt"]), instant(&first.body["expiresAt"]));
    assert_eq!(expires - acquired, TTL_MS);
    let fields: Vec<&String> = first.body.as_object().unwrap().keys().collect();
    assert_eq!(fields.len(), 5, "and nothing that names connection, key or owner: {fields:?}");
    let renewed = stage.renew(KA, OA, 1);
    assert_eq!((renewed.status, instant(&renewed.body["acquiredAt"])), (200, acquired));
    assert_eq!(instant(&renewed.body["expiresAt"]) - instant(&renewed.body["renewedAt"]), TTL_MS);
    let again = stage.acquire(KA, OA);
    assert_eq!((again.status, &again.body["generation"]), (200, &json!(1)));
    assert_eq!(instant(&again.body["acquiredAt"]), acquired);
    assert!(instant(&again.body["expiresAt"]) >= instant(&renewed.body["expiresAt"]));
    assert_eq!(stage.renew(KA, OA, 2).code(), (409, "LEASE_FENCE_STALE"));
    assert_eq!(stage.renew(KB, OA, 1).code(), (409, "LEASE_FENCE_STALE"));
    assert_eq!(stage.renew(KA, OB, 1).code(), (409, "LEASE_FENCE_STALE"));
    // M9.
    assert_eq!(stage.acquire(KB, OA).code(), (409, "LEASE_FENCE_STALE"));
    assert_eq!(stage.account(KA, OA, 1), "Account c-1", "unchanged");
}

/// M4, M5.
#[test]
fn a_released_lease_is_released_and_the_next_one_has_the_next_generation() {
    let stage = Stage::new("released");
    assert_eq!(stage.acquire(KC, OA).status, 200);
    assert_eq!(stage.release(KB, OA, 1).code(), (409, "LEASE_FENCE_STALE"));
    for _ in 0..2 {
        let released = stage.release(KC, OA, 1);
        assert_eq!((released.status, &released.body["state"]), (200, &json!("RELEASED")));
    }
    assert_eq!(stage.renew(KC, OA, 1).code(), (409, "LEASE_FENCE_STALE"));
    // At once, for anybody.
    assert_eq!(stage.acquire(KC, OB).body["generation"], 1);
    assert_eq!(stage.release(KC, OB, 1).status, 200);
    assert_eq!(stage.acquire(KC, OA).body["generation"], 2);
    assert_eq!(stage.release(KC, OA, 1).code(), (409, "LEASE_FENCE_STALE"), "of an earlier one");
}

/// M8, rules 7.5, routing 9.9.
#[test]
fn fc_046_who_finds_all_leased_is_told_when_the_first_ends() {
    let stage = Stage::new("contended");
    for (owner, account) in [(OA, "Account c-1"), (OB, "Account c-2")] {
        assert_eq!(stage.acquire(KA, owner).status, 200);
        assert_eq!(stage.account(KA, owner, 1), account);
    }
    let third = stage.acquire(KB, OC);
    assert_eq!(third.code(), (429, "LEASE_CAPACITY_UNAVAILABLE"));
    let wait: u64 = third.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=120).contains(&wait), "{wait}");
    let body = &third.body;
    assert_eq!(body["error"]["type"], "lease_error");
    assert_eq!(
        (&body["state"], &body["reason"], &body["retryAfter"], &body["eligibleCount"], &body["freeCount"]),
        (
            &json!("WAITING_FOR_CAPACITY"),
            &json!("NO_FREE_ELIGIBLE_CONNECTION"),
            &json!(wait),
            &json!(2),
            &json!(0)
        )
    );
    assert_eq!(stage.release(KA, OA, 1).status, 200);
    assert_eq!(stage.acquire(KB, OC).status, 200);
    assert_eq!(stage.account(KB, OC, 1), "Account c-1");
    assert_eq!(stage.vendor.asked(), 0, "no lease ever calls a vendor");
}

/// Decisions 11, 30a; FC-061: what was answered is on disk.
#[test]
fn a_lease_survives_a_kill_and_generations_never_go_back() {
    let mut stage = Stage::new("killed");
    let first = stage.acquire(KC, OA);
    assert_eq!(first.status, 200);
    stage.crash();
    assert_eq!(stage.acquire(KC, OB).code(), (429, "LEASE_CAPACITY_UNAVAILABLE"));
    assert_eq!(stage.ask(PLAIN, None).by(), "c-3", "the others are for leases");
    let answer = stage.ask(KC, Some((OA, 1)));
    assert_eq!((answer.status, answer.by()), (200, "c-1"));
    let renewed = stage.renew(KC, OA, 1);
    assert_eq!((renewed.status, &renewed.body["acquiredAt"]), (200, &first.body["acquiredAt"]));
    assert_eq!(stage.release(KC, OA, 1).status, 200);
    stage.crash();
    assert_eq!(stage.release(KC, OA, 1).body["state"], "RELEASED", "a second time, too");
    assert_eq!(stage.acquire(KC, OA).body["generation"], 2);
    stage.crash();
    // The owner of the highest generation is remembered without the connection.
    assert_eq!(stage.release(KC, OA, 2).status, 200);
    stage.site.edit(|config| {
        config
            .replace(r#"["c-1"]"#, r#"["c-2"]"#)
            .replace(r#"["c-1", "c-2"]"#, r#"["c-2"]"#)
            .replace("[[connections]]\nid = \"c-1\"", "[[connections]]\nid = \"c-9\"")
    });
    stage.crash();
    assert_eq!(stage.acquire(KC, OA).body["generation"], 3);
    assert_eq!(stage.account(KC, OA, 3), "Account c-2");
}

/// Rules 7.1.2, 7.6.8.
#[test]
fn nothing_of_an_owner_but_its_hash_is_kept_or_logged() {
    let stage = Stage::new("hashed");
    assert_eq!(stage.acquire(KA, OA).status, 200);
    assert_eq!(stage.ask(KA, Some((OA, 1))).status, 200);
    let asked = stage.vendor.only_request();
    assert!(!asked.head.to_lowercase().contains("lease") && !asked.head.contains(OA), "{}", asked.head);
    let (_, body) = stage.api("GET", "/api/actors/connection/c-1", &json!(null));
    assert!(!body.to_string().contains(OA));
    let Stage { site, process, .. } = stage;
    process.end();
    let log = site.log();
    assert!(!log.contains(OA) && !log.contains("vlo_"), "{log}");
    let dump = std::process::Command::new(env!("CARGO_BIN_EXE_switchtower"))
        .args(["store", "dump", "--config"])
        .arg(site.path("config.toml"))
        .output()
        .unwrap();
    let dump = String::from_utf8(dump.stdout).unwrap();
    let line = dump.lines().find(|line| line.contains("session_leases")).expect("the lease");
    assert!(line.contains("\"generation\":1") && !dump.contains("vlo_"), "{line}");
}
