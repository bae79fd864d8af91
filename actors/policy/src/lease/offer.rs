//! What a plan without a target says to somebody who wants a lease (rules 7.3 rows 12, 14, 15, 7.5).

use super::EndReason;
use crate::change::Exclusion;
use crate::ids::ConnectionId;
use crate::plan::Excluded;
use crate::time::Millis;

/// The longest wait that is told, s (rules 7.5.3).
const LONGEST_S: u64 = 3_600;

/// Everybody who could be leased is leased by others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contention {
    /// How many connections that are.
    pub eligible: usize,
    /// When the first of them may come free, epoch ms, if that is known.
    pub until: Option<Millis>,
}

/// Why there is nothing to lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lack {
    /// None of the key's connections could ever serve the model as things stand.
    NoneEligible,
    /// Those that could are all leased by others.
    Contended(Contention),
    /// Those that could rest, are out of quota or in need of an operator; when the first of them may
    /// be back, epoch ms, if that is known.
    Unavailable(Option<Millis>),
}

/// Judges the targets that a plan left out; `is_own`: the key may use some connection of a target
/// that is named without one.
pub fn lack(excluded: &[Excluded], is_own: impl Fn(&Excluded) -> bool) -> Lack {
    let leased = excluded.iter().filter(|target| target.reason == Exclusion::Leased);
    let mut connections: Vec<&ConnectionId> =
        leased.clone().filter_map(|target| target.connection.as_ref()).collect();
    connections.sort();
    connections.dedup();
    if !connections.is_empty() {
        let until = leased.filter_map(|target| target.until).min();
        return Lack::Contended(Contention { eligible: connections.len(), until });
    }
    let is_candidate = |target: &Excluded| {
        let hopeless = matches!(
            target.reason,
            Exclusion::Unavailable
                | Exclusion::KeyNotAllowed
                | Exclusion::ModelNotInCatalog
                | Exclusion::FormatNotSupported
        );
        !hopeless && (target.connection.is_some() || is_own(target))
    };
    let mut candidates = excluded.iter().filter(|target| is_candidate(target)).peekable();
    match candidates.peek() {
        Some(_) => Lack::Unavailable(candidates.filter_map(|target| target.until).min()),
        None => Lack::NoneEligible,
    }
}

/// Whole seconds to wait for the first lease to end (rules 7.5.3).
pub fn retry_after_s(until: Option<Millis>, now: Millis) -> u64 {
    let left_ms = until.map_or(0, |until| until.saturating_sub(now));
    left_ms.div_ceil(1_000).clamp(1, LONGEST_S)
}

/// Why a lease leaves its connection, from what holds that connection back.
pub fn move_reason(excluded: &[Excluded], connection: &ConnectionId) -> EndReason {
    let own = excluded.iter().find(|target| target.connection.as_ref() == Some(connection));
    match own.map(|target| target.reason) {
        Some(Exclusion::KeyNotAllowed) => EndReason::AuthorizationChanged,
        Some(Exclusion::QuotaShareExceeded | Exclusion::CreditsExhausted) => EndReason::QuotaUnavailable,
        Some(Exclusion::ModelNotInCatalog | Exclusion::FormatNotSupported) => EndReason::ModelIneligible,
        Some(reason) if reason.is_timer() => EndReason::HealthOrCooldown,
        Some(_) => EndReason::ConnectionIneligible,
        // Its provider is not among those that serve the model, or rests as a whole.
        None if excluded.iter().any(|target| target.connection.is_none() && target.reason.is_timer()) => {
            EndReason::HealthOrCooldown
        }
        None => EndReason::ModelIneligible,
    }
}

/// Whether a plan may ask several accounts for one answer, which no lease covers (rules 7.6.6).
/// `steps`: how many entries its combo has.
pub fn unsupported(strategy: &str, steps: usize, hedging: bool) -> bool {
    match strategy {
        "fusion" | "context-relay" | "chaos" | "shadow" => true,
        "pipeline" => steps > 1 || hedging,
        _ => hedging,
    }
}
