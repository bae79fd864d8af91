//! The plan of a request for one provider's model: its accounts, and nobody else.

use super::session::Session;
use super::step::{Turn, add_step};
use super::{Ask, NoPlan, Plan, World, empty};
use crate::attempts::AttemptSettings;
use crate::catalogue::Step;
use crate::dice::Dice;

/// The plan of one provider's model, whatever else its name may stand for.
pub fn of_step(step: &Step, ask: &Ask<'_>, world: World<'_>, dice: &mut dyn Dice) -> Result<Plan, NoPlan> {
    let provider = world.catalogue.providers.get(&step.provider).ok_or(NoPlan::UnknownModel)?;
    if !provider.dialects.contains(&ask.dialect) {
        return Err(NoPlan::FormatNotSupported(provider.dialects.clone()));
    }
    let attempts = AttemptSettings { waits: world.catalogue.direct_waits, ..AttemptSettings::direct() };
    let mut plan = empty(None, "single", attempts, 1);
    plan.timed = world.catalogue.accounts.records_latency() || Session::of(ask, world).is_some();
    plan.reads_quota = world.catalogue.reads_quota;
    add_step(&mut plan, Turn { index: 0, step, left: 0, only: None, place: None }, ask, world, dice);
    Ok(plan)
}
