//! All owners at one instant, as they published themselves. Readers derive the
//! truth for their own `now` from the views; nothing here is swept by a timer.

mod views;

use std::sync::Arc;

pub use views::{Published, Views};

use crate::breaker::BreakerView;
use crate::change::{Exclusion, Refusal};
use crate::cooldown::CooldownView;
use crate::egress::Egress;
use crate::ids::{ById, ConnectionId, ModelId, ProviderId};
use crate::lease::LeaseView;
use crate::lockout::LockoutView;
use crate::time::Millis;
use crate::window::WindowView;

/// One connection as published.
#[derive(Clone, Debug)]
pub struct ConnectionView {
    /// Its rest.
    pub cooldown: CooldownView,
    /// How long combos leave it out (core 2.5).
    pub retry: WindowView,
    /// An operator lets it run dry.
    pub draining: bool,
    /// Active and with a credential.
    pub usable: bool,
    /// Where it was last seen to come from (decision 31a).
    pub egress: Option<Egress>,
    /// Who leases it (rules 7).
    pub lease: Option<LeaseView>,
}

impl ConnectionView {
    /// One that may be asked, but for its rest.
    #[cfg(test)]
    pub(crate) fn ready(cooldown: CooldownView) -> Self {
        let retry = WindowView::default();
        Self { cooldown, retry, draining: false, usable: true, egress: None, lease: None }
    }

    /// Why a request is not admitted at `now`, short of slots; `others`: its plan holds another
    /// target. What no timer ends comes first.
    pub fn refusal(&self, others: bool, now: Millis) -> Option<Refusal> {
        let rest = self.cooldown.refusal(others, now);
        match rest {
            Some(refusal) if self.cooldown.terminal.is_some() => Some(refusal),
            _ if self.draining => Some(Refusal { why: Exclusion::Draining, retry_at: None }),
            rest => rest,
        }
    }

    /// The state in one word, as in `/api/actors` (contract 8).
    pub fn label(&self, now: Millis) -> &'static str {
        match self.cooldown.label(now) {
            _ if !self.usable => "inactive",
            terminal if self.cooldown.terminal.is_some() => terminal,
            _ if self.draining => "draining",
            label => label,
        }
    }
}

/// All owners at one instant.
#[derive(Clone, Debug, Default)]
pub struct Board {
    /// Breakers by provider.
    pub providers: Views<ProviderId, BreakerView>,
    /// Provider cooldowns (core 2.4); providers without one have no entry.
    pub windows: ById<ProviderId, WindowView>,
    /// Connections by id.
    pub connections: Views<ConnectionId, ConnectionView>,
    /// Lockouts by connection; connections without one have no entry.
    pub lockouts: ById<ConnectionId, Vec<Arc<LockoutView>>>,
}

impl Board {
    /// The lock of a provider's model on a connection that ends last, if one is active
    /// (core 5.1.5, 5.1.6).
    pub fn lock(
        &self,
        connection: &ConnectionId,
        (provider, model): (&ProviderId, &ModelId),
        now: Millis,
    ) -> Option<&Arc<LockoutView>> {
        self.lockouts
            .get(connection)?
            .iter()
            .filter(|lock| lock.is_locked(now) && lock.key.covers(provider, model))
            .max_by_key(|lock| lock.until)
    }

    /// The same of every account.
    pub fn are_calm(&self) -> bool {
        self.providers.are_calm()
            && self.connections.are_calm()
            && self.windows.is_empty()
            && self.lockouts.is_empty()
    }

    /// No timer, order or state of theirs could hold a request back from this account: whoever finds
    /// that need not ask each of them.
    pub fn is_calm(&self, provider: &ProviderId, connection: &ConnectionId) -> bool {
        self.providers.is_calm(provider)
            && self.connections.is_calm(connection)
            && !self.windows.contains_key(provider)
            && !self.lockouts.contains_key(connection)
    }

    /// Whether combos leave the whole provider out (core 2.3).
    pub fn provider_cooldown(&self, provider: &ProviderId, now: Millis) -> Option<Refusal> {
        self.windows.get(provider)?.refusal(now)
    }

    /// Whether combos leave the connection out (core 2.5).
    pub fn retry_cooldown(&self, connection: &ConnectionId, now: Millis) -> Option<Refusal> {
        self.connections.get(connection)?.retry.refusal(now)
    }

    /// What the connection itself says to a request now, short of its slots.
    pub fn connection_refusal(&self, connection: &ConnectionId, now: Millis) -> Option<Refusal> {
        self.connections.get(connection)?.refusal(false, now)
    }
}
