//! Properties of quota sharing: an order loses nobody, credits stay bounded, and what is given
//! back is gone.

use std::sync::Arc;

use super::config;
use policy::ids::ConnectionId;
use policy::quota::{Credits, Entrant, LeaseId, Leases, select};
use policy::time::Millis;
use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop_assert, prop_assert_eq, prop_oneof, proptest};

fn weight() -> impl Strategy<Value = f64> {
    prop_oneof![6 => 0.0_f64..200.0, 1 => Just(f64::NAN), 1 => Just(f64::INFINITY), 1 => Just(-3.0), 1 => Just(f64::MIN_POSITIVE)]
}

fn entrants() -> impl Strategy<Value = Vec<Entrant>> {
    let one = (weight(), any::<bool>(), 0_u32..4, 0_u32..3);
    vec(one, 0..8).prop_map(|rows| {
        let entrant = |(index, (weight, saturated, in_flight, cap))| Entrant {
            connection: format!("c{index}").into(),
            weight,
            saturated,
            in_flight,
            cap,
        };
        rows.into_iter().enumerate().map(entrant).collect()
    })
}

proptest! {
    #![proptest_config(config(256))]

    #[test]
    fn every_account_stands_in_the_order_once_and_credits_stay_bounded(
        picks in vec((entrants(), any::<u8>()), 1..60)
    ) {
        let combo: Arc<str> = "c".into();
        let mut credits = Credits::default();
        for (entrants, other) in picks {
            let selection = select(&entrants, &combo, &mut credits);
            let mut sorted = selection.order.clone();
            sorted.sort_unstable();
            prop_assert_eq!(sorted, (0..entrants.len()).collect::<Vec<_>>());
            if selection.charged {
                let first = &entrants[selection.order[0]].connection;
                let served = &entrants[usize::from(other) % entrants.len()].connection;
                credits.moved(&combo, first, served);
            }
            for entrant in &entrants {
                let credit = credits.of("c", &entrant.connection);
                prop_assert!(credit.abs() <= 8.0, "{:?}: {}", entrant.connection, credit);
            }
        }
    }

    #[test]
    fn a_released_lease_is_gone_and_only_that_one(
        turns in vec((0_u8..3, any::<u8>(), 0_u64..50_000), 1..100)
    ) {
        let account: ConnectionId = "a".into();
        let mut leases = Leases::default();
        let mut live: Vec<(LeaseId, Millis)> = Vec::new();
        let mut now = 0;
        for (turn, which, later) in turns {
            match turn {
                0 if !live.is_empty() => {
                    let (lease, _) = live.remove(usize::from(which) % live.len());
                    leases.release(&account, lease);
                }
                1 => now += later,
                _ => live.push((leases.take(&account, now), now + 120_000)),
            }
            live.retain(|(_, until)| now < *until);
            prop_assert_eq!(leases.count(&account, now) as usize, live.len());
        }
    }
}
