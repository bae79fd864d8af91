//! One request to one connection: send, read the head, hand the body on.

use std::cell::RefCell;
use std::collections::HashMap;
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use actix_http::error::ParseError;
use arc_swap::ArcSwap;
use awc::error::SendRequestError;
use awc::http::header::{
    ACCEPT, CONTENT_ENCODING, CONTENT_LENGTH, HeaderMap, HeaderName, HeaderValue, TRANSFER_ENCODING,
};
use awc::http::uri::Scheme;
use awc::http::{Method, Uri, Version};
use awc::{ClientRequest, SendClientRequest};
use bytes::Bytes;
use policy::verdict::Transport;
use serde::Serialize;

use super::body::{AnswerBody, Raw};
use super::connector::{ClientSettings, Kind, client};
use super::decode::Encoding;
use super::endpoint::{Endpoint, Route};
use super::heads::is_coded;
use super::outgoing::{Outgoing, Progress};
use super::proxy::identity;
use super::trip::{Trip, tracked};
use crate::settings::Proxy;

/// A provider that takes no bytes of our body for so long ends the attempt (decision 9c).
const SEND_STALL: Duration = Duration::from_secs(10);
/// How often progress is looked at in that time.
const LOOKS: u32 = 10;

/// One request.
pub struct Call<'a> {
    /// Where to.
    pub endpoint: &'a Endpoint,
    /// Which of its routes.
    pub route: Route,
    /// The client's headers that pass.
    pub headers: &'a [(HeaderName, HeaderValue)],
    /// The header with the credential.
    pub credential: Option<&'a (HeaderName, HeaderValue)>,
    /// The body in parts.
    pub body: &'a [Bytes],
}

/// A small request that is no client's, whole, and sent once.
pub(super) struct Errand<'a> {
    pub(super) method: Method,
    pub(super) address: &'a Uri,
    pub(super) proxy: Option<&'a Arc<Proxy>>,
    pub(super) headers: &'a [(HeaderName, HeaderValue)],
    pub(super) body: Bytes,
}

/// How there was no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialled {
    /// Below HTTP.
    Failed(Transport),
    /// The upstream answered while our body was still going out, or took no bytes (decision 9c).
    SendInterrupted,
}

/// The clients of one worker, one pair for each way of dialling. A clone is the same one.
#[derive(Clone)]
pub struct Dialler {
    settings: Arc<ArcSwap<ClientSettings>>,
    made: Rc<RefCell<Made>>,
    /// Local addresses by the host that was dialled.
    egress: Rc<RefCell<HashMap<Box<str>, Arc<str>>>>,
}

/// Clients made with the settings of one moment.
struct Made {
    with: Arc<ClientSettings>,
    clients: HashMap<Kind, Rc<Pair>>,
}

struct Pair {
    pooled: awc::Client,
    fresh: awc::Client,
}

impl Dialler {
    /// Clients made as needed.
    pub fn new(settings: Arc<ArcSwap<ClientSettings>>) -> Self {
        let made = Made { with: settings.load_full(), clients: HashMap::new() };
        Self { settings, made: Rc::new(RefCell::new(made)), egress: Rc::default() }
    }

    fn pair(&self, kind: &Kind) -> Rc<Pair> {
        let mut made = self.made.borrow_mut();
        let now = self.settings.load();
        if !Arc::ptr_eq(&made.with, &now) {
            *made = Made { with: now.clone(), clients: HashMap::new() };
        }
        if let Some(pair) = made.clients.get(kind) {
            return pair.clone();
        }
        let client = |keep| client(&made.with, kind, keep);
        let pair = Rc::new(Pair { pooled: client(true), fresh: client(false) });
        made.clients.insert(kind.clone(), pair.clone());
        pair
    }

