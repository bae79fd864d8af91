//! What a combo expects of an answer besides that there is one (routing 7.9): finds the
//! assistant's text where each dialect keeps it.
//!
//! Only combos that expect something pay for it: here the answer is read into a tree.

use policy::catalogue::Dialect;
use policy::validation::{Breach, Validation};
use serde_json::Value;

/// What a whole answer breaks; one that is no JSON is its own text.
pub fn breach(dialect: Dialect, body: &[u8], rules: &Validation) -> Option<Breach> {
    let Ok(json) = serde_json::from_slice::<Value>(body) else {
        return rules.of_text(&String::from_utf8_lossy(body)).or_else(|| rules.of_json(&Value::Null));
    };
    let said = text(dialect, &json);
    // Who calls a tool has not answered yet: there is no text to be short or to miss something.
    let of_text = match said.is_empty() && calls(dialect, &json) {
        true => None,
        false => rules.of_text(&said),
    };
    of_text.or_else(|| rules.of_json(&json))
}

/// The assistant's text: of the first choice, or of all blocks; reasoning is none of it.
pub fn text(dialect: Dialect, json: &Value) -> String {
    let mut said = String::new();
    match dialect {
        Dialect::Openai => match json.pointer("/choices/0/message/content") {
            Some(Value::Array(parts)) => parts.iter().for_each(|part| say(part, &["text"], &mut said)),
            content => said.push_str(content.and_then(Value::as_str).unwrap_or_default()),
        },
        Dialect::Anthropic => {
            items(json.get("content")).for_each(|block| say(block, &["text"], &mut said));
        }
        Dialect::Responses => {
            let parts = items(json.get("output")).flat_map(|item| items(item.get("content")));
            parts.for_each(|part| say(part, &["output_text", "text"], &mut said));
        }
        Dialect::Gemini => {
            let parts = items(json.pointer("/candidates/0/content/parts"));
            let said_aloud = parts.filter(|part| part.get("thought") != Some(&Value::Bool(true)));
            said_aloud.filter_map(|part| part.get("text")?.as_str()).for_each(|text| said.push_str(text));
        }
    }
    said
}

/// The assistant's text in the opening part of a stream: whole events.
pub fn opening_text(dialect: Dialect, events: &[u8]) -> String {
    let lines = events.split(|byte| matches!(byte, b'\n' | b'\r'));
    let data = lines.filter_map(|line| line.strip_prefix(b"data:"));
    let events = data.filter_map(|data| serde_json::from_slice::<Value>(data).ok());
    let path = match dialect {
        Dialect::Openai => "/choices/0/delta/content",
        Dialect::Anthropic => "/delta/text",
        Dialect::Responses => "/delta",
        Dialect::Gemini => "/candidates/0/content/parts/0/text",
    };
    events.filter_map(|event| event.pointer(path)?.as_str().map(str::to_owned)).collect()
}

fn items(value: Option<&Value>) -> impl Iterator<Item = &Value> {
    value.and_then(Value::as_array).into_iter().flatten()
}

/// The text of a part of one of these types.
fn say(part: &Value, types: &[&str], said: &mut String) {
    let kind = part.get("type").and_then(Value::as_str);
    if kind.is_none_or(|kind| types.contains(&kind)) {
        said.push_str(part.get("text").and_then(Value::as_str).unwrap_or_default());
    }
}

/// The answer calls a tool.
fn calls(dialect: Dialect, json: &Value) -> bool {
    let is_call = |item: &Value| {
        let kind = item.get("type").and_then(Value::as_str).unwrap_or_default();
        kind.ends_with("tool_use") || kind.ends_with("_call")
    };
    match dialect {
        Dialect::Openai => {
            let message = json.pointer("/choices/0/message");
            let call = message.and_then(|message| message.get("function_call")).is_some_and(Value::is_object);
            call || items(message.and_then(|message| message.get("tool_calls"))).next().is_some()
        }
        Dialect::Anthropic => items(json.get("content")).any(is_call),
        Dialect::Responses => items(json.get("output")).any(is_call),
        Dialect::Gemini => {
            items(json.pointer("/candidates/0/content/parts")).any(|part| part.get("functionCall").is_some())
        }
    }
}

#[cfg(test)]
mod tests {
    use policy::catalogue::Dialect::{self, Anthropic, Gemini, Openai, Responses};
    use policy::validation::{Breach, Path, Predicate, Test, Validation};
    use serde_json::json;

    use super::{breach, text};

