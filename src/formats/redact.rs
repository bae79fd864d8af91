//! What an upstream wrote, made fit to show: our credential is taken out of it, and a
//! page that is not JSON becomes a short text (decision 9b).

use bytes::Bytes;

/// What stands where a secret stood.
const REDACTED: &[u8] = b"[redacted]";
/// Characters kept of a body that is not JSON.
const LONGEST_TEXT: usize = 300;

/// Secrets below this length are left: they would match by chance.
const SHORTEST: usize = 8;

/// `secret` stands in the text, as it is or with JSON's escapes.
pub fn holds(text: &[u8], secret: &str) -> bool {
    let secret = secret.as_bytes();
    secret.len() >= SHORTEST && (0..text.len()).any(|at| length_at(&text[at..], secret).is_some())
}

/// How long the secret is where the text begins with it: a byte may be escaped (`\/`, `\u002f`).
fn length_at(text: &[u8], secret: &[u8]) -> Option<usize> {
    let mut at = 0;
    for byte in secret {
        at += match &text[at..] {
            [plain, ..] if plain == byte => 1,
            [b'\\', b'u', b'0', b'0', high, low, ..] if is_hex_of(*byte, *high, *low) => 6,
            [b'\\', escaped, ..] if escaped == byte => 2,
            _ => return None,
        };
    }
    Some(at)
}

fn is_hex_of(byte: u8, high: u8, low: u8) -> bool {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let pair = digit(high).zip(digit(low)).map(|(high, low)| high * 16 + low);
    pair == Some(u32::from(byte))
}

/// The body without `secret`.
pub fn without(body: Bytes, secret: &str) -> Bytes {
    if !holds(&body, secret) {
        return body;
    }
    let secret = secret.as_bytes();
    let mut clean = Vec::with_capacity(body.len());
    let mut rest = &body[..];
    while !rest.is_empty() {
        match length_at(rest, secret) {
            Some(length) => {
                clean.extend_from_slice(REDACTED);
                rest = &rest[length..];
            }
            None => {
                clean.push(rest[0]);
                rest = &rest[1..];
            }
        }
    }
    clean.into()
}

/// The readable text of a page: tags and runs of blanks removed, at most 300 characters.
pub fn text_of(body: &[u8]) -> String {
    let page = String::from_utf8_lossy(body);
    let mut text = String::new();
    let mut in_tag = false;
    for character in page.chars() {
        match character {
            '<' => in_tag = true,
            '>' => {
                in_tag = false;
                text.push(' ');
            }
            _ if in_tag => {}
            other if other.is_control() => text.push(' '),
            other => text.push(other),
        }
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").chars().take(LONGEST_TEXT).collect()
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::{holds, text_of, without};

    #[test]
    fn fc_042_an_echoed_key_is_taken_out() {
        let body = Bytes::from_static(b"bad key sk-CANARY-1234 (sk-CANARY-1234)");
        assert_eq!(without(body.clone(), "sk-CANARY-1234"), "bad key [redacted] ([redacted])");
        assert_eq!(without(body.clone(), "other-secret"), body);
    }

    #[test]
    fn fc_042_an_escaped_key_is_the_same_key() {
        let secret = "sk-CANARY/abc/def+0123";
        for echoed in [r"sk-CANARY\/abc\/def+0123", r"sk\u002dCANARY\u002Fabc/def\u002b0123"] {
            let body = Bytes::from(format!("{{\"e\":\"bad {echoed}!\"}}"));
            assert!(holds(&body, secret), "{echoed}");
            assert_eq!(without(body, secret), r#"{"e":"bad [redacted]!"}"#, "{echoed}");
        }
        let short = Bytes::from_static(br"sk-CANARY\/abc\/def+012");
        assert_eq!(without(short.clone(), secret), short);
    }

    #[test]
    fn a_page_becomes_a_short_text() {
        assert_eq!(text_of(b"<html><h1>502 Bad\n Gateway</h1></html>"), "502 Bad Gateway");
        assert_eq!(text_of("x".repeat(400).as_bytes()).len(), 300);
    }
}
