//! What is known of the usage walls of one account, for all workers (rules 5).
//!
//! It rides on the connection's `Endpoint`: whoever dials has it at hand without a message, and an
//! account that has opted into nothing costs nothing. A reload hands it to the new endpoint, a
//! respawned owner never held it, a restart forgets it (rules 5.3). There are as many as there are
//! connections that opted in, so nothing needs to be evicted.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use awc::http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use awc::http::{Method, Uri};
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use policy::time::Millis;
use policy::wall::{Lane, Memo, Outcome, Round, Status, claimed, read_status};
use tokio::sync::watch;

use super::body::AnswerBody;
use super::call::{Dialled, Dialler, Errand};
use super::endpoint::{Endpoint, Route};
use crate::settings::Secret;

/// Where the status of a reset is asked for (rules 5.6.1).
const STATUS_PATH: &str = "/api/oauth/usage?at_wall=1&skip_spend=1";
/// What a claim says.
const CLAIM: &[u8] = br#"{"program":"juniper_tide"}"#;
const STATUS_LIMIT: Duration = Duration::from_secs(5);
const CLAIM_LIMIT: Duration = Duration::from_secs(25);
/// Most that is read of either answer.
const LONGEST: usize = 64 * 1024;
/// Names the organisation in the account's own answers (decision 31).
const ORGANIZATION: &str = "anthropic-organization-id";
/// A longer name of an organisation is none.
const LONGEST_NAME: usize = 64;

/// What a connection has opted into, and what is known of its walls.
#[derive(Clone, Debug)]
pub struct Walled {
    /// It may take the slower lane.
    pub low_priority: bool,
    /// It may spend a reset of its session limit.
    pub auto_reset: bool,
    /// Its organisation, as configured.
    pub organization: Option<String>,
    /// What is known.
    pub wall: Arc<Wall>,
}

/// What is known of the walls of one account.
#[derive(Debug, Default)]
pub struct Wall(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    lane: Lane,
    memo: Memo,
    /// The organisation, as its answers name it.
    organization: Option<String>,
    /// The round that runs, for all who wait for it.
    round: Option<watch::Receiver<Option<Outcome>>>,
}

impl Wall {
    /// Works with the lane. Nobody awaits meanwhile.
    pub fn with_lane<T>(&self, work: impl FnOnce(&mut Lane) -> T) -> T {
        work(&mut self.state().lane)
    }

    /// Notes the organisation that an answer names.
    pub fn overhear(&self, headers: &HeaderMap) {
        let named = headers.get(ORGANIZATION).and_then(|value| value.to_str().ok());
        let Some(named) = named.filter(|name| is_name(name)) else { return };
        let mut state = self.state();
        if state.organization.as_deref() != Some(named) {
            state.organization = Some(named.to_owned());
        }
    }

