//! The model's name in an answer, put back to what the client asked for (`formats.response_model`,
//! decision 26b, FC-123). It is changed in its place, whatever it was: every other byte stays as it
//! came.

mod top;

use std::ops::Range;

use bytes::{Bytes, BytesMut};
use memchr::memmem;
use policy::catalogue::Dialect;

use super::sse::Scanner;
use super::walk::Walk;
pub use top::Top;

/// A name for answers of one dialect.
#[derive(Clone, Debug)]
pub struct Renaming {
    /// As JSON.
    name: Box<str>,
    dialect: Dialect,
}

impl Renaming {
    /// The name that the client knows.
    pub fn new(name: &str, dialect: Dialect) -> Self {
        Self { name: serde_json::Value::from(name).to_string().into(), dialect }
    }

    /// An answer that is one JSON object, or the beginning of one.
    pub fn whole(&self, json: Bytes) -> Bytes {
        let places = places(&json, None);
        self.put(json, &places)
    }

    /// An answer that is one JSON object and comes in parts.
    pub fn parts(self) -> Top {
        Top::new(self.name)
    }

    /// Whole events of a stream.
    pub fn events(&self, events: Bytes) -> Bytes {
        // Most events of most dialects name no model.
        if memmem::find(&events, b"\"model\"").is_none() {
            return events;
        }
        let within: Option<&[u8]> = match self.dialect {
            Dialect::Anthropic => Some(b"message"),
            Dialect::Responses => Some(b"response"),
            Dialect::Openai | Dialect::Gemini => None,
        };
        let (mut scanner, mut found) = (Scanner::new(events.len()), Vec::new());
        scanner.feed(events.clone());
        // All that is there is one block.
        scanner.next_block();
        while let Some(Ok(frame)) = scanner.next_frame() {
            let here = places(&frame.data(), within);
            found.extend(here.into_iter().map(|place| {
                let start = frame.place_of(place.start);
                start..start + place.len()
            }));
        }
        self.put(events, &found)
    }

    fn put(&self, bytes: Bytes, places: &[Range<usize>]) -> Bytes {
        if places.iter().all(|place| bytes[place.clone()] == *self.name.as_bytes()) {
            return bytes;
        }
        let mut renamed = BytesMut::with_capacity(bytes.len() + places.len() * self.name.len());
        let mut at = 0;
        for place in places {
            renamed.extend_from_slice(&bytes[at..place.start]);
            renamed.extend_from_slice(self.name.as_bytes());
            at = place.end;
        }
        renamed.extend_from_slice(&bytes[at..]);
        renamed.freeze()
    }
}

/// Where an object says its model, itself or in the one below this key. What is no JSON to its end may
/// have said it before.
fn places(json: &[u8], within: Option<&[u8]>) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut model = |walk: &mut Walk<'_>| {
        let value = walk.skip()?;
        if value.starts_with(b"\"") {
            let start = value.as_ptr() as usize - json.as_ptr() as usize;
            found.push(start..start + value.len());
        }
        Ok(())
    };
    let _ = Walk::new(json).object(|key, walk| match (key, within) {
        (b"model", None) => model(walk),
        (key, Some(outer)) if key == outer => walk.object(|key, walk| match key {
            b"model" => model(walk),
            _ => walk.skip().map(drop),
        }),
        _ => walk.skip().map(drop),
    });
    found
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use policy::catalogue::Dialect;

    use super::Renaming;

    fn text(bytes: &Bytes) -> &str {
        std::str::from_utf8(bytes).unwrap()
    }

    #[test]
    fn fc_123_a_body_says_the_name_that_was_asked_for_and_is_else_as_it_came() {
        let renaming = Renaming::new("my \"best\"", Dialect::Openai);
        for (answer, expected) in [
            (
                r#"{ "id":"x", "model" : "GPT-Y-2026" ,"n":1.0}"#,
                r#"{ "id":"x", "model" : "my \"best\"" ,"n":1.0}"#,
            ),
            (r#"{"a":{"model":"inner"},"model":"m"}"#, r#"{"a":{"model":"inner"},"model":"my \"best\""}"#),
            (r#"{"model":null,"x":"\"model\":\"m\""}"#, r#"{"model":null,"x":"\"model\":\"m\""}"#),
            (r#"{"model":"a\"b","cut":[1,"#, r#"{"model":"my \"best\"","cut":[1,"#),
            (r#"[{"model":"m"}]"#, r#"[{"model":"m"}]"#),
            (r#"{"model":"my \"best\""}"#, r#"{"model":"my \"best\""}"#),
        ] {
            let body = Bytes::copy_from_slice(answer.as_bytes());
            assert_eq!(text(&renaming.whole(body)), expected);
        }
    }

    #[test]
    fn fc_123_each_event_that_names_a_model_names_the_one_that_was_asked_for() {
        type Row = (Dialect, &'static str, &'static str);
        let rows: [Row; 6] = [
            (
                Dialect::Openai,
                ": hi\n\ndata: {\"model\":\"up\",\"choices\":[]}\n\ndata:{\"choices\":[],\"model\":\"up-2\"}\r\n\r\ndata: [DONE]\n\n",
                ": hi\n\ndata: {\"model\":\"mine\",\"choices\":[]}\n\ndata:{\"choices\":[],\"model\":\"mine\"}\r\n\r\ndata: [DONE]\n\n",
            ),
            (
                Dialect::Anthropic,
                "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"model\":\"up\"}}\n\nevent: ping\ndata: {\"model\":\"other\"}\n\n",
                "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"model\":\"mine\"}}\n\nevent: ping\ndata: {\"model\":\"other\"}\n\n",
            ),
            (
                Dialect::Responses,
                "data: {\"type\":\"response.created\",\"response\":{\"model\":\"up\",\"tools\":[{\"model\":\"t\"}]}}\n\n",
                "data: {\"type\":\"response.created\",\"response\":{\"model\":\"mine\",\"tools\":[{\"model\":\"t\"}]}}\n\n",
            ),
            // An event of several lines, by whatever they end with.
            (
                Dialect::Openai,
                "data: {\"a\":\r\ndata: 1,\r\nid: 7\r\ndata:\"model\":\"up\"}\r\n\r\n",
                "data: {\"a\":\r\ndata: 1,\r\nid: 7\r\ndata:\"model\":\"mine\"}\r\n\r\n",
            ),
            (
                Dialect::Openai,
                "data: {\"choices\":[{\"delta\":{\"content\":\"\\\"model\\\":\\\"up\\\"\"}}]}\n\n",
                "data: {\"choices\":[{\"delta\":{\"content\":\"\\\"model\\\":\\\"up\\\"\"}}]}\n\n",
            ),
            (Dialect::Openai, ": keep-alive\n\n", ": keep-alive\n\n"),
        ];
        for (dialect, events, expected) in rows {
            let renamed = Renaming::new("mine", dialect).events(Bytes::from_static(events.as_bytes()));
            assert_eq!(text(&renamed), expected);
        }
    }
}
