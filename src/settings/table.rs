//! The one list of keys: what exists, its default, its bounds and its meaning.
//!
//! Validation, defaults, environment names, `switchtower settings` and the table in
//! README all come from here; a key that is not listed does not exist. In a key,
//! `[]` stands for one entry of a list and `*` for a name that the operator chooses.
//! It is a list, so the house limit on length does not bind it.

use super::kind::{Items, Kind, Shape};
use policy::time::{DAY, HOUR, MINUTE, SECOND};

/// One key of the config file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// Its path, for example `server.listen` or `providers[].base_url`.
    pub key: &'static str,
    /// What it may hold.
    pub kind: Kind,
    /// Its value when absent; empty: none; [`REQUIRED`]: it must be given.
    pub default: &'static str,
    /// The unit of the value; empty when it says so itself.
    pub unit: &'static str,
    /// One line of meaning.
    pub doc: &'static str,
    /// The guide's environment variable, weaker than `SWITCHTOWER__...`, stronger than the file.
    pub env: Option<&'static str>,
    /// Whether a new value needs a restart.
    pub restart: bool,
}

/// The default of a key that must be given.
pub const REQUIRED: &str = "(required)";

/// Sections that exist without keys.
pub(super) const BARE_SECTIONS: &[&str] = &["settings"];

/// Sections that the management API may set.
const STORABLE: &[&str] = &["resilience.", "settings."];

/// Lists of tables whose entry may be the bare text of one key.
pub(super) const SHORTHANDS: &[(&str, &str)] = &[
    ("providers[].models[]", "providers[].models[].id"),
    ("combos[].targets[]", "combos[].targets[].model"),
];

impl Row {
    const fn restart(mut self) -> Self {
        self.restart = true;
        self
    }

    const fn env(mut self, name: &'static str) -> Self {
        self.env = Some(name);
        self
    }

    /// Whether the key is one of a section, not of a list or a named table.
    pub fn is_scalar(&self) -> bool {
        !self.key.contains(['[', '*'])
    }

    /// Whether the management API may set it.
    pub fn is_storable(&self) -> bool {
        !self.key.contains('[') && STORABLE.iter().any(|section| self.key.starts_with(section))
    }

    /// `SWITCHTOWER__SECTION__KEY`, for keys of sections.
    pub fn variable(&self) -> Option<String> {
        self.is_scalar().then(|| format!("SWITCHTOWER__{}", self.key.to_ascii_uppercase().replace('.', "__")))
    }
}

const fn row(
    key: &'static str,
    kind: Kind,
    default: &'static str,
    unit: &'static str,
    doc: &'static str,
) -> Row {
    Row { key, kind, default, unit, doc, env: None, restart: false }
}

/// Every key of the config file, in the order of the reference file.
pub fn table() -> &'static [Row] {
    ROWS
}

/// The named table that a key stands in: `a.b.*` of `a.b.*.c`.
pub(super) fn above(key: &'static str) -> &'static str {
    key.find('*').map_or("", |at| &key[..=at])
}

/// The row of a key.
pub(super) fn find(key: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.key == key)
}

const CLASSES: &[&str] = &["oauth", "apikey", "local"];
const FORMATS: &[&str] = &["openai", "anthropic", "responses", "gemini"];
const AUTH_HEADERS: &[&str] = &["authorization: Bearer", "x-api-key", "x-goog-api-key", "api-key"];
/// `lease:exclusive` is known, and refused with a reason of its own.
const SCOPES: &[&str] = &["inference", "manage", "lease:exclusive"];

const FLAG: Kind = Kind::Flag;
const ID: Kind = Kind::Text(Shape::Id);
const THRESHOLD: Kind = Kind::Whole(1, 1_000);
const RESET: Kind = Kind::Millis(SECOND, DAY);
const COOLDOWN: Kind = Kind::Millis(0, DAY);
const STEPS: Kind = Kind::Whole(0, 32);
const MESSAGES: Kind = Kind::Whole(1, 1_000_000);
const DIAL_LIMIT: Kind = Kind::Span(1, HOUR);
const ANSWER_LIMIT: Kind = Kind::Span(1, DAY);
const RATE: Kind = Kind::Whole(0, 1_000_000_000);
const PRICE: Kind = Kind::Number(0.0, 1_000_000.0);

