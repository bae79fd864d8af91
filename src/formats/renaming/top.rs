//! The `model` of a JSON object that comes in parts (FC-123): what stands there is left out as it
//! comes and the name put in its place, so no part is kept and each byte is looked at once.

use bytes::{Bytes, BytesMut};
use memchr::memchr2;

const KEY: &[u8] = b"model";

/// Where in the object the next byte stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    /// Before it.
    Start,
    /// Before a key, or its end.
    Key,
    /// In a key; so much of it is ours, `None`: it is another.
    InKey(Option<usize>),
    /// Behind a key; it is ours.
    Colon(bool),
    /// Before a value; it is ours.
    Value(bool),
    /// In the text that is left out.
    Model,
    /// In a text, below so many openings.
    Text(u32),
    /// In a value below so many openings; 0: in a number or a word, or behind it.
    Inside(u32),
    /// Behind it, or it is no object: everything is as it came.
    Over,
}

/// A body on its way.
#[derive(Clone, Debug)]
pub struct Top {
    /// As JSON.
    name: Box<str>,
    at: At,
    /// The next byte of a text is what a backslash says.
    escaped: bool,
    found: bool,
}

impl Top {
    pub(super) fn new(name: Box<str>) -> Self {
        Self { name, at: At::Start, escaped: false, found: false }
    }

    /// Whether what comes stays as it is, if no key comes twice.
    pub fn is_settled(&self) -> bool {
        self.at == At::Over || self.found && self.at != At::Model
    }

    /// The next part as the client gets it; it may be empty.
    pub fn part(&mut self, bytes: Bytes) -> Bytes {
        let mut renamed = BytesMut::new();
        // Up to here it is copied, or left out; `None`: what comes is left out.
        let mut from = (self.at != At::Model).then_some(0);
        let mut at = 0;
        while at < bytes.len() && self.at != At::Over {
            let before = self.at;
            at = self.pass(&bytes, at);
            match (before, self.at) {
                (At::Value(true), At::Model) => {
                    renamed.extend_from_slice(&bytes[from.take().unwrap_or(at)..at - 1]);
                    renamed.extend_from_slice(self.name.as_bytes());
                }
                (At::Model, At::Inside(0)) => from = Some(at),
                _ => {}
            }
        }
        match from {
            Some(from) if renamed.is_empty() => bytes.slice(from..),
            from => {
                renamed.extend_from_slice(&bytes[from.unwrap_or(bytes.len())..]);
                renamed.freeze()
            }
        }
    }

    /// Takes one byte, or a run of a text; where the next one is.
    fn pass(&mut self, bytes: &[u8], at: usize) -> usize {
        let byte = bytes[at];
        let blank = matches!(byte, b' ' | b'\n' | b'\r' | b'\t');
        self.at = match self.at {
            At::InKey(_) | At::Model | At::Text(_) => return self.pass_text(bytes, at),
            here @ (At::Start | At::Key | At::Colon(_) | At::Value(_)) if blank => here,
            At::Start if byte == b'{' => At::Key,
            At::Key if byte == b'"' => At::InKey(Some(0)),
            At::Colon(ours) if byte == b':' => At::Value(ours),
            At::Start | At::Key | At::Colon(_) | At::Over => At::Over,
            At::Value(ours) => self.value(byte, ours),
            At::Inside(0) => match byte {
                b',' => At::Key,
                b'}' => At::Over,
                _ => At::Inside(0),
            },
            At::Inside(depth) => match byte {
                b'"' => At::Text(depth),
                b'{' | b'[' => At::Inside(depth.saturating_add(1)),
                b'}' | b']' => At::Inside(depth - 1),
                _ => At::Inside(depth),
            },
        };
        at + 1
    }

    fn value(&mut self, byte: u8, ours: bool) -> At {
        match byte {
            b'"' if ours => {
                self.found = true;
                At::Model
            }
            b'"' => At::Text(0),
            b'{' | b'[' => At::Inside(1),
            _ => At::Inside(0),
        }
    }

