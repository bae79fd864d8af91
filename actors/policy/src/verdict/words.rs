//! An error's text, ready to be searched: in lower case, as it came and with its JSON escapes
//! decoded, and the structured codes in it. Made once per verdict.

use std::cell::OnceCell;

use serde_json::Value;

use super::phrase::{List, Phrase};

/// Longer requests are not searched; they are taken to hold whatever the answer says.
const LONGEST_REQUEST: usize = 2 << 20;

/// The words of one answer.
pub(super) struct Words<'a> {
    /// In lower case: as it came, and decoded if that differs; empty for a blank answer.
    pub(super) texts: Vec<String>,
    /// Code, type and status of the error, in lower case.
    pub(super) codes: Vec<String>,
    /// The request that it answers, and the same in lower case once somebody asked.
    request: Option<&'a [u8]>,
    asked: OnceCell<Vec<String>>,
}

impl<'a> Words<'a> {
    pub(super) fn of(raw: &str, request: Option<&'a [u8]>) -> Self {
        let (texts, codes) = match raw.trim().is_empty() {
            true => (Vec::new(), Vec::new()),
            false => (readings(raw), codes(raw)),
        };
        Self { texts, codes, request, asked: OnceCell::new() }
    }

    /// Whether the answer says something of a list; a veto in either reading counts. What the
    /// request says too is the client's word, unless a code of the answer says it as well.
    pub(super) fn say(&self, list: &List) -> bool {
        let hit = holds(&self.texts, list.any) && !holds(&self.texts, list.unless);
        hit && (!self.repeats(|asked| holds(asked, list.any)) || holds(&self.codes, list.any))
    }

    /// Whether the answer holds a text that is not the client's own.
    pub(super) fn hold(&self, text: &str) -> bool {
        let said = |texts: &[String]| texts.iter().any(|known| known.contains(text));
        said(&self.texts) && !self.repeats(said)
    }

    /// Whether the request says it, so that an answer may only repeat it.
    fn repeats(&self, says: impl Fn(&[String]) -> bool) -> bool {
        let Some(request) = self.request else { return false };
        if request.len() > LONGEST_REQUEST {
            return true;
        }
        says(self.asked.get_or_init(|| readings(&String::from_utf8_lossy(request))))
    }

    pub(super) fn has_code(&self, any: &[&str]) -> bool {
        self.codes.iter().any(|code| any.contains(&code.as_str()))
    }
}

fn holds(texts: &[String], phrases: &[Phrase]) -> bool {
    phrases.iter().any(|phrase| texts.iter().any(|text| phrase.is_in(text)))
}

/// In lower case: as it came, and with its escapes decoded if that differs.
fn readings(raw: &str) -> Vec<String> {
    let mut texts = vec![raw.to_lowercase()];
    if raw.contains('\\') {
        texts.push(decoded(raw).to_lowercase());
    }
    texts
}

/// JSON string escapes decoded wherever they stand, so that a body cut in the middle is read
/// too (rules 2.2.8).
fn decoded(raw: &str) -> String {
    let mut out = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let Some(escape) = rest.chars().next() else { break };
        rest = &rest[escape.len_utf8()..];
        match escape {
            'u' => rest = unit(rest, &mut out),
            'n' | 'r' | 't' | 'b' | 'f' => out.push(' '),
            other => out.push(other),
        }
    }
    out.push_str(rest);
    out
}

/// One `\u` escape, two for a pair of surrogates; the rest of the text.
fn unit<'t>(rest: &'t str, out: &mut String) -> &'t str {
    let Some((first, after)) = hex(rest) else { return rest };
    let pair = after.strip_prefix("\\u").and_then(hex);
    if let Some((second, after)) = pair
        && let Some(Ok(wide)) = char::decode_utf16([first, second]).next()
        && wide.len_utf16() == 2
    {
        out.push(wide);
        return after;
    }
    out.push(char::from_u32(u32::from(first)).unwrap_or(char::REPLACEMENT_CHARACTER));
    after
}

fn hex(text: &str) -> Option<(u16, &str)> {
    let (digits, rest) = text.split_at_checked(4)?;
    let digits = Some(digits).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
    Some((u16::from_str_radix(digits, 16).ok()?, rest))
}

/// `code`, `type` and `status` of the error object and of the answer round it; a list of one
/// answer is read like that answer. Empty when the body is no JSON.
fn codes(raw: &str) -> Vec<String> {
    let Ok(body) = serde_json::from_str::<Value>(raw) else { return Vec::new() };
    let body = match &body {
        Value::Array(list) => list.first().unwrap_or(&Value::Null),
        _ => &body,
    };
    let places = [body.get("error"), body.pointer("/response/error"), Some(body)];
    let fields = ["code", "type", "status"];
    let values = places.into_iter().flatten().flat_map(|place| fields.map(|field| place.get(field)));
    values
        .flatten()
        .filter_map(|value| match value {
            Value::String(text) => Some(text.to_lowercase()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::Words;

    /// Rules 2.2.8: a body of escapes is read too, cut or not.
    #[test]
    fn escapes_are_decoded() {
        for (raw, decoded) in [
            (r#"{"m":"\u989d\u5ea6\u4e0d\u8db3"}"#, r#"{"m":"额度不足"}"#),
            (r#"cut "\u989D\u5ea6"#, "cut \"额度"),
            (r"\ud83d\ude42", "🙂"),
            (r"\ud83d alone", "\u{fffd} alone"),
            (r"\ud83d\u0041", "\u{fffd}a"),
            (r"\u98", "98"),
            (r"\u+123", "+123"),
            (r"a\nb\/c\", "a b/c"),
            (r"\u额度", "额度"),
        ] {
            assert_eq!(Words::of(raw, None).texts[1], decoded, "{raw}");
        }
        assert_eq!(Words::of("PLAIN", None).texts, ["plain"]);
        assert!(Words::of(" \n", None).texts.is_empty());
    }

    #[test]
    fn codes_of_every_wrapping() {
        for (raw, codes) in [
            (r#"{"error":{"code":"A","type":"b"}}"#, &["a", "b"][..]),
            (r#"[{"error":{"code":429,"status":"RESOURCE_EXHAUSTED"}}]"#, &["429", "resource_exhausted"]),
            (r#"{"type":"error","error":{"type":"overloaded_error"}}"#, &["overloaded_error", "error"]),
            (r#"{"code":"x","error":"text"}"#, &["x"]),
            (r#"{"response":{"error":{"code":"y"}}}"#, &["y"]),
            ("not json", &[]),
            ("[]", &[]),
            (r#"{"error":{"code":null}}"#, &[]),
        ] {
            assert_eq!(Words::of(raw, None).codes, codes, "{raw}");
        }
    }
}
