//! Access tokens of OAuth connections: read without a lock, renewed by one caller at a time.
//!
//! A `Session` holds the tokens of one connection for all workers. Whoever finds that they are
//! due starts a flight: one POST, on a task of its own so that a client that leaves takes no
//! rotated token along. All others wait for that flight. The new pair is on disk before
//! anybody sends it (FC-036). When a token is due, and what an answer means, is
//! `policy::token`'s word.

mod desk;
mod flight;
mod grant;
mod session;
#[cfg(test)]
mod tests;

use std::pin::Pin;
use std::sync::Arc;

use awc::http::Uri;
use awc::http::header::{HeaderName, HeaderValue};
use policy::ids::{ConnectionId, ProviderId};
use policy::time::Millis;
use policy::token::{RefreshOutcome, Timetable};

use crate::settings::{Proxy, Secret};

pub use desk::Desk;
pub use session::Session;

/// The tokens of a connection, as they are kept.
#[derive(Clone, Debug, PartialEq)]
pub struct Tokens {
    /// Sent with requests; `None`: it has to be asked for first.
    pub access: Option<Secret>,
    /// Renews it.
    pub refresh: Secret,
    /// When.
    pub times: Timetable,
}

/// Who asks the token endpoint.
#[derive(Clone, Debug, PartialEq)]
pub struct Client {
    /// The token endpoint.
    pub token_url: Uri,
    /// Our id there.
    pub client_id: String,
    /// Our secret there, if we have one.
    pub client_secret: Option<Secret>,
    /// What is asked for, joined by blanks; empty: what the refresh token stands for.
    pub scope: String,
    /// The outbound proxy of the connection: it is one account, and leaves by one way.
    pub proxy: Option<Arc<Proxy>>,
}

/// How an access token is sent.
#[derive(Clone, Debug, PartialEq)]
pub struct TokenHeader {
    /// The header.
    pub name: HeaderName,
    /// What stands before the token.
    pub prefix: &'static str,
}

/// Whose session it is, and what it works with.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The connection.
    pub connection: ConnectionId,
    /// Its provider.
    pub provider: ProviderId,
    /// Tells the configured tokens from others, without telling them.
    pub origin: String,
}

/// The right to send a request now.
#[derive(Debug)]
pub struct Pass {
    /// The header that carries the token.
    pub header: (HeaderName, HeaderValue),
    /// The token: redacted from answers.
    pub secret: Secret,
    /// Counts the access tokens of its session.
    number: u64,
}

/// Why there is no pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoPass {
    /// The refresh token is dead: only new credentials, or a retry in the background, help.
    Expired,
    /// The token endpoint gave none; ask again then, epoch ms.
    Later(Millis),
}

/// Answers whether something is on disk.
pub type Kept = Pin<Box<dyn Future<Output = Result<(), String>>>>;

/// Keeps tokens for the next start.
pub trait Keeper: Send + Sync {
    /// Stores the tokens of a connection; they are on disk when it is done.
    fn keep(&self, identity: &Identity, tokens: &Tokens) -> Kept;
}

/// Hears how each refresh ended.
pub type Observer = Arc<dyn Fn(&Identity, RefreshOutcome) + Send + Sync>;
