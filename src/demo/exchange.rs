//! One request from its head to its answer: record it, read it, recognise the behaviour, behave.
//!
//! An early refusal is recognised by header or path alone, because it must come before the body is
//! read. Everything else waits for the body, where most dialects keep the model.

use std::future;
use std::io;
use std::time::Duration;

use actix_web::body::{BodySize, BoxBody};
use actix_web::http::StatusCode;
use actix_web::http::header::{
    CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, HeaderName, HeaderValue, LOCATION, RETRY_AFTER,
};
use actix_web::{HttpRequest, HttpResponse, HttpResponseBuilder, web};
use bytes::Bytes;

use super::answer::Answer;
use super::behaviour::{Behaviour, Headless, Manner, Refusal, Wall};
use super::credential;
use super::dialect::{self, Dialect};
use super::journal::Ticket;
use super::playback::{Playback, Step, Steps};
use super::request::Asked;
use super::script;
use super::server::{MAX_BODY, Shared};
use super::wall::Verdict;
use super::wire::Wire;

const OVERRIDE_HEADER: &str = "x-demo-behaviour";
const ELSEWHERE: &str = "http://evil.test/";
const JSON: &str = "application/json";

/// Answers a request whose dialect follows from its path alone.
pub(super) async fn converse(
    dialect: &'static dyn Dialect,
    request: HttpRequest,
    payload: web::Payload,
    shared: web::Data<Shared>,
) -> HttpResponse {
    Exchange::open(dialect, request, shared).run(None, payload).await
}

/// Answers a Gemini request, which has model and mode in its path.
pub(super) async fn gemini(
    request: HttpRequest,
    payload: web::Payload,
    shared: web::Data<Shared>,
) -> HttpResponse {
    let call = request.match_info().get("call").unwrap_or_default().to_owned();
    let server_sent = request.query_string().split('&').any(|pair| pair == "alt=sse");
    let (model, dialect): (_, &'static dyn Dialect) = match call.rsplit_once(':') {
        Some((model, "generateContent")) => (model, &dialect::GEMINI_WHOLE),
        Some((model, "streamGenerateContent")) if server_sent => (model, &dialect::GEMINI_EVENTS),
        Some((model, "streamGenerateContent")) => (model, &dialect::GEMINI_ARRAY),
        _ => return unknown(request, shared).await,
    };
    Exchange::open(dialect, request, shared).run(Some(model), payload).await
}

/// Answers what no dialect knows.
pub(super) async fn unknown(request: HttpRequest, shared: web::Data<Shared>) -> HttpResponse {
    Exchange::open(&dialect::Models, request, shared).reject(StatusCode::NOT_FOUND, "no such route")
}

/// One request and all that is needed to answer it.
struct Exchange {
    dialect: &'static dyn Dialect,
    request: HttpRequest,
    shared: web::Data<Shared>,
    number: u64,
    ticket: Option<Ticket>,
}

impl Exchange {
    fn open(dialect: &'static dyn Dialect, request: HttpRequest, shared: web::Data<Shared>) -> Self {
        let (number, ticket) = shared.journal.open(&request);
        Self { dialect, request, shared, number, ticket }
    }

    async fn run(self, path_model: Option<&str>, payload: web::Payload) -> HttpResponse {
        let header = self.request.headers().get(OVERRIDE_HEADER).and_then(|value| value.to_str().ok());
        let ordered = header.or(path_model).map(Behaviour::parse);
        if let Some(behaviour @ Behaviour::Refuse(refusal)) = ordered
            && refusal.manner == Manner::Early
        {
            self.record(behaviour, None);
            return self.refuse(refusal);
        }
        if self.announces_too_much() {
            return self.reject(StatusCode::PAYLOAD_TOO_LARGE, "the body is too large");
        }
        let body = match payload.to_bytes_limited(MAX_BODY).await {
            Ok(Ok(body)) => body,
            // the client left within its body: the ticket is dropped and says so
            Ok(Err(error)) => return HttpResponse::BadRequest().body(error.to_string()),
            Err(_) => return self.reject(StatusCode::PAYLOAD_TOO_LARGE, "the body is too large"),
        };
        let asked = match self.dialect.read(&body, path_model) {
            Ok(asked) => asked,
            Err(message) => return self.reject(StatusCode::BAD_REQUEST, &message),
        };
        let behaviour = ordered.unwrap_or_else(|| Behaviour::parse(&asked.model));
        self.record(behaviour, Some(&body));
        let credential = credential::of(self.request.headers());
        if credential.is_some_and(|credential| self.shared.office.refuses(credential)) {
            return self.reject(StatusCode::UNAUTHORIZED, "the access token is not valid");
        }
        self.behave(behaviour, asked).await
    }

