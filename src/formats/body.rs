//! A request body as routing needs it: the model and whether a stream is wanted, read
//! once, and the model's place, so that another name is spliced in without rebuilding
//! the rest. Key order, unknown fields and white space stay as they came.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use bytes::{BufMut, Bytes, BytesMut};
use policy::stream::Shape;
use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::traits::{Field, Parts};

/// Up to this many bytes the spliced body is copied into one piece: one write instead of three.
const ONE_PIECE: usize = 64 * 1024;

/// What routing reads of a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peeked<'a> {
    /// The model as the client wrote it.
    pub model: String,
    /// Where the model's JSON text stands.
    pub span: Range<usize>,
    /// The client wants a stream.
    pub stream: bool,
    /// What else routing may look into.
    pub parts: Parts<'a>,
}

/// Whether a request wants to be answered later (rules 8.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Background {
    /// Where the value stands.
    pub span: Range<usize>,
    /// It is literally true.
    pub on: bool,
}

/// Why a body cannot be routed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadBody {
    /// Not JSON; where and why.
    NotJson(String),
    /// JSON, but this field is not what it must be.
    Field {
        /// The field.
        name: &'static str,
        /// What would be right.
        expected: &'static str,
    },
}

/// Keeps the fields of an object that routing looks at.
struct Peek {
    details: bool,
}

impl<'de> DeserializeSeed<'de> for Peek {
    type Value = Parts<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Peek {
    type Value = Parts<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut parts = Parts::default();
        while let Some(field) = map.next_key::<Field>()? {
            if field == Field::Other || (field.is_detail() && !self.details) {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            // Two models, and nobody knows which one the upstream takes.
            if matches!(field, Field::Model | Field::Stream) && parts.get(field).is_some() {
                return Err(A::Error::custom("`model` or `stream` is there twice"));
            }
            parts.keep(field, map.next_value()?);
        }
        Ok(parts)
    }
}

/// Reads what routing needs; `details`: also what a model must be able to do for it.
pub fn peek(body: &Bytes, details: bool) -> Result<Peeked<'_>, BadBody> {
    let text = text(body)?;
    match body.iter().find(|byte| !byte.is_ascii_whitespace()) {
        Some(b'{') => {}
        Some(_) if serde_json::from_str::<IgnoredAny>(text).is_ok() => {
            return Err(BadBody::Field { name: "body", expected: "a JSON object" });
        }
        None => return Err(BadBody::NotJson("the body is empty".into())),
        Some(_) => {}
    }
    let mut reader = serde_json::Deserializer::from_str(text);
    let read = Peek { details }.deserialize(&mut reader).and_then(|parts| reader.end().map(|()| parts));
    let parts = read.map_err(|error| BadBody::NotJson(error.to_string()))?;
    let field = |name, expected| BadBody::Field { name, expected };
    let raw = parts.get(Field::Model).ok_or(field("model", "the name of a model or combo"))?;
    let model: Cow<'_, str> =
        serde_json::from_str(raw).map_err(|_| field("model", "a string: the name of a model or combo"))?;
    let stream = match parts.get(Field::Stream) {
        None | Some("null" | "false") => false,
        Some("true") => true,
        Some(_) => return Err(field("stream", "true or false")),
    };
    Ok(Peeked { model: model.into_owned(), span: place(body, raw), stream, parts })
}

/// The body as text. Once for all of it, and many bytes at a time: the reader below would look at
/// what it keeps only, a byte at a time where letters are not ASCII.
fn text(body: &Bytes) -> Result<&str, BadBody> {
    simdutf8::basic::from_utf8(body).map_err(|_| {
        let wrong = std::str::from_utf8(body).err().map_or(0, |error| error.valid_up_to());
        BadBody::NotJson(format!("it is not UTF-8 from byte {} on", wrong + 1))
    })
}

