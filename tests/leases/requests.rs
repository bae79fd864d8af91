//! Requests under a lease, and beside one (rules 7.6, 7.4.6; M13 to M23).

use serde_json::json;

use crate::process::actors;
use crate::stage::{KA, KB, KC, OA, OB, PLAIN, Stage, bearer, named, told};
use crate::support::{Answer, Gate, eventually};

const CHAT: &str = "/v1/chat/completions";

/// M13, M14, M15, M19.
#[test]
fn a_request_goes_only_under_its_own_lease() {
    let stage = Stage::new("under");
    assert_eq!(stage.ask(KA, Some((OA, 1))).code(), (409, "LEASE_REQUIRED"));
    assert_eq!(stage.acquire(KA, OA).status, 200);
    assert_eq!(stage.ask(KA, Some((OA, 2))).code(), (409, "LEASE_FENCE_STALE"));
    assert_eq!(stage.ask(KB, Some((OA, 1))).code(), (409, "LEASE_FENCE_STALE"));
    let body = json!({"model": "p/m"}).to_string();
    let rows = [
        (String::new(), "LEASE_CONTEXT_REQUIRED"),
        ("X-OmniRoute-Lease-Generation: 1\r\nX-Session-Id: vlo_x\r\n".to_owned(), "LEASE_CONTEXT_REQUIRED"),
        (named("vlo_short", Some("1")), "LEASE_CONTEXT_INVALID"),
        (named(OA, Some("0")), "LEASE_CONTEXT_INVALID"),
        (named(OA, Some("1.5")), "LEASE_CONTEXT_INVALID"),
        (named(OA, Some("")), "LEASE_CONTEXT_INVALID"),
        (named(OA, None), "LEASE_CONTEXT_INVALID"),
    ];
    for (headers, code) in rows {
        for path in [CHAT, "/v1/messages", "/v1/responses"] {
            let answer = told(stage.send("POST", path, &(bearer(KA) + &headers), &body));
            assert_eq!(answer.code(), (400, code), "{path} {headers:?}");
        }
    }
    let forced = |id: &str| format!("{}{}X-OmniRoute-Connection: {id}\r\n", bearer(KA), named(OA, Some("1")));
    let other = told(stage.send("POST", CHAT, &forced("c-2"), &body));
    assert_eq!(other.code(), (409, "LEASE_CONNECTION_MISMATCH"));
    assert_eq!(stage.vendor.asked(), 0, "nothing was dispatched");
    assert_eq!(told(stage.send("POST", CHAT, &forced("c-1"), &body)).by(), "c-1");
    for path in [CHAT, "/v1/messages", "/v1/responses"] {
        let headers = bearer(KA) + &named(OA, Some("1"));
        assert_eq!(told(stage.send("POST", path, &headers, &body)).by(), "c-1", "{path}");
    }
    // M23: another model, the same account.
    let headers = bearer(KA) + &named(OA, Some("1"));
    assert_eq!(told(stage.send("POST", CHAT, &headers, r#"{"model":"p/n"}"#)).by(), "c-1");
}

/// M21, rules 7.4.6.
#[test]
fn fc_046_who_has_no_lease_uses_no_account_that_is_there_for_leases() {
    let stage = Stage::new("others");
    for _ in 0..3 {
        assert_eq!(stage.ask(PLAIN, None).by(), "c-3");
    }
    assert_eq!(stage.acquire(KA, OA).status, 200);
    assert_eq!(stage.ask(PLAIN, None).by(), "c-3");
    let (status, _) = stage.api("PATCH", "/api/providers/c-3", &json!({"isActive": false}));
    assert_eq!(status, 200);
    assert_eq!(stage.ask(PLAIN, None).code(), (503, "no_usable_connection"));
}

/// M17, M18: a resting account gives its lease to a free one, under the same generation.
#[test]
fn a_lease_moves_when_its_account_rests() {
    let stage = Stage::new("moves");
    assert_eq!(stage.acquire(KA, OA).status, 200);
    stage.cool("c-1");
    let answer = stage.ask(KA, Some((OA, 1)));
    assert_eq!((answer.status, answer.by()), (200, "c-2"));
    assert_eq!(stage.account(KA, OA, 1), "Account c-2");
    // The account that was left is free, and nobody holds two.
    crate::process::order(&stage.process.address, "connection/c-1", r#"{"message":"reset"}"#);
    assert_eq!(stage.acquire(KB, OB).status, 200);
    assert_eq!(stage.account(KB, OB, 1), "Account c-1");
    assert_eq!(stage.ask(KA, Some((OA, 1))).by(), "c-2", "it does not move back");
}

/// Rules 7.5.4: nowhere to go, because others lease what is left.
#[test]
fn a_lease_of_a_resting_account_ends_when_all_others_are_leased() {
    let stage = Stage::new("ends");
    assert_eq!(stage.acquire(KA, OA).status, 200);
    assert_eq!(stage.acquire(KB, OB).status, 200);
    stage.cool("c-1");
    let answer = stage.ask(KA, Some((OA, 1)));
    assert_eq!(answer.code(), (429, "LEASE_CAPACITY_UNAVAILABLE"));
    assert_eq!(answer.body["state"], "WAITING_FOR_CAPACITY");
    assert_eq!(stage.ask(KA, Some((OA, 1))).code(), (409, "LEASE_REQUIRED"));
    assert_eq!(stage.release(KA, OA, 1).code(), (409, "LEASE_FENCE_STALE"));
    // The only account of this key rests: no contention, and the lease stays.
    let stage = Stage::new("stays");
    assert_eq!(stage.acquire(KC, OA).status, 200);
    stage.cool("c-1");
    assert_eq!(stage.ask(KC, Some((OA, 1))).code(), (429, "model_cooldown"));
    assert_eq!(stage.renew(KC, OA, 1).status, 200);
}

/// M16, rules 7.6.4.
#[test]
fn fc_102_a_lease_that_was_released_stops_who_waits_in_line() {
    let stage = Stage::with("fence", "max_concurrent = 1");
    let gate = Gate::default();
    let held = Answer::good("vendor").held_by(&gate);
    stage.vendor.answers_first([held]);
    assert_eq!(stage.acquire(KA, OA).status, 200);
    let body = json!({"model": "p/m"});
    let first = stage.open(KA, Some((OA, 1)), &body);
    eventually("the first runs", || stage.vendor.asked() == 1);
    let second = stage.open(KA, Some((OA, 1)), &body);
    let waits = || actors(&stage.process.address)["router/router"]["inFlight"] == 2;
    eventually("the second waits", waits);
    assert_eq!(stage.release(KA, OA, 1).status, 200);
    gate.open();
    assert_eq!(told(first).status, 200, "what has gone goes on");
    assert_eq!(told(second).code(), (409, "LEASE_REQUIRED"));
    assert_eq!(stage.vendor.asked(), 1);
}

/// Rules 7.6.7, decision 30a.
#[test]
fn the_end_of_a_stream_is_not_the_end_of_its_lease() {
    let stage = Stage::new("stream");
    stage.vendor.answers_first([Answer::good_stream("vendor")]);
    let before = stage.acquire(KA, OA);
    let streamed = told(stage.open(KA, Some((OA, 1)), &json!({"model": "p/m", "stream": true})));
    assert_eq!((streamed.status, streamed.by()), (200, "c-1"));
    eventually("it has ended", || stage.in_flight("c-1") == 0);
    assert_eq!(stage.ask(KA, Some((OA, 1))).by(), "c-1");
    let status = stage.lease(KA, OA, json!({"action": "status", "generation": 1}));
    let expires = crate::stage::instant(&status.body["expiresAt"]);
    assert!(expires > crate::stage::instant(&before.body["expiresAt"]), "its time began anew");
    assert_eq!(status.body["renewedAt"], before.body["renewedAt"], "by no doing of the owner");
}

/// Rules 7.6.5, decision 26a: a failure that makes the account rest moves the lease within the request.
#[test]
fn a_request_whose_account_fails_goes_on_where_its_lease_moves() {
    let stage = Stage::new("within");
    assert_eq!(stage.acquire(KA, OA).status, 200);
    stage.vendor.answers_first([Answer::json(429, r#"{"error":{"message":"Rate limit reached"}}"#)]);
    let answer = stage.ask(KA, Some((OA, 1)));
    assert_eq!((answer.status, answer.by()), (200, "c-2"), "{answer:?}");
    assert_eq!(stage.account(KA, OA, 1), "Account c-2");
    assert_eq!(stage.vendor.asked(), 2);
}

/// Contract 4: an operator sees that it is leased and until when; not by whom, nor with which key.
#[test]
fn an_operator_sees_the_lease_of_a_connection() {
    let stage = Stage::new("seen");
    let whole = |id: &str| stage.api("GET", &format!("/api/actors/connection/{id}"), &json!(null)).1;
    assert!(whole("c-1")["derived"]["lease"].is_null());
    let taken = stage.acquire(KA, OA).body;
    let (seen, derived) = (whole("c-1"), whole("c-1")["derived"]["lease"].clone());
    for field in ["state", "generation", "acquiredAt", "renewedAt", "expiresAt"] {
        assert_eq!(derived[field], taken[field], "{field}");
    }
    assert_eq!(derived["inUse"], false);
    assert!(!seen.to_string().contains("owner") && !seen.to_string().contains("\"ka\""), "{seen}");
    assert_eq!(stage.release(KA, OA, 1).status, 200);
    assert!(whole("c-1")["derived"]["lease"].is_null());
}

/// Contract 4: an explanation for a managed key is what a request of that key would get.
#[test]
fn an_explanation_sees_what_a_managed_key_sees() {
    let stage = Stage::new("explained");
    let explain = |key: &str| {
        let (status, told) = stage.api("POST", "/api/route/explain", &json!({"model": "p/m", "key": key}));
        assert_eq!(status, 200, "{told}");
        let order: Vec<_> =
            told["order"].as_array().unwrap().iter().map(|row| row["connection"].clone()).collect();
        let leased = told["excluded"].as_array().unwrap().iter().filter(|row| row["reason"] == "leased");
        (json!(order), json!(leased.map(|row| row["connection"].clone()).collect::<Vec<_>>()))
    };
    // Nothing is taken yet: either account may be.
    assert_eq!(explain("ka"), (json!(["c-1", "c-2"]), json!([])));
    assert_eq!(stage.acquire(KA, OA).status, 200);
    assert_eq!(explain("ka"), (json!(["c-1"]), json!([])), "it goes under its own lease");
    assert_eq!(explain("kb"), (json!(["c-2"]), json!(["c-1"])));
    assert_eq!(explain("kc"), (json!([]), json!(["c-1"])));
    assert_eq!(explain("plain"), (json!(["c-3"]), json!(["c-1", "c-2"])));
    // Of several owners it is the one that came last.
    assert_eq!(stage.acquire(KA, OB).status, 200);
    assert_eq!(explain("ka").0, json!(["c-2"]));
    assert_eq!(stage.release(KA, OB, 1).status, 200);
    assert_eq!(explain("ka").0, json!(["c-1"]));
    assert_eq!(stage.account(KA, OA, 1), "Account c-1", "nothing has changed");
}

/// Rules 7.6.3: before every dispatch, so before those that a request sends itself when its stream has
/// broken, too.
#[test]
fn a_lease_that_was_released_stops_what_a_broken_stream_would_send() {
    for (name, setting) in [("rest", "continue_mid_stream"), ("again", "enabled")] {
        let tables = format!("[resilience.stream_recovery]\n{setting} = true\n");
        let stage = Stage::of(&format!("fence-{name}"), "", &tables);
        let gate = Gate::default();
        let delta = r#"data: {"choices":[{"index":0,"delta":{"content":"Hello"}}]}"#;
        let broken = Answer::stream().chunk(format!("{delta}\n\n")).until(&gate).resets();
        stage.vendor.answers_first([broken]);
        assert_eq!(stage.acquire(KA, OA).status, 200);
        let client = stage.open(KA, Some((OA, 1)), &json!({"model": "p/m", "stream": true, "messages": []}));
        eventually("it flows", || stage.vendor.asked() == 1 && stage.in_flight("c-1") == 1);
        assert_eq!(stage.release(KA, OA, 1).status, 200);
        gate.open();
        let (_, _, body) = crate::process::read(client);
        assert!(body.contains("Hello") && body.contains("upstream_truncated"), "{name}: {body}");
        assert_eq!(stage.vendor.asked(), 1, "{name}");
    }
}
