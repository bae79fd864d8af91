//! One refresh from its start to its end: the POST, the disk, then the traffic, in this order.

use std::sync::Arc;

use policy::dice::Dice;
use policy::time::Millis;
use policy::token::{Meaning, RefreshOutcome};
use tokio::sync::watch;

use super::grant::{self, Answered};
use super::session::{Inner, Session};
use super::{Client, Tokens};
use crate::settings::Secret;
use crate::upstream::call::Dialler;

/// Chance, for the jitter of retries.
struct Random;

impl Dice for Random {
    fn unit(&mut self) -> f64 {
        fastrand::f64()
    }

    fn below(&mut self, bound: usize) -> usize {
        fastrand::usize(..bound.max(1))
    }
}

/// A flight that is over however it ended: a task that is dropped half-way wakes those who wait.
struct Landing {
    session: Arc<Session>,
    /// Dropped last.
    _told: watch::Sender<()>,
}

impl Drop for Landing {
    fn drop(&mut self) {
        self.session.with(|inner| inner.flight = None);
        self.session.desk.lands();
    }
}

impl Session {
    /// The flight that runs, or a new one; else when to ask again, because the endpoint's breaker
    /// is open or the connection is gone. `urgent`: without it nothing can be sent.
    pub(super) fn fly(
        self: &Arc<Self>,
        inner: &mut Inner,
        dialler: &Dialler,
        urgent: bool,
    ) -> Result<watch::Receiver<()>, Millis> {
        if let Some(flight) = &inner.flight {
            return Ok(flight.clone());
        }
        if inner.retired {
            return Err(self.desk.now());
        }
        self.desk.admit(&self.identity, urgent)?;
        let (told, flight) = watch::channel(());
        inner.flight = Some(flight.clone());
        self.desk.takes_off();
        let landing = Landing { session: self.clone(), _told: told };
        let (client, refresh) = (inner.client.clone(), inner.tokens.refresh.clone());
        let (session, dialler) = (self.clone(), dialler.clone());
        actix_rt::spawn(async move {
            // Taken along, so that it is dropped with the task.
            let _landing = landing;
            session.refresh(&dialler, &client, &refresh).await;
        });
        Ok(flight)
    }

    async fn refresh(&self, dialler: &Dialler, client: &Client, refresh: &Secret) {
        let answered = grant::ask(dialler, client, refresh, self.desk.now()).await;
        let now = self.desk.now();
        let before = self.with(|inner| inner.tokens.clone());
        let (tokens, outcome) = self.judge(before, answered, now);
        // On disk before anybody sends it: a crash in between would lose the account.
        let unsaved = !self.keep(&tokens).await;
        let retired = self.with(|inner| {
            inner.unsaved = unsaved;
            self.replace(inner, tokens);
            inner.retired
        });
        // The connection has other tokens by now: how the old ones end is not its affair.
        if !retired {
            (self.desk.observer)(&self.identity, outcome);
        }
    }

    /// The tokens after an answer, and what became of the connection.
    fn judge(&self, mut tokens: Tokens, answered: Answered, now: Millis) -> (Tokens, RefreshOutcome) {
        let identity = &self.identity;
        let connection = &identity.connection;
        match answered {
            Answered::Pair { access, refresh, lives_ms } => {
                tokens.times.received(lives_ms, now);
                tokens.access = Some(access);
                tokens.refresh = refresh.unwrap_or(tokens.refresh);
                self.desk.succeeded(identity);
                tracing::info!(%connection, ?lives_ms, "its access token was renewed");
                (tokens, RefreshOutcome::Renewed)
            }
            Answered::Nothing { meaning: Meaning::Expired(code), status, .. } => {
                tokens.times.died();
                tracing::error!(%connection, status, code, "its refresh token is dead: log in again");
                (tokens, RefreshOutcome::Expired)
            }
            Answered::Nothing { meaning: Meaning::Misconfigured(code), wait_ms, .. } => {
                tokens.times.failed(wait_ms, &mut Random, now);
                self.desk.raise(identity, code);
                self.desk.failed(identity);
                (tokens, RefreshOutcome::Misconfigured)
            }
            Answered::Nothing { status, wait_ms, .. } => {
                tokens.times.failed(wait_ms, &mut Random, now);
                let failures = tokens.times.failures;
                tracing::warn!(%connection, status, failures, "its access token could not be renewed; tried again later");
                self.desk.failed(identity);
                (tokens, RefreshOutcome::Failed)
            }
        }
    }

    /// True when the tokens are on disk, or need not be.
    async fn keep(&self, tokens: &Tokens) -> bool {
        if self.with(|inner| inner.retired) {
            return true;
        }
        let kept = self.desk.keeper.keep(&self.identity, tokens).await;
        if let Err(error) = &kept
            && !self.with(|inner| inner.unsaved)
        {
            // The old ones are used up: using the new ones is the best that is left.
            tracing::error!(
                connection = %self.identity.connection, %error,
                "its new tokens could not be stored; they are used, and stored as soon as that works"
            );
        }
        kept.is_ok()
    }

    /// Tries once more to store what could not be stored.
    pub(super) fn save_again(self: &Arc<Self>) {
        let session = self.clone();
        actix_rt::spawn(async move {
            let tokens = session.with(|inner| inner.tokens.clone());
            let saved = session.keep(&tokens).await;
            session.with(|inner| {
                // A refresh may have come in between, and has its own word on it.
                if saved && inner.tokens == tokens {
                    inner.unsaved = false;
                }
            });
        });
    }
}
