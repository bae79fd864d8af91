//! The sessions of OAuth connections: made from settings and from what is stored, kept over
//! reloads, swept in the background.
//!
//! The config says where tokens began; the store has what they have become since, as long as
//! the config says the same. A session outlives a reload, and also its connection: tokens that
//! were rotated are found again when the connection comes back.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use actors::connection::Order;
use actors::permit::Owners;
use arc_swap::{ArcSwap, ArcSwapOption};
use policy::cooldown::Terminal;
use policy::ids::{Class, ConnectionId};
use policy::token::{RefreshOutcome, Timetable, TokenView};

use super::plans::{fingerprint, token_header};
use crate::admin::TokenBook;
use crate::settings::{Connection, OauthClient, OauthTokens, Provider, Secret, Settings};
use crate::storage::{Closed, SaveTokens, Store, StoredTokens, Vault, token_record};
use crate::telemetry::Metrics;
use crate::upstream::oauth::{Client, Desk, Identity, Keeper, Kept, Session, Tokens};
use crate::upstream::{Dialler, Proxies};

/// How often is looked for what is due. Nothing is right or wrong because of it.
const SWEEP: Duration = Duration::from_secs(5);

/// Sessions by connection.
pub type Sessions = HashMap<ConnectionId, Arc<Session>>;

/// All sessions of the process.
pub(super) struct TokenRoom {
    desk: Arc<Desk>,
    vault: Vault,
    salt: String,
    owners: Owners,
    stored: HashMap<ConnectionId, StoredTokens>,
    /// All that were ever made, by connection and what it was given. One that comes back goes on
    /// with the tokens it had: those it was given are used up.
    known: Mutex<HashMap<(ConnectionId, String), Arc<Session>>>,
    /// Those of connections that are configured now.
    active: ArcSwap<Sessions>,
}

/// Seals tokens and hands them to the store.
struct Safe {
    vault: Vault,
    store: Arc<ArcSwapOption<actix::Addr<Store>>>,
}

impl Keeper for Safe {
    fn keep(&self, identity: &Identity, tokens: &Tokens) -> Kept {
        let sealed = sealed(&self.vault, identity, tokens);
        let (store, connection) = (self.store.load_full(), identity.connection.clone());
        Box::pin(async move {
            let store = store.ok_or("the store is being replaced")?;
            let saved = store.send(SaveTokens { connection, tokens: sealed? }).await;
            saved.unwrap_or_else(|error| Err(error.to_string()))
        })
    }
}

fn sealed(vault: &Vault, identity: &Identity, tokens: &Tokens) -> Result<StoredTokens, String> {
    let seal = |what: &str, secret: &Secret| {
        let sealed = vault.seal(&token_record(&identity.connection, what), secret.expose());
        sealed.map_err(|error| error.to_string())
    };
    Ok(StoredTokens {
        origin: identity.origin.clone(),
        access: tokens.access.as_ref().map(|access| seal("access", access)).transpose()?,
        refresh: seal("refresh", &tokens.refresh)?,
        times: tokens.times,
    })
}

fn opened(vault: &Vault, connection: &ConnectionId, stored: &StoredTokens) -> Result<Tokens, Closed> {
    let open =
        |what: &str, sealed: &str| vault.open(&token_record(connection, what), sealed).map(Secret::from);
    Ok(Tokens {
        access: stored.access.as_ref().map(|access| open("access", access)).transpose()?,
        refresh: open("refresh", &stored.refresh)?,
        times: stored.times,
    })
}

impl TokenRoom {
    /// `stored`: what the store had at start.
    pub(super) fn new(
        owners: &Owners,
        store: Arc<ArcSwapOption<actix::Addr<Store>>>,
        (vault, salt): (Vault, String),
        stored: HashMap<ConnectionId, StoredTokens>,
        metrics: Arc<Metrics>,
    ) -> Arc<Self> {
        let safe = Safe { vault: vault.clone(), store };
        let (clock, told) = (owners.clock, owners.clone());
        let observer = Arc::new(move |identity: &Identity, outcome: RefreshOutcome| {
            metrics.refresh(&identity.connection, outcome.as_str());
            tell(&told, &identity.connection, outcome);
        });
        Arc::new(Self {
            desk: Desk::new(move || clock.now(), safe, observer),
            vault,
            salt,
            owners: owners.clone(),
            stored,
            known: Mutex::default(),
            active: ArcSwap::default(),
        })
    }

    /// Takes over settings; the sessions of the connections that have any.
    pub(super) fn apply(&self, settings: &Settings, proxies: &Proxies) -> Arc<Sessions> {
        self.desk.configure(settings.resilience.token_refresh_breaker);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let providers: HashMap<_, _> =
            settings.providers.iter().map(|provider| (&provider.id, provider)).collect();
        let active = settings.connections.iter().filter_map(|connection| {
            let provider = providers.get(&connection.provider)?;
            let session = self.session(provider, connection, proxies, &mut known)?;
            Some((connection.id.clone(), session))
        });
        let active = Arc::new(active.collect::<Sessions>());
        self.active.store(active.clone());
        active
    }

