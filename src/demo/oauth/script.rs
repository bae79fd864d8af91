//! What the name of a refresh token asks of the token endpoint.

use super::super::behaviour::Behaviour;

/// Lifetime of an access token unless its name says otherwise, s.
const HOUR: u64 = 3_600;

/// What one request gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::demo) enum Script {
    /// A pair.
    Grants {
        /// Lifetime of its access token, s.
        expires_in: u64,
        /// Whether a new refresh token comes with it.
        rotates: bool,
    },
    /// An error of the token endpoint.
    Refuses {
        /// Its status.
        status: u16,
        /// Its `error`.
        code: &'static str,
    },
    /// What the same name does as a model; what only a model can do is a pair.
    Behaves(Behaviour),
}

const STEADY: Script = Script::Grants { expires_in: HOUR, rotates: true };

/// The refusals with a name.
const REFUSALS: [(&str, u16, &str); 5] = [
    ("invalid-grant", 400, "invalid_grant"),
    ("refresh-token-reused", 401, "refresh_token_reused"),
    ("invalid-client", 401, "invalid_client"),
    ("unauthorized-client", 400, "unauthorized_client"),
    ("invalid-scope", 400, "invalid_scope"),
];

/// The script of request `n` (from 1) of a family.
pub(super) fn of(family: &str, n: u64) -> Script {
    let name = family.split('_').next().unwrap_or_default();
    match first(name) {
        Some((count, script)) if n <= count => parse(script),
        Some(_) => STEADY,
        None => parse(name),
    }
}

/// `first-N-SCRIPT`: so for the first N requests, then steady.
fn first(name: &str) -> Option<(u64, &str)> {
    let (count, script) = name.strip_prefix("first-")?.split_once('-')?;
    Some((count.parse().ok()?, script))
}

fn parse(name: &str) -> Script {
    if let Some((_, status, code)) = REFUSALS.iter().find(|(known, _, _)| *known == name) {
        return Script::Refuses { status: *status, code };
    }
    if let Some(seconds) = name.strip_prefix("expires-").and_then(|seconds| seconds.parse().ok()) {
        return Script::Grants { expires_in: seconds, rotates: true };
    }
    if name == "kept" {
        return Script::Grants { expires_in: HOUR, rotates: false };
    }
    match Behaviour::parse(name) {
        behaviour @ (Behaviour::Slow { .. }
        | Behaviour::Down { .. }
        | Behaviour::Refuse(_)
        | Behaviour::Headless(_)) => Script::Behaves(behaviour),
        _ => STEADY,
    }
}

impl Script {
    /// Lifetime of the access tokens it gives, s, and whether refresh tokens rotate.
    pub(super) fn pair(self) -> (u64, bool) {
        match self {
            Self::Grants { expires_in, rotates } => (expires_in, rotates),
            Self::Refuses { .. } | Self::Behaves(_) => (HOUR, true),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::behaviour::{Behaviour, Headless, Refusal};
    use super::{STEADY, Script, of};

    #[test]
    fn names_ask_for_what_they_say() {
        let rows = [
            ("steady", STEADY),
            ("anything-else", STEADY),
            ("flaky-30", STEADY),
            ("expires-2_a", Script::Grants { expires_in: 2, rotates: true }),
            ("kept", Script::Grants { expires_in: 3_600, rotates: false }),
            ("invalid-grant_b", Script::Refuses { status: 400, code: "invalid_grant" }),
            ("invalid-client", Script::Refuses { status: 401, code: "invalid_client" }),
            ("status-503", Script::Behaves(Behaviour::Refuse(Refusal::plain(503)))),
            ("hang", Script::Behaves(Behaviour::Headless(Headless::Hang))),
            ("slow-20ms", Script::Behaves(Behaviour::Slow { delay_ms: 20 })),
        ];
        for (name, script) in rows {
            assert_eq!(of(name, 1), script, "{name}");
        }
    }

    #[test]
    fn a_beginning_ends_after_its_number() {
        let refused = Script::Behaves(Behaviour::Refuse(Refusal::plain(503)));
        let scripts = [1, 2, 3].map(|n| of("first-2-status-503_x", n));
        assert_eq!(scripts, [refused, refused, STEADY]);
    }
}
