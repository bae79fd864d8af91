//! Where and how one connection is dialled: addresses and headers made once per
//! configuration, so that a request only clones them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use awc::http::Uri;
use awc::http::header::{HeaderName, HeaderValue};
use policy::catalogue::Dialect;
use policy::ids::ModelId;
use policy::stream::PaceSettings;

use super::oauth::Session;
use super::wall::Walled;
use crate::settings::{Proxy, Secret};

/// An inference route of a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Route {
    /// OpenAI chat completions.
    Chat,
    /// OpenAI embeddings.
    Embeddings,
    /// Anthropic messages.
    Messages,
    /// Anthropic token counting.
    CountTokens,
    /// OpenAI responses.
    Responses,
}

impl Route {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Chat, Self::Embeddings, Self::Messages, Self::CountTokens, Self::Responses];

    /// The path below the provider's base address, version included.
    pub fn path(self) -> &'static str {
        match self {
            Self::Chat => "/v1/chat/completions",
            Self::Embeddings => "/v1/embeddings",
            Self::Messages => "/v1/messages",
            Self::CountTokens => "/v1/messages/count_tokens",
            Self::Responses => "/v1/responses",
        }
    }

    /// The dialect it belongs to (contract 8, "Models").
    pub fn dialect(self) -> Dialect {
        match self {
            Self::Chat | Self::Embeddings => Dialect::Openai,
            Self::Messages | Self::CountTokens => Dialect::Anthropic,
            Self::Responses => Dialect::Responses,
        }
    }
}

impl Route {
    /// The dialect of the model's words, if its answers hold any: numbers are not judged.
    pub fn answers(self) -> Option<Dialect> {
        match self {
            Self::Chat | Self::Messages | Self::Responses => Some(self.dialect()),
            Self::Embeddings | Self::CountTokens => None,
        }
    }
}

/// How long the parts of an answer may take (flow 6.1), and how slow it may be. Zero: no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamTimeouts {
    /// Until the response headers; never zero.
    pub first_byte: Duration,
    /// All of an answer that is not streamed, from its head on.
    pub body: Duration,
    /// From the head until the first meaningful frame.
    pub first_content: Duration,
    /// Without output or reasoning.
    pub content_stall: Duration,
    /// Without a byte.
    pub idle: Duration,
    /// The whole stream.
    pub total: Duration,
    /// Hard ceiling of one attempt.
    pub attempt: Duration,
    /// Whether and when it is too slow (flow 6.7).
    pub pace: PaceSettings,
}

/// One connection as it is dialled.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// Addresses by route, in the order of `Route::ALL`.
    pub addresses: [Uri; 5],
    /// Headers of every request: content type, configured ones.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// The header with the credential by route, in the order of `Route::ALL`: dialects of one
    /// account differ in it.
    pub keys: [Option<(HeaderName, HeaderValue)>; 5],
    /// What must never be shown: redacted from answers of the upstream.
    pub credential: Option<Secret>,
    /// Gives the credential of an OAuth connection, which changes while it is in use.
    pub session: Option<Arc<Session>>,
    /// What a Claude account may do at its usage wall; `None`: nothing (rules 5).
    pub walled: Option<Walled>,
    /// The outbound proxy it goes through; `None`: straight there.
    pub proxy: Option<Arc<Proxy>>,
    /// Limit of a new connection.
    pub connect_timeout: Duration,
    /// Limit until the first byte of a non-streamed answer.
    pub first_byte_timeout: Duration,
    /// How long an answer may take.
    pub timeouts: StreamTimeouts,
    /// The same for models that differ, as they are named upstream.
    pub model_timeouts: BTreeMap<ModelId, StreamTimeouts>,
    /// How long a request may run once it was let go (flow 4.4.12); `None`: no limit of its own.
    pub execution: Option<Duration>,
}

impl Endpoint {
    /// The address of a route.
    pub fn address(&self, route: Route) -> &Uri {
        &self.addresses[route as usize]
    }

    /// The header that carries the credential on a route.
    pub fn key(&self, route: Route) -> Option<&(HeaderName, HeaderValue)> {
        self.keys[route as usize].as_ref()
    }

    /// How long an answer of this model may take.
    pub fn limits(&self, model: &ModelId) -> &StreamTimeouts {
        self.model_timeouts.get(model).unwrap_or(&self.timeouts)
    }
}

/// Endpoints by connection, swapped as a whole when the configuration changes.
pub type Endpoints = std::collections::HashMap<policy::ids::ConnectionId, Arc<Endpoint>>;

/// Joins a base address and a path without doubling the version (contract 8, "Config").
pub fn join_url(base: &str, path: &str) -> String {
    let base = base.trim_end_matches('/');
    let version = path.split('/').nth(1).unwrap_or_default();
    match base.rsplit('/').next() {
        Some(last) if !version.is_empty() && last == version => {
            format!("{base}{}", &path[version.len() + 1..])
        }
        _ => format!("{base}{path}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{Route, join_url};

    #[test]
    fn the_version_is_never_doubled() {
        for (base, expected) in [
            ("https://api.example.com/v1", "https://api.example.com/v1/chat/completions"),
            ("https://api.example.com/v1/", "https://api.example.com/v1/chat/completions"),
            ("https://api.example.com", "https://api.example.com/v1/chat/completions"),
            ("http://127.0.0.1:1/openai/v1", "http://127.0.0.1:1/openai/v1/chat/completions"),
            ("http://127.0.0.1:1/v10", "http://127.0.0.1:1/v10/v1/chat/completions"),
        ] {
            assert_eq!(join_url(base, Route::Chat.path()), expected, "{base}");
        }
    }

    #[test]
    fn addresses_stand_in_the_order_of_the_routes() {
        for (index, route) in Route::ALL.into_iter().enumerate() {
            assert_eq!(route as usize, index);
        }
    }
}
