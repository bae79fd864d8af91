//! Ends without a status of their own (decisions 7, 9, 9a, 9c).

use super::super::{
    BreakerMark, CooldownRule, Detector, End, Failure, Reason, TerminalRule, Then, Transport,
};
use super::counting;

/// Refused, DNS, connect limit, TLS, reset, no HTTP, cut short: like any 502 (decision 7).
pub(super) const NETWORK: Failure = Failure {
    status: 502,
    detector: Detector::Transport,
    ..counting(Reason::ServerError, CooldownRule::Scaled, Then::NextOrRetry)
};

/// Our own proxy is at fault: no breaker counts, the connection cools (decision 7).
const PROXY_UNREACHABLE: Failure = Failure { breaker: BreakerMark::Ignored, then: Then::Next, ..NETWORK };

/// 504 on the breaker, cools no connection (decision 9).
const NO_FIRST_BYTE: Failure =
    Failure { status: 504, cooldown: CooldownRule::Nothing, then: Then::Next, ..NETWORK };

/// Cools nobody, no breaker count (decision 9c).
const SEND_INTERRUPTED: Failure =
    Failure { breaker: BreakerMark::Ignored, cooldown: CooldownRule::Nothing, then: Then::Next, ..NETWORK };

/// A second, separate failure; the client already has bytes (decision 9a).
const CUT_AFTER_COMMIT: Failure = Failure { then: Then::Stop, ..NETWORK };

/// Recorded on the connection, cools nobody unless the operator wants it (decision 9a, core P4, 1.6.3).
const STALL_AFTER_COMMIT: Failure = Failure {
    status: 504,
    breaker: BreakerMark::Ignored,
    cooldown: CooldownRule::Stall,
    then: Then::Stop,
    ..NETWORK
};

/// The same before commit: another target may still answer (decision 9a).
const STALL_BEFORE_COMMIT: Failure = Failure { then: Then::Next, ..STALL_AFTER_COMMIT };

/// The credential is known to be dead: no request will revive it (FC-038).
const CREDENTIAL_DEAD: Failure = Failure {
    status: 401,
    reason: Reason::AuthError,
    terminal: Some(TerminalRule::Expired),
    ..SEND_INTERRUPTED
};

/// No cooldown, no breaker count (routing 7.3, 7.5); at most the exact model is locked, and only by
/// the status list of an operator (flow 6.11.51).
const EMPTY: Failure = Failure { detector: Detector::Quality, ..SEND_INTERRUPTED };

/// The same, and the only end of a stream that one more try on the same connection may mend
/// (flow 6.2.6).
const EARLY_EOF: Failure = Failure { then: Then::NextOrOnce, ..EMPTY };

/// The verdict of an end; `None` for those that are judged by their status, or nobody's fault.
pub(in crate::verdict) fn of_end(end: End) -> Option<Failure> {
    Some(match end {
        End::Status(_) | End::InStream(_) | End::ClientGone | End::Local => return None,
        End::Transport(Transport::ProxyUnreachable) => PROXY_UNREACHABLE,
        End::Transport(_) => NETWORK,
        End::NoFirstByte => NO_FIRST_BYTE,
        End::SendInterrupted => SEND_INTERRUPTED,
        End::StallBeforeCommit => STALL_BEFORE_COMMIT,
        End::CredentialDead => CREDENTIAL_DEAD,
        End::Empty => EMPTY,
        End::EarlyEof => EARLY_EOF,
        End::CutAfterCommit => CUT_AFTER_COMMIT,
        End::StallAfterCommit => STALL_AFTER_COMMIT,
    })
}
