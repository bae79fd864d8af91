//! Streams cut everywhere: FC-025, FC-026, FC-082, FC-093, and a property over random cuts.

use bytes::Bytes;
use proptest::collection::vec;
use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop_assert_eq, prop_oneof, proptest};
use proptest::sample::Index;

use super::{Frame, Scanner, TooLong, begins};

const CAP: usize = 1024;

/// Name and data of an event.
type Event = (Vec<u8>, Vec<u8>);

/// What a reader of the stream was told.
#[derive(Debug, Default, PartialEq, Eq)]
struct Told {
    /// Frames with data.
    events: Vec<Event>,
    /// With data, and closed by the end of the body only.
    rest: Option<Event>,
    /// All spans, one after the other.
    bytes: Vec<u8>,
    too_long: bool,
}

fn event(frame: &Frame<'_>) -> Event {
    (frame.name().to_vec(), frame.data().into_owned())
}

/// Reads pieces as a relay does.
fn read(pieces: impl IntoIterator<Item = Bytes>, cap: usize) -> Told {
    let (mut scanner, mut told) = (Scanner::new(cap), Told::default());
    for piece in pieces {
        scanner.feed(piece);
        while scanner.next_block() {
            let (mut events, mut run) = (Vec::new(), 0..0);
            while let Some(frame) = scanner.next_frame() {
                let Ok(frame) = frame else {
                    told.too_long = true;
                    break;
                };
                assert_eq!(frame.span.start, run.end, "frames follow each other");
                run.end = frame.span.end;
                events.extend(frame.has_data().then(|| event(&frame)));
            }
            told.bytes.extend_from_slice(&scanner.block().slice(run));
            told.events.extend(events);
        }
    }
    let rest = scanner.rest().map(|frame| (frame.span.clone(), frame.has_data().then(|| event(&frame))));
    if let Some((span, rest)) = rest {
        told.bytes.extend_from_slice(&scanner.block().slice(span));
        told.rest = rest;
    }
    assert!(scanner.is_between());
    told
}

fn pieces(text: &[u8], length: usize) -> Vec<Bytes> {
    text.chunks(length).map(Bytes::copy_from_slice).collect()
}

fn whole(text: &[u8]) -> Told {
    read([Bytes::copy_from_slice(text)], CAP)
}

/// Every cut in two, every piece length, and the whole: always the same.
fn cut_everywhere(text: &[u8]) -> Told {
    let expected = whole(text);
    assert_eq!(expected.bytes, text, "every byte, in order");
    for length in 1..text.len() {
        assert_eq!(read(pieces(text, length), CAP), expected, "pieces of {length}");
        let (left, right) = text.split_at(length);
        let halves = [Bytes::copy_from_slice(left), Bytes::copy_from_slice(right)];
        assert_eq!(read(halves, CAP), expected, "cut at {length}");
    }
    expected
}

fn data(told: &Told) -> Vec<String> {
    told.events.iter().map(|(_, data)| String::from_utf8_lossy(data).into_owned()).collect()
}

#[test]
fn fc_025_no_cut_harms_a_character() {
    let text = "data: {\"delta\":\"北京🙂é\"}\n\n".as_bytes();
    assert_eq!(data(&cut_everywhere(text)), ["{\"delta\":\"北京🙂é\"}"]);
    let invalid = b"data: a\xff\xc3\n\ndata: b\n\n";
    let told = cut_everywhere(invalid);
    assert_eq!(told.events, [(vec![], b"a\xff\xc3".to_vec()), (vec![], b"b".to_vec())]);
}

#[test]
fn fc_026_line_ends_of_any_kind_make_the_same_events() {
    let rows = [
        ("LF", "event: e\ndata: 1\n\ndata: 2\n\n: c\n\ndata: 3\ndata: 4\n\ndata:\n\n"),
        (
            "CRLF",
            "event: e\r\ndata: 1\r\n\r\ndata: 2\r\n\r\n: c\r\n\r\ndata: 3\r\ndata: 4\r\n\r\ndata:\r\n\r\n",
        ),
        ("CR", "event: e\rdata: 1\r\rdata: 2\r\r: c\r\rdata: 3\rdata: 4\r\rdata:\r\r"),
        ("mixed", "event: e\rdata: 1\n\r\ndata: 2\r\n\r: c\n\r\ndata: 3\rdata: 4\r\n\ndata:\r\r"),
        ("a mark", "\u{feff}event: e\ndata: 1\n\ndata: 2\n\n\ndata: 3\r\ndata: 4\n\r\n\n\r\r\rdata:\n\n"),
    ];
    for (row, text) in rows {
        let told = cut_everywhere(text.as_bytes());
        assert_eq!(data(&told), ["1", "2", "3\n4", ""], "{row}");
        assert_eq!(told.events[0].0, b"e", "{row}");
        assert!(told.events[1..].iter().all(|(name, _)| name.is_empty()), "{row}");
        assert_eq!(told.rest, None, "{row}");
    }
}

