//! One last attempt when the money is out (rules 8.3, decision 31b): off unless an operator names
//! where it may go, because prompts go to a provider that is in no combo.
//!
//! It is a request of its own at that target: its owners are asked, its failure is told to nobody
//! but them, and the first answer stays what it was. It never leads to another one.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use policy::change::Exclusion;
use policy::emergency;
use policy::plan::Excluded;

use super::cascade::Run;
use super::judging::Emergency;
use super::meter::Bill;
use super::sets::pick;
use super::{Inquiry, Outcome, Part, Served, Worker};
use crate::formats::body::peek;
use crate::formats::edit::with_output;
use crate::upstream::Route;

impl Run<'_> {
    /// Where the last attempt goes; `None`: there is none. `outcome`: how it ended otherwise.
    pub(super) fn last_resort(&self, outcome: &Outcome) -> Option<Emergency> {
        let failed = match outcome {
            Outcome::Upstream(reply) => !(200..300).contains(&reply.status),
            Outcome::Ours(_) => true,
        };
        let Inquiry { stream, tools, confined, lease, .. } = self.inquiry;
        if !failed || *stream || *tools > 0 || *confined || lease.is_some() {
            return None;
        }
        match self.attempts.failures().is_empty() {
            false => self.unpaid.clone(),
            true => self.nobody_is_paid(),
        }
    }

    /// All accounts are out of credit, as earlier requests have found: that is the same, told sooner.
    fn nobody_is_paid(&self) -> Option<Emergency> {
        let last = self.worker.tower.judging.load().emergency.clone()?;
        let unpaid = |target: &Excluded| {
            target.reason == Exclusion::CreditsExhausted && target.provider != last.provider
        };
        let all = &self.story.excluded;
        (!all.is_empty() && all.iter().all(unpaid)).then_some(last)
    }
}

/// The last attempt; `None`: it gave no good answer.
pub(super) async fn rescue(
    worker: &Rc<Worker>,
    (inquiry, combo): (&Inquiry, Option<&str>),
    last: &Emergency,
) -> Option<Served> {
    // What the combo says first is said there, too.
    let own = (&inquiry.body, &inquiry.span);
    let reshapes = worker.tower.reshapes.load();
    let made = combo.and_then(|combo| reshapes.of_combo(combo, inquiry.route, own));
    let body = made.as_ref().map_or(&inquiry.body, |(body, _)| body);
    let inquiry = bounded(inquiry, body, last.model.clone())?;
    let mut picked = pick(worker, &inquiry).await.ok()?;
    picked.plan.targets.truncate(1);
    tracing::warn!(asked = %last.model, "the money is out: the emergency fallback is asked");
    let mut run = Run::new(worker, &inquiry, picked, Bill::new(worker, &inquiry));
    match run.set().await {
        Some(outcome @ Outcome::Upstream(_)) if is_good(&outcome) => {
            run.bill.unanswered(&outcome);
            Some(Served { outcome, story: std::mem::take(&mut run.story), asked_at: run.asked_at })
        }
        _ => {
            // The request is counted where it began.
            run.bill.hand_over();
            None
        }
    }
}

fn is_good(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Upstream(reply) if (200..300).contains(&reply.status))
}

/// The same request to that model, with a bound of what it may say (rules 8.3.3).
fn bounded(inquiry: &Inquiry, body: &Bytes, model: Arc<str>) -> Option<Inquiry> {
    let names: &[&str] = match inquiry.route {
        Route::Chat => &["max_tokens", "max_completion_tokens"],
        Route::Messages => &["max_tokens"],
        Route::Responses => &["max_output_tokens"],
        Route::Embeddings | Route::CountTokens => return None,
    };
    let body = with_output(body, names, emergency::tokens)?;
    let span = peek(&body, false).ok()?.span;
    Some(Inquiry {
        id: None,
        route: inquiry.route,
        model,
        span,
        stream: false,
        tools: 0,
        body,
        headers: inquiry.headers.clone(),
        allowed: inquiry.allowed.clone(),
        preferred: None,
        key: inquiry.key.clone(),
        held: Duration::ZERO,
        confined: false,
        limited: inquiry.limited,
        traits: inquiry.traits.clone(),
        lease: None,
        part: inquiry.part.as_ref().map(Part::unbound),
    })
}
