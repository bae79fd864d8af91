//! What listeners hear of real owners (contract 4, `GET /api/events`): each change once and in
//! order, and how many they missed.

#[path = "leases/stage.rs"]
#[allow(dead_code, reason = "the tests of leases use all of it")]
mod stage;

use std::sync::Arc;

use actors::connection::{self, Order as Rest};
use actors::events::{Deaf, Event, KEPT, Listener, MOST_LISTENERS, News, What};
use actors::lockout::Remove;
use actors::messages::Poison;
use actors::provider::Order;
use actors::testing::{START, World, blueprint, paused};
use policy::lease::{EndReason, TTL_MS};
use policy::verdict::End;

use stage::{fence, managed, offer};

const MINUTE: u64 = 60_000;

fn listen(world: &World, after: Option<u64>) -> Listener {
    world.owners.router.events.listen(after, world.now()).expect("there is room")
}

/// What there is to hear now, in one list; what is missed fails the test.
async fn hear(listener: &mut Listener) -> Vec<Arc<Event>> {
    let mut all = Vec::new();
    // Time is paused: it moves when nothing is left to hear.
    while let Ok(news) = tokio::time::timeout(std::time::Duration::from_millis(1), listener.next()).await {
        match news.expect("it goes on") {
            News::Told(events) => all.extend(events),
            missed => panic!("{missed:?}"),
        }
    }
    all
}

type Line = (What, String, String, String, Option<u64>);

/// What, whose, `from > to`, why, and until when from the start of the world.
fn line(event: &Arc<Event>) -> Line {
    let Event { kind, of, from, to, reason, .. } = &**event;
    let until = event.until.map(|until| until - START);
    (event.what, format!("{kind} {of}"), format!("{from} > {to}"), reason.clone(), until)
}

fn said(what: What, of: &str, moved: &str, why: &str, until: Option<u64>) -> Line {
    (what, of.into(), moved.into(), why.into(), until)
}

/// Contract 4: every state change, once, in the order in which they happened.
#[test]
fn each_change_is_told_once_and_in_order() {
    paused(async {
        let world = World::start(blueprint("a: a1")).await;
        let mut listener = listen(&world, None);
        for order in [Order::Trip(Some(MINUTE)), Order::Isolate, Order::Reset] {
            world.provider("a").mailbox.post(order);
            world.quiet().await;
        }
        for order in [Rest::Cool(MINUTE), Rest::Cool(2 * MINUTE), Rest::Reset, Rest::Drain, Rest::Undrain] {
            world.connection("a1").mailbox.post(order);
            world.quiet().await;
        }
        world.serve("a/m", End::Status(404)).await;
        world.lockout("a1", "m").expect("it is locked").mailbox.post(Remove);
        world.quiet().await;
        world.provider("a").mailbox.post(Poison);
        world.quiet().await;
        let told = hear(&mut listener).await;
        let lines: Vec<Line> = told.iter().map(line).collect();
        let lockout = "lockout a1:family:m";
        let expected = [
            said(What::Breaker, "provider a", "closed > open", "manual-trip", Some(MINUTE)),
            said(What::Breaker, "provider a", "open > isolated", "manual-isolated", None),
            said(What::Breaker, "provider a", "isolated > closed", "manual-reset", None),
            said(What::Cooldown, "connection a1", "ready > cooling", "manual-cool", Some(MINUTE)),
            said(What::Cooldown, "connection a1", "cooling > cooling", "manual-cool", Some(2 * MINUTE)),
            said(What::Cooldown, "connection a1", "cooling > ready", "manual-reset", None),
            said(What::Drain, "connection a1", "ready > draining", "operator", None),
            said(What::Drain, "connection a1", "draining > ready", "operator", None),
            said(What::Lockout, lockout, "free > locked", "not_found", Some(3_000)),
            said(What::Lockout, lockout, "locked > free", "manual-reset", None),
            said(What::Restart, "provider a", "running > restarting", "panicked", None),
        ];
        assert_eq!(lines, expected);
        let ids: Vec<u64> = told.iter().map(|event| event.id).collect();
        let rising: Vec<u64> = (START * 1_000..).take(ids.len()).collect();
        assert_eq!(ids, rising);
        assert!(told.iter().all(|event| event.at == START), "{told:?}");
    });
}

/// A count is no news; the open breaker and the end of its hold are.
#[test]
fn numbers_alone_are_not_told() {
    paused(async {
        let world = World::start(blueprint("a: a1")).await;
        let mut listener = listen(&world, None);
        world.fail("a/m", 3).await;
        assert!(world.changes("provider").len() >= 3, "it has changed");
        assert_eq!(hear(&mut listener).await, []);
    });
}

