//! Exclusive leases among real owners (rules 7): who races whom, what ends a lease, what of it
//! survives an owner, the router and the process.

#[path = "leases/rounds.rs"]
mod rounds;
#[path = "leases/stage.rs"]
mod stage;

use std::sync::Arc;

use actors::connection::Order;
use actors::lease::desk::NoLease;
use actors::messages::Owner;
use actors::router::family::{Apply, Restart, Restored};
use actors::router::offer::Offer;
use actors::router::pick::Pick;
use actors::testing::{World, blueprint, paused};
use policy::change::Exclusion;
use policy::lease::{Contention, Denied, EndReason, LeaseState, TTL_MS};

use stage::{ask, fence, managed, ms, offer, owner, rows};

/// M21, rules 7.4.6.
#[test]
fn requests_without_a_lease_go_where_nobody_may_lease() {
    paused(async {
        let world = World::start(managed("p: c1 c2", &[("ka", &["c1"])])).await;
        let plan = world.pick("p/m").await;
        let left: Vec<&str> = plan.targets.iter().map(|target| target.connection.as_str()).collect();
        assert_eq!(left, ["c2"]);
        assert_eq!(plan.excluded[0].reason, Exclusion::Leased);
    });
}

/// FC-046: 50 acquisitions of each of three owners at once.
#[test]
fn fc_046_each_owner_gets_one_account_and_nobody_shares() {
    paused(async {
        let world = World::start(managed("p: c1 c2", &[("ka", &["c1", "c2"])])).await;
        let tasks: Vec<_> = (0..150)
            .map(|index| {
                let owners = world.owners.clone();
                actix::spawn(
                    async move { (index % 3, owners.lease(offer(index % 3, "ka", &["c1", "c2"])).await) },
                )
            })
            .collect();
        let mut got: [Vec<_>; 3] = Default::default();
        for task in tasks {
            let (index, answer) = task.await.unwrap();
            got[index].push(answer.map(|row| (row.connection, row.generation)));
        }
        assert!(got[0].iter().all(|answer| *answer == Ok(("c1".into(), 1))), "{:?}", got[0]);
        assert!(got[1].iter().all(|answer| *answer == Ok(("c2".into(), 1))), "{:?}", got[1]);
        let contended = |answer: &Result<_, NoLease>| {
            matches!(answer, Err(NoLease::Contended(Contention { eligible: 2, .. })))
        };
        assert!(got[2].iter().all(contended), "{:?}", got[2]);
    });
}

/// FC-102, decision 30a, with the owners' own clocks.
#[test]
fn fc_102_a_long_stream_keeps_its_lease_and_an_idle_one_ends() {
    paused(async {
        let world = World::start(managed("p: c1", &[("ka", &["c1"])])).await;
        world.owners.lease(offer(0, "ka", &["c1"])).await.unwrap();
        let permit = ask(&world, 0, 1, "ka", &["c1"]).await.unwrap();
        ms(600_000).await;
        assert!(world.owners.lease(offer(1, "ka", &["c1"])).await.is_err());
        assert!(world.owners.renew_lease(fence(0, 1, "ka")).await.is_ok());
        ms(TTL_MS * 2).await;
        drop(permit);
        world.quiet().await;
        ms(TTL_MS - 1).await;
        let told = world.owners.lease(offer(1, "ka", &["c1"])).await.unwrap_err();
        let until = Some(world.now() + 1);
        assert_eq!(told, NoLease::Contended(Contention { eligible: 1, until }));
        ms(1).await;
        assert_eq!(world.owners.lease(offer(1, "ka", &["c1"])).await.unwrap().generation, 1);
        let story: Vec<_> =
            world.changes("connection").into_iter().map(|change| (change.to, change.why)).collect();
        let said = [("leased", "ACQUIRED"), ("free", "TTL_EXPIRED"), ("leased", "ACQUIRED")];
        assert_eq!(story.len(), 3, "{story:?}");
        for ((to, why), expected) in story.iter().zip(said) {
            assert!(said.contains(&(to.as_str(), why.as_str())), "{story:?} {expected:?}");
        }
    });
}