    fn announces_too_much(&self) -> bool {
        let length = self.request.headers().get(CONTENT_LENGTH).and_then(|value| value.to_str().ok());
        length.and_then(|text| text.parse().ok()).is_some_and(|length: usize| length > MAX_BODY)
    }

    fn record(&self, behaviour: Behaviour, body: Option<&[u8]>) {
        if let Some(ticket) = &self.ticket {
            ticket.behaves(behaviour, body);
        }
    }

    async fn behave(self, behaviour: Behaviour, asked: Asked) -> HttpResponse {
        match behaviour {
            Behaviour::Refuse(refusal) => return self.refuse(refusal),
            Behaviour::Wall(wall) => return self.at_wall(wall, asked),
            Behaviour::Headless(headless) => return self.headless(headless).await,
            Behaviour::Flaky { percent } if self.shared.flaky.next_fails(percent) => {
                return self.refuse(Refusal::plain(503));
            }
            Behaviour::Down { seconds } if self.shared.started.elapsed() < Duration::from_secs(seconds) => {
                return self.refuse(Refusal::plain(503));
            }
            Behaviour::Capacity { count, delay_ms } => {
                let credential = credential::of(self.request.headers());
                let Some(place) = self.shared.places.take(behaviour, count, credential) else {
                    return self.reject(StatusCode::TOO_MANY_REQUESTS, "too many concurrent requests");
                };
                pause(delay_ms).await;
                // what is left goes out in one piece: whoever reads its end finds the place free
                drop(place);
            }
            Behaviour::Slow { delay_ms } => pause(delay_ms).await,
            Behaviour::Chunks { count, every_ms } if !asked.stream || self.dialect.frames().is_none() => {
                pause(count as u64 * every_ms).await
            }
            _ => {}
        }
        self.answer(behaviour, asked)
    }

    fn at_wall(self, wall: Wall, asked: Asked) -> HttpResponse {
        let Verdict { status, headers } = self.shared.walls.judge(wall, self.request.headers());
        let mut response = match status {
            200 => self.answer(Behaviour::Steady, asked),
            status => self.refuse(Refusal::plain(status)),
        };
        for (name, value) in headers {
            let name = HeaderName::try_from(name).expect("names are plain");
            let value = HeaderValue::try_from(value).expect("values are plain");
            response.headers_mut().insert(name, value);
        }
        response
    }

    fn answer(self, behaviour: Behaviour, asked: Asked) -> HttpResponse {
        let frames = self.dialect.frames().filter(|_| asked.stream);
        let mut answer = Answer::new(self.number, asked, credential::of(self.request.headers()));
        match behaviour {
            Behaviour::Empty => answer.words = 0,
            Behaviour::Chunks { count, .. } => answer.words = count,
            _ => {}
        }
        if let Some(frames) = frames {
            let steps = script::stream(frames, answer, behaviour);
            let mut head = HttpResponse::Ok();
            head.insert_header((CONTENT_TYPE, HeaderValue::from_static(frames.content_type())));
            head.insert_header((CACHE_CONTROL, HeaderValue::from_static("no-cache")));
            return self.play(head, BodySize::Stream, steps);
        }
        let body = Bytes::from(match behaviour {
            Behaviour::ErrorIn200 => self.dialect.error(500, "scripted error in a 200", None),
            _ => self.dialect.whole(&answer),
        });
        match script::whole(behaviour, &body) {
            Some(steps) => self.play(json(StatusCode::OK), BodySize::Sized(body.len() as u64), steps),
            None => self.reply(json(StatusCode::OK), body),
        }
    }

