//! Frames that are like the last one: told without a whole reading, and never otherwise than by it.

use bytes::Bytes;
use policy::catalogue::Dialect;
use policy::stream::Sight;
use proptest::collection::vec;
use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop_assert_eq, prop_oneof, proptest};
use proptest::sample::{Index, select};

use super::super::Looker;
use super::super::walk::{Walk, length};
use super::sight;
use crate::formats::sse::Scanner;

const FRAMES: [(Dialect, &str); 12] = [
    (
        Dialect::Openai,
        r#"data: {"id":"c","choices":[{"index":0,"delta":{"content":"@"},"finish_reason":null}],"usage":null,"obfuscation":"@"}"#,
    ),
    (Dialect::Openai, r#"data: {"choices":[{"delta":{"content":"@"}},{"delta":{"content":"@"}}]}"#),
    (Dialect::Openai, r#"data: {"choices":[{"delta":{"reasoning_content":"@","content":""}}]}"#),
    (Dialect::Openai, r#"data: {"choices":[{"delta":{"content":"@"},"finish_reason":"@"}],"error":"@"}"#),
    (
        Dialect::Anthropic,
        "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"@\"}}",
    ),
    (
        Dialect::Anthropic,
        r#"data: {"type": "content_block_delta", "delta": {"type": "thinking_delta", "thinking": "@"}}"#,
    ),
    (Dialect::Anthropic, r#"data: {"type":"content_block_start","content_block":{"type":"@","text":"@"}}"#),
    (
        Dialect::Responses,
        "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"sequence_number\":#,\"item_id\":\"m\",\"delta\":\"@\",\"logprobs\":[],\"obfuscation\":\"@\"}",
    ),
    (
        Dialect::Responses,
        r#"data: {"sequence_number":#,"delta":"@","sequence_number": # ,"type":"response.refusal.delta"}"#,
    ),
    (Dialect::Responses, r#"data: {"type":"response.@","sequence_number":#,"delta":"@","text":"@"}"#),
    (
        Dialect::Gemini,
        r#"data: {"candidates":[{"content":{"parts":[{"text":"@"}]}}],"usageMetadata":{"a":#}}"#,
    ),
    (Dialect::Gemini, r#"data: {"candidates":[{"content":{"parts":[{"text":"@","thought":true}]}}]}"#),
];

/// What is put into a place of a frame: words, escapes, cut ones, and what breaks out of a string.
fn filling() -> impl Strategy<Value = String> {
    let piece = select(vec![
        "",
        "a",
        "hello",
        " wör",
        "ld",
        "\\n",
        "\\\"",
        "\\\\",
        "\\u00e9",
        "\\ud83d\\ude00",
        "\\u12",
        "\\u",
        "\\",
        "\"",
        "\",\"error\":\"x",
        "stop",
        "}",
        "output_text.delta",
        "text",
        "\\u\"}}",
        "\\u\\\"ab",
    ]);
    vec(piece, 0..5).prop_map(|pieces| pieces.concat())
}

/// A frame, filled, and perhaps with a byte of it changed, taken out or doubled, or cut.
fn frame(which: usize) -> impl Strategy<Value = String> {
    let change = prop_oneof![
        9 => any::<()>().prop_map(|()| None),
        1 => (any::<Index>(), 0..4_u8, select(b"\"\\{}[],:0x ".to_vec())).prop_map(Some),
    ];
    let number = select(vec!["0", "7", "31", "4096", "-1", "1.5", "1e3", "null", "\"5\"", "", "07"]);
    (vec(filling(), 4), number, change).prop_map(move |(fillings, number, change)| {
        let mut frame = FRAMES[which].1.replace('#', number);
        for filling in fillings {
            frame = frame.replacen('@', &filling, 1);
        }
        let mut bytes = frame.into_bytes();
        if let Some((at, what, byte)) = change {
            let at = at.index(bytes.len());
            match what {
                0 => bytes[at] = byte,
                1 => drop(bytes.remove(at)),
                2 => bytes.insert(at, byte),
                _ => bytes.truncate(at),
            }
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// Mostly one kind of frame, and others in between.
fn stream() -> impl Strategy<Value = (usize, Vec<String>)> {
    (0..FRAMES.len()).prop_flat_map(|which| {
        let other = (0..FRAMES.len()).prop_flat_map(frame);
        (Just(which), vec(prop_oneof![4 => frame(which), 1 => other], 1..16))
    })
}

/// What one looker finds in these frames of a stream.
fn told(dialect: Dialect, frames: &[&str]) -> Vec<Sight> {
    let mut looker = Looker::new(dialect);
    let mut told = Vec::new();
    for frame in frames {
        let mut scanner = Scanner::new(1 << 20);
        scanner.feed(Bytes::copy_from_slice(format!("{frame}\n\n").as_bytes()));
        assert!(scanner.next_block());
        told.push(looker.look(&scanner.next_frame().expect("a frame").expect("a short one")));
    }
    told
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2048, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_frame_says_the_same_whatever_came_before((which, frames) in stream()) {
        let (dialect, _) = FRAMES[which];
        let frames: Vec<&str> = frames.iter().map(String::as_str).filter(|frame| !frame.is_empty()).collect();
        let alone: Vec<Sight> = frames.iter().map(|frame| sight(dialect, frame)).collect();
        prop_assert_eq!(told(dialect, &frames), alone, "{:#?}", frames);
    }

    #[test]
    fn a_string_is_measured_as_it_is_read(filling in filling(), rest in filling()) {
        let text = format!("{filling}\"{rest}");
        let whole = format!("\"{text}");
        let (mut reads, mut measures) = (Walk::new(whole.as_bytes()), Walk::new(text.as_bytes()));
        let read = reads.text().map(|text| length(text.expect("a string")));
        prop_assert_eq!(measures.measure(), read);
        if read.is_ok() {
            prop_assert_eq!(measures.skip(), reads.skip(), "both go on at the same place");
        }
    }
}

/// Each of these is told as the pattern before it would not tell it.
#[test]
fn what_differs_elsewhere_is_read_whole() {
    let frame = |name: &str, content: &str, tail: &str| {
        format!("event: {name}\ndata: {{\"choices\":[{{\"delta\":{{\"content\":{content}}}{tail}}}]}}")
    };
    let frames = [
        frame("x", "\"one\"", ""),
        frame("x", "\"three\"", ""),
        frame("error", "\"three\"", ""),
        frame("x", "\"\"", ""),
        frame("x", "null", ""),
        frame("x", "\"a\",\"tool_calls\":[{}]", ""),
        frame("x", "\"a\"", ",\"finish_reason\":\"stop\""),
        frame("x", "\"caf\\u00e9\\n\"", ""),
        frame("x", "\"cut\\\"", ""),
        frame("x", "\"two\",\"content\":\"more\"", ""),
    ];
    let frames: Vec<&str> = frames.iter().map(String::as_str).collect();
    let words: Vec<String> = told(Dialect::Openai, &frames).into_iter().map(super::words).collect();
    let wanted = [
        "Output 3",
        "Output 5",
        "Error end:Failed",
        "Lifecycle",
        "Lifecycle",
        "Tool",
        "Output 1 Stop",
        "Output 6",
        "Opaque",
        "Output 7",
    ];
    assert_eq!(words, wanted);
}

/// The frames that most streams are made of, with what vendors count and pad them with.
#[test]
fn the_common_frames_are_told_by_their_pattern() {
    for (which, text) in [(0, 4), (4, 4), (7, 4), (10, 4), (5, 0)] {
        let (dialect, frame) = FRAMES[which];
        let frame = |number: &str, text: &str| {
            let frame = frame.replace('#', number).replace('@', text);
            let (name, data) = frame.split_once("data: ").expect("it has data");
            let name = name.trim_start_matches("event: ").trim_end();
            (name.to_owned(), data.to_owned(), format!("event: {name}\ndata: {data}\n\n"))
        };
        let mut looker = Looker::new(dialect);
        let (_, _, first) = frame("9", "Hi");
        let mut scanner = Scanner::new(1 << 20);
        scanner.feed(Bytes::from(first));
        assert!(scanner.next_block());
        looker.look(&scanner.next_frame().expect("a frame").expect("a short one"));
        // Gemini counts inside a value that is read.
        let number = if dialect == Dialect::Gemini { "9" } else { "10" };
        let (name, data, _) = frame(number, "\\u00e9\\\"x");
        let told = looker.last.tell(name.as_bytes(), data.as_bytes());
        assert_eq!(told.map(|sight| sight.text), Some(text), "{data}");
        let (_, data, _) = frame(number, "");
        assert_eq!(looker.last.tell(name.as_bytes(), data.as_bytes()), None, "{data}");
    }
}

/// Where no frame is like another, no more patterns are made.
#[test]
fn frames_that_are_never_alike_are_no_longer_kept() {
    let frame =
        |id: usize| format!("data: {{\"id\":\"{id}\",\"choices\":[{{\"delta\":{{\"content\":\"a\"}}}}]}}");
    let mut looker = Looker::new(Dialect::Openai);
    let mut scanner = Scanner::new(1 << 20);
    scanner.feed(Bytes::from((0..20).map(|id| frame(id) + "\n\n").collect::<String>()));
    assert!(scanner.next_block());
    while let Some(frame) = scanner.next_frame() {
        assert_eq!(looker.look(&frame.expect("a short one")).text, 1);
    }
    let mut kept = |id: usize| looker.last.tell(b"", &frame(id).as_bytes()[6..]).is_some();
    assert_eq!((kept(15), kept(16), kept(19)), (true, false, false));
}
