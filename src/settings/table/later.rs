//! Rows of `[resilience]` whose mechanism is not built yet: queue, waits, quota preflight,
//! stream recovery. They are checked and kept, and every reader is told that they do not act.
//! A row that begins to act moves to `resilience.rs`, or loses its `idle()`.

use policy::time::{DAY, HOUR, SECOND};

use super::{FLAG, Row, row};
use crate::settings::kind::{Data, Kind};

#[rustfmt::skip] // one row, one line
pub(super) const ROWS: &[Row] = &[
    // [resilience.request_queue]
    row("resilience.request_queue.auto_enable_api_key_providers", FLAG, "true", "", "every active API-key connection gets a local limiter; the variable beats a stored value").env("RATE_LIMIT_AUTO_ENABLE").idle(),
    row("resilience.request_queue.requests_per_minute", Kind::Whole(0, 1_000_000), "0", "requests", "pace of a connection; 0 = no limit").idle(),
    row("resilience.request_queue.min_time_between_requests_ms", Kind::Millis(0, HOUR), "0", "ms", "pause between two requests of a connection; 0 = none").idle(),
    row("resilience.request_queue.concurrent_requests", Kind::Whole(0, 10_000), "0", "requests", "requests at once on a connection; 0 = no limit").idle(),
    row("resilience.request_queue.max_wait_ms", Kind::Millis(1, DAY), "30000", "ms", "how long a request may wait in the queue").env("RATE_LIMIT_MAX_WAIT_MS").idle(),
    row("resilience.request_queue.execution_max_wait_ms", Kind::Millis(1, DAY), "600000", "ms", "how long it may run after that").env("RATE_LIMIT_EXECUTION_MAX_WAIT_MS").idle(),
    row("resilience.request_queue.max_queue_depth", Kind::Whole(0, 100_000), "0", "requests", "requests that may wait for one connection; 0 = no limit").env("RATE_LIMIT_MAX_QUEUE_DEPTH").idle(),
    row("resilience.request_queue.max_queued_total", Kind::Whole(1, 1_000_000), "10000", "requests", "requests that may wait in all queues together").idle(),
    // [resilience.concurrency]
    row("resilience.concurrency.global_max", Kind::Whole(0, 100_000), "0", "requests", "requests at once in the whole process; 0 = no cap").idle(),
    row("resilience.concurrency.queue_size", Kind::Whole(0, 100_000), "20", "requests", "requests that may wait for a connection's slot").idle(),
    row("resilience.concurrency.timeout_ms", Kind::Millis(0, DAY), "30000", "ms", "how long they may wait for it").idle(),
    // [resilience.wait_for_cooldown], [resilience.combo_cooldown_wait]
    row("resilience.wait_for_cooldown.enabled", FLAG, "false", "", "a request without a combo waits for an account that rests; off when either of the next is 0").idle(),
    row("resilience.wait_for_cooldown.max_retries", Kind::Whole(0, 10), "5", "waits", "how often").idle(),
    row("resilience.wait_for_cooldown.max_retry_wait_sec", Kind::Whole(0, 300), "90", "s", "how long each time at most").idle(),
    row("resilience.wait_for_cooldown.budget_ms", Kind::Millis(0, 300_000), "300000", "ms", "how long altogether; not below one wait, not for PATCH").fixed().idle(),
    row("resilience.combo_cooldown_wait.enabled", FLAG, "true", "", "a combo waits for the target that returns first; off when either of the next is 0").idle(),
    row("resilience.combo_cooldown_wait.max_wait_ms", Kind::Millis(0, 300_000), "90000", "ms", "how long each time at most").idle(),
    row("resilience.combo_cooldown_wait.max_attempts", Kind::Whole(0, 10), "5", "waits", "how often").idle(),
    row("resilience.combo_cooldown_wait.budget_ms", Kind::Millis(0, 300_000), "300000", "ms", "how long altogether; not below max_wait_ms").idle(),
    // [resilience.quota_share_concurrency_limit], [resilience.credential_health_check]
    row("resilience.quota_share_concurrency_limit.enabled", FLAG, "true", "", "accounts that share a quota are asked one after the other").idle(),
    row("resilience.credential_health_check.interval_minutes", Kind::Whole(0, 1_440), "60", "min", "how often credentials are tested; 0 = off").idle(),
    // [resilience.quota_preflight]
    row("resilience.quota_preflight.enabled", FLAG, "false", "", "accounts that are nearly out of quota are left out").env("QUOTA_PREFLIGHT_CUTOFF_ENABLED").idle(),
    row("resilience.quota_preflight.default_threshold_percent", Kind::Whole(0, 99), "2", "% left", "from where on").idle(),
    row("resilience.quota_preflight.warn_threshold_percent", Kind::Whole(0, 100), "20", "% left", "from where on it is told; above default_threshold_percent").idle(),
    row("resilience.quota_preflight.provider_window_defaults", Kind::Data(Data::Windows), "", "% left", "the same by provider and window: { codex = { weekly = 10 } }").idle(),
    // [resilience.stream_recovery]
    row("resilience.stream_recovery.enabled", FLAG, "false", "", "a stream that failed before its first output is opened again").env("STREAM_RECOVERY_ENABLED").idle(),
    row("resilience.stream_recovery.continue_mid_stream", FLAG, "false", "", "a stream that was cut later is continued by another request").env("STREAM_RECOVERY_MIDSTREAM_ENABLED").idle(),
    row("resilience.stream_recovery.throughput_watchdog.enabled", FLAG, "false", "", "a stream that is too slow counts as failed").env("STREAM_THROUGHPUT_WATCHDOG_ENABLED").idle(),
    row("resilience.stream_recovery.throughput_watchdog.warmup_ms", Kind::Millis(0, 600_000), "30000", "ms", "how long a stream may be slow at first").idle(),
    row("resilience.stream_recovery.throughput_watchdog.window_ms", Kind::Millis(SECOND, 600_000), "30000", "ms", "over how long speed is measured").idle(),
    row("resilience.stream_recovery.throughput_watchdog.min_useful_bytes_per_second", Kind::Whole(1, 1_000_000), "4", "bytes/s", "less than this is too slow").idle(),
    row("resilience.stream_recovery.throughput_watchdog.min_useful_bytes", Kind::Whole(1, 1_000_000), "1", "bytes", "less than this is not judged, unless it is none").idle(),
];
