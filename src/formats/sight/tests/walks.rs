//! The walk beneath: whole values, their lengths, and anything at all.

use policy::catalogue::Dialect;
use policy::stream::Kind;
use proptest::collection::vec;
use proptest::prelude::{
    Just, ProptestConfig, Strategy, any, prop_assert, prop_assert_eq, prop_oneof, proptest,
};
use serde_json::Value;

use super::super::walk::{Broken, Walk, length};
use super::sight;

#[test]
fn what_is_not_closed_is_broken() {
    for text in [
        "",
        " ",
        "{",
        "[",
        "\"",
        "\"a",
        "\"\\\"",
        "{\"a\"",
        "{\"a\":",
        "{\"a\":1",
        "[1,",
        "[1 2]",
        "{\"a\" 1}",
        "{1:2}",
    ] {
        let mut walk = Walk::new(text.as_bytes());
        let walked = match text.trim_start().as_bytes().first() {
            Some(b'[') => walk.array(|walk| walk.skip().map(drop)),
            _ => walk.object(|_, walk| walk.skip().map(drop)),
        };
        assert_eq!(walked, Err(Broken), "{text}");
    }
}

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1e9_f64..1e9).prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        "[\\\\\"{}\\[\\]:, a]{0,40}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec(("[a-z\\\\\"]{0,20}", inner), 0..4)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

fn words() -> impl Strategy<Value = String> {
    let word = |text: &'static str| Just(text.to_owned());
    prop_oneof![
        word("{"),
        word("}"),
        word("["),
        word("]"),
        word("\""),
        word("\\"),
        word(":"),
        word(","),
        word("\"choices\":["),
        word("{\"delta\":{"),
        word("\"content\":\""),
        word("\"type\":\"response."),
        word("\"error\":"),
        word("null"),
        word("\"candidates\":[{\"content\":{\"parts\":[{"),
        any::<String>(),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_walk_steps_over_exactly_one_value(value in json(), pretty in any::<bool>()) {
        let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) };
        let text = text.expect("a value is JSON");
        let mut walk = Walk::new(text.as_bytes());
        prop_assert_eq!(walk.skip(), Ok(text.as_bytes()));
        prop_assert_eq!(walk.end(), Ok(()));
        let mut keys = 0;
        Walk::new(text.as_bytes()).object(|_, walk| { keys += 1; walk.skip().map(drop) }).expect("it is whole");
        prop_assert_eq!(keys, value.as_object().map_or(0, serde_json::Map::len));
    }

    #[test]
    fn the_length_of_a_text_is_that_of_its_utf_8(text in any::<String>(), ascii in any::<bool>()) {
        let mut written = serde_json::to_string(&text).expect("a text is JSON");
        if ascii {
            let escaped = |unit: u16| format!("\\u{unit:04x}");
            written = format!("\"{}\"", text.encode_utf16().map(escaped).collect::<String>());
        }
        prop_assert_eq!(length(&written.as_bytes()[1..written.len() - 1]), text.len());
    }

    #[test]
    fn nothing_that_comes_makes_it_panic(parts in vec(words(), 0..12)) {
        let frame = format!("data: {}", parts.concat().replace(['\n', '\r'], " "));
        for dialect in [Dialect::Openai, Dialect::Anthropic, Dialect::Responses, Dialect::Gemini] {
            let told = sight(dialect, &frame);
            prop_assert!(told.text == 0 || told.kind == Kind::Output);
        }
    }
}
