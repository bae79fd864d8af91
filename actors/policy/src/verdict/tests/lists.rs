//! Every entry of every text list, with every word of it, and every veto: one sample each, and
//! where a list decides a row by itself, the row. A list entry without a sample fails here.

mod account;
mod quota;
mod request;
mod words;

use std::collections::BTreeSet;

use super::super::lists::ALL;
use super::super::phrase::{List, Phrase};
use super::super::words::Words;
use super::super::{Case, Detector};
use super::examples::{acme, judged};
use crate::ids::Class;

/// What is known to be said, and to be said otherwise, of one list.
pub(super) struct Samples {
    list: &'static List,
    /// Per entry of `any`, in its order.
    hits: &'static [&'static [&'static str]],
    /// Per entry of `unless`, in its order: a hit that the veto takes back.
    vetoed: &'static [&'static str],
    /// Near misses.
    misses: &'static [&'static str],
    /// A status and class at which a hit decides the row.
    row: Option<(u16, Class, Detector)>,
}

/// What a server that repeats the request says of it.
const ECHOED: &str = r#"{"detail":[{"loc":["body","messages"],"input":"#;

fn all() -> impl Iterator<Item = &'static Samples> {
    [account::SAMPLES, quota::SAMPLES, request::SAMPLES, words::SAMPLES].into_iter().flatten()
}

fn said(list: &List, text: &str) -> bool {
    Words::of(text, None).say(list)
}

fn words_of(phrase: &Phrase, out: &mut BTreeSet<&'static str>) {
    let mut take =
        |words: &'static [&'static str]| out.extend(words.iter().map(|word| word.trim_matches('|')));
    match phrase {
        Phrase::Text(_) => {}
        Phrase::Order(_, groups) => groups.iter().for_each(|words| take(words)),
        Phrase::Near(_, one, other) => [one, other].into_iter().for_each(|words| take(words)),
        Phrase::All(phrases) => phrases.iter().for_each(|phrase| words_of(phrase, out)),
    }
}

#[test]
fn every_list_has_samples() {
    let sampled: BTreeSet<&str> = all().map(|samples| samples.list.id).collect();
    let listed: BTreeSet<&str> = ALL.iter().map(|list| list.id).collect();
    assert_eq!(sampled, listed);
}

#[test]
fn every_entry_is_said_in_its_samples() {
    for Samples { list, hits, .. } in all() {
        assert_eq!(hits.len(), list.any.len(), "{}", list.id);
        for (phrase, samples) in list.any.iter().zip(*hits) {
            assert!(!samples.is_empty(), "{}: {phrase}", list.id);
            for sample in *samples {
                assert!(phrase.is_in(&sample.to_lowercase()), "{}: {phrase} in {sample}", list.id);
                assert!(said(list, sample), "{}: {sample}", list.id);
                assert!(said(list, &sample.to_uppercase()), "{}: {sample} in upper case", list.id);
            }
        }
    }
}

#[test]
fn every_word_of_a_shape_stands_in_a_sample() {
    for Samples { list, hits, .. } in all() {
        for (phrase, samples) in list.any.iter().zip(*hits) {
            let mut words = BTreeSet::new();
            words_of(phrase, &mut words);
            for word in words {
                let found = samples.iter().any(|sample| sample.to_lowercase().contains(word));
                assert!(found, "{}: {phrase}: no sample with {word}", list.id);
            }
        }
    }
}

#[test]
fn every_veto_takes_a_hit_back() {
    for Samples { list, vetoed, .. } in all() {
        assert_eq!(vetoed.len(), list.unless.len(), "{}", list.id);
        for (veto, sample) in list.unless.iter().zip(*vetoed) {
            let text = sample.to_lowercase();
            assert!(veto.is_in(&text), "{}: {veto} in {sample}", list.id);
            assert!(list.any.iter().any(|phrase| phrase.is_in(&text)), "{}: no hit in {sample}", list.id);
            assert!(!said(list, sample), "{}: {sample}", list.id);
        }
    }
}

#[test]
fn near_misses_are_no_hits() {
    for Samples { list, misses, .. } in all() {
        for sample in *misses {
            assert!(!said(list, sample), "{}: {sample}", list.id);
        }
    }
}

#[test]
fn a_hit_decides_its_row() {
    for Samples { list, hits, vetoed, row, .. } in all() {
        let Some((status, class, detector)) = *row else { continue };
        let case = Case { provider: "claude", ..acme(class) };
        for sample in hits.iter().copied().flatten() {
            assert_eq!(judged(&case, status, &[], sample).detector, detector, "{}: {sample}", list.id);
        }
        for sample in *vetoed {
            assert_ne!(judged(&case, status, &[], sample).detector, detector, "{}: {sample}", list.id);
        }
    }
}

/// Rules 2.2.8: written in escapes it is the same text.
#[test]
fn escapes_hide_nothing() {
    let hidden =
        |text: &str| -> String { text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect() };
    for Samples { list, hits, .. } in all() {
        for sample in hits.iter().copied().flatten() {
            assert!(said(list, &hidden(sample)), "{}: {sample}", list.id);
        }
    }
}

#[test]
fn an_echoed_request_says_nothing_about_an_account() {
    for Samples { list, hits, .. } in all() {
        let guarded = list.unless.iter().any(|veto| veto.is_in(ECHOED));
        for sample in hits.iter().copied().flatten().filter(|_| guarded) {
            assert!(!said(list, &format!("{ECHOED}{sample:?}}}")), "{}: {sample}", list.id);
        }
    }
    let ended = ["S1", "S2", "S2g", "S6"];
    for list in ALL.iter().filter(|list| ended.contains(&list.id)) {
        assert!(list.unless.iter().any(|veto| veto.is_in(ECHOED)), "{} ends an account's use", list.id);
    }
}
