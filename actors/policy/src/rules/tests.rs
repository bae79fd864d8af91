//! Rules 9.1 and 9.2 as literal rows: S1–S12, C1–C30. What C1–C30 say about a connection's
//! stored state is tested where it is recorded (`recording`); here stands what is judged.

mod book;
mod catalogue;
mod guards;
mod judged;

use super::{Restated, restate};

fn restated(provider: &str, status: u16, text: &str, wait_ms: Option<u64>) -> Restated {
    restate(provider, status, &[text.to_lowercase()], wait_ms)
}

const RULE: Option<&str> = Some("agentrouter-quota-misstatus");

#[test]
fn s1_to_s12() {
    type Row<'a> = (&'a str, &'a str, u16, &'a str, Option<u64>, (u16, Option<u64>));
    let rows: [Row<'_>; 12] = [
        ("S1", "agentrouter", 403, "用户额度不足", None, (429, Some(60_000))),
        ("S2", "agentrouter", 403, "无权访问模型 claude-x", None, (403, None)),
        (
            "S3",
            "agentrouter",
            403,
            r#"Forbidden {"error":{"message":"用户额度不足，请充值"}}"#,
            None,
            (429, Some(60_000)),
        ),
        ("S4", "agentrouter", 403, "额度不足", Some(5_000), (429, Some(5_000))),
        ("S5", "agentrouter", 403, "额度不足", Some(0), (429, Some(60_000))),
        ("S6", "agentrouter", 400, "额度不足", None, (429, Some(60_000))),
        ("S7", "agentrouter", 403, "Invalid API key", None, (403, None)),
        ("S8", "openai", 403, "用户额度不足", None, (403, None)),
        ("S9", "agentrouter", 429, "额度不足", Some(1_000), (429, Some(1_000))),
        ("S10", "agentrouter", 403, "额度不足 无权访问模型", None, (403, None)),
        ("S11", "AgentRouter", 403, "额度不足", None, (429, Some(60_000))),
        ("S12", "agentrouter", 500, "额度不足", None, (500, None)),
    ];
    for (name, provider, status, text, wait, (want, told)) in rows {
        let got = restated(provider, status, text, wait);
        assert_eq!((got.status, got.wait_ms), (want, told), "{name}");
        let changed = want != status;
        assert_eq!(got.rule, RULE.filter(|_| changed), "{name}");
        assert_eq!(got.from, changed.then_some(status), "{name}");
    }
}

/// Rules 2.2.2, 2.2.5: a blank answer or an unknown provider passes as it is.
#[test]
fn what_is_not_misstated_passes_unchanged() {
    for (provider, text) in [("agentrouter", ""), ("", "额度不足"), ("acme", "额度不足")] {
        let got = restated(provider, 403, text, Some(7));
        assert_eq!(got, Restated { status: 403, wait_ms: Some(7), from: None, rule: None }, "{provider}");
    }
    assert_eq!(restate("agentrouter", 403, &[], None).rule, None);
}
