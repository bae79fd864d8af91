//! `p2c` among accounts: two are drawn, the one with fewer points goes first (core 4.1, 4.4).
//!
//! A full tie is the dice's, never the smaller id's (decision 26), after fewer requests in
//! flight. The 5 % rule of decision 26e is about a combo's scores: these are small whole numbers.

use std::cmp::Ordering;

use super::score::{latency_points, penalty};
use super::{Account, Millis};
use crate::dice::Dice;

/// First the winner of the draw, then the others by their points.
pub(super) fn order(accounts: &[Account], weight: f64, now: Millis, dice: &mut dyn Dice) -> Vec<usize> {
    if accounts.len() <= 1 {
        return (0..accounts.len()).collect();
    }
    let first = first_choice(accounts, weight, now, dice);
    let mut rest: Vec<(usize, f64)> = accounts
        .iter()
        .enumerate()
        .filter(|(index, _)| *index != first)
        .map(|(index, account)| (index, penalty(account, now)))
        .collect();
    // Of those that are equal another one leads each time.
    let turn = dice.below(rest.len());
    rest.rotate_left(turn);
    rest.sort_by(|(one, points), (other, others)| {
        points.total_cmp(others).then_with(|| tie(&accounts[*one], &accounts[*other]))
    });
    std::iter::once(first).chain(rest.into_iter().map(|(index, _)| index)).collect()
}

fn first_choice(accounts: &[Account], weight: f64, now: Millis, dice: &mut dyn Dice) -> usize {
    let with_quota = (0..accounts.len()).filter(|index| !accounts[*index].quota_exhausted);
    let mut pool: Vec<usize> = with_quota.collect();
    if pool.is_empty() {
        pool = (0..accounts.len()).collect();
    }
    if pool.len() == 1 {
        return pool[0];
    }
    let drawn = dice.below(pool.len());
    let second = dice.below(pool.len() - 1);
    let pair = [pool[drawn], pool[if second >= drawn { second + 1 } else { second }]];
    let [one, other] = pair.map(|index| &accounts[index]);
    let added = latency_points([one, other], weight);
    let points = [penalty(one, now) + added[0], penalty(other, now) + added[1]];
    let order = points[0].total_cmp(&points[1]).then_with(|| tie(one, other));
    let (won, lost) = if order == Ordering::Greater { (pair[1], pair[0]) } else { (pair[0], pair[1]) };
    let keeps = accounts[won].keeps_draw;
    if keeps < 1.0 && dice.unit() >= keeps { lost } else { won }
}

/// Core 4.4: more headroom, then the smaller priority; then decision 26e.
fn tie(one: &Account, other: &Account) -> Ordering {
    let headroom = |account: &Account| account.headroom.unwrap_or(-1.0);
    let priority = |account: &Account| account.priority.unwrap_or(999);
    headroom(other)
        .total_cmp(&headroom(one))
        .then(priority(one).cmp(&priority(other)))
        .then(one.in_flight.cmp(&other.in_flight))
}
