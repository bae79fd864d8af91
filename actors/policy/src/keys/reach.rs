//! Whether a key stands, and what it reaches.

use crate::catalogue::matches;
use crate::time::Millis;

/// Whether a key may be used at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Its owner has not switched it off.
    pub active: bool,
    /// It was banned.
    pub banned: bool,
    /// When it ends.
    pub expires_at: Option<Millis>,
}

impl Default for Standing {
    fn default() -> Self {
        Self { active: true, banned: false, expires_at: None }
    }
}

/// Why a key is none any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fallen {
    /// It is switched off.
    Inactive,
    /// It was banned.
    Banned,
    /// Its time is over.
    Expired,
}

impl Fallen {
    /// As a status.
    pub fn name(self) -> &'static str {
        match self {
            Self::Inactive => "inactive",
            Self::Banned => "banned",
            Self::Expired => "expired",
        }
    }

    /// In words, after `this key`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Inactive => "is switched off",
            Self::Banned => "is banned",
            Self::Expired => "has expired",
        }
    }
}

impl Standing {
    /// Whether it may be used at this instant.
    pub fn at(&self, now: Millis) -> Result<(), Fallen> {
        match self {
            Self { banned: true, .. } => Err(Fallen::Banned),
            Self { active: false, .. } => Err(Fallen::Inactive),
            Self { expires_at: Some(end), .. } if *end <= now => Err(Fallen::Expired),
            _ => Ok(()),
        }
    }
}

/// The models and combos of a key. `*` stands for any text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    /// Only what is listed; else the lists rest.
    pub restricted: bool,
    /// Names and targets.
    pub models: Vec<String>,
    /// Names of combos.
    pub combos: Vec<String>,
}

/// What a client asks for.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// As it was written.
    pub name: &'a str,
    /// The combo that it names.
    pub combo: Option<&'a str>,
    /// The targets it leads to, as `provider/model`.
    pub targets: &'a [String],
}

impl Reach {
    /// The name is listed, or each target that it leads to is: one target that is not would let a key
    /// out through a combo.
    pub fn allows(&self, asked: &Asked<'_>) -> bool {
        let listed = |list: &[String], text: &str| list.iter().any(|pattern| matches(pattern, text));
        !self.restricted
            || listed(&self.models, asked.name)
            || asked.combo.is_some_and(|combo| listed(&self.combos, combo))
            || (!asked.targets.is_empty() && asked.targets.iter().all(|target| listed(&self.models, target)))
    }
}
