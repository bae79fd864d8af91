//! `[stream]`, `[resilience.stream_recovery]` and the time limits of providers, models and
//! connections: how long an answer may take, and what becomes of one that does not go well
//! (flow 6.1, 6.4).
//!
//! Zero is no limit everywhere. The clocks themselves are `policy`'s.

use std::time::Duration;

use policy::time::Millis;

/// `[stream]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamSettings {
    /// Until the first meaningful frame of an answer that has begun.
    pub first_content: Duration,
    /// Without output or reasoning.
    pub content_stall: Duration,
    /// Without a byte.
    pub idle: Duration,
    /// The whole stream.
    pub total: Duration,
    /// Hard ceiling of one attempt.
    pub attempt: Duration,
    /// From when on a held stream may send comments; zero: never (decision 19).
    pub early_commit: Duration,
    /// From when on an answer that is not streamed may be preceded by blank lines; zero: never (FC-092).
    pub early_commit_json: Duration,
    /// Between two comments while the upstream is silent; zero: none.
    pub heartbeat: Duration,
    /// Longest frame, in bytes.
    pub max_event: usize,
}

/// `[resilience.stream_recovery]` (flow 6.4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamRecovery {
    /// Whether a stream that failed before its first output is opened again.
    pub enabled: bool,
    /// Whether one that was cut later is continued.
    pub continue_mid_stream: bool,
    /// Whether and when one is too slow.
    pub watchdog: ThroughputWatchdog,
}

/// When a stream is too slow (flow 6.7); a provider, a model or a connection may have its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThroughputWatchdog {
    /// Whether it judges at all.
    pub enabled: bool,
    /// How long a stream may be slow at first.
    pub warmup_ms: Millis,
    /// Over how long speed is measured.
    pub window_ms: Millis,
    /// Less than this is too slow.
    pub min_bytes_per_second: u32,
    /// Less than this is not judged, unless it is none.
    pub min_bytes: u32,
}

/// All of it that acts on a request as it runs; limits by target are at its endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Streaming {
    /// `[stream]`.
    pub stream: StreamSettings,
    /// `[resilience.stream_recovery]`.
    pub recovery: StreamRecovery,
    /// Whether a stall makes its connection rest (flow 6.3.16).
    pub stall_cools: bool,
}

/// `timeouts` of a provider, of one of its models or of a connection; `None`: as the next
/// level says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timeouts {
    /// Instead of `upstream.connect_timeout`; a model has none.
    pub connect: Option<Duration>,
    /// Instead of `upstream.first_byte_timeout`.
    pub first_byte: Option<Duration>,
    /// Instead of `upstream.body_timeout`.
    pub body: Option<Duration>,
    /// Instead of `stream.first_content_timeout`.
    pub first_content: Option<Duration>,
    /// Instead of `stream.content_stall_timeout`.
    pub content_stall: Option<Duration>,
    /// Instead of `stream.idle_timeout`.
    pub idle: Option<Duration>,
    /// Instead of `stream.total_timeout`.
    pub total: Option<Duration>,
    /// Instead of `stream.attempt_deadline`.
    pub attempt: Option<Duration>,
}

impl Timeouts {
    /// These, and where they are silent those.
    #[must_use]
    pub fn over(self, below: Self) -> Self {
        Self {
            connect: self.connect.or(below.connect),
            first_byte: self.first_byte.or(below.first_byte),
            body: self.body.or(below.body),
            first_content: self.first_content.or(below.first_content),
            content_stall: self.content_stall.or(below.content_stall),
            idle: self.idle.or(below.idle),
            total: self.total.or(below.total),
            attempt: self.attempt.or(below.attempt),
        }
    }
}

/// `watchdog` of a provider, of one of its models or of a connection; `None`: as the next level
/// says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OwnWatchdog {
    /// Whether it judges at all.
    pub enabled: Option<bool>,
    /// How long a stream may be slow at first.
    pub warmup: Option<Duration>,
    /// Over how long speed is measured.
    pub window: Option<Duration>,
    /// Less than this is too slow.
    pub min_bytes_per_second: Option<u32>,
    /// Less than this is not judged, unless it is none.
    pub min_bytes: Option<u32>,
}

impl OwnWatchdog {
    /// This, and where it is silent that.
    #[must_use]
    pub fn over(self, below: Self) -> Self {
        Self {
            enabled: self.enabled.or(below.enabled),
            warmup: self.warmup.or(below.warmup),
            window: self.window.or(below.window),
            min_bytes_per_second: self.min_bytes_per_second.or(below.min_bytes_per_second),
            min_bytes: self.min_bytes.or(below.min_bytes),
        }
    }

    /// This, and where it is silent the section.
    #[must_use]
    pub fn resolve(self, section: ThroughputWatchdog) -> ThroughputWatchdog {
        let ms = |span: Duration| span.as_millis() as Millis;
        ThroughputWatchdog {
            enabled: self.enabled.unwrap_or(section.enabled),
            warmup_ms: self.warmup.map_or(section.warmup_ms, ms),
            window_ms: self.window.map_or(section.window_ms, ms),
            min_bytes_per_second: self.min_bytes_per_second.unwrap_or(section.min_bytes_per_second),
            min_bytes: self.min_bytes.unwrap_or(section.min_bytes),
        }
    }
}
