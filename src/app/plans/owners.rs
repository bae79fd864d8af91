//! The numbers of the owners: the class gives them, operators override them.

use std::collections::HashMap;
use std::sync::Arc;

use actors::blueprint::{Blueprint, ConnectionNumbers, MailboxBounds};
use policy::breaker::BreakerSettings;
use policy::cooldown::{CooldownSettings, resolve_delay};
use policy::egress;
use policy::ids::Class;
use policy::lockout::LockoutSettings;
use policy::time::Millis;
use policy::window::{RetryCooldown, WindowSettings};

use super::{catalogue, fingerprint, flow};
use crate::app::tokens::renewable;
use crate::settings::{self, Settings};

/// What the owners are built from. `salt` seasons the fingerprints of credentials.
pub fn blueprint(settings: &Settings, salt: &str) -> Blueprint {
    let classes: HashMap<_, _> =
        settings.providers.iter().map(|provider| (provider.id.clone(), provider)).collect();
    let connections = settings.connections.iter().filter_map(|connection| {
        let provider = classes.get(&connection.provider)?;
        Some((connection.id.clone(), numbers(settings, provider, connection, salt)))
    });
    Blueprint {
        catalogue: Arc::new(catalogue(settings)),
        providers: settings
            .providers
            .iter()
            .map(|provider| (provider.id.clone(), breaker(settings, provider.class)))
            .collect(),
        windows: settings
            .providers
            .iter()
            .map(|provider| (provider.id.clone(), window(settings, provider.class)))
            .collect(),
        connections: connections.collect(),
        global_max: settings.resilience.concurrency.global_max,
        max_queued_total: settings.resilience.request_queue.max_queued_total,
        ceilings: settings.providers.iter().map(|it| (it.id.clone(), flow::ceiling(settings, it))).collect(),
        mailbox: bounds(&settings.mailbox),
    }
}

fn bounds(mailbox: &settings::Mailbox) -> MailboxBounds {
    MailboxBounds {
        router: mailbox.router,
        provider: mailbox.provider,
        connection: mailbox.connection,
        lockout: mailbox.lockout,
        store: mailbox.store,
    }
}

fn breaker(settings: &Settings, class: Class) -> BreakerSettings {
    let numbers = settings.resilience.provider_breaker.of(class);
    let built_in = BreakerSettings::for_class(class);
    let hinted = BreakerSettings::for_class(Class::Apikey);
    let (rate_limit_hold_ms, quota_hold_ms) =
        match settings.resilience.connection_cooldown.of(class).use_upstream_429_breaker_hints {
            None => (built_in.rate_limit_hold_ms, built_in.quota_hold_ms),
            Some(true) => (hinted.rate_limit_hold_ms, hinted.quota_hold_ms),
            Some(false) => (None, None),
        };
    BreakerSettings {
        open_at: numbers.failure_threshold,
        degrade_at: numbers.degradation_threshold,
        reset_ms: numbers.reset_timeout_ms,
        max_multiplier: numbers.max_backoff_multiplier,
        escalate_after: numbers.backoff_escalation_count,
        rate_limit_hold_ms,
        quota_hold_ms,
        ..built_in
    }
}

/// When a provider is left out of combos (core 2).
fn window(settings: &Settings, class: Class) -> WindowSettings {
    let cooldown = &settings.resilience.provider_cooldown;
    let numbers = cooldown.windows.of(class);
    WindowSettings {
        enabled: cooldown.enabled,
        failures: numbers.failure_threshold,
        window_ms: numbers.failure_window_ms,
        cooling_ms: numbers.cooldown_ms,
    }
}

/// How long a connection is left out of combos after a failure (core 2.5).
fn retry(settings: &Settings) -> RetryCooldown {
    let cooldown = &settings.resilience.provider_cooldown;
    RetryCooldown {
        enabled: cooldown.enabled,
        min_ms: cooldown.min_retry_cooldown_ms,
        max_ms: cooldown.max_retry_cooldown_ms,
    }
}

fn numbers(
    settings: &Settings,
    provider: &settings::Provider,
    connection: &settings::Connection,
    salt: &str,
) -> ConnectionNumbers {
    let class = provider.class;
    let cooling = settings.resilience.connection_cooldown.of(class);
    let reset_ms = settings.resilience.provider_breaker.of(class).reset_timeout_ms;
    let cooldown = CooldownSettings {
        base_ms: cooling.base_cooldown_ms,
        use_hints: cooling.use_upstream_retry_hints,
        max_steps: cooling.max_backoff_steps,
        ceiling_ms: settings.resilience.model_lockout.max_cooldown_ms,
        trial_ms: reset_ms,
        rate_limit_delay_ms: rate_limit_delay(settings, connection),
        disable_cooling: connection.disable_cooling,
        stall_cools: settings.resilience.stream_stall_cooldown,
    };
    let typed = &settings.resilience.model_lockout;
    let lockout = LockoutSettings {
        enabled: typed.enabled,
        error_codes: typed.error_codes.clone(),
        base_ms: typed.base_cooldown_ms,
        max_ms: typed.max_cooldown_ms,
        max_steps: typed.max_backoff_steps,
        exponential: typed.use_exponential_backoff,
        class_base_ms: cooling.base_cooldown_ms,
        class_max_steps: cooling.max_backoff_steps,
        per_model_quota: connection.passthrough_models.unwrap_or(provider.per_model_quota),
        reset_after_ms: reset_ms,
    };
    ConnectionNumbers {
        provider: provider.id.clone(),
        cooldown,
        lockout: lockout.normalised(),
        retry: retry(settings),
        shares_egress: shares_egress(provider.id.as_str()),
        usable: is_usable(provider, connection),
        gate: flow::gate_settings(settings, provider, connection),
        fingerprint: credential_of(connection).map(|text| fingerprint(&text, salt)).unwrap_or_default(),
    }
}

/// The operator's rest after a 429 without a stated wait, ms (core 3.4 steps 2-4).
pub(super) fn rate_limit_delay(settings: &Settings, connection: &settings::Connection) -> Option<Millis> {
    let quota = settings.resilience.provider_quota_overrides.get(connection.provider.as_str());
    let of_provider = quota.and_then(|quota| quota.rate_limit_cooldown_seconds);
    let of_all = settings.resilience.rotation.rate_limit_reset_seconds;
    let ms = |seconds: Option<u64>| seconds.map(|seconds| seconds * 1_000);
    resolve_delay(connection.rate_limit_delay_ms, ms(of_provider), ms(of_all))
}

/// All that it was given to authenticate with: another access token is another credential, too. Tokens
/// rotate; what they began with stays.
fn credential_of(connection: &settings::Connection) -> Option<String> {
    let refresh = connection.tokens.as_ref().and_then(|tokens| tokens.refresh.as_ref());
    let given: Vec<&str> =
        connection.credential.iter().chain(refresh).map(|secret| secret.expose()).collect();
    (!given.is_empty()).then(|| given.join("\n"))
}

/// It has something to send, or a way to get it, and may leave.
pub(super) fn is_usable(provider: &settings::Provider, connection: &settings::Connection) -> bool {
    let authenticates = connection.credential.is_some() || renewable(provider, connection).is_some();
    connection.active && !connection.proxy_lost && !provider.lost && authenticates
}

/// Rules 4.1: the list is the environment's, else the built-in one.
fn shares_egress(provider: &str) -> bool {
    let env = std::env::var(egress::PROVIDERS_ENV).ok();
    egress::providers(env.as_deref()).iter().any(|listed| listed == provider)
}
