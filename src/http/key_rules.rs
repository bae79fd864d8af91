//! What a client key is held to at the edge, before anything is picked (routing 10.5, 13.3). A key
//! without rules costs nothing here.

use std::sync::Arc;
use std::time::Duration;

use actors::blueprint::Blueprint;
use arc_swap::ArcSwap;
use policy::catalogue::Dialect;
use policy::keys::{Asked, Denial, Over};
use policy::plan::{Leads, leads};
use policy::time::Millis;

use super::auth::{Caller, KeyPolicy};
use super::errors::{Code, Problem, rfc3339};
use super::inference::refusal;
use super::state::Http;
use crate::relay::Tower;
use crate::upstream::Route;

/// The key may call this route, such as `/v1/messages`.
pub(super) fn may_call(policy: &KeyPolicy, path: &str) -> Result<(), Problem> {
    let endpoints = &policy.rules.endpoints;
    match endpoints.is_empty() || endpoints.iter().any(|endpoint| endpoint == path) {
        true => Ok(()),
        false => Err(Problem::new(
            Code::EndpointNotAllowed,
            format!("this key may not call {path}; it may call {}", endpoints.join(", ")),
        )),
    }
}

/// The key may call a route of this dialect.
pub(crate) fn may_speak(policy: &KeyPolicy, dialect: Dialect) -> bool {
    routes(&[dialect]).any(|route| may_call(policy, route.path()).is_ok())
}

/// The routes of these dialects.
fn routes(dialects: &[Dialect]) -> impl Iterator<Item = Route> {
    Route::ALL.into_iter().filter(|route| dialects.contains(&route.dialect()))
}

/// The key may be used at this hour.
pub(super) fn is_open(policy: &KeyPolicy, now: Millis) -> Result<(), Problem> {
    policy.rules.schedule.map_or(Ok(()), |schedule| schedule.at(now)).map_err(|opens_at| {
        let opens = rfc3339(opens_at);
        let message =
            format!("this key may not be used at this hour (`accessSchedule`); it opens at {opens}");
        let wait = opens_at.saturating_sub(now);
        Problem::new(Code::KeyOutsideSchedule, message).fact("reset_at", opens).after(wait)
    })
}

/// How long its requests wait first.
pub(super) fn held(policy: Option<&KeyPolicy>) -> Duration {
    Duration::from_millis(policy.map_or(0, |policy| policy.rules.throttle_ms))
}

/// The key, if there is one, may ask for this name now; the request is counted. `session`: the key of
/// its session (rules 6.2), which only a key that is held to so many is asked for.
pub(super) fn admit(
    policy: Option<&KeyPolicy>,
    http: &Http,
    model: &str,
    session: impl FnOnce() -> Option<String>,
) -> Result<(), Problem> {
    let Some(policy) = policy else { return Ok(()) };
    may_reach(policy, &http.worker.tower.plan, model)?;
    let limits = &policy.rules.limits;
    if limits.is_empty() {
        return Ok(());
    }
    let session = if limits.max_sessions > 0 { session() } else { None };
    let tower = &http.worker.tower;
    let admitted = tower.keys.admit(&policy.name, limits, session.as_deref(), tower.owners.clock.now());
    admitted.map_err(of_denial)
}

/// A request that nobody makes: for this name, in one of these dialects and this session.
pub(crate) struct Would<'a> {
    /// The model as a client would write it.
    pub(crate) model: &'a str,
    /// Dialects that it could be written in.
    pub(crate) dialects: &'a [Dialect],
    /// The key of its session.
    pub(crate) session: Option<&'a str>,
}

/// Such a request with this key would be let in now, else it gets this; nothing is counted. In the order
/// in which a request is judged.
pub(crate) fn would_admit(policy: &Arc<KeyPolicy>, tower: &Tower, would: &Would<'_>) -> Result<(), Problem> {
    let now = tower.owners.clock.now();
    match policy.caller(now) {
        Caller::Known(_) => {}
        refused => return Err(refusal(&refused)),
    }
    is_open(policy, now)?;
    let mut denied = routes(would.dialects).map(|route| may_call(policy, route.path()));
    // Any way in is one; the first route is the one that it is told of.
    if let Some(Err(first)) = denied.next()
        && denied.all(|other| other.is_err())
    {
        return Err(first);
    }
    may_reach(policy, &tower.plan, would.model)?;
    let limits = &policy.rules.limits;
    let session = would.session.filter(|_| limits.max_sessions > 0);
    tower.keys.would_admit(&policy.name, limits, session, now).map_err(of_denial)
}

/// The key may ask for this name.
pub(super) fn may_reach(policy: &KeyPolicy, plan: &ArcSwap<Blueprint>, model: &str) -> Result<(), Problem> {
    may_ask(policy, plan, model).map_err(|code| {
        let what = if code == Code::ComboNotAllowed { "combo" } else { "model" };
        Problem::new(code, format!("this key may not ask for the {what} `{model}`"))
    })
}

/// The key reaches this name, or a target that it leads to.
pub(super) fn may_ask(policy: &KeyPolicy, plan: &ArcSwap<Blueprint>, name: &str) -> Result<(), Code> {
    let reach = &policy.rules.reach;
    if !reach.restricted {
        return Ok(());
    }
    let Leads { combo, targets } = leads(&plan.load().catalogue, name);
    match reach.allows(&Asked { name, combo: combo.as_deref(), targets: &targets }) {
        true => Ok(()),
        false if combo.is_some() => Err(Code::ComboNotAllowed),
        false => Err(Code::ModelNotAllowed),
    }
}

/// It is about the caller's own key: nobody else is held to it.
fn of_denial(denial: Denial) -> Problem {
    let (code, message) = match denial.over {
        Over::Rate => (Code::KeyRateLimited, "this key has made as many requests as it may for now"),
        Over::Budget => (Code::KeyBudgetSpent, "this key has spent its budget"),
        Over::Sessions => (Code::KeySessionLimit, "this key has as many sessions at once as it may"),
    };
    Problem::new(code, message).kind("rate_limit_error").after(denial.wait_ms)
}
