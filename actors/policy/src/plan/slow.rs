//! Targets whose answers began too late lately (`predictive_ttft_ms`, routing 7.11): they are passed
//! over as long as a quicker one is left.
//!
//! They stand behind all quicker ones and not outside: a slow answer is better than none (no request
//! is lost for a rule of [source], decisions). Where a step may be passed only for quota nobody is
//! passed over. What the router knows is of the last minutes, so nobody stays behind for ever.

use super::entries::Entries;
use crate::strategy::{Pool, Ranked};
use crate::time::Millis;

/// Good answers that are needed to judge a target.
const SAMPLES: u32 = 5;

/// Puts the slow entries behind the quick ones, each group in its order; the place of the first slow
/// one, if there is one behind a quick one that can be asked.
pub(super) fn put_last(ranked: &mut Ranked, entries: &Entries<'_>) -> Option<usize> {
    let (of_all, own) = (&entries.combo.attempts, &entries.combo.own);
    let limits = of_all.predictive_ttft_ms > 0 || own.any(|own| own.attempts.predictive_ttft_ms > 0);
    if !limits || entries.combo.steps.iter().any(|step| step.only_on_quota) {
        return None;
    }
    ranked.settle();
    let limit = |index: usize| own.attempts(entries.provider(index), of_all).predictive_ttft_ms;
    let slow = |index: &usize| is_slow(entries, *index, limit(*index));
    let (slow, mut order): (Vec<usize>, Vec<usize>) = ranked.order.iter().copied().partition(slow);
    if slow.is_empty() || !order.iter().any(|index| entries.eligible(*index)) {
        return None;
    }
    let first = order.len();
    order.extend(slow);
    ranked.order = order;
    Some(first)
}

fn is_slow(entries: &Entries<'_>, index: usize, limit: Millis) -> bool {
    let mean = entries.metrics(index).and_then(|metrics| metrics.mean_ms);
    limit > 0
        && mean.is_some_and(|mean| mean > limit as f64)
        && entries.spread(index).is_some_and(|spread| spread.samples >= SAMPLES)
}

#[cfg(test)]
mod tests {
    use crate::account::Usage;
    use crate::attempts::{AttemptSettings, Own};
    use crate::board::Board;
    use crate::catalogue::{Catalogue, Combo, Dialect};
    use crate::dice::Scripted;
    use crate::ids::{ConnectionId, ModelId, ProviderId};
    use crate::latency::Latency;
    use crate::plan::tests::{NOW, catalogue, open};
    use crate::plan::{Ask, Memory, Planned, World, plan};
    use crate::request::Traits;
    use crate::strategy::{Metrics, Spread};

    /// What each provider's model took on average, and how often it was asked.
    struct Took(&'static [(&'static str, f64, u32)]);

    impl Took {
        fn of(&self, provider: &ProviderId) -> Option<(f64, u32)> {
            let found = self.0.iter().find(|(known, ..)| *known == provider.as_str());
            found.map(|(_, mean, samples)| (*mean, *samples))
        }
    }

    impl Memory for Took {
        fn in_flight(&self, _: &ConnectionId) -> u32 {
            0
        }

        fn metrics(&self, _: &str, provider: &ProviderId, _: &ModelId) -> Option<Metrics> {
            let (mean, _) = self.of(provider)?;
            Some(Metrics { success_rate: 1.0, mean_ms: Some(mean) })
        }

        fn usage(&self, _: &ConnectionId) -> Usage {
            Usage::default()
        }

        fn latency(&self, _: &ConnectionId, _: &ModelId, _: u64) -> Latency {
            Latency::default()
        }

        fn spread(&self, _: &str, provider: &ProviderId, _: &ModelId) -> Option<Spread> {
            let (mean, samples) = self.of(provider)?;
            Some(Spread { p95_ms: mean, deviation_ms: None, samples })
        }
    }

    /// The combo of a, b and c, in the order in which they are asked; those that are passed over as
    /// slow have a `-`.
    fn order(took: &'static [(&'static str, f64, u32)], limit: u64, held: bool) -> Vec<String> {
        ordered(took, (limit, &[]), held, &Board::default())
    }

    /// The same, with limits of some providers (routing 1.4).
    fn ordered(
        took: &'static [(&'static str, f64, u32)],
        (limit, own): (u64, &[(&str, u64)]),
        held: bool,
        board: &Board,
    ) -> Vec<String> {
        let mut catalogue: Catalogue = catalogue();
        let combo: &mut Combo = catalogue.combos.get_mut("abc").unwrap();
        combo.attempts = AttemptSettings { predictive_ttft_ms: limit, ..combo.attempts };
        let of = |limit: u64| AttemptSettings { predictive_ttft_ms: limit, ..combo.attempts };
        let own =
            own.iter().map(|(id, limit)| ((*id).into(), Own { attempts: of(*limit), slow_start_ms: 0 }));
        combo.own = own.collect();
        combo.steps[0].only_on_quota = held;
        let traits = Traits::default();
        let ask = Ask { model: "abc", dialect: Dialect::Openai, allowed: None, traits: &traits, lease: None };
        let world = World { catalogue: &catalogue, board, memory: &Took(took), now: NOW };
        let plan = plan(&ask, world, &mut Scripted::default()).unwrap();
        let slow = |target: &Planned| target.place.as_ref().is_some_and(|place| place.slow);
        let shown = |target| format!("{}{}", if slow(target) { "-" } else { "" }, target.provider);
        plan.targets.iter().map(shown).collect()
    }

    /// Routing 7.11: five samples, and more than the limit.
    #[test]
    fn who_was_too_slow_five_times_stands_behind_the_quicker_ones() {
        assert_eq!(order(&[("a", 900.1, 5)], 900, false), ["b", "c", "-a"]);
        assert_eq!(order(&[("a", 900.1, 4)], 900, false), ["a", "b", "c"], "too few to say");
        assert_eq!(order(&[("a", 900.0, 5)], 900, false), ["a", "b", "c"], "not above it");
        assert_eq!(order(&[("a", 900.1, 5)], 0, false), ["a", "b", "c"], "off");
        assert_eq!(order(&[("a", 950.0, 9), ("b", 901.0, 9)], 900, false), ["c", "-a", "-b"]);
    }

    #[test]
    fn routing_1_4_each_is_held_to_what_is_said_of_its_provider() {
        let order = |limit: u64, own: (&str, u64)| {
            ordered(&[("a", 500.0, 5), ("b", 500.0, 5)], (limit, &[own]), false, &Board::default())
        };
        assert_eq!(order(0, ("b", 400)), ["a", "c", "-b"]);
        assert_eq!(order(400, ("b", 600)), ["b", "c", "-a"]);
        assert_eq!(order(400, ("a", 0)), ["a", "c", "-b"]);
    }

    #[test]
    fn where_all_that_could_be_asked_are_slow_nobody_is_passed_over() {
        let all = &[("a", 5_000.0, 9), ("b", 4_000.0, 9), ("c", 3_000.0, 9)];
        assert_eq!(order(all, 900, false), ["a", "b", "c"]);
        let mut board = Board::default();
        for quick in ["b", "c"] {
            open(&mut board, quick);
        }
        assert_eq!(ordered(&[("a", 5_000.0, 9)], (900, &[]), false, &board), ["a"], "the quick ones are out");
    }

    /// Routing 4.1: it is passed for quota alone.
    #[test]
    fn a_protected_step_is_not_passed_for_being_slow() {
        assert_eq!(order(&[("a", 5_000.0, 9)], 900, true), ["a", "b", "c"]);
    }
}