    fn pass_text(&mut self, bytes: &[u8], at: usize) -> usize {
        if std::mem::take(&mut self.escaped) {
            return at + 1;
        }
        let run = memchr2(b'"', b'\\', &bytes[at..]).unwrap_or(bytes.len() - at);
        // Keys are compared as they are written: nobody escapes the letters of ours.
        if let At::InKey(ours) = &mut self.at {
            let text = &bytes[at..at + run];
            *ours = ours.filter(|seen| KEY[*seen..].starts_with(text)).map(|seen| seen + run);
        }
        match bytes.get(at + run) {
            None => return at + run,
            Some(b'\\') => {
                self.escaped = true;
                if let At::InKey(ours) = &mut self.at {
                    *ours = None;
                }
            }
            Some(_) => {
                self.at = match self.at {
                    At::InKey(ours) => At::Colon(ours == Some(KEY.len())),
                    At::Text(depth) => At::Inside(depth),
                    _ => At::Inside(0),
                }
            }
        }
        at + run + 1
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use policy::catalogue::Dialect;

    use super::super::Renaming;
    use super::Top;

    fn top() -> Top {
        Renaming::new("my \"best\"", Dialect::Openai).parts()
    }

    fn renamed(answer: &str, of: usize) -> String {
        let mut top = top();
        let parts = answer.as_bytes().chunks(of).map(|part| top.part(Bytes::copy_from_slice(part)));
        String::from_utf8(parts.collect::<Vec<_>>().concat()).unwrap()
    }

    /// Wherever the parts end. What stands at `@` is the name.
    #[test]
    fn fc_123_a_body_in_parts_says_the_name_that_was_asked_for_and_is_else_as_it_came() {
        for (answer, expected) in [
            (r#"{ "id":"x", "model" : "GPT-Y-2026" ,"n":1.0}"#, r#"{ "id":"x", "model" : @ ,"n":1.0}"#),
            (r#"{"a":{"model":"inner"},"model":"m"} "#, r#"{"a":{"model":"inner"},"model":@} "#),
            (
                r#"{"n":1,"t":true,"l":[{"model":"i"},"}"],"model":"m"}"#,
                r#"{"n":1,"t":true,"l":[{"model":"i"},"}"],"model":@}"#,
            ),
            (r#"{"model":null,"x":"\"model\":\"m\""}"#, r#"{"model":null,"x":"\"model\":\"m\""}"#),
            (r#"{"model":"a\"b\\","cut":[1,"#, r#"{"model":@,"cut":[1,"#),
            (r#"{"models":"a","mode":"b","model\n":"d"}"#, r#"{"models":"a","mode":"b","model\n":"d"}"#),
            (r#"{"\u006dodel":"c","":"model"}"#, r#"{"\u006dodel":"c","":"model"}"#),
            (r#"{"model":"a","model":"b"}"#, r#"{"model":@,"model":@}"#),
            (r#"{"model":"","x":{}}"#, r#"{"model":@,"x":{}}"#),
            (r#"[{"model":"m"}]"#, r#"[{"model":"m"}]"#),
            (r#"{}{"model":"m"}"#, r#"{}{"model":"m"}"#),
            ("no JSON", "no JSON"),
        ] {
            let expected = expected.replace('@', r#""my \"best\"""#);
            for of in [1, 2, 3, 7, 1_000] {
                assert_eq!(renamed(answer, of), expected, "in parts of {of}");
            }
        }
    }

    #[test]
    fn fc_123_what_comes_is_known_when_the_name_has_come_or_no_object_has() {
        for (part, expected) in [
            (r#"{"id":"x","#, false),
            (r#"{"model":"GPT"#, false),
            (r#"{"model":"GPT""#, true),
            (r#"{"model":null,"#, false),
            (r#"{"id":1}"#, true),
            ("[", true),
        ] {
            let mut top = top();
            top.part(Bytes::from_static(part.as_bytes()));
            assert_eq!(top.is_settled(), expected, "{part}");
        }
    }
}
