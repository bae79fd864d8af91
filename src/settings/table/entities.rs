//! Rows of the lists: providers, connections, keys.

use policy::time::{DAY, MINUTE, SECOND};

use super::{ANSWER_LIMIT, DIAL_LIMIT, FLAG, REQUIRED, Row, STREAM_LIMIT, row};
use crate::settings::kind::{Data, Items, Kind, Shape};

const CLASSES: &[&str] = &["oauth", "apikey", "local"];
const FORMATS: &[&str] = &["openai", "anthropic", "responses", "gemini"];
const CAPABILITIES: &[&str] = &["tools", "vision", "structured"];
const AUTH_HEADERS: &[&str] = &["authorization: Bearer", "x-api-key", "x-goog-api-key", "api-key"];
const SCOPES: &[&str] = &["inference", "manage", "lease:exclusive"];
/// Routes of clients, as a key may be kept to them.
const ENDPOINTS: &[&str] = &[
    "/v1/chat/completions",
    "/v1/messages",
    "/v1/messages/count_tokens",
    "/v1/responses",
    "/v1/embeddings",
    "/v1/models",
];
const ID: Kind = Kind::Text(Shape::Id);
const RATE: Kind = Kind::Whole(0, 1_000_000_000);
const THRESHOLD: Kind = Kind::Whole(1, 1_000);
const WINDOW_SECONDS: Kind = Kind::Whole(1, 86_400);
const PRICE: Kind = Kind::Number(0.0, 1_000_000.0);
/// Bounds of flow 6.4, as those of the section.
const WARMUP: Kind = Kind::Span(0, 600 * SECOND);
const WINDOW: Kind = Kind::Span(SECOND, 600 * SECOND);
const LEAST_BYTES: Kind = Kind::Whole(1, 1_000_000);

