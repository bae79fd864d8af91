//! One connection's tokens, for all workers.

use std::fmt;
use std::sync::{Arc, Mutex};

use arc_swap::ArcSwap;
use awc::http::header::HeaderValue;
use policy::time::Millis;
use policy::token::{Need, Timetable, TokenView};
use tokio::sync::watch;

use super::desk::{Desk, lock};
use super::{Client, Identity, NoPass, Pass, TokenHeader, Tokens};
use crate::settings::Secret;
use crate::upstream::call::Dialler;

/// What a request reads, without a lock.
pub(super) struct Current {
    pub(super) pass: Option<Arc<Pass>>,
    /// Until then nobody has to think.
    quiet_until: Millis,
}

/// What changes, under a lock that nobody holds across an await.
pub(super) struct Inner {
    pub(super) tokens: Tokens,
    pub(super) client: Arc<Client>,
    header: TokenHeader,
    /// Counts the access tokens.
    number: u64,
    /// The refresh that runs; its end is told by the channel.
    pub(super) flight: Option<watch::Receiver<()>>,
    /// The newest tokens are not on disk.
    pub(super) unsaved: bool,
    /// Its connection is gone, or has other tokens now: nothing of it is kept any more.
    pub(super) retired: bool,
    /// The access token that the operator gave last; ours may be a later one.
    offered: Option<Secret>,
}

/// One connection's tokens.
pub struct Session {
    pub(super) identity: Identity,
    pub(super) desk: Arc<Desk>,
    pub(super) current: ArcSwap<Current>,
    inner: Mutex<Inner>,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Session({})", self.identity.connection)
    }
}

// === impl Session: for those who send ===

impl Session {
    /// A session with the tokens that it starts from; `offered`: the access token it was given.
    pub fn new(
        identity: Identity,
        (tokens, offered): (Tokens, Option<Secret>),
        (client, header): (Client, TokenHeader),
        desk: Arc<Desk>,
    ) -> Arc<Self> {
        let inner = Inner {
            tokens,
            client: Arc::new(client),
            header,
            number: 0,
            flight: None,
            unsaved: false,
            retired: false,
            offered,
        };
        let session = Self {
            identity,
            desk,
            current: ArcSwap::from_pointee(Current { pass: None, quiet_until: 0 }),
            inner: Mutex::new(inner),
        };
        session.publish(&mut lock(&session.inner));
        Arc::new(session)
    }

    /// What a request is sent with now. Almost always one atomic read; a token that is due is
    /// renewed first.
    pub async fn pass(self: &Arc<Self>, dialler: &Dialler) -> Result<Arc<Pass>, NoPass> {
        {
            let current = self.current.load();
            if let Some(pass) = &current.pass
                && self.desk.now() < current.quiet_until
            {
                return Ok(pass.clone());
            }
        }
        let flight = {
            let mut inner = lock(&self.inner);
            let now = self.desk.now();
            match inner.tokens.times.need(now) {
                Need::Nothing => Err(now),
                // Beside the traffic: this request goes with the token there is.
                Need::Early => self.fly(&mut inner, dialler, false).and(Err(now)),
                Need::Now => self.fly(&mut inner, dialler, true),
            }
        };
        let again_from = landed(flight).await;
        self.answer(&lock(&self.inner), again_from)
    }

    /// The provider answered 401 to `pass`: a pass with a newer token, renewed if need be
    /// (decision 12a). However many ask, one refresh answers them.
    pub async fn after_401(self: &Arc<Self>, pass: &Pass, dialler: &Dialler) -> Result<Arc<Pass>, NoPass> {
        let flight = {
            let mut inner = lock(&self.inner);
            if inner.number != pass.number {
                return self.answer(&inner, 0);
            }
            inner.tokens.times.refused();
            self.publish(&mut inner);
            match inner.tokens.times.need(self.desk.now()) {
                Need::Now => self.fly(&mut inner, dialler, true),
                Need::Nothing | Need::Early => Err(0),
            }
        };
        let again_from = landed(flight).await;
        match self.answer(&lock(&self.inner), again_from) {
            // The same token again would get the same answer.
            Ok(same) if same.number == pass.number => Err(NoPass::Later(again_from)),
            answer => answer,
        }
    }

    fn answer(&self, inner: &Inner, again_from: Millis) -> Result<Arc<Pass>, NoPass> {
        let now = self.desk.now();
        if inner.tokens.times.dead {
            return Err(NoPass::Expired);
        }
        let current = self.current.load();
        match &current.pass {
            Some(pass) if inner.tokens.times.is_good(now) => Ok(pass.clone()),
            _ => Err(NoPass::Later(inner.tokens.times.next_at().unwrap_or(now).max(again_from))),
        }
    }
}

