//! The scripted usage wall: accounts whose window is spent, the slower lane they are offered, and
//! the two endpoints that reset a session limit.
//!
//! A model `wall-N` stands for an account at its wall whose window resets in N seconds: a request
//! without the lane's header gets the wall, one with it gets what the rest of the name says. What the
//! endpoints say hangs on names, too: the status on the access token, the claim on the organisation.
//! A claim that resets takes the walls of that credential away.

mod script;

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use actix_web::http::StatusCode;
use actix_web::http::header::HeaderMap;
use actix_web::{HttpRequest, HttpResponse, web};
use serde_json::json;

use super::behaviour::{Behaviour, Lane, Wall};
use super::credential;
use super::exchange;
use super::server::Shared;
use script::{Claim, Status};

const SLOW: &str = "anthropic-usage-limit";

/// The organisation of every account here.
const ORGANIZATION: (&str, &str) = ("anthropic-organization-id", "org-of-the-demo");

/// A header of an answer.
pub(super) type Header = (String, String);

/// How a request at a wall is answered.
pub(super) struct Verdict {
    pub(super) status: u16,
    pub(super) headers: Vec<Header>,
}

#[derive(Default)]
struct Inner {
    /// Slow requests so far, by behaviour and credential.
    slow: HashMap<(Wall, String), u64>,
    /// Credentials whose limit was reset.
    reset: HashSet<String>,
}

/// What is known of all accounts.
#[derive(Default)]
pub(super) struct Walls(Mutex<Inner>);

impl Walls {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The answer to a request of an account at this wall.
    pub(super) fn judge(&self, wall: Wall, request: &HeaderMap) -> Verdict {
        let account = credential::of(request).unwrap_or_default().to_owned();
        let mut inner = self.inner();
        if inner.reset.contains(&account) {
            return Verdict { status: 200, headers: Vec::new() };
        }
        let resets_at = (now_seconds() + wall.resets_in).to_string();
        let (status, said) = match request.get(SLOW).is_some_and(|value| value == "slow") {
            true => {
                let n = inner.slow.entry((wall, account)).or_default();
                *n += 1;
                let (status, word) = wall.lane.answer(*n);
                let word = word.map(|word| ("slow-status", word));
                (status, word.into_iter().chain([("5h-reset", resets_at.as_str())]).collect())
            }
            false => {
                let offer = if wall.lane == Lane::Control { "control" } else { "treatment" };
                let said = [("status", "rejected"), ("slow-offer", offer), ("reset", resets_at.as_str())];
                (429, Vec::from(said))
            }
        };
        let named = |(name, value)| (format!("anthropic-ratelimit-unified-{name}"), String::from(value));
        let (name, value) = ORGANIZATION;
        let headers = said.into_iter().map(named).chain([(name.to_owned(), value.to_owned())]);
        Verdict { status, headers: headers.collect() }
    }
}

impl Lane {
    /// Status and word for the slow request `n` (from 1) of a credential.
    fn answer(self, n: u64) -> (u16, Option<&'static str>) {
        match self {
            Self::Busy { count } if n <= count => (429, Some("slot_busy")),
            Self::Overloaded { count } if n <= count => (529, None),
            Self::Refuses(reason) => (429, Some(reason.as_str())),
            Self::NotNeeded => (200, Some("not_needed")),
            Self::Serves | Self::Control | Self::Busy { .. } | Self::Overloaded { .. } => {
                (200, Some("active"))
            }
        }
    }
}

fn now_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_secs())
}

/// `GET /api/oauth/usage`.
pub(super) async fn usage(request: HttpRequest, shared: web::Data<Shared>) -> HttpResponse {
    let token = credential::of(request.headers()).unwrap_or_default().to_owned();
    let (_, ticket) = shared.journal.open(&request);
    let (status, body) = match script::status(&token) {
        Status::Behaves(behaviour) => match behaves(&request, behaviour).await {
            Ok(status) => (status, json!({ "error": "scripted" })),
            Err(response) => return response,
        },
        Status::Says { arm, available } => (
            200,
            json!({ "juniper_tide": {
                "eligible": true, "in_experiment": true, "arm": arm, "available": available,
                "next_available_at": null, "resets_per_week": 1,
            } }),
        ),
        Status::Unusable => (200, json!({ "juniper_tide": {} })),
    };
    if let Some(ticket) = ticket {
        ticket.sent(status);
        ticket.finish();
    }
    answer(status, &body)
}

/// `POST /api/organizations/{id}/reset_rate_limits`.
pub(super) async fn reset(
    request: HttpRequest,
    organization: web::Path<String>,
    shared: web::Data<Shared>,
) -> HttpResponse {
    let (_, ticket) = shared.journal.open(&request);
    let (status, result) = match script::claim(&organization) {
        Claim::Behaves(behaviour) => match behaves(&request, behaviour).await {
            Ok(200) => (200, "reset"),
            Ok(status) => (status, "error"),
            Err(response) => return response,
        },
        Claim::Says(result) => (200, result),
    };
    if result == "reset" {
        let account = credential::of(request.headers()).unwrap_or_default().to_owned();
        shared.walls.inner().reset.insert(account);
    }
    if let Some(ticket) = ticket {
        ticket.sent(status);
        ticket.finish();
    }
    answer(status, &json!({ "result": result }))
}

/// What a name does elsewhere; `Err`: there is no HTTP answer.
async fn behaves(request: &HttpRequest, behaviour: Behaviour) -> Result<u16, HttpResponse> {
    match behaviour {
        Behaviour::Headless(how) => Err(exchange::headless(request, how).await),
        Behaviour::Refuse(refusal) => Ok(refusal.status),
        Behaviour::Slow { delay_ms } => {
            tokio::time::sleep(Duration::from_millis(delay_ms)).await;
            Ok(200)
        }
        _ => Ok(200),
    }
}

fn answer(status: u16, body: &serde_json::Value) -> HttpResponse {
    let status = StatusCode::from_u16(status).expect("names allow valid statuses only");
    HttpResponse::build(status).json(body)
}