    const CHAT: &str = r#"{"choices":[{"message":{"content":"Hello \"you\"","reasoning_content":"sorry"},
        "finish_reason":"stop"},{"message":{"content":"second"}}]}"#;
    const MESSAGE: &str = r#"{"content":[{"type":"thinking","thinking":"sorry"},{"type":"text","text":"Hello "},
        {"type":"tool_use","name":"f"},{"type":"text","text":"\"you\""}]}"#;
    const RESPONSE: &str = r#"{"output":[{"type":"reasoning","content":[{"type":"reasoning_text","text":"sorry"}]},
        {"type":"message","content":[{"type":"output_text","text":"Hello \"you\""}]}]}"#;
    const CANDIDATE: &str = r#"{"candidates":[{"content":{"parts":[{"text":"sorry","thought":true},
        {"text":"Hello "},{"text":"\"you\""}]}}]}"#;
    const ANSWERS: [(Dialect, &str); 4] =
        [(Openai, CHAT), (Anthropic, MESSAGE), (Responses, RESPONSE), (Gemini, CANDIDATE)];

    #[test]
    fn each_dialect_keeps_its_text_elsewhere_and_reasoning_is_none_of_it() {
        for (dialect, body) in ANSWERS {
            let json = serde_json::from_str(body).unwrap();
            assert_eq!(text(dialect, &json), "Hello \"you\"", "{dialect:?}");
        }
        let parts = json!({"choices": [{"message": {"content": [
            {"type": "text", "text": "a"}, {"type": "thinking", "text": "no"}, {"text": "b"}]}}]});
        assert_eq!(text(Openai, &parts), "ab");
        assert_eq!(text(Openai, &json!({"choices": []})), "");
    }

    #[test]
    fn routing_7_9_an_answer_that_breaks_a_rule_is_told_which() {
        let rules = Validation { forbidden: vec!["sorry".into()], min_length: 11, ..Validation::default() };
        let with = |required: &str| Validation { required: vec![required.into()], ..rules.clone() };
        for (dialect, body) in ANSWERS {
            assert_eq!(breach(dialect, body.as_bytes(), &with("\"you\"")), None, "{dialect:?}");
            let longer = Validation { min_length: 12, ..with("Hello") };
            assert_eq!(breach(dialect, body.as_bytes(), &longer), Some(Breach::TooShort));
            assert_eq!(breach(dialect, body.as_bytes(), &with("second")), Some(Breach::Required(0)));
            let bad = body.replace("Hello ", "sorry ");
            assert_eq!(breach(dialect, bad.as_bytes(), &with("you")), Some(Breach::Forbidden(0)));
        }
    }

    #[test]
    fn routing_7_9_predicates_look_at_the_whole_answer() {
        let rules = |path: &str, test: Test| {
            let path = Path::parse(path).unwrap();
            Validation { predicates: vec![Predicate { path, test }], ..Validation::default() }
        };
        let stops = rules("$.choices[0].finish_reason", Test::Equals(json!("stop")));
        assert_eq!(breach(Openai, CHAT.as_bytes(), &stops), None);
        let cut = CHAT.replace("stop", "length");
        assert_eq!(breach(Openai, cut.as_bytes(), &stops), Some(Breach::Predicate(0)));
        let said = rules("choices[1].message.content", Test::NonEmpty);
        assert_eq!(breach(Openai, CHAT.as_bytes(), &said), None);
        assert_eq!(breach(Openai, b"data: {}\n\n", &said), Some(Breach::Predicate(0)), "no JSON, no place");
    }

    #[test]
    fn who_calls_a_tool_has_not_answered_yet() {
        let rules = Validation { required: vec!["done".into()], min_length: 5, ..Validation::default() };
        for (dialect, body) in [
            (Openai, r#"{"choices":[{"message":{"content":null,"tool_calls":[{"id":"1"}]}}]}"#),
            (Openai, r#"{"choices":[{"message":{"function_call":{"name":"f"}}}]}"#),
            (Anthropic, r#"{"content":[{"type":"tool_use","name":"f"}]}"#),
            (Responses, r#"{"output":[{"type":"function_call","name":"f"}]}"#),
            (Gemini, r#"{"candidates":[{"content":{"parts":[{"functionCall":{}}]}}]}"#),
        ] {
            assert_eq!(breach(dialect, body.as_bytes(), &rules), None, "{body}");
            let speaks = body.replace("null", "\"wait\"");
            let expected = (speaks != body).then_some(Breach::Required(0));
            assert_eq!(breach(dialect, speaks.as_bytes(), &rules), expected, "{speaks}");
        }
        assert_eq!(breach(Openai, b"{\"choices\":[]}", &rules), Some(Breach::Required(0)));
    }
}
