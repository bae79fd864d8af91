//! The vocabulary of the scripted upstream: what a model name asks for.
//!
//! Names are the whole interface, so that any client that can choose a model can choose a failure.
//! A name that means nothing, or whose parameter makes no sense, is `steady`: a demo answers.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

#[cfg(test)]
mod tests;
mod wall;

pub use wall::{Lane, Reason, Wall};

/// More content chunks than this in one answer is a typing error, not a script.
const MAX_CHUNKS: u64 = 1_000_000;
/// Bound of every other number in a name; keeps instants far from overflow.
const MAX_NUMBER: u64 = 1_000_000_000;
/// How long a `capacity-N` works on one request when the name does not say, ms.
const CAPACITY_DELAY_MS: u64 = 50;

/// What the upstream does with one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Behaviour {
    /// Answers at once and completely.
    Steady,
    /// Answers completely, after a delay before the head.
    Slow {
        /// Delay, ms.
        delay_ms: u64,
    },
    /// Answers a fixed share of the requests with 503.
    Flaky {
        /// Share that fails, percent.
        percent: u8,
    },
    /// Answers after a delay, and 429 to what comes while so many are in flight.
    Capacity {
        /// Requests at once, for each credential.
        count: u64,
        /// Delay, ms.
        delay_ms: u64,
    },
    /// Answers 503 until the server has run for this long.
    Down {
        /// Since the start, s.
        seconds: u64,
    },
    /// Answers completely, at so many bytes per second.
    Trickle {
        /// Bytes per second.
        bytes_per_second: u64,
    },
    /// Answers with so many content chunks at a fixed distance.
    Chunks {
        /// Content chunks.
        count: usize,
        /// Distance, ms.
        every_ms: u64,
    },
    /// Breaks off within the answer.
    Broken {
        /// Content chunks before it, or bytes when not streamed.
        after: usize,
        /// In which way.
        how: Breakage,
    },
    /// A 200 without content, ended correctly.
    Empty,
    /// A 200 that turns out to be an error.
    ErrorIn200,
    /// As an account at its usage wall.
    Wall(Wall),
    /// A status other than success.
    Refuse(Refusal),
    /// No HTTP answer at all.
    Headless(Headless),
}

/// How an answer breaks off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Breakage {
    /// Silence, with the socket left open.
    Stall,
    /// The connection is closed before the end of the body.
    Cut,
}

/// What comes instead of an HTTP answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Headless {
    /// Nothing, for as long as the client waits.
    Hang,
    /// A TCP reset.
    Reset,
    /// Bytes that are not HTTP, then the end.
    Garbage,
}

/// A complete answer with a chosen status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Refusal {
    /// The HTTP status.
    pub status: u16,
    /// What is special about it.
    pub manner: Manner,
}

/// What is special about a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Manner {
    /// The dialect's error body, perhaps with `retry-after` in seconds.
    Plain {
        /// `Retry-After`, s.
        retry_after: Option<u64>,
    },
    /// With a `location` elsewhere.
    Redirect,
    /// Sent before the body of the request is read; the connection is closed after it.
    Early,
}

impl Refusal {
    /// A plain refusal without advice.
    pub const fn plain(status: u16) -> Self {
        Self { status, manner: Manner::Plain { retry_after: None } }
    }
}

