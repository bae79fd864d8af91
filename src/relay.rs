//! The life of one request, from a picked plan to an answer that flows.
//!
//! The loop itself is `policy::attempts`, a machine without a socket; this room obeys
//! it: asks the owners, dials, commits, settles. After the first byte has gone to the
//! client nothing is retried.

mod begin;
mod berth;
mod cascade;
mod checkup;
mod close;
mod closing;
mod commit;
mod degrade;
mod dial;
mod fan;
mod fared;
mod fault;
mod handoff;
mod hedge;
mod held;
mod judging;
mod last;
mod meter;
pub mod noted;
mod part;
mod queue;
mod rescue;
mod reshape;
mod resume;
mod send;
mod sets;
mod share;
mod source;
mod stream;
mod thoughts;
mod tried;
mod wall;

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

use actors::blueprint::Blueprint;
use actors::lease::desk::NoLease;
use actors::permit::Owners;
use arc_swap::ArcSwap;
use bytes::Bytes;
use policy::blocked::Blocked;
use policy::ids::{ConnectionId, ModelId, ProviderId};
use policy::lease::Fence;
use policy::plan::{Excluded, NoPlan};
use policy::request;
use policy::time::Millis;
use policy::verdict::Kind;
use tokio::sync::Notify;

use crate::formats::renaming::Renaming;
use crate::formats::sse;
use crate::settings::Streaming;
use crate::telemetry::{Book, ComboBook, Decisions, KeyBook, Metrics};
use crate::upstream::{Dialler, HeaderMap, HeaderName, HeaderValue, Route};

pub use crate::upstream::Endpoints;
pub use checkup::{Checkup, checkup};
pub use closing::Closing;
pub use degrade::ToolCaps;
pub use fault::Lack;
pub use handoff::Sealing;
pub use judging::{Emergency, Gates, Judging, Traits};
pub use part::Part;
pub use reshape::Reshapes;
pub use sets::serve;
pub use stream::{Cut, Relayed};
pub use tried::Tried;

/// What all workers share.
pub struct Tower {
    /// The owners.
    pub owners: Owners,
    /// How connections are dialled.
    pub endpoints: ArcSwap<Endpoints>,
    /// What verdicts ask of the configuration.
    pub judging: ArcSwap<Judging>,
    /// What watches over streams.
    pub streaming: ArcSwap<Streaming>,
    /// What combos make of requests.
    pub reshapes: ArcSwap<Reshapes>,
    /// Whether failures of a connection move requests on.
    pub gates: Gates,
    /// How many tools providers take.
    pub tool_caps: ToolCaps,
    /// Counts of what happens.
    pub metrics: Arc<Metrics>,
    /// The latest decisions.
    pub decisions: Decisions,
    /// How combos fare.
    pub combos: ComboBook,
    /// What requests took.
    pub usage: Arc<Book>,
    /// What client keys have done and cost.
    pub keys: Arc<KeyBook>,
    /// What is configured, as the owners have it.
    pub plan: Arc<ArcSwap<Blueprint>>,
    /// A shutdown has begun: nobody waits any longer.
    pub closing: Closing,
    /// Seals what is kept of conversations.
    pub sealing: Arc<dyn Sealing>,
    /// Woken when the grace of a shutdown is over: what still flows ends then.
    pub cutoff: Arc<Notify>,
}

/// What one worker needs to serve requests.
pub struct Worker {
    /// Shared with the other workers.
    pub tower: Arc<Tower>,
    /// Its own clients.
    pub dialler: Dialler,
    /// Its own dice, for the jitter of retries.
    pub dice: RefCell<fastrand::Rng>,
}

/// One request as it came.
pub struct Inquiry {
    /// The `x-request-id` of its answer; `None`: it is remembered nowhere, or as a part of another one.
    pub id: Option<Arc<str>>,
    /// The route that was called.
    pub route: Route,
    /// The model as the client wrote it.
    pub model: Arc<str>,
    /// Where it stands in the body.
    pub span: std::ops::Range<usize>,
    /// The client wants a stream.
    pub stream: bool,
    /// Tools that it hands over.
    pub tools: usize,
    /// The body.
    pub body: Bytes,
    /// The client's headers that pass.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// The connections its key may use; `None`: all.
    pub allowed: Option<Arc<[ConnectionId]>>,
    /// The connections that its key wants to be tried first; `None`: none.
    pub preferred: Option<Arc<[ConnectionId]>>,
    /// The name of its key.
    pub key: Option<Arc<str>>,
    /// How long its key holds it back before anybody is asked; its own time has begun.
    pub held: Duration,
    /// The key may not ask for every model: it never leads to another one than was asked for.
    pub confined: bool,
    /// The key may only ask for the models of its quota pools.
    pub limited: bool,
    /// What the request is like.
    pub traits: Arc<request::Traits>,
    /// The lease under which a managed key asks.
    pub lease: Option<Leased>,
    /// It is a part of another request (routing 6).
    pub part: Option<Part>,
}

