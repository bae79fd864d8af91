//! Streams that trickle (flow 6.7).
//!
//! An upstream that sends a ping every second, or a letter every ten, lives by every other clock
//! and helps nobody. So the model's text is weighed over a sliding window. A model that thinks or
//! writes a tool call is not weighed meanwhile: that is work, but not text. Neither is a silent
//! stream: the judgement comes with a chunk only, silence has clocks of its own.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::{Finish, Kind, Sight};
use crate::time::{MINUTE, Millis, SECOND};

/// Samples that are closer together than this part of a window become one.
const GRAINS: Millis = 128;
/// Longest warm-up and window (flow 6.4), ms.
const LONGEST_MS: Millis = 10 * MINUTE;
/// Highest number of bytes that may be asked for (flow 6.4).
const MOST_BYTES: u64 = 1_000_000;

/// What counts as too slow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PaceSettings {
    /// Whether streams are weighed at all.
    pub enabled: bool,
    /// From the first chunk on, nothing is weighed for this long, ms.
    pub warmup_ms: Millis,
    /// How far back the weighing looks, ms.
    pub window_ms: Millis,
    /// Less text than this is too slow.
    pub min_bytes_per_second: u64,
    /// A window that holds some text, but less than this, is not judged.
    pub min_bytes: u64,
}

impl Default for PaceSettings {
    fn default() -> Self {
        Self {
            enabled: false,
            warmup_ms: 30 * SECOND,
            window_ms: 30 * SECOND,
            min_bytes_per_second: 4,
            min_bytes: 1,
        }
    }
}

impl PaceSettings {
    /// Stored numbers brought into their bounds (flow 6.4).
    pub fn normalised(self) -> Self {
        Self {
            enabled: self.enabled,
            warmup_ms: self.warmup_ms.min(LONGEST_MS),
            window_ms: self.window_ms.clamp(SECOND, LONGEST_MS),
            min_bytes_per_second: self.min_bytes_per_second.clamp(1, MOST_BYTES),
            min_bytes: self.min_bytes.clamp(1, MOST_BYTES),
        }
    }
}

/// What a chunk says about the pace of its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Speed {
    /// Fast enough, or not judged.
    Fine,
    /// The attempt ends, and the chunk that showed it is not passed on (flow 6.7.40).
    TooSlow,
}

/// The text of samples close together.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    first_at: Millis,
    last_at: Millis,
    bytes: u64,
}

/// The pace of one attempt; a new attempt has a new one (flow 6.5.21).
///
/// Samples less than a 128th of the window after the first of their bucket are kept as one, so at
/// most 129 are remembered however fast a stream is. A bucket counts until its last sample leaves
/// the window: samples further apart are exact to the millisecond, and a byte of a dense stream
/// counts at most a 128th of the window too long.
#[derive(Clone, Debug)]
pub struct Pace {
    settings: PaceSettings,
    /// The first chunk.
    started_at: Option<Millis>,
    buckets: VecDeque<Bucket>,
    /// The sum of the buckets.
    bytes: u64,
    /// The model thinks, or writes a tool call.
    suspended: bool,
    /// The first text after it did; one full window from then on is not judged (flow 6.7.39).
    resumed_at: Option<Millis>,
    /// The model has stopped: there is nothing more to be slow with.
    stopped: bool,
}

impl Pace {
    /// Nothing came yet. The settings are brought into their bounds.
    pub fn new(settings: PaceSettings) -> Self {
        Self {
            settings: settings.normalised(),
            started_at: None,
            buckets: VecDeque::new(),
            bytes: 0,
            suspended: false,
            resumed_at: None,
            stopped: false,
        }
    }

    /// Weighs one frame of the chunk that came at `now`. When all are, `chunk` judges.
    pub fn saw(&mut self, sight: &Sight, now: Millis) {
        if !self.settings.enabled {
            return;
        }
        self.stopped |= sight.end.is_some() || sight.finish.is_some_and(|why| why != Finish::Tools);
        match sight.kind {
            Kind::Reasoning { .. } | Kind::Tool => self.suspended = true,
            _ if sight.text > 0 => self.weigh(sight.text as u64, now),
            _ => {}
        }
    }

    /// Judges, once for each chunk, after its frames were weighed; a chunk that completes no frame
    /// is one too.
    pub fn chunk(&mut self, now: Millis) -> Speed {
        if !self.settings.enabled {
            return Speed::Fine;
        }
        let started_at = *self.started_at.get_or_insert(now);
        self.forget(now);
        if self.is_ready(started_at, now) && !self.suspended && !self.stopped && self.is_slow() {
            return Speed::TooSlow;
        }
        Speed::Fine
    }

    fn is_ready(&self, started_at: Millis, now: Millis) -> bool {
        let PaceSettings { warmup_ms, window_ms, .. } = self.settings;
        let since = |at: Millis| now.saturating_sub(at);
        since(started_at) >= warmup_ms + window_ms
            && self.resumed_at.is_none_or(|resumed| since(resumed) >= window_ms)
    }

    /// Equal is not slow, and a little text in a window that wants more is not judged
    /// (flow 6.7.38).
    fn is_slow(&self) -> bool {
        let PaceSettings { window_ms, min_bytes_per_second, min_bytes, .. } = self.settings;
        let judged = self.bytes == 0 || self.bytes >= min_bytes;
        judged && self.bytes.saturating_mul(SECOND) < min_bytes_per_second.saturating_mul(window_ms)
    }

    fn weigh(&mut self, bytes: u64, now: Millis) {
        if std::mem::take(&mut self.suspended) {
            self.buckets.clear();
            self.bytes = 0;
            self.resumed_at = Some(now);
        }
        self.bytes = self.bytes.saturating_add(bytes);
        let grain = self.settings.window_ms.div_ceil(GRAINS);
        match self.buckets.back_mut() {
            Some(last) if now.saturating_sub(last.first_at) < grain => {
                last.last_at = last.last_at.max(now);
                last.bytes = last.bytes.saturating_add(bytes);
            }
            _ => self.buckets.push_back(Bucket { first_at: now, last_at: now, bytes }),
        }
    }

    /// Drops what is older than the window; its edge still counts.
    fn forget(&mut self, now: Millis) {
        let window_ms = self.settings.window_ms;
        while let Some(old) = self.buckets.front().filter(|old| now.saturating_sub(old.last_at) > window_ms) {
            self.bytes = self.bytes.saturating_sub(old.bytes);
            self.buckets.pop_front();
        }
    }
}
