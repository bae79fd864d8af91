//! The numbers of `[resilience]` that act, from what was typed.

use std::collections::HashMap;

use policy::cooldown_wait::WaitSettings;
use policy::preflight::Preflight;
use policy::token::{TokenBreakerSettings, TokenScope};

use super::sections::OVERRIDES;
use super::streams;
use crate::settings::data;
use crate::settings::flow::{Concurrency, ExecutionLimit, RequestQueue};
use crate::settings::resilience::{
    BreakerNumbers, CooldownNumbers, LockoutNumbers, PerClass, ProviderCooldown, ProviderQuota, Resilience,
    Rotation, RotationNumbers, WindowNumbers,
};
use crate::settings::sheet::Sheet;

/// All numbers of the section.
pub(super) fn read(root: &Sheet) -> Resilience {
    Resilience {
        provider_breaker: PerClass {
            oauth: breaker(root, "oauth"),
            apikey: breaker(root, "apikey"),
            local: breaker(root, "local"),
        },
        connection_cooldown: PerClass {
            oauth: cooldown(root, "oauth"),
            apikey: cooldown(root, "apikey"),
            local: cooldown(root, "local"),
        },
        model_lockout: lockout(root),
        provider_cooldown: provider_cooldown(root),
        p2c_latency_weight: root.count("resilience.p2c_latency.weight"),
        stream_stall_cooldown: root.flag("resilience.stream_stall_cooldown.enabled"),
        stream_recovery: streams::recovery(root),
        combo_cooldown_wait: combo_wait(root),
        wait_for_cooldown: direct_wait(root),
        token_refresh_breaker: token_refresh(root),
        rotation: rotation(root),
        request_queue: request_queue(root),
        concurrency: concurrency(root),
        quota_share_concurrency_limit: root.flag("resilience.quota_share_concurrency_limit.enabled"),
        quota_preflight: preflight(root),
        provider_quota_overrides: root
            .named
            .get(OVERRIDES)
            .into_iter()
            .flatten()
            .map(|(provider, sheet)| (provider.clone(), quota(sheet)))
            .collect(),
    }
}

fn preflight(root: &Sheet) -> Preflight {
    let key = |name: &str| format!("resilience.quota_preflight.{name}");
    let providers = root.data(&key("provider_window_defaults")).unwrap_or_default();
    Preflight {
        enabled: root.flag(&key("enabled")),
        cutoff_percent: root.count(&key("default_threshold_percent")).into(),
        warn_percent: root.count(&key("warn_threshold_percent")).into(),
        providers: data::windows_of(&providers),
        accounts: HashMap::new(),
    }
}

fn breaker(root: &Sheet, class: &str) -> BreakerNumbers {
    let key = |name: &str| format!("resilience.provider_breaker.{class}.{name}");
    BreakerNumbers {
        failure_threshold: root.count(&key("failure_threshold")),
        degradation_threshold: root.count(&key("degradation_threshold")),
        reset_timeout_ms: root.millis(&key("reset_timeout_ms")),
        max_backoff_multiplier: root.count(&key("max_backoff_multiplier")),
        backoff_escalation_count: root.count(&key("backoff_escalation_count")),
    }
}

fn cooldown(root: &Sheet, class: &str) -> CooldownNumbers {
    let key = |name: &str| format!("resilience.connection_cooldown.{class}.{name}");
    CooldownNumbers {
        base_cooldown_ms: root.millis(&key("base_cooldown_ms")),
        use_upstream_retry_hints: root.flag(&key("use_upstream_retry_hints")),
        use_upstream_429_breaker_hints: root.choice(&key("use_upstream_429_breaker_hints")),
        max_backoff_steps: root.count(&key("max_backoff_steps")),
    }
}

fn lockout(root: &Sheet) -> LockoutNumbers {
    LockoutNumbers {
        enabled: root.flag("resilience.model_lockout.enabled"),
        error_codes: root.codes("resilience.model_lockout.error_codes"),
        base_cooldown_ms: root.millis("resilience.model_lockout.base_cooldown_ms"),
        max_cooldown_ms: root.millis("resilience.model_lockout.max_cooldown_ms"),
        max_backoff_steps: root.count("resilience.model_lockout.max_backoff_steps"),
        use_exponential_backoff: root.flag("resilience.model_lockout.use_exponential_backoff"),
    }
}

