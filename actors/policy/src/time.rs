//! The one unit of time.

/// Milliseconds. An instant counts from the epoch (names end in `_at` or `_until`),
/// a span is a length (names end in `_ms`).
pub type Millis = u64;

/// One second.
pub const SECOND: Millis = 1_000;
/// One minute.
pub const MINUTE: Millis = 60 * SECOND;
/// One hour.
pub const HOUR: Millis = 60 * MINUTE;
/// One day.
pub const DAY: Millis = 24 * HOUR;
