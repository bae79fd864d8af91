use bytes::Bytes;
use policy::catalogue::Dialect;
use proptest::prelude::{ProptestConfig, any, prop, prop_assert_eq, proptest};
use serde_json::{Value, json};

use super::{Reshape, ToolFilter};
use crate::formats::body::peek;

fn says(text: &str) -> Reshape {
    Reshape::new(Some(text), None).unwrap()
}

fn keeps(expression: &str) -> Reshape {
    Reshape::new(None, Some(ToolFilter::new(expression).unwrap())).unwrap()
}

/// The body as it goes on; the place of its model is right in it.
#[track_caller]
fn made(reshape: &Reshape, dialect: Dialect, body: &str) -> Option<String> {
    let body = Bytes::copy_from_slice(body.as_bytes());
    let span = peek(&body, false).unwrap().span;
    let (made, place) = reshape.apply(dialect, &body, &span)?;
    assert_eq!(made[place], body[span], "the model moved: {made:?}");
    assert!(serde_json::from_slice::<Value>(&made).is_ok(), "{made:?}");
    Some(String::from_utf8(made.to_vec()).unwrap())
}

#[test]
#[expect(clippy::too_many_lines, reason = "one table")]
fn routing_1_1_the_combo_speaks_first_and_the_client_keeps_its_words() {
    use Dialect::{Anthropic, Openai, Responses};
    for (dialect, before, after) in [
        (
            Openai,
            r#"{"model":"m" , "messages": [ {"role":"user","content":"hi"}],"x":1.50}"#,
            r#"{"model":"m" , "messages": [{"role":"system","content":"say \"x\""}, {"role":"user","content":"hi"}],"x":1.50}"#,
        ),
        (
            Openai,
            r#"{"messages":[{"role":"system","content":"own"}],"model":"m"}"#,
            r#"{"messages":[{"role":"system","content":"say \"x\""},{"role":"system","content":"own"}],"model":"m"}"#,
        ),
        (
            Openai,
            r#"{"messages":[ ],"model":"m"}"#,
            r#"{"messages":[{"role":"system","content":"say \"x\""} ],"model":"m"}"#,
        ),
        (
            Anthropic,
            r#"{ "model":"m","messages":[]}"#,
            r#"{"system":"say \"x\"", "model":"m","messages":[]}"#,
        ),
        (
            Anthropic,
            r#"{"system":"own\n\u0041","model":"m"}"#,
            r#"{"system":"say \"x\"\n\nown\n\u0041","model":"m"}"#,
        ),
        (
            Anthropic,
            r#"{"model":"m","system":[{"type":"text","text":"own","cache_control":{"type":"ephemeral"}}]}"#,
            r#"{"model":"m","system":[{"type":"text","text":"say \"x\""},{"type":"text","text":"own","cache_control":{"type":"ephemeral"}}]}"#,
        ),
        (
            Anthropic,
            r#"{"model":"m","system":[]}"#,
            r#"{"model":"m","system":[{"type":"text","text":"say \"x\""}]}"#,
        ),
        (Anthropic, r#"{"model":"m","system":null}"#, r#"{"model":"m","system":"say \"x\""}"#),
        (Anthropic, r#"{"system":"","model":"m"}"#, r#"{"system":"say \"x\"","model":"m"}"#),
        (
            Responses,
            r#"{"model":"m","instructions":"own","input":"hi"}"#,
            r#"{"model":"m","instructions":"say \"x\"\n\nown","input":"hi"}"#,
        ),
        (
            Responses,
            r#"{"input":"hi","model":"m","previous_response_id":"r"}"#,
            r#"{"instructions":"say \"x\"","input":"hi","model":"m","previous_response_id":"r"}"#,
        ),
        // Whichever of two the upstream takes, and however the name is written.
        (
            Anthropic,
            r#"{"system":"a","model":"m","syst\u0065m":"b"}"#,
            r#"{"system":"say \"x\"\n\na","model":"m","syst\u0065m":"say \"x\"\n\nb"}"#,
        ),
    ] {
        let said = made(&says("say \"x\""), dialect, before);
        assert_eq!(said.as_deref(), Some(after), "{before}");
    }
    for body in [r#"{"model":"m","messages":"hi"}"#, r#"{"model":"m"}"#] {
        assert_eq!(made(&says("x"), Openai, body), None, "{body}");
    }
    // The provider says what is wrong with them.
    for own in ["7", "true", "{}"] {
        let body = format!(r#"{{"model":"m","system":{own}}}"#);
        assert_eq!(made(&says("x"), Anthropic, &body), None, "{body}");
    }
    assert_eq!(says("äx").adds(), 3);
}

#[test]
#[expect(clippy::too_many_lines, reason = "one table")]
fn routing_1_1_only_tools_that_fit_go_on() {
    for (before, after) in [
        (
            r#"{"tools":[ {"type":"function","function":{"name":"read_a","parameters":{"x":1.0}}} , {"type":"function","function":{"name":"write"}}, {"function":{"name":"read_b"}} ],"model":"m"}"#,
            r#"{"tools":[ {"type":"function","function":{"name":"read_a","parameters":{"x":1.0}}},{"function":{"name":"read_b"}} ],"model":"m"}"#,
        ),
        (
            r#"{"model":"m","tools":[{"name":"write"},{"name":"read"}],"tool_choice":{"type":"tool","name":"write"}}"#,
            r#"{"model":"m","tools":[{"name":"read"}]}"#,
        ),
        (
            r#"{"model":"m","tool_choice":{"type":"tool","name":"read"},"tools":[{"name":"write"},{"name":"read"}]}"#,
            r#"{"model":"m","tool_choice":{"type":"tool","name":"read"},"tools":[{"name":"read"}]}"#,
        ),
        (
            r#"{"tools":[{"type":"function","function":{"name":"write"}},{"type":"function","function":{"name":"read"}}],"tool_choice":{"type":"function","function":{"name":"write"}},"model":"m"}"#,
            r#"{"tools":[{"type":"function","function":{"name":"read"}}],"model":"m"}"#,
        ),
        (
            r#"{"tools":[{"name":"write"},{"name":"read"}],"tool_choice":{"type":"allowed_tools","mode":"auto","tools":[{"type":"function","name":"read"},{"type":"function","name":"write"}]},"model":"m"}"#,
            r#"{"tools":[{"name":"read"}],"model":"m"}"#,
        ),
        (
            r#"{"tools":[{"name":"write"},{"name":"read"}],"tool_choice":"auto","parallel_tool_calls":false,"model":"m"}"#,
            r#"{"tools":[{"name":"read"}],"tool_choice":"auto","parallel_tool_calls":false,"model":"m"}"#,
        ),
        // Nothing is left: neither is what would speak of it.
        (
            r#"{"tools":[{"name":"write"}],"tool_choice":"auto","parallel_tool_calls":true, "model":"m"}"#,
            r#"{ "model":"m"}"#,
        ),
        (
            r#"{"model":"m","stream":true,"tool_choice":{"type":"any"},"tools":[{"name":"write"}]}"#,
            r#"{"model":"m","stream":true}"#,
        ),
        // What the provider itself has is called by its type.
        (
            r#"{"tools":[{"type":"web_search"},{"type":"read_only"}],"tool_choice":{"type":"web_search"},"model":"m"}"#,
            r#"{"tools":[{"type":"read_only"}],"model":"m"}"#,
        ),
        (
            r#"{"tools":[{"type":"custom","custom":{"name":"write"}},{"name":"read"}],"model":"m"}"#,
            r#"{"tools":[{"name":"read"}],"model":"m"}"#,
        ),
        (
            r#"{"functions":[{"name":"write"},{"name":"read"}],"function_call":{"name":"write"},"model":"m"}"#,
            r#"{"functions":[{"name":"read"}],"model":"m"}"#,
        ),
        // Two lists: neither passes by.
        (
            r#"{"tools":[{"name":"read"}],"model":"m","tools":[{"name":"write"}]}"#,
            r#"{"tools":[{"name":"read"}],"model":"m"}"#,
        ),
    ] {
        assert_eq!(made(&keeps("^read"), Dialect::Openai, before).as_deref(), Some(after), "{before}");
    }
    for body in [
        r#"{"model":"m","tools":[{"name":"read"},{"name":"already"}],"tool_choice":{"name":"other"}}"#,
        r#"{"model":"m","tools":[],"tool_choice":"auto"}"#,
        r#"{"model":"m","tools":[7,{}],"tool_choice":"auto"}"#,
        r#"{"model":"m","tools":null}"#,
        r#"{"model":"m"}"#,
    ] {
        assert_eq!(made(&keeps("read"), Dialect::Openai, body), None, "{body}");
    }
}

/// What else a tool holds may be unreadable for us and not for its provider: half of a character,
/// numbers beyond all bounds, schemas without end.
#[test]
fn no_tool_passes_for_what_stands_beside_its_name() {
    let deep = format!("{}1{}", r#"{"a":"#.repeat(200), "}".repeat(200));
    let gone = [
        r#"{"type":"function","function":{"name":"write","description":"\ud83d"}}"#.to_owned(),
        r#"{"type":"function","function":{"name":"write","parameters":{"maximum":1e999}}}"#.to_owned(),
        format!(r#"{{"name":"write","input_schema":{deep}}}"#),
        r#"{"name":"write\ud83d"}"#.to_owned(),
        r#"{"type":"function","name":"read","function":{"name":"write"}}"#.to_owned(),
        r#"{"name":"read","name":"write"}"#.to_owned(),
        r#"{"\ud83d":1,"name":"write"}"#.to_owned(),
        r#"{"function":{"name":"write"},"function":{"name":"read"}}"#.to_owned(),
    ];
    for tool in gone {
        let body = format!(r#"{{"tools":[{tool},{{"name":"read"}}],"model":"m"}}"#);
        let after = r#"{"tools":[{"name":"read"}],"model":"m"}"#;
        assert_eq!(made(&keeps("^read"), Dialect::Openai, &body).as_deref(), Some(after), "{tool:.80}");
    }
    let body = r#"{"model":"m","tools":[{"name":"read","description":"\ud83d"}]}"#;
    assert_eq!(made(&keeps("^read"), Dialect::Openai, body), None, "it fits all the same");
}

#[test]
fn routing_1_1_an_expression_is_bounded_and_says_what_is_wrong() {
    for (expression, said) in [("read(", "without closing"), ("a{1000}{1000}", "size"), ("[z-a]", "range")] {
        let wrong = ToolFilter::new(expression).unwrap_err();
        assert!(wrong.contains(said), "{expression}: {wrong}");
    }
    assert!(Reshape::new(None, None).is_none());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Whatever stands in a body: what goes on says the same but for what the combo changes.
    #[test]
    fn all_other_fields_stay_what_they_are(
        words in prop::collection::vec("[a-z\"\\\\\u{e9}]{0,8}", 0..4),
        tools in prop::collection::vec("(read|write)_[a-z]{1,3}", 0..5),
        last in any::<bool>(),
    ) {
        let mut body = json!({"alpha": words, "messages": [{"role": "user", "content": words}]});
        body["tools"] = tools.iter().map(|name| json!({"type": "function", "function": {"name": name}})).collect();
        body["tool_choice"] = json!("auto");
        let text = body.to_string();
        let text = match last {
            true => format!(r#"{},"model":"m"}}"#, &text[..text.len() - 1]),
            false => format!(r#"{{"model":"m",{}"#, &text[1..]),
        };
        let filter = ToolFilter::new("^read_").unwrap();
        let reshape = Reshape::new(Some("first"), Some(filter)).unwrap();
        let made = made(&reshape, Dialect::Openai, &text).unwrap();
        let made: Value = serde_json::from_str(&made).unwrap();
        let left: Vec<&String> = tools.iter().filter(|name| name.starts_with("read_")).collect();
        let named: Vec<&str> = made["tools"].as_array().into_iter().flatten()
            .map(|tool| tool["function"]["name"].as_str().unwrap()).collect();
        prop_assert_eq!(named, left.iter().map(|name| name.as_str()).collect::<Vec<_>>());
        prop_assert_eq!(made.get("tool_choice").is_some(), !left.is_empty() || tools.is_empty());
        prop_assert_eq!(&made["alpha"], &body["alpha"]);
        prop_assert_eq!(&made["messages"][0], &json!({"role": "system", "content": "first"}));
        prop_assert_eq!(&made["messages"][1], &body["messages"][0]);
    }
}
