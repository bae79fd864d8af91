use super::{Day, End, Entry, GroupBy, Groups, Ledger, Source, Tally, Tokens, Who};
use crate::time::{DAY, Millis};

const NOON: Millis = 20_787 * DAY + DAY / 2;

fn who(key: &str, connection: &str, model: &str) -> Who {
    Who {
        key: (!key.is_empty()).then(|| key.into()),
        provider: Some(connection[..1].into()),
        connection: Some(connection.into()),
        model: Some(model.into()),
    }
}

fn entry(input: u64, output: u64) -> Entry {
    let tokens = Tokens { input, output, ..Tokens::default() };
    Entry { end: End::Complete, attempts: 1, source: Source::Reported, tokens }
}

fn sums(written: &[super::Written]) -> Vec<(String, String, u64, u64)> {
    let mut sums: Vec<_> = written
        .iter()
        .map(|(day, who, tally)| {
            let connection = who.connection.as_ref().map_or("", |connection| connection.as_str());
            (day.to_string(), connection.to_owned(), tally.requests, tally.tokens.input)
        })
        .collect();
    sums.sort();
    sums
}

fn row(day: &str, connection: &str, requests: u64, input: u64) -> (String, String, u64, u64) {
    (day.into(), connection.into(), requests, input)
}

#[test]
fn fc_098_every_end_counts_one_request_and_says_what_is_known() {
    let tokens = Tokens { input: 10, cached: 4, cache_write: 3, output: 7, reasoning: 2 };
    let mut tally = Tally::default();
    tally.count(&Entry { end: End::Complete, attempts: 2, source: Source::Reported, tokens });
    tally.count(&Entry { end: End::Partial, attempts: 1, source: Source::Estimated, tokens });
    let none = Tokens::default();
    tally.count(&Entry { end: End::Partial, attempts: 1, source: Source::Unknown, tokens: none });
    tally.count(&Entry { end: End::Failed, attempts: 3, source: Source::Reported, tokens: none });
    let twice = Tokens { input: 20, cached: 8, cache_write: 6, output: 14, reasoning: 4 };
    let expected =
        Tally { requests: 4, attempts: 7, failed: 1, partial: 2, estimated: 1, unknown: 1, tokens: twice };
    assert_eq!(tally, expected);
    let text = serde_json::to_string(&tally).unwrap();
    assert_eq!(serde_json::from_str::<Tally>(&text).unwrap(), tally);
    assert!(text.contains("\"cacheWrite\":6"), "{text}");
}

#[test]
fn a_row_is_the_sum_of_its_day_and_waits_once() {
    let mut ledger = Ledger::default();
    ledger.restore([(who("k", "a-1", "m"), Tally { requests: 5, ..Tally::default() })], NOON);
    assert_eq!(ledger.take(), [], "what comes from the store does not wait");
    ledger.record(who("k", "a-1", "m"), &entry(10, 1), NOON);
    ledger.record(who("k", "a-1", "m"), &entry(10, 1), NOON);
    ledger.record(who("k", "a-2", "m"), &entry(7, 1), NOON);
    let expected = [row("2026-11-30", "a-1", 7, 20), row("2026-11-30", "a-2", 1, 7)];
    assert_eq!(sums(&ledger.take()), expected);
    assert_eq!(ledger.take(), []);
    ledger.record(who("k", "a-1", "m"), &entry(1, 1), NOON);
    assert_eq!(sums(&ledger.take()), [row("2026-11-30", "a-1", 8, 21)]);
}

#[test]
fn what_could_not_be_written_waits_as_it_is_now_and_nothing_counts_twice() {
    let mut ledger = Ledger::default();
    ledger.record(who("k", "a-1", "m"), &entry(10, 1), NOON);
    ledger.record(who("k", "a-2", "m"), &entry(10, 1), NOON);
    let news = ledger.take();
    ledger.record(who("k", "a-1", "m"), &entry(10, 1), NOON);
    ledger.put_back(news);
    assert_eq!(ledger.waiting().count(), 2);
    let expected = [row("2026-11-30", "a-1", 2, 20), row("2026-11-30", "a-2", 1, 10)];
    assert_eq!(sums(&ledger.take()), expected);
}

