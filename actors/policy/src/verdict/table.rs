//! The one ordered table: the first row that holds decides (core 3.2 D1–D27, R1, R2 with
//! rules 3.7 merged, as decisions 1, 2, 8, 12a, 12c and 29 change them).
//!
//! A row is data: when it holds, what it means, and at most one function for what a constant
//! cannot say. Documentation and the dashboard are made from the same rows (`rows`). D1, a
//! fault of our own, is `End::Local` and never reaches the table.

mod account;
mod content;
mod ends;
mod quota;
mod status;
mod words;

use std::fmt::Write;

use super::lists::{ALL, OVERLOADED};
use super::look::Look;
use super::phrase::{List, Phrase};
use super::{
    BreakerMark, CooldownRule, Detector, Failure, Kind, Level, LockRule, Reason, TerminalRule, Then, ruled,
};
use crate::time::{DAY, HOUR, MINUTE, Millis, SECOND};

pub(super) use ends::of_end;

/// Inclusive ranges of statuses.
type Statuses = &'static [(u16, u16)];

/// When a row holds: all of these.
struct When {
    /// `None`: any status.
    statuses: Option<Statuses>,
    /// The text says something of one of these lists.
    says: &'static [&'static List],
    /// Quota words may be trusted (core 3.2 `Q`).
    trusted: bool,
    /// More, in words and in code.
    also: Option<Also>,
}

type Also = (&'static str, fn(&Look<'_>) -> bool);

const ALWAYS: When = When { statuses: None, says: &[], trusted: false, also: None };

/// One row of the table.
struct Row {
    id: Detector,
    title: &'static str,
    when: When,
    /// The verdict, with status 0 for the upstream's own. Where it counts on the breaker, it
    /// does so only as far as core 1.6 lets this status and text count.
    means: Failure,
    /// What a constant cannot say; `None` leaves the case to the rows below.
    weigh: Option<fn(&Look<'_>, Failure) -> Option<Failure>>,
    /// A rule of the provider or operator may replace reason and cooldown (rules 3.7.3).
    asks_rules: bool,
}

const PARTS: [&[Row]; 5] = [account::ROWS, quota::ROWS, content::ROWS, words::ROWS, status::ROWS];

fn all() -> impl Iterator<Item = &'static Row> {
    PARTS.iter().flat_map(|part| part.iter())
}

/// The verdict of a status that is no success.
pub(super) fn of_status(look: &Look<'_>) -> Failure {
    let decided = all().find_map(|row| row.decide(look));
    let mut failure = decided.unwrap_or_else(|| ends::NETWORK.clone());
    if failure.status == 0 {
        failure.status = look.status;
    }
    failure.breaker = mark(look, &failure);
    failure.hint = look.hint;
    failure.restated_from = look.restated.from;
    let told = look.restated.wait_ms.filter(|_| look.restated.from.is_some());
    failure.client_wait_ms = told.filter(|_| look.hint.is_none());
    failure
}

/// What the table says counts, if this status and text may (core 1.6.1, 1.6.2, B22): the
/// account's, the key's and the model's errors never do.
fn mark(look: &Look<'_>, failure: &Failure) -> BreakerMark {
    let BreakerMark::Counts(_) = failure.breaker else { return failure.breaker };
    // What HTTP does not know as an answer was none.
    let none = failure.detector == Detector::Transport;
    let trips = none || matches!(look.status, 408 | 500 | 502..=504);
    let blames = matches!(failure.reason, Reason::ServerError | Reason::ModelCapacity | Reason::Unknown);
    match trips && blames && !look.says(&OVERLOADED) {
        true => failure.breaker,
        false => BreakerMark::Reachable,
    }
}

// === impl Row ===

impl Row {
    fn decide(&self, look: &Look<'_>) -> Option<Failure> {
        if !self.when.holds(look) {
            return None;
        }
        let means = Failure { detector: self.id, ..self.means.clone() };
        let weighed = match self.weigh {
            Some(weigh) => weigh(look, means)?,
            None => means,
        };
        match look.rule().filter(|_| self.asks_rules) {
            Some(found) => Some(ruled::apply(look, weighed, found)),
            None => Some(weighed),
        }
    }
}

impl When {
    fn holds(&self, look: &Look<'_>) -> bool {
        let listed = |ranges: Statuses| ranges.iter().any(|(from, to)| (*from..=*to).contains(&look.status));
        self.statuses.is_none_or(listed)
            && (!self.trusted || look.trusted)
            && (self.says.is_empty() || self.says.iter().any(|list| look.says(list)))
            && self.also.is_none_or(|(_, holds)| holds(look))
    }
}

// === templates ===

/// A verdict that costs the breaker nothing: the provider answered (decision 5).
const fn reachable(reason: Reason, cooldown: CooldownRule, then: Then) -> Failure {
    Failure {
        status: 0,
        restated_from: None,
        detector: Detector::Status,
        reason,
        breaker: BreakerMark::Reachable,
        cooldown,
        lock: None,
        of_account: false,
        terminal: None,
        hint: None,
        client_wait_ms: None,
        rule: None,
        then,
    }
}

