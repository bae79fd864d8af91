//! How long the answers of a connection may take: its own word, else the model's, else the
//! provider's, else that of `[upstream]` and `[stream]` (contract 8).

use std::collections::BTreeMap;
use std::time::Duration;

use policy::ids::ModelId;

use crate::settings::{self, Settings, Timeouts};
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
    let account = connection.timeouts.over(provider.timeouts);
    let own = provider.models.iter().flatten().filter(|model| model.timeouts != Timeouts::default());
    let models = own.map(|model| {
        let typed = connection.timeouts.over(model.timeouts).over(provider.timeouts);
        (model.id.clone(), resolve(settings, typed))
    });
    Limits {
        connect: account.connect.unwrap_or(settings.upstream.connect_timeout),
        account: resolve(settings, account),
        models: models.collect(),
    }
}

fn resolve(settings: &Settings, typed: Timeouts) -> StreamTimeouts {
    let (upstream, stream) = (&settings.upstream, &settings.stream);
    StreamTimeouts {
        first_byte: typed.first_byte.unwrap_or(upstream.first_byte_timeout),
        first_content: typed.first_content.unwrap_or(stream.first_content),
        content_stall: typed.content_stall.unwrap_or(stream.content_stall),
        idle: stream.idle,
        total: typed.total.unwrap_or(stream.total),
        attempt: typed.attempt.unwrap_or(stream.attempt),
    }
}
