//! Providers, connections and client keys, as they are meant.
//!
//! References between them have been checked: a connection's provider exists, a
//! target's provider exists, a pinned connection belongs to its target's provider.

use std::sync::Arc;

use policy::catalogue::Abilities;
use policy::ids::{Class, ConnectionId, ModelId, ProviderId};
use policy::keys::{Limits, Reach, Schedule, Standing};
use policy::preflight::AccountCutoff;
use policy::rotation::{PerKind, SwitchOverride};
use policy::time::Millis;

use super::flow::RateLimitOverrides;
use super::stored_key::KeyHash;
use super::stream::{OwnWatchdog, Timeouts};
use super::{Proxy, Secret};

/// `[[providers]]`: an upstream vendor or endpoint family.
#[derive(Clone, Debug, PartialEq)]
pub struct Provider {
    /// Its name.
    pub id: ProviderId,
    /// `auth`: chooses the resilience numbers.
    pub class: Class,
    /// The dialects it speaks, the preferred one first.
    pub formats: Vec<Format>,
    /// http or https, with or without the version; no slash at the end.
    pub base_url: String,
    /// Whether a quota belongs to one model and not to the whole account.
    pub per_model_quota: bool,
    /// Whether models that are not listed pass as well.
    pub passthrough_models: bool,
    /// The models it offers; `None`: any.
    pub models: Option<Vec<Model>>,
    /// Most of its connections that may rest at once, percent (decision 33).
    pub max_benched_percent: u32,
    /// Extra request headers, in file order.
    pub headers: Vec<(String, String)>,
    /// How the credential is sent; `None`: as its format does.
    pub auth_header: Option<AuthHeader>,
    /// Where its access tokens are renewed; `None`: nowhere.
    pub oauth: Option<OauthClient>,
    /// How long its answers may take.
    pub timeouts: Timeouts,
    /// Whether and when its streams are too slow.
    pub watchdog: OwnWatchdog,
    /// Its headers were sealed with another key: nobody is called without them.
    pub lost: bool,
    /// What was given, under the names of the management API, without what is sealed.
    pub given: serde_json::Map<String, serde_json::Value>,
    /// Who made it.
    pub source: Source,
    /// Who made the one that a stored one stands in the place of.
    pub replaces: Option<Source>,
}

/// `[[providers]].oauth`: who renews access tokens, and where.
#[derive(Clone, Debug, PartialEq)]
pub struct OauthClient {
    /// The token endpoint.
    pub token_url: String,
    /// Who asks.
    pub client_id: String,
    /// `None`: a public client.
    pub client_secret: Option<Secret>,
    /// What is asked for; empty: what the refresh token stands for.
    pub scopes: Vec<String>,
}

/// One model of a provider.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// As the provider names it.
    pub id: ModelId,
    /// Tokens of context.
    pub context_window: Option<u64>,
    /// US dollars per million input tokens.
    pub input_price: Option<f64>,
    /// US dollars per million output tokens.
    pub output_price: Option<f64>,
    /// The most it says, tokens.
    pub max_output: Option<u64>,
    /// What it can do; `None`: unknown.
    pub abilities: Option<Abilities>,
    /// How long its answers may take; instead of the provider's.
    pub timeouts: Timeouts,
    /// Whether and when its streams are too slow; instead of the provider's.
    pub watchdog: OwnWatchdog,
}

/// A dialect of HTTP API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// OpenAI chat completions and embeddings.
    Openai,
    /// Anthropic messages.
    Anthropic,
    /// OpenAI responses.
    Responses,
    /// Gemini generateContent.
    Gemini,
}

impl Format {
    /// Every format with its text in the config.
    pub const ALL: [(Self, &'static str); 4] = [
        (Self::Openai, "openai"),
        (Self::Anthropic, "anthropic"),
        (Self::Responses, "responses"),
        (Self::Gemini, "gemini"),
    ];
}

/// The request header that carries the credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AuthHeader {
    /// `authorization: Bearer`
    Bearer,
    /// `x-api-key`
    XApiKey,
    /// `x-goog-api-key`
    XGoogApiKey,
    /// `api-key`
    ApiKey,
}

impl AuthHeader {
    /// Every way with its text in the config.
    pub const ALL: [(Self, &'static str); 4] = [
        (Self::Bearer, "authorization: Bearer"),
        (Self::XApiKey, "x-api-key"),
        (Self::XGoogApiKey, "x-goog-api-key"),
        (Self::ApiKey, "api-key"),
    ];
}

/// What a Claude account has opted into (rules 5).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WallOptions {
    /// It may accept the slower lane.
    pub low_priority_mode: bool,
    /// It may spend a reset of its session limit.
    pub auto_limit_reset: bool,
    /// Its organisation; `None`: as its answers name it.
    pub organization: Option<String>,
}

