//! Which tools pass (routing 1.1): those whose names an expression finds itself in.

use std::ops::Range;

use bytes::Bytes;
use regex_lite::{Regex, RegexBuilder};
use serde_json::Value;
use serde_json::value::RawValue;

use super::changes::{Change, Changes};
use crate::formats::edit::span_of;
use crate::formats::fan::fields::Fields;

/// Bytes that an expression may become: one that repeats without end is refused, not kept.
const LARGEST: usize = 256 * 1024;

/// Lists of tools, the field that chooses among them, and what means nothing without them.
const LISTS: [(&str, &str, &[&str]); 2] =
    [("tools", "tool_choice", &["parallel_tool_calls"]), ("functions", "function_call", &[])];

/// Keeps the tools whose names fit.
#[derive(Clone, Debug)]
pub struct ToolFilter(Regex);

impl ToolFilter {
    /// Reads an expression; it is looked for anywhere in a name. The error says what is wrong with it.
    pub fn new(expression: &str) -> Result<Self, String> {
        let built = RegexBuilder::new(expression).size_limit(LARGEST).build();
        built.map(Self).map_err(|error| error.to_string())
    }

    /// Takes out what does not fit. A choice that names such a tool goes, and so does everything that
    /// means nothing when no tool is left.
    pub(super) fn sift(&self, body: &Bytes, fields: &Fields<'_>, changes: &mut Changes) {
        for (list, choice, others) in LISTS {
            let (mut gone, mut left) = (Vec::new(), 0);
            for place in fields.places(body, list) {
                left += self.sift_list(body, &place, &mut gone, changes);
            }
            if gone.is_empty() {
                continue;
            }
            let dropped = |place: &Range<usize>| left == 0 || chooses_one(&body[place.clone()], &gone);
            fields.places(body, choice).filter(dropped).for_each(|place| changes.add(Change::Drop(place)));
            for other in others.iter().filter(|_| left == 0) {
                fields.places(body, other).for_each(|place| changes.add(Change::Drop(place)));
            }
        }
    }

    /// The names of those that go, and how many stay.
    fn sift_list(
        &self,
        body: &Bytes,
        place: &Range<usize>,
        gone: &mut Vec<String>,
        changes: &mut Changes,
    ) -> usize {
        let listed = serde_json::from_slice::<Vec<&RawValue>>(&body[place.clone()]).unwrap_or_default();
        let mut left = Vec::with_capacity(listed.len());
        for tool in &listed {
            let unfit = |name: &String| !self.0.is_match(name);
            let unfit: Vec<String> = names_of(tool.get()).into_iter().filter(unfit).collect();
            match unfit.is_empty() {
                true => left.push(tool.get()),
                false => gone.extend(unfit),
            }
        }
        let (Some(first), Some(last)) = (listed.first(), listed.last()) else { return 0 };
        if left.is_empty() {
            changes.add(Change::Drop(place.clone()));
        } else if left.len() < listed.len() {
            let all = span_of(body, first).start..span_of(body, last).end;
            changes.add(Change::Put(all, left.join(",")));
        }
        left.len()
    }
}

/// All names of a tool that is to be called, in whatever dialect: of several nobody knows which one
/// the upstream takes. Nothing else of it is read, so what is written there hides no name.
fn names_of(tool: &str) -> Vec<String> {
    let Some(fields) = Fields::read(tool.as_bytes()) else { return Vec::new() };
    let inner = ["function", "custom"].map(|name| fields.raws(name).filter_map(object).collect::<Vec<_>>());
    let inner = inner.iter().flatten().flat_map(|inner| inner.raws("name"));
    let names: Vec<String> = fields.raws("name").chain(inner).filter_map(text).collect();
    if names.is_empty() { fields.raws("type").filter_map(text).collect() } else { names }
}

fn object(raw: &str) -> Option<Fields<'_>> {
    Fields::read(raw.as_bytes())
}

/// A text; one that stands for no text is taken as it is written.
fn text(raw: &str) -> Option<String> {
    let inside = raw.strip_prefix('"')?.strip_suffix('"')?;
    Some(serde_json::from_str(raw).unwrap_or_else(|_| inside.to_owned()))
}

/// What a choice calls a tool, wherever its dialect says so; one that the provider itself has is called
/// by its type.
fn name_of(tool: &Value) -> Option<&str> {
    let places = [&tool["name"], &tool["function"]["name"], &tool["custom"]["name"], &tool["type"]];
    places.into_iter().find_map(Value::as_str)
}

/// Whether a choice names one of these tools, also among several that it allows.
fn chooses_one(choice: &[u8], gone: &[String]) -> bool {
    serde_json::from_slice(choice).is_ok_and(|choice: Value| names_one(&choice, gone))
}

fn names_one(choice: &Value, gone: &[String]) -> bool {
    let is_gone = name_of(choice).is_some_and(|name| gone.iter().any(|gone| gone == name));
    let among = [&choice["tools"], &choice["allowed_tools"]["tools"]];
    let mut allowed = among.into_iter().filter_map(Value::as_array).flatten();
    is_gone || allowed.any(|choice| names_one(choice, gone))
}
