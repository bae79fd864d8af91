//! `[stream]`, `[resilience.stream_recovery]`, `timeouts` and `watchdog`, from what was typed.

use crate::settings::sheet::Sheet;
use crate::settings::stream::{OwnWatchdog, StreamRecovery, StreamSettings, ThroughputWatchdog, Timeouts};

use super::sections::span;

/// The section `[stream]`.
pub(super) fn stream(root: &Sheet) -> StreamSettings {
    StreamSettings {
        first_content: span(root, "stream.first_content_timeout"),
        content_stall: span(root, "stream.content_stall_timeout"),
        idle: span(root, "stream.idle_timeout"),
        total: span(root, "stream.total_timeout"),
        attempt: span(root, "stream.attempt_deadline"),
        early_commit: span(root, "stream.early_commit"),
        early_commit_json: span(root, "stream.early_commit_json"),
        heartbeat: span(root, "stream.heartbeat"),
        max_event: root.amount("stream.max_event"),
    }
}

/// The section `[resilience.stream_recovery]`.
pub(super) fn recovery(root: &Sheet) -> StreamRecovery {
    let key = |name: &str| format!("resilience.stream_recovery.{name}");
    let watchdog = |name: &str| key(&format!("throughput_watchdog.{name}"));
    StreamRecovery {
        enabled: root.flag(&key("enabled")),
        continue_mid_stream: root.flag(&key("continue_mid_stream")),
        watchdog: ThroughputWatchdog {
            enabled: root.flag(&watchdog("enabled")),
            warmup_ms: root.millis(&watchdog("warmup_ms")),
            window_ms: root.millis(&watchdog("window_ms")),
            min_bytes_per_second: root.count(&watchdog("min_useful_bytes_per_second")),
            min_bytes: root.count(&watchdog("min_useful_bytes")),
        },
    }
}

/// `timeouts` of an entry of a list: `providers[]`, `providers[].models[]`, `connections[]`.
pub(super) fn timeouts(sheet: &Sheet, list: &str) -> Timeouts {
    let span = |name: &str| sheet.span(&format!("{list}.timeouts.{name}"));
    Timeouts {
        connect: span("connect"),
        first_byte: span("first_byte"),
        body: span("body"),
        first_content: span("first_content"),
        content_stall: span("content_stall"),
        idle: span("idle"),
        total: span("total"),
        attempt: span("attempt"),
    }
}

/// `watchdog` of an entry of the same lists.
pub(super) fn watchdog(sheet: &Sheet, list: &str) -> OwnWatchdog {
    let key = |name: &str| format!("{list}.watchdog.{name}");
    let bytes = |name: &str| sheet.whole(&key(name)).and_then(|number| u32::try_from(number).ok());
    OwnWatchdog {
        enabled: sheet.choice(&key("enabled")),
        warmup: sheet.span(&key("warmup")),
        window: sheet.span(&key("window")),
        min_bytes_per_second: bytes("min_bytes_per_second"),
        min_bytes: bytes("min_bytes"),
    }
}