/// The end of an idle lease is news at its time, not when somebody asks.
#[test]
fn the_end_of_an_idle_lease_is_told_in_time() {
    paused(async {
        let world = World::start(managed("p: c1", &[("ka", &["c1"])])).await;
        world.owners.lease(offer(0, "ka", &["c1"])).await.unwrap();
        ms(60_000).await;
        world.owners.renew_lease(fence(0, 1, "ka")).await.unwrap();
        ms(TTL_MS - 1).await;
        assert_eq!(world.changes("connection").len(), 1);
        ms(2).await;
        world.quiet().await;
        let last = world.changes("connection").pop().unwrap();
        assert_eq!((last.to.as_str(), last.why.as_str()), ("free", "TTL_EXPIRED"));
        assert_eq!(rows(&world)[0].state, LeaseState::Expired, "and so it is stored");
    });
}

/// M16: the fence is after every wait.
#[test]
fn m16_a_lease_that_ended_meanwhile_lets_nobody_go() {
    paused(async {
        let world = World::start(managed("p: c1 c2", &[("ka", &["c1", "c2"])])).await;
        world.owners.lease(offer(0, "ka", &["c1", "c2"])).await.unwrap();
        let mut plan = stage::plan(&world, 0, 1, "ka", &["c1", "c2"]).await.unwrap();
        let target = plan.targets.remove(0);
        let mut permit = world.owners.acquire(&target, false).await.unwrap();
        world.owners.release_lease(fence(0, 1, "ka"), EndReason::OwnerExit).await.unwrap();
        assert_eq!(permit.fence(&world.owners, Some(&fence(0, 1, "ka"))), Err(Denied::Required));
        // Another owner has it now: nor does anybody go who has no lease.
        world.owners.lease(offer(1, "ka", &["c1"])).await.unwrap();
        assert_eq!(permit.fence(&world.owners, None), Err(Denied::Taken(Some(world.now() + TTL_MS))));
        assert_eq!(permit.fence(&world.owners, Some(&fence(1, 1, "ka"))), Ok(()));
        world.owners.release_lease(fence(1, 1, "ka"), EndReason::OwnerExit).await.unwrap();
        assert_eq!(
            permit.fence(&world.owners, Some(&fence(1, 1, "ka"))),
            Err(Denied::Required),
            "before each dispatch"
        );
    });
}

/// M17 among owners that really rest; rules 7.2.2.
#[test]
fn m17_a_lease_moves_with_its_generation() {
    paused(async {
        let world = World::start(managed("p: c1 c2", &[("ka", &["c1", "c2"])])).await;
        let both = ["c1", "c2"];
        let before = world.owners.lease(offer(0, "ka", &both)).await.unwrap();
        world.connection("c1").mailbox.post(Order::Cool(60_000));
        world.quiet().await;
        let mut plan = stage::plan(&world, 0, 1, "ka", &both).await.unwrap();
        assert_eq!(plan.targets.remove(0).connection, "c2".into());
        assert!(plan.targets.is_empty(), "a lease has one place");
        let row = world.owners.lease_status(&fence(0, 1, "ka")).unwrap();
        assert_eq!((row.connection, row.generation, row.expires_at), ("c2".into(), 1, before.expires_at));
        world.quiet().await;
        let why: Vec<_> = world.changes("connection").into_iter().map(|change| change.why).collect();
        assert!(why.contains(&"HEALTH_OR_COOLDOWN".to_owned()), "{why:?}");
        // Acquiring moves too, and extends.
        world.connection("c1").mailbox.post(Order::Reset);
        world.connection("c2").mailbox.post(Order::Cool(60_000));
        world.quiet().await;
        ms(1_000).await;
        let row = world.owners.lease(offer(0, "ka", &both)).await.unwrap();
        assert_eq!((row.connection, row.generation, row.expires_at), ("c1".into(), 1, world.now() + TTL_MS));
    });
}

/// Rules 7.6.9, and a connection that is taken away.
#[test]
fn a_lease_ends_with_its_key_its_scope_or_its_connection() {
    paused(async {
        for (keys, lines, expected) in [
            (&[("kb", &["c1"][..])][..], "p: c1 c2", EndReason::ManagedKeyRevoked),
            (&[("ka", &["c2"][..])], "p: c1 c2", EndReason::AuthorizationChanged),
            (&[("ka", &["c1"][..])], "p: c2", EndReason::ConnectionIneligible),
        ] {
            let world = World::start(managed("p: c1 c2", &[("ka", &["c1"])])).await;
            world.owners.lease(offer(0, "ka", &["c1"])).await.unwrap();
            world.owners.router.mailbox.post(Apply(managed(lines, keys).into()));
            world.quiet().await;
            world.quiet().await;
            let row = rows(&world).remove(0);
            assert_eq!((row.state, row.end_reason), (LeaseState::Invalidated, Some(expected)));
            let told = world.owners.renew_lease(fence(0, 1, "ka")).await;
            assert_eq!(told, Err(NoLease::Denied(Denied::Stale)));
        }
    });
}

