//! What the owners are built from: the configuration as the actors need it, free of
//! secrets and addresses. A new one is applied as a whole; owners keep their state.

use std::collections::HashMap;
use std::sync::Arc;

use actix::ArbiterHandle;
use policy::breaker::BreakerSettings;
use policy::catalogue::Catalogue;
use policy::cooldown::CooldownSettings;
use policy::gate::GateSettings;
use policy::ids::{Class, ConnectionId, ProviderId};
use policy::lockout::LockoutSettings;
use policy::window::{RetryCooldown, WindowSettings};

use crate::ceiling::CeilingSettings;

/// Bounds of the mailboxes, messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MailboxBounds {
    /// Of the router.
    pub router: usize,
    /// Of each provider.
    pub provider: usize,
    /// Of each connection.
    pub connection: usize,
    /// Of each lockout.
    pub lockout: usize,
    /// Of the store.
    pub store: usize,
}

impl Default for MailboxBounds {
    fn default() -> Self {
        Self { router: 4096, provider: 512, connection: 1024, lockout: 64, store: 4096 }
    }
}

/// The numbers of one connection.
#[derive(Clone, Debug, PartialEq)]
pub struct ConnectionNumbers {
    /// Its provider.
    pub provider: ProviderId,
    /// How it rests.
    pub cooldown: CooldownSettings,
    /// How its models are locked.
    pub lockout: LockoutSettings,
    /// How long combos leave it out after a failure (core 2.5).
    pub retry: RetryCooldown,
    /// The provider's quota belongs to an egress address (rules 4.1).
    pub shares_egress: bool,
    /// Active and with a credential.
    pub usable: bool,
    /// Its caps, its line and its limiter (flow 1, 4).
    pub gate: GateSettings,
    /// Salted fingerprint of its credential (decision 3c).
    pub fingerprint: String,
}

/// Everything the owners are built from.
#[derive(Clone, Debug)]
pub struct Blueprint {
    /// Names and targets.
    pub catalogue: Arc<Catalogue>,
    /// Breaker numbers by provider.
    pub providers: HashMap<ProviderId, BreakerSettings>,
    /// Numbers of the provider cooldown by provider; off where there are none (core 2).
    pub windows: HashMap<ProviderId, WindowSettings>,
    /// Numbers by connection.
    pub connections: HashMap<ConnectionId, ConnectionNumbers>,
    /// Requests at once in the process; 0: no cap (decision 17a).
    pub global_max: u32,
    /// Requests that may wait in all lines together (decision 14).
    pub max_queued_total: usize,
    /// Caps and windows of providers that have one (flow 1.9, 4.4).
    pub ceilings: HashMap<ProviderId, CeilingSettings>,
    /// Mailbox bounds.
    pub mailbox: MailboxBounds,
}

impl Default for Blueprint {
    fn default() -> Self {
        Self {
            catalogue: Arc::default(),
            providers: HashMap::new(),
            windows: HashMap::new(),
            connections: HashMap::new(),
            global_max: 0,
            max_queued_total: MAX_QUEUED_TOTAL,
            ceilings: HashMap::new(),
            mailbox: MailboxBounds::default(),
        }
    }
}

/// The most that may wait in all lines together, unless it is set (decision 14).
pub const MAX_QUEUED_TOTAL: usize = 10_000;

impl Blueprint {
    /// The cap of the whole process.
    pub(crate) fn ceiling(&self) -> CeilingSettings {
        CeilingSettings { cap: self.global_max, rpm: 0 }
    }

    /// The cap and window of a provider.
    pub(crate) fn ceiling_of(&self, provider: &ProviderId) -> CeilingSettings {
        self.ceilings.get(provider).copied().unwrap_or_default()
    }

    /// When a provider is left out of combos.
    pub(crate) fn window(&self, provider: &ProviderId) -> WindowSettings {
        let off = || WindowSettings::for_class(Class::Apikey);
        self.windows.get(provider).copied().unwrap_or_else(off)
    }
}

/// Where owners live: on the arbiters of the HTTP workers, so that with one worker no
/// message crosses a thread.
#[derive(Clone, Debug)]
pub struct Placement {
    arbiters: Vec<ArbiterHandle>,
}

impl Placement {
    /// Owners live on these arbiters; the router on the first.
    ///
    /// # Panics
    /// Without an arbiter.
    pub fn new(arbiters: Vec<ArbiterHandle>) -> Self {
        assert!(!arbiters.is_empty(), "owners need an arbiter to live on");
        Self { arbiters }
    }

    /// The router's home.
    pub fn first(&self) -> &ArbiterHandle {
        &self.arbiters[0]
    }

    /// The home of an owner, always the same for the same id.
    pub fn home(&self, id: &str) -> &ArbiterHandle {
        // FNV-1a: spreads ids evenly and gives the same home after a restart.
        let hash = id.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        &self.arbiters[(hash % self.arbiters.len() as u64) as usize]
    }
}
