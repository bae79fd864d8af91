//! What a combo makes of the requests that it sends on (routing 1.1): it says something first, and it
//! lets only some tools pass.
//!
//! Both are made in the text of the body: what is not changed stays as it came, byte for byte. A body
//! that is not as its dialect has it goes as it is; its target will say what is wrong with it.

mod changes;
#[cfg(test)]
mod tests;
mod tools;

use std::ops::Range;

use bytes::Bytes;
use policy::catalogue::Dialect;

use super::fan::fields::Fields;
use changes::{Change, Changes};
pub use tools::ToolFilter;

/// What one combo changes.
#[derive(Debug, Default)]
pub struct Reshape {
    system: Option<System>,
    tools: Option<ToolFilter>,
}

/// What is said before everything else.
#[derive(Debug)]
struct System {
    /// As a JSON string, with its quotes.
    quoted: String,
    /// Bytes of the text itself.
    length: usize,
}

impl Reshape {
    /// Says a text first, and keeps the tools that fit; `None`: nothing is to be changed.
    pub fn new(system: Option<&str>, tools: Option<ToolFilter>) -> Option<Self> {
        let system = system.map(|text| System {
            quoted: serde_json::to_string(text).expect("a string is always JSON"),
            length: text.len(),
        });
        (system.is_some() || tools.is_some()).then_some(Self { system, tools })
    }

    /// Bytes of text that it adds to a request.
    pub fn adds(&self) -> usize {
        self.system.as_ref().map_or(0, |system| system.length)
    }

    /// The body as it goes on, and the place that `kept` has in it; `None`: it stays as it is.
    pub fn apply(
        &self,
        dialect: Dialect,
        body: &Bytes,
        kept: &Range<usize>,
    ) -> Option<(Bytes, Range<usize>)> {
        let fields = Fields::read(body)?;
        let mut changes = Changes::default();
        if let Some(system) = &self.system {
            system.say(dialect, body, &fields, &mut changes);
        }
        if let Some(tools) = &self.tools {
            tools.sift(body, &fields, &mut changes);
        }
        changes.make(body, kept)
    }
}

impl System {
    /// Puts it before what the client itself says there.
    fn say(&self, dialect: Dialect, body: &Bytes, fields: &Fields<'_>, changes: &mut Changes) {
        match dialect {
            Dialect::Openai => {
                for list in fields.places(body, "messages").filter(|list| body[list.start] == b'[') {
                    changes.add(first(
                        body,
                        &list,
                        format!(r#"{{"role":"system","content":{}}}"#, self.quoted),
                    ));
                }
            }
            Dialect::Anthropic => self.lead("system", body, fields, changes),
            Dialect::Responses => self.lead("instructions", body, fields, changes),
            Dialect::Gemini => {}
        }
    }

    /// Puts it at the beginning of a field that is a text, or blocks of text; adds one that is absent.
    fn lead(&self, name: &str, body: &Bytes, fields: &Fields<'_>, changes: &mut Changes) {
        let quoted = &self.quoted;
        let mut there = false;
        for own in fields.places(body, name) {
            there = true;
            let change = match &body[own.clone()] {
                [b'[', ..] => first(body, &own, format!(r#"{{"type":"text","text":{quoted}}}"#)),
                [b'"', _, _, ..] => {
                    let inside = own.start + 1;
                    let text = &quoted[1..quoted.len() - 1];
                    Change::Put(inside..inside, format!(r"{text}\n\n"))
                }
                b"null" | b"\"\"" => Change::Put(own, quoted.clone()),
                // The provider says what is wrong with it.
                _ => continue,
            };
            changes.add(change);
        }
        if !there && let Some(open) = body.iter().position(|byte| *byte == b'{') {
            // A body names its model, so there is a field behind this one.
            changes.add(Change::Put(open + 1..open + 1, format!(r#""{name}":{quoted},"#)));
        }
    }
}

/// One more value at the beginning of a list.
fn first(body: &[u8], list: &Range<usize>, value: String) -> Change {
    let inside = list.start + 1;
    let empty = body[inside..list.end - 1].iter().all(u8::is_ascii_whitespace);
    let comma = if empty { "" } else { "," };
    Change::Put(inside..inside, value + comma)
}
