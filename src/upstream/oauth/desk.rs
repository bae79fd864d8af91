//! What the sessions of a process share: the clock, who keeps tokens, the breakers of the token
//! endpoints and what their answers say about our settings.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwap;
use policy::ids::ProviderId;
use policy::time::Millis;
use policy::token::{TokenBreaker, TokenBreakerSettings, TokenScope};

use super::{Identity, Keeper, Observer};

/// Shared by all sessions.
pub struct Desk {
    now: Box<dyn Fn() -> Millis + Send + Sync>,
    pub(super) keeper: Box<dyn Keeper>,
    pub(super) observer: Observer,
    settings: ArcSwap<TokenBreakerSettings>,
    breakers: Mutex<HashMap<String, TokenBreaker>>,
    alarms: Mutex<HashMap<ProviderId, &'static str>>,
    flights: AtomicUsize,
}

impl Desk {
    /// `now`: epoch ms.
    pub fn new(
        now: impl Fn() -> Millis + Send + Sync + 'static,
        keeper: impl Keeper + 'static,
        observer: Observer,
    ) -> Arc<Self> {
        Arc::new(Self {
            now: Box::new(now),
            keeper: Box::new(keeper),
            observer,
            settings: ArcSwap::default(),
            breakers: Mutex::default(),
            alarms: Mutex::default(),
            flights: AtomicUsize::new(0),
        })
    }

    /// New numbers of the breakers. Another scope begins with closed ones.
    pub fn configure(&self, settings: TokenBreakerSettings) {
        if self.settings.load().scope != settings.scope {
            lock(&self.breakers).clear();
        }
        self.settings.store(Arc::new(settings));
    }

    /// Refreshes that run: a stop waits for them, their answers cannot be had again.
    pub fn flights(&self) -> usize {
        self.flights.load(Ordering::Acquire)
    }

    pub(super) fn takes_off(&self) {
        self.flights.fetch_add(1, Ordering::AcqRel);
    }

    pub(super) fn lands(&self) {
        self.flights.fetch_sub(1, Ordering::AcqRel);
    }

    pub(super) fn now(&self) -> Millis {
        (self.now)()
    }

    /// What the token endpoint of a provider says is wrong with our settings.
    pub fn alarm(&self, provider: &ProviderId) -> Option<&'static str> {
        lock(&self.alarms).get(provider).copied()
    }

    /// The settings of a provider have changed: what was said about the old ones is void.
    pub fn settings_changed(&self, whose: &Identity) {
        lock(&self.alarms).remove(&whose.provider);
        lock(&self.breakers).remove(&self.key(whose));
    }

    /// Asks for one refresh; refused: when to ask again.
    pub(super) fn admit(&self, whose: &Identity, urgent: bool) -> Result<(), Millis> {
        let now = self.now();
        lock(&self.breakers).entry(self.key(whose)).or_default().admit(&whose.connection, urgent, now)
    }

    /// The token endpoint gave tokens.
    pub(super) fn succeeded(&self, whose: &Identity) {
        lock(&self.breakers).entry(self.key(whose)).or_default().succeeded();
        if lock(&self.alarms).remove(&whose.provider).is_some() {
            tracing::info!(provider = %whose.provider, "its token endpoint accepts our settings again");
        }
    }

    /// It failed, or refused our settings.
    pub(super) fn failed(&self, whose: &Identity) {
        let (settings, now) = (self.settings.load(), self.now());
        let opened = {
            let mut breakers = lock(&self.breakers);
            breakers.entry(self.key(whose)).or_default().failed(&whose.connection, &settings, now)
        };
        if opened {
            let rest_ms = settings.cooldown_ms;
            tracing::warn!(
                provider = %whose.provider, connection = %whose.connection, rest_ms,
                "its token endpoint keeps failing and is asked less"
            );
        }
    }

    /// It says that our settings are wrong: loud once, for all connections.
    pub(super) fn raise(&self, whose: &Identity, code: &'static str) {
        if lock(&self.alarms).insert(whose.provider.clone(), code) != Some(code) {
            tracing::error!(
                provider = %whose.provider, code,
                "CONFIGURATION ALARM: the token endpoint refuses our client; no connection of this provider \
                 can renew its token. Correct `oauth` of the provider (client_id, client_secret, scopes)"
            );
        }
    }

    fn key(&self, whose: &Identity) -> String {
        match self.settings.load().scope {
            TokenScope::Provider => whose.provider.to_string(),
            TokenScope::Connection => format!("{}/{}", whose.provider, whose.connection),
        }
    }
}

/// Values that are whole after every statement: a panic elsewhere leaves them good.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
