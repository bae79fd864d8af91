//! `POST` of an inference route: read, relay, reply.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use actix_web::http::StatusCode;
use actix_web::http::header::{
    ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER,
};
use actix_web::web::Payload;
use actix_web::{HttpMessage, HttpRequest, HttpResponse, HttpResponseBuilder};
use futures_util::FutureExt;
use policy::catalogue::Dialect;
use policy::time::Millis;

use super::auth::Caller;
use super::body::{Outbound, Unread, read, until_close};
use super::early;
use super::enter::{Entered, Unlogged, enter};
use super::errors::{Code, Problem, capped, of_trouble, shown};
use super::intake::{by_accept, made_now, passing};
use super::key_rules;
use super::state::{Http, HttpSettings, Running};
use super::traits::{look, session, traits};
use crate::formats::body::is_complete_json;
use crate::formats::redact;
use crate::relay::{Inquiry, Outcome, Reply, ReplyBody, Served, Story, noted, serve};
use crate::telemetry::Decision;
use crate::upstream::{Route, is_event_stream};

/// The upstream's headers that reach the client (contract 8).
const RETURNING: [&str; 6] =
    ["content-type", "retry-after", "retry-after-ms", "x-ms-retry-after-ms", "x-should-retry", "request-id"];
const RETURNING_FAMILIES: [&str; 3] = ["x-ratelimit-", "anthropic-", "openai-"];

/// Serves one request.
pub async fn handle(route: Route, request: HttpRequest, payload: Payload) -> HttpResponse {
    let entered = Instant::now();
    let http = request.app_data::<Http>().expect("every worker is given its state").clone();
    let settings = http.settings.load_full();
    let id: Arc<str> = format!("req_{:016x}", http.worker.dice.borrow_mut().u64(..)).into();
    let outcome =
        AssertUnwindSafe(answer(route, &request, payload, (&http, &settings, &id))).catch_unwind().await;
    let (mut response, waited, noted) = outcome.unwrap_or_else(|_| {
        tracing::error!(%id, route = route.path(), "a request's handler panicked");
        let problem = Problem::new(Code::InternalError, "a fault of switchtower; it was logged");
        (problem.respond(route.dialect(), settings.max_retry_after_ms), Duration::ZERO, None)
    });
    let overhead = entered.elapsed().saturating_sub(waited);
    until_close(&request, &mut response);
    let headers = response.headers_mut();
    headers.insert(HeaderName::from_static("x-request-id"), text(&id));
    headers.insert(
        HeaderName::from_static("x-switchtower-overhead-us"),
        HeaderValue::from(overhead.as_micros() as u64),
    );
    let status = response.status().as_u16();
    http.worker.tower.metrics.request(route.path(), status, overhead);
    if let Some(noted) = noted {
        let decision = noted::ended(noted, (&id, status), (entered.elapsed(), overhead));
        http.worker.tower.decisions.add(decision);
    }
    if settings.access_log && !request.extensions().contains::<Unlogged>() {
        tracing::info!(%id, route = route.path(), status, overhead_us = overhead.as_micros() as u64, "request");
    }
    response
}

/// The answer, what of its time was waiting, and what is remembered of it.
type Answered = (HttpResponse, Duration, Option<Decision>);