/// Every name pattern with its meaning in one line, in the order of the documentation.
pub fn behaviours() -> &'static [(&'static str, &'static str)] {
    &[
        ("steady", "answers at once; also what an unknown name does"),
        ("slow-Nms", "answers after N milliseconds"),
        ("status-N[-retry-S]", "answers status N with the dialect's error body, and retry-after: S"),
        ("flaky-P", "answers P % of its requests with 503, evenly spread and always the same ones"),
        (
            "capacity-N[-MSms]",
            "answers after MS (50) milliseconds, and 429 while N are in flight for that name and credential",
        ),
        ("down-Ns", "answers 503 for the first N seconds after the upstream's start"),
        ("stall-after-N", "N content chunks (not streamed: N bytes), then silence on an open socket"),
        ("cut-after-N", "N content chunks (not streamed: N bytes), then the connection is closed"),
        ("empty", "a 200 without content, ended correctly"),
        ("error-in-200", "status 200, then an error in the body or the stream"),
        ("hang", "never sends a head"),
        ("trickle-N", "a correct answer at N bytes per second"),
        ("chunks-NxMS", "N content chunks, MS milliseconds apart (not streamed: after N x MS)"),
        ("reset", "resets the TCP connection before any head"),
        ("garbage", "bytes that are not HTTP, then the end"),
        ("redirect-N", "status N with a location on another host"),
        ("early-N", "status N before the body is read (by header or path), then closes"),
        (
            "wall-N[-X]",
            "429 as of a Claude account at its usage wall whose window resets in N seconds; with `anthropic-usage-limit: slow` an answer, or what X says",
        ),
    ]
}

/// One name that works for each pattern of `behaviours`, in the same order.
pub(super) const EXAMPLES: [&str; 18] = [
    "steady",
    "slow-300ms",
    "status-503",
    "flaky-30",
    "capacity-2-30ms",
    "down-5s",
    "stall-after-3",
    "cut-after-3",
    "empty",
    "error-in-200",
    "hang",
    "trickle-1",
    "chunks-20x50",
    "reset",
    "garbage",
    "redirect-307",
    "early-413",
    "wall-3600-busy-1",
];

// === impl Behaviour ===

impl Behaviour {
    /// The behaviour a name asks for; `Steady` for every name that asks for none.
    pub fn parse(name: &str) -> Self {
        Self::plain(name).or_else(|| Self::parametrised(name)).unwrap_or(Self::Steady)
    }

    fn plain(name: &str) -> Option<Self> {
        Some(match name {
            "steady" => Self::Steady,
            "empty" => Self::Empty,
            "error-in-200" => Self::ErrorIn200,
            "hang" => Self::Headless(Headless::Hang),
            "reset" => Self::Headless(Headless::Reset),
            "garbage" => Self::Headless(Headless::Garbage),
            _ => return None,
        })
    }

    fn parametrised(name: &str) -> Option<Self> {
        let (kind, parameter) = name.split_at(name.find(|c: char| c.is_ascii_digit())?);
        Some(match kind {
            "slow-" => Self::Slow { delay_ms: number(parameter.strip_suffix("ms")?)? },
            "capacity-" => capacity(parameter)?,
            "down-" => Self::Down { seconds: number(parameter.strip_suffix('s')?)? },
            "flaky-" => Self::Flaky { percent: within(number(parameter)?, 0, 100)? as u8 },
            "trickle-" => Self::Trickle { bytes_per_second: within(number(parameter)?, 1, MAX_NUMBER)? },
            "stall-after-" => Self::Broken { after: chunks(parameter, 0)?, how: Breakage::Stall },
            "cut-after-" => Self::Broken { after: chunks(parameter, 0)?, how: Breakage::Cut },
            "chunks-" => {
                let (count, every) = parameter.split_once('x')?;
                Self::Chunks { count: chunks(count, 1)?, every_ms: number(every)? }
            }
            "wall-" => Self::Wall(Wall::parse(parameter)?),
            "status-" => Self::Refuse(plain_refusal(parameter)?),
            "redirect-" => {
                Self::Refuse(Refusal { status: status(parameter, 300, 399)?, manner: Manner::Redirect })
            }
            "early-" => Self::Refuse(Refusal { status: status(parameter, 200, 599)?, manner: Manner::Early }),
            _ => return None,
        })
    }
}

fn capacity(parameter: &str) -> Option<Behaviour> {
    let (count, delay_ms) = match parameter.split_once('-') {
        Some((count, delay)) => (count, number(delay.strip_suffix("ms")?)?),
        None => (parameter, CAPACITY_DELAY_MS),
    };
    Some(Behaviour::Capacity { count: number(count)?, delay_ms })
}

