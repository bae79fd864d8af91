use actix_web::HttpResponse;
use actix_web::body::{MessageBody, to_bytes};
use policy::blocked::Blocked;
use policy::catalogue::Dialect;
use policy::change::Exclusion;
use policy::plan::{Lack, NoPlan};
use serde_json::Value;

use super::{of_trouble, seconds, shown};
use crate::relay::{Story, Trouble};

const NOW: u64 = 1_768_478_400_000;

fn read(response: HttpResponse) -> (u16, Option<String>, Value) {
    let status = response.status().as_u16();
    let wait = response.headers().get("retry-after").map(|value| value.to_str().unwrap().to_owned());
    let body = response.into_body();
    assert!(matches!(body.size(), actix_web::body::BodySize::Sized(_)));
    let body = actix_rt::System::new().block_on(to_bytes(body)).ok().unwrap();
    (status, wait, serde_json::from_slice(&body).unwrap())
}

fn answer(trouble: Trouble, combo: bool) -> (u16, Option<String>, Value) {
    let story = Story { combo, pool_size: 2, ..Story::default() };
    read(of_trouble(trouble, &story, "m", NOW).respond(Dialect::Openai, 0))
}

/// Routing 9.2, rows C, D and E: what the plan knows is told, and what the client may do.
#[test]
fn rows_c_d_and_e_say_why_nobody_can_serve_it() {
    let rows = [
        (
            NoPlan::ContextTooLong { pool_size: 3, largest: 10, input: 11 },
            (400, "context_length_exceeded", "context_length_exceeded", None),
        ),
        (
            NoPlan::CapabilityMismatch { pool_size: 3, lacks: vec![Lack::Tools, Lack::Window] },
            (400, "capability_mismatch", "tools_not_supported", Some("switch-combo")),
        ),
        (
            NoPlan::ContextRequirements { pool_size: 3 },
            (404, "model_not_found", "context_requirements_exhausted", Some("switch-combo")),
        ),
    ];
    for (no_plan, (status, code, terminal, action)) in rows {
        let (got, wait, body) = answer(Trouble::NoPlan(no_plan), false);
        assert_eq!((got, wait), (status, None), "{body}");
        assert_eq!(
            (&body["error"]["code"], &body["error"]["type"]),
            (&code.into(), &"invalid_request_error".into())
        );
        let diagnostics = &body["diagnostics"];
        assert_eq!((&diagnostics["terminalReason"], &diagnostics["poolSize"]), (&terminal.into(), &3.into()));
        assert_eq!(body["recovery_hint"]["action"].as_str(), action);
    }
}

/// Contract 3's table of local conditions, routing 9.2 and 9.7: status, code, type, Retry-After.
#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn each_local_condition_has_its_status_code_and_wait() {
    let blocked = |blocked| Trouble::Blocked(blocked, None);
    let rows = [
        ("router full", false, Trouble::RouterFull, 503, "MAILBOX_FULL", "server_error", Some("1")),
        (
            "connection full",
            true,
            blocked(Blocked::MailboxFull),
            503,
            "MAILBOX_FULL",
            "server_error",
            Some("1"),
        ),
        (
            "gate",
            false,
            blocked(Blocked::OwnLimit(Exclusion::ConcurrencyCap, Some(1_000))),
            429,
            "SEMAPHORE_QUEUE_FULL",
            "rate_limit_error",
            Some("1"),
        ),
        (
            "9.7",
            false,
            blocked(Blocked::CircuitOpen(Some(400))),
            503,
            "provider_circuit_open",
            "server_error",
            Some("1"),
        ),
        (
            "9.7",
            false,
            blocked(Blocked::ModelCooldown(12_400)),
            429,
            "model_cooldown",
            "rate_limit_error",
            Some("13"),
        ),
        (
            "B",
            true,
            blocked(Blocked::NoExecutableTargets),
            404,
            "no_executable_targets",
            "invalid_request_error",
            None,
        ),
        ("F", true, blocked(Blocked::Skipped), 503, "ALL_TARGETS_SKIPPED", "service_unavailable", None),
        (
            "G",
            true,
            blocked(Blocked::SkippedUntil(40_000)),
            429,
            "ALL_TARGETS_SKIPPED",
            "rate_limit_error",
            Some("40"),
        ),
        (
            "N",
            true,
            blocked(Blocked::AllCoolingDown(Some(1))),
            503,
            "all_targets_cooling_down",
            "service_unavailable",
            Some("1"),
        ),
        (
            "9b",
            false,
            blocked(Blocked::NoUsableConnection),
            503,
            "no_usable_connection",
            "server_error",
            None,
        ),
        ("I", true, Trouble::TooManyAttempts, 503, "service_unavailable", "server_error", None),
        (
            "name",
            false,
            Trouble::NoPlan(NoPlan::UnknownModel),
            404,
            "model_not_found",
            "invalid_request_error",
            None,
        ),
        (
            "flow 2.6",
            false,
            Trouble::NoPlan(NoPlan::NotForKey),
            403,
            "permission_denied",
            "permission_error",
            None,
        ),
        (
            "flow 2.15",
            true,
            blocked(Blocked::QuotaShareExceeded(Some(2_500))),
            429,
            "QUOTA_SHARE_EXCEEDED",
            "rate_limit_error",
            Some("3"),
        ),
        ("routing 5.9", true, blocked(Blocked::OverBudget), 402, "budget_exceeded", "billing_error", None),
    ];
    for (row, combo, trouble, status, code, kind, wait) in rows {
        let (got, got_wait, body) = answer(trouble, combo);
        assert_eq!((got, got_wait.as_deref()), (status, wait), "{row} {code}: {body}");
        assert_eq!(
            (&body["error"]["code"], &body["error"]["type"]),
            (&code.into(), &kind.into()),
            "{row}: {body}"
        );
        assert_eq!(body["diagnostics"].is_object(), combo, "{row} {code}: {body}");
    }
}

/// Decision 26b: whole seconds, rounded up, at least one; a cap is for the header alone.
#[test]
fn a_wait_is_rounded_up_and_capped_in_the_header_only() {
    assert_eq!([0, 1, 1_000, 1_001].map(seconds), [1, 1, 1, 2]);
    assert_eq!([0, 5_000].map(|cap| shown(60_000, cap)), ["60", "5"]);
    let story = Story::default();
    let problem = of_trouble(Trouble::Blocked(Blocked::ModelCooldown(60_000), None), &story, "m", NOW);
    let (_, wait, body) = read(problem.respond(Dialect::Anthropic, 5_000));
    assert_eq!(wait.as_deref(), Some("5"));
    assert_eq!(body["error"]["retry_after"], 60);
    assert_eq!(body["error"]["reset_at"], "2026-01-15T12:01:00Z");
    assert_eq!((&body["type"], &body["error"]["type"]), (&"error".into(), &"rate_limit_error".into()));
}
