//! The call of the model that a session stays with (routing 3.9): it goes before the ordinary order,
//! and what it fails with decides whether that order has a turn.
//!
//! A vendor that is ill or busy is a reason to ask another model, and so is an answer that nobody can
//! use. Any other failure is told as it is: the session would lose its model over something that the
//! operator or the client must mend. The model's other accounts are asked all the same.

use super::Key;
use crate::plan::Plan;
use crate::session_model::Target;

/// That call.
#[derive(Clone, Debug, Default)]
pub(super) struct Kept {
    /// Whose it is; `None`: the ordinary order runs.
    model: Option<Target>,
    /// It has failed with what is told as it is.
    is_answer: bool,
}

impl Kept {
    /// The call that a plan begins with.
    pub(super) fn of(plan: &Plan) -> Self {
        let first = plan.targets.first().map(|first| (&first.provider, &first.model));
        let leads = |(provider, model): &Target| first == Some((provider, model));
        Self { model: plan.kept.clone().filter(leads), is_answer: false }
    }

    /// An attempt has failed.
    pub(super) fn failed(&mut self, key: &Key, status: u16) {
        if self.is_of(key) && !goes_on(status) {
            self.is_answer = true;
        } else {
            *self = Self::default();
        }
    }

    /// Whether a target must not be asked: it is another model's.
    pub(super) fn bars(&self, key: &Key) -> bool {
        self.is_answer && !self.is_of(key)
    }

    /// What it failed with is the answer, if none of its other accounts does better.
    pub(super) fn is_answer(&self) -> bool {
        self.is_answer
    }

    /// Whether its call is this target's.
    pub(super) fn is_of(&self, key: &Key) -> bool {
        self.model.as_ref().is_some_and(|(provider, model)| *provider == key.provider && *model == key.model)
    }
}

/// Routing 3.9, and 529 by decision 12c. An answer of bad quality stands as 502.
fn goes_on(status: u16) -> bool {
    matches!(status, 408 | 429 | 500 | 502 | 503 | 504 | 529)
}