/// The field `background`, if the body has one; null is one too.
pub fn background(body: &Bytes) -> Option<Background> {
    #[derive(Deserialize)]
    struct Later<'a> {
        #[serde(borrow, default, deserialize_with = "present")]
        background: Option<&'a RawValue>,
    }
    // Most bodies have neither the field nor a key that is written in another way.
    let has = |text: &[u8]| memchr::memmem::find(body, text);
    has(b"\"background\"").or_else(|| has(b"\\u"))?;
    let raw = serde_json::from_slice::<Later<'_>>(body).ok()?.background?.get();
    Some(Background { span: place(body, raw), on: raw == "true" })
}

/// Whether an object says nothing of a stream; null is a word, too.
pub fn leaves_stream_open(body: &Bytes) -> bool {
    #[derive(Deserialize)]
    struct Said<'a> {
        #[serde(borrow, default, deserialize_with = "present")]
        stream: Option<&'a RawValue>,
    }
    serde_json::from_slice(body).is_ok_and(|said: Said<'_>| said.stream.is_none())
}

fn present<'de: 'a, 'a, D: Deserializer<'de>>(from: D) -> Result<Option<&'a RawValue>, D::Error> {
    <&RawValue>::deserialize(from).map(Some)
}

/// Where a part of the body stands in it.
fn place(body: &Bytes, part: &str) -> Range<usize> {
    let start = part.as_ptr() as usize - body.as_ptr() as usize;
    start..start + part.len()
}

/// How heavy a request is (flow 6.2.8); what cannot be read weighs its length.
pub fn shape(body: &Bytes) -> Shape {
    #[derive(Default, Deserialize)]
    struct Heavy<'a> {
        #[serde(borrow, default)]
        messages: Vec<&'a RawValue>,
        #[serde(borrow, default)]
        input: Option<&'a RawValue>,
        #[serde(borrow, default)]
        tools: Vec<&'a RawValue>,
        #[serde(borrow, default)]
        reasoning_effort: Option<&'a RawValue>,
        #[serde(borrow, default)]
        reasoning: Option<&'a RawValue>,
        #[serde(borrow, default)]
        output_config: Option<&'a RawValue>,
    }
    let heavy: Heavy<'_> = serde_json::from_slice(body).unwrap_or_default();
    let input = heavy.input.and_then(|input| serde_json::from_str::<Vec<&RawValue>>(input.get()).ok());
    let items = heavy.messages.len().max(input.map_or(0, |input| input.len()));
    let efforts = [heavy.reasoning_effort, heavy.reasoning, heavy.output_config];
    let is_high = |effort: &RawValue| ["\"high\"", "\"max\""].iter().any(|high| effort.get().contains(high));
    Shape {
        items,
        source_items: items,
        tools: heavy.tools.len(),
        characters: body.len(),
        effort_high: efforts.into_iter().flatten().any(is_high),
    }
}

/// The body with another model in the place of the client's.
pub fn splice(body: &Bytes, span: &Range<usize>, model: &str) -> Vec<Bytes> {
    let name = serde_json::to_string(model).expect("a string is always JSON");
    if body[span.clone()] == *name.as_bytes() {
        return vec![body.clone()];
    }
    if body.len() > ONE_PIECE {
        return vec![body.slice(..span.start), name.into(), body.slice(span.end..)];
    }
    let mut whole = BytesMut::with_capacity(body.len() + name.len());
    whole.put_slice(&body[..span.start]);
    whole.put_slice(name.as_bytes());
    whole.put_slice(&body[span.end..]);
    vec![whole.freeze()]
}

