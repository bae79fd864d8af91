//! Rows of `[resilience]` that act: breaker, cooldown, lockout and what belongs to them.
//! Defaults and bounds are those of core 6, as the decisions change them.

use policy::time::{DAY, HOUR, MINUTE, SECOND};

use super::{FLAG, Row, row};
use crate::settings::kind::Kind;

const THRESHOLD: Kind = Kind::Whole(1, 1_000);
const RESET: Kind = Kind::Millis(SECOND, DAY);
const COOLDOWN: Kind = Kind::Millis(0, DAY);
const STEPS: Kind = Kind::Whole(0, 32);

#[rustfmt::skip] // one row, one line
pub(super) const ROWS: &[Row] = &[
    // [resilience.provider_breaker.*]
    row("resilience.provider_breaker.oauth.failure_threshold", THRESHOLD, "8", "failures", "failures that open the breaker of a provider").env("OMNIROUTE_CIRCUIT_BREAKER_OAUTH_THRESHOLD"),
    row("resilience.provider_breaker.oauth.degradation_threshold", THRESHOLD, "5", "failures", "failures that degrade it; below failure_threshold").env("OMNIROUTE_PROVIDER_BREAKER_OAUTH_DEGRADATION_THRESHOLD"),
    row("resilience.provider_breaker.oauth.reset_timeout_ms", RESET, "60000", "ms", "how long it stays open before a probe").env("OMNIROUTE_CIRCUIT_BREAKER_OAUTH_RESET_MS"),
    row("resilience.provider_breaker.oauth.max_backoff_multiplier", Kind::Whole(0, 1_000), "8", "", "longest hold after failed probes, in multiples of the first").env("OMNIROUTE_PROVIDER_BREAKER_OAUTH_MAX_BACKOFF_MULTIPLIER"),
    row("resilience.provider_breaker.oauth.backoff_escalation_count", Kind::Whole(0, 1_000), "2", "probes", "failed probes before the hold starts to double").env("OMNIROUTE_PROVIDER_BREAKER_OAUTH_BACKOFF_ESCALATION_COUNT"),
    row("resilience.provider_breaker.apikey.failure_threshold", THRESHOLD, "12", "failures", "failures that open the breaker of a provider").env("OMNIROUTE_CIRCUIT_BREAKER_API_KEY_THRESHOLD"),
    row("resilience.provider_breaker.apikey.degradation_threshold", THRESHOLD, "7", "failures", "failures that degrade it; below failure_threshold").env("OMNIROUTE_PROVIDER_BREAKER_API_KEY_DEGRADATION_THRESHOLD"),
    row("resilience.provider_breaker.apikey.reset_timeout_ms", RESET, "30000", "ms", "how long it stays open before a probe").env("OMNIROUTE_CIRCUIT_BREAKER_API_KEY_RESET_MS"),
    row("resilience.provider_breaker.apikey.max_backoff_multiplier", Kind::Whole(0, 1_000), "4", "", "longest hold after failed probes, in multiples of the first").env("OMNIROUTE_PROVIDER_BREAKER_API_KEY_MAX_BACKOFF_MULTIPLIER"),
    row("resilience.provider_breaker.apikey.backoff_escalation_count", Kind::Whole(0, 1_000), "3", "probes", "failed probes before the hold starts to double").env("OMNIROUTE_PROVIDER_BREAKER_API_KEY_BACKOFF_ESCALATION_COUNT"),
    row("resilience.provider_breaker.local.failure_threshold", THRESHOLD, "2", "failures", "failures that open the breaker of a provider").env("OMNIROUTE_CIRCUIT_BREAKER_LOCAL_THRESHOLD"),
    row("resilience.provider_breaker.local.degradation_threshold", THRESHOLD, "2", "failures", "failures that degrade it; absent: 60 % of failure_threshold"),
    row("resilience.provider_breaker.local.reset_timeout_ms", RESET, "15000", "ms", "how long it stays open before a probe").env("OMNIROUTE_CIRCUIT_BREAKER_LOCAL_RESET_MS"),
    row("resilience.provider_breaker.local.max_backoff_multiplier", Kind::Whole(0, 1_000), "16", "", "longest hold after failed probes, in multiples of the first"),
    row("resilience.provider_breaker.local.backoff_escalation_count", Kind::Whole(0, 1_000), "3", "probes", "failed probes before the hold starts to double"),
    // [resilience.connection_cooldown.*]
    row("resilience.connection_cooldown.oauth.base_cooldown_ms", COOLDOWN, "5000", "ms", "first rest of a failed connection; each repetition doubles it"),
    row("resilience.connection_cooldown.oauth.use_upstream_retry_hints", FLAG, "true", "", "a wait stated by the provider replaces the computed one"),
    row("resilience.connection_cooldown.oauth.use_upstream_429_breaker_hints", FLAG, "", "", "whether a 429 on a probe lengthens the breaker's hold; absent: true"),
    row("resilience.connection_cooldown.oauth.max_backoff_steps", STEPS, "8", "doublings", "how often the rest may double"),
    row("resilience.connection_cooldown.apikey.base_cooldown_ms", COOLDOWN, "3000", "ms", "first rest of a failed connection; each repetition doubles it"),
    row("resilience.connection_cooldown.apikey.use_upstream_retry_hints", FLAG, "true", "", "a wait stated by the provider replaces the computed one"),
    row("resilience.connection_cooldown.apikey.use_upstream_429_breaker_hints", FLAG, "", "", "whether a 429 on a probe lengthens the breaker's hold; absent: true"),
    row("resilience.connection_cooldown.apikey.max_backoff_steps", STEPS, "5", "doublings", "how often the rest may double"),
    row("resilience.connection_cooldown.local.base_cooldown_ms", COOLDOWN, "3000", "ms", "first rest of a failed connection; absent: as apikey"),
    row("resilience.connection_cooldown.local.use_upstream_retry_hints", FLAG, "true", "", "a wait stated by the provider replaces the computed one; absent: as apikey"),
    row("resilience.connection_cooldown.local.use_upstream_429_breaker_hints", FLAG, "", "", "whether a 429 on a probe lengthens the breaker's hold; absent: false"),
    row("resilience.connection_cooldown.local.max_backoff_steps", STEPS, "5", "doublings", "how often the rest may double; absent: as apikey"),
    // [resilience.model_lockout]
    row("resilience.model_lockout.enabled", FLAG, "false", "", "lock a model on a connection when a combo fails with one of error_codes"),
    row("resilience.model_lockout.error_codes", Kind::Codes, "403, 404, 429, 502, 503, 504", "", "those statuses; empty: the default"),
    row("resilience.model_lockout.base_cooldown_ms", Kind::Millis(5 * SECOND, 10 * MINUTE), "120000", "ms", "first lock of a model"),
    row("resilience.model_lockout.max_cooldown_ms", Kind::Millis(5 * SECOND, HOUR), "1800000", "ms", "longest lock; also the longest computed rest of a connection"),
    row("resilience.model_lockout.max_backoff_steps", Kind::Whole(0, 20), "10", "doublings", "how often the lock may double"),
    row("resilience.model_lockout.use_exponential_backoff", FLAG, "true", "", "whether it doubles at all"),
    // [resilience.provider_cooldown]
    row("resilience.provider_cooldown.enabled", FLAG, "false", "", "combos leave a provider alone that failed too often in a window").env("PROVIDER_COOLDOWN_ENABLED"),
    row("resilience.provider_cooldown.min_retry_cooldown_ms", Kind::Millis(0, HOUR), "5000", "ms", "first rest of a connection there; each repetition doubles it").patch(Kind::Whole(0, 300_000)).env("PROVIDER_COOLDOWN_MIN_MS"),
    row("resilience.provider_cooldown.max_retry_cooldown_ms", Kind::Millis(0, DAY), "300000", "ms", "longest such rest; not below min_retry_cooldown_ms").patch(Kind::Whole(0, 3_600_000)).env("PROVIDER_COOLDOWN_MAX_MS"),
    row("resilience.provider_cooldown.oauth.failure_threshold", THRESHOLD, "10", "failures", "failures inside the window after which the provider is left alone").env("OMNIROUTE_PROVIDER_BREAKER_OAUTH_FAILURE_THRESHOLD"),
    row("resilience.provider_cooldown.oauth.failure_window_ms", Kind::Millis(SECOND, DAY), "900000", "ms", "length of the window").env("OMNIROUTE_PROVIDER_BREAKER_OAUTH_FAILURE_WINDOW_MS"),
    row("resilience.provider_cooldown.oauth.cooldown_ms", Kind::Millis(0, DAY), "300000", "ms", "how long it is left alone").env("OMNIROUTE_PROVIDER_BREAKER_OAUTH_COOLDOWN_MS"),
    row("resilience.provider_cooldown.apikey.failure_threshold", THRESHOLD, "15", "failures", "failures inside the window after which the provider is left alone").env("OMNIROUTE_PROVIDER_BREAKER_API_KEY_FAILURE_THRESHOLD"),
    row("resilience.provider_cooldown.apikey.failure_window_ms", Kind::Millis(SECOND, DAY), "1800000", "ms", "length of the window").env("OMNIROUTE_PROVIDER_BREAKER_API_KEY_FAILURE_WINDOW_MS"),
    row("resilience.provider_cooldown.apikey.cooldown_ms", Kind::Millis(0, DAY), "600000", "ms", "how long it is left alone").env("OMNIROUTE_PROVIDER_BREAKER_API_KEY_COOLDOWN_MS"),
    row("resilience.provider_cooldown.local.failure_threshold", THRESHOLD, "2", "failures", "failures inside the window after which the provider is left alone").env("OMNIROUTE_PROVIDER_BREAKER_LOCAL_FAILURE_THRESHOLD"),
    row("resilience.provider_cooldown.local.failure_window_ms", Kind::Millis(SECOND, DAY), "300000", "ms", "length of the window").env("OMNIROUTE_PROVIDER_BREAKER_LOCAL_FAILURE_WINDOW_MS"),
    row("resilience.provider_cooldown.local.cooldown_ms", Kind::Millis(0, DAY), "60000", "ms", "how long it is left alone").env("OMNIROUTE_PROVIDER_BREAKER_LOCAL_COOLDOWN_MS"),
    // [resilience.p2c_latency], [resilience.stream_stall_cooldown]
    row("resilience.p2c_latency.weight", Kind::Whole(0, 20), "0", "points", "how much latency and errors count when p2c compares two accounts; 0 = not at all"),
    row("resilience.stream_stall_cooldown.enabled", FLAG, "false", "", "a stream that stalls makes its connection rest"),
    // [resilience.token_refresh_breaker]
    row("resilience.token_refresh_breaker.scope", Kind::Choice(&["provider", "connection"]), "provider", "", "provider | connection: whose failed token refreshes are counted together"),
    row("resilience.token_refresh_breaker.failure_threshold", Kind::Whole(1, 100), "5", "failures", "failed refreshes that stop refreshing"),
    row("resilience.token_refresh_breaker.cooldown_ms", Kind::Millis(MINUTE, DAY), "1800000", "ms", "how long none is made early then; one that is needed still goes, once a minute"),
    // [resilience.rotation]
    row("resilience.rotation.enabled", FLAG, "true", "", "whether failures of an account move a request to the next one at all").env("OMNIROUTE_ROTATION_ENABLED"),
    row("resilience.rotation.rate_limit_reset_seconds", Kind::Whole(1, 2_592_000), "", "s", "rest after a 429 without a stated wait, for all providers; absent: computed").env("OMNIROUTE_ROTATION_RATE_LIMIT_RESET_SECONDS"),
    row("resilience.rotation.rotate_on_429", FLAG, "true", "", "whether 429 moves a request to the next account").env("OMNIROUTE_ROTATE_ON_429"),
    row("resilience.rotation.error_429_threshold", Kind::Whole(1, 1_000), "1", "failures", "how many of them inside the window it takes").env("OMNIROUTE_ROTATE_429_THRESHOLD"),
    row("resilience.rotation.error_429_window_seconds", Kind::Whole(1, 86_400), "120", "s", "that window").env("OMNIROUTE_ROTATE_429_WINDOW_SECONDS"),
    row("resilience.rotation.rotate_on_500", FLAG, "true", "", "whether any 5xx but 502 moves a request to the next account").env("OMNIROUTE_ROTATE_ON_500"),
    row("resilience.rotation.error_500_threshold", Kind::Whole(1, 1_000), "1", "failures", "how many of them inside the window it takes").env("OMNIROUTE_ROTATE_500_THRESHOLD"),
    row("resilience.rotation.error_500_window_seconds", Kind::Whole(1, 86_400), "120", "s", "that window").env("OMNIROUTE_ROTATE_500_WINDOW_SECONDS"),
    row("resilience.rotation.rotate_on_502", FLAG, "true", "", "whether 502 moves a request to the next account").env("OMNIROUTE_ROTATE_ON_502"),
    row("resilience.rotation.error_502_threshold", Kind::Whole(1, 1_000), "1", "failures", "how many of them inside the window it takes").env("OMNIROUTE_ROTATE_502_THRESHOLD"),
    row("resilience.rotation.error_502_window_seconds", Kind::Whole(1, 86_400), "120", "s", "that window").env("OMNIROUTE_ROTATE_502_WINDOW_SECONDS"),
    row("resilience.rotation.rotate_on_400", FLAG, "false", "", "whether 400 moves a request to the next account").env("OMNIROUTE_ROTATE_ON_400"),
    row("resilience.rotation.error_400_threshold", Kind::Whole(1, 1_000), "1", "failures", "how many of them inside the window it takes").env("OMNIROUTE_ROTATE_400_THRESHOLD"),
    row("resilience.rotation.error_400_window_seconds", Kind::Whole(1, 86_400), "120", "s", "that window").env("OMNIROUTE_ROTATE_400_WINDOW_SECONDS"),
    // [resilience.wait_for_cooldown], [resilience.combo_cooldown_wait]; a combo has no overall limit
    // yet, so there is none that its waits would have to extend (flow 3.13)
    row("resilience.wait_for_cooldown.enabled", FLAG, "false", "", "a request without a combo waits for an account that rests; off when either of the next is 0"),
    row("resilience.wait_for_cooldown.max_retries", Kind::Whole(0, 10), "5", "waits", "how often"),
    row("resilience.wait_for_cooldown.max_retry_wait_sec", Kind::Whole(0, 300), "90", "s", "how long each time at most"),
    row("resilience.wait_for_cooldown.budget_ms", Kind::Millis(0, 300_000), "300000", "ms", "how long altogether; not below one wait, not for PATCH").fixed(),
    row("resilience.combo_cooldown_wait.enabled", FLAG, "true", "", "a combo waits for the target that returns first; off when either of the next is 0"),
    row("resilience.combo_cooldown_wait.max_wait_ms", Kind::Millis(0, 300_000), "90000", "ms", "how long each time at most"),
    row("resilience.combo_cooldown_wait.max_attempts", Kind::Whole(0, 10), "5", "waits", "how often"),
    row("resilience.combo_cooldown_wait.budget_ms", Kind::Millis(0, 300_000), "300000", "ms", "how long altogether; not below max_wait_ms"),
    // [resilience.provider_quota_overrides.PROVIDER]
    row("resilience.provider_quota_overrides.*.rate_limit_cooldown_seconds", Kind::Whole(1, 21_600), "", "s", "rest after a 429 without a stated wait, for one provider; absent: computed"),
    row("resilience.provider_quota_overrides.*.rpm", Kind::Whole(1, 1_000_000), "", "requests", "requests in a minute on all its connections together; absent: no limit"),
    row("resilience.provider_quota_overrides.*.concurrency", Kind::Whole(1, 10_000), "", "requests", "requests at once on all its connections together; absent: no cap"),
    row("resilience.provider_quota_overrides.*.provider_concurrency", Kind::Whole(0, 100_000), "", "requests", "the same; the smaller of the two counts, 0 = no cap"),
];
