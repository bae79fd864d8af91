//! How many tools a provider takes, learnt from its refusals (rules 8.2).
//!
//! A provider that has said "at most 64" gets 64 for a day; nobody else's list is touched, and
//! nothing raises a cap while it holds. Fixed caps are known and beat what anybody says.

use std::collections::BTreeMap;

use crate::ids::ProviderId;
use crate::time::{DAY, Millis};

/// The cap of a provider that has said nothing (rules 8.2.1).
pub const DEFAULT_CAP: usize = 128;
/// Caps that are known, by provider.
const FIXED: [(&str, usize); 2] = [("grok-cli", 200), ("nvidia", 1_536)];
/// The text of a refusal that is about the number of tools (rules 8.2.2).
const SAYS: [&str; 5] =
    ["maximum number of tools", "too many tools", "tools limit", "'tools'", "maximum number of items"];
/// A number further away than this belongs to another sentence, bytes.
const NEAR: usize = 80;
/// What the native Claude client calls itself; its lists are not cut (rules 8.2.5).
const NATIVE: [&str; 2] = ["claude-cli", "claude-code"];

/// The number of tools that an answer says is the most, if it is a refusal for their number.
pub fn limit_of(status: u16, text: &str) -> Option<usize> {
    let text = text.to_lowercase();
    if status != 400 || !SAYS.iter().any(|words| text.contains(words)) {
        return None;
    }
    let found = WORDINGS.iter().find_map(|steps| read(&text, steps))?;
    (1..=10_000).contains(&found).then_some(found)
}

/// Wordings in their order (rules 8.2.3): what stands there one after the other, each after anything
/// within the sentence, and behind the last of it the number.
const WORDINGS: [&[&str]; 8] = [
    &["'tools'", "maximum number of items is"],
    &["maximum number of tools allowed is"],
    &["maximum number of tools"],
    &["too many tools", "maximum"],
    &["too many tools"],
    &["tools have been provided but maximum is"],
    &["tool", "limit"],
    &["tools", "exceeded"],
];

fn read(text: &str, steps: &[&str]) -> Option<usize> {
    let mut rest = text;
    for step in steps {
        let at = rest.find(step)?;
        rest = &rest[at + step.len()..];
    }
    let near = rest.bytes().take(NEAR);
    let digits: String = near
        .skip_while(|byte| !byte.is_ascii_digit())
        .take_while(u8::is_ascii_digit)
        .map(char::from)
        .collect();
    digits.parse().ok()
}

/// What has been learnt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Caps {
    /// Cap and its end, epoch ms.
    learnt: BTreeMap<ProviderId, (usize, Millis)>,
}

impl Caps {
    /// How many tools a provider is sent at most.
    pub fn cap(&self, provider: &ProviderId, now: Millis) -> usize {
        let held = || self.learnt.get(provider).filter(|(_, until)| now < *until).map(|(cap, _)| *cap);
        fixed(provider).or_else(held).unwrap_or(DEFAULT_CAP)
    }

    /// Remembers a limit for a day, if it is lower than the cap in force; whether it was.
    pub fn learn(&mut self, provider: &ProviderId, limit: usize, now: Millis) -> bool {
        self.learnt.retain(|_, (_, until)| now < *until);
        let lower = fixed(provider).is_none() && limit < self.cap(provider, now);
        if lower {
            self.learnt.insert(provider.clone(), (limit, now.saturating_add(DAY)));
        }
        lower
    }
}

fn fixed(provider: &ProviderId) -> Option<usize> {
    FIXED.iter().find(|(known, _)| *known == provider.as_str()).map(|(_, cap)| *cap)
}

/// Whether a client is the one whose lists are not cut, by what it calls itself.
pub fn is_native(user_agent: &str) -> bool {
    NATIVE.iter().any(|name| user_agent.starts_with(name))
}

#[cfg(test)]
mod tests {
    use super::{Caps, limit_of};
    use crate::ids::ProviderId;
    use crate::time::DAY;

    const T0: u64 = 1_800_000_000_000;

    #[test]
    fn rules_8_2_3_the_number_is_read_from_the_first_wording_that_fits() {
        let rows = [
            ("[] is too long - 'tools': maximum number of items is 64", Some(64)),
            ("Maximum number of tools allowed is 20.", Some(20)),
            ("maximum number of tools is 32", Some(32)),
            ("maximum number of tools: 16", Some(16)),
            ("Too many tools (maximum 100)", Some(100)),
            ("too many tools: 300 given, the maximum is 128", Some(128)),
            ("Too many tools: 40", Some(40)),
            ("'tools': 200 tools have been provided but maximum is 128", Some(128)),
            ("tools limit of 50 reached", Some(50)),
            ("'tools' exceeded the allowed 12", Some(12)),
            ("too many tools", None),
            ("too many tools, maximum 0", None),
            ("too many tools, maximum 10001", None),
            ("too many tools, maximum 10000", Some(10_000)),
            ("tool limit 0", None),
            ("something else about 64", None),
        ];
        for (text, limit) in rows {
            assert_eq!(limit_of(400, text), limit, "{text}");
            assert_eq!(limit_of(500, text), None, "{text} (D5)");
        }
        let far = format!("too many tools{} 64", " ".repeat(100));
        assert_eq!(limit_of(400, &far), None, "another sentence");
    }

    #[test]
    fn d3_d4_a_lower_cap_holds_for_a_day_and_nothing_raises_it() {
        let (mut caps, p) = (Caps::default(), ProviderId::from("p"));
        assert_eq!(caps.cap(&p, T0), 128);
        assert!(!caps.learn(&p, 128, T0) && !caps.learn(&p, 500, T0));
        assert!(caps.learn(&p, 64, T0));
        assert!(!caps.learn(&p, 100, T0 + 1), "D4");
        assert_eq!((caps.cap(&p, T0 + DAY - 1), caps.cap(&p, T0 + DAY)), (64, 128), "D3");
        assert_eq!(caps.cap(&"q".into(), T0), 128, "nobody else's");
        assert!(caps.learn(&p, 100, T0 + DAY), "over is over");
    }

    #[test]
    fn rules_8_2_1_fixed_caps_beat_what_is_said() {
        let mut caps = Caps::default();
        for (provider, cap) in [("grok-cli", 200), ("nvidia", 1_536)] {
            assert!(!caps.learn(&provider.into(), 10, T0));
            assert_eq!(caps.cap(&provider.into(), T0), cap);
        }
    }
}