    fn session(
        &self,
        provider: &Provider,
        connection: &Connection,
        proxies: &Proxies,
        known: &mut HashMap<(ConnectionId, String), Arc<Session>>,
    ) -> Option<Arc<Session>> {
        let (oauth, tokens, refresh) = renewable(provider, connection)?;
        let header = token_header(provider);
        let client = client(oauth, connection, proxies)?;
        // An access token descends from its refresh token: a new one beside the same refresh token
        // is the same account, whose refresh token may be used up.
        let origin = fingerprint(&format!("{}\n{}", provider.id, refresh.expose()), &self.salt);
        let others = known.iter().filter(|((id, other), _)| *id == connection.id && *other != origin);
        others.for_each(|(_, session)| session.retire());
        let key = (connection.id.clone(), origin.clone());
        if let Some(session) = known.get(&key) {
            session.resume(tokens.access.as_ref(), tokens.expires_at);
            session.configure(client, header);
            return Some(session.clone());
        }
        let identity = Identity { connection: connection.id.clone(), provider: provider.id.clone(), origin };
        let start = (self.tokens(&identity, tokens, refresh)?, tokens.access.clone());
        let session = Session::new(identity, start, (client, header), self.desk.clone());
        known.insert(key, session.clone());
        Some(session)
    }

    /// What is stored, if it descends from what is configured; else that. `None`: what is stored
    /// cannot be opened. The configured ones are used up then, and using them again would revoke
    /// the account.
    fn tokens(&self, identity: &Identity, configured: &OauthTokens, refresh: &Secret) -> Option<Tokens> {
        let connection = &identity.connection;
        let stored = self.stored.get(connection).filter(|stored| stored.origin == identity.origin);
        let Some(stored) = stored else {
            // A token that is not there is over.
            let expires_at = if configured.access.is_some() { configured.expires_at } else { Some(0) };
            let times = Timetable::configured(expires_at);
            return Some(Tokens { access: configured.access.clone(), refresh: refresh.clone(), times });
        };
        match opened(&self.vault, connection, stored) {
            Ok(tokens) => Some(Tokens { times: tokens.times.restored(self.owners.clock.now()), ..tokens }),
            Err(error) => {
                tracing::error!(
                    %connection, %error,
                    "the connection cannot be used; bring the store's key back, or log in again"
                );
                None
            }
        }
    }

    /// Whether refreshes run: their answers cannot be had again.
    pub(super) fn flights(&self) -> usize {
        self.desk.flights()
    }

    /// Does what is due, again and again.
    pub(super) async fn sweep(self: Arc<Self>, dialler: Dialler) {
        let mut ticks = tokio::time::interval(SWEEP);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            for (connection, session) in self.active.load().iter() {
                let terminal = terminal(&self.owners, connection);
                if session.is_dead() && terminal.is_none() {
                    // The owner's snapshot may be older than the tokens: a kill -9 costs it an interval.
                    tell(&self.owners, connection, RefreshOutcome::Expired);
                }
                let now = self.owners.clock.now();
                session.sweep(terminal.is_some_and(|terminal| terminal.retry_due(now)), &dialler);
            }
        }
    }
}

impl TokenBook for TokenRoom {
    fn views(&self) -> Vec<TokenView> {
        let mut views: Vec<_> = self.active.load().values().map(|session| session.view()).collect();
        views.sort_by(|a, b| a.connection.cmp(&b.connection));
        views
    }

    fn revive(&self, connection: &ConnectionId) {
        if let Some(session) = self.active.load().get(connection) {
            session.revive();
        }
    }
}

fn terminal(owners: &Owners, connection: &ConnectionId) -> Option<Terminal> {
    owners.router.board.load().connections.get(connection).and_then(|view| view.cooldown.terminal)
}

/// Tells a connection's owner what a refresh says about its account.
fn tell(owners: &Owners, connection: &ConnectionId, outcome: RefreshOutcome) {
    let order = match outcome {
        RefreshOutcome::Renewed => Order::Retried(true),
        RefreshOutcome::Expired if terminal(owners, connection).is_some() => Order::Retried(false),
        RefreshOutcome::Expired => Order::Expire,
        RefreshOutcome::Misconfigured | RefreshOutcome::Failed => return,
    };
    if let Some(shared) = owners.directory.connection(connection) {
        shared.mailbox.post(order);
    }
}

/// Its tokens can be renewed: by whom, and with what.
pub(super) fn renewable<'a>(
    provider: &'a Provider,
    connection: &'a Connection,
) -> Option<(&'a OauthClient, &'a OauthTokens, &'a Secret)> {
    if connection.proxy_lost {
        return None;
    }
    let oauth = provider.oauth.as_ref().filter(|_| provider.class == Class::Oauth)?;
    let tokens = connection.tokens.as_ref()?;
    Some((oauth, tokens, tokens.refresh.as_ref()?))
}

fn client(oauth: &OauthClient, connection: &Connection, proxies: &Proxies) -> Option<Client> {
    let token_url = oauth.token_url.parse().ok()?;
    Some(Client {
        proxy: connection.proxy.clone().or_else(|| proxies.towards(&token_url)),
        token_url,
        client_id: oauth.client_id.clone(),
        client_secret: oauth.client_secret.clone(),
        scope: oauth.scopes.join(" "),
    })
}