#[rustfmt::skip] // one row, one line
pub(super) const ROWS: &[Row] = &[
    // [[providers]]
    row("providers[].id", ID, REQUIRED, "", "its name; models are asked for as ID/MODEL"),
    row("providers[].auth", Kind::Choice(CLASSES), "apikey", "", "oauth | apikey | local: chooses the resilience numbers"),
    row("providers[].format", Kind::List(Items::Of(FORMATS)), REQUIRED, "", "openai | anthropic | responses | gemini, or a list of them"),
    row("providers[].base_url", Kind::Text(Shape::Url), REQUIRED, "", "http or https, with or without the version"),
    row("providers[].per_model_quota", FLAG, "false", "", "a quota belongs to one model, not to the whole account"),
    row("providers[].passthrough_models", FLAG, "false", "", "models that are not listed pass as well"),
    row("providers[].max_benched_percent", Kind::Whole(0, 100), "100", "%", "most of its connections that may rest at once; rests beyond that are written down and not acted on"),
    row("providers[].headers", Kind::Headers, "", "", "extra request headers"),
    row("providers[].auth_header", Kind::Choice(AUTH_HEADERS), "", "", "how the credential is sent; absent: as the format of the request does"),
    row("providers[].oauth.token_url", Kind::Text(Shape::Url), "", "", "where access tokens are renewed; without it they are used until they expire"),
    row("providers[].oauth.client_id", Kind::Text(Shape::Plain), "", "", "who asks there; required with token_url"),
    row("providers[].oauth.client_secret", Kind::Secret, "", "", "env:NAME, file:PATH or the secret; absent: a public client"),
    row("providers[].oauth.scopes", Kind::List(Items::Scopes), "", "", "what is asked for; empty: what the refresh token stands for"),
    row("providers[].timeouts.connect", DIAL_LIMIT, "", "", "instead of upstream.connect_timeout"),
    row("providers[].timeouts.first_byte", ANSWER_LIMIT, "", "", "instead of upstream.first_byte_timeout"),
    row("providers[].timeouts.body", STREAM_LIMIT, "", "", "instead of upstream.body_timeout"),
    row("providers[].timeouts.first_content", STREAM_LIMIT, "", "", "instead of stream.first_content_timeout"),
    row("providers[].timeouts.content_stall", STREAM_LIMIT, "", "", "instead of stream.content_stall_timeout"),
    row("providers[].timeouts.idle", STREAM_LIMIT, "", "", "instead of stream.idle_timeout"),
    row("providers[].timeouts.total", STREAM_LIMIT, "", "", "instead of stream.total_timeout"),
    row("providers[].timeouts.attempt", STREAM_LIMIT, "", "", "instead of stream.attempt_deadline"),
    row("providers[].watchdog.enabled", FLAG, "", "", "instead of resilience.stream_recovery.throughput_watchdog.enabled"),
    row("providers[].watchdog.warmup", WARMUP, "", "", "instead of resilience.stream_recovery.throughput_watchdog.warmup_ms"),
    row("providers[].watchdog.window", WINDOW, "", "", "instead of resilience.stream_recovery.throughput_watchdog.window_ms"),
    row("providers[].watchdog.min_bytes_per_second", LEAST_BYTES, "", "bytes/s", "instead of resilience.stream_recovery.throughput_watchdog.min_useful_bytes_per_second"),
    row("providers[].watchdog.min_bytes", LEAST_BYTES, "", "bytes", "instead of resilience.stream_recovery.throughput_watchdog.min_useful_bytes"),
    row("providers[].models[].id", Kind::Text(Shape::Plain), REQUIRED, "", "a model as the provider names it; without `models` any passes"),
    row("providers[].models[].context_window", Kind::Whole(1, 1_000_000_000), "", "tokens", "its context"),
    row("providers[].models[].input_price", PRICE, "", "USD per million tokens", "price of input"),
    row("providers[].models[].output_price", PRICE, "", "USD per million tokens", "price of output"),
    row("providers[].models[].max_output", Kind::Whole(1, 1_000_000_000), "", "tokens", "the most it says"),
    row("providers[].models[].capabilities", Kind::List(Items::Among(CAPABILITIES)), "", "", "tools | vision | structured: all that it can do; absent: unknown, and then nothing is held against it"),
    row("providers[].models[].timeouts.first_byte", ANSWER_LIMIT, "", "", "instead of the provider's, for this model"),
    row("providers[].models[].timeouts.body", STREAM_LIMIT, "", "", "instead of the provider's, for this model"),
    row("providers[].models[].timeouts.first_content", STREAM_LIMIT, "", "", "instead of the provider's, for this model"),
    row("providers[].models[].timeouts.content_stall", STREAM_LIMIT, "", "", "instead of the provider's, for this model"),
    row("providers[].models[].timeouts.idle", STREAM_LIMIT, "", "", "instead of the provider's, for this model"),
    row("providers[].models[].timeouts.total", STREAM_LIMIT, "", "", "instead of the provider's, for this model"),
    row("providers[].models[].timeouts.attempt", STREAM_LIMIT, "", "", "instead of the provider's, for this model"),
    row("providers[].models[].watchdog.enabled", FLAG, "", "", "instead of the provider's, for this model"),
    row("providers[].models[].watchdog.warmup", WARMUP, "", "", "instead of the provider's, for this model"),
    row("providers[].models[].watchdog.window", WINDOW, "", "", "instead of the provider's, for this model"),
    row("providers[].models[].watchdog.min_bytes_per_second", LEAST_BYTES, "", "bytes/s", "instead of the provider's, for this model"),
    row("providers[].models[].watchdog.min_bytes", LEAST_BYTES, "", "bytes", "instead of the provider's, for this model"),
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
    row("connections[].rate_limit_overrides.rpm", RATE, "", "requests", "requests per minute, where it has a local limiter; here and below, absent or 0: as resilience.request_queue says"),
    row("connections[].rate_limit_overrides.rpd", RATE, "", "requests", "requests per day").idle(),
    row("connections[].rate_limit_overrides.tpm", RATE, "", "tokens", "tokens per minute").idle(),
    row("connections[].rate_limit_overrides.tpd", RATE, "", "tokens", "tokens per day").idle(),
    row("connections[].rate_limit_overrides.min_time_ms", Kind::Millis(0, MINUTE), "", "ms", "pause between two starts"),
    row("connections[].rate_limit_overrides.max_concurrent", Kind::Whole(0, 10_000), "", "requests", "requests at once; the smaller of this and the connection's max_concurrent counts"),
    row("connections[].rate_limit_overrides.max_wait_ms", Kind::Millis(0, DAY), "", "ms", "longest wait for the limiter"),
    row("connections[].rate_limit_overrides.execution_max_wait_ms", Kind::Millis(0, DAY), "", "ms", "longest run after it"),
    row("connections[].rate_limit_overrides.model_concurrency", Kind::Counts(0, 10_000), "", "requests", "requests at once by model, exactly as it is named upstream; 0 = no cap"),
    row("connections[].models", Kind::List(Items::Patterns), "*", "", "models it may serve; * stands for any text"),
    row("connections[].quota_window_thresholds", Kind::Counts(0, 99), "", "% left", "from where on it is left out, by window: session, weekly, monthly; instead of resilience.quota_preflight"),
    row("connections[].headers", Kind::Headers, "", "", "extra request headers; they win over the provider's"),
    row("connections[].proxy", Kind::Secret, "", "", "outbound proxy, http://HOST:PORT or http://USER:PASSWORD@HOST:PORT, or env:NAME, file:PATH; absent: HTTPS_PROXY, HTTP_PROXY, NO_PROXY"),
    row("connections[].timeouts.connect", DIAL_LIMIT, "", "", "instead of the provider's"),
    row("connections[].timeouts.first_byte", ANSWER_LIMIT, "", "", "instead of the model's and the provider's"),
    row("connections[].timeouts.body", STREAM_LIMIT, "", "", "instead of the model's and the provider's"),
    row("connections[].timeouts.first_content", STREAM_LIMIT, "", "", "instead of the model's and the provider's"),
    row("connections[].timeouts.content_stall", STREAM_LIMIT, "", "", "instead of the model's and the provider's"),
    row("connections[].timeouts.idle", STREAM_LIMIT, "", "", "instead of the model's and the provider's"),
    row("connections[].timeouts.total", STREAM_LIMIT, "", "", "instead of the model's and the provider's"),
    row("connections[].timeouts.attempt", STREAM_LIMIT, "", "", "instead of the model's and the provider's"),
    row("connections[].watchdog.enabled", FLAG, "", "", "instead of the model's and the provider's"),
    row("connections[].watchdog.warmup", WARMUP, "", "", "instead of the model's and the provider's"),
    row("connections[].watchdog.window", WINDOW, "", "", "instead of the model's and the provider's"),
    row("connections[].watchdog.min_bytes_per_second", LEAST_BYTES, "", "bytes/s", "instead of the model's and the provider's"),
    row("connections[].watchdog.min_bytes", LEAST_BYTES, "", "bytes", "instead of the model's and the provider's"),
    row("connections[].provider_specific.disable_cooling", FLAG, "false", "", "failures never make it rest"),
    row("connections[].provider_specific.passthrough_models", FLAG, "", "", "a quota belongs to one model, not to this account; absent: the provider's per_model_quota"),
    row("connections[].provider_specific.quota_preflight_enabled", FLAG, "", "", "whether it is left out when next to no quota is left; absent: as resilience.quota_preflight says"),
    row("connections[].provider_specific.low_priority_mode", FLAG, "false", "", "at its usage wall it may accept the slower lane; for auth = oauth, format anthropic and a token that begins with sk-ant-oat"),
    row("connections[].provider_specific.auto_limit_reset", FLAG, "false", "", "there it may spend a reset of its session limit; for the same accounts"),
    row("connections[].provider_specific.organization_uuid", Kind::Text(Shape::Plain), "", "", "organisation of a Claude account, whose limit is reset; absent: learnt from its answers"),
    row("connections[].provider_specific.rotation_overrides.rate_limit_reset_seconds", Kind::Whole(1, 2_592_000), "", "s", "rest after a 429 without a stated wait"),
    row("connections[].provider_specific.rotation_overrides.rotate_on_400", FLAG, "", "", "whether a 400 goes to the next connection"),
    row("connections[].provider_specific.rotation_overrides.rotate_on_429", FLAG, "", "", "whether a 429 goes to the next connection"),
    row("connections[].provider_specific.rotation_overrides.rotate_on_500", FLAG, "", "", "whether a 5xx but 502 goes to the next connection"),
    row("connections[].provider_specific.rotation_overrides.rotate_on_502", FLAG, "", "", "whether a 502 goes to the next connection"),
    row("connections[].provider_specific.rotation_overrides.error_400_threshold", THRESHOLD, "", "failures", "how many of them it takes"),
    row("connections[].provider_specific.rotation_overrides.error_400_window_seconds", WINDOW_SECONDS, "", "s", "within how long"),
    row("connections[].provider_specific.rotation_overrides.error_429_threshold", THRESHOLD, "", "failures", "how many of them it takes"),
    row("connections[].provider_specific.rotation_overrides.error_429_window_seconds", WINDOW_SECONDS, "", "s", "within how long"),
    row("connections[].provider_specific.rotation_overrides.error_500_threshold", THRESHOLD, "", "failures", "how many of them it takes"),
    row("connections[].provider_specific.rotation_overrides.error_500_window_seconds", WINDOW_SECONDS, "", "s", "within how long"),
    row("connections[].provider_specific.rotation_overrides.error_502_threshold", THRESHOLD, "", "failures", "how many of them it takes"),
    row("connections[].provider_specific.rotation_overrides.error_502_window_seconds", WINDOW_SECONDS, "", "s", "within how long"),
];

