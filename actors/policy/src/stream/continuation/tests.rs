use super::{Continuation, Joined, MAX_CONTINUATIONS, SEAM, Seam, Tally, Then, Turns, seam};
use crate::catalogue::Dialect;
use crate::stream::{Ending, Finish, Kind, Sight};

const TEXT: Sight =
    Sight { kind: Kind::Output, text: 3, usage: false, finish: None, choices: 1, stopped: 0, end: None };
const THINKS: Sight = Sight { kind: Kind::Reasoning { readable: true }, text: 0, ..TEXT };
const TOOL: Sight = Sight { kind: Kind::Tool, text: 0, ..TEXT };
const DONE: Sight = Sight { kind: Kind::Idle, text: 0, end: Some(Ending::Complete), ..TEXT };

fn finish(why: Finish) -> Sight {
    Sight { finish: Some(why), ..Sight::of(Kind::Lifecycle) }
}

fn end(end: Ending) -> Sight {
    Sight { end: Some(end), ..Sight::of(Kind::Lifecycle) }
}

fn tally(sights: &[Sight]) -> Tally {
    let mut tally = Tally::default();
    sights.iter().for_each(|sight| tally.saw(sight));
    tally
}

/// An answer of which these frames went out.
fn sent(sights: &[Sight]) -> Continuation {
    let mut continuation = Continuation::new(true, Dialect::Openai);
    sights.iter().for_each(|sight| continuation.saw(sight));
    continuation
}

fn complete() -> Tally {
    tally(&[TEXT, finish(Finish::Stop), DONE])
}

#[test]
fn row_e111_the_repeated_end_is_cut_off() {
    let mut answer = sent(&[TEXT]);
    assert_eq!(answer.begin(), Some(Turns::WithText));
    let joined = answer.join("Hello wor", "Hello world!", &complete());
    assert_eq!(joined, Joined { suffix: "ld!", then: Then::Finish });
}

#[test]
fn row_e112_what_repeats_too_little_is_a_new_beginning_and_four_are_enough() {
    let mut answer = sent(&[TEXT]);
    for n in 1..=MAX_CONTINUATIONS {
        assert_eq!(answer.begin(), Some(Turns::WithText), "{n}");
        let joined = answer.join("Hello wor", "world!", &complete());
        let then = if n < 4 { Then::Again } else { Then::Fail };
        assert_eq!(joined, Joined { suffix: "", then }, "{n}, decision 20");
    }
    assert_eq!(answer.begin(), None);
}

#[test]
fn row_e113_a_tool_call_forbids_it_finished_or_not() {
    for sights in [&[TOOL][..], &[TEXT, TOOL], &[TOOL, finish(Finish::Tools), TEXT], &[THINKS, TOOL]] {
        assert_eq!(sent(sights).begin(), None, "{sights:?}");
    }
}

#[test]
fn row_e114_who_only_thought_is_asked_again_and_its_text_is_the_answer() {
    let mut answer = sent(&[THINKS, finish(Finish::Stop)]);
    assert_eq!(answer.begin(), Some(Turns::Unchanged));
    let joined = answer.join("", "Hello", &complete());
    assert_eq!(joined, Joined { suffix: "Hello", then: Then::Finish });
    // It may break again: then there is text to show.
    let mut answer = sent(&[THINKS, finish(Finish::Stop), DONE]);
    assert_eq!(answer.begin(), Some(Turns::Unchanged));
    assert_eq!(answer.join("", "Hello", &tally(&[TEXT])), Joined { suffix: "Hello", then: Then::Again });
    assert_eq!(answer.begin(), Some(Turns::WithText));
}

#[test]
fn an_answer_is_gone_on_with_only_as_flow_6_6_27_allows() {
    let rows = [
        (&[TEXT][..], true),
        (&[THINKS, TEXT], true),
        (&[TEXT, finish(Finish::Tools)], true),
        (&[], false),
        (&[Sight::of(Kind::Lifecycle), Sight::of(Kind::Idle), Sight::of(Kind::KeepAlive)], false),
        (&[TEXT, finish(Finish::Stop)], false),
        (&[TEXT, finish(Finish::Length)], false),
        (&[TEXT, DONE], false),
        (&[TEXT, end(Ending::Failed)], false),
        (&[TEXT, end(Ending::Incomplete)], false),
        (&[THINKS], false),
        (&[THINKS, finish(Finish::Length)], false),
        (&[THINKS, finish(Finish::Stop), end(Ending::Failed)], false),
        (&[finish(Finish::Stop), DONE], false),
        (&[TEXT, Sight::of(Kind::Opaque)], false),
        (&[TEXT, Sight::of(Kind::Error)], false),
        (&[TEXT, Sight::of(Kind::Output)], false),
    ];
    for (sights, expected) in rows {
        assert_eq!(sent(sights).may_go_on(), expected, "{sights:?}");
    }
}

