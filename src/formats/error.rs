//! Errors in the words of each dialect, as bodies and as the last frame of a stream.

use policy::catalogue::Dialect;
use serde_json::{Map, Value, json};

/// An error, free of any dialect.
#[derive(Clone, Debug, Default)]
pub struct ErrorFacts {
    /// HTTP status it stands for.
    pub status: u16,
    /// Stable code, for programs.
    pub code: &'static str,
    /// OpenAI's kind; `None`: by status.
    pub kind: Option<&'static str>,
    /// For people.
    pub message: String,
    /// The field at fault.
    pub param: Option<String>,
    /// More facts beside the message.
    pub extra: Map<String, Value>,
    /// More facts beside `error`.
    pub beside: Map<String, Value>,
}

/// OpenAI's `type` of a status (routing 9.1).
pub fn openai_kind(status: u16) -> &'static str {
    match status {
        401 => "authentication_error",
        402 => "billing_error",
        403 => "permission_error",
        429 => "rate_limit_error",
        500.. => "server_error",
        _ => "invalid_request_error",
    }
}

/// Anthropic's `type` of a status.
pub fn anthropic_kind(status: u16) -> &'static str {
    match status {
        401 => "authentication_error",
        402 => "billing_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        504 => "timeout_error",
        529 => "overloaded_error",
        500.. => "api_error",
        _ => "invalid_request_error",
    }
}

fn facts_as_object(facts: &ErrorFacts, kind: &str) -> Map<String, Value> {
    let mut error = Map::new();
    error.insert("message".into(), facts.message.clone().into());
    error.insert("type".into(), kind.into());
    error.insert("param".into(), facts.param.clone().map_or(Value::Null, Value::from));
    error.insert("code".into(), facts.code.into());
    error.extend(facts.extra.clone());
    error
}

/// The whole body.
pub fn body(dialect: Dialect, facts: &ErrorFacts) -> Value {
    let mut whole = match dialect {
        Dialect::Anthropic => {
            json!({"type": "error", "error": facts_as_object(facts, anthropic_kind(facts.status))})
        }
        _ => {
            json!({"error": facts_as_object(facts, facts.kind.unwrap_or_else(|| openai_kind(facts.status)))})
        }
    };
    if let Value::Object(object) = &mut whole {
        object.extend(facts.beside.clone());
    }
    whole
}

/// The last frame of a stream that failed.
pub fn frame(dialect: Dialect, facts: &ErrorFacts) -> String {
    last(dialect, body(dialect, facts))
}

/// A body of the dialect as the last frame of a stream.
fn last(dialect: Dialect, body: Value) -> String {
    match dialect {
        Dialect::Anthropic => format!("event: error\ndata: {body}\n\n"),
        Dialect::Responses => {
            // The fields of the event are the protocol's; the official clients give it to their
            // caller as one like any other, and raise only at an `error` in it.
            let error = &body["error"];
            let event = json!({
                "type": "error", "code": error["code"], "message": error["message"], "param": error["param"],
                "sequence_number": 0, "error": error,
            });
            format!("event: error\ndata: {event}\n\n")
        }
        _ => format!("data: {body}\n\n"),
    }
}

/// What an upstream said inside a stream (`data`), as the body of the answer that it should have
/// given instead; `status`: what it stands for.
pub fn body_of_event(dialect: Dialect, data: &[u8], status: u16) -> String {
    let event: Value = serde_json::from_slice(data).unwrap_or_default();
    let said = [&event["error"], &event["response"]["error"], &event];
    let said = said.into_iter().find_map(|said| said.as_object().filter(|said| !said.is_empty()));
    let mut error = said.cloned().unwrap_or_default();
    let kind = match dialect {
        Dialect::Anthropic => anthropic_kind(status),
        _ => openai_kind(status),
    };
    // The event's own type is no kind of error.
    if error.get("type").is_none_or(|kind| kind == "error" || !kind.is_string()) {
        error.insert("type".into(), kind.into());
    }
    // It counts events, and this is none any more.
    error.remove("sequence_number");
    if !error.get("message").is_some_and(Value::is_string) {
        let detail = error.get("detail").and_then(Value::as_str);
        let message = detail.unwrap_or("the upstream failed inside its stream").to_owned();
        error.insert("message".into(), message.into());
    }
    let whole = match dialect {
        Dialect::Anthropic => json!({"type": "error", "error": error}),
        _ => json!({"error": error}),
    };
    whole.to_string()
}

