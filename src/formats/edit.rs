//! Small changes of a JSON body, each made in its text: what is not changed stays as it came, byte
//! for byte.

use std::borrow::Cow;
use std::ops::Range;

use bytes::{BufMut, Bytes, BytesMut};
use serde::Deserialize;
use serde_json::value::RawValue;

/// The body without one of its fields; `value`: where that field's value stands.
pub fn without_field(body: &Bytes, value: &Range<usize>) -> Bytes {
    joined(body, field_of(body, value))
}

/// Where a field stands whose value stands there, with the comma that goes with it.
pub(super) fn field_of(body: &[u8], value: &Range<usize>) -> Range<usize> {
    let blank = |byte: &u8| byte.is_ascii_whitespace();
    let back = |from: usize| body[..from].iter().rposition(|byte| !blank(byte)).unwrap_or(0);
    // Colon, then the quotes round the name.
    let closing = back(back(value.start));
    let opening = opening_quote(body, closing);
    let after = value.end + body[value.end..].iter().take_while(|byte| blank(byte)).count();
    if body.get(after) == Some(&b',') {
        return opening..after + 1;
    }
    let before = back(opening);
    let start = if body[before] == b',' { before } else { opening };
    start..value.end
}

/// The body with this field before its others; it has some.
pub fn with_first(body: &Bytes, field: &[u8]) -> Bytes {
    let opening = body.iter().position(|byte| *byte == b'{').map_or(0, |brace| brace + 1);
    replaced(body, opening..opening, &[field, b","].concat())
}

/// The quote that opens the name which ends at `closing`.
fn opening_quote(body: &[u8], closing: usize) -> usize {
    let mut at = closing;
    while at > 0 {
        at -= 1;
        let escapes = body[..at].iter().rev().take_while(|byte| **byte == b'\\').count();
        if body[at] == b'"' && escapes % 2 == 0 {
            break;
        }
    }
    at
}

fn joined(body: &Bytes, left_out: Range<usize>) -> Bytes {
    replaced(body, left_out, b"")
}

pub(super) fn replaced(body: &Bytes, span: Range<usize>, with: &[u8]) -> Bytes {
    let mut whole = BytesMut::with_capacity(body.len() + with.len());
    whole.put_slice(&body[..span.start]);
    whole.put_slice(with);
    whole.put_slice(&body[span.end..]);
    whole.freeze()
}

/// Where a part of a body stands in it.
pub(super) fn span_of(body: &[u8], part: &RawValue) -> Range<usize> {
    let start = part.get().as_ptr() as usize - body.as_ptr() as usize;
    start..start + part.get().len()
}

/// The body with the first `most` of its tools, and the place that `kept` has in it; `None`: it has no
/// more than that.
pub fn with_fewer_tools(body: &Bytes, kept: &Range<usize>, most: usize) -> Option<(Bytes, Range<usize>)> {
    #[derive(Deserialize)]
    struct Tools<'a> {
        #[serde(borrow)]
        tools: Vec<&'a RawValue>,
    }
    let Tools { tools } = serde_json::from_slice(body).ok()?;
    let (last, end) = (tools.get(most.checked_sub(1)?)?, tools.last()?);
    let (from, to) = (span_of(body, last).end, span_of(body, end).end);
    if from >= to {
        return None;
    }
    let moved = if kept.start >= to { to - from } else { 0 };
    Some((joined(body, from..to), kept.start - moved..kept.end - moved))
}

/// The body without what the model has thought so far, and the place that `kept` has in it; `None`:
/// there is nothing of that in it. A thought is signed for one account: it goes whole or not at all.
pub fn without_thoughts(body: &Bytes, kept: &Range<usize>) -> Option<(Bytes, Range<usize>)> {
    #[derive(Deserialize)]
    struct Talk<'a> {
        #[serde(borrow)]
        messages: Option<Vec<&'a RawValue>>,
        #[serde(borrow)]
        input: Option<&'a RawValue>,
    }
    let talk: Talk<'_> = serde_json::from_slice(body).ok()?;
    let input = || serde_json::from_str(talk.input?.get()).ok();
    let turns: Vec<&RawValue> = talk.messages.or_else(input)?;
    let (from, to) = (span_of(body, turns.first()?).start, span_of(body, turns.last()?).end);
    let left: Vec<Cow<'_, str>> = turns.iter().filter_map(|turn| without_own_thoughts(turn)).collect();
    let is_whole = left.len() == turns.len() && left.iter().all(|turn| matches!(turn, Cow::Borrowed(_)));
    if is_whole || left.is_empty() {
        return None;
    }
    let left = left.join(",");
    let place = |at: usize| if at >= to { at - to + from + left.len() } else { at };
    Some((replaced(body, from..to, left.as_bytes()), place(kept.start)..place(kept.end)))
}