/// Decision 12: the owner and the router may die, the lease stays.
#[test]
fn a_lease_outlives_its_owner_and_the_router() {
    paused(async {
        let world = World::start(managed("p: c1", &[("ka", &["c1"])])).await;
        world.owners.lease(offer(0, "ka", &["c1"])).await.unwrap();
        world.owners.router.mailbox.post(Restart(Owner::Connection("c1".into())));
        world.quiet().await;
        assert!(world.owners.lease(offer(1, "ka", &["c1"])).await.is_err());
        world.owners.router.mailbox.post(actors::messages::Poison);
        ms(10).await;
        world.quiet().await;
        assert!(world.owners.lease(offer(1, "ka", &["c1"])).await.is_err());
        assert_eq!(world.pick("p/m").await.targets.len(), 0, "the board of the new router shows it");
        assert_eq!(world.owners.lease(offer(0, "ka", &["c1"])).await.unwrap().generation, 1);
    });
}

/// Decision 11, core 3c: generations are remembered without key and connection.
#[test]
fn generations_outlive_the_process_and_the_connection() {
    paused(async {
        let world = World::start(managed("p: c1", &[("ka", &["c1"])])).await;
        world.owners.lease(offer(0, "ka", &["c1"])).await.unwrap();
        let leases = rows(&world);
        let clock = world.owners.clock;
        let arbiters = vec![actix::Arbiter::current()];
        let restored = Restored { leases, ..Restored::default() };
        let elsewhere = managed("p: c2", &[("ka", &["c2"])]);
        let world = World::at(clock, elsewhere, restored, arbiters).await;
        assert_eq!(rows(&world)[0].end_reason, Some(EndReason::AuthorizationChanged));
        let row = world.owners.lease(offer(0, "ka", &["c2"])).await.unwrap();
        assert_eq!((row.connection, row.generation), ("c2".into(), 2));
    });
}

/// Rows 12 and 15 of rules 7.3.
#[test]
fn what_cannot_be_leased_says_why() {
    paused(async {
        let world = World::start(managed("p: c1\nq: d1", &[("ka", &["c1"])])).await;
        let told = world.owners.lease(offer(0, "ka", &["d1"])).await;
        assert_eq!(told, Err(NoLease::NoneEligible), "of another provider than the model's");
        world.connection("c1").mailbox.post(Order::Cool(60_000));
        world.quiet().await;
        let until = Some(world.now() + 60_000);
        assert_eq!(world.owners.lease(offer(0, "ka", &["c1"])).await, Err(NoLease::Unavailable(until)));
        assert!(world.owners.tenancies().with(|book| book.row(&owner(0)).is_none()));
    });
    assert_eq!(blueprint("p: c1").connections.len(), 1);
}

/// M20, rules 7.6.6: several accounts for one answer are nobody's lease.
#[test]
fn m20_a_combo_that_hedges_has_no_lease() {
    paused(async {
        let mut blueprint = managed("p: c1\nab priority: p/m p/n", &[("ka", &["c1"])]);
        let catalogue = Arc::make_mut(&mut blueprint.catalogue);
        catalogue.combos.get_mut("ab").unwrap().attempts.hedge_delay_ms = Some(50);
        let world = World::start(blueprint).await;
        let asked = Offer { model: "ab".into(), ..offer(0, "ka", &["c1"]) };
        assert_eq!(world.owners.lease(asked).await, Err(NoLease::Unsupported));
        assert!(world.owners.lease(offer(0, "ka", &["c1"])).await.is_ok());
        let (fence, allowed) = (fence(0, 1, "ka"), Arc::from(["c1".into()]));
        let pick = Pick { lease: Some(fence.clone()), ..World::pick_of("ab", Some("ka")) };
        let mut picked = world.owners.router.mailbox.ask(pick).await.unwrap().unwrap();
        let told = world.owners.bind(&mut picked.plan, &fence, &allowed).await;
        assert_eq!(told, Err(NoLease::Unsupported));
    });
}