/// `[[connections]]`: one credential at one provider.
#[derive(Clone, Debug, PartialEq)]
pub struct Connection {
    /// Its id.
    pub id: ConnectionId,
    /// What people call it.
    pub name: String,
    /// Where it belongs.
    pub provider: ProviderId,
    /// `None`: its variable or file is missing, so it is inactive. Empty: its provider
    /// is `auth = "local"` and no credential was given, so none is sent.
    pub credential: Option<Secret>,
    /// The tokens of an OAuth account; its access token is the `credential` too.
    pub tokens: Option<OauthTokens>,
    /// Smaller is preferred.
    pub priority: u32,
    /// Whether it may be used.
    pub active: bool,
    /// Requests at once; 0 = no cap.
    pub max_concurrent: u32,
    /// What it has instead of the numbers of `resilience.request_queue`.
    pub rate_limit: RateLimitOverrides,
    /// Models it may serve; `*` stands for any text.
    pub models: Vec<String>,
    /// Extra request headers, in file order; they win over the provider's.
    pub headers: Vec<(String, String)>,
    /// The outbound proxy it goes through; `None`: as the environment says.
    pub proxy: Option<Arc<Proxy>>,
    /// A proxy is named and cannot be had. Whatever left would leave by another way than its owner
    /// wants: nothing does.
    pub proxy_lost: bool,
    /// How long its answers may take; instead of the model's and the provider's.
    pub timeouts: Timeouts,
    /// Whether and when its streams are too slow; instead of the model's and the provider's.
    pub watchdog: OwnWatchdog,
    /// Rest after a 429 without a stated wait.
    pub rate_limit_delay_ms: Option<u64>,
    /// From where on it is left out for its quota.
    pub cutoff: AccountCutoff,
    /// Whether failures never make it rest.
    pub disable_cooling: bool,
    /// What it may do at the usage wall of a Claude account.
    pub wall: WallOptions,
    /// When a failure of it moves a request on, where that differs from the others (core 3.5).
    pub rotation: PerKind<SwitchOverride>,
    /// Whether a quota belongs to one model and not to this account; `None`: as the provider says.
    pub passthrough_models: Option<bool>,
    /// `rateLimitOverrides` and `providerSpecificData` as they were given, under the names of the
    /// management API; what nothing acts on yet is only here.
    pub kept: serde_json::Map<String, serde_json::Value>,
    /// Who made it.
    pub source: Source,
    /// Who made the one that a stored one stands in the place of.
    pub replaces: Option<Source>,
}

/// What an OAuth connection was given instead of a credential; at least one of the two.
#[derive(Clone, Debug, PartialEq)]
pub struct OauthTokens {
    /// Sent with requests until it ends.
    pub access: Option<Secret>,
    /// Renews it.
    pub refresh: Option<Secret>,
    /// When the access token ends; `None`: unknown.
    pub expires_at: Option<Millis>,
}

/// `[[keys]]`: what a client shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Key {
    /// Its name in logs and lists.
    pub name: String,
    /// The key itself.
    pub key: KeySecret,
    /// What it may do.
    pub scopes: Vec<Scope>,
    /// The only connections it may use; empty = all.
    pub allowed_connections: Vec<ConnectionId>,
    /// Of these, those that are tried before the others.
    pub preferred_connections: Vec<ConnectionId>,
    /// It may only ask for the models of its quota pools (flow 2.6).
    pub quota_only: bool,
    /// Whether it stands, what it reaches, and how much of it.
    pub rules: KeyRules,
    /// What was given, under the names of the management API, without the key.
    pub given: serde_json::Map<String, serde_json::Value>,
    /// Who made it.
    pub source: Source,
    /// Who made the one that a stored one stands in the place of.
    pub replaces: Option<Source>,
}

/// What opens a client key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeySecret {
    /// The file says it.
    Plain(Secret),
    /// It was made here, and only its hash is kept.
    Hashed(KeyHash),
    /// Nothing: the file that had it has it no more.
    Lost,
}

/// What a key is held to (routing 10.5).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KeyRules {
    /// Whether it may be used at all.
    pub standing: Standing,
    /// The models and combos it may ask for.
    pub reach: Reach,
    /// The only routes it may call, such as `/v1/messages`; empty = all.
    pub endpoints: Vec<String>,
    /// When it may be used; `None`: always.
    pub schedule: Option<Schedule>,
    /// How much it may do.
    pub limits: Limits,
    /// How long each of its requests waits first, ms.
    pub throttle_ms: Millis,
    /// A request whose body does not say so streams where its `Accept` asks for events.
    pub streams_by_accept: bool,
    /// Its requests leave no line in the access log.
    pub no_log: bool,
}

/// What a client key may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// Ask models.
    Inference,
    /// Use the management API.
    Manage,
    /// Lease connections, and ask models under such a lease only (rules 7).
    Lease,
}

/// Who made an entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// The config file.
    File,
    /// The management API.
    Stored,
    /// The scripted upstream.
    Demo,
}
