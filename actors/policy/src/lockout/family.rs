//! Which models of a provider share one quota: ordered data, keyed by provider id (core 5.1.4,
//! decision 37). A provider without rows has no families; each of its models stands alone.

/// Models of one provider that share a quota.
struct Family {
    provider: &'static str,
    name: &'static str,
    /// One of these is in the model's name, in lower case; none: every model that is left.
    words: &'static [&'static str],
}

/// The first row of the provider that fits names the family.
const FAMILIES: [Family; 5] = [
    Family { provider: "codex", name: "spark", words: &["spark", "bengalfox"] },
    Family { provider: "codex", name: "codex", words: &[] },
    Family { provider: "antigravity", name: "claude", words: &["claude", "gpt-oss"] },
    Family { provider: "antigravity", name: "gemini-flash", words: &["flash"] },
    Family { provider: "antigravity", name: "gemini-pro", words: &["gemini"] },
];

/// Providers whose failures speak about the exact model, whatever the status (core 5.1.2).
const EXACT: [&str; 1] = ["antigravity"];

/// Providers whose 429 is about the family, never about the account (core P16).
const BY_FAMILY: [&str; 1] = ["codex"];

/// The family of a model; the model itself where there is none.
pub(crate) fn family_of<'a>(provider: &str, model: &'a str) -> &'a str {
    let lower = model.to_lowercase();
    let fits = |family: &&Family| {
        let named = family.words.iter().any(|word| lower.contains(word));
        family.provider == provider && (named || family.words.is_empty())
    };
    FAMILIES.iter().find(fits).map_or(model, |family| family.name)
}

pub(super) fn is_exact(provider: &str) -> bool {
    EXACT.contains(&provider)
}

pub(super) fn is_by_family(provider: &str) -> bool {
    BY_FAMILY.contains(&provider)
}
