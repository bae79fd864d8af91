//! From settings to what each room works with.

use std::collections::HashMap;
use std::sync::Arc;

use actors::blueprint::{Blueprint, ConnectionNumbers, MailboxBounds};
use policy::account::AccountSettings;
use policy::attempts::AttemptSettings;
use policy::breaker::BreakerSettings;
use policy::catalogue::{Catalogue, Combo, ConnectionEntry, Dialect, ProviderEntry, Step};
use policy::cooldown::{CooldownSettings, resolve_delay};
use policy::egress;
use policy::ids::Class;
use policy::lockout::LockoutSettings;
use policy::strategy;
use policy::window::{RetryCooldown, WindowSettings};

use super::tokens::{Sessions, renewable};
use crate::http::auth::{Keys, hash};
use crate::http::state::{HttpSettings, ListedModel};
use crate::relay::{Judging, Traits};
use crate::settings::{self, AuthHeader, Format, Settings};
use crate::upstream::oauth::TokenHeader;
use crate::upstream::{Endpoint, Endpoints, HeaderName, HeaderValue, Route, Uri, join_url};

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
fn window(_settings: &Settings, class: Class) -> WindowSettings {
    WindowSettings::for_class(class)
}

/// How long a connection is left out of combos after a failure (core 2.5).
fn retry(_settings: &Settings) -> RetryCooldown {
    RetryCooldown::default()
}

fn numbers(
    settings: &Settings,
    provider: &settings::Provider,
    connection: &settings::Connection,
    salt: &str,
) -> ConnectionNumbers {
    let class = provider.class;
    let cooling = settings.resilience.connection_cooldown.of(class);
    let quota = settings.resilience.provider_quota_overrides.get(provider.id.as_str());
    let provider_delay =
        quota.and_then(|quota| quota.rate_limit_cooldown_seconds).map(|seconds| seconds * 1_000);
    let everybodys_delay =
        settings.resilience.rotation.rate_limit_reset_seconds.map(|seconds| seconds * 1_000);
    let reset_ms = settings.resilience.provider_breaker.of(class).reset_timeout_ms;
    let cooldown = CooldownSettings {
        base_ms: cooling.base_cooldown_ms,
        use_hints: cooling.use_upstream_retry_hints,
        max_steps: cooling.max_backoff_steps,
        ceiling_ms: settings.resilience.model_lockout.max_cooldown_ms,
        trial_ms: reset_ms,
        rate_limit_delay_ms: resolve_delay(connection.rate_limit_delay_ms, provider_delay, everybodys_delay),
        disable_cooling: connection.disable_cooling,
        ..CooldownSettings::for_class(class)
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
        max_concurrent: connection.max_concurrent,
        fingerprint: credential_of(connection)
            .map(|secret| fingerprint(secret.expose(), salt))
            .unwrap_or_default(),
    }
}

/// What it was given to authenticate with. Tokens rotate; what they began with stays.
fn credential_of(connection: &settings::Connection) -> Option<&settings::Secret> {
    let refresh = connection.tokens.as_ref().and_then(|tokens| tokens.refresh.as_ref());
    refresh.or(connection.credential.as_ref())
}

/// It has something to send, or a way to get it.
fn is_usable(provider: &settings::Provider, connection: &settings::Connection) -> bool {
    connection.active && (connection.credential.is_some() || renewable(provider, connection).is_some())
}

/// Rules 4.1: the list is the environment's, else the built-in one.
fn shares_egress(provider: &str) -> bool {
    let env = std::env::var(egress::PROVIDERS_ENV).ok();
    egress::providers(env.as_deref()).iter().any(|listed| listed == provider)
}

