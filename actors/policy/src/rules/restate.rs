//! Gateways that misstate their quota: the status they should have sent (rules 2).
//!
//! A marker is a literal of one provider, never a general English phrase: those belong to
//! the detectors of the verdict, some of which end an account's use. The wait of a row is
//! told to the client when the gateway stated none; it cools nobody (rules 2.3.2).

use crate::time::{MINUTE, Millis};

/// One gateway's misstatement (rules 2.1.1).
pub(super) struct Restatement {
    pub(super) provider: &'static str,
    id: &'static str,
    from: &'static [u16],
    to: u16,
    /// Lower case; any one makes the row a candidate.
    markers: &'static [&'static str],
    /// Lower case; any one vetoes the row.
    unless: &'static [&'static str],
    client_wait_ms: Option<Millis>,
}

/// Rules 2.3.
pub(super) const REGISTRY: &[Restatement] = &[Restatement {
    provider: "agentrouter",
    id: "agentrouter-quota-misstatus",
    from: &[403, 400],
    to: 429,
    markers: &["额度不足"],
    // "No access to this model" is for good and never a quota.
    unless: &["无权访问"],
    client_wait_ms: Some(MINUTE),
}];

/// What an answer's status is read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Restated {
    /// The status that everybody downstream sees.
    pub status: u16,
    /// The wait that the client is told, ms: the gateway's own, else the row's.
    pub wait_ms: Option<Millis>,
    /// The gateway's own status, if a row changed it.
    pub from: Option<u16>,
    /// The row that changed it.
    pub rule: Option<&'static str>,
}

/// Corrects the status of a gateway that misstates it. `texts`: the answer in lower case, as
/// it came and with its escapes decoded (rules 2.2.8).
pub fn restate(provider: &str, status: u16, texts: &[String], wait_ms: Option<Millis>) -> Restated {
    let holds =
        |markers: &[&str]| markers.iter().any(|marker| texts.iter().any(|text| text.contains(marker)));
    let row = REGISTRY.iter().find(|row| {
        provider.eq_ignore_ascii_case(row.provider)
            && row.from.contains(&status)
            && holds(row.markers)
            && !holds(row.unless)
    });
    let Some(row) = row else {
        return Restated { status, wait_ms, from: None, rule: None };
    };
    Restated {
        status: row.to,
        wait_ms: wait_ms.filter(|ms| *ms > 0).or(row.client_wait_ms),
        from: Some(status),
        rule: Some(row.id),
    }
}
