use bytes::Bytes;
use policy::request::Traits;

use super::Field;
use crate::formats::body::peek;

fn traits(body: &str) -> Traits {
    let body = Bytes::copy_from_slice(body.replacen('{', r#"{"model":"m","#, 1).as_bytes());
    let peeked = peek(&body, true).unwrap();
    let mut traits = Traits::default();
    peeked.parts.fill(&mut traits);
    traits
}

/// Routing 3.5.
#[test]
fn tools_are_needed_where_they_may_be_used() {
    for (body, expected) in [
        (r#"{"tools":[{"type":"function"}]}"#, true),
        (r#"{"tools":[{}],"tool_choice":"auto"}"#, true),
        (r#"{"tools":[{}],"tool_choice":{"type":"any"}}"#, true),
        (r#"{"tools":[{}],"tool_choice":"none"}"#, false),
        (r#"{"tools":[{}],"tool_choice":{"type":"none"}}"#, false),
        (r#"{"tools":[ ]}"#, false),
        (r#"{"tools":null}"#, false),
        (r#"{"messages":[{"tools":[1]}]}"#, false),
    ] {
        assert_eq!(traits(body).tools, expected, "{body}");
    }
}

#[test]
fn pictures_are_found_in_each_dialect() {
    for (body, expected) in [
        (
            r#"{"messages":[{"role":"user","content":[{"type":"text"},{"type":"image_url","image_url":{}}]}]}"#,
            true,
        ),
        (r#"{"messages":[{"content":[{"source":{"type":"base64"},"type":"image"}]}]}"#, true),
        (r#"{"messages":[{"content":[{"type":"tool_result","content":[{"type":"image"}]}]}]}"#, true),
        (r#"{"input":[{"role":"user","content":[{"type":"input_image"}]}]}"#, true),
        (r#"{"input":[{"type":"function_call_output","output":[{"type":"input_image"}]}]}"#, true),
        (r#"{"messages":[{"content":"{\"type\":\"image\"}"}]}"#, false),
        (
            r#"{"messages":[{"content":[{"type":"text","text":"image_url"}]}],"tools":[{"type":"image"}]}"#,
            false,
        ),
        (r#"{"input":"image"}"#, false),
    ] {
        assert_eq!(traits(body).vision, expected, "{body}");
    }
}

/// Their bytes say nothing of tokens.
#[test]
fn files_are_found_too() {
    let weighty = |body: &str| {
        let body = Bytes::copy_from_slice(body.as_bytes());
        peek(&body, true).unwrap().parts.fill(&mut Traits::default())
    };
    for kind in ["document", "file", "input_file", "input_audio", "image"] {
        let body = format!(r#"{{"model":"m","messages":[{{"content":[{{"type":"{kind}"}}]}}]}}"#);
        assert!(weighty(&body), "{kind}");
    }
    assert!(!weighty(r#"{"model":"m","messages":[{"content":[{"type":"text"}]}]}"#));
}

#[test]
fn a_schema_is_found_in_each_dialect() {
    for (body, expected) in [
        (r#"{"response_format":{"type":"json_schema","json_schema":{}}}"#, true),
        (r#"{"text":{"format":{"type":"json_schema"}}}"#, true),
        (r#"{"output_format":{"type":"json_schema"}}"#, true),
        (r#"{"output_config":{"effort":"low","format":{"type":"json_schema"}}}"#, true),
        (r#"{"response_format":{"type":"json_object"}}"#, false),
        (r#"{"text":{"verbosity":"low"}}"#, false),
        (r#"{"text":"json_schema"}"#, false),
    ] {
        assert_eq!(traits(body).structured, expected, "{body}");
    }
}

#[test]
fn limits_and_keys_are_read() {
    let limit = |body: &str| traits(body).max_output;
    assert_eq!(limit(r#"{"max_tokens":5,"max_completion_tokens":7}"#), Some(7));
    assert_eq!(limit(r#"{"max_tokens":5}"#), Some(5));
    assert_eq!(limit(r#"{"max_output_tokens":9}"#), Some(9));
    assert_eq!(limit(r#"{"max_tokens":"5"}"#), None);
    assert_eq!(limit(r#"{"max_tokens":-5}"#), None);
    let key = |body: &str| traits(body).cache_key.map(|key| key.to_string());
    assert_eq!(
        key(r#"{"prompt_cache_key":" k1 ","metadata":{"prompt_cache_key":"k2"}}"#).as_deref(),
        Some("k1")
    );
    assert_eq!(
        key(r#"{"prompt_cache_key":" ","metadata":{"prompt_cache_key":"k\u0032"}}"#).as_deref(),
        Some("k2")
    );
    assert_eq!(key(&format!(r#"{{"prompt_cache_key":"{}"}}"#, "k".repeat(4097))), None);
    assert_eq!(key(r#"{"x":1}"#), None);
}

/// Routing 3.2.
#[test]
fn the_first_text_of_the_user() {
    for (body, expected) in [
        (
            r#"{"model":"m","messages":[{"role":"system","content":"s"},{"role":"user","content":"h\u00e9"},{"role":"user","content":"x"}]}"#,
            Some("hé"),
        ),
        (
            r#"{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"image"},{"type":"text","text":"b"}]}]}"#,
            Some("ab"),
        ),
        (r#"{"model":"m","input":"hello"}"#, Some("hello")),
        (
            r#"{"model":"m","input":[{"role":"user","content":[{"type":"input_text","text":"hi"}]}]}"#,
            Some("hi"),
        ),
        (r#"{"model":"m","messages":[{"role":"assistant","content":"s"}]}"#, None),
        (r#"{"model":"m","messages":7}"#, None),
        (r#"{"model":"m"}"#, None),
    ] {
        let body = Bytes::from(body);
        assert_eq!(peek(&body, true).unwrap().parts.first_text().as_deref(), expected, "{body:?}");
    }
}

/// What nobody wants to know is not kept; ids always are.
#[test]
fn details_are_kept_only_where_they_are_wanted() {
    let body = Bytes::from_static(
        br#"{"model":"m","metadata":{"session_id":"s","n":1},"metadata":{"session_id":"t","sessionId":5},"conversation_id":"c","messages":[1],"session_id":7}"#,
    );
    let plain = peek(&body, false).unwrap().parts;
    assert_eq!(plain.get(Field::Messages), None);
    assert_eq!(plain.metadata("session_id").as_deref(), Some("t"), "of two the last");
    assert_eq!(plain.metadata("sessionId"), None, "a number names nothing");
    assert_eq!(plain.text(Field::ConversationId).as_deref(), Some("c"));
    assert_eq!(plain.text(Field::SessionId), None);
    assert_eq!(peek(&body, true).unwrap().parts.get(Field::Messages), Some("[1]"));
}

/// A hundred thousand turns: looking at all before each of them again would take hours.
#[test]
fn the_look_is_linear() {
    let turn = r#"{"role":"user","content":[{"type":"text","text":"word word word"}]}"#;
    let turns = vec![turn; 100_000].join(",");
    let body = Bytes::from(format!(r#"{{"model":"m","messages":[{turns}]}}"#));
    let mut traits = Traits::default();
    peek(&body, true).unwrap().parts.fill(&mut traits);
    assert!(!traits.vision);
}
