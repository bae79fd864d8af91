//! The one mapping from what is wrong to status, code and words. Every error that
//! switchtower makes itself carries a code of `Code`; README's table is tested against it.

mod codes;
mod diagnostics;
mod lease;
mod own_limit;
mod unfit;

use std::sync::Arc;

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::http::header::{CONTENT_TYPE, RETRY_AFTER};
use policy::blocked::Blocked;
use policy::catalogue::Dialect;
use policy::plan::NoPlan;
use policy::time::Millis;
use serde_json::{Value, json};

use crate::formats::body::BadBody;
use crate::formats::error::{ErrorFacts, body, frame};
use crate::relay::{Lack, Story, Trouble};

pub use codes::Code;
use diagnostics::{LONGEST_LIST, Recovery, with_diagnostics};
pub(super) use lease::of_lease;
use own_limit::own_limit;
use unfit::unfit;

/// An error on its way out.
#[derive(Clone, Debug)]
pub struct Problem {
    /// Boxed: it is handed up as the rare end of what mostly goes well.
    facts: Box<ErrorFacts>,
    retry_after_ms: Option<Millis>,
    breaker_open: bool,
    /// What a combo's diagnostics say in headers.
    recovery: Option<Recovery>,
}

impl Problem {
    /// An error with the usual status of its code.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        let facts = ErrorFacts {
            status: code.status(),
            code: code.as_str(),
            message: message.into(),
            ..ErrorFacts::default()
        };
        Self { facts: Box::new(facts), retry_after_ms: None, breaker_open: false, recovery: None }
    }

    /// With another status.
    pub fn status(mut self, status: u16) -> Self {
        self.facts.status = status;
        self
    }

    /// With OpenAI's `type`.
    pub fn kind(mut self, kind: &'static str) -> Self {
        self.facts.kind = Some(kind);
        self
    }

    /// With a wait, ms.
    pub fn after(mut self, wait_ms: impl Into<Option<Millis>>) -> Self {
        self.retry_after_ms = wait_ms.into();
        self
    }

    /// With another fact.
    pub fn fact(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.facts.extra.insert(name.into(), value.into());
        self
    }

    /// A body that cannot be routed.
    pub fn bad_body(bad: BadBody) -> Self {
        match bad {
            BadBody::NotJson(why) => {
                Self::new(Code::InvalidJson, format!("the body is not valid JSON: {why}"))
            }
            BadBody::Field { name, expected } => {
                let mut problem = Self::new(Code::InvalidRequest, format!("`{name}` must be {expected}"));
                problem.facts.param = Some(name.into());
                problem
            }
        }
    }

    /// What an upstream said, when it was not JSON (decision 9b).
    pub fn upstream_page(status: u16, text: String) -> Self {
        Self::new(Code::UpstreamError, format!("the upstream answered {status} with a body that is not JSON"))
            .status(status)
            .fact("upstream_details", json!({"text": text}))
    }

    /// The response; `cap_ms`: longest `Retry-After` to show, 0 for no cap.
    pub fn respond(mut self, dialect: Dialect, cap_ms: Millis) -> HttpResponse {
        let status = StatusCode::from_u16(self.facts.status).unwrap_or(StatusCode::BAD_GATEWAY);
        let mut response = HttpResponse::build(status);
        if let Some(wait_ms) = self.retry_after_ms {
            self.facts.extra.entry("retry_after").or_insert_with(|| seconds(wait_ms).into());
            response.insert_header((RETRY_AFTER, shown(wait_ms, cap_ms)));
        }
        if self.breaker_open {
            response.insert_header(("x-omniroute-provider-breaker", "open"));
        }
        if let Some(recovery) = self.recovery {
            recovery.tell(&mut response);
        }
        response.insert_header((CONTENT_TYPE, "application/json"));
        response.body(body(dialect, &self.facts).to_string())
    }
}

impl Problem {
    /// The last event of a stream whose head has gone out.
    pub fn frame(self, dialect: Dialect) -> String {
        frame(dialect, &self.facts)
    }

    /// The body of an answer whose head has gone out.
    pub fn text(self, dialect: Dialect) -> String {
        body(dialect, &self.facts).to_string()
    }
}

/// Whole seconds, rounded up, at least 1 (decision 26b).
pub fn seconds(wait_ms: Millis) -> u64 {
    wait_ms.div_ceil(1000).max(1)
}

/// The value of `Retry-After`.
pub fn shown(wait_ms: Millis, cap_ms: Millis) -> String {
    seconds(capped(wait_ms, cap_ms)).to_string()
}

/// The wait that clients are told, ms; a cap of 0 is none.
pub(super) fn capped(wait_ms: Millis, cap_ms: Millis) -> Millis {
    if cap_ms > 0 { wait_ms.min(cap_ms) } else { wait_ms }
}

