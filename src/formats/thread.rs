//! The thread of an answer that is gone on with by another request (flow 6.6): what the model is
//! asked, and how its words are put into the client's stream as if nothing had happened.

use bytes::Bytes;
use policy::catalogue::Dialect;
use policy::stream::Finish;
use serde_json::{Value, json};

/// What the frames of one answer have in common.
#[derive(Clone, Debug, PartialEq)]
pub enum Thread {
    /// Chat completions: a chunk without its choices.
    Chat(Value),
    /// Responses: the answer's id, and the place of its text.
    Responses {
        /// `response.id`.
        id: Value,
        /// `item_id`, `output_index`, `content_index` of its deltas.
        place: Value,
    },
}

impl Thread {
    /// Reads it from the opening of a stream; `None`: there is nothing that could be gone on with.
    pub fn of(dialect: Dialect, opening: &[u8]) -> Option<Self> {
        let lines = opening.split(|byte| matches!(byte, b'\n' | b'\r'));
        let data = lines.filter_map(|line| line.strip_prefix(b"data:"));
        let mut events = data.filter_map(|data| serde_json::from_slice::<Value>(data).ok());
        match dialect {
            Dialect::Openai => {
                let mut chunk = events.find(|event| event.get("choices").is_some())?;
                let known = ["id", "object", "created", "model", "system_fingerprint", "service_tier"];
                chunk.as_object_mut()?.retain(|key, _| known.contains(&key.as_str()));
                Some(Self::Chat(chunk))
            }
            Dialect::Responses => {
                let (mut id, mut place) = (Value::Null, json!({"output_index": 0, "content_index": 0}));
                for event in events {
                    if let Some(found) = event.pointer("/response/id") {
                        id = found.clone();
                    }
                    if event["type"] == "response.output_text.delta" {
                        for key in ["item_id", "output_index", "content_index"] {
                            place[key] = event[key].clone();
                        }
                    }
                }
                Some(Self::Responses { id, place })
            }
            Dialect::Anthropic | Dialect::Gemini => None,
        }
    }

    /// More of the model's text, as one event.
    pub fn delta(&self, text: &str) -> String {
        match self {
            Self::Chat(chunk) => {
                let mut chunk = chunk.clone();
                chunk["choices"] = json!([{"index": 0, "delta": {"content": text}, "finish_reason": null}]);
                format!("data: {chunk}\n\n")
            }
            Self::Responses { place, .. } => {
                let mut event = place.clone();
                event["type"] = "response.output_text.delta".into();
                event["delta"] = text.into();
                format!("event: response.output_text.delta\ndata: {event}\n\n")
            }
        }
    }

    /// Its end, as the last request told it; `whole`: all of its text.
    pub fn end(&self, finish: Option<Finish>, whole: &str) -> String {
        match self {
            Self::Chat(chunk) => {
                let why = match finish {
                    Some(Finish::Length) => "length",
                    Some(Finish::Filter) => "content_filter",
                    Some(Finish::Tools) => "tool_calls",
                    Some(Finish::Stop | Finish::Other) | None => "stop",
                };
                let mut chunk = chunk.clone();
                chunk["choices"] = json!([{"index": 0, "delta": {}, "finish_reason": why}]);
                format!("data: {chunk}\n\ndata: [DONE]\n\n")
            }
            Self::Responses { id, place } => {
                let part = json!({"type": "output_text", "text": whole, "annotations": []});
                let item = json!({
                    "id": place["item_id"], "type": "message", "role": "assistant", "status": "completed",
                    "content": [part],
                });
                let response =
                    json!({"id": id, "object": "response", "status": "completed", "output": [item]});
                let event = json!({"type": "response.completed", "response": response});
                format!("event: response.completed\ndata: {event}\n\n")
            }
        }
    }
}

