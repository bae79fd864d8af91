//! The settings of the process itself, as they are meant (not as they were typed).
//!
//! One struct per section of the config file; every number has passed its bounds.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use policy::catalogue::matches;
use policy::time::Millis;

use super::{ErrorDefault, ErrorRule, Secret};

/// `[server]`: where clients connect and what they may cost.
#[derive(Clone, Debug, PartialEq)]
pub struct Server {
    /// Where clients connect.
    pub listen: SocketAddr,
    /// HTTP worker threads; 0 = one per core.
    pub workers: usize,
    /// Largest request body, in bytes.
    pub max_body: usize,
    /// How long a client may take to send its request head.
    pub header_timeout: Duration,
    /// How long a client may stop reading an answer.
    pub write_stall_timeout: Duration,
    /// How long requests in flight may go on after SIGTERM.
    pub shutdown_grace: Duration,
    /// As typed; [`Server::keys_required`] is what counts.
    pub require_api_key: bool,
    /// Cap of the `Retry-After` header that clients see; zero = none.
    pub max_retry_after: Duration,
}

impl Server {
    /// Whether a client needs a known key: when asked for, and always when others
    /// than this machine can connect.
    pub fn keys_required(&self) -> bool {
        self.require_api_key || !self.listen.ip().to_canonical().is_loopback()
    }
}

/// `[admin]`: the management API.
#[derive(Clone, Debug, PartialEq)]
pub struct Admin {
    /// Management token; `None`: one is made at first start.
    pub token: Option<Secret>,
    /// An address of its own; `None`: the one of [`Server::listen`].
    pub listen: Option<SocketAddr>,
}

/// `[store]`: what survives a restart.
#[derive(Clone, Debug, PartialEq)]
pub struct Store {
    /// The database's folder; a relative one was joined to the config file's folder.
    pub path: PathBuf,
    /// The most state that a kill -9 may cost.
    pub flush_interval: Duration,
}

/// `[mailbox]`: messages an actor may have waiting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mailbox {
    /// Messages waiting at the router.
    pub router: usize,
    /// Messages waiting at each provider.
    pub provider: usize,
    /// Messages waiting at each connection.
    pub connection: usize,
    /// Messages waiting at each lockout.
    pub lockout: usize,
    /// Messages waiting at the store.
    pub store: usize,
}

/// `[upstream]`: how providers are dialled.
#[derive(Clone, Debug, PartialEq)]
pub struct Upstream {
    /// Limit on name lookup, TCP and TLS together.
    pub connect_timeout: Duration,
    /// Limit from the sent request to the first byte of the answer.
    pub first_byte_timeout: Duration,
    /// Limit to all of an answer that is not streamed, from its head on; zero: none; `None`: as long as
    /// its first byte may take.
    pub body_timeout: Option<Duration>,
    /// How long an idle connection is kept.
    pub pool_idle: Duration,
    /// How old a kept connection may become.
    pub pool_lifetime: Duration,
    /// Extra root certificates (PEM); relative to the config file's folder.
    pub ca_file: Option<PathBuf>,
}

/// `[demo]`: the scripted upstream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Demo {
    /// Whether it runs, with its providers, connections and combos.
    pub enabled: bool,
    /// Where it listens; port 0 = any free one.
    pub listen: SocketAddr,
    /// Whether it keeps the requests it received for `GET /demo/log`.
    pub log: bool,
}

/// `[log]`: what is written to stderr.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Log {
    /// One line per request.
    pub access: bool,
}

/// `[formats]`: what answers look like.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Formats {
    /// The `model` of an answer is the one that was asked for (decision 26b).
    pub requested_model: bool,
    /// The same of single names as clients write them, or of patterns (FC-123); the first that fits
    /// counts.
    pub requested_by_name: Vec<(String, bool)>,
}

impl Formats {
    /// Whether an answer to who asked for this name says it.
    pub fn says_requested(&self, name: &str) -> bool {
        let own = self.requested_by_name.iter().find(|(pattern, _)| matches(pattern, name));
        own.map_or(self.requested_model, |(_, requested)| *requested)
    }
}

/// `[metrics]`: the Prometheus page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metrics {
    /// Whether `/metrics` answers without management auth.
    pub public: bool,
}

/// `[settings]`: what the guide keeps beside `resilienceSettings`, as far as it acts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Behaviour {
    /// What an error of a provider means, by its id in lower case; first match wins.
    pub provider_error_rules: BTreeMap<String, Vec<ErrorRule>>,
    /// What any other error of a provider means, by its id in lower case.
    pub provider_error_defaults: BTreeMap<String, ErrorDefault>,
    /// Texts that say that an account is banned, besides the built-in ones.
    pub custom_banned_signals: Vec<String>,
    /// Which banned accounts are switched off.
    pub auto_disable_banned: AutoDisable,
    /// Hour (UTC) at which daily quotas return; `None`: midnight.
    pub quota_reset_hour: Option<u32>,
    /// Prompts go where they are likely to be cached.
    pub prompt_cache_affinity: bool,
    /// How an account of a provider is chosen.
    pub fallback_strategy: String,
    /// How long a session stays with its account, ms; 0: not at all.
    pub session_affinity_ttl_ms: Millis,
    /// A session is also known by its first text.
    pub session_affinity_from_text: bool,
    /// Requests in a row for one account under `round-robin`.
    pub sticky_round_robin_limit: u32,
    /// Provider and model that answer when the money is out; `None`: switched off.
    pub emergency_fallback: Option<String>,
}

/// Which banned accounts are switched off (core 3.6 P18).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AutoDisable {
    /// None.
    Off,
    /// All.
    All,
    /// Subscriptions only.
    Subscription,
}