/// A turn without its thoughts; `None`: it is nothing else.
fn without_own_thoughts(turn: &RawValue) -> Option<Cow<'_, str>> {
    #[derive(Deserialize)]
    struct Part<'a> {
        #[serde(borrow, rename = "type")]
        kind: Option<Cow<'a, str>>,
        #[serde(borrow)]
        content: Option<&'a RawValue>,
    }
    let Ok(Part { kind, content }) = serde_json::from_str::<Part<'_>>(turn.get()) else {
        return Some(turn.get().into());
    };
    if kind.as_deref() == Some("reasoning") {
        return None;
    }
    let parts = content.and_then(|content| serde_json::from_str::<Vec<&RawValue>>(content.get()).ok());
    let parts = parts.unwrap_or_default();
    let is_thought = |part: &RawValue| {
        let kind = serde_json::from_str::<Part<'_>>(part.get()).ok().and_then(|part| part.kind);
        matches!(kind.as_deref(), Some("thinking" | "redacted_thinking"))
    };
    let left: Vec<&str> = parts.iter().filter(|part| !is_thought(part)).map(|part| part.get()).collect();
    let (Some(first), Some(last)) = (parts.first(), parts.last()) else { return Some(turn.get().into()) };
    if left.len() == parts.len() {
        return Some(turn.get().into());
    }
    let text = turn.get();
    let (from, to) = (span_of(text.as_bytes(), first).start, span_of(text.as_bytes(), last).end);
    (!left.is_empty()).then(|| format!("{}{}{}", &text[..from], left.join(","), &text[to..]).into())
}

