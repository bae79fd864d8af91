//! From settings to what each room works with.

mod combos;
mod flow;
mod judging;
mod owners;
mod pools;
mod reshapes;
mod timeouts;
mod walls;

use std::collections::HashMap;
use std::sync::Arc;

use policy::account::{self, AccountSettings};
use policy::catalogue::{Catalogue, ConnectionEntry, Dialect, ModelEntry, ProviderEntry};
use policy::combo::DEEPEST;
use policy::ids::{ConnectionId, ModelId, ProviderId};
use policy::lease::Managed;
use policy::preflight::{AccountCutoff, Preflight};

pub use flow::{execution_limit, gate_settings, is_protected};
pub use judging::judging;
pub use owners::blueprint;
pub use pools::offered as offered_models;
pub use reshapes::reshapes;

use owners::is_usable;

use super::tokens::{Sessions, renewable};
use crate::http::auth::{Keys, hash};
use crate::http::state::{HttpSettings, ListedModel};
use crate::http::traits::Wanted;
use crate::settings::{self, AuthHeader, Format, Scope, Settings};
use crate::upstream::oauth::TokenHeader;
use crate::upstream::{Endpoint, Endpoints, HeaderName, HeaderValue, Proxies, Route, Uri, join_url};

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
            models: models.map(|models| models.iter().map(listed).collect()),
            passthrough_models: provider.passthrough_models,
            connections,
        };
        (provider.id.clone(), entry)
    });
    let providers = providers.collect();
    Catalogue {
        combos: combos::combos(settings, &providers),
        base: Some(Arc::new(combos::base(settings))),
        providers,
        aliases: combos::aliases(settings),
        mappings: combos::mappings(settings),
        accounts: accounts(settings),
        pools: pools::pools(settings),
        prompt_cache_affinity: settings.behaviour.prompt_cache_affinity,
        direct_waits: settings.resilience.wait_for_cooldown,
        managed: managed(settings),
        preflight: preflight(settings),
        most_benched: most_benched(settings),
        ..Catalogue::default()
    }
    .ready()
}

fn listed(model: &settings::Model) -> (ModelId, ModelEntry) {
    let entry = ModelEntry {
        context_window: model.context_window,
        input_price: model.input_price,
        output_price: model.output_price,
        max_output: model.max_output,
        abilities: model.abilities,
    };
    (model.id.clone(), entry)
}

/// The keys that lease accounts (rules 7.1.1).
fn managed(settings: &Settings) -> Managed {
    // One that may not be used is none (rules 7.6.9).
    let stands = |key: &&settings::Key| key.rules.standing.active && !key.rules.standing.banned;
    Managed::new(settings.keys.iter().filter(stands).map(|key| {
        let leases = key.scopes.contains(&Scope::Lease);
        (key.name.as_str().into(), leases.then(|| key.allowed_connections.clone().into()))
    }))
}

/// Of which providers not all connections may rest at once (decision 33).
fn most_benched(settings: &Settings) -> HashMap<ProviderId, u32> {
    let says = settings.providers.iter().filter(|provider| provider.max_benched_percent < 100);
    says.map(|provider| (provider.id.clone(), provider.max_benched_percent)).collect()
}

/// From where on accounts are left out for their quota, and what each of them says of it.
fn preflight(settings: &Settings) -> Preflight {
    let says = |connection: &&settings::Connection| connection.cutoff != AccountCutoff::default();
    let own = settings.connections.iter().filter(says);
    Preflight {
        accounts: own.map(|connection| (connection.id.clone(), connection.cutoff.clone())).collect(),
        ..settings.resilience.quota_preflight.clone()
    }
}

/// How a provider's accounts are chosen.
fn accounts(settings: &Settings) -> AccountSettings {
    AccountSettings {
        strategy: account::find(&settings.behaviour.fallback_strategy).unwrap_or_default(),
        latency_weight: f64::from(settings.resilience.p2c_latency_weight),
        affinity_ttl_ms: settings.behaviour.session_affinity_ttl_ms,
        sticky_limit: settings.behaviour.sticky_round_robin_limit,
    }
}