#[test]
fn fc_026_an_event_is_told_with_its_last_byte_and_no_later() {
    for end in ["\n\n", "\r\r", "\n\r", "\r\n\r", "\r\n\n"] {
        let mut scanner = Scanner::new(CAP);
        let text = format!("data: x{end}");
        for (at, byte) in text.bytes().enumerate() {
            scanner.feed(Bytes::copy_from_slice(&[byte]));
            let mut told = Vec::new();
            while scanner.next_block() {
                while let Some(frame) = scanner.next_frame() {
                    told.push(frame.unwrap().data().into_owned());
                }
            }
            let last = at + 1 == text.len();
            assert_eq!(told, vec![b"x".to_vec(); usize::from(last)], "{end:?} at {at}");
            assert_eq!((scanner.is_between(), scanner.pending()), (last, if last { 0 } else { at + 1 }));
        }
    }
}

#[test]
fn fc_026_the_end_of_a_line_is_one_however_it_is_written() {
    for text in ["data: 1\r\n\r\n: c\r\n\r\ndata: 2\r\n\r\n", "data: 12\n\r\n: cc\n\r\ndata: 34\n\r\n"] {
        let mut scanner = Scanner::new(CAP);
        scanner.feed(Bytes::from_static(text.as_bytes()));
        assert!(scanner.next_block());
        let mut spans = Vec::new();
        while let Some(frame) = scanner.next_frame() {
            spans.push(frame.unwrap().span);
        }
        assert_eq!(spans, [0..11, 11..18, 18..29], "no frame for the LF of a CRLF: {text:?}");
    }
}

#[test]
fn fc_026_a_mark_is_one_only_at_the_beginning() {
    assert_eq!(
        data(&cut_everywhere("\u{feff}data: 1\n\n\u{feff}data: 2\n\ndata: 3\n\n".as_bytes())),
        ["1", "3"]
    );
    let later = cut_everywhere("data: 1\n\n\u{feff}data: 2\ndata: 3\ndata: 4\n\n".as_bytes());
    assert_eq!(data(&later), ["1", "3\n4"]);
    let several = cut_everywhere("\u{feff}data: 1\ndata: 2\n\n".as_bytes());
    assert_eq!(data(&several), ["1\n2"]);
    let unclosed = cut_everywhere("\u{feff}data: 1".as_bytes());
    assert_eq!(unclosed.rest, Some((vec![], b"1".to_vec())));
}

#[test]
fn fc_082_fields_are_read_as_the_standard_has_them() {
    let rows = [
        ("no space", "event:message_stop\ndata:{\"a\":1}\n\n", "message_stop", "{\"a\":1}"),
        ("one space of two", "data:  x \n\n", "", " x "),
        ("two data lines", "data: {\"a\":\ndata: 1}\n\n", "", "{\"a\":\n1}"),
        ("others between", "id: 7\ndata: a\n: c\nretry: 1\nevent: e\ndata:b\ndatabase: no\n\n", "e", "a\nb"),
        ("no colon", "event\ndata\n\n", "", ""),
        ("the last name holds", "event: a\nevent: b\ndata: 1\n\n", "b", "1"),
        ("not a field", "data : x\ndata: y\n Data: z\n\n", "", "y"),
    ];
    for (row, text, name, data) in rows {
        let told = cut_everywhere(text.as_bytes());
        assert_eq!(told.events, [(name.into(), data.into())], "{row}");
    }
}

#[test]
fn fc_082_what_no_blank_line_closes_comes_at_the_end() {
    let rows: [(&str, Option<(&str, &str)>); 6] = [
        ("event: message_stop\ndata: {\"a\":1}", Some(("message_stop", "{\"a\":1}"))),
        ("data: [DONE]\n", Some(("", "[DONE]"))),
        ("data: a\r\ndata: b\r", Some(("", "a\nb"))),
        ("data: {\"cut", Some(("", "{\"cut"))),
        ("event: e\n", None),
        (": c", None),
    ];
    for (end, expected) in rows {
        let text = format!("data: 1\n\n{end}");
        let told = cut_everywhere(text.as_bytes());
        assert_eq!(data(&told), ["1"], "{end:?}");
        assert_eq!(told.rest, expected.map(|(name, data)| (name.into(), data.into())), "{end:?}");
    }
}

#[test]
fn fc_093_comments_and_blank_lines_hold_nothing_back() {
    for text in [": ping\n", ": a\n: b\r", "\n", "\r\n\n", ": a\n\n"] {
        let mut scanner = Scanner::new(CAP);
        scanner.feed(Bytes::from_static(text.as_bytes()));
        let mut length = 0;
        while scanner.next_block() {
            while let Some(frame) = scanner.next_frame() {
                let frame = frame.unwrap();
                assert!(!frame.has_data());
                assert_eq!(frame.is_comment(), text.starts_with(':'), "{text:?}");
                length += frame.span.len();
            }
        }
        assert_eq!((length, scanner.is_between()), (text.len(), true), "{text:?}");
    }
}

