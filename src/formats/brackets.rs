//! Whether a JSON value that comes in parts is closed (decision 9a): what is too long to be kept
//! and parsed may still be cut where HTTP sees no cut.

use memchr::memchr2;

/// The brackets and quotes of a value on its way.
#[derive(Clone, Copy, Debug, Default)]
pub struct Brackets {
    begun: bool,
    /// Openings that are not closed.
    depth: u32,
    in_text: bool,
    /// The next byte of a text is what a backslash says.
    escaped: bool,
}

impl Brackets {
    /// The next part.
    pub fn see(&mut self, part: &[u8]) {
        let mut rest = part;
        while let Some((&byte, behind)) = rest.split_first() {
            if self.in_text {
                rest = self.pass_text(rest);
                continue;
            }
            match byte {
                b'"' => self.in_text = true,
                b'{' | b'[' => self.depth = self.depth.saturating_add(1),
                b'}' | b']' => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
            self.begun |= !byte.is_ascii_whitespace();
            rest = behind;
        }
    }

    /// All that was opened is closed.
    pub fn are_closed(&self) -> bool {
        self.begun && self.depth == 0 && !self.in_text
    }

    fn pass_text<'a>(&mut self, rest: &'a [u8]) -> &'a [u8] {
        if std::mem::take(&mut self.escaped) {
            return &rest[1..];
        }
        let Some(at) = memchr2(b'"', b'\\', rest) else { return &[] };
        self.in_text = rest[at] != b'"';
        self.escaped = self.in_text;
        &rest[at + 1..]
    }
}

#[cfg(test)]
mod tests {
    use super::Brackets;

    #[test]
    fn decision_9a_a_value_is_closed_with_its_last_byte_wherever_the_parts_end() {
        for json in [r#"{"a":"b}\"]\\","c":[{},[1,"{"]],"d":"\u00e9"}"#, r#"["x"]"#, r#""a\"b""#] {
            for of in [1, 2, 3, json.len()] {
                let mut brackets = Brackets::default();
                let mut seen = 0;
                for part in json.as_bytes().chunks(of) {
                    assert!(!brackets.are_closed(), "{json} at {seen}");
                    brackets.see(part);
                    seen += part.len();
                }
                assert!(brackets.are_closed(), "{json} in parts of {of}");
                brackets.see(b" \n");
                assert!(brackets.are_closed(), "{json} and blanks");
            }
        }
    }

    #[test]
    fn blanks_are_no_value() {
        let mut brackets = Brackets::default();
        brackets.see(b" \r\n\t");
        assert!(!brackets.are_closed());
    }
}