/// Whether these bytes are one complete JSON value (decision 9a).
pub fn is_complete_json(body: &[u8]) -> bool {
    serde_json::from_slice::<IgnoredAny>(body).is_ok()
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::{BadBody, peek, shape, splice};

    fn joined(parts: Vec<Bytes>) -> String {
        parts.iter().map(|part| String::from_utf8(part.to_vec()).unwrap()).collect()
    }

    #[test]
    fn only_the_model_is_replaced() {
        let body = Bytes::from_static(
            b"{ \"z\":1,\n\"model\" : \"a/\\u0062\",\"stream\":true, \"x\":{\"model\":\"no\"} }",
        );
        let peeked = peek(&body, false).unwrap();
        assert_eq!((peeked.model.as_str(), peeked.stream), ("a/b", true));
        assert_eq!(
            joined(splice(&body, &peeked.span, "say \"hi\"")),
            "{ \"z\":1,\n\"model\" : \"say \\\"hi\\\"\",\"stream\":true, \"x\":{\"model\":\"no\"} }"
        );
    }

    #[test]
    fn tools_are_counted_and_nothing_else_is_asked_of_them() {
        for (tools, count) in [
            ("[]", 0),
            (r#"[{"a":[1,2]},{"b":{}}]"#, 2),
            ("null", 0),
            ("7", 0),
            ("-7", 0),
            ("1.5", 0),
            ("true", 0),
            (r#""a\n""#, 0),
            (r#"{"a":[1,2]}"#, 0),
        ] {
            let body = Bytes::from(format!(r#"{{"tools":{tools},"model":"m"}}"#));
            assert_eq!(peek(&body, false).map(|peeked| peeked.parts.tools()), Ok(count), "{tools}");
        }
    }

    #[test]
    fn flow_6_2_8_a_request_is_weighed() {
        let of = |text: &str| shape(&Bytes::copy_from_slice(text.as_bytes()));
        let weighed = of(r#"{"messages":[1,2,3],"tools":[{},{}],"reasoning_effort":"high"}"#);
        assert_eq!((weighed.items, weighed.tools, weighed.effort_high), (3, 2, true));
        let weighed = of(r#"{"input":[1,2],"reasoning":{"effort":"low"}}"#);
        assert_eq!((weighed.items, weighed.tools, weighed.effort_high), (2, 0, false));
        assert!(of(r#"{"input":"text","output_config":{"effort":"max"}}"#).effort_high);
        assert_eq!((of("{").items, of("{").characters), (0, 1));
    }

    #[test]
    fn a_large_body_is_not_copied() {
        let body = Bytes::from(format!("{{\"model\":\"m\",\"x\":\"{}\"}}", "y".repeat(100_000)));
        let peeked = peek(&body, false).unwrap();
        let parts = splice(&body, &peeked.span, "n");
        assert_eq!(parts.len(), 3);
        assert_eq!(parts[2].as_ptr(), body[peeked.span.end..].as_ptr());
        assert_eq!(joined(parts), String::from_utf8(body.to_vec()).unwrap().replace("\"m\"", "\"n\""));
    }

    #[test]
    fn a_bad_body_says_what_would_be_right() {
        let field = |name, expected| Err(BadBody::Field { name, expected });
        let of =
            |text: &'static str| peek(&Bytes::from_static(text.as_bytes()), false).map(|peeked| peeked.model);
        assert_eq!(of("[1]"), field("body", "a JSON object"));
        assert_eq!(of("\"m\""), field("body", "a JSON object"));
        assert_eq!(of("{}"), field("model", "the name of a model or combo"));
        assert_eq!(of("{\"model\":3}"), field("model", "a string: the name of a model or combo"));
        assert_eq!(of("{\"model\":\"m\",\"stream\":1}"), field("stream", "true or false"));
        for text in [
            "",
            "{",
            "{\"model\":\"m\"",
            "{\"model\":\"m\"}x",
            "{\"model\":\"a\",\"model\":\"b\"}",
            "nonsense",
        ] {
            assert!(matches!(of(text), Err(BadBody::NotJson(_))), "{text}");
        }
        let german = Bytes::from_static(b"{\"model\":\"m\",\"x\":\"Gr\xfc\xdfe\"}");
        let why = "it is not UTF-8 from byte 21 on";
        assert_eq!(peek(&german, false), Err(BadBody::NotJson(why.into())));
    }
}