#[test]
fn rows_of_yesterday_are_written_as_they_ended() {
    let mut ledger = Ledger::default();
    ledger.record(who("k", "a-1", "m"), &entry(10, 1), NOON);
    ledger.record(who("k", "a-2", "m"), &entry(10, 1), NOON);
    let news = ledger.take();
    ledger.record(who("k", "a-1", "m"), &entry(10, 1), NOON + 1);
    ledger.record(who("k", "a-1", "m"), &entry(3, 1), NOON + DAY);
    ledger.put_back(news);
    assert_eq!(ledger.day(), Day::of(NOON + DAY));
    let expected =
        [row("2026-11-30", "a-1", 2, 20), row("2026-11-30", "a-2", 1, 10), row("2026-12-01", "a-1", 1, 3)];
    assert_eq!(sums(&ledger.take()), expected);
    ledger.record(who("k", "a-1", "m"), &entry(1, 1), NOON);
    assert_eq!(sums(&ledger.take()), [row("2026-12-01", "a-1", 2, 4)], "a clock that goes back");
}

#[test]
fn names_that_clients_choose_make_only_so_many_rows() {
    let mut ledger = Ledger::of(10);
    for number in 0..20 {
        ledger.record(who("k", "a-1", &format!("m-{number}")), &entry(1, 1), NOON);
    }
    let nameless = Who { model: None, ..who("k", "a-1", "m") };
    let kept =
        |ledger: &Ledger| ledger.waiting().find(|(_, who, _)| *who == nameless).map(|row| row.2.requests);
    assert_eq!((ledger.waiting().count(), kept(&ledger)), (11, Some(10)));
    ledger.record(who("k", "a-1", "m-5"), &entry(1, 1), NOON);
    assert_eq!(kept(&ledger), Some(10), "a row that is there goes on");
    let mut ledger = Ledger::default();
    ledger.record(who("k", "a-1", &"m".repeat(257)), &entry(1, 1), NOON);
    ledger.record(who("k", "a-1", &"m".repeat(256)), &entry(1, 1), NOON);
    assert_eq!((ledger.waiting().count(), kept(&ledger)), (2, Some(1)));
}

#[test]
fn a_store_that_fails_for_days_does_not_fill_the_memory() {
    let mut ledger = Ledger::of(10);
    for day in 0..3 {
        for number in 0..5 {
            ledger.record(who("k", "a-1", &format!("m-{number}")), &entry(1, 1), NOON + day * DAY);
        }
        let news = ledger.take();
        ledger.put_back(news);
    }
    ledger.record(who("k", "a-1", "m"), &entry(1, 1), NOON + 3 * DAY);
    let days: Vec<Day> = ledger.waiting().map(|(day, ..)| day).collect();
    assert_eq!(days.len(), 11);
    assert!(!days.contains(&Day::of(NOON)), "the oldest go first");
}

#[test]
fn groups_add_up_what_differs_elsewhere() {
    let rows = [
        (0, who("k", "a-1", "m"), 1),
        (0, who("l", "a-1", "n"), 2),
        (0, who("", "a-2", "m"), 4),
        (1, who("k", "b-1", "m"), 8),
    ];
    let shown = |by| {
        let mut groups = Groups::new(by);
        for (day, who, input) in &rows {
            let mut tally = Tally::default();
            tally.count(&entry(*input, 0));
            groups.add((Day::of(NOON + day * DAY), who.clone(), tally));
        }
        let text = |((day, who), tally): ((Option<Day>, Who), Tally)| {
            let part = |part: Option<String>| part.unwrap_or("-".into());
            let names = [
                part(day.map(|day| day.to_string()[8..].to_owned())),
                part(who.key.map(|key| key.to_string())),
                part(who.provider.map(|provider| provider.to_string())),
                part(who.connection.map(|connection| connection.to_string())),
                part(who.model.map(|model| model.to_string())),
            ];
            format!("{}={}", names.join(" "), tally.tokens.input)
        };
        groups.into_sums().map(text).collect::<Vec<_>>()
    };
    assert_eq!(shown(Some(GroupBy::Key)), ["- - - - -=4", "- k - - -=9", "- l - - -=2"]);
    assert_eq!(shown(Some(GroupBy::Model)), ["- - - - m=13", "- - - - n=2"]);
    assert_eq!(shown(Some(GroupBy::Provider)), ["- - a - -=7", "- - b - -=8"]);
    assert_eq!(shown(Some(GroupBy::Connection)), ["- - a a-1 -=3", "- - a a-2 -=4", "- - b b-1 -=8"]);
    assert_eq!(shown(Some(GroupBy::Day)), ["30 - - - -=7", "01 - - - -=8"]);
    let each = ["30 - a a-2 m=4", "30 k a a-1 m=1", "30 l a a-1 n=2", "01 k b b-1 m=8"];
    assert_eq!(shown(None), each);
}
