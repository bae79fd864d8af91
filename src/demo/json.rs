//! JSON strings inside hand-written JSON.
//!
//! Answers are templates with a few values in them; writing those directly keeps the hot path free
//! of a serializer and the shape of an answer visible as it goes over the wire.

use std::fmt;

/// Shows a text as a JSON string, quotes included.
pub(super) struct Quoted<'a>(pub(super) &'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("\"")?;
        let mut rest = self.0;
        while let Some(at) = rest.find(|c: char| c < ' ' || c == '"' || c == '\\') {
            out.write_str(&rest[..at])?;
            match rest.as_bytes()[at] {
                special @ (b'"' | b'\\') => write!(out, "\\{}", char::from(special))?,
                control => write!(out, "\\u{control:04x}")?,
            }
            rest = &rest[at + 1..];
        }
        out.write_str(rest)?;
        out.write_str("\"")
    }
}

#[cfg(test)]
mod tests {
    use super::Quoted;

    #[test]
    fn any_text_reads_back() {
        for text in ["", "plain", "a\"b\\c", "\n\t\u{1}\u{7f}", "grüße 東京 \u{1f600}", "\"", "end\\"] {
            let read: String = serde_json::from_str(&Quoted(text).to_string()).expect("valid JSON");
            assert_eq!(read, text);
        }
    }
}