/// The same where its status may count.
const fn counting(reason: Reason, cooldown: CooldownRule, then: Then) -> Failure {
    Failure { breaker: BreakerMark::Counts(Kind::Transient), ..reachable(reason, cooldown, then) }
}

/// So long, level unchanged.
const fn exactly(ms: Millis) -> CooldownRule {
    CooldownRule::Exact { ms, level: Level::Keeps, stated: false }
}

/// The quota family's, the base model's or the exact key by status; length by the formula.
const LOCK: LockRule = LockRule { exact_key: false, exact_ms: None, authoritative: false, keep_count: false };

// === for people ===

/// One row of the table, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowDoc {
    /// The name that `Failure.detector` carries.
    pub id: &'static str,
    /// What it is about.
    pub title: &'static str,
    /// When it holds.
    pub when: String,
    /// What follows.
    pub outcome: String,
}

/// The table in its order, for documentation and the dashboard.
pub fn rows() -> impl Iterator<Item = RowDoc> {
    all().map(|row| RowDoc {
        id: row.id.as_str(),
        title: row.title,
        when: row.when.describe(),
        outcome: describe(row),
    })
}

/// One list of texts, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListDoc {
    /// Its name in the specification, or ours.
    pub id: &'static str,
    /// What it says.
    pub about: &'static str,
    /// Any of these is a hit.
    pub any: Vec<String>,
    /// Any of these speaks against it.
    pub unless: Vec<String>,
}

/// The text lists that the rows name, for documentation and the dashboard.
pub fn lists() -> impl Iterator<Item = ListDoc> {
    let words = |phrases: &[Phrase]| phrases.iter().map(Phrase::to_string).collect();
    ALL.iter().map(move |list| ListDoc {
        id: list.id,
        about: list.about,
        any: words(list.any),
        unless: words(list.unless),
    })
}

impl When {
    fn describe(&self) -> String {
        let mut parts = Vec::new();
        if let Some(ranges) = self.statuses {
            let shown = |(from, to): &(u16, u16)| match from == to {
                true => from.to_string(),
                false => format!("{from}–{to}"),
            };
            parts.push(ranges.iter().map(shown).collect::<Vec<_>>().join(", "));
        }
        if !self.says.is_empty() {
            let lists: Vec<&str> = self.says.iter().map(|list| list.about).collect();
            parts.push(format!("text says: {}", lists.join(" or ")));
        }
        if self.trusted {
            parts.push("no 429, unless of OAuth or naming a quota".into());
        }
        parts.extend(self.also.map(|(words, _)| words.to_owned()));
        if parts.is_empty() { "anything else".into() } else { parts.join("; ") }
    }
}

/// A wait in its largest whole unit.
fn span(ms: Millis) -> String {
    let units = [(DAY, "d"), (HOUR, "h"), (MINUTE, "min"), (SECOND, "s")];
    match units.into_iter().find(|(unit, _)| ms.is_multiple_of(*unit)) {
        Some((unit, name)) => format!("{} {name}", ms / unit),
        None => format!("{ms} ms"),
    }
}

fn describe(row: &Row) -> String {
    let means = &row.means;
    let mut out = means.reason.as_str().to_owned();
    let terminal = means.terminal.map(|terminal| match terminal {
        TerminalRule::Banned => "banned",
        TerminalRule::CreditsExhausted => "out of credit (a gateway's model is locked instead)",
        TerminalRule::ExpiredIfConfirmed => "expired when confirmed",
        TerminalRule::Expired => "expired",
    });
    // What ends an account needs no rest.
    let ends = matches!(means.terminal, Some(TerminalRule::Banned | TerminalRule::CreditsExhausted));
    let cooldown = match means.cooldown {
        _ if ends => None,
        CooldownRule::Nothing | CooldownRule::Record | CooldownRule::Stall => None,
        CooldownRule::Scaled => Some("rests, doubling".to_owned()),
        CooldownRule::Base => Some("rests the first step".to_owned()),
        CooldownRule::Exact { .. } if matches!(row.id, Detector::DailyQuota | Detector::GoogleDaily) => {
            Some("rests until the daily reset".to_owned())
        }
        CooldownRule::Exact { ms, .. } if row.weigh.is_some() => {
            Some(format!("rests {} or as stated", span(ms)))
        }
        CooldownRule::Exact { ms, .. } => Some(format!("rests {}", span(ms))),
        CooldownRule::Rejected => Some("rests 5, 15, 45, 60 min".to_owned()),
        CooldownRule::Ladder => Some("rests, doubling up to 2 min".to_owned()),
    };
    let lock = means.lock.map(|lock| match lock.exact_ms {
        Some(ms) => format!("locks the model for {}", span(ms)),
        None => "locks the model".to_owned(),
    });
    for part in [terminal.map(str::to_owned), cooldown, lock].into_iter().flatten() {
        let _ = write!(out, "; {part}");
    }
    let then = match means.then {
        Then::Stop => "stops with this answer",
        Then::Next => "next target",
        Then::NextProvider => "next provider or model",
        Then::NextOrRetry => "next target, or again",
        Then::NextOrOnce => "next target, or once more",
    };
    let _ = write!(out, "; {then}");
    out
}