#[test]
fn an_event_in_one_chunk_is_never_copied() {
    let chunk = Bytes::from_static(b"data: 1\n\ndata: 2\n\ndata: 3\n\ndata: 4");
    let mut scanner = Scanner::new(CAP);
    scanner.feed(chunk.clone());
    assert!(scanner.next_block());
    let mut spans = Vec::new();
    while let Some(frame) = scanner.next_frame() {
        spans.push(frame.unwrap().span);
    }
    assert_eq!(spans, [0..9, 9..18, 18..27]);
    assert_eq!(scanner.block().as_ptr(), chunk.as_ptr());
    assert!(!scanner.next_block());
    assert_eq!((scanner.pending(), scanner.is_between()), (7, false));

    let next = Bytes::from_static(b"2\n\ndata: 5\n\n");
    scanner.feed(next.clone());
    assert!(scanner.next_block(), "the cut event is a block of its own");
    assert_eq!(scanner.next_frame().unwrap().unwrap().data().as_ref(), b"42");
    assert_eq!(scanner.next_frame().map(drop), None);
    assert!(scanner.next_block());
    assert_eq!(scanner.next_frame().unwrap().unwrap().data().as_ref(), b"5");
    assert_eq!(scanner.block().as_ptr(), next[3..].as_ptr());
}

#[test]
fn an_event_above_the_cap_ends_the_scan() {
    let line = format!("data: {}", "x".repeat(CAP - 8));
    let fits = format!("{line}\n\n");
    assert_eq!(fits.len(), CAP);
    for length in [1, 100, 2_000] {
        let told = read(pieces(fits.repeat(3).as_bytes(), length), CAP);
        assert_eq!((told.events.len(), told.too_long), (3, false));
        let grown = format!("data: 1\n\n{line}x\n\ndata: 2\n\n");
        let told = read(pieces(grown.as_bytes(), length), CAP);
        assert_eq!((data(&told), told.too_long), (vec!["1".to_owned()], true), "pieces of {length}");
        let open = format!("data: 1\n\n{line}xyz");
        let told = read(pieces(open.as_bytes(), length), CAP);
        assert_eq!((told.rest, told.too_long), (None, true), "pieces of {length}");
    }
}

#[test]
fn nothing_comes_behind_a_refusal() {
    let mut scanner = Scanner::new(8);
    scanner.feed(Bytes::from_static(b"data: 123456"));
    assert!(scanner.next_block());
    assert_eq!(scanner.next_frame().map(|frame| frame.err()), Some(Some(TooLong)));
    scanner.feed(Bytes::from_static(b"\n\ndata: 1\n\n"));
    assert!(!scanner.next_block());
    assert_eq!((scanner.next_frame().map(drop), scanner.rest().map(drop)), (None, None));
    assert_eq!(scanner.pending(), 0);
}

/// 16 MB in pieces of 1 KB: looking at each byte again for each piece would take hours.
#[test]
fn a_line_of_16_mb_costs_linear_time() {
    const LENGTH: usize = 16 << 20;
    let filler = Bytes::from(vec![b'x'; 1024]);
    let mut scanner = Scanner::new(LENGTH + 64);
    let parts = [Bytes::from_static(b"data: ")]
        .into_iter()
        .chain(std::iter::repeat_n(filler, LENGTH / 1024))
        .chain([Bytes::from_static(b"\n\n")]);
    let mut told = Vec::new();
    for part in parts {
        scanner.feed(part);
        while scanner.next_block() {
            while let Some(frame) = scanner.next_frame() {
                told.push(frame.unwrap().data().len());
            }
        }
    }
    assert_eq!(told, [LENGTH]);
}

fn fragment() -> impl Strategy<Value = Vec<u8>> {
    let word = |text: &'static [u8]| Just(text.to_vec());
    prop_oneof![
        4 => word(b"\n"),
        4 => word(b"\r"),
        2 => word(b"\r\n"),
        3 => word(b"data: {\"a\":1}"),
        2 => word(b"data:"),
        1 => word(b"data"),
        2 => word(b"event: e"),
        2 => word(b": c"),
        1 => word(b"id: 1"),
        1 => word(super::BOM),
        2 => vec(any::<u8>(), 0..6),
        1 => word("北🙂".as_bytes()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_cut_gives_the_same_events_and_the_same_bytes(
        fragments in vec(fragment(), 1..40),
        cuts in vec(any::<Index>(), 0..12),
    ) {
        let text = fragments.concat();
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
        cuts.extend([0, text.len()]);
        cuts.sort_unstable();
        let pieces = cuts.windows(2).map(|ends| Bytes::copy_from_slice(&text[ends[0]..ends[1]]));
        let (told, expected) = (read(pieces, CAP), whole(&text));
        prop_assert_eq!(&told.bytes, &text);
        prop_assert_eq!(told, expected);
    }
}

#[test]
fn events_are_told_from_other_bodies_by_how_they_begin() {
    for body in ["data: x", "data:x", "event: error\n", ": ping", "\n\nid: 7", "\u{feff}retry: 1", "dat", "e"]
    {
        assert!(begins(body.as_bytes()), "{body}");
    }
    for body in ["", "\n", "{\"data\":1}", "<html>", "[]", "dear client", "events", "null", "dataset"] {
        assert!(!begins(body.as_bytes()), "{body}");
    }
}
