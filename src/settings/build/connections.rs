//! `[[connections]]`: their providers exist, their credentials are looked up.

use std::collections::BTreeMap;
use std::sync::Arc;

use policy::ids::{ConnectionId, ProviderId};
use policy::preflight::AccountCutoff;
use policy::rotation::{PerKind, SwitchOverride};
use policy::strategy::QuotaWindow;

use super::credentials::{INACTIVE, look_up};
use super::{Context, credentials, streams};
use crate::settings::connection_fields::kept;
use crate::settings::entities::{Connection, Source, WallOptions};
use crate::settings::finding::{Place, quoted};
use crate::settings::flow::RateLimitOverrides;
use crate::settings::proxy::{ACCEPTED_PROXY, Proxy};
use crate::settings::sheet::Sheet;
use crate::settings::stored_connection::ONLY_STORED;

const PROXY: &str = "connections[].proxy";
const PASSTHROUGH: &str = "connections[].provider_specific.passthrough_models";
const RESET_SECONDS: &str = "connections[].provider_specific.rotation_overrides.rate_limit_reset_seconds";

/// Reads every connection and makes its id known, except where only the store has it.
pub(super) fn read(context: &mut Context<'_>) -> Vec<Connection> {
    let mut last_priority = BTreeMap::new();
    let mut connections = Vec::new();
    for sheet in context.root.list("connections[]") {
        if let Some(id) = sheet.text("connections[].id") {
            check_id(context, sheet, &id);
            let provider = sheet.text("connections[].provider").unwrap_or_default();
            context.known.connections.entry(id).or_insert(provider);
        }
        let below = (sheet.place == Place::Stored).then_some(Source::File);
        let read = connection(context, sheet, &mut last_priority);
        connections.extend(read.map(|read| Connection { replaces: below, ..read }));
    }
    for sheet in context.root.list(ONLY_STORED) {
        let read = connection(context, sheet, &mut last_priority);
        let below =
            |read: &Connection| context.builtin.has_connection(read.id.as_str()).then_some(Source::Demo);
        connections.extend(read.map(|read| Connection { replaces: below(&read), ..read }));
    }
    connections
}

/// Only looks for what is wrong.
pub(super) fn check(context: &mut Context<'_>, sheet: &Sheet) {
    connection(context, sheet, &mut BTreeMap::new());
}

fn connection(
    context: &mut Context<'_>,
    sheet: &Sheet,
    last_priority: &mut BTreeMap<String, u32>,
) -> Option<Connection> {
    let provider = sheet.text("connections[].provider").unwrap_or_default();
    check_provider(context, sheet, &provider);
    let (credential, tokens) = credentials::read(context, sheet, &provider);
    let proxy = proxy(context, sheet);
    let id = sheet.text("connections[].id")?;
    let name = sheet.text("connections[].name").unwrap_or_else(|| id.clone());
    let passthrough_models = sheet.is_given(PASSTHROUGH).then(|| sheet.flag(PASSTHROUGH));
    let source = if sheet.place == Place::Stored { Source::Stored } else { Source::File };
    Some(Connection {
        id: ConnectionId::from(id),
        name,
        credential,
        tokens,
        priority: priority(sheet, &provider, last_priority),
        provider: ProviderId::from(provider),
        active: sheet.flag("connections[].active"),
        max_concurrent: sheet.count("connections[].max_concurrent"),
        rate_limit: rate_limit(sheet),
        models: sheet.texts("connections[].models"),
        headers: sheet.headers("connections[].headers"),
        proxy_lost: proxy.is_err(),
        proxy: proxy.ok().flatten(),
        timeouts: streams::timeouts(sheet, "connections[]"),
        watchdog: streams::watchdog(sheet, "connections[]"),
        rate_limit_delay_ms: sheet.whole(RESET_SECONDS).map(|seconds| seconds * 1_000),
        cutoff: cutoff(sheet),
        disable_cooling: sheet.flag("connections[].provider_specific.disable_cooling"),
        wall: wall(sheet),
        rotation: rotation(sheet),
        passthrough_models,
        kept: kept(sheet),
        source,
        replaces: None,
    })
}

