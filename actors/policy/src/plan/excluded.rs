//! Who is left out of a plan, and why. Held back are those that this request could be sent to at
//! another time: how it ends where nobody is left is read from them (routing 9.2).
//!
//! Unfit are those that a combo's filters drop while others remain. Nothing is concluded from them:
//! they are told, and that is all.

use serde::{Deserialize, Serialize};

use super::Plan;
use crate::attempts::MAX_DISPATCHES;
use crate::catalogue::Step;
use crate::change::Exclusion;
use crate::ids::{ConnectionId, ModelId, ProviderId};
use crate::time::Millis;

/// A target that is left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Excluded {
    /// Its provider.
    pub provider: ProviderId,
    /// The model as the provider names it.
    pub model: ModelId,
    /// Its connection; `None` when the whole provider is out.
    pub connection: Option<ConnectionId>,
    /// Why.
    pub reason: Exclusion,
    /// When it may come back, epoch ms.
    pub until: Option<Millis>,
    /// It comes back by itself soon: no quota, credential or missing model holds it (routing 7.17).
    pub transient: bool,
    /// A combo may sit it out: what holds it is known to pass (flow 3.3).
    pub waitable: bool,
}

/// Tells of a step that could not serve the request: once, and of as many as a plan may have targets.
pub(super) fn tell(unfit: &mut Vec<Excluded>, step: &Step, reason: Exclusion) {
    if unfit.len() >= MAX_DISPATCHES || unfit.iter().any(|told| is_of(told, step)) {
        return;
    }
    unfit.push(Excluded {
        provider: step.provider.clone(),
        model: step.model.clone(),
        connection: step.connection.clone(),
        reason,
        until: None,
        transient: false,
        waitable: false,
    });
}

fn is_of(told: &Excluded, step: &Step) -> bool {
    (&told.provider, &told.model, &told.connection) == (&step.provider, &step.model, &step.connection)
}

/// Who is asked after all, in another place, is not left out.
pub(super) fn settle(plan: &mut Plan) {
    let targets = &plan.targets;
    plan.unfit.retain(|unfit| {
        let is_it = |target: &super::Planned| {
            (&target.provider, &target.model) == (&unfit.provider, &unfit.model)
                && unfit.connection.as_ref().is_none_or(|connection| *connection == target.connection)
        };
        !targets.iter().any(is_it)
    });
}