/// Waits for the end of a flight; if there is none, tells when there may be one.
async fn landed(flight: Result<watch::Receiver<()>, Millis>) -> Millis {
    match flight {
        Ok(mut flight) => {
            // Its end drops the sender, which is as good as a word.
            let _ = flight.changed().await;
            0
        }
        Err(again_from) => again_from,
    }
}

// === impl Session: for those who change it ===

impl Session {
    /// Whose it is.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// The provider's settings, read again. The tokens stay.
    pub fn configure(&self, client: Client, header: TokenHeader) {
        let mut inner = lock(&self.inner);
        if *inner.client != client {
            inner.client = Arc::new(client);
            self.desk.settings_changed(&self.identity);
        }
        if inner.header != header {
            inner.header = header;
            self.publish(&mut inner);
        }
    }

    /// It is no longer in use; what still flies is not kept.
    pub fn retire(&self) {
        lock(&self.inner).retired = true;
    }

    /// It is in use again, or still. An access token that was not offered before is taken over;
    /// the refresh token stays, the one that was given with it may be used up.
    pub fn resume(&self, access: Option<&Secret>, expires_at: Option<Millis>) {
        let mut inner = lock(&self.inner);
        // What became of it meanwhile is not on disk.
        inner.unsaved |= std::mem::take(&mut inner.retired);
        let Some(access) = access.filter(|access| inner.offered.as_ref() != Some(*access)) else { return };
        inner.offered = Some(access.clone());
        inner.unsaved = true;
        let times = Timetable::configured(expires_at);
        let tokens = Tokens { access: Some(access.clone()), times, ..inner.tokens.clone() };
        self.replace(&mut inner, tokens);
    }

    /// Does in the background what is due: an early refresh, a `retry` of an expired connection
    /// (core 3.9.7), tokens that could not be stored.
    pub fn sweep(self: &Arc<Self>, retry: bool, dialler: &Dialler) {
        let mut inner = lock(&self.inner);
        if inner.tokens.times.sweep_due(retry, self.desk.now()) {
            let _ = self.fly(&mut inner, dialler, false);
        } else if inner.unsaved && inner.flight.is_none() {
            self.save_again();
        }
    }

    /// Its refresh token is dead.
    pub fn is_dead(&self) -> bool {
        lock(&self.inner).tokens.times.dead
    }

    /// An operator says that it is worth another try: the next use makes it.
    pub fn revive(&self) {
        let mut inner = lock(&self.inner);
        inner.tokens.times.revive();
        self.publish(&mut inner);
    }

    /// Tries a dead refresh token once more, for a test of the connection.
    pub async fn retry(self: &Arc<Self>, dialler: &Dialler) {
        let flight = {
            let mut inner = lock(&self.inner);
            match inner.tokens.times.dead {
                true => self.fly(&mut inner, dialler, true),
                false => return,
            }
        };
        landed(flight).await;
    }

    /// What people see of it.
    pub fn view(&self) -> TokenView {
        let inner = lock(&self.inner);
        TokenView {
            connection: self.identity.connection.clone(),
            provider: self.identity.provider.clone(),
            times: inner.tokens.times,
            alarm: self.desk.alarm(&self.identity.provider),
            unsaved: inner.unsaved,
        }
    }

    pub(super) fn with<T>(&self, work: impl FnOnce(&mut Inner) -> T) -> T {
        work(&mut lock(&self.inner))
    }

    /// Puts tokens into use.
    pub(super) fn replace(&self, inner: &mut Inner, tokens: Tokens) {
        if tokens.access != inner.tokens.access {
            inner.number += 1;
        }
        inner.tokens = tokens;
        self.publish(inner);
    }

    /// Shows requests what there is now.
    fn publish(&self, inner: &mut Inner) {
        let access = inner.tokens.access.as_ref();
        let pass = access.and_then(|secret| {
            let mut value =
                HeaderValue::from_str(&format!("{}{}", inner.header.prefix, secret.expose())).ok()?;
            value.set_sensitive(true);
            let header = (inner.header.name.clone(), value);
            Some(Arc::new(Pass { header, secret: secret.clone(), number: inner.number }))
        });
        let quiet_until = inner.tokens.times.quiet_until(self.desk.now());
        self.current.store(Arc::new(Current { pass, quiet_until }));
    }
}
