//! The checks of `POST /v1/session-leases` in their order (rules 7.3, M10 to M12, M22).

use serde_json::json;

use crate::stage::{KA, KC, OA, OB, PLAIN, Stage, bearer, named, told};

const JSON: &str = "content-type: application/json\r\n";
const ACQUIRE: &str = r#"{"action":"acquire","model":"p/m"}"#;

/// Rows 1 to 9 and 11; each request has every later mistake as well.
#[test]
fn the_first_of_several_mistakes_is_told() {
    let stage = Stage::new("checks");
    let (ka, plain, owner) = (bearer(KA), bearer(PLAIN), named(OA, None));
    let rows: [(&str, String, &str, (u16, &str)); 11] = [
        ("1", String::new(), "x", (401, "LEASE_AUTHENTICATION_REQUIRED")),
        ("2", bearer("sk-unknown"), "x", (401, "LEASE_API_KEY_INVALID")),
        ("3", format!("{plain}content-type: text/plain\r\n"), "x", (415, "LEASE_CONTENT_TYPE_REQUIRED")),
        ("3, none", plain.clone(), "x", (415, "LEASE_CONTENT_TYPE_REQUIRED")),
        ("4", format!("{plain}{JSON}"), "x", (400, "LEASE_ACTION_INVALID")),
        ("4, M12", format!("{plain}{JSON}"), r#"{"action":"pause"}"#, (400, "LEASE_ACTION_INVALID")),
        ("6, M11", format!("{plain}{JSON}"), ACQUIRE, (403, "LEASE_SCOPE_REQUIRED")),
        ("8, M10", format!("{ka}{JSON}"), ACQUIRE, (400, "LEASE_CONTEXT_REQUIRED")),
        (
            "9, M10",
            format!("{ka}{JSON}{}", named("vlo_short", None)),
            ACQUIRE,
            (400, "LEASE_CONTEXT_INVALID"),
        ),
        (
            "11",
            format!("{ka}{JSON}{owner}"),
            r#"{"action":"acquire","model":"nobody/m"}"#,
            (400, "LEASE_MODEL_INVALID"),
        ),
        (
            "parameters of the media type are ignored",
            format!("{ka}content-type: Application/JSON; charset=utf-8\r\n{owner}"),
            ACQUIRE,
            (200, ""),
        ),
    ];
    for path in ["/v1/session-leases", "/api/v1/session-leases"] {
        for (row, headers, body, expected) in &rows {
            let answer = told(stage.send("POST", path, headers, body));
            assert_eq!(answer.code(), *expected, "{path} {row}");
            if expected.0 != 200 {
                assert_eq!(answer.body["error"]["type"], "lease_error", "{row}");
                assert!(answer.body["error"]["message"].is_string(), "{row}");
            }
        }
    }
    assert_eq!(stage.vendor.asked(), 0);
}

/// Rules 7.3.1.
#[test]
fn options_names_both_headers() {
    let stage = Stage::new("options");
    let answer = told(stage.send("OPTIONS", "/v1/session-leases", "", ""));
    assert_eq!(answer.status, 204);
    let allowed = answer.header("access-control-allow-headers").unwrap();
    assert!(allowed.contains("x-omniroute-lease-owner") && allowed.contains("x-omniroute-lease-generation"));
    assert_eq!(told(stage.send("GET", "/v1/session-leases", "", "")).status, 405);
}

/// M22, M22a; rows 12 and 15.
#[test]
fn resting_accounts_are_no_contention() {
    let stage = Stage::new("resting");
    stage.cool("c-1");
    let answer = stage.acquire(KC, OA);
    assert_eq!(answer.code(), (429, "LEASE_ELIGIBILITY_UNAVAILABLE"));
    assert!(answer.body.get("state").is_none(), "{answer:?}");
    assert!(answer.header("retry-after").unwrap().parse::<u64>().unwrap() <= 60);
    let (status, _) = stage.api("PATCH", "/api/providers/c-1", &json!({"isActive": false}));
    assert_eq!(status, 200);
    assert_eq!(stage.acquire(KC, OA).code(), (409, "LEASE_NO_ELIGIBLE_CONNECTION"));
    // The other account of the longer list is free.
    assert_eq!(stage.acquire(KA, OA).status, 200);
    // One rests, one is leased: that is contention.
    let (status, _) = stage.api("PATCH", "/api/providers/c-1", &json!({"isActive": true}));
    assert_eq!(status, 200);
    let contended = stage.acquire(KA, OB);
    assert_eq!(contended.code(), (429, "LEASE_CAPACITY_UNAVAILABLE"));
    assert_eq!(contended.body["eligibleCount"], 1);
}