/// Rules 7: the connection itself hears of an end later than the next who claims it.
#[test]
fn leases_are_told_in_the_order_of_the_book() {
    paused(async {
        let world = World::start(managed("p: c1 c2", &[("ka", &["c1", "c2"])])).await;
        let mut listener = listen(&world, None);
        world.owners.lease(offer(0, "ka", &["c1"])).await.unwrap();
        world.owners.renew_lease(fence(0, 1, "ka")).await.unwrap();
        world.owners.release_lease(fence(0, 1, "ka"), EndReason::OwnerExit).await.unwrap();
        world.owners.lease(offer(1, "ka", &["c1"])).await.unwrap();
        world.connection("c1").mailbox.post(connection::Order::Drain);
        world.quiet().await;
        stage::plan(&world, 1, 1, "ka", &["c1", "c2"]).await.unwrap();
        world.quiet().await;
        let lines: Vec<Line> = hear(&mut listener).await.iter().map(line).collect();
        let taken = |of| said(What::Lease, of, "free > leased", "ACQUIRED", Some(TTL_MS));
        let left = |why| said(What::Lease, "connection c1", "leased > free", why, None);
        let expected = [
            taken("connection c1"),
            left("OWNER_EXIT"),
            taken("connection c1"),
            said(What::Drain, "connection c1", "ready > draining", "operator", None),
            left("CONNECTION_INELIGIBLE"),
            taken("connection c2"),
        ];
        assert_eq!(lines, expected);
    });
}

/// What happened before anybody listened is nowhere; who names an event of then has missed it.
#[test]
fn nothing_is_kept_before_somebody_listens() {
    paused(async {
        let world = World::start(blueprint("a: a1")).await;
        world.connection("a1").mailbox.post(Rest::Drain);
        world.quiet().await;
        let last = START * 1_000 - 1;
        let mut first = listen(&world, Some(last - 7));
        assert_eq!(first.next().await, Some(News::Missed { count: None, last }));
        let mut fresh = listen(&world, None);
        assert_eq!((fresh.last(), hear(&mut fresh).await), (last, vec![]));
        world.connection("a1").mailbox.post(Rest::Undrain);
        world.quiet().await;
        for listener in [&mut first, &mut fresh] {
            assert_eq!(hear(listener).await.len(), 1);
        }
        let mut ahead = listen(&world, Some(u64::MAX));
        assert_eq!(ahead.next().await, Some(News::Missed { count: None, last: last + 1 }));
    });
}

/// Who comes again goes on behind the last that it heard, whatever happened meanwhile.
#[test]
fn who_comes_back_goes_on_where_it_was() {
    paused(async {
        let world = World::start(blueprint("a: a1")).await;
        let listener = listen(&world, None);
        let last = listener.last();
        drop(listener);
        for order in [Rest::Drain, Rest::Undrain] {
            world.connection("a1").mailbox.post(order);
        }
        world.quiet().await;
        let mut again = listen(&world, Some(last));
        assert_eq!(
            hear(&mut again).await.iter().map(|event| event.id).collect::<Vec<_>>(),
            [last + 1, last + 2]
        );
        let mut later = listen(&world, Some(last + 1));
        assert_eq!(hear(&mut later).await.len(), 1);
    });
}

/// Nobody waits for a slow listener; it is told how many it missed.
#[test]
fn a_slow_listener_hears_how_many_it_missed() {
    paused(async {
        let world = World::start(blueprint("a: a1")).await;
        let mut listener = listen(&world, None);
        let first = listener.last() + 1;
        for turn in 0..KEPT + 10 {
            let order = if turn % 2 == 0 { Rest::Drain } else { Rest::Undrain };
            world.connection("a1").mailbox.post(order);
        }
        world.quiet().await;
        assert_eq!(listener.next().await, Some(News::Missed { count: Some(10), last: first + 9 }));
        let rest: Vec<u64> = hear(&mut listener).await.iter().map(|event| event.id).collect();
        assert_eq!(rest, (first + 10..).take(KEPT).collect::<Vec<_>>());
    });
}

#[test]
fn so_many_listen_and_no_more() {
    paused(async {
        let world = World::start(blueprint("a: a1")).await;
        let mut all: Vec<Listener> = (0..MOST_LISTENERS).map(|_| listen(&world, None)).collect();
        let events = &world.owners.router.events;
        assert_eq!(events.listen(None, 0).unwrap_err(), Deaf::TooMany);
        assert_eq!(events.listen(None, 0).unwrap_err(), Deaf::TooMany, "a refusal takes no room");
        all.pop();
        assert!(events.listen(None, 0).is_ok(), "who leaves makes room");
    });
}

#[test]
fn the_end_is_told_to_who_waits_and_to_who_comes() {
    paused(async {
        let world = World::start(blueprint("a: a1")).await;
        let mut listener = listen(&world, None);
        let waiting = actix::spawn(async move { listener.next().await });
        tokio::task::yield_now().await;
        world.owners.router.events.close();
        assert_eq!(waiting.await.unwrap(), None);
        assert_eq!(world.owners.router.events.listen(None, 0).unwrap_err(), Deaf::Closed);
    });
}
