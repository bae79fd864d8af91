//! What a request is told when all its attempts failed (decision 9b, routing 9.6).

use super::Failed;

/// What the client gets when all attempts failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastAnswer {
    /// The last upstream status and body (an index of `failures`).
    Upstream(usize),
    /// An upstream 401: our account's key is refused, not the client's.
    AuthFailed,
    /// An upstream 402: our account is out of credit.
    CreditsExhausted,
    /// A body of ours with this status: mixed failures, or no upstream status at all.
    Ours(u16),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Family {
    Auth,
    RateLimit,
    Timeout,
    Provider,
    Model,
}

impl Family {
    fn of(status: u16) -> Self {
        match status {
            401 | 403 => Self::Auth,
            429 => Self::RateLimit,
            408 | 499 => Self::Timeout,
            500.. => Self::Provider,
            _ => Self::Model,
        }
    }
}

/// Decision 9b and routing 9.6, for a request whose attempts all failed.
pub(super) fn last_answer(failures: &[Failed], combo: bool) -> LastAnswer {
    let Some(last) = failures.last() else {
        return LastAnswer::Ours(503);
    };
    let families: Vec<Family> = failures.iter().map(|failed| Family::of(failed.failure.status)).collect();
    let alike = families.windows(2).all(|pair| pair[0] == pair[1]);
    if combo && !alike {
        let timeout = families.contains(&Family::Timeout);
        return LastAnswer::Ours(if timeout { 504 } else { 502 });
    }
    // Every one moved on for its content: the first says it of the target that was wanted.
    let content = |failed: &Failed| failed.answered && matches!(failed.failure.status, 400 | 422);
    if failures.iter().all(content) {
        return LastAnswer::Upstream(0);
    }
    match failures.iter().rposition(|failed| failed.answered) {
        Some(index) => match failures[index].failure.status {
            401 => LastAnswer::AuthFailed,
            402 => LastAnswer::CreditsExhausted,
            _ => LastAnswer::Upstream(index),
        },
        None => LastAnswer::Ours(last.failure.status),
    }
}