async fn answer(
    route: Route,
    request: &HttpRequest,
    payload: Payload,
    (http, settings, id): (&Http, &HttpSettings, &Arc<str>),
) -> Answered {
    let refuse = |problem: Problem| {
        (problem.respond(route.dialect(), settings.max_retry_after_ms), Duration::ZERO, None)
    };
    let Entered { running, policy, lease } = match enter(route, request, http, settings) {
        Ok(entered) => entered,
        Err(problem) => return refuse(problem),
    };
    let body = match read(payload, request.headers(), settings.max_body).await {
        Ok(body) => body,
        Err(unread) => return refuse(of_unread(&unread, settings.max_body)),
    };
    let body = by_accept(route, policy.as_deref(), request.headers(), made_now(route, body));
    let (peeked, wanted) = match look(&body, settings.wanted) {
        Ok(looked) => looked,
        Err(bad) => return refuse(Problem::bad_body(bad)),
    };
    let session = || session(request.headers(), &peeked.parts, wanted.first_text);
    if let Err(problem) = key_rules::admit(policy.as_deref(), http, &peeked.model, session) {
        return refuse(problem);
    }
    let traits = traits(request.headers(), &peeked.parts, body.len(), wanted);
    let tools = peeked.parts.tools();
    let (model, span) = (peeked.model.into(), peeked.span);
    // Numbers come in no stream, whatever their request says.
    let stream = peeked.stream && route.answers().is_some();
    let inquiry = Inquiry {
        id: policy.as_ref().is_none_or(|policy| !policy.rules.no_log).then(|| id.clone()),
        route,
        model,
        span,
        stream,
        tools,
        body,
        headers: passing(request.headers()),
        allowed: policy.as_ref().and_then(|policy| policy.allowed.clone()),
        preferred: policy.as_ref().and_then(|policy| policy.preferred.clone()),
        key: policy.as_ref().map(|policy| policy.name.clone()),
        held: key_rules::held(policy.as_deref()),
        confined: policy.as_ref().is_some_and(|policy| policy.rules.reach.restricted),
        limited: policy.is_some_and(|policy| policy.models.is_some()),
        traits,
        lease,
        part: None,
    };
    let (served, inquiry) = match serve_in_time(http, inquiry, settings).await {
        InTime::Served(served, inquiry) => (served, inquiry),
        InTime::CutOff => {
            return refuse(Problem::new(Code::Draining, "switchtower is shutting down").after(1_000));
        }
        InTime::Late(serving, waited) => {
            let form = (route.dialect(), stream);
            return (early::commit(serving, form, waited, http, running), waited, None);
        }
    };
    answered(served, &inquiry, http, settings, running)
}

fn answered(
    served: Served,
    inquiry: &Inquiry,
    http: &Http,
    settings: &HttpSettings,
    running: Running,
) -> Answered {
    let (waited, asked_at) = (served.story.waited + inquiry.held, served.asked_at);
    if !served.story.queued.is_zero() {
        http.worker.tower.metrics.stood_in_line(served.story.queued);
    }
    let (response, story) = reply(served, inquiry, http, settings, running);
    let noted = inquiry.id.is_some().then(|| noted::decision(inquiry, story, asked_at));
    (response, waited, noted)
}

/// What became of a request until its head had to go out.
#[expect(clippy::large_enum_variant, reason = "it lives on one stack, for a moment")]
enum InTime {
    Served(Served, Inquiry),
    /// The grace of a shutdown is over.
    CutOff,
    /// The head goes out before anything is known (decision 19, FC-092), after so long.
    Late(early::Serving, Duration),
}

async fn serve_in_time(http: &Http, inquiry: Inquiry, settings: &HttpSettings) -> InTime {
    let cutoff = http.worker.tower.cutoff.notified();
    let due = early::due(&inquiry, settings);
    if due.is_zero() {
        return tokio::select! {
            biased;
            served = serve(&http.worker, &inquiry) => InTime::Served(served, inquiry),
            () = cutoff => InTime::CutOff,
        };
    }
    let worker = http.worker.clone();
    let mut serving: early::Serving = Box::pin(async move {
        let served = serve(&worker, &inquiry).await;
        (served, inquiry)
    });
    tokio::select! {
        biased;
        (served, inquiry) = &mut serving => InTime::Served(served, inquiry),
        () = cutoff => InTime::CutOff,
        () = tokio::time::sleep(due) => InTime::Late(serving, due),
    }
}

