//! The sections of the process itself, and the numbers of `[resilience]`.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use super::Context;
use crate::settings::cascade;
use crate::settings::data;
use crate::settings::finding::{Place, Problem};
use crate::settings::services::{
    Admin, AutoDisable, Behaviour, Demo, Formats, Log, Mailbox, Metrics, Server, Store, Upstream,
};
use crate::settings::sheet::Sheet;
use crate::settings::value::Value;
use crate::settings::{Combo, ComboConfig, Connection, Key, Provider, QuotaPools, Secret, Settings};

/// Exceptions by provider.
pub(super) const OVERRIDES: &str = "resilience.provider_quota_overrides.*";

/// Everything of [`Settings`] that is not a list of entities.
pub(super) struct Sections(Settings);

impl Sections {
    /// Reads every section.
    pub fn read(context: &mut Context<'_>) -> Self {
        let root = context.root;
        Self(Settings {
            server: server(root),
            admin: admin(context),
            store: store(context),
            mailbox: mailbox(root),
            upstream: upstream(context),
            stream: super::streams::stream(root),
            formats: formats(root),
            demo: demo(root),
            log: Log { access: root.flag("log.access") },
            metrics: Metrics { public: root.flag("metrics.public") },
            resilience: super::numbers::read(root),
            behaviour: behaviour(root),
            providers: Vec::new(),
            connections: Vec::new(),
            combos: Vec::new(),
            combo_base: ComboConfig::default(),
            mappings: Vec::new(),
            aliases: Default::default(),
            keys: Vec::new(),
            pools: QuotaPools::new(),
            protected: BTreeSet::new(),
        })
    }

    /// The same with the entities.
    pub fn with(
        self,
        providers: Vec<Provider>,
        connections: Vec<Connection>,
        combos: Vec<Combo>,
        keys: Vec<Key>,
    ) -> Settings {
        Settings { providers, connections, combos, keys, ..self.0 }
    }
}

fn address(sheet: &Sheet, key: &str) -> Option<SocketAddr> {
    sheet.text(key).and_then(|text| text.parse().ok())
}

fn required_address(sheet: &Sheet, key: &str) -> SocketAddr {
    address(sheet, key).expect("an address has a default and a checked shape")
}

pub(super) fn span(sheet: &Sheet, key: &str) -> Duration {
    sheet.span(key).expect("a duration of a section has a default")
}

fn server(root: &Sheet) -> Server {
    Server {
        listen: required_address(root, "server.listen"),
        workers: root.amount("server.workers"),
        max_body: root.amount("server.max_body"),
        header_timeout: span(root, "server.header_timeout"),
        write_stall_timeout: span(root, "server.write_stall_timeout"),
        shutdown_grace: span(root, "server.shutdown_grace"),
        require_api_key: root.flag("server.require_api_key"),
        max_retry_after: span(root, "server.max_retry_after"),
    }
}

fn admin(context: &mut Context<'_>) -> Admin {
    let root = context.root;
    let listen = address(root, "admin.listen");
    if listen.is_some_and(|own| own.port() != 0 && own == required_address(root, "server.listen")) {
        let accepted = "another address, or \"\" for the same";
        context.refuse(root, "admin.listen", "is the address of server.listen", accepted);
    }
    Admin { token: admin_token(context), listen }
}

fn admin_token(context: &mut Context<'_>) -> Option<Secret> {
    let key = "admin.token";
    let Some(Value::Secret(reference)) = context.root.value(key) else {
        return None;
    };
    match reference.resolve(context.env, context.folder) {
        Ok(secret) => Some(secret),
        Err(missing) => {
            if context.root.is_given(key) {
                let problem = Problem::new(format!("{missing}; a token is made at first start"), "");
                context.findings.warn(context.root.place_of(key), key, problem);
            }
            None
        }
    }
}

fn store(context: &Context<'_>) -> Store {
    let path = context.root.text("store.path").unwrap_or_default();
    Store { path: context.folder.join(path), flush_interval: span(context.root, "store.flush_interval") }
}

