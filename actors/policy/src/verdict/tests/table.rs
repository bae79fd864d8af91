//! The table as a whole: every row has its own name, words for people, and a reason to exist.

use std::collections::BTreeSet;

use super::super::{Detector, lists, rows};

#[test]
fn every_detector_is_a_row_and_stands_in_the_order_of_the_table() {
    let mut shown: Vec<&str> = rows().map(|row| row.id).collect();
    shown.dedup();
    let mut known: Vec<&str> = Detector::ALL.iter().map(|detector| detector.as_str()).collect();
    // No rows: the names of ends without a status of their own.
    assert_eq!(known.split_off(known.len() - 2), ["quality", "transport"]);
    assert_eq!(shown, known);
}

#[test]
fn names_are_the_names_in_json() {
    for detector in Detector::ALL {
        assert_eq!(serde_json::to_value(detector).unwrap(), detector.as_str());
    }
}

#[test]
fn every_row_can_be_read_by_people() {
    for row in rows() {
        assert!(!row.title.is_empty() && !row.when.is_empty(), "{row:?}");
        let last = row.outcome.rsplit("; ").next().unwrap();
        assert!(last.starts_with("next") || last.starts_with("stops"), "{row:?}");
    }
    let row = rows().find(|row| row.id == "credits").unwrap();
    assert_eq!(
        row.when,
        "text says: out of credit or Google asks for billing; no 429, unless of OAuth or naming a quota"
    );
    assert_eq!(
        row.outcome,
        "quota_exhausted; out of credit (a gateway's model is locked instead); next target"
    );
    let row = rows().find(|row| row.id == "trip").unwrap();
    assert_eq!(row.when, "408, 500, 502–504");
    assert_eq!(row.outcome, "server_error; rests, doubling; next target, or again");
    let row = rows().find(|row| row.id == "overloaded").unwrap();
    assert_eq!(row.outcome, "model_capacity; locks the model for 10 s; next target, or once more");
}

#[test]
fn every_list_has_a_name_of_its_own_and_is_shown() {
    let names: BTreeSet<&str> = lists().map(|list| list.id).collect();
    assert_eq!(names.len(), lists().count());
    let list = lists().find(|list| list.id == "S6").unwrap();
    assert_eq!(list.any, ["suspended within 120 of spending limit / billing / invoice / payment"]);
    assert_eq!(list.unless, ["\"loc\" … \"input\""]);
}
