//! Berths of the targets of `round-robin` combos (routing 8.7): first come, first served, and every
//! one comes back whoever goes.

use std::sync::Arc;
use std::time::Duration;

use actors::berths::{Berth, InLine, Moored};
use actors::testing::{World, blueprint, paused};
use policy::plan::{Berths, Place};
use tokio::task::JoinHandle;

const ONE: Berths = Berths { most: 1, wait_ms: 1_000, depth: 2 };

fn place(key: &str) -> Place {
    Place {
        combo: "rr".into(),
        key: key.into(),
        entry: 0,
        of: 2,
        score: None,
        slow: false,
        berths: Some(ONE),
        within: None,
    }
}

fn all() -> Arc<actors::berths::Berths> {
    Arc::default()
}

fn taken(moored: Moored) -> Berth {
    match moored {
        Moored::In(berth) => berth,
        other => panic!("{other:?}"),
    }
}

fn waits(moored: Moored) -> InLine {
    match moored {
        Moored::Waits(line) => line,
        other => panic!("{other:?}"),
    }
}

#[test]
fn row_17_a_busy_target_without_a_line_says_so_at_once() {
    let berths = all();
    let none = Berths { depth: 0, ..ONE };
    let held = taken(berths.take(&place("a"), none));
    assert!(matches!(berths.take(&place("a"), none), Moored::Full));
    drop(taken(berths.take(&place("b"), none)));
    drop(held);
    drop(taken(berths.take(&place("a"), none)));
    assert_eq!((berths.counts(), berths.in_use()), ((0, 0), 0), "who is not used is forgotten");
}

#[test]
fn a_berth_goes_to_who_waited_longest_and_the_line_is_bounded() {
    paused(async {
        let berths = all();
        let held = taken(berths.take(&place("a"), ONE));
        let (second, third) = (waits(berths.take(&place("a"), ONE)), waits(berths.take(&place("a"), ONE)));
        assert!(matches!(berths.take(&place("a"), ONE), Moored::Full), "two wait");
        assert_eq!(berths.counts(), (1, 2));
        drop(held);
        let second = second.turn().await.expect("its turn");
        assert_eq!(berths.counts(), (1, 1));
        drop((second, third));
        assert_eq!((berths.counts(), berths.in_use()), ((0, 0), 0));
    });
}

#[test]
fn more_room_is_for_those_who_wait_first() {
    paused(async {
        let berths = all();
        let _held = taken(berths.take(&place("a"), ONE));
        let line = waits(berths.take(&place("a"), ONE));
        let newcomer = berths.take(&place("a"), Berths { most: 2, ..ONE });
        assert!(matches!(newcomer, Moored::Waits(_)));
        drop(line.turn().await.expect("the second berth"));
    });
}

#[test]
fn berths_outlive_the_router() {
    paused(async {
        let world = World::start(blueprint("a: a1")).await;
        let none = Berths { depth: 0, ..ONE };
        let held = taken(world.owners.router.berths.take(&place("a"), none));
        world.owners.router.mailbox.post(actors::messages::Poison);
        tokio::time::sleep(Duration::from_millis(10)).await;
        world.quiet().await;
        assert!(matches!(world.owners.router.berths.take(&place("a"), none), Moored::Full));
        drop(held);
        drop(taken(world.owners.router.berths.take(&place("a"), none)));
    });
}

/// FC-106: who has gone takes no turn, and keeps none.
#[test]
fn twenty_thousand_cancels_give_every_berth_back() {
    paused(async {
        let berths = all();
        let three = Berths { most: 3, wait_ms: 0, depth: u32::MAX };
        let mut dice = fastrand::Rng::with_seed(5);
        let mut turns: Vec<JoinHandle<Berth>> = Vec::new();
        let mut held: Vec<Berth> = Vec::new();
        for _ in 0..20_000 {
            let asked = berths.clone();
            turns.push(actix::spawn(async move {
                match asked.take(&place("a"), three) {
                    Moored::In(berth) => berth,
                    moored => waits(moored).turn().await.expect("nobody closes the line"),
                }
            }));
            if dice.bool() {
                tokio::task::yield_now().await;
            }
            let gone = turns.swap_remove(dice.usize(0..turns.len()));
            if gone.is_finished() {
                held.push(gone.await.expect("the task ends"));
            } else {
                gone.abort();
            }
            if dice.u8(0..3) == 0 && !held.is_empty() {
                held.swap_remove(dice.usize(0..held.len()));
            }
            assert!(berths.counts().0 <= 3);
        }
        turns.into_iter().for_each(|turn| turn.abort());
        held.clear();
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        assert_eq!((berths.counts(), berths.in_use()), ((0, 0), 0));
        let none = Berths { depth: 0, ..three };
        let all: Vec<Berth> = (0..3).map(|_| taken(berths.take(&place("a"), none))).collect();
        assert_eq!(all.len(), 3, "all three are there");
        assert!(matches!(berths.take(&place("a"), none), Moored::Full));
    });
}