pub(super) fn of_unread(unread: &Unread, most: usize) -> Problem {
    match unread {
        Unread::TooLarge => {
            let message = format!("the body is larger than the {most} bytes that are accepted");
            Problem::new(Code::RequestTooLarge, message)
        }
        Unread::Stalled => Problem::new(Code::InvalidRequest, "the body stopped arriving").status(408),
        Unread::Broken => Problem::new(Code::InvalidRequest, "the body ended before it was complete"),
    }
}

/// Why a caller may not send requests.
pub(super) fn refusal(caller: &Caller) -> Problem {
    match caller {
        Caller::Forbidden => Problem::new(Code::PermissionDenied, "this key has no scope `inference`"),
        Caller::Fallen(fallen) => Problem::new(Code::InvalidApiKey, format!("this key {}", fallen.as_str())),
        _ => {
            let message = "a valid API key is required: `Authorization: Bearer KEY` or `x-api-key: KEY`";
            Problem::new(Code::InvalidApiKey, message)
        }
    }
}

fn reply(
    served: Served,
    inquiry: &Inquiry,
    http: &Http,
    settings: &HttpSettings,
    running: Running,
) -> (HttpResponse, Story) {
    http.worker.tower.fared(&served, inquiry);
    let Served { outcome, story, .. } = served;
    let dialect = inquiry.route.dialect();
    let mut response = match outcome {
        Outcome::Upstream(reply) => {
            let says_requested = settings.formats.says_requested(&inquiry.model);
            let reply = if says_requested { reply.naming(inquiry) } else { reply };
            of_upstream(reply, dialect, settings, running)
        }
        Outcome::Ours(trouble) => {
            let now = http.worker.tower.owners.clock.now();
            of_trouble(trouble, &story, &inquiry.model, now).respond(dialect, settings.max_retry_after_ms)
        }
    };
    tell(&story, response.headers_mut());
    (response, story)
}

