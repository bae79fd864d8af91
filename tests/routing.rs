//! The attempt loop over real sockets: sets tried again, the combo's whole time, a second target
//! beside a slow one, steps that may be passed only for quota, nested combos, drawn ones
//! (routing 7, 16). Where headers, prompts and responses send a request, and field cases of routing.
//!
//! What decides is `policy::attempts` and `policy::plan`, tested there row by row; here stands
//! that the vendors get what was decided, and that nobody pays for what was nobody's fault.

#[path = "routing/cascade.rs"]
mod cascade;
#[path = "routing/cases.rs"]
mod cases;
#[path = "routing/ends.rs"]
mod ends;
#[path = "routing/fared.rs"]
mod fared;
#[path = "routing/hedging.rs"]
mod hedging;
#[path = "routing/kept.rs"]
mod kept;
#[path = "routing/nested.rs"]
mod nested;
#[path = "routing/orders.rs"]
mod orders;
#[path = "routing/prompts.rs"]
mod prompts;
#[path = "routing/reshape.rs"]
mod reshape;
#[path = "routing/responses.rs"]
mod responses;
#[path = "routing/sets.rs"]
mod sets;
#[allow(dead_code, unused_imports, reason = "each test file uses its part")]
mod support;
#[path = "routing/wishes.rs"]
mod wishes;

use support::{Setup, World, eventually};

/// Neither retries nor waits for a rest.
const PLAIN: &str = "max_retries = 0, combo_cooldown_wait_enabled = false";

/// A provider with one account that no failure rests.
fn tireless(setup: Setup, id: &str) -> Setup {
    setup.provider(id, 1).section("provider_specific = { disable_cooling = true }")
}

/// Requests that each of these providers got.
fn asked<const N: usize>(world: &World, providers: [&str; N]) -> [usize; N] {
    providers.map(|provider| world.upstream(provider).asked())
}

/// Failures on the breakers of these providers.
fn failures<const N: usize>(world: &World, providers: [&str; N]) -> [u64; N] {
    providers.map(|provider| world.failures(provider))
}

/// How often the only account of a provider was rested.
fn level(world: &World, provider: &str) -> u64 {
    world.snapshot(&format!("{provider}-1"))["cooldown"]["level"].as_u64().unwrap()
}

/// Every place is given back.
#[track_caller]
fn nobody_is_in_flight(world: &World, providers: &[&str]) {
    for provider in providers {
        let connection = format!("{provider}-1");
        eventually(&format!("{connection} is free"), || world.in_flight(&connection) == 0);
    }
}