/// The request that asks for the rest: the client's turns, and one of the model with the text that
/// was sent (flow 6.6.29). `None`: its turns cannot be gone on with, or it wants several answers.
pub fn request(dialect: Dialect, body: &[u8], model: &str, sent: &str) -> Option<Bytes> {
    let mut body: Value = serde_json::from_slice(body).ok()?;
    if body["n"].as_u64().is_some_and(|answers| answers > 1) {
        return None;
    }
    body["model"] = model.into();
    body["stream"] = true.into();
    let key = match dialect {
        Dialect::Openai => "messages",
        Dialect::Responses => "input",
        Dialect::Anthropic | Dialect::Gemini => return None,
    };
    if let Some(text) = body[key].as_str() {
        body[key] = json!([{"role": "user", "content": text}]);
    }
    let turns = body[key].as_array_mut()?;
    if !sent.is_empty() {
        turns.push(json!({"role": "assistant", "content": sent}));
    }
    Some(body.to_string().into())
}

#[cfg(test)]
mod tests {
    use policy::catalogue::Dialect;
    use policy::stream::Finish;
    use serde_json::{Value, json};

    use super::{Thread, request};

    fn data(frames: &str) -> Vec<Value> {
        let data = frames.lines().filter_map(|line| line.strip_prefix("data: "));
        data.map(|data| serde_json::from_str(data).unwrap_or_else(|_| data.into())).collect()
    }

    #[test]
    fn flow_6_6_31_a_chat_goes_on_in_its_own_format() {
        let opening = ": ping\n\ndata: {\"id\":\"c1\",\"model\":\"m\",\"choices\":[{\"delta\":{\"content\":\"a\"}}],\"usage\":null}\n\n";
        let thread = Thread::of(Dialect::Openai, opening.as_bytes()).unwrap();
        let choice = json!([{"index": 0, "delta": {"content": "ld!"}, "finish_reason": null}]);
        assert_eq!(data(&thread.delta("ld!")), [json!({"id": "c1", "model": "m", "choices": choice})]);
        let end = json!([{"index": 0, "delta": {}, "finish_reason": "length"}]);
        assert_eq!(
            data(&thread.end(Some(Finish::Length), "x")),
            [json!({"id": "c1", "model": "m", "choices": end}), json!("[DONE]")]
        );
    }

    #[test]
    fn flow_6_6_31_a_response_goes_on_in_its_own_format() {
        let opening = "data: {\"type\":\"response.created\",\"response\":{\"id\":\"r1\"}}\n\n\
                       data: {\"type\":\"response.output_text.delta\",\"item_id\":\"i1\",\"output_index\":1,\"content_index\":2,\"delta\":\"a\"}\n\n";
        let thread = Thread::of(Dialect::Responses, opening.as_bytes()).unwrap();
        let delta = &data(&thread.delta("b"))[0];
        assert_eq!(
            (&delta["item_id"], &delta["output_index"], &delta["delta"]),
            (&json!("i1"), &json!(1), &json!("b"))
        );
        let end = &data(&thread.end(None, "ab"))[0];
        assert_eq!(end["response"]["id"], "r1");
        assert_eq!(end["response"]["output"][0]["content"][0]["text"], "ab");
        assert_eq!(Thread::of(Dialect::Anthropic, opening.as_bytes()), None);
    }

    #[test]
    fn flow_6_6_29_the_model_is_shown_what_it_said() {
        let chat = br#"{"model":"x","messages":[{"role":"user","content":"q"}],"temperature":0}"#;
        let asked: Value =
            serde_json::from_slice(&request(Dialect::Openai, chat, "m", "Hello wor").unwrap()).unwrap();
        let turns = json!([{"role": "user", "content": "q"}, {"role": "assistant", "content": "Hello wor"}]);
        assert_eq!(asked, json!({"model": "m", "messages": turns, "temperature": 0, "stream": true}));
        let text = br#"{"model":"x","input":"q"}"#;
        let asked: Value =
            serde_json::from_slice(&request(Dialect::Responses, text, "m", "").unwrap()).unwrap();
        assert_eq!(asked["input"], json!([{"role": "user", "content": "q"}]));
        assert_eq!(request(Dialect::Openai, br#"{"n":2,"messages":[]}"#, "m", ""), None);
        assert_eq!(request(Dialect::Openai, br#"{"messages":"#, "m", ""), None);
        assert_eq!(request(Dialect::Anthropic, chat, "m", ""), None);
    }
}