impl Inquiry {
    /// The lease it runs under, as it is checked before everything that is sent (rules 7.6.3).
    fn fence(&self) -> Option<&Fence> {
        self.lease.as_ref().map(|lease| &lease.fence)
    }
}

/// What a request says of its lease (rules 7.6).
#[derive(Clone, Debug)]
pub struct Leased {
    /// Owner, generation and key.
    pub fence: Fence,
    /// The connection that the client wants.
    pub forced: Option<String>,
}

/// The target that a reply speaks of.
#[derive(Clone, Debug)]
pub struct Chosen {
    /// Its provider.
    pub provider: ProviderId,
    /// Its connection.
    pub connection: ConnectionId,
    /// The model as the provider names it.
    pub model: ModelId,
}

/// How a request went, for headers and diagnostics.
#[derive(Debug, Default)]
pub struct Story {
    /// Name of the strategy; empty when there was no plan.
    pub strategy: &'static str,
    /// A combo was asked for.
    pub combo: bool,
    /// The combo that it counts for; `None`: there is none, or nobody wants to know.
    pub counted: Option<Arc<str>>,
    /// Its attempts do not stand in for each other (routing 6).
    pub fan: bool,
    /// Steps the combo has.
    pub pool_size: usize,
    /// Why it ended without a good answer, where all attempts failed (routing 9.2, rows K and L).
    pub terminal: Option<&'static str>,
    /// Requests sent upstream.
    pub attempts: usize,
    /// Each target tried, in order.
    pub order: Vec<Chosen>,
    /// What came of each attempt, in the order in which they ended.
    pub tried: Vec<Tried>,
    /// Targets left out, by plan or by their owners.
    pub excluded: Vec<Excluded>,
    /// Targets that could not serve it at all.
    pub unfit: Vec<Excluded>,
    /// Time spent waiting: for upstreams, and in line.
    pub waited: Duration,
    /// Time spent in line.
    pub queued: Duration,
}

impl Story {
    /// Everybody who was left out.
    pub fn left_out(&self) -> impl Iterator<Item = &Excluded> {
        self.excluded.iter().chain(&self.unfit)
    }
}

/// An upstream's answer on its way to the client.
pub struct Reply {
    /// Its status.
    pub status: u16,
    /// Its headers, unfiltered.
    pub headers: HeaderMap,
    /// Who gave it.
    pub from: Chosen,
    /// The body.
    pub body: ReplyBody,
    /// Smallest wait known from this request's failures, ms; only for failed answers.
    pub retry_after_ms: Option<Millis>,
}

impl Reply {
    /// The same with the model's name as the client wrote it, if it is a good answer (FC-123).
    pub fn naming(mut self, inquiry: &Inquiry) -> Self {
        if (200..300).contains(&self.status) {
            let renaming = Renaming::new(&inquiry.model, inquiry.route.dialect());
            self.body = match self.body {
                ReplyBody::Whole(body) if sse::begins(&body) => ReplyBody::Whole(renaming.events(body)),
                ReplyBody::Whole(body) => ReplyBody::Whole(renaming.whole(body)),
                ReplyBody::Flowing(mut body) => {
                    body.name(renaming);
                    ReplyBody::Flowing(body)
                }
            };
        }
        self
    }
}

/// A body on its way to the client.
pub enum ReplyBody {
    /// Whole.
    Whole(Bytes),
    /// Flowing; the permit rides on it.
    Flowing(Box<Relayed>),
}

/// How a request ended.
pub enum Outcome {
    /// An upstream's answer, good or as it failed.
    Upstream(Reply),
    /// Something of ours to tell.
    Ours(Trouble),
}

/// What can be wrong on our side of the upstream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The router's mailbox is full.
    RouterFull,
    /// The router is gone and did not come back in time.
    RouterGone,
    /// No plan.
    NoPlan(NoPlan),
    /// Nothing was sent.
    Blocked(Blocked, Option<(ProviderId, Option<Kind>)>),
    /// All attempts failed and no upstream's own words fit; the status to give.
    AllFailed {
        /// Status to give.
        status: u16,
        /// What was missing, if all attempts missed the same.
        lack: Option<Lack>,
        /// A wait known from the failures, ms.
        retry_after_ms: Option<Millis>,
    },
    /// An upstream refused our account's key.
    UpstreamAuth,
    /// An upstream wants our account paid.
    UpstreamCredits,
    /// The most dispatches of one request were reached.
    TooManyAttempts,
    /// The combo's whole time was over (routing 7.15).
    ComboTimeout,
    /// The combo has nobody to ask (routing 6.1a, 6.2a).
    NoMembers,
    /// Nobody of a panel has answered (routing 6.1f).
    PanelFailed {
        /// How each member is called, and the code of how it ended.
        members: Vec<(Arc<str>, String)>,
        /// Smallest wait known from their failures, ms.
        retry_after_ms: Option<Millis>,
    },
    /// Its lease does not let it go (rules 7.6).
    Lease(NoLease),
}

/// A request's end together with its story.
pub struct Served {
    /// How it ended.
    pub outcome: Outcome,
    /// How it went.
    pub story: Story,
    /// When it came, epoch ms.
    pub asked_at: Millis,
}