/// An upstream's failed answer as the last frame of a stream, if it is one of JSON.
pub fn frame_of_body(dialect: Dialect, body: &[u8]) -> Option<String> {
    let body: Value = serde_json::from_slice(body).ok()?;
    let error = body.get("error")?;
    let body = match dialect {
        Dialect::Anthropic => json!({"type": "error", "error": error}),
        _ => json!({"error": error}),
    };
    Some(last(dialect, body))
}

#[cfg(test)]
mod tests {
    use policy::catalogue::Dialect;
    use serde_json::json;

    use super::{ErrorFacts, body, body_of_event, frame, frame_of_body};

    fn facts() -> ErrorFacts {
        ErrorFacts { status: 503, code: "draining", message: "going away".into(), ..ErrorFacts::default() }
    }

    #[test]
    fn each_dialect_gets_its_own_shape() {
        let openai = json!({"error": {"message": "going away", "type": "server_error", "param": null, "code": "draining"}});
        assert_eq!(body(Dialect::Openai, &facts()), openai);
        assert_eq!(body(Dialect::Responses, &facts()), openai);
        assert_eq!(
            body(Dialect::Anthropic, &facts()),
            json!({"type": "error", "error":
                {"message": "going away", "type": "api_error", "param": null, "code": "draining"}})
        );
    }

    #[test]
    fn an_event_becomes_the_answer_that_it_stands_for() {
        let of = |dialect, data: &str| {
            serde_json::from_str::<serde_json::Value>(&body_of_event(dialect, data.as_bytes(), 503)).unwrap()
        };
        let chat = json!({"error": {"message": "busy", "type": "x", "code": "y"}});
        assert_eq!(of(Dialect::Openai, &chat.to_string()), chat);
        let anthropic = json!({"type": "error", "error": {"type": "overloaded_error", "message": "busy"}});
        assert_eq!(of(Dialect::Anthropic, &anthropic.to_string()), anthropic);
        assert_eq!(
            of(
                Dialect::Responses,
                r#"{"type":"error","code":"c","message":"m","param":null,"sequence_number":4}"#
            ),
            json!({"error": {"type": "server_error", "code": "c", "message": "m", "param": null}})
        );
        assert_eq!(
            of(
                Dialect::Responses,
                r#"{"type":"response.failed","response":{"error":{"code":"c","message":"m"}}}"#
            ),
            json!({"error": {"type": "server_error", "code": "c", "message": "m"}})
        );
        assert_eq!(
            of(Dialect::Openai, "no json"),
            json!({"error": {"type": "server_error", "message": "the upstream failed inside its stream"}})
        );
    }

    #[test]
    fn a_failed_answer_becomes_the_last_frame() {
        let body = br#"{"error":{"message":"m","type":"t","code":"c"},"more":1}"#;
        let frame = |dialect| frame_of_body(dialect, body).unwrap();
        assert_eq!(
            frame(Dialect::Openai),
            "data: {\"error\":{\"code\":\"c\",\"message\":\"m\",\"type\":\"t\"}}\n\n"
        );
        assert!(frame(Dialect::Anthropic).starts_with("event: error\ndata: {\"error\":{"));
        let event = json!({
            "type": "error", "code": "c", "message": "m", "param": null, "sequence_number": 0,
            "error": {"message": "m", "type": "t", "code": "c"},
        });
        assert_eq!(frame(Dialect::Responses), format!("event: error\ndata: {event}\n\n"));
        assert_eq!(frame_of_body(Dialect::Openai, b"<html>"), None);
    }

    /// The official clients raise at an `error`, and at nothing else.
    #[test]
    fn every_last_frame_holds_an_error_object() {
        for dialect in [Dialect::Openai, Dialect::Anthropic, Dialect::Responses] {
            let text = frame(dialect, &facts());
            let (_, data) = text.trim_end().split_once("data: ").unwrap();
            let data: serde_json::Value = serde_json::from_str(data).unwrap();
            assert_eq!(data["error"], body(dialect, &facts())["error"], "{text}");
        }
    }

    #[test]
    fn a_frame_ends_with_a_blank_line() {
        for dialect in [Dialect::Openai, Dialect::Anthropic, Dialect::Responses] {
            let text = frame(dialect, &facts());
            assert!(text.ends_with("\n\n") && text.contains("\"draining\""), "{text}");
            assert_eq!(text.starts_with("event: error\n"), dialect != Dialect::Openai);
        }
    }
}
