//! Messages that two or more actors use, and the links they travel on.

use std::fmt;
use std::sync::Arc;

use actix::{Message, Recipient};
use arc_swap::ArcSwapOption;
use policy::affinity::{Pin, PinKey};
use policy::board::ConnectionView;
use policy::breaker::{BreakerSnapshot, BreakerView};
use policy::change::Change;
use policy::cooldown::CooldownSnapshot;
use policy::egress::Egress;
use policy::handoff::{Handoff, HandoffKey};
use policy::ids::{ConnectionId, ProviderId};
use policy::lease::{OwnerHash, Row};
use policy::limiter::{Learnt, LimiterKey};
use policy::lockout::{LockKey, LockoutSnapshot, LockoutView};
use policy::quota::{Counts, SlotKey};
use policy::strategy::LastGood;
use policy::window::WindowView;
use serde::{Deserialize, Serialize};

use crate::mailbox::{Gauge, Letter};

/// Names an owner.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Owner {
    /// The router.
    Router,
    /// The store.
    Store,
    /// The breaker of a provider.
    Provider(ProviderId),
    /// A connection.
    Connection(ConnectionId),
    /// A barred model of a connection.
    Lockout(ConnectionId, LockKey),
    /// What a key has used of a pool in a while. The router owns it; it is a record, no actor.
    Usage(SlotKey),
    /// The newest lease of an owner (rules 7). Connections own them; it is a record, no actor.
    Lease(OwnerHash),
    /// The tie of a session to an account: a record of the router's too.
    Pin(PinKey),
    /// Who served a combo last. The router owns it; it is a record, no actor.
    LastGood(Arc<str>),
    /// A summary for a session's next account: a record of the router's too.
    Handoff(HandoffKey),
}

impl Owner {
    /// The kind in `/api/actors`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Router => "router",
            Self::Store => "store",
            Self::Provider(_) => "provider",
            Self::Connection(_) => "connection",
            Self::Lockout(..) => "lockout",
            Self::Usage(_) => "usage",
            Self::Lease(_) => "lease",
            Self::Pin(_) => "pin",
            Self::LastGood(_) => "last_good",
            Self::Handoff(_) => "handoff",
        }
    }

    /// The id in `/api/actors`.
    pub fn id(&self) -> String {
        match self {
            Self::Router => "router".into(),
            Self::Store => "store".into(),
            Self::Provider(id) => id.to_string(),
            Self::Connection(id) => id.to_string(),
            Self::Lockout(connection, key) => key.id(connection),
            Self::Usage(SlotKey { pool, key, start }) => format!("{pool}/{start}/{key}"),
            Self::Lease(owner) => owner.to_string(),
            Self::LastGood(combo) => combo.to_string(),
            Self::Pin(PinKey { provider, session }) => format!("{provider}/{session}"),
            Self::Handoff(HandoffKey { session, combo }) => format!("{session}/{combo}"),
        }
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind(), self.id())
    }
}

/// A connection as it is stored.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ConnectionSnapshot {
    /// Its rest.
    pub cooldown: CooldownSnapshot,
    /// An operator lets it run dry.
    pub draining: bool,
    /// Where it was last seen to come from (decision 31a).
    pub egress: Option<Egress>,
    /// Salted fingerprint of its credential (decision 3c); empty: unknown.
    pub fingerprint: String,
    /// Gaps between requests that the provider's headers taught (flow 4.20).
    pub learnt: Vec<(LimiterKey, Learnt)>,
}

/// What an owner needs to come back as it was.
#[derive(Clone, Debug)]
pub enum Snapshot {
    /// Of a provider.
    Breaker(BreakerSnapshot),
    /// Of a connection.
    Connection(ConnectionSnapshot),
    /// Of a lockout.
    Lockout(LockoutSnapshot),
    /// Of a while of a key's use.
    Usage(Counts),
    /// Of an owner's newest lease.
    Lease(Box<Row>),
    /// Of a session's tie.
    Pin(Pin),
    /// Of a combo.
    LastGood(LastGood),
    /// Of a summary, sealed.
    Handoff(Handoff),
}

/// What an owner publishes.
#[derive(Clone, Debug)]
pub enum View {
    /// Of a provider: its breaker and its cooldown for combos.
    Breaker(Arc<BreakerView>, WindowView),
    /// Of a connection.
    Connection(Arc<ConnectionView>),
    /// Of a lockout.
    Lockout(Arc<LockoutView>),
}

/// An owner's news to the router: what all may see, and what it comes back from.
#[derive(Clone, Debug, Message)]
#[rtype(result = "()")]
pub struct Publish {
    /// Who.
    pub owner: Owner,
    /// What it looks like now.
    pub view: View,
    /// What a successor starts from.
    pub snapshot: Snapshot,
}

/// Asks an owner to publish itself, for a new router.
#[derive(Clone, Debug, Message)]
#[rtype(result = "()")]
pub struct Announce;

/// Answered when everything posted before it in the same mailbox was handled.
#[derive(Clone, Debug, Message)]
#[rtype(result = "()")]
pub struct Barrier;

/// To the store: the newest snapshot of an owner, or nothing any more.
#[derive(Clone, Debug, Message)]
#[rtype(result = "()")]
pub struct Save {
    /// Whose.
    pub owner: Owner,
    /// `None` removes the record.
    pub snapshot: Option<Snapshot>,
}

/// To the store: writes everything now; answers whether it is on disk.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<(), String>")]
pub struct Flush;

/// Makes a handler panic, to test supervision.
#[cfg(feature = "test-hooks")]
#[derive(Clone, Debug, Message)]
#[rtype(result = "()")]
pub struct Poison;

/// The way to the store; it outlives the store's actor.
#[derive(Clone)]
pub struct StoreLink {
    recipient: Arc<ArcSwapOption<Recipient<Letter<Save>>>>,
    flusher: Arc<ArcSwapOption<Recipient<Flush>>>,
    gauge: Arc<Gauge>,
}

impl StoreLink {
    /// A link without a store behind it; what is saved before one is installed is dropped.
    pub fn new(capacity: usize) -> Self {
        let flusher = Arc::new(ArcSwapOption::empty());
        Self { recipient: Arc::new(ArcSwapOption::empty()), flusher, gauge: Gauge::new(capacity) }
    }

    /// Puts a store behind the link.
    pub fn install(&self, recipient: Recipient<Letter<Save>>) {
        self.recipient.store(Some(Arc::new(recipient)));
    }

    /// Puts a store behind the link that can be asked whether it has written.
    pub fn install_flusher(&self, flusher: Recipient<Flush>) {
        self.flusher.store(Some(Arc::new(flusher)));
    }

    /// Waits until everything that was posted from here is on disk; without a store there is none.
    pub async fn flush(&self) -> Result<(), String> {
        let Some(flusher) = self.flusher.load_full() else { return Ok(()) };
        flusher.send(Flush).await.unwrap_or_else(|error| Err(error.to_string()))
    }

    /// The count of waiting saves.
    pub fn gauge(&self) -> &Arc<Gauge> {
        &self.gauge
    }

    /// Posts a snapshot; past the bound, because a later one would be stale without it.
    pub fn save(&self, owner: Owner, snapshot: Option<Snapshot>) {
        if let Some(recipient) = &*self.recipient.load() {
            recipient.do_send(Letter::past_bound(Save { owner, snapshot }, &self.gauge));
        }
    }
}

/// Reads every change once, for metrics; [`crate::events`] tells them to whoever listens.
pub type Observer = Arc<dyn Fn(&Owner, &Change) + Send + Sync>;
