//! `context-relay`: a conversation is summed up before its account runs out of quota, and the next
//! account that goes on with it is shown the summary (routing 4.4).
//!
//! Pure: when a summary is due, what it must look like, how long it holds and which turn gets it.
//! The router keeps hand-offs, the relay has them written.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ids::{ConnectionId, ProviderId};
use crate::reading::{AccountReading, WindowReading};
use crate::strategy::{QuotaWindow, RelaySettings};
use crate::time::Millis;

/// What stands for a threshold that cannot be one.
const THRESHOLD: f64 = 0.85;
/// From this use on it is too late to ask the account for anything.
pub const TOO_LATE: f64 = 0.95;
/// How long a hand-off holds where no reset is known, ms.
const HOLDS_MS: Millis = 5 * 60 * 60 * 1_000;
/// Most that is asked of the summary, tokens.
pub const MAX_TOKENS: u32 = 800;
/// How exactly it is asked.
pub const TEMPERATURE: f64 = 0.1;
/// How long it may take, ms.
pub const TIME_LIMIT_MS: Millis = 300_000;
/// Most of the conversation that is summed up, tokens.
pub const MOST_TOKENS: usize = 8_000;

/// The name of the strategy that it is about.
pub const STRATEGY: &str = "context-relay";

/// What a request of a relaying combo knows of its session when it is planned.
#[derive(Clone, Debug)]
pub struct Relay {
    /// Whose turn it is.
    pub key: HandoffKey,
    /// The combo's numbers.
    pub settings: RelaySettings,
    /// The hand-off that holds.
    pub handoff: Option<Handoff>,
    /// One is being written.
    pub making: bool,
    /// What the accounts of its targets say of their quota.
    pub readings: Vec<(ConnectionId, AccountReading)>,
}

impl Relay {
    /// What an account says.
    pub fn reading(&self, connection: &ConnectionId) -> Option<&AccountReading> {
        self.readings.iter().find(|(id, _)| id == connection).map(|(_, reading)| reading)
    }

    /// Whether a summary is due now that this account has served a turn.
    pub fn is_due(&self, provider: &ProviderId, connection: &ConnectionId, now: Millis) -> bool {
        let there = self.making || self.handoff.is_some();
        let used = self.reading(connection).and_then(|reading| used(reading, now));
        is_due(&self.settings, &Moment { provider, session: true, used, there })
    }
}

/// Whose hand-off it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HandoffKey {
    /// The session, hashed.
    pub session: Arc<str>,
    /// The combo.
    pub combo: Arc<str>,
}

impl HandoffKey {
    /// What its sealed text is bound to.
    pub fn record(&self) -> String {
        format!("handoff/{}/{}", self.session, self.combo)
    }
}

/// What is known when an account has served a turn.
#[derive(Clone, Copy, Debug)]
pub struct Moment<'a> {
    /// Who served it.
    pub provider: &'a ProviderId,
    /// The request names its session.
    pub session: bool,
    /// How much of its quota the account has used, 0 to 1; `None`: it does not say.
    pub used: Option<f64>,
    /// There is a hand-off that holds, or one is being written.
    pub there: bool,
}

/// Whether a summary is due (routing 4.4a). Without a list every provider hands over whose accounts
/// tell their use.
pub fn is_due(settings: &RelaySettings, moment: &Moment<'_>) -> bool {
    let hands_over = settings.providers.is_empty() || settings.providers.contains(moment.provider);
    let due = |used: f64| (threshold(settings.threshold)..TOO_LATE).contains(&used);
    hands_over && moment.session && !moment.there && moment.used.is_some_and(due)
}

fn threshold(configured: f64) -> f64 {
    if configured > 0.0 && configured < TOO_LATE { configured } else { THRESHOLD }
}

fn windows(reading: &AccountReading) -> impl Iterator<Item = WindowReading> {
    let named = [QuotaWindow::Session, QuotaWindow::Weekly, QuotaWindow::Monthly];
    let named = named.map(|window| reading.window(window));
    named.into_iter().flatten().chain(reading.overall)
}

