//! A request that is a part of another one: a panel's member, a judge, a pipeline's step.
//!
//! Each is served as any request for its model is. What ties the parts together is the one budget
//! of dispatches (routing 7.8), how deep they are nested, and a journal in which each leaves its
//! story when it is dropped: what was sent to an upstream is told, whoever stopped waiting for it.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use policy::attempts::MAX_DISPATCHES;
use policy::catalogue::Step;
use policy::plan::{DEEPEST_FAN, Plan};
use policy::time::Millis;
use policy::validation::Validation;

use super::cascade::Run;
use super::noted::left;
use super::{Inquiry, Story, Tried};

/// What a part knows of the whole.
#[derive(Clone, Debug)]
pub struct Part {
    /// The step that it is asked for; `None`: whatever its model's name stands for.
    pub(super) step: Option<Arc<Step>>,
    /// How long the whole lets its target take, ms; 0: as long as the service does (routing 1.4).
    pub(super) target_timeout_ms: Millis,
    /// What the whole's answer must be like, if this is it.
    pub(super) validation: Option<Arc<Validation>>,
    pub(super) journal: Rc<RefCell<Option<Story>>>,
    /// Requests that were sent upstream for the whole.
    sent: Rc<Cell<usize>>,
    depth: u32,
}

impl Part {
    /// Of a request that may be a part itself; `None`: it is nested too deep.
    pub(super) fn of(whole: &Inquiry) -> Option<Self> {
        let (sent, depth) = match &whole.part {
            Some(part) => (part.sent.clone(), part.depth + 1),
            None => (Rc::default(), 1),
        };
        (depth <= DEEPEST_FAN).then(|| Self {
            step: None,
            target_timeout_ms: 0,
            validation: None,
            journal: Rc::default(),
            sent,
            depth,
        })
    }

    /// The same for another part.
    pub(super) fn another(&self) -> Self {
        Self { step: None, target_timeout_ms: 0, validation: None, journal: Rc::default(), ..self.clone() }
    }

    /// The same for whatever its model's name stands for.
    pub(super) fn unbound(&self) -> Self {
        Self { step: None, target_timeout_ms: 0, ..self.clone() }
    }

    /// What the whole wants of its plan.
    pub(super) fn shape(&self, plan: &mut Plan) {
        if let Some(expected) = &self.validation {
            plan.validation.get_or_insert_with(|| expected.clone());
        }
        if self.target_timeout_ms > 0 {
            plan.attempts.target_timeout_ms = self.target_timeout_ms;
        }
    }

    /// Another request is sent.
    pub(super) fn count(&self) {
        self.sent.set(self.sent.get() + 1);
    }

    /// Whether the whole may send another one.
    pub(super) fn may_dispatch(&self) -> bool {
        self.sent.get() < MAX_DISPATCHES
    }

    /// A part was dropped: this is how far it came.
    pub(super) fn leave(&self, story: Story) {
        if !story.order.is_empty() || !story.excluded.is_empty() {
            *self.journal.borrow_mut() = Some(story);
        }
    }
}

impl Story {
    /// What a part did, which began `offset` after the whole.
    pub(super) fn add(&mut self, part: Story, offset: Duration) {
        self.attempts += part.attempts;
        self.order.extend(part.order);
        let later = |tried: Tried| Tried { started: tried.started + offset, ..tried };
        self.tried.extend(part.tried.into_iter().map(later));
        self.excluded.extend(part.excluded);
        self.unfit.extend(part.unfit);
        self.unfit.truncate(MAX_DISPATCHES);
        self.queued += part.queued;
    }
}

impl Drop for Run<'_> {
    /// Nobody waits for it any longer, or its story was taken.
    fn drop(&mut self) {
        self.abandon();
        let story = std::mem::take(&mut self.story);
        match &self.inquiry.part {
            Some(part) => part.leave(story),
            None if self.bill.is_open() => left(self.worker, self.inquiry, story, self.came),
            None => {}
        }
    }
}
