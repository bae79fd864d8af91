//! Which model of a combo served a session last (routing 3.9): for combos that keep a conversation
//! with one model, because its context is cached there or its words would not be another's.
//!
//! The pin bypasses the strategy, never the gates: the model goes first, and the ordinary order goes on
//! where another model may do better (`attempts`). Three requests in a row that nobody could serve end
//! it. It is learnt anew after a restart.

use std::collections::HashMap;
use std::sync::Arc;

use crate::ids::{ModelId, ProviderId};
use crate::time::{MINUTE, Millis};

/// Pins that are kept; beyond them the one that was used longest ago goes.
const MOST: usize = 1_000;
/// A pin ends so long after its last use.
const LIFETIME_MS: Millis = 30 * MINUTE;
/// So many failures in a row end it.
const STRIKES: u32 = 3;

/// A provider's model.
pub type Target = (ProviderId, ModelId);

#[derive(Clone, Debug)]
struct Pin {
    target: Target,
    used_at: Millis,
    /// Requests that failed since the last success.
    strikes: u32,
    /// When the last of them came, epoch ms: its other attempts are no further failures.
    struck_by: Option<Millis>,
}

/// The pins of all combos.
#[derive(Clone, Debug, Default)]
pub struct SessionModels {
    pins: HashMap<Arc<str>, HashMap<Arc<str>, Pin>>,
}

impl SessionModels {
    /// The model that a session of a combo stays with.
    pub fn of(&self, combo: &str, session: &str, now: Millis) -> Option<&Target> {
        let pin = self.pins.get(combo)?.get(session)?;
        (now < pin.used_at.saturating_add(LIFETIME_MS)).then_some(&pin.target)
    }

    /// How an attempt of a session's request, which came at `asked_at`, ended: whoever serves is the
    /// pin from then on, so a strike that stays is a request that nobody has served.
    pub fn heard(
        &mut self,
        (combo, session): (&Arc<str>, &Arc<str>),
        target: Target,
        good: bool,
        (asked_at, now): (Millis, Millis),
    ) {
        let pins = self.pins.entry(combo.clone()).or_default();
        if good {
            if pins.len() >= MOST && !pins.contains_key(session) {
                drop_oldest(pins);
            }
            pins.insert(session.clone(), Pin { target, used_at: now, strikes: 0, struck_by: None });
            return;
        }
        let Some(pin) = pins.get_mut(session).filter(|pin| pin.struck_by != Some(asked_at)) else { return };
        (pin.strikes, pin.struck_by) = (pin.strikes + 1, Some(asked_at));
        if pin.strikes >= STRIKES {
            pins.remove(session);
        }
    }
}

fn drop_oldest(pins: &mut HashMap<Arc<str>, Pin>) {
    let oldest = pins.iter().min_by_key(|(_, pin)| pin.used_at).map(|(session, _)| session.clone());
    if let Some(session) = oldest {
        pins.remove(&session);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{LIFETIME_MS, MOST, SessionModels, Target};

    fn target(name: &str) -> Target {
        (name.into(), "m".into())
    }

    fn hear(pins: &mut SessionModels, session: &str, name: &str, good: bool, now: u64) {
        let (combo, session): (Arc<str>, Arc<str>) = ("c".into(), session.into());
        pins.heard((&combo, &session), target(name), good, (now, now));
    }

    /// Routing 3.9: three failures of the combo in a row, a success between them counts anew.
    #[test]
    fn a_pin_lasts_until_its_combo_fails_three_times() {
        let mut pins = SessionModels::default();
        hear(&mut pins, "s", "a", true, 0);
        hear(&mut pins, "s", "a", false, 1);
        hear(&mut pins, "s", "a", false, 2);
        assert_eq!(pins.of("c", "s", 2), Some(&target("a")));
        hear(&mut pins, "s", "a", true, 3);
        hear(&mut pins, "s", "a", false, 4);
        hear(&mut pins, "s", "b", false, 5);
        assert!(pins.of("c", "s", 5).is_some());
        hear(&mut pins, "s", "a", false, 6);
        assert_eq!(pins.of("c", "s", 6), None);
    }

    /// However many attempts one request makes, it is one failure.
    #[test]
    fn the_attempts_of_one_request_are_one_failure() {
        let mut pins = SessionModels::default();
        let (combo, session): (Arc<str>, Arc<str>) = ("c".into(), "s".into());
        let fail = |pins: &mut SessionModels, asked_at| {
            for (now, name) in ["a", "a", "b", "b"].into_iter().enumerate() {
                pins.heard((&combo, &session), target(name), false, (asked_at, asked_at + now as u64));
            }
            pins.of("c", "s", asked_at).is_some()
        };
        hear(&mut pins, "s", "a", true, 0);
        assert_eq!([10, 20, 30].map(|asked_at| fail(&mut pins, asked_at)), [true, true, false]);
    }

    #[test]
    fn whoever_serves_is_the_pin_and_it_ends_with_disuse() {
        let mut pins = SessionModels::default();
        hear(&mut pins, "s", "a", true, 0);
        hear(&mut pins, "s", "b", true, 5);
        assert_eq!(pins.of("c", "s", 4 + LIFETIME_MS), Some(&target("b")));
        assert_eq!(pins.of("c", "s", 5 + LIFETIME_MS), None);
        assert_eq!(pins.of("d", "s", 6), None);
    }

    #[test]
    fn the_oldest_makes_room() {
        let mut pins = SessionModels::default();
        for n in 0..=MOST {
            hear(&mut pins, &n.to_string(), "a", true, n as u64);
        }
        assert_eq!((pins.of("c", "0", 1), pins.pins["c"].len()), (None, MOST));
    }
}
