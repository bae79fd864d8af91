//! Orders of accounts (E20-E28).

use std::sync::Arc;

use crate::quota::{Credits, Entrant, select};

/// Accounts A, B, C... with these weights and caps, and what is in flight on them.
struct Table {
    combo: Arc<str>,
    credits: Credits,
    entrants: Vec<Entrant>,
}

impl Table {
    fn new(weights: &[f64]) -> Self {
        let entrant = |(index, weight): (usize, &f64)| Entrant {
            connection: name(index).to_string().into(),
            weight: *weight,
            saturated: false,
            in_flight: 0,
            cap: 0,
        };
        let entrants = weights.iter().enumerate().map(entrant).collect();
        Self { combo: "c".into(), credits: Credits::default(), entrants }
    }

    fn order(&mut self) -> String {
        let order = select(&self.entrants, &self.combo, &mut self.credits).order;
        order.into_iter().map(name).collect()
    }

    /// The winners of so many picks; `released`: each has ended before the next.
    fn winners(&mut self, picks: usize, released: bool) -> String {
        let mut winners = String::new();
        for _ in 0..picks {
            let winner = self.order().remove(0);
            winners.push(winner);
            if !released {
                self.entrants[winner as usize - 'A' as usize].in_flight += 1;
            }
        }
        winners
    }
}

fn name(index: usize) -> char {
    (b'A' + index as u8) as char
}

#[test]
fn flow_8_2_turns() {
    let rows: [(&str, &[f64], bool, &str); 6] = [
        ("E20", &[100.0, 100.0], true, "ABABAB"),
        ("E21", &[3.0, 1.0], true, "AABAAABA"),
        ("E22", &[1.0, 2.0, 1.0], true, "BACBBACB"),
        ("E23, decision 16: the one that serves is charged", &[3.0, 1.0], false, "ABABABAB"),
        ("2.20: no weight counts as 1", &[0.0, f64::NAN], true, "ABABAB"),
        ("one alone", &[100.0], true, "AAA"),
    ];
    for (row, weights, released, winners) in rows {
        assert_eq!(Table::new(weights).winners(winners.len(), released), winners, "{row}");
    }
}

#[test]
fn e24_caps_keep_nobody_away_when_all_are_full() {
    let mut table = Table::new(&[1.0, 1.0]);
    table.entrants.iter_mut().for_each(|entrant| entrant.cap = 1);
    assert_eq!(table.winners(4, false), "ABBA");
    assert_eq!(table.entrants.iter().map(|entrant| entrant.in_flight).collect::<Vec<_>>(), [2, 2]);
}

#[test]
fn flow_8_2_orders() {
    let rows: [(&str, &str, &str, &str, &str); 6] = [
        ("E25", "ABC", "A", "", "BCA"),
        ("E26", "ABC", "A", "B", "CBA"),
        ("E27", "AB", "A", "B", "BA"),
        ("E28", "AB", "AB", "", "AB"),
        ("2.16 nobody", "", "", "", ""),
        ("all at their cap", "ABC", "", "ABC", "ABC"),
    ];
    for (row, accounts, saturated, full, order) in rows {
        let mut table = Table::new(&vec![1.0; accounts.len()]);
        for (index, entrant) in table.entrants.iter_mut().enumerate() {
            entrant.saturated = saturated.contains(name(index));
            entrant.cap = 1;
            entrant.in_flight = u32::from(full.contains(name(index)));
        }
        assert_eq!(table.order(), order, "{row}");
    }
}

#[test]
fn flow_2_22_the_displaced_one_comes_before_the_others() {
    let mut table = Table::new(&[3.0, 2.0, 1.0]);
    table.entrants[0].in_flight = 1;
    table.entrants[2].in_flight = 0;
    assert_eq!(table.order(), "BAC");
}

#[test]
fn decision_16_the_charge_moves_to_the_one_that_served() {
    let mut table = Table::new(&[1.0, 1.0]);
    assert_eq!(table.order(), "AB");
    let (a, b) = (table.entrants[0].connection.clone(), table.entrants[1].connection.clone());
    table.credits.moved(&table.combo, &a, &b);
    assert_eq!((table.credits.of("c", &a), table.credits.of("c", &b)), (0.5, -0.5));
    assert_eq!(table.winners(3, true), "AAB");
    table.credits.moved(&"unknown".into(), &a, &b);
    table.credits.moved(&table.combo, &a, &a);
    assert_eq!(table.credits.len(), 1);
}

#[test]
fn flow_2_20_one_without_a_rival_is_not_charged() {
    let mut table = Table::new(&[1.0, 1.0]);
    table.entrants[0].saturated = true;
    let selection = select(&table.entrants, &table.combo, &mut table.credits);
    assert_eq!((selection.order, selection.charged), (vec![1, 0], false));
    assert!(table.credits.is_empty());
}

#[test]
fn flow_2_20_the_oldest_of_200_combos_makes_room() {
    let mut table = Table::new(&[1.0, 1.0]);
    for number in 0..201 {
        table.combo = format!("c{number}").into();
        table.order();
    }
    let a = table.entrants[0].connection.clone();
    assert_eq!(table.credits.len(), 200);
    assert_eq!((table.credits.of("c0", &a), table.credits.of("c1", &a)), (0.0, -0.5));
}

#[test]
fn flow_2_20_an_account_that_is_kept_busy_is_not_owed_for_ever() {
    let mut table = Table::new(&[3.0, 1.0]);
    assert_eq!(table.winners(100, false), "AB".repeat(50));
    let owed = table.entrants.iter().map(|entrant| table.credits.of("c", &entrant.connection));
    assert_eq!(owed.collect::<Vec<_>>(), [7.75, -8.0]);
}
