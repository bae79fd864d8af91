//! What is known of one owner: its newest row (rules 7.1).

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::ids::{ConnectionId, ProviderId};
use crate::time::Millis;

/// What every owner begins with.
const PREFIX: &str = "vlo_";
/// Characters of base64url after that: 32 bytes.
const LENGTH: usize = 43;

/// Whether a text may name an owner (rules 7.1.2).
pub fn is_owner(text: &str) -> bool {
    let known = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    text.strip_prefix(PREFIX).is_some_and(|rest| rest.len() == LENGTH && rest.bytes().all(known))
}

/// SHA-256 of an owner in lower-case hex: nothing else of it is kept or shown.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OwnerHash(Arc<str>);

impl OwnerHash {
    /// From its 64 digits.
    pub fn from_hex(text: &str) -> Option<Self> {
        let digit = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'a'..=b'f');
        (text.len() == 64 && text.bytes().all(digit)).then(|| Self(text.into()))
    }

    /// Its digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for OwnerHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for OwnerHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0[..8])
    }
}

impl Serialize for OwnerHash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for OwnerHash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::from_hex(&text).ok_or_else(|| serde::de::Error::custom("not a SHA-256 in lower-case hex"))
    }
}

/// What has become of a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum LeaseState {
    /// It holds.
    Active,
    /// Its owner gave it back.
    Released,
    /// Nobody renewed it.
    Expired,
    /// It was taken away.
    Invalidated,
}

impl LeaseState {
    /// The name in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "ACTIVE",
            Self::Released => "RELEASED",
            Self::Expired => "EXPIRED",
            Self::Invalidated => "INVALIDATED",
        }
    }
}

/// Why a lease ended (rules 7.1.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum EndReason {
    /// The key lost the scope or the connection.
    AuthorizationChanged,
    /// The client gave up what it was doing.
    ClientCancelled,
    /// The connection may not be used any more.
    ConnectionIneligible,
    /// The connection, its provider or the model there rests.
    HealthOrCooldown,
    /// The key is gone.
    ManagedKeyRevoked,
    /// The connection does not serve the model asked for.
    ModelIneligible,
    /// The owner has ended.
    OwnerExit,
    /// Its quota or the key's share of it is used up.
    QuotaUnavailable,
    /// Nobody renewed it.
    TtlExpired,
}

impl EndReason {
    /// The name in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AuthorizationChanged => "AUTHORIZATION_CHANGED",
            Self::ClientCancelled => "CLIENT_CANCELLED",
            Self::ConnectionIneligible => "CONNECTION_INELIGIBLE",
            Self::HealthOrCooldown => "HEALTH_OR_COOLDOWN",
            Self::ManagedKeyRevoked => "MANAGED_KEY_REVOKED",
            Self::ModelIneligible => "MODEL_INELIGIBLE",
            Self::OwnerExit => "OWNER_EXIT",
            Self::QuotaUnavailable => "QUOTA_UNAVAILABLE",
            Self::TtlExpired => "TTL_EXPIRED",
        }
    }
}

/// An owner's newest row, as it is stored. Its generation is the highest that the owner ever had.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// Whose.
    pub owner: OwnerHash,
    /// Name of the key it was acquired with.
    pub key: String,
    /// The connection's provider.
    pub provider: ProviderId,
    /// The connection.
    pub connection: ConnectionId,
    /// Which of the owner's leases it is; the first is 1.
    pub generation: u64,
    /// What has become of it.
    pub state: LeaseState,
    /// When the generation began, epoch ms.
    pub acquired_at: Millis,
    /// When it was last extended by its owner, epoch ms.
    pub renewed_at: Millis,
    /// When it ends unless a request of it runs, epoch ms.
    pub expires_at: Millis,
    /// When it ended, epoch ms.
    #[serde(default)]
    pub ended_at: Option<Millis>,
    /// Why it ended.
    #[serde(default)]
    pub end_reason: Option<EndReason>,
    /// A request of it was running when this was written: after a crash its time starts anew.
    #[serde(default)]
    pub in_use: bool,
}

impl Row {
    /// It holds, as far as is written here.
    pub fn is_active(&self) -> bool {
        self.state == LeaseState::Active
    }
}

/// What others may see of a connection's lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseView {
    /// Who holds it.
    pub owner: OwnerHash,
    /// When it ends, epoch ms; `None` while a request of it runs.
    pub until: Option<Millis>,
}

impl LeaseView {
    /// Whether it keeps a request away; `owner`: the lease that the request has.
    pub fn bars(&self, owner: Option<&OwnerHash>, now: Millis) -> bool {
        owner != Some(&self.owner) && self.until.is_none_or(|until| now < until)
    }
}