fn mailbox(root: &Sheet) -> Mailbox {
    Mailbox {
        router: root.amount("mailbox.router"),
        provider: root.amount("mailbox.provider"),
        connection: root.amount("mailbox.connection"),
        lockout: root.amount("mailbox.lockout"),
        store: root.amount("mailbox.store"),
    }
}

fn upstream(context: &mut Context<'_>) -> Upstream {
    let root = context.root;
    Upstream {
        connect_timeout: span(root, "upstream.connect_timeout"),
        first_byte_timeout: span(root, "upstream.first_byte_timeout"),
        body_timeout: root.is_given("upstream.body_timeout").then(|| span(root, "upstream.body_timeout")),
        pool_idle: span(root, "upstream.pool_idle"),
        pool_lifetime: span(root, "upstream.pool_lifetime"),
        ca_file: ca_file(context),
    }
}

fn ca_file(context: &mut Context<'_>) -> Option<PathBuf> {
    let key = "upstream.ca_file";
    let path = context.folder.join(context.root.text(key)?);
    if let Err(error) = std::fs::File::open(&path) {
        let problem = format!("cannot be read ({})", error.kind());
        context.refuse(context.root, key, &problem, "a readable PEM file, or \"\"");
    }
    Some(path)
}

fn formats(root: &Sheet) -> Formats {
    let by_name = root.data("formats.response_model_by_name").unwrap_or_default();
    Formats {
        requested_model: root.text("formats.response_model").as_deref() == Some(data::REQUESTED),
        requested_by_name: data::naming(&by_name),
    }
}

fn demo(root: &Sheet) -> Demo {
    Demo {
        enabled: root.flag("demo.enabled"),
        listen: required_address(root, "demo.listen"),
        log: root.flag("demo.log"),
    }
}

fn behaviour(root: &Sheet) -> Behaviour {
    let data = |key: &str| root.data(key).unwrap_or_default();
    let auto_disable_banned = match root.flag("settings.auto_disable_banned_accounts") {
        false => AutoDisable::Off,
        true if root.text("settings.auto_disable_banned_scope").as_deref() == Some("subscription") => {
            AutoDisable::Subscription
        }
        true => AutoDisable::All,
    };
    Behaviour {
        provider_error_rules: data::error_rules(&data("settings.provider_error_rules")),
        provider_error_defaults: data::error_defaults(&data("settings.provider_error_defaults")),
        custom_banned_signals: root.texts("settings.custom_banned_signals"),
        auto_disable_banned,
        quota_reset_hour: root.whole("settings.quota_reset_hour").and_then(|hour| u32::try_from(hour).ok()),
        prompt_cache_affinity: root.flag("settings.prompt_cache_affinity_enabled"),
        fallback_strategy: root.text("settings.fallback_strategy").unwrap_or_default(),
        session_affinity_ttl_ms: root.millis("settings.session_affinity_ttl_ms"),
        session_affinity_from_text: root.flag("settings.session_affinity_from_text"),
        sticky_round_robin_limit: root
            .whole("settings.sticky_round_robin_limit")
            .and_then(|limit| u32::try_from(limit).ok())
            .unwrap_or(1),
        emergency_fallback: root
            .text("settings.emergency_fallback.target")
            .filter(|_| root.flag("settings.emergency_fallback.enabled")),
    }
}

/// Every override names a provider.
pub(super) fn check_overrides(context: &mut Context<'_>) {
    if !context.checks_references() {
        return;
    }
    for list in [OVERRIDES, cascade::OVERRIDES] {
        for (provider, sheet) in context.root.named.get(list).into_iter().flatten() {
            if context.known.provider(provider, &sheet.place).is_none() {
                let accepted = context.known.provider_list();
                let problem = Problem::new("names a provider that does not exist", accepted);
                match &sheet.place {
                    // The provider may have left the file since; that keeps nobody from starting.
                    Place::Stored => context.findings.warn(&Place::Stored, list, problem),
                    place => context.findings.refuse(place, list, problem),
                }
            }
        }
    }
}
