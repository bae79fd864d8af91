//! A test of one connection: a real request, as small as a dialect allows.
//!
//! It asks no owner and holds no slot, because what it is for are connections that their
//! owners hold back. What it shows is told to them afterwards and never counts on a breaker
//! (core 1.6.2, P8).

use std::time::{Duration, Instant};

use bytes::Bytes;
use policy::catalogue::Dialect;
use policy::ids::ModelId;
use policy::plan::Planned;
use policy::verdict::{End, Signal, Verdict, judge};
use serde_json::json;

use super::Worker;
use super::commit::{Allowed, Unfit, whole};
use super::fault::Fault;
use super::send::{Shot, send};
use crate::formats::redact;
use crate::upstream::{Endpoint, Route};

/// How long a test may take.
const LIMIT: Duration = Duration::from_secs(30);
/// Tokens that are asked for.
const TOKENS: u32 = 16;

/// What a test showed.
#[derive(Clone, Debug)]
pub struct Checkup {
    /// What is concluded; a success passes.
    pub verdict: Verdict,
    /// The upstream's status, if it gave one.
    pub status: Option<u16>,
    /// What the upstream said when it failed, cleared of our credential, at most 300 characters.
    pub said: String,
    /// How long it took.
    pub took: Duration,
}

/// Sends one small request for `target`'s model to its connection. `None`: the connection is
/// not one that can be dialled.
pub async fn checkup(worker: &Worker, target: &Planned, dialect: Dialect) -> Option<Checkup> {
    let endpoint = worker.tower.endpoints.load().get(&target.connection).cloned()?;
    let started = Instant::now();
    let (route, body) = smallest(dialect, &target.model, true)?;
    let mut shown = ask(worker, &endpoint, route, body).await;
    if shown.status == Some(400) {
        // Some models know the limit under another name only.
        let (route, body) = smallest(dialect, &target.model, false)?;
        shown = ask(worker, &endpoint, route, body).await;
    }
    let now = worker.tower.owners.clock.now();
    let verdict = judge(&shown.signal, &worker.tower.judging.load().case(target, now));
    Some(Checkup { verdict, status: shown.status, said: shown.said, took: started.elapsed() })
}

struct Shown {
    signal: Signal,
    status: Option<u16>,
    said: String,
}

impl Shown {
    fn end(end: End) -> Self {
        Self { signal: Signal::new(end, None), status: None, said: String::new() }
    }
}

async fn ask(worker: &Worker, endpoint: &Endpoint, route: Route, body: Bytes) -> Shown {
    let shot = Shot { endpoint, route, headers: &[], body: &[body], under: None };
    let limit = LIMIT.min(endpoint.first_byte_timeout);
    if let Some(session) = &endpoint.session {
        // What is to be disproved may be that its refresh token is dead.
        session.retry(&worker.dialler).await;
    }
    let hit = match send(worker, &shot, tokio::time::Instant::now() + limit).await {
        Ok(hit) => hit,
        Err(fault) => return Shown { signal: fault.signal, status: None, said: String::new() },
    };
    let status = hit.answer.status;
    if !(200..300).contains(&status) {
        let secret = hit.pass.as_ref().map(|pass| &pass.secret).or(endpoint.credential.as_ref());
        let fault = Fault::read(hit.answer, secret, worker.tower.owners.clock.now()).await;
        let said = fault.answer.map(|kept| redact::text_of(&kept.body)).unwrap_or_default();
        return Shown { signal: fault.signal, status: Some(status), said };
    }
    let allowed = Allowed::new(limit, limit);
    let end = match whole((None, hit.answer.body), allowed, None, None).await {
        Ok(_) => End::Status(status),
        Err(Unfit::Ended(end)) => end,
        Err(Unfit::Late) => End::StallBeforeCommit,
        Err(Unfit::Failed(_) | Unfit::Breaks(_) | Unfit::Events(..)) => End::Empty,
    };
    Shown { status: Some(status), ..Shown::end(end) }
}

/// The smallest request of a dialect; `None` for one that cannot be called yet.
fn smallest(dialect: Dialect, model: &ModelId, limited: bool) -> Option<(Route, Bytes)> {
    let message = json!([{"role": "user", "content": "ping"}]);
    let (route, mut body, limit) = match dialect {
        Dialect::Openai => (Route::Chat, json!({"messages": message}), "max_tokens"),
        Dialect::Anthropic => (Route::Messages, json!({"messages": message}), "max_tokens"),
        Dialect::Responses => (Route::Responses, json!({"input": "ping"}), "max_output_tokens"),
        Dialect::Gemini => return None,
    };
    body["model"] = json!(model.as_str());
    // Anthropic's dialect demands a limit.
    if limited || dialect == Dialect::Anthropic {
        body[limit] = json!(TOKENS);
    }
    Some((route, Bytes::from(body.to_string())))
}
