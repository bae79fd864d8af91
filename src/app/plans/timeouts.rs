//! How long the answers of a connection may take, and how slow its streams may be: its own word,
//! else the model's, else the provider's, else that of the section (contract 8). Each key falls
//! through alone.

use std::collections::BTreeMap;
use std::time::Duration;

use policy::ids::ModelId;
use policy::stream::PaceSettings;

use crate::settings::{self, OwnWatchdog, Settings, Timeouts};
use crate::upstream::StreamTimeouts;

/// The limits of one connection.
pub(super) struct Limits {
    /// Of a new connection.
    pub connect: Duration,
    /// Of its answers.
    pub account: StreamTimeouts,
    /// Of answers of models that differ.
    pub models: BTreeMap<ModelId, StreamTimeouts>,
}

impl Limits {
    /// The execution limit must leave room for every model's first byte (decision 16a).
    pub fn longest_first_byte(&self) -> Duration {
        let models = self.models.values().map(|limits| limits.first_byte);
        models.fold(self.account.first_byte, Duration::max)
    }
}

/// Resolves all levels.
pub(super) fn of(
    settings: &Settings,
    provider: &settings::Provider,
    connection: &settings::Connection,
) -> Limits {
    let below = (provider.timeouts, provider.watchdog);
    let own = (connection.timeouts, connection.watchdog);
    let account = over(own, below);
    let listed = provider.models.iter().flatten().map(|model| (&model.id, (model.timeouts, model.watchdog)));
    let models = listed.filter(|(_, typed)| *typed != Typed::default());
    let models = models.map(|(id, typed)| (id.clone(), resolve(settings, over(own, over(typed, below)))));
    Limits {
        connect: account.0.connect.unwrap_or(settings.upstream.connect_timeout),
        account: resolve(settings, account),
        models: models.collect(),
    }
}

/// What one level says.
type Typed = (Timeouts, OwnWatchdog);

fn over(typed: Typed, below: Typed) -> Typed {
    (typed.0.over(below.0), typed.1.over(below.1))
}

fn resolve(settings: &Settings, (typed, watchdog): Typed) -> StreamTimeouts {
    let (upstream, stream) = (&settings.upstream, &settings.stream);
    let watchdog = watchdog.resolve(settings.resilience.stream_recovery.watchdog);
    let first_byte = typed.first_byte.unwrap_or(upstream.first_byte_timeout);
    StreamTimeouts {
        first_byte,
        body: typed.body.or(upstream.body_timeout).unwrap_or(first_byte),
        first_content: typed.first_content.unwrap_or(stream.first_content),
        content_stall: typed.content_stall.unwrap_or(stream.content_stall),
        idle: typed.idle.unwrap_or(stream.idle),
        total: typed.total.unwrap_or(stream.total),
        attempt: typed.attempt.unwrap_or(stream.attempt),
        pace: PaceSettings {
            enabled: watchdog.enabled,
            warmup_ms: watchdog.warmup_ms,
            window_ms: watchdog.window_ms,
            min_bytes_per_second: watchdog.min_bytes_per_second.into(),
            min_bytes: watchdog.min_bytes.into(),
        },
    }
}
