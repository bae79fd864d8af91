//! The breaker of a token endpoint (`tokenRefreshBreaker`, core 6).
//!
//! It keeps an endpoint that fails for everybody from being asked by everybody. Early
//! refreshes wait for its cooldown; a refresh without which an account is out still goes, one
//! a minute for each account, because a blip must not bench an account for half an hour (FC-038).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::ids::ConnectionId;
use crate::time::{MINUTE, Millis};

/// Whose refreshes one breaker counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenScope {
    /// All connections of a provider.
    Provider,
    /// One connection.
    Connection,
}

/// Its numbers (core 6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenBreakerSettings {
    /// Whose failures are counted together.
    pub scope: TokenScope,
    /// Failures in a row that open it.
    pub failure_threshold: u32,
    /// How long it stays open, ms.
    pub cooldown_ms: Millis,
}

impl Default for TokenBreakerSettings {
    fn default() -> Self {
        Self { scope: TokenScope::Provider, failure_threshold: 5, cooldown_ms: 30 * MINUTE }
    }
}

/// Open after so many failures in a row; the next success closes it. A dead refresh token
/// says nothing about the endpoint and is not recorded here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TokenBreaker {
    failures: u32,
    open_until: Option<Millis>,
    /// While it is open, and for the first after: one refresh of each connection at a time, this
    /// early. One account that cannot be renewed must not take the turns of the others.
    next_from: BTreeMap<ConnectionId, Millis>,
}

impl TokenBreaker {
    /// Asks for one refresh; refused: when to ask again. `urgent`: without it nothing can be sent.
    pub fn admit(&mut self, whose: &ConnectionId, urgent: bool, now: Millis) -> Result<(), Millis> {
        let Some(until) = self.open_until else { return Ok(()) };
        let own = self.next_from.get(whose).copied();
        let from = match urgent {
            true => own.unwrap_or(0),
            false => until.max(self.latest()),
        };
        if now < from {
            return Err(from);
        }
        self.next_from.insert(whose.clone(), now.saturating_add(MINUTE));
        Ok(())
    }

    /// The endpoint failed, or refused our settings; true when this opened it.
    pub fn failed(&mut self, whose: &ConnectionId, settings: &TokenBreakerSettings, now: Millis) -> bool {
        self.failures = self.failures.saturating_add(1);
        if self.failures < settings.failure_threshold {
            return false;
        }
        let was_open = self.open_until.is_some_and(|until| now < until);
        self.open_until = Some(now.saturating_add(settings.cooldown_ms));
        self.next_from.insert(whose.clone(), now.saturating_add(MINUTE));
        !was_open
    }

    /// The latest turn of anybody: what is not needed yet waits for all.
    fn latest(&self) -> Millis {
        self.next_from.values().copied().max().unwrap_or(0)
    }

    /// The endpoint gave tokens.
    pub fn succeeded(&mut self) {
        *self = Self::default();
    }
}