#[rustfmt::skip] // one row, one line
pub(super) const KEYS: &[Row] = &[
    // [[keys]]
    row("keys[].name", Kind::Text(Shape::Plain), REQUIRED, "", "its name in logs and lists"),
    row("keys[].key", Kind::Secret, REQUIRED, "", "env:NAME, file:PATH or the key"),
    row("keys[].scopes", Kind::List(Items::Of(SCOPES)), "inference", "", "inference | manage | lease:exclusive (with inference: it asks under a lease only)"),
    row("keys[].allowed_connections", Kind::List(Items::Ids), "", "", "the only connections it may use; empty: all; lease:exclusive needs some"),
    row("keys[].preferred_connections", Kind::List(Items::Ids), "", "", "of these, those that are tried before the others"),
    row("keys[].quota_only", FLAG, "false", "", "it may only ask for the models of its quota pools"),
    row("keys[].model_access_mode", Kind::Choice(&["all", "restricted"]), "", "", "restricted: only what allowed_models and allowed_combos list; absent: restricted if one of them lists anything"),
    row("keys[].allowed_models", Kind::List(Items::Globs), "", "", "models it may ask for, as it writes them or as the provider/model they lead to; * stands for any text"),
    row("keys[].allowed_combos", Kind::List(Items::Globs), "", "", "combos it may ask for; * stands for any text"),
    row("keys[].allowed_endpoints", Kind::List(Items::Among(ENDPOINTS)), "", "", "the only routes it may call; empty: all"),
    row("keys[].is_active", FLAG, "true", "", "whether it may be used"),
    row("keys[].is_banned", FLAG, "false", "", "whether it is banned"),
    row("keys[].expires_at", Kind::Text(Shape::Instant), "", "", "when it ends, RFC 3339; absent: never"),
    row("keys[].max_sessions", Kind::Whole(0, 100_000), "0", "sessions", "sessions at once, by their names; one ends 15 minutes after its latest request; 0 = no limit"),
    row("keys[].access_schedule", Kind::Data(Data::Schedule), "", "", "the hours it may be used in: { from = \"08:00\", until = \"18:00\", days = [1, 2, 3, 4, 5], tz = \"+02:00\", enabled = true }; days from 0, Sunday, absent: all; tz absent: UTC; over midnight if it ends before it begins"),
    row("keys[].throttle_delay_ms", Kind::Millis(0, MINUTE), "0", "ms", "how long each of its requests waits before anybody is asked"),
    row("keys[].stream_default_mode", Kind::Choice(&["json", "legacy"]), "json", "", "what a body without stream gets: json, as the API says, no stream; legacy, a stream if Accept asks for text/event-stream"),
    row("keys[].no_log", FLAG, "false", "", "its requests leave no line in the access log"),
    row("keys[].rate_limits[].limit", Kind::Whole(1, 1_000_000_000), REQUIRED, "requests", "how many requests"),
    row("keys[].rate_limits[].window", Kind::Text(Shape::Window), REQUIRED, "", "in any span of this length: 1m, 1h, 1d"),
    row("keys[].budgets[].limit_usd", Kind::Number(0.000_001, 1_000_000_000.0), REQUIRED, "USD", "how much it may cost, by the prices of the models"),
    row("keys[].budgets[].window", Kind::Choice(&["day", "week", "month"]), REQUIRED, "", "day | week | month of the calendar, UTC"),
];