fn of_upstream(reply: Reply, dialect: Dialect, settings: &HttpSettings, running: Running) -> HttpResponse {
    let failed = !(200..300).contains(&reply.status);
    let redirected = (300..400).contains(&reply.status);
    if let ReplyBody::Whole(body) = &reply.body
        && failed
        && (redirected || !is_complete_json(body))
    {
        let status = if redirected { 502 } else { reply.status };
        let problem = match redirected {
            true => Problem::new(
                Code::BadGateway,
                format!("the upstream answered {} with a redirect, which is never followed", reply.status),
            ),
            false => Problem::upstream_page(status, redact::text_of(body)),
        };
        let mut response = problem.after(reply.retry_after_ms).respond(dialect, settings.max_retry_after_ms);
        name_target(&reply, response.headers_mut());
        return response;
    }
    let status = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::BAD_GATEWAY);
    let mut response = HttpResponse::build(status);
    pass_headers(&reply, settings.max_retry_after_ms, &mut response);
    if let Some(wait) = reply.retry_after_ms {
        response.insert_header((RETRY_AFTER, shown(wait, settings.max_retry_after_ms)));
    }
    let framed = is_event_stream(&reply.headers);
    if framed {
        response.insert_header((CACHE_CONTROL, "no-cache, no-transform"));
        response
            .insert_header((HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no")));
    }
    let (named, body) = (Named::of(&reply), reply.body);
    let mut response = match body {
        ReplyBody::Whole(body) => response.body(body),
        ReplyBody::Flowing(body) => response.body(Outbound::new(body, framed, settings.write_stall, running)),
    };
    named.put(response.headers_mut());
    response
}

fn pass_headers(reply: &Reply, cap_ms: Millis, response: &mut HttpResponseBuilder) {
    let failed = !(200..300).contains(&reply.status);
    for (name, value) in &reply.headers {
        let known = name.as_str();
        let returns =
            RETURNING.contains(&known) || RETURNING_FAMILIES.iter().any(|family| known.starts_with(family));
        let name = match known {
            "x-request-id" => HeaderName::from_static("x-upstream-request-id"),
            // The wait of a failed answer is told by us, once it is understood (decisions 9b, 26b).
            "retry-after" if failed => continue,
            // SDKs read these first: they may not say something else.
            "retry-after-ms" | "x-ms-retry-after-ms" if failed => {
                if let Some(wait) = reply.retry_after_ms {
                    response.insert_header((name.clone(), capped(wait, cap_ms)));
                }
                continue;
            }
            _ if returns => name.clone(),
            _ => continue,
        };
        response.append_header((name, value.clone()));
    }
    if !reply.headers.contains_key(CONTENT_TYPE) {
        response.insert_header((CONTENT_TYPE, "application/json"));
    }
}

/// The headers that name who answered.
struct Named([(HeaderName, HeaderValue); 3]);

impl Named {
    fn of(reply: &Reply) -> Self {
        Self([
            (HeaderName::from_static("x-omniroute-provider"), text(reply.from.provider.as_str())),
            (HeaderName::from_static("x-omniroute-model"), text(reply.from.model.as_str())),
            (
                HeaderName::from_static("x-omniroute-selected-connection-id"),
                text(reply.from.connection.as_str()),
            ),
        ])
    }

    fn put(self, headers: &mut HeaderMap) {
        for (name, value) in self.0 {
            headers.insert(name, value);
        }
    }
}

fn name_target(reply: &Reply, headers: &mut HeaderMap) {
    Named::of(reply).put(headers);
}

/// A header value; a name with other than visible ASCII in it is left empty.
fn text(value: &str) -> HeaderValue {
    let visible = value.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
    let value = if visible { HeaderValue::from_str(value).ok() } else { None };
    value.unwrap_or_else(|| HeaderValue::from_static(""))
}

/// Bytes of the list of exclusions in a header (routing 9.2).
const LONGEST_EXCLUDED: usize = 900;

fn tell(story: &Story, headers: &mut HeaderMap) {
    if story.strategy.is_empty() {
        return;
    }
    let provider = story.order.last().map_or("none", |target| target.provider.as_str());
    let decision = format!("strategy={}; provider={provider}; attempts={}", story.strategy, story.attempts);
    headers.insert(HeaderName::from_static("x-omniroute-decision"), text(&decision));
    if story.attempts > 1 && !story.fan {
        let fallbacks = HeaderValue::from(story.attempts as u64 - 1);
        headers.insert(HeaderName::from_static("x-omniroute-fallback-attempts"), fallbacks);
    }
    if story.combo {
        tell_combo(story, headers);
    }
}

fn tell_combo(story: &Story, headers: &mut HeaderMap) {
    let number = |value: usize| HeaderValue::from(value as u64);
    headers.insert(HeaderName::from_static("x-omniroute-combo-pool-size"), number(story.pool_size));
    headers.insert(HeaderName::from_static("x-omniroute-combo-attempted"), number(story.attempts));
    let terminal = HeaderName::from_static("x-omniroute-combo-terminal-reason");
    if let Some(reason) = story.terminal.filter(|_| !headers.contains_key(&terminal)) {
        headers.insert(terminal, HeaderValue::from_static(reason));
    }
    let mut list = String::new();
    for target in story.left_out() {
        let entry = format!("{}/{}:{}", target.provider, target.model, target.reason.as_str());
        if list.len() + entry.len() + 1 > LONGEST_EXCLUDED {
            break;
        }
        if !list.is_empty() {
            list.push(',');
        }
        list.push_str(&entry);
    }
    if !list.is_empty() {
        headers.insert(HeaderName::from_static("x-omniroute-combo-excluded"), text(&list));
    }
}

/// Answers another method than the one that is right.
pub(super) fn wrong_method(right: &'static str) -> HttpResponse {
    let message = format!("this route is called with {right}");
    let mut response = Problem::new(Code::MethodNotAllowed, message).respond(Dialect::Openai, 0);
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(right));
    response
}

/// Answers an address that nobody serves.
pub async fn not_found() -> HttpResponse {
    Problem::new(Code::NotFound, "no such route; see README.md for the list").respond(Dialect::Openai, 0)
}
