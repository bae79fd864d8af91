//! Rows of `[resilience]` whose mechanism is not built yet: quota sharing, quota preflight,
//! stream recovery. They are checked and kept, and every reader is told that they do not act.
//! A row that begins to act moves to `resilience.rs`, or loses its `idle()`.

use policy::time::SECOND;

use super::{FLAG, Row, row};
use crate::settings::kind::{Data, Kind};

#[rustfmt::skip] // one row, one line
pub(super) const ROWS: &[Row] = &[
    // [resilience.credential_health_check]
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