#[rustfmt::skip] // one row, one line
const ROWS: &[Row] = &[
    // [server]
    row("server.listen", Kind::Text(Shape::Address), "127.0.0.1:20128", "", "where clients connect").restart(),
    row("server.workers", Kind::Whole(0, 1_024), "0", "threads", "HTTP worker threads; 0 = one per core").restart(),
    row("server.max_body", Kind::Size(1 << 10, 4 << 30), "32MiB", "", "largest request body"),
    row("server.header_timeout", Kind::Span(1, HOUR), "10s", "", "how long a client may take to send its request head").restart(),
    row("server.write_stall_timeout", Kind::Span(1, HOUR), "60s", "", "how long a client may stop reading an answer").restart(),
    row("server.shutdown_grace", Kind::Span(0, DAY), "30s", "", "how long requests in flight may go on after SIGTERM"),
    row("server.require_api_key", FLAG, "false", "", "whether clients need a key of [[keys]]; forced when listen is not a loopback address"),
    row("server.max_retry_after", Kind::Span(0, 30 * DAY), "0s", "", "cap of the Retry-After header that clients see; 0s = none"),
    // [admin]
    row("admin.token", Kind::Secret, "env:SWITCHTOWER_ADMIN_TOKEN", "", "token of the management API; missing: one is made at first start and shown once"),
    row("admin.listen", Kind::Text(Shape::OptionalAddress), "", "", "address of the management API; empty: the one of [server]").restart(),
    // [store]
    row("store.path", Kind::Text(Shape::Path), "data", "", "folder of the database; relative to this file's folder").restart(),
    row("store.flush_interval", Kind::Span(1, MINUTE), "250ms", "", "the most state that a kill -9 may cost").restart(),
    // [mailbox]
    row("mailbox.router", MESSAGES, "4096", "messages", "waiting at the router; a full mailbox refuses, it never drops"),
    row("mailbox.provider", MESSAGES, "512", "messages", "waiting at each provider"),
    row("mailbox.connection", MESSAGES, "1024", "messages", "waiting at each connection"),
    row("mailbox.lockout", MESSAGES, "64", "messages", "waiting at each lockout"),
    row("mailbox.store", MESSAGES, "4096", "messages", "waiting at the store"),
    // [upstream]
    row("upstream.connect_timeout", DIAL_LIMIT, "10s", "", "limit on name lookup, TCP and TLS together"),
    row("upstream.first_byte_timeout", ANSWER_LIMIT, "600s", "", "limit from the sent request to the first byte of the answer"),
    row("upstream.pool_idle", Kind::Span(0, HOUR), "15s", "", "how long an idle connection is kept; shorter than what providers keep"),
    row("upstream.pool_lifetime", Kind::Span(1, DAY), "10m", "", "how old a kept connection may become"),
    row("upstream.ca_file", Kind::Text(Shape::OptionalPath), "", "", "extra root certificates (PEM); relative to this file's folder"),
    // [demo]
    row("demo.enabled", FLAG, "false", "", "the scripted upstream with its providers, connections and combos").restart(),
    row("demo.listen", Kind::Text(Shape::Address), "127.0.0.1:0", "", "where it listens; port 0 = any free one").restart(),
    row("demo.log", FLAG, "true", "", "keep the requests it received for GET /demo/log").restart(),
    // [log], [metrics]
    row("log.access", FLAG, "false", "", "one line per request on stderr"),
    row("metrics.public", FLAG, "false", "", "/metrics answers without management auth"),
    // [resilience.provider_breaker.*]
    row("resilience.provider_breaker.oauth.failure_threshold", THRESHOLD, "8", "failures", "failures that open the breaker of a provider")
        .env("OMNIROUTE_CIRCUIT_BREAKER_OAUTH_THRESHOLD"),
    row("resilience.provider_breaker.oauth.degradation_threshold", THRESHOLD, "5", "failures", "failures that degrade it; below failure_threshold")
        .env("OMNIROUTE_PROVIDER_BREAKER_OAUTH_DEGRADATION_THRESHOLD"),
    row("resilience.provider_breaker.oauth.reset_timeout_ms", RESET, "60000", "ms", "how long it stays open before a probe")
        .env("OMNIROUTE_CIRCUIT_BREAKER_OAUTH_RESET_MS"),
    row("resilience.provider_breaker.apikey.failure_threshold", THRESHOLD, "12", "failures", "failures that open the breaker of a provider")
        .env("OMNIROUTE_CIRCUIT_BREAKER_API_KEY_THRESHOLD"),
    row("resilience.provider_breaker.apikey.degradation_threshold", THRESHOLD, "7", "failures", "failures that degrade it; below failure_threshold")
        .env("OMNIROUTE_PROVIDER_BREAKER_API_KEY_DEGRADATION_THRESHOLD"),
    row("resilience.provider_breaker.apikey.reset_timeout_ms", RESET, "30000", "ms", "how long it stays open before a probe")
        .env("OMNIROUTE_CIRCUIT_BREAKER_API_KEY_RESET_MS"),
    row("resilience.provider_breaker.local.failure_threshold", THRESHOLD, "2", "failures", "failures that open the breaker of a provider")
        .env("OMNIROUTE_CIRCUIT_BREAKER_LOCAL_THRESHOLD"),
    row("resilience.provider_breaker.local.degradation_threshold", THRESHOLD, "2", "failures", "failures that degrade it; absent: 60 % of failure_threshold"),
    row("resilience.provider_breaker.local.reset_timeout_ms", RESET, "15000", "ms", "how long it stays open before a probe")
        .env("OMNIROUTE_CIRCUIT_BREAKER_LOCAL_RESET_MS"),
    // [resilience.connection_cooldown.*]
    row("resilience.connection_cooldown.oauth.base_cooldown_ms", COOLDOWN, "5000", "ms", "first rest of a failed connection; each repetition doubles it"),
    row("resilience.connection_cooldown.oauth.use_upstream_retry_hints", FLAG, "true", "", "a wait stated by the provider replaces the computed one"),
    row("resilience.connection_cooldown.oauth.max_backoff_steps", STEPS, "8", "doublings", "how often the rest may double"),
    row("resilience.connection_cooldown.apikey.base_cooldown_ms", COOLDOWN, "3000", "ms", "first rest of a failed connection; each repetition doubles it"),
    row("resilience.connection_cooldown.apikey.use_upstream_retry_hints", FLAG, "true", "", "a wait stated by the provider replaces the computed one"),
    row("resilience.connection_cooldown.apikey.max_backoff_steps", STEPS, "5", "doublings", "how often the rest may double"),
    row("resilience.connection_cooldown.local.base_cooldown_ms", COOLDOWN, "3000", "ms", "first rest of a failed connection; absent: as apikey"),
    row("resilience.connection_cooldown.local.use_upstream_retry_hints", FLAG, "true", "", "a wait stated by the provider replaces the computed one; absent: as apikey"),
    row("resilience.connection_cooldown.local.max_backoff_steps", STEPS, "5", "doublings", "how often the rest may double; absent: as apikey"),
    // [resilience.model_lockout]
    row("resilience.model_lockout.enabled", FLAG, "false", "", "lock a model on a connection when a combo fails with one of error_codes"),
    row("resilience.model_lockout.error_codes", Kind::Codes, "403, 404, 429, 502, 503, 504", "", "those statuses; empty: the default"),
    row("resilience.model_lockout.base_cooldown_ms", Kind::Millis(5 * SECOND, 10 * MINUTE), "120000", "ms", "first lock of a model"),
    row("resilience.model_lockout.max_cooldown_ms", Kind::Millis(5 * SECOND, HOUR), "1800000", "ms", "longest lock; also the longest computed rest of a connection"),
    row("resilience.model_lockout.max_backoff_steps", Kind::Whole(0, 20), "10", "doublings", "how often the lock may double"),
    row("resilience.model_lockout.use_exponential_backoff", FLAG, "true", "", "whether it doubles at all"),
    // [resilience.provider_quota_overrides.PROVIDER]
    row("resilience.provider_quota_overrides.*.rate_limit_cooldown_seconds", Kind::Whole(1, 21_600), "", "s", "rest after a 429 without a stated wait, for one provider; absent: computed"),
    // [[providers]]
    row("providers[].id", ID, REQUIRED, "", "its name; models are asked for as ID/MODEL"),
    row("providers[].auth", Kind::Choice(CLASSES), "apikey", "", "oauth | apikey | local: chooses the resilience numbers"),
    row("providers[].format", Kind::List(Items::Of(FORMATS)), REQUIRED, "", "openai | anthropic | responses | gemini, or a list of them"),
    row("providers[].base_url", Kind::Text(Shape::Url), REQUIRED, "", "http or https, with or without the version"),
    row("providers[].per_model_quota", FLAG, "false", "", "a quota belongs to one model, not to the whole account"),
    row("providers[].passthrough_models", FLAG, "false", "", "models that are not listed pass as well"),
    row("providers[].headers", Kind::Headers, "", "", "extra request headers"),
    row("providers[].auth_header", Kind::Choice(AUTH_HEADERS), "", "", "how the credential is sent; absent: as the format does"),
    row("providers[].oauth.token_url", Kind::Text(Shape::Url), "", "", "where access tokens are renewed; without it they are used until they expire"),
    row("providers[].oauth.client_id", Kind::Text(Shape::Plain), "", "", "who asks there; required with token_url"),
    row("providers[].oauth.client_secret", Kind::Secret, "", "", "env:NAME, file:PATH or the secret; absent: a public client"),
    row("providers[].oauth.scopes", Kind::List(Items::Scopes), "", "", "what is asked for; empty: what the refresh token stands for"),
    row("providers[].timeouts.connect", DIAL_LIMIT, "", "", "instead of upstream.connect_timeout"),
    row("providers[].timeouts.first_byte", ANSWER_LIMIT, "", "", "instead of upstream.first_byte_timeout"),
    row("providers[].models[].id", Kind::Text(Shape::Plain), REQUIRED, "", "a model as the provider names it; without `models` any passes"),
    row("providers[].models[].context_window", Kind::Whole(1, 1_000_000_000), "", "tokens", "its context"),
    row("providers[].models[].input_price", PRICE, "", "USD per million tokens", "price of input"),
    row("providers[].models[].output_price", PRICE, "", "USD per million tokens", "price of output"),
    // [[connections]]
    row("connections[].id", ID, REQUIRED, "", "its name"),
    row("connections[].provider", ID, REQUIRED, "", "the provider it belongs to"),
    row("connections[].name", Kind::Text(Shape::Name), "", "", "what people call it; absent: its id"),
    row("connections[].credential", Kind::Secret, "", "", "env:NAME, file:PATH or the credential; only local providers may go without"),
    row("connections[].access_token", Kind::Secret, "", "", "instead of credential, for auth = oauth: env:NAME, file:PATH or the token"),
    row("connections[].refresh_token", Kind::Secret, "", "", "renews it at the provider's oauth.token_url"),
    row("connections[].expires_at", Kind::Text(Shape::Instant), "", "", "when the access token ends, RFC 3339; absent: unknown"),
    row("connections[].priority", Kind::Whole(0, 1_000_000), "", "", "smaller is preferred; absent: one after the provider's last"),
    row("connections[].active", FLAG, "true", "", "whether it may be used"),
    row("connections[].max_concurrent", Kind::Whole(0, 100_000), "0", "requests", "requests at once; 0 = no cap"),
    row("connections[].rate_limit_overrides.rpm", RATE, "", "requests", "requests per minute"),
    row("connections[].rate_limit_overrides.rpd", RATE, "", "requests", "requests per day"),
    row("connections[].rate_limit_overrides.tpm", RATE, "", "tokens", "tokens per minute"),
    row("connections[].rate_limit_overrides.tpd", RATE, "", "tokens", "tokens per day"),
    row("connections[].rate_limit_overrides.min_time_ms", Kind::Millis(0, MINUTE), "", "ms", "pause between two starts"),
    row("connections[].rate_limit_overrides.max_concurrent", Kind::Whole(0, 10_000), "", "requests", "requests at once"),
    row("connections[].rate_limit_overrides.max_wait_ms", Kind::Millis(0, DAY), "", "ms", "longest wait in the queue"),
    row("connections[].rate_limit_overrides.execution_max_wait_ms", Kind::Millis(0, DAY), "", "ms", "longest run of a queued request"),
    row("connections[].rate_limit_overrides.model_concurrency", Kind::Counts(1, 10_000), "", "requests", "requests at once, by model"),
    row("connections[].models", Kind::List(Items::Patterns), "*", "", "models it may serve; * stands for any text"),
    row("connections[].headers", Kind::Headers, "", "", "extra request headers; they win over the provider's"),
    row("connections[].timeouts.connect", DIAL_LIMIT, "", "", "instead of the provider's"),
    row("connections[].timeouts.first_byte", ANSWER_LIMIT, "", "", "instead of the provider's"),
    row("connections[].provider_specific.disable_cooling", FLAG, "false", "", "failures never make it rest"),
    row("connections[].provider_specific.passthrough_models", FLAG, "", "", "a quota belongs to one model, not to this account; absent: the provider's per_model_quota"),
    row("connections[].provider_specific.low_priority_mode", FLAG, "false", "", "Claude accounts may accept the slower lane when they are at their wall"),
    row("connections[].provider_specific.auto_limit_reset", FLAG, "false", "", "Claude accounts may spend a reset of their session limit"),
    row("connections[].provider_specific.organization_uuid", Kind::Text(Shape::Plain), "", "", "organisation of a Claude account; absent: learnt from its answers"),
    row("connections[].provider_specific.rotation_overrides.rate_limit_reset_seconds", Kind::Whole(1, 2_592_000), "", "s", "rest after a 429 without a stated wait"),
    row("connections[].provider_specific.rotation_overrides.rotate_on_400", FLAG, "", "", "whether a 400 goes to the next connection"),
    row("connections[].provider_specific.rotation_overrides.rotate_on_429", FLAG, "", "", "whether a 429 goes to the next connection"),
    row("connections[].provider_specific.rotation_overrides.rotate_on_500", FLAG, "", "", "whether a 5xx but 502 goes to the next connection"),
    row("connections[].provider_specific.rotation_overrides.rotate_on_502", FLAG, "", "", "whether a 502 goes to the next connection"),
    row("connections[].provider_specific.rotation_overrides.error_400_threshold", THRESHOLD, "", "failures", "how many of them it takes"),
    row("connections[].provider_specific.rotation_overrides.error_400_window_seconds", Kind::Whole(1, 86_400), "", "s", "within how long"),
    row("connections[].provider_specific.rotation_overrides.error_429_threshold", THRESHOLD, "", "failures", "how many of them it takes"),
    row("connections[].provider_specific.rotation_overrides.error_429_window_seconds", Kind::Whole(1, 86_400), "", "s", "within how long"),
    row("connections[].provider_specific.rotation_overrides.error_500_threshold", THRESHOLD, "", "failures", "how many of them it takes"),
    row("connections[].provider_specific.rotation_overrides.error_500_window_seconds", Kind::Whole(1, 86_400), "", "s", "within how long"),
    row("connections[].provider_specific.rotation_overrides.error_502_threshold", THRESHOLD, "", "failures", "how many of them it takes"),
    row("connections[].provider_specific.rotation_overrides.error_502_window_seconds", Kind::Whole(1, 86_400), "", "s", "within how long"),
    // [[combos]]
    row("combos[].name", Kind::Text(Shape::ComboName), REQUIRED, "", "what clients ask for"),
    row("combos[].strategy", Kind::Text(Shape::Plain), "priority", "", "how targets are ordered"),
    row("combos[].targets[].model", Kind::Text(Shape::Plain), REQUIRED, "", "provider/model"),
    row("combos[].targets[].weight", Kind::Number(0.0, 100.0), "0", "", "share of the draw"),
    row("combos[].targets[].connection", ID, "", "", "the one connection it is pinned to"),
    row("combos[].config.max_retries", Kind::Whole(0, 10), "1", "retries", "retries of the same target"),
    row("combos[].config.retry_delay_ms", Kind::Millis(0, MINUTE), "2000", "ms", "pause before such a retry"),
    row("combos[].config.fallback_delay_ms", Kind::Millis(0, MINUTE), "0", "ms", "pause before the next target"),
    row("combos[].config.target_timeout_ms", Kind::Millis(0, 2_147_483_647), "0", "ms", "limit of one target; 0 = unset"),
    row("combos[].config.failover_before_retry", FLAG, "true", "", "other targets come before a retry"),
    row("combos[].config.slow_start_ms", Kind::Millis(0, HOUR), "0", "ms", "how long a recovered connection is spared; 0 = off"),
    // [[keys]]
    row("keys[].name", Kind::Text(Shape::Plain), REQUIRED, "", "its name in logs and lists"),
    row("keys[].key", Kind::Secret, REQUIRED, "", "env:NAME, file:PATH or the key"),
    row("keys[].scopes", Kind::List(Items::Of(SCOPES)), "inference", "", "inference | manage"),
    row("keys[].allowed_connections", Kind::List(Items::Ids), "", "", "the only connections it may use; empty: all"),
];