/// The reason that diagnostics tell, where it is not the code (routing 9.2, rows I, K and L).
fn terminal(trouble: &Trouble, story: &Story) -> Option<&'static str> {
    match trouble {
        Trouble::AllFailed { .. } | Trouble::UpstreamAuth | Trouble::UpstreamCredits => story.terminal,
        Trouble::TooManyAttempts => Some("max_attempts_exceeded"),
        _ => None,
    }
}

/// From a request's trouble to its error. `now`: for `reset_at`.
pub fn of_trouble(trouble: Trouble, story: &Story, model: &str, now: Millis) -> Problem {
    let terminal = terminal(&trouble, story);
    let problem = match trouble {
        Trouble::RouterFull => {
            Problem::new(Code::MailboxFull, "too many requests wait for the router").after(1_000)
        }
        Trouble::RouterGone => {
            Problem::new(Code::ServiceUnavailable, "the router is being replaced; try again").after(1_000)
        }
        Trouble::NoPlan(no_plan) => of_no_plan(no_plan, model),
        Trouble::Blocked(blocked, provider) => {
            let mut problem = of_blocked(blocked, model, now);
            if let Some((provider, kind)) = provider {
                if let Blocked::QuotaShareExceeded(_) = blocked {
                    problem.facts.message =
                        format!("this key has used its share of the quota of `{provider}`");
                }
                problem = problem.fact("provider", provider.as_str());
                if let Some(kind) = kind {
                    problem = problem.fact("failure_kind", serde_json::to_value(kind).unwrap_or_default());
                }
            }
            problem
        }
        Trouble::Lease(no_lease) => return of_lease(no_lease, model, now),
        Trouble::AllFailed { status, lack, retry_after_ms } => {
            let code = lack.map(Code::of_lack).unwrap_or(match status {
                504 => Code::GatewayTimeout,
                _ => Code::BadGateway,
            });
            let message = failed_message(story) + &knob(status, lack);
            Problem::new(code, message).status(status).after(retry_after_ms)
        }
        Trouble::UpstreamAuth => Problem::new(
            Code::UpstreamAuthFailed,
            "the upstream refused the credential of the account that was used",
        ),
        Trouble::UpstreamCredits => Problem::new(
            Code::UpstreamCreditsExhausted,
            "the upstream says that the account is out of credit",
        ),
        Trouble::NoMembers => {
            Problem::new(Code::ComboHasNoMembers, format!("the combo `{model}` has nobody to ask"))
        }
        Trouble::PanelFailed { members, retry_after_ms } => {
            panel_failed(model, &members).after(retry_after_ms)
        }
        Trouble::ComboTimeout => Problem::new(
            Code::ComboTimeout,
            format!("no target of `{model}` answered within the combo's time; `combo_timeout_ms` sets it"),
        ),
        Trouble::TooManyAttempts => {
            Problem::new(Code::ServiceUnavailable, "the most attempts of one request were reached")
        }
    };
    match story.combo {
        true => with_diagnostics(problem, story, terminal),
        false => problem,
    }
}

/// Routing 6.1f: each member with the code of how it ended.
fn panel_failed(model: &str, members: &[(Arc<str>, String)]) -> Problem {
    let listed: Vec<String> =
        members.iter().take(LONGEST_LIST).map(|(name, code)| format!("{name}={code}")).collect();
    let message = format!("nobody of the panel of `{model}` has answered: {}", listed.join(", "));
    Problem::new(Code::PanelFailed, message)
}

/// That all failed, and how the last one did.
fn failed_message(story: &Story) -> String {
    let last =
        story.tried.iter().rev().find_map(|tried| Some((&tried.target.provider, tried.end, tried.status?)));
    let how = last.map(|(provider, end, status)| match end {
        Some(end) => (provider, end.words.to_owned()),
        None => (provider, format!("status {status}")),
    });
    match (story.attempts, how) {
        (1, Some((provider, how))) => format!("`{provider}` gave no usable answer: {how}"),
        (1, None) => "the upstream gave no usable answer".into(),
        (attempts, Some((provider, how))) => {
            format!("all {attempts} attempts failed, the last one at `{provider}`: {how}")
        }
        (attempts, None) => format!("all {attempts} attempts failed"),
    }
}

/// What moves the limit that was reached, for the end of a message (FC-092).
fn knob(status: u16, lack: Option<Lack>) -> String {
    match (lack, status) {
        (Some(Lack::Time(limit)), _) => format!("; the limit is `{}`", limit.setting()),
        (None, 504) => {
            "; the limits are `upstream.first_byte_timeout` (of a stream at most 120 s) and a combo's \
             `target_timeout_ms`"
                .into()
        }
        _ => String::new(),
    }
}

