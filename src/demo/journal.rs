//! What the upstream received, for `GET /demo/log`.
//!
//! An entry is there as soon as the head of a request is, and is filled in while the request runs.
//! Whoever works on a request holds its ticket; a ticket that is dropped unfinished means that the
//! client went away, however and wherever it did. Switched off, the journal only counts.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use actix_web::HttpRequest;
use actix_web::http::header::HeaderMap;
use serde::Serialize;

use super::behaviour::Behaviour;
use super::credential;

/// How many entries are kept; the oldest go first.
const KEPT: usize = 100_000;

/// All requests of one server, in order of arrival.
pub(super) struct Journal {
    enabled: bool,
    count: AtomicU64,
    entries: Mutex<VecDeque<Arc<Entry>>>,
}

/// One request: what it was, and how far it has come.
struct Entry {
    arrival: Arrival,
    progress: Mutex<Progress>,
}

/// What is known from the head.
#[derive(Clone, Serialize)]
struct Arrival {
    n: u64,
    at: u64,
    method: String,
    path: String,
    headers: BTreeMap<String, String>,
    credential: Option<String>,
}

/// What becomes known later.
#[derive(Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Progress {
    behaviour: Option<String>,
    body_sha256: Option<String>,
    status: Option<u16>,
    cut: Option<bool>,
}

#[derive(Serialize)]
struct Shown {
    #[serde(flatten)]
    arrival: Arrival,
    #[serde(flatten)]
    progress: Progress,
}

#[derive(Serialize)]
struct Page {
    requests: Vec<Shown>,
}

/// The right to fill in one entry.
pub(super) struct Ticket {
    entry: Arc<Entry>,
}

// === impl Journal ===

impl Journal {
    pub(super) fn new(enabled: bool) -> Self {
        Self { enabled, count: AtomicU64::new(0), entries: Mutex::default() }
    }

    /// Numbers a request and, when switched on, records its head.
    pub(super) fn open(&self, request: &HttpRequest) -> (u64, Option<Ticket>) {
        if !self.enabled {
            return (self.next_number(), None);
        }
        let mut arrival = Arrival::of(request);
        let mut entries = locked(&self.entries);
        // numbered under the lock: the order of numbers is the order of entries
        arrival.n = self.next_number();
        let number = arrival.n;
        let entry = Arc::new(Entry { arrival, progress: Mutex::default() });
        if entries.len() == KEPT {
            entries.pop_front();
        }
        entries.push_back(Arc::clone(&entry));
        (number, Some(Ticket { entry }))
    }

    /// The entries after number `since` as JSON, oldest first.
    pub(super) fn show(&self, since: u64) -> Vec<u8> {
        let entries: Vec<Arc<Entry>> = {
            let kept = locked(&self.entries);
            kept.iter().filter(|entry| entry.arrival.n > since).cloned().collect()
        };
        let requests = entries.iter().map(|entry| entry.shown()).collect();
        serde_json::to_vec(&Page { requests }).expect("texts and numbers are always JSON")
    }

    /// Forgets all entries; numbers go on.
    pub(super) fn clear(&self) {
        locked(&self.entries).clear();
    }

    fn next_number(&self) -> u64 {
        self.count.fetch_add(1, Ordering::Relaxed) + 1
    }
}

// === impl Entry ===

impl Entry {
    fn shown(&self) -> Shown {
        Shown { arrival: self.arrival.clone(), progress: locked(&self.progress).clone() }
    }
}

impl Arrival {
    fn of(request: &HttpRequest) -> Self {
        Self {
            n: 0,
            at: now_ms(),
            method: request.method().to_string(),
            path: request.path().to_owned(),
            headers: shown_headers(request.headers()),
            credential: credential::of(request.headers())
                .map(|bare| credential::fingerprint(bare.as_bytes())),
        }
    }
}

fn shown_headers(headers: &HeaderMap) -> BTreeMap<String, String> {
    let mut shown: BTreeMap<String, String> = BTreeMap::new();
    for (name, value) in headers {
        let value = credential::shown(name, value.as_bytes());
        shown
            .entry(name.as_str().to_owned())
            .and_modify(|earlier| *earlier = format!("{earlier}, {value}"))
            .or_insert(value);
    }
    shown
}

// === impl Ticket ===

impl Ticket {
    /// Says what the request asks for, and with which body once that is known.
    pub(super) fn behaves(&self, behaviour: Behaviour, body: Option<&[u8]>) {
        let body_sha256 = body.map(credential::body_hash);
        let mut progress = self.progress();
        progress.behaviour = Some(behaviour.to_string());
        progress.body_sha256 = body_sha256;
    }

    /// Says which status was sent.
    pub(super) fn sent(&self, status: u16) {
        self.progress().status = Some(status);
    }

    /// Says that the answer went as far as its script goes.
    pub(super) fn finish(self) {
        self.progress().cut = Some(false);
    }

    fn progress(&self) -> MutexGuard<'_, Progress> {
        locked(&self.entry.progress)
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.progress().cut.get_or_insert(true);
    }
}

/// The log is only shown, so one that a panic interrupted is still worth showing.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_millis() as u64)
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;

    use super::{Journal, KEPT, locked};

    #[test]
    fn the_newest_are_kept_and_numbers_go_on() {
        let journal = Journal::new(true);
        let request = TestRequest::default().to_http_request();
        for _ in 0..KEPT + 2 {
            let (_, ticket) = journal.open(&request);
            ticket.expect("switched on").finish();
        }
        assert_eq!(locked(&journal.entries).len(), KEPT);
        assert_eq!(locked(&journal.entries).front().map(|entry| entry.arrival.n), Some(3));
        journal.clear();
        assert_eq!(journal.show(0), br#"{"requests":[]}"#);
        assert_eq!(journal.open(&request).0, KEPT as u64 + 3);
    }

    #[test]
    fn switched_off_it_only_counts() {
        let journal = Journal::new(false);
        let request = TestRequest::default().to_http_request();
        assert!(journal.open(&request).1.is_none());
        assert_eq!(journal.open(&request).0, 2);
        assert_eq!(journal.show(0), br#"{"requests":[]}"#);
    }
}
