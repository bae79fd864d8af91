//! Which rule speaks about a failure (rules 3.2–3.4): the operator's own first, what is built
//! in next, the operator's catch-all last.

use super::book::RuleBook;
use super::catalogue::{self, BUILT_IN};
use crate::time::Millis;
use crate::verdict::{Reason, RuleId, RuleMatch, RuleScope};

/// A failure as rules see it.
#[derive(Clone, Copy)]
pub(crate) struct Seen<'a> {
    pub(crate) provider: &'a str,
    /// After restatement.
    pub(crate) status: u16,
    /// Names in lower case.
    pub(crate) headers: &'a [(String, String)],
    /// The answer in lower case, as it came and decoded.
    pub(crate) texts: &'a [String],
    /// Its structured codes in lower case: all that a blind rule sees (rules 3.2.3).
    pub(crate) codes: &'a [String],
}

/// What the rule that matched says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) rule: RuleMatch,
    pub(crate) reason: Reason,
    pub(crate) cooldown_ms: Option<Millis>,
}

impl Seen<'_> {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let named = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        named.map(|(_, value)| value.trim())
    }
}

impl RuleBook {
    /// The first rule that matches (rules 3.4.1).
    pub(crate) fn find(&self, seen: &Seen<'_>) -> Option<Found> {
        let honoured = self.honours(seen.provider);
        self.operators(seen, honoured, |_| true)
            .or_else(|| self.built_in(seen, honoured))
            .or_else(|| self.catch_all(seen, honoured))
    }

    /// For the statuses of a request's content: only an operator's rule that names the status
    /// (decision 29, core 3.2.7).
    pub(crate) fn find_by_status(&self, seen: &Seen<'_>) -> Option<Found> {
        self.operators(seen, self.honours(seen.provider), |status| status.is_some())
    }

    /// Scopes of this provider are acted on (rules 3.3.1).
    pub(crate) fn honours(&self, provider: &str) -> bool {
        catalogue::honours_scope(provider) || self.knows(provider)
    }

    fn operators(
        &self,
        seen: &Seen<'_>,
        honoured: bool,
        names: impl Fn(Option<u16>) -> bool,
    ) -> Option<Found> {
        let holds = |wanted: &str| seen.texts.iter().any(|text| text.contains(wanted));
        let rules = self.rules_of(seen.provider).iter().enumerate();
        let (index, rule) = rules.filter(|(_, rule)| names(rule.status)).find(|(_, rule)| {
            rule.status.is_none_or(|status| status == seen.status)
                && rule.text.as_ref().is_none_or(|text| holds(&text.trim().to_lowercase()))
        })?;
        Some(Found {
            rule: RuleMatch {
                id: RuleId::Operator(index as u16),
                scope: rule.scope.unwrap_or(RuleScope::Connection),
                honoured,
            },
            reason: rule.reason.unwrap_or(Reason::QuotaExhausted),
            cooldown_ms: rule.cooldown_ms,
        })
    }

    fn built_in(&self, seen: &Seen<'_>, honoured: bool) -> Option<Found> {
        // Declaring anything for a provider un-blinds its built-in rules too (rules 3.2.5).
        let sighted = catalogue::sees_full_text(seen.provider) || self.knows(seen.provider);
        let texts = if sighted && !seen.texts.is_empty() { seen.texts } else { seen.codes };
        let matches = |(index, row): (usize, &'static catalogue::BuiltIn)| {
            row.matches(seen, texts).map(|cooldown_ms| Found {
                rule: RuleMatch { id: RuleId::BuiltIn(index as u16), scope: row.scope, honoured },
                reason: row.reason,
                cooldown_ms,
            })
        };
        BUILT_IN.iter().enumerate().find_map(matches)
    }

    fn catch_all(&self, seen: &Seen<'_>, honoured: bool) -> Option<Found> {
        let default = self.default_of(seen.provider)?;
        let reason = reason_of(seen.status)?;
        Some(Found {
            rule: RuleMatch {
                id: RuleId::CatchAll,
                scope: default.scope.unwrap_or(RuleScope::Connection),
                honoured,
            },
            reason: default.reason.unwrap_or(reason),
            cooldown_ms: Some(default.cooldown_ms),
        })
    }
}

impl RuleId {
    /// The text of the id where it has one: a row of the built-in catalogue.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Self::BuiltIn(index) => BUILT_IN.get(usize::from(index)).map(|row| row.id),
            Self::Operator(_) | Self::CatchAll => None,
        }
    }
}

/// Why, by the status; `None` for a status that a catch-all never touches (rules 3.6.8, 3.6.10).
fn reason_of(status: u16) -> Option<Reason> {
    Some(match status {
        402 => Reason::QuotaExhausted,
        403 => Reason::AuthError,
        429 => Reason::RateLimitExceeded,
        503 | 529 => Reason::ModelCapacity,
        408 | 500..=599 => Reason::ServerError,
        _ => return None,
    })
}