/// The body with another bound of what the model may say: whichever of `names` it has is set to what
/// `bound` makes of it, and where it has none the first is added.
pub fn with_output(body: &Bytes, names: &[&str], bound: impl Fn(Option<u64>) -> u64) -> Option<Bytes> {
    let fields: std::collections::HashMap<&str, &RawValue> = serde_json::from_slice(body).ok()?;
    let mut found: Vec<_> = names
        .iter()
        .filter_map(|name| fields.get(name))
        .map(|raw| (span_of(body, raw), bound(raw.get().parse().ok())))
        .collect();
    if found.is_empty() {
        let open = body.iter().position(|byte| *byte == b'{')? + 1;
        let comma = if fields.is_empty() { "" } else { "," };
        let field = format!("\"{}\":{}{comma}", names.first()?, bound(None));
        return Some(replaced(body, open..open, field.as_bytes()));
    }
    // From the end, so that the places before stay right.
    found.sort_by_key(|(span, _)| std::cmp::Reverse(span.start));
    let set =
        |body: Bytes, (span, bound): (Range<usize>, u64)| replaced(&body, span, bound.to_string().as_bytes());
    Some(found.into_iter().fold(body.clone(), set))
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::super::body::{background, peek};
    use super::{with_fewer_tools, with_output, without_field, without_thoughts};

    fn bytes(text: &str) -> Bytes {
        Bytes::copy_from_slice(text.as_bytes())
    }

    fn text(bytes: &Bytes) -> &str {
        std::str::from_utf8(bytes).unwrap()
    }

    #[test]
    fn d1_d2_the_field_goes_and_nothing_else() {
        let rows = [
            (r#"{"background":true,"model":"m"}"#, r#"{"model":"m"}"#),
            (r#"{"model":"m","background":false}"#, r#"{"model":"m"}"#),
            ("{ \"model\" : \"m\" ,\n \"background\" : null ,\"x\":1 }", "{ \"model\" : \"m\" ,\n \"x\":1 }"),
            ("{\"model\":\"m\" , \"background\":\t{\"a\":[1]} }", "{\"model\":\"m\"  }"),
            (
                r#"{"model":"m","b\u0061ckground":true,"z":"\"background\":true"}"#,
                r#"{"model":"m","z":"\"background\":true"}"#,
            ),
        ];
        for (before, after) in rows {
            let body = bytes(before);
            let background = background(&body).expect("it has the field");
            assert_eq!(text(&without_field(&body, &background.span)), after, "{before}");
        }
        let only = bytes(r#"{"background":true}"#);
        assert_eq!(text(&without_field(&only, &(14..18))), "{}");
    }

    #[test]
    fn fc_045_thoughts_go_whole_and_nothing_else_is_touched() {
        let rows = [
            (
                r#"{"messages":[{"role":"user","content":"hi"}, {"role":"assistant","content":[ {"type":"thinking","thinking":"a","signature":"s"} ,{"type":"text","text":"thinking"}, {"type":"redacted_thinking","data":"d"} ]},{"role":"user","content":[{"type":"text","text":"x"}]}],"model":"m"}"#,
                Some(
                    r#"{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[ {"type":"text","text":"thinking"} ]},{"role":"user","content":[{"type":"text","text":"x"}]}],"model":"m"}"#,
                ),
            ),
            (
                r#"{"model":"m","messages":[{"role":"assistant","content":[{"type":"thinking"}]},{"role":"user","content":"x"}]}"#,
                Some(r#"{"model":"m","messages":[{"role":"user","content":"x"}]}"#),
            ),
            (
                r#"{"input":[{"type":"reasoning","encrypted_content":"e"},{"role":"user","content":"x"}],"model":"m"}"#,
                Some(r#"{"input":[{"role":"user","content":"x"}],"model":"m"}"#),
            ),
            (r#"{"model":"m","messages":[{"role":"user","content":"thinking"},7]}"#, None),
            (r#"{"model":"m","input":"thinking"}"#, None),
            (r#"{"model":"m","messages":[]}"#, None),
            (r#"{"model":"m","messages":[{"content":[{"type":"thinking"}]}]}"#, None),
        ];
        for (before, after) in rows {
            let body = bytes(before);
            let place = peek(&body, false).unwrap().span;
            let left = without_thoughts(&body, &place);
            assert_eq!(left.as_ref().map(|(body, _)| text(body)), after, "{before}");
            assert!(left.is_none_or(|(body, place)| &body[place] == b"\"m\""), "{before}");
        }
    }

    #[test]
    fn rules_8_2_5_the_first_tools_stay() {
        let body = bytes(r#"{"tools": [ {"a":1}, {"b":[2]} , {"c":3} ], "model":"m"}"#);
        let span = peek(&body, false).unwrap().span;
        let cut = |most| with_fewer_tools(&body, &span, most);
        let (two, moved) = cut(2).unwrap();
        assert_eq!(text(&two), r#"{"tools": [ {"a":1}, {"b":[2]} ], "model":"m"}"#);
        assert_eq!(&two[moved], b"\"m\"");
        assert_eq!(text(&cut(1).unwrap().0), r#"{"tools": [ {"a":1} ], "model":"m"}"#);
        assert_eq!((cut(3), cut(4), cut(0)), (None, None, None));
        let before = bytes(r#"{"model":"m","tools":[1,2]}"#);
        let (one, same) = with_fewer_tools(&before, &(9..12), 1).unwrap();
        assert_eq!((text(&one), same), (r#"{"model":"m","tools":[1]}"#, 9..12));
        assert_eq!(with_fewer_tools(&bytes(r#"{"tools":7}"#), &(0..1), 1), None);
    }

    #[test]
    fn d6_d8_the_output_is_bounded_whatever_its_name() {
        let names = ["max_tokens", "max_completion_tokens"];
        let bound = |wanted: Option<u64>| wanted.unwrap_or(40).min(40);
        for (before, after) in [
            (r#"{"model":"m","max_tokens":90}"#, r#"{"model":"m","max_tokens":40}"#),
            (r#"{"max_completion_tokens": 90 ,"x":1}"#, r#"{"max_completion_tokens": 40 ,"x":1}"#),
            (
                r#"{"max_tokens":7,"max_completion_tokens":90}"#,
                r#"{"max_tokens":7,"max_completion_tokens":40}"#,
            ),
            (r#"{"max_tokens":null}"#, r#"{"max_tokens":40}"#),
            (r#"{"model":"m"}"#, r#"{"max_tokens":40,"model":"m"}"#),
        ] {
            assert_eq!(text(&with_output(&bytes(before), &names, bound).unwrap()), after);
        }
    }
}