    /// Sends and awaits the head. A pooled connection that the upstream had closed meanwhile is
    /// dialled again once and blames nobody (decision 7): whatever of the request it took, no
    /// byte of an answer came, and nothing tells it from one that was closed before.
    pub async fn send(&self, call: &Call<'_>) -> Result<Answer, Dialled> {
        let kind = Kind::of(call.endpoint, call.route);
        let (pair, to) = (self.pair(&kind), below_tls(call.endpoint.address(call.route)));
        let (sent, trip) = attempt(pair.pooled.post(to.clone()), call).await;
        let (sent, trip) = match sent {
            Err(Missed::Lost(_)) if trip.was_stale() => {
                tracing::debug!("a pooled connection was stale; dialling again");
                attempt(pair.fresh.post(to).force_close(), call).await
            }
            sent => (sent, trip),
        };
        let answer = sent.map_err(Missed::told)?;
        if let Some(from) = trip.from.get().filter(|_| kind.proxy.is_none()) {
            self.left_from(call.endpoint, from);
        }
        answer.map_err(Dialled::Failed)
    }

    /// The outbound proxy of the endpoint, else the address that requests to its host leave from, as
    /// last seen (decision 31a).
    pub fn egress(&self, endpoint: &Endpoint) -> Option<Arc<str>> {
        if let Some(proxy) = &endpoint.proxy {
            return Some(identity(proxy).into());
        }
        let host = endpoint.address(Route::Chat).authority()?.as_str();
        self.egress.borrow().get(host).cloned()
    }

    fn left_from(&self, endpoint: &Endpoint, from: IpAddr) {
        let Some(host) = endpoint.address(Route::Chat).authority() else { return };
        let mut egress = self.egress.borrow_mut();
        match egress.get(host.as_str()) {
            Some(known) if known.parse() == Ok(from) => {}
            _ => drop(egress.insert(host.as_str().into(), from.to_string().into())),
        }
    }

    /// Posts a form, once, on a connection of its own: what may not be done twice is never sent
    /// again, and no pooled connection can swallow it.
    pub(super) async fn post_form(
        &self,
        address: &Uri,
        proxy: Option<&Arc<Proxy>>,
        form: &impl Serialize,
    ) -> Result<Answer, Dialled> {
        let request = self.alone(Method::POST, address, proxy);
        received(request.insert_header((ACCEPT, "application/json")).send_form(form)).await
    }

    /// The same for anything else.
    pub(super) async fn run(&self, errand: &Errand<'_>) -> Result<Answer, Dialled> {
        let mut request = self.alone(errand.method.clone(), errand.address, errand.proxy);
        for (name, value) in errand.headers {
            request.headers_mut().insert(name.clone(), value.clone());
        }
        received(request.send_body(errand.body.clone())).await
    }

    /// A request on a connection of its own.
    fn alone(&self, method: Method, address: &Uri, proxy: Option<&Arc<Proxy>>) -> ClientRequest {
        let connect_timeout = self.settings.load().connect_timeout;
        let pair = self.pair(&Kind { connect_timeout, secure: is_secure(address), proxy: proxy.cloned() });
        pair.fresh.request(method, below_tls(address)).no_decompress().force_close()
    }
}

impl Kind {
    fn of(endpoint: &Endpoint, route: Route) -> Self {
        let secure = is_secure(endpoint.address(route));
        Self { connect_timeout: endpoint.connect_timeout, secure, proxy: endpoint.proxy.clone() }
    }
}

fn is_secure(address: &Uri) -> bool {
    address.scheme() == Some(&Scheme::HTTPS)
}

/// The address as the client is given it: TLS is below it and none of its business.
fn below_tls(address: &Uri) -> Uri {
    let mut parts = address.clone().into_parts();
    parts.scheme = parts.scheme.map(|_| Scheme::HTTP);
    Uri::from_parts(parts).expect("another scheme leaves an address an address")
}

type Received = Result<Answer, Transport>;

/// How there was no head.
#[derive(Clone, Copy)]
enum Missed {
    /// The connection ended.
    Lost(Dialled),
    /// Anything else: it is never sent again.
    Otherwise(Dialled),
}

impl Missed {
    fn told(self) -> Dialled {
        let (Self::Lost(dialled) | Self::Otherwise(dialled)) = self;
        dialled
    }
}

/// The head of an answer to a request that is sent once.
async fn received(sending: SendClientRequest) -> Result<Answer, Dialled> {
    let (sent, trip) = tracked(sending).await;
    match sent {
        Ok(response) => Answer::new(response).map_err(Dialled::Failed),
        Err(error) => Err(classify(&error, &trip, &Progress::default()).told()),
    }
}