/// Rules 8.4.2, 8.4.3; a window that no reading names never matters.
fn cutoff(sheet: &Sheet) -> AccountCutoff {
    let windows = sheet.counts("connections[].quota_window_thresholds").into_iter();
    AccountCutoff {
        windows: windows
            .filter_map(|(name, percent)| Some((QuotaWindow::find(&name)?, percent.into())))
            .collect(),
        enabled: sheet.choice("connections[].provider_specific.quota_preflight_enabled"),
    }
}

/// A proxy that is named and cannot be had.
struct NoProxy;

/// A connection without the proxy it is given is inactive.
fn proxy(context: &mut Context<'_>, sheet: &Sheet) -> Result<Option<Arc<Proxy>>, NoProxy> {
    if !sheet.is_given(PROXY) {
        return Ok(None);
    }
    let text = look_up(context, sheet, PROXY, INACTIVE).ok_or(NoProxy)?;
    match Proxy::parse(text.expose()) {
        Ok(proxy) => Ok(Some(Arc::new(proxy))),
        Err(problem) => {
            context.refuse(sheet, PROXY, problem, ACCEPTED_PROXY);
            Err(NoProxy)
        }
    }
}

/// `rateLimitOverrides`: 0 is as good as nothing (flow 4.1.3, E14).
fn rate_limit(sheet: &Sheet) -> RateLimitOverrides {
    let row = |name: &str| format!("connections[].rate_limit_overrides.{name}");
    let count = |name: &str| Some(sheet.count(&row(name))).filter(|count| *count > 0);
    let millis = |name: &str| Some(sheet.millis(&row(name))).filter(|millis| *millis > 0);
    let models = sheet.counts(&row("model_concurrency")).into_iter().filter(|(_, cap)| *cap > 0);
    RateLimitOverrides {
        rpm: count("rpm"),
        min_time_ms: millis("min_time_ms"),
        max_concurrent: count("max_concurrent"),
        max_wait_ms: millis("max_wait_ms"),
        execution_max_wait_ms: millis("execution_max_wait_ms"),
        model_concurrency: models.collect(),
    }
}

fn wall(sheet: &Sheet) -> WallOptions {
    WallOptions {
        low_priority_mode: sheet.flag("connections[].provider_specific.low_priority_mode"),
        auto_limit_reset: sheet.flag("connections[].provider_specific.auto_limit_reset"),
        organization: sheet.text("connections[].provider_specific.organization_uuid"),
    }
}

/// `rotationOverrides`: what is absent is as it is for all.
fn rotation(sheet: &Sheet) -> PerKind<SwitchOverride> {
    let of = |code: u16| {
        let row = |name: &str| format!("connections[].provider_specific.rotation_overrides.{name}");
        let rotates = row(&format!("rotate_on_{code}"));
        SwitchOverride {
            rotates: sheet.is_given(&rotates).then(|| sheet.flag(&rotates)),
            threshold: sheet
                .whole(&row(&format!("error_{code}_threshold")))
                .and_then(|count| u32::try_from(count).ok()),
            window_ms: sheet.whole(&row(&format!("error_{code}_window_seconds"))).map(|s| s * 1_000),
        }
    };
    PerKind { on_429: of(429), on_500: of(500), on_502: of(502), on_400: of(400) }
}

fn check_provider(context: &mut Context<'_>, sheet: &Sheet, provider: &str) {
    let known = provider.is_empty() || context.known.provider(provider, &sheet.place).is_some();
    if !known && context.checks_references() {
        let accepted = context.known.provider_list();
        let problem = format!("names the provider {}, which does not exist", quoted(provider));
        context.refuse(sheet, "connections[].provider", &problem, &accepted);
    }
}

fn check_id(context: &mut Context<'_>, sheet: &Sheet, id: &str) {
    let key = "connections[].id";
    if context.builtin.has_connection(id) {
        let problem = format!("`{id}` is a connection of [demo]");
        context.refuse(sheet, key, &problem, "another id, or demo.enabled = false");
    } else if context.known.connections.contains_key(id) {
        let problem = format!("`{id}` is another connection's id already");
        context.refuse(sheet, key, &problem, "an id of its own");
    }
}

/// What was typed, else one after the highest of the provider's earlier connections.
fn priority(sheet: &Sheet, provider: &str, last: &mut BTreeMap<String, u32>) -> u32 {
    let last = last.entry(provider.to_owned()).or_default();
    let own = match sheet.value("connections[].priority") {
        Some(_) => sheet.count("connections[].priority"),
        None => *last + 1,
    };
    *last = own.max(*last);
    own
}