    fn refuse(self, refusal: Refusal) -> HttpResponse {
        let status = StatusCode::from_u16(refusal.status).expect("names allow valid statuses only");
        let mut head = json(status);
        let mut advice = None;
        match refusal.manner {
            Manner::Plain { retry_after } => advice = retry_after,
            Manner::Redirect => {
                head.insert_header((LOCATION, HeaderValue::from_static(ELSEWHERE)));
            }
            Manner::Early => {
                head.force_close();
            }
        }
        if let Some(seconds) = advice {
            head.insert_header((RETRY_AFTER, HeaderValue::from(seconds)));
        }
        let message = format!("scripted status {}", refusal.status);
        let body = match status {
            StatusCode::NO_CONTENT | StatusCode::RESET_CONTENT | StatusCode::NOT_MODIFIED => Bytes::new(),
            _ => Bytes::from(self.dialect.error(refusal.status, &message, advice)),
        };
        self.reply(head, body)
    }

    /// A refusal in the words of the dialect, without advice.
    fn reject(self, status: StatusCode, message: &str) -> HttpResponse {
        let body = Bytes::from(self.dialect.error(status.as_u16(), message, None));
        let mut head = json(status);
        if status == StatusCode::PAYLOAD_TOO_LARGE {
            head.force_close();
        }
        self.reply(head, body)
    }

    async fn headless(mut self, how: Headless) -> HttpResponse {
        if how != Headless::Hang
            && let Some(ticket) = self.ticket.take()
        {
            ticket.finish();
        }
        headless(&self.request, how).await
    }

    fn reply(mut self, mut head: HttpResponseBuilder, body: Bytes) -> HttpResponse {
        if self.ticket.is_none() || body.is_empty() {
            let response = head.body(body);
            self.close_ticket(response.status());
            return response;
        }
        let size = BodySize::Sized(body.len() as u64);
        self.play(head, size, Box::new(std::iter::once(Step::Send(body))))
    }

    fn play(mut self, mut head: HttpResponseBuilder, size: BodySize, steps: Steps) -> HttpResponse {
        let wire = Wire::of(&self.request);
        let ticket = self.ticket.take();
        let mut response = head.finish();
        if let Some(ticket) = &ticket {
            ticket.sent(response.status().as_u16());
        }
        let playback = Playback::new(steps, size, ticket, wire);
        response = response.set_body(BoxBody::new(playback));
        response
    }

    fn close_ticket(&mut self, status: StatusCode) {
        if let Some(ticket) = self.ticket.take() {
            ticket.sent(status.as_u16());
            ticket.finish();
        }
    }
}

/// What comes instead of an HTTP answer.
pub(super) async fn headless(request: &HttpRequest, how: Headless) -> HttpResponse {
    match (how, Wire::of(request)) {
        (Headless::Hang, _) => future::pending().await,
        (Headless::Garbage, Some(wire)) => {
            wire.babble();
            future::pending().await
        }
        (_, wire) => {
            if let Some(wire) = wire {
                wire.reset_on_close();
            }
            // a body that fails at once: actix closes without having sent the head
            HttpResponse::Ok().body(BoxBody::new(Playback::failing(io::ErrorKind::ConnectionReset)))
        }
    }
}

fn json(status: StatusCode) -> HttpResponseBuilder {
    let mut head = HttpResponse::build(status);
    head.insert_header((CONTENT_TYPE, HeaderValue::from_static(JSON)));
    head
}

async fn pause(delay_ms: u64) {
    tokio::time::sleep(Duration::from_millis(delay_ms)).await;
}
