//! One failed answer as the rows of the table look at it: the status that counts, the words,
//! the stated wait, and whether its quota words may be trusted.

use super::lists::{self, QUOTA};
use super::phrase::List;
use super::words::Words;
use super::{Case, End, RuleId, Signal};
use crate::hint::{self, Hint};
use crate::ids::Class;
use crate::rules::{Found, Restated, Seen, restate};
use crate::time::{DAY, HOUR, MINUTE, Millis};

pub(super) struct Look<'a> {
    pub(super) case: &'a Case<'a>,
    /// After restatement.
    pub(super) status: u16,
    /// What restatement found.
    pub(super) restated: Restated,
    pub(super) words: Words<'a>,
    /// Quota words count (core 3.2 `Q`).
    pub(super) trusted: bool,
    /// The text holds one of Q1.
    pub(super) quota: bool,
    pub(super) hint: Option<Hint>,
    signal: &'a Signal,
}

impl<'a> Look<'a> {
    pub(super) fn at(signal: &'a Signal, status: u16, case: &'a Case<'a>) -> Self {
        let words = Words::of(&signal.text, case.request);
        let stated = signal.hint.map(|hint| hint.wait_ms);
        // An error inside a stream has no status that a gateway could misstate (flow 6.10).
        let provider = if matches!(signal.end, End::InStream(_)) { "" } else { case.provider };
        let restated = restate(provider, status, &words.texts, stated);
        let quota = words.say(&QUOTA);
        let (status, hint) = (restated.status, signal.hint);
        let mut look = Self { case, status, restated, words, trusted: true, quota, hint, signal };
        look.trusted = look.trusts_quota_words();
        look
    }

    /// Core 3.2 `Q`. What an operator's own rule speaks about is not guessed from the words of
    /// a key's 429 (C14a).
    fn trusts_quota_words(&self) -> bool {
        let by_operator = || {
            let found = self.rule();
            found.is_some_and(|found| matches!(found.rule.id, RuleId::Operator(_)))
        };
        let known = !self.case.provider.is_empty();
        self.status != 429 || !known || self.case.class == Class::Oauth || (self.quota && !by_operator())
    }

    pub(super) fn says(&self, list: &List) -> bool {
        self.words.say(list)
    }

    pub(super) fn is_blank(&self) -> bool {
        self.words.texts.is_empty()
    }

    pub(super) fn provider_is(&self, id: &str) -> bool {
        self.case.provider.eq_ignore_ascii_case(id)
    }

    /// One of the operator's own ban signals (core 3.9.6).
    pub(super) fn says_signal(&self) -> bool {
        let signals = self.case.rules.banned_signals();
        signals.iter().any(|signal| self.words.hold(signal))
    }

    /// The words of a quota, of whatever window (core 3.2.4).
    pub(super) fn is_quota_class(&self) -> bool {
        self.quota
            || [&lists::QUOTA_CLASS, &lists::SUBSCRIPTION, &lists::CREDITS].iter().any(|list| self.says(list))
    }

    /// The stated wait if it is obeyed, ms.
    pub(super) fn stated(&self) -> Option<Millis> {
        self.hint.filter(|_| self.case.use_hints).map(|hint| hint.wait_ms)
    }

    /// The wait that the text itself names, ms, clamped like every stated one (core D13).
    pub(super) fn reset_in_text(&self) -> Option<Millis> {
        let named = hint::reset_of(&self.signal.text, self.case.now);
        named.map(|ms| ms.clamp(Hint::MIN_MS, Hint::MAX_MS))
    }

    /// How long until daily quotas come back, ms: midnight UTC unless configured (core 3.2.3).
    pub(super) fn until_daily_reset(&self) -> Millis {
        let (hour, offset) =
            self.case.daily_reset.map_or((0, 0), |reset| (u64::from(reset.hour), reset.offset_minutes));
        let offset = offset.rem_euclid(24 * 60).unsigned_abs();
        let time_of_day = (self.case.now % DAY + u64::from(offset) * MINUTE) % DAY;
        (hour * HOUR % DAY + DAY - time_of_day - 1) % DAY + 1
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let named = self.signal.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        named.map(|(_, value)| value.trim())
    }

    /// The rule that speaks about this failure (rules 3.4).
    pub(super) fn rule(&self) -> Option<Found> {
        self.case.rules.find(&self.seen())
    }

    /// The operator's rule that names this status (decision 29).
    pub(super) fn rule_by_status(&self) -> Option<Found> {
        self.case.rules.find_by_status(&self.seen())
    }

    fn seen(&self) -> Seen<'_> {
        Seen {
            provider: self.case.provider,
            status: self.status,
            headers: &self.signal.headers,
            texts: &self.words.texts,
            codes: &self.words.codes,
        }
    }
}
