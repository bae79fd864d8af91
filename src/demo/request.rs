//! The little that is read of a request's body.
//!
//! Only what changes the answer is looked at; the rest of the body is skipped over, never built.
//! A body that a real provider would refuse (no JSON object, no model) is refused here too, so
//! that a router that mangles bodies is noticed.

use serde::Deserialize;
use serde_json::value::RawValue;

/// What a request asks for.
pub(super) struct Asked {
    pub(super) model: String,
    pub(super) stream: bool,
    pub(super) include_usage: bool,
    pub(super) inputs: usize,
    pub(super) base64: bool,
    pub(super) body_bytes: usize,
}

#[derive(Deserialize)]
struct Body<'a> {
    model: Option<String>,
    stream: Option<bool>,
    #[serde(borrow)]
    stream_options: Option<&'a RawValue>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
    encoding_format: Option<String>,
}

#[derive(Deserialize)]
struct StreamOptions {
    include_usage: Option<bool>,
}

impl Asked {
    /// A request without a body.
    pub(super) fn bodiless(model: &str) -> Self {
        Self {
            model: model.to_owned(),
            stream: false,
            include_usage: false,
            inputs: 1,
            base64: false,
            body_bytes: 0,
        }
    }

    /// Reads a body; `model` is where the dialect keeps the model elsewhere. The error says what is wrong.
    pub(super) fn read(body: &[u8], model: Option<&str>) -> Result<Self, String> {
        let read: Body<'_> =
            serde_json::from_slice(body).map_err(|error| format!("the body is not a request: {error}"))?;
        let model = match model {
            Some(model) => model.to_owned(),
            None => read.model.ok_or("the body has no model")?,
        };
        let options = read.stream_options.map(RawValue::get);
        let options = options.and_then(|raw| serde_json::from_str::<StreamOptions>(raw).ok());
        Ok(Self {
            model,
            stream: read.stream.unwrap_or(false),
            include_usage: options.and_then(|options| options.include_usage).unwrap_or(false),
            inputs: read.input.map_or(1, |raw| count_inputs(raw.get())),
            base64: read.encoding_format.as_deref() == Some("base64"),
            body_bytes: body.len(),
        })
    }
}

/// How many texts an embeddings request has: a list of numbers is one text in tokens.
fn count_inputs(raw: &str) -> usize {
    let is_token = |item: &&RawValue| item.get().starts_with(|c: char| c.is_ascii_digit());
    match serde_json::from_str::<Vec<&RawValue>>(raw) {
        Ok(items) if !items.iter().any(is_token) => items.len(),
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::{Asked, count_inputs};

    #[test]
    fn only_what_matters_is_read() {
        let body = br#"{"model":"a\u0062","messages":[{"x":1}],"stream":true,"stream_options":{"include_usage":true}}"#;
        let asked = Asked::read(body, None).expect("a request");
        assert_eq!(asked.model, "ab");
        assert!(asked.stream && asked.include_usage && !asked.base64);
        assert_eq!(asked.body_bytes, body.len());
    }

    #[test]
    fn what_a_provider_refuses_is_refused() {
        for body in ["", "[]", "7", "{", "{}", r#"{"model":null}"#, r#"{"model":7}"#] {
            assert!(Asked::read(body.as_bytes(), None).is_err(), "{body}");
        }
        assert!(Asked::read(b"{}", Some("of the path")).is_ok());
    }

    #[test]
    fn inputs_are_counted_as_texts() {
        for (raw, count) in
            [(r#""one""#, 1), (r#"["a","b"]"#, 2), ("[1,2,3]", 1), ("[[1,2],[3]]", 2), ("[]", 0)]
        {
            assert_eq!(count_inputs(raw), count, "{raw}");
        }
    }
}