/// How much of its quota an account has used: what ends first decides. A window that has started
/// anew says nothing.
pub fn used(reading: &AccountReading, now: Millis) -> Option<f64> {
    match reading.is_limited(now) {
        true => Some(1.0),
        false => reading.left(&QuotaWindow::ALL, now).map(|left| 1.0 - left),
    }
}

/// What an account says of a conversation, within bounds (routing 4.4b).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// What it is about.
    pub summary: String,
    /// What was decided.
    #[serde(default)]
    pub key_decisions: Vec<String>,
    /// How far it is.
    #[serde(default)]
    pub task_progress: String,
    /// What it works with.
    #[serde(default)]
    pub active_entities: Vec<String>,
}

impl Summary {
    /// Reads a model's answer; `None`: it is no summary, and then there is no hand-off.
    pub fn read(text: &str) -> Option<Self> {
        let (start, end) = (text.find('{')?, text.rfind('}')?);
        let value: Value = serde_json::from_str(text.get(start..=end)?).ok()?;
        let text = |key: &str, most| value[key].as_str().map(|text| first(text.trim(), most));
        let list = |key: &str, most| {
            let items = value[key].as_array().into_iter().flatten().filter_map(Value::as_str);
            items.take(most).map(|item| first(item.trim(), LONGEST_ITEM)).collect()
        };
        Some(Self {
            summary: text("summary", 2_000).filter(|summary| !summary.is_empty())?,
            key_decisions: list("keyDecisions", 8),
            task_progress: text("taskProgress", 1_200).unwrap_or_default(),
            active_entities: list("activeEntities", 10),
        })
    }

    /// What the next account is told; nothing in it can end its own element.
    pub fn text(&self) -> String {
        let Self { summary, key_decisions, task_progress, active_entities } = self;
        let mut text = String::from(
            "<context_handoff>\nThis conversation was begun with another account. What has happened so far:\n",
        );
        element(&mut text, "summary", summary);
        list(&mut text, "key_decisions", "decision", key_decisions);
        if !task_progress.is_empty() {
            element(&mut text, "task_progress", task_progress);
        }
        list(&mut text, "active_entities", "entity", active_entities);
        text.push_str("</context_handoff>");
        text
    }
}

/// A summary that waits for the next account. Its words are a user's: whoever keeps it sees them
/// sealed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Handoff {
    /// The account that had served.
    pub from: ConnectionId,
    /// The text for the next account, sealed.
    pub sealed: String,
    /// It holds until then, epoch ms.
    pub expires_at: Millis,
}

impl Handoff {
    /// Made now; it holds until the account starts anew (routing 4.4c).
    pub fn new(from: ConnectionId, sealed: String, reading: Option<&AccountReading>, now: Millis) -> Self {
        let resets = reading.into_iter().flat_map(windows).filter_map(|window| window.resets_at);
        let first = resets.filter(|at| *at > now).min();
        Self { from, sealed, expires_at: first.unwrap_or(now.saturating_add(HOLDS_MS)) }
    }

    /// It still holds.
    pub fn is_active(&self, now: Millis) -> bool {
        now < self.expires_at
    }

    /// Whether a turn that this account serves is shown it: the account that made it knows the
    /// conversation (routing 4.4d).
    pub fn is_for(&self, connection: &ConnectionId, now: Millis) -> bool {
        self.is_active(now) && self.from != *connection
    }
}

/// The longest item of a list, characters.
const LONGEST_ITEM: usize = 500;

fn first(text: &str, most: usize) -> String {
    text.chars().take(most).collect()
}

fn element(text: &mut String, name: &str, content: &str) {
    text.push_str(&format!("<{name}>{}</{name}>\n", escaped(content)));
}

fn list(text: &mut String, name: &str, item: &str, content: &[String]) {
    if content.is_empty() {
        return;
    }
    text.push_str(&format!("<{name}>\n"));
    for one in content {
        element(text, item, one);
    }
    text.push_str(&format!("</{name}>\n"));
}

fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&apos;"),
            letter => safe.push(letter),
        }
    }
    safe
}
