//! Rows of the lists: providers, connections, combos, keys.

use policy::time::{DAY, HOUR, MINUTE, SECOND};

use super::{ANSWER_LIMIT, DIAL_LIMIT, FLAG, REQUIRED, Row, STREAM_LIMIT, row};
use crate::settings::kind::{Data, Items, Kind, Shape};

const CLASSES: &[&str] = &["oauth", "apikey", "local"];
const FORMATS: &[&str] = &["openai", "anthropic", "responses", "gemini"];
const AUTH_HEADERS: &[&str] = &["authorization: Bearer", "x-api-key", "x-goog-api-key", "api-key"];
/// `lease:exclusive` is known, and refused with a reason of its own.
const SCOPES: &[&str] = &["inference", "manage", "lease:exclusive"];
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
    row("providers[].headers", Kind::Headers, "", "", "extra request headers"),
    row("providers[].auth_header", Kind::Choice(AUTH_HEADERS), "", "", "how the credential is sent; absent: as the format does"),
    row("providers[].oauth.token_url", Kind::Text(Shape::Url), "", "", "where access tokens are renewed; without it they are used until they expire"),
    row("providers[].oauth.client_id", Kind::Text(Shape::Plain), "", "", "who asks there; required with token_url"),
    row("providers[].oauth.client_secret", Kind::Secret, "", "", "env:NAME, file:PATH or the secret; absent: a public client"),
    row("providers[].oauth.scopes", Kind::List(Items::Scopes), "", "", "what is asked for; empty: what the refresh token stands for"),
    row("providers[].timeouts.connect", DIAL_LIMIT, "", "", "instead of upstream.connect_timeout"),
    row("providers[].timeouts.first_byte", ANSWER_LIMIT, "", "", "instead of upstream.first_byte_timeout"),
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
    row("providers[].models[].timeouts.first_byte", ANSWER_LIMIT, "", "", "instead of the provider's, for this model"),
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
    row("connections[].headers", Kind::Headers, "", "", "extra request headers; they win over the provider's"),
    row("connections[].proxy", Kind::Secret, "", "", "outbound proxy, http://HOST:PORT or http://USER:PASSWORD@HOST:PORT, or env:NAME, file:PATH; absent: HTTPS_PROXY, HTTP_PROXY, NO_PROXY"),
    row("connections[].timeouts.connect", DIAL_LIMIT, "", "", "instead of the provider's"),
    row("connections[].timeouts.first_byte", ANSWER_LIMIT, "", "", "instead of the model's and the provider's"),
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
    row("combos[].config.combo_cooldown_wait_enabled", FLAG, "true", "", "false: never waits for a target that rests; true cannot turn on what resilience.combo_cooldown_wait forbids"),
    row("combos[].config.response_validation.forbidden_substrings", Kind::List(Items::Substrings), "", "", "an answer with one of these texts in it counts as failed"),
    row("combos[].config.response_validation.required_substrings", Kind::List(Items::Substrings), "", "", "so does one without each of these"),
    row("combos[].config.response_validation.min_content_length", Kind::Whole(0, 1_000_000), "0", "characters", "so does one whose text is shorter"),
    row("combos[].config.response_validation.json_path_predicates[].path", Kind::Text(Shape::Plain), REQUIRED, "", "a place in the answer's JSON, such as $.choices[0].message.content; so does one where the predicate does not hold; at most 20, streams are not looked at"),
    row("combos[].config.response_validation.json_path_predicates[].op", Kind::Choice(&["exists", "nonEmpty", "equals", "notEquals"]), REQUIRED, "", "exists | nonEmpty | equals | notEquals: what must be there"),
    row("combos[].config.response_validation.json_path_predicates[].value", Kind::Data(Data::Scalar), "", "", "the value of equals and notEquals"),
    // [[keys]]
    row("keys[].name", Kind::Text(Shape::Plain), REQUIRED, "", "its name in logs and lists"),
    row("keys[].key", Kind::Secret, REQUIRED, "", "env:NAME, file:PATH or the key"),
    row("keys[].scopes", Kind::List(Items::Of(SCOPES)), "inference", "", "inference | manage"),
    row("keys[].allowed_connections", Kind::List(Items::Ids), "", "", "the only connections it may use; empty: all"),
    row("keys[].quota_only", FLAG, "false", "", "it may only ask for the models of its quota pools"),
];
