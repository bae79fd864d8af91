//! What a lock bars, and its name. The name is the id in the management API and must survive
//! model names with colons and slashes.

use serde::{Deserialize, Serialize};

use super::family::{family_of, is_exact};
use crate::ids::{ConnectionId, ModelId, ProviderId};

/// How much a lock bars (core 5.1.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LockScope {
    /// The quota family of the model, or its base model: both are named in the same way.
    Family,
    /// This model only.
    Exact,
}

impl LockScope {
    const ALL: [Self; 2] = [Self::Family, Self::Exact];

    /// The name in JSON and ids.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Family => "family",
            Self::Exact => "exact",
        }
    }
}

/// What a lock bars on its connection (core 5.1.3).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LockKey {
    /// How much.
    pub scope: LockScope,
    /// Which family or model; trimmed lower case when the scope is exact.
    pub model: ModelId,
}

impl LockKey {
    /// The key of `model` alone.
    pub fn exact(model: &ModelId) -> Self {
        Self { scope: LockScope::Exact, model: model.as_str().trim().to_lowercase().into() }
    }

    /// The key of the base model.
    pub fn base(model: &ModelId) -> Self {
        Self { scope: LockScope::Family, model: model.clone() }
    }

    /// The key of `model`'s quota family; that of the model where there is none (core 5.1.4).
    pub fn family(provider: &ProviderId, model: &ModelId) -> Self {
        Self { scope: LockScope::Family, model: family_of(provider.as_str(), model.as_str()).into() }
    }

    /// The key by failing status (core 5.1.2): 429, 403, 402 the family, 404 the base model,
    /// every other the exact model. Some providers always mean the exact one (M18).
    pub fn for_status(provider: &ProviderId, status: u16, model: &ModelId) -> Self {
        match status {
            _ if is_exact(provider.as_str()) => Self::exact(model),
            402 | 403 | 429 => Self::family(provider, model),
            404 => Self::base(model),
            _ => Self::exact(model),
        }
    }

    /// Does it bar `model` of `provider`: as its family, its base or itself (core 5.1.5)?
    pub fn covers(&self, provider: &ProviderId, model: &ModelId) -> bool {
        match self.scope {
            LockScope::Family => {
                self.model == *model || self.model.as_str() == family_of(provider.as_str(), model.as_str())
            }
            LockScope::Exact => *self == Self::exact(model),
        }
    }

    /// The lock's id: `<connection>:<family|exact>:<model>`, each part percent-encoded.
    pub fn id(&self, connection: &ConnectionId) -> String {
        let connection = encode(connection.as_str());
        let model = encode(self.model.as_str());
        format!("{connection}:{}:{model}", self.scope.as_str())
    }

    /// Reads an id; `None` if it is none.
    pub fn parse_id(id: &str) -> Option<(ConnectionId, Self)> {
        let mut parts = id.split(':');
        let connection = decode(parts.next()?)?;
        let name = parts.next()?;
        let scope = LockScope::ALL.into_iter().find(|scope| scope.as_str() == name)?;
        let model = ModelId::from(decode(parts.next()?)?);
        if parts.next().is_some() || connection.is_empty() {
            return None;
        }
        let key = match scope {
            LockScope::Family => Self::base(&model),
            LockScope::Exact => Self::exact(&model),
        };
        Some((connection.into(), key))
    }
}

fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'.' | b'_' | b'~' | b'-' => {
                encoded.push(char::from(byte));
            }
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        rest = tail;
        if first != b'%' {
            bytes.push(first);
            continue;
        }
        let (digits, tail) = rest.split_at_checked(2)?;
        let digit = |byte: u8| char::from(byte).to_digit(16);
        bytes.push(u8::try_from(digit(digits[0])? * 16 + digit(digits[1])?).ok()?);
        rest = tail;
    }
    String::from_utf8(bytes).ok()
}
