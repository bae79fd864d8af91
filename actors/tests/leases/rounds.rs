//! Many owners, three accounts, ten thousand rounds: what clients are told never contradicts itself
//! (rules 7.1.3, 7.2; FC-046).

use std::collections::{BTreeMap, BTreeSet};

use actors::connection::Order;
use actors::lease::desk::NoLease;
use actors::permit::Permit;
use actors::router::family::Restored;
use actors::testing::{World, paused};
use policy::lease::{Denied, EndReason, OwnerHash, Row, TTL_MS};

use crate::stage::{ask, fence, managed, ms, offer, rows};

const OWNERS: usize = 64;
const ROUNDS: usize = 10_000;
const ALL: [&str; 3] = ["c1", "c2", "c3"];

/// What an owner does in a round.
#[derive(Clone, Copy, Debug)]
enum Act {
    Acquire,
    Renew,
    Release,
}

/// What clients know of their leases.
#[derive(Default)]
struct Known {
    newest: BTreeMap<usize, Row>,
    running: BTreeMap<usize, Vec<Permit>>,
    ended: BTreeSet<(usize, u64)>,
    disk: BTreeMap<OwnerHash, Row>,
    acquired: usize,
    moved: usize,
    expired: usize,
}

impl Known {
    fn generation(&self, index: usize) -> u64 {
        self.newest.get(&index).map_or(0, |row| row.generation)
    }

    fn expire(&mut self, now: u64) {
        for (index, row) in &self.newest {
            let runs = self.running.get(index).is_some_and(|permits| !permits.is_empty());
            if !runs && row.expires_at <= now && self.ended.insert((*index, row.generation)) {
                self.expired += 1;
            }
        }
    }

    fn heard(&mut self, index: usize, row: Row) {
        assert!(!self.ended.contains(&(index, row.generation)), "owner {index}: {row:?} has ended");
        let before = self.newest.get(&index);
        match before.filter(|before| before.generation == row.generation) {
            Some(before) => self.moved += usize::from(before.connection != row.connection),
            None => {
                assert_eq!(row.generation, self.generation(index) + 1, "owner {index}");
                self.acquired += 1;
            }
        }
        self.newest.insert(index, row);
    }

    fn active(&self) -> impl Iterator<Item = (usize, &Row)> {
        let lives = |(index, row): &(usize, &Row)| !self.ended.contains(&(*index, row.generation));
        self.newest.iter().map(|(index, row)| (*index, row)).filter(lives)
    }

    /// Never two owners of one connection.
    fn check(&self) {
        let held: Vec<&str> = self.active().map(|(_, row)| row.connection.as_str()).collect();
        let distinct: BTreeSet<&&str> = held.iter().collect();
        assert_eq!(held.len(), distinct.len(), "{held:?}");
    }
}

async fn act(world: &World, known: &mut Known, acts: &[(usize, Act)]) {
    let tasks: Vec<_> = acts
        .iter()
        .map(|(index, act)| {
            let (owners, index, act) = (world.owners.clone(), *index, *act);
            let fence = fence(index, known.generation(index).max(1), "ka");
            actix::spawn(async move {
                match act {
                    Act::Acquire => owners.lease(offer(index, "ka", &ALL)).await,
                    Act::Renew => owners.renew_lease(fence).await,
                    Act::Release => owners.release_lease(fence, EndReason::OwnerExit).await,
                }
            })
        })
        .collect();
    for ((index, act), task) in acts.iter().zip(tasks) {
        match (act, task.await.unwrap()) {
            (Act::Acquire | Act::Renew, Ok(row)) => known.heard(*index, row),
            (Act::Release, Ok(row)) => {
                known.running.remove(index);
                known.ended.insert((*index, row.generation));
            }
            (Act::Acquire, Err(NoLease::Contended(_) | NoLease::Unavailable(_))) => {}
            (Act::Renew | Act::Release, Err(NoLease::Denied(Denied::Stale))) => {
                let generation = known.generation(*index);
                let active = known.newest.contains_key(index) && !known.ended.contains(&(*index, generation));
                assert!(!active, "owner {index} was refused what it has: {act:?}");
            }
            (act, told) => panic!("owner {index}: {act:?} {told:?}"),
        }
    }
}

