//! The numbers of gates, limiters and ceilings (flow 1.1, 1.9, 4.1): the connection's own, else
//! those of all. 0 is no limit everywhere.

use std::time::Duration;

use actors::ceiling::CeilingSettings;
use policy::gate::GateSettings;
use policy::limiter::{LimiterScope, LimiterSettings};
use policy::protection::{self, Standing};

use crate::settings::{self, ExecutionLimit, Settings};

/// Whether a connection has a local limiter (flow 5).
pub fn is_protected(
    settings: &Settings,
    provider: &settings::Provider,
    connection: &settings::Connection,
) -> bool {
    let standing = Standing {
        flag: settings.protected.contains(&connection.id),
        class: provider.class,
        active: connection.active,
    };
    protection::is_protected(standing, settings.resilience.request_queue.auto_enable_api_key_providers)
}

/// What the gate of a connection admits.
pub fn gate_settings(
    settings: &Settings,
    provider: &settings::Provider,
    connection: &settings::Connection,
) -> GateSettings {
    let concurrency = &settings.resilience.concurrency;
    let models = connection.rate_limit.model_concurrency.iter();
    GateSettings {
        account_cap: smaller(connection.max_concurrent, connection.rate_limit.max_concurrent.unwrap_or(0)),
        model_caps: models.map(|(model, cap)| (model.as_str().into(), *cap)).collect(),
        queue_size: concurrency.queue_size,
        timeout_ms: concurrency.timeout_ms,
        limiter: is_protected(settings, provider, connection).then(|| limiter(settings, connection)),
    }
}

/// The smaller of two caps; 0 is none (flow 1.5).
fn smaller(one: u32, other: u32) -> u32 {
    match (one, other) {
        (0, cap) | (cap, 0) => cap,
        (one, other) => one.min(other),
    }
}

/// The cap and the window over all connections of a provider (flow 1.9, 4.4).
pub fn ceiling(settings: &Settings, provider: &settings::Provider) -> CeilingSettings {
    let quota = settings.resilience.provider_quota_overrides.get(provider.id.as_str());
    quota.map_or_else(CeilingSettings::default, |quota| CeilingSettings {
        cap: quota.cap(),
        rpm: quota.rpm.unwrap_or(0),
    })
}

fn limiter(settings: &Settings, connection: &settings::Connection) -> LimiterSettings {
    let queue = &settings.resilience.request_queue;
    let own = &connection.rate_limit;
    LimiterSettings {
        rpm: own.rpm.unwrap_or(queue.requests_per_minute),
        min_time_ms: own.min_time_ms.unwrap_or(queue.min_time_between_requests_ms),
        parallel: own.max_concurrent.unwrap_or(queue.concurrent_requests),
        max_wait_ms: own.max_wait_ms.unwrap_or(queue.max_wait_ms),
        max_depth: queue.max_queue_depth,
        scope: LimiterScope::of(connection.provider.as_str()),
    }
}

/// How long a request of a protected connection may run (flow 4.4.12): exactly what somebody
/// set; the built-in limit gives way to a longer first-byte limit (decision 16a).
pub fn execution_limit(
    settings: &Settings,
    provider: &settings::Provider,
    connection: &settings::Connection,
    first_byte: Duration,
) -> Option<Duration> {
    let limit =
        match (connection.rate_limit.execution_max_wait_ms, settings.resilience.request_queue.execution) {
            (Some(own), _) => Duration::from_millis(own),
            (None, ExecutionLimit::Exact(set)) => Duration::from_millis(set),
            (None, ExecutionLimit::BuiltIn(built_in)) => Duration::from_millis(built_in).max(first_byte),
        };
    is_protected(settings, provider, connection).then_some(limit)
}