/// Why there is no plan at all.
pub fn of_no_plan(no_plan: NoPlan, model: &str) -> Problem {
    if let Some(problem) = unfit(&no_plan, model) {
        return problem;
    }
    let mut problem = match no_plan {
        NoPlan::BadName => Problem::new(Code::InvalidRequest, "`model` is not the name of a model or combo"),
        NoPlan::UnknownModel => Problem::new(
            Code::ModelNotFound,
            format!("no model or combo is called `{model}`; write `provider/model`, or see GET /v1/models"),
        ),
        NoPlan::NotForKey => Problem::new(
            Code::PermissionDenied,
            "this key may only ask for the models of its quota pools; see GET /v1/models",
        ),
        NoPlan::Ambiguous(forms) => Problem::new(
            Code::AmbiguousModel,
            format!("several providers list `{model}`; write one of {}", forms.join(", ")),
        ),
        NoPlan::ContextTooLong { .. }
        | NoPlan::CapabilityMismatch { .. }
        | NoPlan::ContextRequirements { .. } => unreachable!("told above"),
        NoPlan::Circle(way) => Problem::new(
            Code::ComboCycle,
            format!("the combo `{model}` asks for itself: {}", way.join(" -> ")),
        ),
        NoPlan::Judge(judge, why) => {
            let mut problem = of_no_plan(*why, &judge);
            problem.facts.message = format!("the judge of `{model}`: {}", problem.facts.message);
            problem
        }
        NoPlan::FormatNotSupported(dialects) if dialects.is_empty() => Problem::new(
            Code::FormatNotSupported,
            format!("the models of `{model}` have no dialect in common: no route can ask all of them"),
        ),
        NoPlan::FormatNotSupported(dialects) => {
            let mut names: Vec<&str> = dialects.iter().map(|dialect| dialect.as_str()).collect();
            names.dedup();
            let names = names.join(", ");
            Problem::new(
                Code::FormatNotSupported,
                format!("`{model}` speaks {names}; use the route of that dialect"),
            )
        }
    };
    problem.facts.param = Some("model".into());
    problem
}

/// When there is somebody to ask again, for the end of a message.
fn back(wait_ms: impl Into<Option<Millis>>) -> String {
    wait_ms.into().map_or_else(String::new, |wait| format!("; the first is back in {} s", seconds(wait)))
}

fn of_blocked(blocked: Blocked, model: &str, now: Millis) -> Problem {
    match blocked {
        Blocked::MailboxFull => {
            Problem::new(Code::MailboxFull, "too many requests wait for the connection").after(1_000)
        }
        Blocked::OwnLimit(why, wait) => own_limit(why, wait),
        Blocked::KeyNotAllowed => Problem::new(
            Code::PermissionDenied,
            format!("this key may use no connection that serves `{model}`"),
        ),
        Blocked::QuotaShareExceeded(wait) => {
            Problem::new(Code::QuotaShareExceeded, "this key has used its share of the quota")
                .kind("rate_limit_error")
                .after(wait)
        }
        Blocked::OverBudget => Problem::new(
            Code::BudgetExceeded,
            format!("every target of `{model}` that could run costs more than this request may"),
        ),
        Blocked::CircuitOpen(wait) => {
            let mut problem =
                Problem::new(Code::ProviderCircuitOpen, "the breaker of the provider is open").after(wait);
            problem.breaker_open = true;
            problem
        }
        Blocked::ModelCooldown(wait) => Problem::new(
            Code::ModelCooldown,
            format!("every account that serves `{model}` rests{}", back(wait)),
        )
        .after(wait)
        .fact("model", model)
        .fact("reset_seconds", seconds(wait))
        .fact("reset_at", rfc3339(now + wait)),
        Blocked::NoUsableConnection => {
            Problem::new(Code::NoUsableConnection, format!("no usable account serves `{model}`"))
        }
        Blocked::NoExecutableTargets => Problem::new(
            Code::NoExecutableTargets,
            format!("the combo `{model}` has no target that could run"),
        ),
        Blocked::AllCoolingDown(wait) => Problem::new(
            Code::AllTargetsCoolingDown,
            format!("every target of `{model}` rests, or is behind an open breaker{}", back(wait)),
        )
        .kind("service_unavailable")
        .after(wait),
        Blocked::SkippedUntil(wait) => {
            Problem::new(Code::AllTargetsSkipped, format!("every target of `{model}` rests{}", back(wait)))
                .status(429)
                .kind("rate_limit_error")
                .after(wait)
                .fact("reset_at", rfc3339(now + wait))
        }
        Blocked::Skipped => {
            Problem::new(Code::AllTargetsSkipped, format!("every target of `{model}` was skipped"))
                .kind("service_unavailable")
        }
    }
}

/// RFC 3339 text of an instant.
pub fn rfc3339(at: Millis) -> String {
    let at = i64::try_from(at).ok().and_then(|at| jiff::Timestamp::from_millisecond(at).ok());
    at.map_or_else(String::new, |at| at.to_string())
}

#[cfg(test)]
mod tests;