/// Somebody who has a lease sends a request, or ends one.
async fn traffic(world: &World, known: &mut Known, rng: &mut fastrand::Rng) {
    let active: Vec<(usize, u64)> = known.active().map(|(index, row)| (index, row.generation)).collect();
    let Some((index, generation)) = active.get(rng.usize(0..active.len().max(1))).copied() else { return };
    if rng.bool() {
        known.running.remove(&index);
    } else if let Ok(permit) = ask(world, index, generation, "ka", &ALL).await {
        known.running.entry(index).or_default().push(permit);
    }
    if let Ok(row) = world.owners.lease_status(&fence(index, generation, "ka")) {
        known.heard(index, row);
    } else {
        // Its account rests and all others are leased (rules 7.5.4).
        known.running.remove(&index);
        known.ended.insert((index, generation));
    }
}

async fn restart(world: World, known: &mut Known) -> World {
    world.owners.store.flush().await.unwrap();
    // Each process adds to what those before it have written.
    known.disk.extend(rows(&world).into_iter().map(|row| (row.owner.clone(), row)));
    let leases = known.disk.values().cloned().collect();
    let restored = Restored { leases, ..Restored::default() };
    let (clock, now) = (world.owners.clock, world.now());
    for (index, _) in std::mem::take(&mut known.running) {
        let row = known.newest.get_mut(&index).unwrap();
        row.expires_at = row.expires_at.max(now + TTL_MS);
    }
    drop(world);
    let arbiters = vec![actix::Arbiter::current()];
    World::at(clock, managed("p: c1 c2 c3", &[("ka", &ALL)]), restored, arbiters).await
}

#[test]
fn fc_046_ten_thousand_rounds_never_bind_a_connection_or_a_generation_twice() {
    paused(async {
        let mut rng = fastrand::Rng::with_seed(46);
        let mut known = Known::default();
        let mut world = World::start(managed("p: c1 c2 c3", &[("ka", &ALL)])).await;
        for round in 0..ROUNDS {
            let acts: Vec<(usize, Act)> = match round % 100 {
                0 => (0..OWNERS).map(|index| (index, Act::Acquire)).collect(),
                _ => (0..4).map(|_| (rng.usize(0..OWNERS), any(&mut rng))).collect(),
            };
            let mut distinct = BTreeSet::new();
            let acts: Vec<_> = acts.into_iter().filter(|(index, _)| distinct.insert(*index)).collect();
            act(&world, &mut known, &acts).await;
            let holders: Vec<usize> = known.active().map(|(index, _)| index).collect();
            if let Some(index) = holders.get(rng.usize(0..8)) {
                let one = [(*index, any(&mut rng))];
                act(&world, &mut known, &one).await;
            }
            traffic(&world, &mut known, &mut rng).await;
            known.check();
            if rng.u8(..) < 16 {
                let resting = world.connection(ALL[rng.usize(0..3)]);
                resting.mailbox.post(Order::Cool(20_000));
            }
            if rng.u8(..) < 64 {
                ms(rng.u64(0..90_000)).await;
                known.expire(world.now());
            }
            if round % 97 == 96 {
                world = restart(world, &mut known).await;
            }
        }
        // It was no idle test.
        let Known { acquired, moved, expired, .. } = known;
        assert!(acquired > 500 && moved > 20 && expired > 100, "{acquired} {moved} {expired}");
    });
}

fn any(rng: &mut fastrand::Rng) -> Act {
    match rng.u8(0..8) {
        0 | 1 => Act::Release,
        2 | 3 => Act::Renew,
        _ => Act::Acquire,
    }
}
