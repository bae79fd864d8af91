//! What a worker holds to serve clients, and whether the process may.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use actix_web::{HttpResponse, web};
use arc_swap::ArcSwap;
use policy::ids::ConnectionId;
use policy::time::Millis;

use super::auth::Keys;
use super::traits::Wanted;
use crate::relay::Worker;
use crate::settings::Formats;

/// What clients are told, changed as a whole.
#[derive(Debug, Default)]
pub struct HttpSettings {
    /// Longest request body, bytes.
    pub max_body: usize,
    /// Longest `Retry-After` shown, ms; 0: no cap.
    pub max_retry_after_ms: Millis,
    /// How long a client may stop reading.
    pub write_stall: Duration,
    /// A stream's head goes out after so long, whatever is known; zero: when something is.
    pub early_commit: Duration,
    /// After how long the head of one that is not streamed does (FC-092); zero: never.
    pub early_commit_json: Duration,
    /// A comment goes to a waiting client so often; zero: never.
    pub heartbeat: Duration,
    /// What answers look like.
    pub formats: Formats,
    /// One log line per request.
    pub access_log: bool,
    /// What is read of a request besides its model.
    pub wanted: Wanted,
    /// Known keys.
    pub keys: Keys,
    /// What people call the connections that are leased.
    pub names: HashMap<ConnectionId, String>,
    /// What `/v1/models` lists.
    pub models: Vec<ListedModel>,
}

/// One model or combo in the list.
#[derive(Clone, Debug)]
pub struct ListedModel {
    /// What a client writes.
    pub id: String,
    /// Who answers: a provider, or `combo`.
    pub owner: String,
    /// What fits in, tokens, where that is known.
    pub context_length: Option<u64>,
}

/// Whether the process may take requests.
#[derive(Debug, Default)]
pub struct Gate {
    ready: AtomicBool,
    draining: AtomicBool,
    running: AtomicUsize,
}

impl Gate {
    /// The store is restored and the owners live.
    pub fn open(&self) {
        self.ready.store(true, Ordering::Release);
    }

    /// New requests are refused from now on.
    pub fn drain(&self) {
        self.draining.store(true, Ordering::Release);
    }

    /// The store is restored and the owners live.
    pub fn is_ready(&self) -> bool {
        self.ready.load(Ordering::Acquire)
    }

    /// New requests are refused.
    pub fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Acquire)
    }

    /// Requests in flight.
    pub fn running(&self) -> usize {
        self.running.load(Ordering::Acquire)
    }

    /// Counts a request until the guard is dropped.
    pub fn enter(self: &Arc<Self>) -> Running {
        self.running.fetch_add(1, Ordering::AcqRel);
        Running(self.clone())
    }
}

/// A request in flight.
#[derive(Debug)]
pub struct Running(Arc<Gate>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::AcqRel);
    }
}

/// What a worker holds; the inner part comes once the owners live.
#[derive(Clone)]
pub struct Http {
    /// The relay of this worker.
    pub worker: Rc<Worker>,
    /// What clients are told.
    pub settings: Arc<ArcSwap<HttpSettings>>,
    /// Whether the process may take requests.
    pub gate: Arc<Gate>,
}

/// `GET /healthz`: the process is up.
pub async fn healthz() -> HttpResponse {
    HttpResponse::Ok().content_type("text/plain").body("ok")
}

/// `GET /readyz`: 503 until the store is restored and while draining.
pub async fn readyz(gate: web::Data<Gate>) -> HttpResponse {
    if gate.is_draining() {
        return HttpResponse::ServiceUnavailable().content_type("text/plain").body("draining");
    }
    match gate.is_ready() {
        true => HttpResponse::Ok().content_type("text/plain").body("ready"),
        false => HttpResponse::ServiceUnavailable().content_type("text/plain").body("starting"),
    }
}