    /// Tries to have the session limit reset. However many ask, one round answers them; it goes on
    /// without those who leave. `now`: epoch ms.
    pub async fn reset(
        self: &Arc<Self>,
        endpoint: &Arc<Endpoint>,
        token: &Secret,
        dialler: &Dialler,
        now: impl Fn() -> Millis + 'static,
    ) -> Outcome {
        let mut round = {
            let mut state = self.state();
            if let Some(round) = &state.round {
                round.clone()
            } else if let Some(known) = state.memo.known(now()) {
                return known;
            } else {
                let (told, round) = watch::channel(None);
                state.round = Some(round.clone());
                let (landing, dialler) = (Landing { wall: self.clone(), told }, dialler.clone());
                let (endpoint, token) = (endpoint.clone(), token.clone());
                let organization = organization(&endpoint, &state);
                actix_rt::spawn(async move {
                    let round = ask(&dialler, &endpoint, &token, organization).await;
                    landing.lands(round, now());
                });
                round
            }
        };
        match round.wait_for(Option::is_some).await {
            Ok(outcome) => outcome.unwrap_or(Outcome::Error),
            Err(_) => Outcome::Error,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A round that is over however it ended: a task that is dropped half-way wakes those who wait.
struct Landing {
    wall: Arc<Wall>,
    told: watch::Sender<Option<Outcome>>,
}

impl Landing {
    fn lands(self, round: Round, now: Millis) {
        let outcome = self.wall.state().memo.record(round, now);
        self.told.send_replace(Some(outcome));
    }
}

impl Drop for Landing {
    fn drop(&mut self) {
        self.wall.state().round = None;
    }
}

fn organization(endpoint: &Endpoint, state: &State) -> Option<String> {
    let configured = endpoint.walled.as_ref()?.organization.as_deref().filter(|name| is_name(name));
    configured.map(str::to_owned).or_else(|| state.organization.clone())
}

/// It can stand in a path as it is.
fn is_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    (1..=LONGEST_NAME).contains(&name.len()) && name.bytes().all(plain)
}

/// Status, then the claim if one is offered.
async fn ask(dialler: &Dialler, endpoint: &Endpoint, token: &Secret, organization: Option<String>) -> Round {
    let Some(organization) = organization else { return Round::NoOrganization };
    let claim_path = format!("/api/organizations/{organization}/reset_rate_limits");
    let origin = endpoint.address(Route::Messages);
    let addresses = beside(origin, STATUS_PATH).zip(beside(origin, &claim_path));
    let Some(((status_at, claim_at), headers)) = addresses.zip(headers(token)) else {
        return Round::NoStatus;
    };
    let errand = |method, address, body| Errand {
        method,
        address,
        proxy: endpoint.proxy.as_ref(),
        headers: &headers,
        body: Bytes::from_static(body),
    };
    let status = fetch(dialler, errand(Method::GET, &status_at, b""), STATUS_LIMIT).await;
    let offered = match status {
        Ok((200..=299, body)) => read_status(&body),
        _ => Status::Unusable,
    };
    match offered {
        Status::Unusable => Round::NoStatus,
        Status::NotOffered(next_at) => Round::NotOffered(next_at),
        Status::Offered => match fetch(dialler, errand(Method::POST, &claim_at, CLAIM), CLAIM_LIMIT).await {
            Ok((status, body)) => claimed(status, &body),
            Err(_) => Round::Failed(None),
        },
    }
}

/// Another path at the same origin (decision 31).
fn beside(address: &Uri, path: &str) -> Option<Uri> {
    let mut parts = address.clone().into_parts();
    parts.path_and_query = Some(path.parse().ok()?);
    Uri::from_parts(parts).ok()
}

fn headers(token: &Secret) -> Option<[(HeaderName, HeaderValue); 4]> {
    let json = HeaderValue::from_static("application/json");
    let mut bearer = HeaderValue::from_str(&format!("Bearer {}", token.expose())).ok()?;
    bearer.set_sensitive(true);
    Some([
        (AUTHORIZATION, bearer),
        (ACCEPT, json.clone()),
        (CONTENT_TYPE, json),
        (HeaderName::from_static("anthropic-beta"), HeaderValue::from_static("oauth-2025-04-20")),
    ])
}

async fn fetch(dialler: &Dialler, errand: Errand<'_>, limit: Duration) -> Result<(u16, BytesMut), Dialled> {
    let fetched = async {
        let answer = dialler.run(&errand).await?;
        Ok((answer.status, read(answer.body).await))
    };
    let late = || Err(Dialled::Failed(policy::verdict::Transport::Reset));
    tokio::time::timeout(limit, fetched).await.unwrap_or_else(|_| late())
}

async fn read(mut body: AnswerBody) -> BytesMut {
    let mut read = BytesMut::new();
    while let Some(Ok(part)) = body.next().await {
        read.extend_from_slice(&part);
        if read.len() > LONGEST {
            break;
        }
    }
    read
}
