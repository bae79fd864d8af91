//! Mailboxes are bounded by our own count, because the runtime's bound does not hold: 1000 of
//! 1000 were accepted at capacity 4. A refusal is immediate, an order that matters is never lost.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use actors::blueprint::Blueprint;
use actors::connection::Describe;
use actors::mailbox::{Mailbox, Unanswered};
use actors::messages::{Barrier, Poison};
use actors::router::family::Apply;
use actors::testing::{World, blueprint, bounds, paused, verdict};
use policy::change::{Exclusion, Refusal};
use policy::verdict::End;

fn bounded(capacity: usize) -> Blueprint {
    Blueprint { mailbox: bounds(capacity), ..blueprint("a: a1") }
}

/// 1000 questions at once: how many were answered.
macro_rules! thousand {
    ($shared:expr, $message:expr) => {{
        let shared = $shared.clone();
        let asked: Vec<_> = (0..1000)
            .map(|_| {
                let shared = shared.clone();
                actix::spawn(async move { shared.mailbox.ask($message).await.err() })
            })
            .collect();
        let mut answered = 0;
        for task in asked {
            match task.await.unwrap() {
                None => answered += 1,
                Some(refused) => assert_eq!(refused, Unanswered::Full),
            }
        }
        answered
    }};
}

#[test]
fn of_a_thousand_parallel_questions_the_bound_lets_four_in() {
    paused(async {
        let world = World::start(bounded(4)).await;
        let shared = world.connection("a1");
        assert_eq!(thousand!(shared, Describe), 4);
        assert_eq!((shared.mailbox.gauge().refused(), shared.mailbox.gauge().waiting()), (996, 0));
        assert_eq!(thousand!(world.provider("a"), Barrier), 4);
        assert_eq!(thousand!(world.owners.router, Barrier), 4);
        assert_eq!(thousand!(shared, Describe), 4, "the count comes back");
        assert_eq!(shared.mailbox.gauge().refused(), 2 * 996);
    });
}

#[test]
fn verdicts_past_the_bound_are_never_lost() {
    paused(async {
        let mut blueprint = bounded(4);
        let breaker = blueprint.providers.get_mut("a").unwrap();
        (breaker.degrade_at, breaker.open_at) = (99_999, 100_000);
        let world = World::start(blueprint).await;
        let mut permits = Vec::new();
        for _ in 0..1000 {
            permits.push(world.acquire("a/m").await.unwrap());
        }
        let shared = world.connection("a1");
        assert_eq!(shared.in_flight(), 1000);
        for permit in &mut permits {
            permit.settle(verdict(End::NoFirstByte), true, true);
        }
        assert_eq!(shared.mailbox.gauge().waiting(), 1000);
        let target = permits[0].target().clone();
        let refused =
            pin!(world.owners.acquire(&target, false)).poll(&mut Context::from_waker(Waker::noop()));
        let Poll::Ready(Err(refusal)) = refused else { panic!("it is let in, or waits") };
        assert_eq!(refusal, Refusal { why: Exclusion::MailboxFull, retry_at: None });
        drop(permits);
        while shared.mailbox.gauge().waiting() + world.provider("a").mailbox.gauge().waiting() > 0 {
            tokio::task::yield_now().await;
        }
        world.quiet().await;
        assert_eq!(world.provider("a").view.load().failures, 1000);
        assert_eq!(shared.in_flight(), 0);
    });
}

fn fill(mailbox: &Mailbox<actors::connection::Connection>, count: usize) {
    for _ in 0..count {
        mailbox.post(Barrier);
    }
}

#[test]
fn a_full_mailbox_refuses_without_waiting() {
    paused(async {
        let world = World::start(bounded(4)).await;
        let shared = world.connection("a1");
        let mut context = Context::from_waker(Waker::noop());
        fill(&shared.mailbox, 3);
        let fourth = pin!(shared.mailbox.ask(Describe)).poll(&mut context).is_pending();
        assert!(fourth, "it waits for its answer");
        fill(&shared.mailbox, 1);
        let fifth = pin!(shared.mailbox.ask(Describe)).poll(&mut context);
        assert!(matches!(fifth, Poll::Ready(Err(Unanswered::Full))));
        assert_eq!(shared.mailbox.gauge().refused(), 1);
    });
}

#[test]
fn a_bound_changes_while_it_is_in_use() {
    paused(async {
        let world = World::start(bounded(4)).await;
        for capacity in [2, 500] {
            world.owners.router.mailbox.post(Apply(Arc::new(bounded(capacity))));
            world.quiet().await;
            assert_eq!(thousand!(world.connection("a1"), Describe), capacity);
            assert_eq!(thousand!(world.provider("a"), Barrier), capacity);
            assert_eq!(thousand!(world.owners.router, Barrier), capacity);
        }
    });
}

#[test]
fn messages_that_wait_behind_a_crash_give_their_count_back() {
    paused(async {
        let world = World::start(bounded(4)).await;
        let shared = world.connection("a1");
        shared.mailbox.post(Poison);
        fill(&shared.mailbox, 10);
        assert_eq!(shared.mailbox.gauge().waiting(), 11);
        while shared.mailbox.gauge().waiting() > 0 {
            tokio::task::yield_now().await;
        }
        assert_eq!(thousand!(shared, Describe), 4);
    });
}

#[test]
fn a_closed_mailbox_keeps_nobody_waiting() {
    paused(async {
        let world = World::start(blueprint("a: a1\nb: b1")).await;
        let (shared, asked) = (world.connection("b1"), world.now());
        world.owners.router.mailbox.post(Apply(Arc::new(blueprint("a: a1"))));
        world.quiet().await;
        assert_eq!(shared.mailbox.ask(Describe).await.err(), Some(Unanswered::Gone));
        fill(&shared.mailbox, 10);
        assert_eq!(shared.mailbox.gauge().waiting(), 0, "what nobody will read is not kept");
        assert_eq!(world.now(), asked);
    });
}
