//! How a shared model is called: `qtSd/GROUP/PROVIDER/MODEL` (flow 2.1, 2.2).

use std::fmt;

/// What every shared name begins with.
pub const PREFIX: &str = "qtSd/";

/// A shared name, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuotaName<'a> {
    /// The slug of the pool's group.
    pub group: &'a str,
    /// The provider.
    pub provider: &'a str,
    /// The model as the provider names it, slashes included.
    pub model: &'a str,
}

impl<'a> QuotaName<'a> {
    /// Takes a name apart; `None` when it is not a shared one.
    pub fn parse(text: &'a str) -> Option<Self> {
        let mut parts = text.strip_prefix(PREFIX)?.splitn(3, '/');
        let (group, provider, model) = (parts.next()?, parts.next()?, parts.next()?);
        // Nobody serves a model without a name.
        let whole = ![group, provider, model].contains(&"");
        whole.then_some(Self { group, provider, model })
    }
}

impl fmt::Display for QuotaName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}/{}/{}", self.group, self.provider, self.model)
    }
}

/// A group's name as it stands in a shared name: lower case, letters and digits of ASCII only.
pub fn slug(group: &str) -> String {
    let kept: String = group.to_lowercase().chars().filter(char::is_ascii_alphanumeric).collect();
    if kept.is_empty() { "pool".into() } else { kept }
}
