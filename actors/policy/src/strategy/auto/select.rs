//! Who of the candidates is asked first (routing 5.8, 5.10).
//!
//! Candidates come sorted by score. Those that are alike take turns: the first in a list is never
//! the silent choice (decision 26).

use std::cmp::Ordering;

use super::factors::{Book, Known};
use super::settings::{AutoRouter, AutoSettings, Sla};
use crate::dice::Dice;
use crate::strategy::{LastGood, Note, Pool};

/// Scores this close to the best are the top.
const TOP: f64 = 1e-4;
/// Scores within this share of the range are the middle.
const MIDDLE: f64 = 0.3;
/// From this range on only the top is chosen from.
const WIDE: f64 = 0.1;
/// Values this close are alike.
const ALIKE: f64 = 1e-9;
/// A deviation that fits a promised 95th percentile, as a share of it.
const STEADY: f64 = 0.1;

/// Candidates, and what is known of every entry.
pub(super) struct Candidates<'a> {
    pub(super) pool: &'a dyn Pool,
    /// Best score first; at least one.
    pub(super) sorted: &'a [usize],
    pub(super) scores: &'a [f64],
    pub(super) known: &'a Book,
    pub(super) settings: &'a AutoSettings,
    pub(super) cursor: u64,
    pub(super) last_good: Option<&'a LastGood>,
    /// Nothing is tried for curiosity.
    pub(super) incident: bool,
}

/// Who was chosen, and what that changes.
pub(super) type Chosen = (usize, Option<Note>);

impl Candidates<'_> {
    pub(super) fn choose(&self, dice: &mut dyn Dice) -> Chosen {
        let known = |index: usize| &self.known[index];
        match self.settings.router {
            AutoRouter::Rules => self.by_rules(dice),
            AutoRouter::Score => self.largest(|index| self.scores[index]),
            AutoRouter::Cost => self.largest(|index| -known(index).cost),
            AutoRouter::Latency => {
                self.largest(|index| -(known(index).p95_ms + 1_000.0 * known(index).error_rate))
            }
            AutoRouter::Lkgp => match self.served_last() {
                Some(index) => (index, None),
                None => self.by_rules(dice),
            },
            AutoRouter::Sla => self.by_promises(),
        }
    }

    fn by_rules(&self, dice: &mut dyn Dice) -> Chosen {
        let (sorted, count) = (self.sorted, self.sorted.len());
        let curious = count > 1 && !self.incident && self.settings.exploration_rate > 0.0;
        if curious && dice.unit() < self.settings.exploration_rate {
            return (sorted[dice.below(count)], None);
        }
        let (best, worst) = (self.scores[sorted[0]], self.scores[sorted[count - 1]]);
        let tiers = self.tiers(best, best - worst);
        let tier = if best - worst >= WIDE { 0 } else { self.draw(&tiers, dice) };
        self.turn(tiers[tier])
    }

    /// The top, the middle and the rest: parts of the sorted list.
    fn tiers(&self, best: f64, range: f64) -> [&[usize]; 3] {
        let within =
            |band: f64| self.sorted.partition_point(|index| best - self.scores[*index] <= band + ALIKE);
        let (top, middle) = (within(TOP), within(MIDDLE * range));
        let middle = middle.max(top);
        // Without a middle the better half of the rest is it.
        let middle = if middle == top { top + (self.sorted.len() - top).div_ceil(2) } else { middle };
        [&self.sorted[..top], &self.sorted[top..middle], &self.sorted[middle..]]
    }

    /// The number of the tier that was drawn; one without candidates never is.
    fn draw(&self, tiers: &[&[usize]; 3], dice: &mut dyn Dice) -> usize {
        let mut parts = self.settings.taste.parts();
        for (part, tier) in parts.iter_mut().zip(tiers) {
            *part = if tier.is_empty() { 0.0 } else { *part };
        }
        let (thrown, mut running) = (dice.unit() * parts.iter().sum::<f64>(), 0.0);
        let drawn = parts.iter().position(|part| {
            running += part;
            *part > 0.0 && running > thrown
        });
        drawn.unwrap_or(0)
    }

    fn turn(&self, alike: &[usize]) -> Chosen {
        let chosen = alike[(self.cursor % alike.len() as u64) as usize];
        (chosen, (alike.len() > 1).then_some(Note::Cursor(self.cursor.wrapping_add(1))))
    }

    fn largest(&self, value: impl Fn(usize) -> f64) -> Chosen {
        self.first_of(|a, b| value(b).total_cmp(&value(a)), |a, b| (value(a) - value(b)).abs() <= ALIKE)
    }

    /// The first in an order, in turns with those that are alike; equals keep their scores' order.
    fn first_of(
        &self,
        order: impl Fn(usize, usize) -> Ordering,
        alike: impl Fn(usize, usize) -> bool,
    ) -> Chosen {
        let mut sorted = self.sorted.to_vec();
        sorted.sort_by(|a, b| order(*a, *b));
        let tied = sorted.iter().take_while(|index| alike(**index, sorted[0])).count();
        self.turn(&sorted[..tied])
    }

    /// Routing 4.16, by score where several fit.
    fn served_last(&self) -> Option<usize> {
        let last = self.last_good?;
        let fits = |index: &&usize| *self.pool.provider(**index) == last.provider;
        let same = |index: &&usize| {
            last.connection.is_some() && self.pool.connection(**index) == last.connection.as_ref()
        };
        let mut of_provider = self.sorted.iter().filter(fits);
        of_provider.clone().find(same).or_else(|| of_provider.next()).copied()
    }

    fn by_promises(&self) -> Chosen {
        let sla = &self.settings.sla;
        let kept = |index: usize| promises(&self.known[index], sla);
        let broken = |index: usize| if sla.hard { violation(&self.known[index], sla) } else { 0.0 };
        self.first_of(
            |a, b| broken(a).total_cmp(&broken(b)).then(kept(b).total_cmp(&kept(a))),
            |a, b| (broken(a) - broken(b)).abs() <= ALIKE && (kept(a) - kept(b)).abs() <= ALIKE,
        )
    }
}

fn promises(known: &Known, sla: &Sla) -> f64 {
    let ratio = |promised: f64, value: f64| (promised / value.max(ALIKE)).clamp(0.0, 1.0);
    0.35 * ratio(sla.p95_ms, known.p95_ms)
        + 0.35 * ratio(sla.error_rate, known.error_rate)
        + 0.15 * known.health
        + 0.10 * ratio(sla.cost, known.cost)
        + 0.05 * ratio(STEADY * sla.p95_ms, known.deviation_ms)
}

/// By how much promises are broken, as shares of them.
fn violation(known: &Known, sla: &Sla) -> f64 {
    let over = |promised: f64, value: f64| (value / promised.max(ALIKE) - 1.0).max(0.0);
    over(sla.p95_ms, known.p95_ms) + over(sla.error_rate, known.error_rate) + over(sla.cost, known.cost)
}
