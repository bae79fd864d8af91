//! What frames of every dialect say, as literal rows; the rows of one dialect are in its file.

mod chat;
mod failures;
mod gemini;
mod messages;
mod pattern;
mod responses;
mod walks;

use bytes::Bytes;
use policy::catalogue::Dialect;
use policy::stream::Sight;
use serde_json::Value;

use super::Looker;
use crate::formats::sse::Scanner;

/// What one frame says.
fn sight(dialect: Dialect, frame: &str) -> Sight {
    let mut scanner = Scanner::new(1 << 20);
    scanner.feed(Bytes::copy_from_slice(format!("{frame}\n\n").as_bytes()));
    assert!(scanner.next_block());
    Looker::new(dialect).look(&scanner.next_frame().expect("a frame").expect("a short one"))
}

/// The same in a few words: kind, bytes of text, and what else is there.
fn words(sight: Sight) -> String {
    let mut words =
        vec![format!("{:?}", sight.kind).replace("Reasoning { readable: ", "Reasoning ").replace(" }", "")];
    words.extend((sight.text > 0).then(|| sight.text.to_string()));
    words.extend(sight.usage.then(|| "usage".to_owned()));
    words.extend(sight.finish.map(|finish| format!("{finish:?}")));
    words.extend(sight.end.map(|end| format!("end:{end:?}")));
    words.join(" ")
}

/// Checks rows of (data, what it says): as written, with white space, with its keys in another
/// order; and that no beginning of it is taken for more than it is.
fn check(dialect: Dialect, rows: &[(&str, &str)]) {
    for (data, expected) in rows {
        let told = |data: &str| words(sight(dialect, &format!("data: {data}")));
        assert_eq!(told(data), *expected, "{data}");
        let Ok(value) = serde_json::from_str::<Value>(data) else { continue };
        let sorted = value.to_string();
        assert_eq!(told(&sorted), *expected, "{sorted}");
        let spread = serde_json::to_string_pretty(&value).expect("it was JSON").replace('\n', "\ndata: ");
        assert_eq!(told(&spread), *expected, "{spread}");
        for end in (1..data.len()).filter(|end| data.starts_with('{') && data.is_char_boundary(*end)) {
            assert_eq!(told(&data[..end]), "Opaque", "{}", &data[..end]);
        }
    }
}

#[test]
fn a_frame_without_data_is_idle() {
    let frames = [
        ": c",
        "event: ping",
        "event: error",
        "id: 1",
        "data:",
        "data: ",
        "data: {}",
        "data: { }",
        "data: null",
    ];
    for dialect in [Dialect::Openai, Dialect::Anthropic, Dialect::Responses, Dialect::Gemini] {
        for frame in frames {
            assert_eq!(words(sight(dialect, frame)), "Idle", "{dialect:?} {frame}");
        }
    }
}

#[test]
fn what_cannot_be_read_was_meant_for_somebody() {
    for dialect in [Dialect::Openai, Dialect::Anthropic, Dialect::Responses, Dialect::Gemini] {
        for data in [
            "hello",
            "[DONE",
            "{\"a\"",
            "{\"a\":1}",
            "{\"a\":1}}",
            "{\"choices\":[],\"candidates\":[],\"type\":\"message_stop\"}}",
            "{\"choices\":[],\"candidates\":[],\"type\":\"message_stop\"} {}",
            "{\"type\":\"response.completed\"} x",
            "{\"a\":}",
            "[1]",
            "7",
            "\"text\"",
            "{'a':1}",
            "\u{fffd}",
        ] {
            assert_eq!(words(sight(dialect, &format!("data: {data}"))), "Opaque", "{dialect:?} {data}");
        }
    }
}

#[test]
fn a_typed_keep_alive_is_told_from_an_answer() {
    let types = ["keepalive", "keep-alive", "keep_alive", "heartbeat"];
    for dialect in [Dialect::Openai, Dialect::Anthropic, Dialect::Responses, Dialect::Gemini] {
        for word in types {
            let rows = [
                format!("data: {{\"type\":\"{word}\"}}"),
                format!("data: {{\"type\":\"{word}\",\"sequence_number\":3}}"),
                format!("event: {word}\ndata: {{\"at\":1}}"),
                format!("event: {word}\ndata: 12:00:00"),
            ];
            for row in rows {
                assert_eq!(words(sight(dialect, &row)), "KeepAlive", "{dialect:?} {row}");
            }
        }
        // Anthropic's clients know this one.
        let ping = words(sight(dialect, "event: ping\ndata: {\"type\": \"ping\"}"));
        assert_eq!(ping, if dialect == Dialect::Anthropic { "Idle" } else { "KeepAlive" }, "{dialect:?}");
    }
}

#[test]
fn an_error_alone_is_an_error_in_every_dialect() {
    for dialect in [Dialect::Openai, Dialect::Anthropic, Dialect::Responses, Dialect::Gemini] {
        for frame in [
            "data: {\"error\":{\"message\":\"spawn failed\"}}",
            "data: {\"error\":\"spawn failed\"}",
            "event: error\ndata: {\"message\":\"m\"}",
            "event: error\ndata: out of order",
            "data: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}",
            "data: {\"id\":\"x\",\"error\":{\"code\":502},\"usage\":null}",
            "data: {\"detail\":\"Not Found\"}",
            "data: { \"detail\" : [{\"loc\":[\"body\"],\"msg\":\"m\"}] }",
        ] {
            assert_eq!(words(sight(dialect, frame)), "Error end:Failed", "{dialect:?} {frame}");
        }
        for data in [
            "{\"error\":null}",
            "{\"error\":{}}",
            "{\"error\":\"\"}",
            "{\"error\":false}",
            "{\"detail\":\"\"}",
            "{\"detail\":null}",
            "{\"detail\":\"d\",\"step\":1}",
            "{\"detail\":{\"error\":\"d\"},\"detail\":\"d\"}",
        ] {
            assert_eq!(words(sight(dialect, &format!("data: {data}"))), "Opaque", "{dialect:?} {data}");
        }
    }
}

#[test]
fn fc_083_done_ends_a_chat_and_nothing_else() {
    for frame in ["data: [DONE]", "data:[DONE]", "data:  [DONE] "] {
        assert_eq!(words(sight(Dialect::Openai, frame)), "Lifecycle end:Complete", "{frame:?}");
        for dialect in [Dialect::Anthropic, Dialect::Responses, Dialect::Gemini] {
            assert_eq!(words(sight(dialect, frame)), "KeepAlive", "no client of {dialect:?} knows it");
        }
    }
}