async fn attempt(request: ClientRequest, call: &Call<'_>) -> (Result<Received, Missed>, Trip) {
    let mut request = request.no_decompress();
    let headers = request.headers_mut();
    for (name, value) in call.headers.iter().chain(&call.endpoint.headers).chain(call.credential) {
        headers.insert(name.clone(), value.clone());
    }
    let total = call.body.iter().map(Bytes::len).sum();
    let progress = Progress::of(total);
    let sending = request.send_body(Outgoing::new(call.body.to_vec(), progress.clone()));
    let (sent, trip) = tracked(with_progress(sending, &progress)).await;
    let sent = match sent {
        Some(Ok(response)) => Ok(Answer::new(response)),
        Some(Err(error)) => Err(classify(&error, &trip, &progress)),
        // The provider has seen a part of it, and may still be at it.
        None => Err(Missed::Otherwise(Dialled::SendInterrupted)),
    };
    (sent, trip)
}

/// Awaits `sending`; `None` when the body made no progress for `SEND_STALL`.
async fn with_progress<F: Future>(sending: F, progress: &Progress) -> Option<F::Output> {
    if progress.is_small() {
        return Some(sending.await);
    }
    tokio::pin!(sending);
    let (mut before, mut looks) = (progress.bytes(), 0);
    loop {
        match tokio::time::timeout(SEND_STALL / LOOKS, &mut sending).await {
            Ok(sent) => return Some(sent),
            Err(_) if progress.is_complete() => return Some(sending.await),
            Err(_) if progress.bytes() > before => (before, looks) = (progress.bytes(), 0),
            Err(_) if looks + 1 >= LOOKS => return None,
            Err(_) => looks += 1,
        }
    }
}

/// The one table from the client's errors to ours; a connection that could not be opened has
/// noted why.
fn classify(error: &SendRequestError, trip: &Trip, progress: &Progress) -> Missed {
    if let Some(transport) = trip.failed.get() {
        return Missed::Otherwise(Dialled::Failed(transport));
    }
    match error {
        _ if !progress.is_complete() && !progress.is_small() => Missed::Lost(Dialled::SendInterrupted),
        SendRequestError::Response(ParseError::Io(_)) => Missed::Lost(Dialled::Failed(Transport::Reset)),
        SendRequestError::Response(_) => Missed::Otherwise(Dialled::Failed(Transport::BadAnswer)),
        _ => Missed::Lost(Dialled::Failed(Transport::Reset)),
    }
}

/// A head, and a body still to come.
pub struct Answer {
    /// Its status.
    pub status: u16,
    /// Its headers.
    pub headers: HeaderMap,
    /// The bytes to come.
    pub body: AnswerBody,
}

impl Answer {
    fn new(response: awc::ClientResponse) -> Received {
        let length = response.headers().get(CONTENT_LENGTH);
        let expected = length.and_then(|value| value.to_str().ok()?.trim().parse().ok());
        let coding = response.headers().get(TRANSFER_ENCODING);
        let framed = expected.is_some() || coding.is_some_and(|value| is_coded(value.as_bytes()));
        // `heads` shows a body without a length so.
        let old = response.version() < Version::HTTP_11;
        let status = response.status().as_u16();
        // Nobody asked for another protocol. An error is worth its status and its stated wait, however
        // it is encoded.
        let good = (200..300).contains(&status);
        let encoding = Encoding::of(response.headers());
        if status < 200 || good && encoding == Encoding::Unknown {
            return Err(Transport::BadAnswer);
        }
        let mut headers = response.headers().clone();
        let coding = match encoding {
            Encoding::Known(coding) => {
                // They were about the bytes on the wire.
                headers.remove(CONTENT_ENCODING);
                headers.remove(CONTENT_LENGTH);
                Some(coding)
            }
            Encoding::Identity | Encoding::Unknown => None,
        };
        let body = AnswerBody::new(Raw::new(response, expected, old && !framed), coding);
        Ok(Self { status, headers, body })
    }
}