/// Decision 3c: tells a changed credential without telling the credential.
pub(super) fn fingerprint(secret: &str, salt: &str) -> String {
    hash(&format!("{salt}\n{secret}")).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

fn dialect(format: Format) -> Dialect {
    match format {
        Format::Openai => Dialect::Openai,
        Format::Anthropic => Dialect::Anthropic,
        Format::Responses => Dialect::Responses,
        Format::Gemini => Dialect::Gemini,
    }
}

fn catalogue(settings: &Settings) -> Catalogue {
    let providers = settings.providers.iter().map(|provider| {
        let mut connections: Vec<Arc<ConnectionEntry>> = settings
            .connections
            .iter()
            .filter(|connection| connection.provider == provider.id)
            .map(|connection| {
                Arc::new(ConnectionEntry {
                    id: connection.id.clone(),
                    provider: provider.id.clone(),
                    priority: connection.priority,
                    usable: is_usable(provider, connection),
                    models: connection.models.clone(),
                })
            })
            .collect();
        connections.sort_by_key(|connection| connection.priority);
        let models = provider.models.as_ref();
        let entry = ProviderEntry {
            id: provider.id.clone(),
            class: provider.class,
            dialects: provider.formats.iter().copied().map(dialect).collect(),
            models: models.map(|models| models.iter().map(|model| model.id.clone()).collect()),
            passthrough_models: provider.passthrough_models,
            connections,
        };
        (provider.id.clone(), entry)
    });
    Catalogue {
        providers: providers.collect(),
        combos: settings.combos.iter().map(combo).map(|combo| (combo.name.clone(), combo)).collect(),
        accounts: accounts(settings),
    }
}

/// How a provider's accounts are chosen.
fn accounts(_settings: &Settings) -> AccountSettings {
    AccountSettings::default()
}

fn combo(typed: &settings::Combo) -> Combo {
    let steps = typed.targets.iter().filter_map(|target| {
        let (provider, model) = target.model.split_once('/')?;
        Some(Step { provider: provider.into(), model: model.into(), connection: target.connection.clone() })
    });
    let config = &typed.config;
    Combo {
        name: typed.name.as_str().into(),
        strategy: strategy::find(&typed.strategy).map_or("priority", |found| found.name()),
        steps: steps.collect(),
        attempts: AttemptSettings {
            max_retries: config.max_retries,
            retry_delay_ms: config.retry_delay_ms,
            fallback_delay_ms: config.fallback_delay_ms,
            target_timeout_ms: config.target_timeout_ms,
            failover_before_retry: config.failover_before_retry,
        },
        slow_start_ms: config.slow_start_ms,
    }
}

/// How each connection is dialled. An address that cannot be one leaves its connections out, and
/// so does a token that is to be renewed and has no session.
pub fn endpoints(settings: &Settings, sessions: &Sessions) -> Endpoints {
    let mut endpoints = Endpoints::default();
    for provider in &settings.providers {
        let Some(addresses) = addresses(&provider.base_url) else {
            tracing::error!(provider = %provider.id, "its base_url is no address; its connections are unusable");
            continue;
        };
        for connection in settings.connections.iter().filter(|connection| connection.provider == provider.id)
        {
            let session = sessions.get(&connection.id).cloned();
            if session.is_none() && renewable(provider, connection).is_some() {
                continue;
            }
            let mut endpoint = endpoint(settings, provider, connection, addresses.clone());
            match session {
                Some(session) => endpoint.session = Some(session),
                None => endpoint.headers.extend(credential(provider, connection)),
            }
            endpoints.insert(connection.id.clone(), Arc::new(endpoint));
        }
    }
    endpoints
}

/// What verdicts ask of the configuration.
pub fn judging(settings: &Settings) -> Judging {
    let providers = settings.providers.iter().map(|provider| {
        let cooling = settings.resilience.connection_cooldown.of(provider.class);
        let traits =
            Traits { per_model_quota: provider.per_model_quota, use_hints: cooling.use_upstream_retry_hints };
        (provider.id.clone(), traits)
    });
    Judging { providers: providers.collect(), ..Judging::default() }
}

fn addresses(base: &str) -> Option<[Uri; 5]> {
    let mut addresses: [Uri; 5] = Default::default();
    for route in Route::ALL {
        addresses[route as usize] = join_url(base, route.path()).parse().ok()?;
    }
    Some(addresses)
}

fn endpoint(
    settings: &Settings,
    provider: &settings::Provider,
    connection: &settings::Connection,
    addresses: [Uri; 5],
) -> Endpoint {
    // Frames are looked at as they pass, so they must come as they are.
    let mut headers = vec![header("content-type", "application/json"), header("accept-encoding", "identity")];
    for (name, value) in provider.headers.iter().chain(&connection.headers) {
        headers.push(header(name, value));
    }
    let timeouts = &settings.upstream;
    Endpoint {
        addresses,
        headers: headers.into_iter().flatten().collect(),
        credential: connection.credential.clone(),
        session: None,
        connect_timeout: connection
            .connect_timeout
            .or(provider.connect_timeout)
            .unwrap_or(timeouts.connect_timeout),
        first_byte_timeout: connection
            .first_byte_timeout
            .or(provider.first_byte_timeout)
            .unwrap_or(timeouts.first_byte_timeout),
    }
}

type Header = Option<(HeaderName, HeaderValue)>;

fn header(name: &str, value: &str) -> Header {
    Some((HeaderName::from_bytes(name.as_bytes()).ok()?, HeaderValue::from_str(value).ok()?))
}

/// The one header that carries the credential.
fn credential(provider: &settings::Provider, connection: &settings::Connection) -> Header {
    let secret = connection.credential.as_ref().filter(|secret| !secret.expose().is_empty())?;
    let TokenHeader { name, prefix } = token_header(provider);
    let mut value = HeaderValue::from_str(&format!("{prefix}{}", secret.expose())).ok()?;
    value.set_sensitive(true);
    Some((name, value))
}

/// How a provider wants credentials (contract 8, `auth_header`).
pub(super) fn token_header(provider: &settings::Provider) -> TokenHeader {
    let by_format = match provider.formats.first() {
        Some(Format::Anthropic) => AuthHeader::XApiKey,
        Some(Format::Gemini) => AuthHeader::XGoogApiKey,
        _ => AuthHeader::Bearer,
    };
    let (name, prefix) = match provider.auth_header.unwrap_or(by_format) {
        AuthHeader::Bearer => ("authorization", "Bearer "),
        AuthHeader::XApiKey => ("x-api-key", ""),
        AuthHeader::XGoogApiKey => ("x-goog-api-key", ""),
        AuthHeader::ApiKey => ("api-key", ""),
    };
    TokenHeader { name: HeaderName::from_static(name), prefix }
}

/// What clients are told.
pub fn http_settings(settings: &Settings, made_key: Option<[u8; 32]>) -> HttpSettings {
    let mut keys = Keys::of(settings);
    if let Some(hash) = made_key {
        keys.add(hash, "made-at-start");
    }
    let combos =
        settings.combos.iter().map(|combo| ListedModel { id: combo.name.clone(), owner: "combo".into() });
    let models = settings.providers.iter().flat_map(|provider| {
        provider.models.iter().flatten().map(|model| ListedModel {
            id: format!("{}/{}", provider.id, model.id),
            owner: provider.id.to_string(),
        })
    });
    HttpSettings {
        max_body: settings.server.max_body,
        max_retry_after_ms: settings.server.max_retry_after.as_millis() as u64,
        access_log: settings.log.access,
        keys,
        models: combos.chain(models).collect(),
    }
}
