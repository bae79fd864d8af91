//! The stage of the process tests: a running switchtower, scripted vendors, a raw client.
//!
//! Everything speaks over real sockets on port 0. Nothing here waits a fixed time for
//! something to happen: conditions are polled up to a deadline.

mod answer;
mod client;
mod proxy;
mod upstream;
mod world;

use std::time::{Duration, Instant};

pub use answer::{Answer, Gate};
pub use client::{End, Reply, Wire, post, request_bytes};
pub use proxy::{Proxy, Way};
pub use upstream::{Received, Upstream};
pub use world::{Child, Setup, World, credential, get};

/// How long anything may take before a test fails instead of hanging.
pub const LIMIT: Duration = Duration::from_secs(20);

/// A short answer of each dialect that is complete JSON.
pub const GOOD: &str = r#"{"id":"r1","choices":[{"message":{"role":"assistant","content":"hi"}}]}"#;

/// Waits until `condition` holds.
pub fn eventually(what: &str, condition: impl FnMut() -> bool) {
    within(LIMIT, what, condition);
}

/// Waits until `condition` holds, at most for `limit`; how long it took.
pub fn within(limit: Duration, what: &str, mut condition: impl FnMut() -> bool) -> Duration {
    let started = Instant::now();
    while !condition() {
        assert!(started.elapsed() < limit, "not within {limit:?}: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
    started.elapsed()
}