/// How each connection is dialled. An address that cannot be one leaves its connections out, and
/// so does a token that is to be renewed and has no session, or a proxy that cannot be had.
///
/// `before`: the endpoints until now, which know what their accounts have met.
pub fn endpoints(
    settings: &Settings,
    sessions: &Sessions,
    proxies: &Proxies,
    before: &Endpoints,
) -> Endpoints {
    let mut endpoints = Endpoints::default();
    for provider in settings.providers.iter().filter(|provider| !provider.lost) {
        let Some(addresses) = addresses(&provider.base_url) else {
            tracing::error!(provider = %provider.id, "its base_url is no address; its connections are unusable");
            continue;
        };
        let may_leave = |connection: &&settings::Connection| !connection.proxy_lost;
        let own = settings.connections.iter().filter(|connection| connection.provider == provider.id);
        for connection in own.filter(may_leave) {
            let session = sessions.get(&connection.id).cloned();
            if session.is_none() && renewable(provider, connection).is_some() {
                continue;
            }
            let mut endpoint = endpoint(settings, provider, connection, addresses.clone());
            if endpoint.proxy.is_none() {
                endpoint.proxy = proxies.towards(endpoint.address(Route::Chat));
            }
            endpoint.walled = walls::of(provider, connection, before.get(&connection.id));
            match session {
                Some(session) => endpoint.session = Some(session),
                None => endpoint.keys = Route::ALL.map(|route| credential(provider, connection, route)),
            }
            endpoints.insert(connection.id.clone(), Arc::new(endpoint));
        }
    }
    endpoints
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
    let limits = timeouts::of(settings, provider, connection);
    Endpoint {
        addresses,
        headers: headers.into_iter().flatten().collect(),
        keys: Default::default(),
        credential: connection.credential.clone(),
        session: None,
        walled: None,
        proxy: connection.proxy.clone(),
        connect_timeout: limits.connect,
        first_byte_timeout: limits.account.first_byte,
        execution: execution_limit(settings, provider, connection, limits.longest_first_byte()),
        timeouts: limits.account,
        model_timeouts: limits.models,
    }
}

type Header = Option<(HeaderName, HeaderValue)>;

fn header(name: &str, value: &str) -> Header {
    Some((HeaderName::from_bytes(name.as_bytes()).ok()?, HeaderValue::from_str(value).ok()?))
}

/// The one header that carries the credential on a route.
fn credential(provider: &settings::Provider, connection: &settings::Connection, route: Route) -> Header {
    let secret = connection.credential.as_ref().filter(|secret| !secret.expose().is_empty())?;
    let spoken = provider.formats.iter().find(|format| dialect(**format) == route.dialect());
    let TokenHeader { name, prefix } = header_of(provider, spoken.or(provider.formats.first()));
    let mut value = HeaderValue::from_str(&format!("{prefix}{}", secret.expose())).ok()?;
    value.set_sensitive(true);
    Some((name, value))
}

/// How a provider wants the tokens of its logins.
pub(super) fn token_header(provider: &settings::Provider) -> TokenHeader {
    header_of(provider, provider.formats.first())
}

/// How a provider wants credentials (contract 8, `auth_header`).
fn header_of(provider: &settings::Provider, format: Option<&Format>) -> TokenHeader {
    let by_format = match format {
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

/// What is read of a request besides its model.
fn wanted(settings: &Settings, catalogue: &Catalogue) -> Wanted {
    let keeps = settings.combos.iter().any(|combo| combo.context_cache_protection);
    let sessions = keeps || settings.behaviour.session_affinity_ttl_ms > 0;
    let first_text = sessions && settings.behaviour.session_affinity_from_text;
    // Whoever follows prompts also minds what a client says of them.
    let prompts = catalogue.wants_prompts();
    Wanted { sessions, first_text, needs: prompts || catalogue.wants_needs(), prompts }
}

/// What clients are told.
pub fn http_settings(settings: &Settings, made_key: Option<[u8; 32]>) -> HttpSettings {
    let mut keys = Keys::of(settings, &|key| pools::models(settings, key));
    if let Some(hash) = made_key {
        keys.add(hash, "made-at-start");
    }
    let catalogue = catalogue(settings);
    let combos = settings.combos.iter().map(|combo| ListedModel {
        id: combo.name.clone(),
        owner: "combo".into(),
        context_length: combo.context_length.or_else(|| combos::window(&combo.name, &catalogue, DEEPEST)),
    });
    let models = settings.providers.iter().flat_map(|provider| {
        provider.models.iter().flatten().map(|model| ListedModel {
            id: format!("{}/{}", provider.id, model.id),
            owner: provider.id.to_string(),
            context_length: model.context_window,
        })
    });
    HttpSettings {
        max_body: settings.server.max_body,
        max_retry_after_ms: settings.server.max_retry_after.as_millis() as u64,
        write_stall: settings.server.write_stall_timeout,
        early_commit: settings.stream.early_commit,
        early_commit_json: settings.stream.early_commit_json,
        heartbeat: settings.stream.heartbeat,
        formats: settings.formats.clone(),
        access_log: settings.log.access,
        wanted: wanted(settings, &catalogue),
        keys,
        names: names(settings),
        models: combos.chain(models).collect(),
    }
}

/// What the connections are called that managed keys may lease.
fn names(settings: &Settings) -> HashMap<ConnectionId, String> {
    let managed = managed(settings);
    let leased = settings.connections.iter().filter(|connection| managed.reserves(&connection.id));
    leased.map(|connection| (connection.id.clone(), connection.name.clone())).collect()
}
