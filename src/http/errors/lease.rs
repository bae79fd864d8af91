//! What clients with a managed key are told of leases (rules 7.3, 7.5, 7.6).

use actors::lease::desk::NoLease;
use policy::lease::{Contention, Denied, retry_after_s};
use policy::plan::NoPlan;
use policy::time::Millis;

use super::{Code, Problem, of_no_plan};

/// From the reason to the error. `now`: for the wait that is told.
pub fn of_lease(no_lease: NoLease, model: &str, now: Millis) -> Problem {
    let problem = match no_lease {
        NoLease::Denied(denied) => of_denied(&denied),
        // The key may not ask for it: that is not the lease's business.
        NoLease::NoPlan(NoPlan::NotForKey) => return of_no_plan(NoPlan::NotForKey, model),
        NoLease::NoPlan(_) => {
            Problem::new(Code::LeaseModelInvalid, format!("no provider has the model `{model}`"))
        }
        NoLease::NoneEligible => Problem::new(
            Code::LeaseNoEligibleConnection,
            format!("none of this key's connections could serve `{model}`"),
        ),
        NoLease::Unavailable(until) => {
            let wait = until.map(|until| until.saturating_sub(now).max(1));
            let message =
                format!("every connection of this key that serves `{model}` rests or needs an operator");
            Problem::new(Code::LeaseEligibilityUnavailable, message).after(wait)
        }
        NoLease::Contended(contention) => contended(contention, now),
        NoLease::Unsupported => Problem::new(
            Code::LeaseUnsupportedRoute,
            format!("`{model}` asks several accounts for one answer; a lease covers one"),
        ),
        NoLease::Unanswered(_) | NoLease::Unkept(_) => unavailable(),
    };
    problem.kind("lease_error")
}

fn of_denied(denied: &Denied) -> Problem {
    let (code, message) = match denied {
        Denied::Required => (Code::LeaseRequired, "this owner has no active lease; acquire one first"),
        Denied::Stale => (Code::LeaseFenceStale, "the lease has ended, or has another generation or key"),
        Denied::AuthorizationMismatch => {
            (Code::LeaseAuthorizationMismatch, "the lease was acquired with another key")
        }
        Denied::ConnectionMismatch => (Code::LeaseConnectionMismatch, "the lease is of another connection"),
        Denied::Taken(_) | Denied::Elsewhere(_) | Denied::Gone => return unavailable(),
    };
    Problem::new(code, message)
}

fn unavailable() -> Problem {
    let message = "the lease could not be looked up or stored; try again";
    Problem::new(Code::LeaseServiceUnavailable, message).after(1_000)
}

fn contended(contention: Contention, now: Millis) -> Problem {
    let wait_s = retry_after_s(contention.until, now);
    let message = "every connection that this key may lease is leased by others";
    let mut problem = Problem::new(Code::LeaseCapacityUnavailable, message).after(wait_s * 1_000);
    let facts = [
        ("state", "WAITING_FOR_CAPACITY".into()),
        ("reason", "NO_FREE_ELIGIBLE_CONNECTION".into()),
        ("retryAfter", wait_s.into()),
        ("eligibleCount", contention.eligible.into()),
        ("freeCount", 0.into()),
    ];
    problem.facts.beside.extend(facts.map(|(name, value)| (name.to_owned(), value)));
    problem
}
