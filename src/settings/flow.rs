//! `[resilience.request_queue]`, `[resilience.concurrency]` and what a connection overrides of
//! them: how many requests run, how many wait and for how long (flow 1.1, 4.1).
//!
//! 0 is no limit and, in an override, no override (flow 4.1.3).

use std::collections::BTreeMap;

use policy::time::Millis;

/// `[resilience.request_queue]`: the local limiters, and all that wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestQueue {
    /// Whether every active API-key connection has a limiter (flow 5.1).
    pub auto_enable_api_key_providers: bool,
    /// Starts in a minute; 0: no limit.
    pub requests_per_minute: u32,
    /// Pause between two starts.
    pub min_time_between_requests_ms: Millis,
    /// Requests at once; 0: no limit.
    pub concurrent_requests: u32,
    /// How long a request may wait for its limiter.
    pub max_wait_ms: Millis,
    /// How long it may run after that.
    pub execution: ExecutionLimit,
    /// Requests that may wait for one limiter; 0: no limit.
    pub max_queue_depth: u32,
    /// Requests that may wait in all queues together (decision 14).
    pub max_queued_total: usize,
}

/// How long a request may run after its wait, and who says so (decision 16a).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExecutionLimit {
    /// Somebody set it: it is exact.
    Exact(Millis),
    /// Nobody did: it is never below the first-byte limit.
    BuiltIn(Millis),
}

/// `[resilience.concurrency]`: the gates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Concurrency {
    /// Requests at once in the whole process; 0: no cap (decision 17a).
    pub global_max: u32,
    /// Requests that may wait at one gate; 0: no limit.
    pub queue_size: u32,
    /// How long they may wait there.
    pub timeout_ms: Millis,
}

/// `rate_limit_overrides` of a connection, as far as they act; `None`: as it is for all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RateLimitOverrides {
    /// Starts in a minute.
    pub rpm: Option<u32>,
    /// Pause between two starts.
    pub min_time_ms: Option<Millis>,
    /// Requests at once.
    pub max_concurrent: Option<u32>,
    /// How long a request may wait for its limiter.
    pub max_wait_ms: Option<Millis>,
    /// How long it may run after that.
    pub execution_max_wait_ms: Option<Millis>,
    /// Requests at once by model, as it is named upstream (flow 1.3).
    pub model_concurrency: BTreeMap<String, u32>,
}
