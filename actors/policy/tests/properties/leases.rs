//! Properties of exclusive leases: whatever happens, a connection has one owner, and no generation
//! comes twice (rules 7.1.3, 7.2).

use std::collections::{BTreeMap, BTreeSet};

use super::config;
use policy::lease::{Claim, EndReason, Fence, LeaseBook, OwnerHash, Row, TTL_MS};
use policy::time::Millis;
use proptest::collection::vec;
use proptest::prelude::{Strategy, prop_assert, prop_assert_eq, prop_oneof, proptest};

#[derive(Clone, Debug)]
enum Step {
    Acquire { owner: usize, connection: usize },
    Move { owner: usize, connection: usize },
    Renew { owner: usize },
    Release { owner: usize },
    Enter { owner: usize },
    Leave { owner: usize },
    Wait(Millis),
    Restart,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let (owner, connection) = (0..5_usize, 0..3_usize);
    let pair = (owner.clone(), connection);
    vec(
        prop_oneof![
            6 => pair.clone().prop_map(|(owner, connection)| Step::Acquire { owner, connection }),
            2 => pair.prop_map(|(owner, connection)| Step::Move { owner, connection }),
            2 => owner.clone().prop_map(|owner| Step::Renew { owner }),
            2 => owner.clone().prop_map(|owner| Step::Release { owner }),
            2 => owner.clone().prop_map(|owner| Step::Enter { owner }),
            2 => owner.prop_map(|owner| Step::Leave { owner }),
            3 => (0..2 * TTL_MS).prop_map(Step::Wait),
            1 => proptest::strategy::Just(Step::Restart),
        ],
        1..80,
    )
}

fn owner(index: usize) -> OwnerHash {
    OwnerHash::from_hex(&index.to_string().repeat(64)).unwrap()
}

/// What the outside knows: each owner's newest lease, and how many of its requests run.
#[derive(Default)]
struct Seen {
    now: Millis,
    newest: BTreeMap<usize, (Row, u32)>,
    /// Generations that have ended.
    ended: BTreeSet<(usize, u64)>,
}

impl Seen {
    fn fence(&self, index: usize) -> Fence {
        let generation = self.newest.get(&index).map_or(1, |(row, _)| row.generation);
        Fence { owner: owner(index), generation, key: "k".into() }
    }

    /// Leases that have run out end.
    fn expire(&mut self) {
        let over = |(row, running): &(Row, u32)| *running == 0 && row.expires_at <= self.now;
        let ended: Vec<usize> =
            self.newest.iter().filter(|(_, lease)| over(lease)).map(|(index, _)| *index).collect();
        for index in ended {
            self.end(index);
        }
    }

    fn end(&mut self, index: usize) {
        if let Some((row, _)) = self.newest.get(&index) {
            self.ended.insert((index, row.generation));
        }
        if let Some((_, running)) = self.newest.get_mut(&index) {
            *running = 0;
        }
    }

    fn active(&self) -> impl Iterator<Item = &Row> {
        let lives =
            |(index, (row, _)): &(&usize, &(Row, u32))| !self.ended.contains(&(**index, row.generation));
        self.newest.iter().filter(lives).map(|(_, (row, _))| row)
    }
}

fn take(seen: &mut Seen, book: &mut LeaseBook, step: &Step) -> Option<(usize, Row)> {
    let now = seen.now;
    let claim = |index: usize, connection: usize| Claim {
        owner: owner(index),
        key: "k".into(),
        provider: "p".into(),
        connection: format!("c{connection}").into(),
    };
    match *step {
        Step::Acquire { owner, connection } => {
            book.claim(&claim(owner, connection), now).ok().map(|row| (owner, row))
        }
        Step::Move { owner, connection } => {
            let generation = seen.fence(owner).generation;
            let row = book.relocate(&claim(owner, connection), generation, EndReason::HealthOrCooldown, now);
            row.ok().map(|row| (owner, row))
        }
        Step::Renew { owner } => book.renew(&seen.fence(owner), now).ok().map(|row| (owner, row)),
        Step::Release { owner } => {
            if book.release(&seen.fence(owner), EndReason::OwnerExit, now).is_ok() {
                seen.end(owner);
            }
            None
        }
        Step::Enter { owner } => {
            let row = seen.newest.get(&owner).map(|(row, _)| row.connection.clone())?;
            if book.enter(&seen.fence(owner), &row, now).is_ok() {
                seen.newest.get_mut(&owner)?.1 += 1;
            }
            None
        }
        Step::Leave { owner: index } => {
            let (row, running) = seen.newest.get_mut(&index)?;
            if *running > 0 {
                *running -= 1;
                row.expires_at = row.expires_at.max(now + TTL_MS);
                book.leave(&owner(index), row.generation, now);
            }
            None
        }
        Step::Wait(ms) => {
            seen.now += ms;
            seen.expire();
            None
        }
        Step::Restart => {
            // What was on disk is all that is left; who ran is gone.
            let rows: Vec<Row> = (0..5).filter_map(|index| book.row(&owner(index)).cloned()).collect();
            *book = LeaseBook::default();
            book.restore(rows, now);
            for (row, running) in seen.newest.values_mut() {
                if std::mem::take(running) > 0 {
                    row.expires_at = row.expires_at.max(now + TTL_MS);
                }
            }
            None
        }
    }
}

proptest! {
    #![proptest_config(config(512))]

    #[test]
    fn a_connection_has_one_owner_and_no_generation_comes_twice(steps in steps()) {
        let (mut seen, mut book) = (Seen { now: 1_000, ..Seen::default() }, LeaseBook::default());
        for step in &steps {
            let before = seen.newest.clone();
            if let Some((index, row)) = take(&mut seen, &mut book, step) {
                prop_assert!(!seen.ended.contains(&(index, row.generation)), "{step:?}: it has ended");
                let last = before.get(&index).map_or(0, |(row, _)| row.generation);
                let running = match row.generation == last {
                    true => before[&index].1,
                    false => {
                        prop_assert_eq!(row.generation, last + 1, "{:?}", step);
                        0
                    }
                };
                seen.newest.insert(index, (row, running));
            }
            let held: Vec<_> = seen.active().map(|row| row.connection.clone()).collect();
            let distinct: BTreeSet<_> = held.iter().collect();
            prop_assert_eq!(held.len(), distinct.len(), "{:?}: {:?}", step, held);
            for row in seen.active() {
                let view = book.view(&row.connection, seen.now);
                prop_assert_eq!(view.map(|view| view.owner), Some(row.owner.clone()), "{:?}", step);
            }
        }
    }
}
