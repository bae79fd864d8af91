//! Rows of `[resilience]` that say how many requests run, how many wait and for how long.
//! Defaults and bounds are those of flow 4.1 as decisions 14, 15a and 17a change them: built-in
//! numbers throttle nobody, and 0 is no limit.

use policy::time::{DAY, HOUR};

use super::{FLAG, Row, row};
use crate::settings::kind::Kind;

const CAP: Kind = Kind::Whole(0, 100_000);

#[rustfmt::skip] // one row, one line
pub(super) const ROWS: &[Row] = &[
    // [resilience.request_queue]
    row("resilience.request_queue.auto_enable_api_key_providers", FLAG, "true", "", "every active API-key connection has a local limiter; the variable beats a stored value").env("RATE_LIMIT_AUTO_ENABLE"),
    row("resilience.request_queue.requests_per_minute", Kind::Whole(0, 1_000_000), "0", "requests", "pace of a connection that has one; 0 = no limit"),
    row("resilience.request_queue.min_time_between_requests_ms", Kind::Millis(0, HOUR), "0", "ms", "pause between two starts there; 0 = none"),
    row("resilience.request_queue.concurrent_requests", Kind::Whole(0, 10_000), "0", "requests", "requests at once there; 0 = no limit"),
    row("resilience.request_queue.max_wait_ms", Kind::Millis(1, DAY), "30000", "ms", "how long a request may wait for its limiter; never how long it runs").env("RATE_LIMIT_MAX_WAIT_MS"),
    row("resilience.request_queue.execution_max_wait_ms", Kind::Millis(1, DAY), "600000", "ms", "how long it may run after that; absent: not below the first-byte limit").env("RATE_LIMIT_EXECUTION_MAX_WAIT_MS"),
    row("resilience.request_queue.max_queue_depth", CAP, "0", "requests", "requests that may wait for one limiter; 0 = no limit").env("RATE_LIMIT_MAX_QUEUE_DEPTH"),
    row("resilience.request_queue.max_queued_total", Kind::Whole(1, 1_000_000), "10000", "requests", "requests that may wait in all queues together"),
    // [resilience.concurrency]
    row("resilience.concurrency.global_max", CAP, "0", "requests", "requests at once in the whole process; 0 = no cap"),
    row("resilience.concurrency.queue_size", CAP, "20", "requests", "requests that may wait for a place on one connection or one of its models; 0 = no limit"),
    row("resilience.concurrency.timeout_ms", Kind::Millis(0, DAY), "30000", "ms", "how long they may wait for it; 0 = not at all"),
    // [resilience.quota_share_concurrency_limit]
    row("resilience.quota_share_concurrency_limit.enabled", FLAG, "true", "", "requests for a pool's model wait for a slot of a full account and then go on without one; false: they are refused like others"),
];