fn quota(sheet: &Sheet) -> ProviderQuota {
    let key = |name: &str| format!("{OVERRIDES}.{name}");
    let count = |name: &str| sheet.is_given(&key(name)).then(|| sheet.count(&key(name)));
    ProviderQuota {
        rate_limit_cooldown_seconds: sheet.whole(&key("rate_limit_cooldown_seconds")),
        rpm: count("rpm"),
        concurrency: count("concurrency"),
        provider_concurrency: count("provider_concurrency"),
    }
}

fn request_queue(root: &Sheet) -> RequestQueue {
    let key = |name: &str| format!("resilience.request_queue.{name}");
    let execution = key("execution_max_wait_ms");
    RequestQueue {
        auto_enable_api_key_providers: root.flag(&key("auto_enable_api_key_providers")),
        requests_per_minute: root.count(&key("requests_per_minute")),
        min_time_between_requests_ms: root.millis(&key("min_time_between_requests_ms")),
        concurrent_requests: root.count(&key("concurrent_requests")),
        max_wait_ms: root.millis(&key("max_wait_ms")),
        execution: match root.is_given(&execution) {
            true => ExecutionLimit::Exact(root.millis(&execution)),
            false => ExecutionLimit::BuiltIn(root.millis(&execution)),
        },
        max_queue_depth: root.count(&key("max_queue_depth")),
        max_queued_total: root.amount(&key("max_queued_total")),
    }
}

fn concurrency(root: &Sheet) -> Concurrency {
    let key = |name: &str| format!("resilience.concurrency.{name}");
    Concurrency {
        global_max: root.count(&key("global_max")),
        queue_size: root.count(&key("queue_size")),
        timeout_ms: root.millis(&key("timeout_ms")),
    }
}

fn provider_cooldown(root: &Sheet) -> ProviderCooldown {
    let key = |name: &str| format!("resilience.provider_cooldown.{name}");
    ProviderCooldown {
        enabled: root.flag(&key("enabled")),
        min_retry_cooldown_ms: root.millis(&key("min_retry_cooldown_ms")),
        max_retry_cooldown_ms: root.millis(&key("max_retry_cooldown_ms")),
        windows: PerClass {
            oauth: window(root, "oauth"),
            apikey: window(root, "apikey"),
            local: window(root, "local"),
        },
    }
}

fn window(root: &Sheet, class: &str) -> WindowNumbers {
    let key = |name: &str| format!("resilience.provider_cooldown.{class}.{name}");
    WindowNumbers {
        failure_threshold: root.count(&key("failure_threshold")),
        failure_window_ms: root.millis(&key("failure_window_ms")),
        cooldown_ms: root.millis(&key("cooldown_ms")),
    }
}

fn combo_wait(root: &Sheet) -> WaitSettings {
    let key = |name: &str| format!("resilience.combo_cooldown_wait.{name}");
    let typed = WaitSettings {
        enabled: root.flag(&key("enabled")),
        max_wait_ms: root.millis(&key("max_wait_ms")),
        max_attempts: root.count(&key("max_attempts")),
        budget_ms: root.millis(&key("budget_ms")),
    };
    typed.normalised()
}

fn direct_wait(root: &Sheet) -> WaitSettings {
    let key = |name: &str| format!("resilience.wait_for_cooldown.{name}");
    let typed = WaitSettings {
        enabled: root.flag(&key("enabled")),
        max_wait_ms: root.millis(&key("max_retry_wait_sec")) * 1_000,
        max_attempts: root.count(&key("max_retries")),
        budget_ms: root.millis(&key("budget_ms")),
    };
    typed.normalised()
}

fn token_refresh(root: &Sheet) -> TokenBreakerSettings {
    let scope = root.text("resilience.token_refresh_breaker.scope");
    TokenBreakerSettings {
        scope: match scope.as_deref() {
            Some("connection") => TokenScope::Connection,
            _ => TokenScope::Provider,
        },
        failure_threshold: root.count("resilience.token_refresh_breaker.failure_threshold"),
        cooldown_ms: root.millis("resilience.token_refresh_breaker.cooldown_ms"),
    }
}

fn rotation(root: &Sheet) -> Rotation {
    let of = |code: u16| RotationNumbers {
        rotate: root.flag(&format!("resilience.rotation.rotate_on_{code}")),
        threshold: root.count(&format!("resilience.rotation.error_{code}_threshold")),
        window_ms: root.millis(&format!("resilience.rotation.error_{code}_window_seconds")) * 1_000,
    };
    Rotation {
        enabled: root.flag("resilience.rotation.enabled"),
        rate_limit_reset_seconds: root.whole("resilience.rotation.rate_limit_reset_seconds"),
        on_429: of(429),
        on_500: of(500),
        on_502: of(502),
        on_400: of(400),
    }
}