fn plain_refusal(parameter: &str) -> Option<Refusal> {
    let (code, retry_after) = match parameter.split_once("-retry-") {
        Some((code, seconds)) => (code, Some(number(seconds)?)),
        None => (parameter, None),
    };
    Some(Refusal { status: status(code, 200, 599)?, manner: Manner::Plain { retry_after } })
}

fn status(text: &str, lowest: u64, highest: u64) -> Option<u16> {
    Some(within(number(text)?, lowest, highest)? as u16)
}

fn chunks(text: &str, lowest: u64) -> Option<usize> {
    Some(within(number(text)?, lowest, MAX_CHUNKS)? as usize)
}

/// Digits only: `parse` alone would also take a sign.
fn number(text: &str) -> Option<u64> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    within(digits.then(|| text.parse().ok())??, 0, MAX_NUMBER)
}

fn within(value: u64, lowest: u64, highest: u64) -> Option<u64> {
    (lowest..=highest).contains(&value).then_some(value)
}

/// The name that `parse` reads back, as the log shows it.
impl fmt::Display for Behaviour {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Steady => out.write_str("steady"),
            Self::Slow { delay_ms } => write!(out, "slow-{delay_ms}ms"),
            Self::Flaky { percent } => write!(out, "flaky-{percent}"),
            Self::Capacity { count, delay_ms: CAPACITY_DELAY_MS } => write!(out, "capacity-{count}"),
            Self::Capacity { count, delay_ms } => write!(out, "capacity-{count}-{delay_ms}ms"),
            Self::Down { seconds } => write!(out, "down-{seconds}s"),
            Self::Trickle { bytes_per_second } => write!(out, "trickle-{bytes_per_second}"),
            Self::Chunks { count, every_ms } => write!(out, "chunks-{count}x{every_ms}"),
            Self::Broken { after, how: Breakage::Stall } => write!(out, "stall-after-{after}"),
            Self::Broken { after, how: Breakage::Cut } => write!(out, "cut-after-{after}"),
            Self::Empty => out.write_str("empty"),
            Self::ErrorIn200 => out.write_str("error-in-200"),
            Self::Wall(wall) => wall.fmt(out),
            Self::Refuse(refusal) => refusal.fmt(out),
            Self::Headless(Headless::Hang) => out.write_str("hang"),
            Self::Headless(Headless::Reset) => out.write_str("reset"),
            Self::Headless(Headless::Garbage) => out.write_str("garbage"),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let status = self.status;
        match self.manner {
            Manner::Plain { retry_after: None } => write!(out, "status-{status}"),
            Manner::Plain { retry_after: Some(seconds) } => write!(out, "status-{status}-retry-{seconds}"),
            Manner::Redirect => write!(out, "redirect-{status}"),
            Manner::Early => write!(out, "early-{status}"),
        }
    }
}

// === flaky ===

/// Whether request `n` (from 1) of a name that fails `percent` % of the time fails: the failures
/// are spread evenly and every run has the same ones.
pub fn flaky_fails(n: u64, percent: u8) -> bool {
    let percent = u64::from(percent);
    n > 0 && n * percent / 100 > (n - 1) * percent / 100
}

/// How many requests each `flaky-P` has had, whoever sent them.
pub(super) struct FlakyCounters([AtomicU64; 101]);

impl Default for FlakyCounters {
    fn default() -> Self {
        Self([const { AtomicU64::new(0) }; 101])
    }
}

impl FlakyCounters {
    /// Counts one request and says whether it fails.
    pub(super) fn next_fails(&self, percent: u8) -> bool {
        let n = self.0[usize::from(percent)].fetch_add(1, Ordering::Relaxed) + 1;
        flaky_fails(n, percent)
    }
}
