//! What the names of an access token and of an organisation ask of the two endpoints.

use super::super::behaviour::Behaviour;

/// What an access token of an account begins with.
const TOKEN: &str = "sk-ant-oat-";

/// What the status says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    /// A block.
    Says {
        /// Its arm.
        arm: &'static str,
        /// Whether a reset can be had.
        available: bool,
    },
    /// A block without anything in it.
    Unusable,
    /// What the same name does as a model.
    Behaves(Behaviour),
}

/// What a claim gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Claim {
    /// A result.
    Says(&'static str),
    /// What the same name does as a model; after a delay, a reset.
    Behaves(Behaviour),
}

/// The results with a name; any other name resets.
const RESULTS: [(&str, &str); 5] = [
    ("not-limited", "not_limited"),
    ("already-used", "already_used"),
    ("cooldown", "cooldown"),
    ("ineligible", "ineligible"),
    ("unavailable", "unavailable"),
];

/// The script of `sk-ant-oat-NAME`, or `sk-ant-oat-NAME_anything`.
pub(super) fn status(token: &str) -> Status {
    let name = name(token.strip_prefix(TOKEN).unwrap_or_default());
    match name {
        "control" => Status::Says { arm: "control", available: true },
        "spent" => Status::Says { arm: "reset", available: false },
        "unusable" => Status::Unusable,
        _ => match Behaviour::parse(name) {
            behaviour @ (Behaviour::Refuse(_) | Behaviour::Headless(_)) => Status::Behaves(behaviour),
            _ => Status::Says { arm: "reset", available: true },
        },
    }
}

/// The script of an organisation.
pub(super) fn claim(organization: &str) -> Claim {
    let name = name(organization);
    if let Some((_, result)) = RESULTS.iter().find(|(known, _)| *known == name) {
        return Claim::Says(result);
    }
    match Behaviour::parse(name) {
        behaviour @ (Behaviour::Refuse(_) | Behaviour::Headless(_) | Behaviour::Slow { .. }) => {
            Claim::Behaves(behaviour)
        }
        _ => Claim::Says("reset"),
    }
}

fn name(text: &str) -> &str {
    text.split('_').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::super::behaviour::{Behaviour, Headless, Refusal};
    use super::{Claim, Status, claim, status};

    #[test]
    fn tokens_and_organisations_ask_for_what_they_say() {
        let offered = Status::Says { arm: "reset", available: true };
        for (token, says) in [
            ("sk-ant-oat-a", offered),
            ("sk-other", offered),
            ("sk-ant-oat-control_b", Status::Says { arm: "control", available: true }),
            ("sk-ant-oat-spent", Status::Says { arm: "reset", available: false }),
            ("sk-ant-oat-unusable", Status::Unusable),
            ("sk-ant-oat-status-500_c", Status::Behaves(Behaviour::Refuse(Refusal::plain(500)))),
        ] {
            assert_eq!(status(token), says, "{token}");
        }
        for (organization, says) in [
            ("anything", Claim::Says("reset")),
            ("already-used_a", Claim::Says("already_used")),
            ("status-403", Claim::Behaves(Behaviour::Refuse(Refusal::plain(403)))),
            ("hang", Claim::Behaves(Behaviour::Headless(Headless::Hang))),
            ("slow-50ms", Claim::Behaves(Behaviour::Slow { delay_ms: 50 })),
        ] {
            assert_eq!(claim(organization), says, "{organization}");
        }
    }
}