#[test]
fn only_where_it_is_wanted_and_only_in_formats_that_can_be_joined() {
    let can = |enabled, dialect| {
        let mut continuation = Continuation::new(enabled, dialect);
        continuation.saw(&TEXT);
        continuation.may_go_on()
    };
    assert!(can(true, Dialect::Openai) && can(true, Dialect::Responses));
    assert!(!can(true, Dialect::Anthropic) && !can(true, Dialect::Gemini));
    assert!(!can(false, Dialect::Openai));
}

#[test]
fn a_continuation_that_breaks_is_gone_on_with_in_turn() {
    let mut answer = sent(&[TEXT]);
    let cut = tally(&[TEXT]);
    let mut text = String::from("One two three");
    for (n, then) in [(1, Then::Again), (2, Then::Again), (3, Then::Again), (4, Then::Fail)] {
        assert_eq!(answer.begin(), Some(Turns::WithText));
        let more = format!("two three{} and more", " and more".repeat(n - 1));
        let joined = answer.join(&text, &more, &cut);
        assert_eq!(joined, Joined { suffix: " and more", then }, "{n}");
        text.push_str(joined.suffix);
    }
    assert_eq!(text, "One two three and more and more and more and more");
}

#[test]
fn one_without_text_ends_it_at_once_and_one_with_a_tool_call_too() {
    let mut answer = sent(&[TEXT]);
    assert!(answer.begin().is_some());
    let fails = Joined { suffix: "", then: Then::Fail };
    assert_eq!(answer.join("Hello wor", "", &tally(&[finish(Finish::Stop), DONE])), fails);
    assert_eq!(answer.join("Hello wor", "Hello world!", &tally(&[TEXT, TOOL, DONE])), fails);
    assert_eq!(answer.join("Hello wor", "world!", &tally(&[TEXT, TOOL, DONE])), fails);
    let unknown = tally(&[TEXT, Sight::of(Kind::Opaque), DONE]);
    assert_eq!(answer.join("Hello wor", "Hello world!", &unknown), fails);
}

#[test]
fn one_that_failed_is_not_finished() {
    let mut answer = sent(&[TEXT]);
    assert!(answer.begin().is_some());
    let failed = tally(&[TEXT, end(Ending::Failed)]);
    let joined = answer.join("Hello wor", "Hello world", &failed);
    assert_eq!(joined, Joined { suffix: "ld", then: Then::Again });
    let incomplete = tally(&[TEXT, end(Ending::Incomplete)]);
    assert_eq!(answer.join("Hello wor", "Hello world", &incomplete).then, Then::Finish);
}

#[test]
fn a_seam_is_the_longest_repetition_in_characters() {
    let rows = [
        ("", "", Seam::Nothing),
        ("text", "", Seam::Nothing),
        ("", "text", Seam::Suffix("text")),
        ("12345678", "12345678", Seam::Suffix("")),
        ("1234567", "12345678", Seam::Restart),
        ("x12345678", "123456789", Seam::Suffix("9")),
        ("x12345678y", "123456789", Seam::Restart),
        ("aaaaaaaaaa", "aaaaaaaaaaab", Seam::Suffix("ab")),
        ("ababababab", "abababababababab", Seam::Suffix("ababab")),
        // Eight characters of four bytes each, and seven.
        ("🙂🙂🙂🙂🙂🙂🙂🙂", "🙂🙂🙂🙂🙂🙂🙂🙂!", Seam::Suffix("!")),
        ("🙂🙂🙂🙂🙂🙂🙂", "🙂🙂🙂🙂🙂🙂🙂!", Seam::Restart),
        // The first bytes of two characters are alike.
        ("北京北京北京北é", "北京北京北京北è", Seam::Restart),
    ];
    for (sent, more, expected) in rows {
        assert_eq!(seam(sent, more), expected, "{sent:?} {more:?}");
    }
}

#[test]
fn a_seam_looks_back_512_characters() {
    let text: String = ('\u{4e00}'..).take(SEAM + 1).collect();
    let (first, rest) = text.split_at(text.char_indices().nth(1).unwrap().0);
    let more = format!("{rest}!");
    assert_eq!(seam(&text, &more), Seam::Suffix("!"), "512 of them repeat");
    let whole = format!("{first}{rest}!");
    assert_eq!(seam(&text, &whole), Seam::Restart, "513 do, and no shorter beginning");
}
