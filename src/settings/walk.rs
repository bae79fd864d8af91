//! Walks a TOML document against the table of keys and fills a [`Sheet`].
//!
//! The parser recovers after a mistake, so the walk sees as much of the file as can be
//! read. Unknown keys are refused with the nearest known one; the walk never stops.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::cascade;
use super::finding::{Findings, Place, Problem};
use super::sheet::{Cell, Sheet};
use super::table::{self, Row};
use super::value::{from_toml, type_name};

/// Tables whose keys may also be written as the guide does, in camel case.
const CAMEL_CASE: &str = "connections[].provider_specific";

/// Other names of lists.
const ALSO: [(&str, &str); 1] = [("combos[].models", "combos[].targets")];

/// Reads the text of a config file.
pub(super) fn walk(text: &str, findings: &mut Findings) -> Sheet {
    let (document, errors) = DeTable::parse_recoverable(text);
    let mut walker = Walker { lines: line_starts(text), findings };
    for error in &errors {
        let line = walker.line(error.span().map_or(0, |span| span.start));
        walker.findings.syntax(line, error.message());
    }
    let mut sheet = Sheet::new(Place::Line(0));
    walker.table("", document.get_ref(), &mut sheet);
    sheet
}

fn line_starts(text: &str) -> Vec<usize> {
    let after_breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
    std::iter::once(0).chain(after_breaks.map(|(index, _)| index + 1)).collect()
}

struct Walker<'a> {
    lines: Vec<usize>,
    findings: &'a mut Findings,
}

impl Walker<'_> {
    fn line(&self, offset: usize) -> usize {
        self.lines.partition_point(|start| *start <= offset)
    }

    fn place(&self, offset: usize) -> Place {
        Place::Line(self.line(offset))
    }

    fn table(&mut self, prefix: &str, entries: &DeTable<'_>, sheet: &mut Sheet) {
        for (name, value) in entries {
            let path = join(prefix, name.get_ref());
            let at = name.span().start;
            if cascade::is_dropped(prefix, name.get_ref()) {
                continue;
            }
            if let Some(row) = table::find(&path) {
                self.leaf(row, value, at, sheet);
            } else if has_rows_below(&format!("{path}[].")) {
                self.list(&format!("{path}[]"), value, at, sheet);
            } else if has_rows_below(&format!("{path}.*.")) {
                self.named(&format!("{path}.*"), value, at, sheet);
            } else if has_rows_below(&format!("{path}.")) {
                if let Some(entries) = self.as_table(&path, value, at, "a table") {
                    self.table(&path, entries, sheet);
                }
            } else {
                self.unknown(prefix, name.get_ref(), at);
            }
        }
    }

    fn leaf(&mut self, row: &'static Row, value: &Spanned<DeValue<'_>>, at: usize, sheet: &mut Sheet) {
        let place = self.place(at);
        if sheet.is_given(row.key) {
            let problem = Problem::new("is given twice, in two spellings", "one of them");
            self.findings.refuse(&place, row.key, problem);
            return;
        }
        let mut problems = Vec::new();
        let value = from_toml(&row.kind, value, &mut problems);
        for (offset, problem) in problems {
            let place = self.place(offset);
            self.findings.refuse(&place, row.key, problem);
        }
        sheet.cells.insert(row.key, Cell { value, place });
    }

    fn list(&mut self, path: &str, value: &Spanned<DeValue<'_>>, at: usize, sheet: &mut Sheet) {
        let entries = match value.get_ref() {
            DeValue::Array(entries) => entries,
            // after a broken header the parser takes the next `[[name]]` for `[name]`
            DeValue::Table(_) if self.findings.is_broken() => {
                let entry = self.entry(path, value).into_iter().collect();
                sheet.lists.insert(path.to_owned(), entry);
                return;
            }
            other => {
                let place = self.place(at);
                self.findings.refuse(&place, path, wrong_type(other, "a list of tables"));
                return;
            }
        };
        if sheet.lists.contains_key(path) {
            let (place, key) = (self.place(at), path.trim_end_matches("[]"));
            let problem = Problem::new("is given twice, in two spellings", "one of them");
            self.findings.refuse(&place, key, problem);
            return;
        }
        let sheets = entries.iter().filter_map(|entry| self.entry(path, entry)).collect();
        sheet.lists.insert(path.to_owned(), sheets);
    }

    fn entry(&mut self, path: &str, value: &Spanned<DeValue<'_>>) -> Option<Sheet> {
        let at = value.span().start;
        let mut sheet = Sheet::new(self.place(at));
        let shorthand = table::SHORTHANDS.iter().find(|(list, _)| *list == path);
        if let (Some((_, key)), DeValue::String(_)) = (shorthand, value.get_ref()) {
            let row = table::find(key).expect("a shorthand names a row");
            self.leaf(row, value, at, &mut sheet);
            return Some(sheet);
        }
        let entries = self.as_table(path, value, at, "a table for each entry")?;
        self.table(path, entries, &mut sheet);
        self.missing(path, &sheet);
        Some(sheet)
    }

    fn missing(&mut self, path: &str, sheet: &Sheet) {
        if self.findings.is_broken() {
            return;
        }
        for row in table::table().iter().filter(|row| row.default == table::REQUIRED) {
            let own = below(row.key, path).is_some_and(|rest| !rest.contains("[]"));
            if own && !sheet.is_given(row.key) {
                let problem = Problem::new("is missing", row.kind.accepted());
                self.findings.refuse(&sheet.place, row.key, problem);
            }
        }
    }

    fn named(&mut self, path: &str, value: &Spanned<DeValue<'_>>, at: usize, sheet: &mut Sheet) {
        let Some(entries) = self.as_table(path, value, at, "a table of tables") else {
            return;
        };
        let mut named = Vec::new();
        for (name, value) in entries {
            let at = name.span().start;
            let mut inner = Sheet::new(self.place(at));
            if let Some(entries) = self.as_table(path, value, at, "a table for each name") {
                self.table(path, entries, &mut inner);
                named.push((name.get_ref().to_string(), inner));
            }
        }
        sheet.named.insert(path.to_owned(), named);
    }

    fn as_table<'v, 'i>(
        &mut self,
        path: &str,
        value: &'v Spanned<DeValue<'i>>,
        at: usize,
        accepted: &str,
    ) -> Option<&'v DeTable<'i>> {
        let found = value.get_ref().as_table();
        if found.is_none() {
            let place = self.place(at);
            self.findings.refuse(&place, path, wrong_type(value.get_ref(), accepted));
        }
        found
    }

    fn unknown(&mut self, prefix: &str, name: &str, at: usize) {
        let known = names_in(prefix);
        if let Some(why) = cascade::is_of_all_targets(prefix, name) {
            let place = self.place(at);
            let accepted = format!("{}; or the key in [settings.combo_defaults]", known.join(", "));
            return self.findings.refuse(&place, &shown(prefix, name), Problem::new(why, accepted));
        }
        let problem = match nearest(name, &known) {
            Some(near) => Problem::new(format!("unknown key; did you mean `{near}`?"), ""),
            None if known.is_empty() => Problem::new("unknown key", "no key yet"),
            None => Problem::new("unknown key", known.join(", ")),
        };
        let place = self.place(at);
        self.findings.refuse(&place, &shown(prefix, name), problem);
    }
}

fn wrong_type(value: &DeValue<'_>, accepted: &str) -> Problem {
    Problem::new(format!("is {}", type_name(value)), accepted)
}

/// The path of a key as the table spells it.
fn join(prefix: &str, name: &str) -> String {
    let name = if prefix.starts_with(CAMEL_CASE) { snake_case(name) } else { name.to_owned() };
    if name.contains(['.', '[', '*']) {
        return format!("{prefix}.{name:?}");
    }
    let path = if prefix.is_empty() { name } else { format!("{prefix}.{name}") };
    ALSO.iter().find(|(also, _)| *also == path).map_or(path, |(_, own)| (*own).to_owned())
}

/// The path of an unknown key as it was written, on one line and short: what stands
/// where a key should be may be a secret in the wrong place.
fn shown(prefix: &str, name: &str) -> String {
    const MOST: usize = 32;
    let plain = |letter: char| if letter.is_control() { ' ' } else { letter };
    let name = match name.chars().nth(MOST) {
        None => name.chars().map(plain).collect(),
        Some(_) => format!("({} characters)", name.chars().count()),
    };
    if prefix.is_empty() { name } else { format!("{prefix}.{name}") }
}

/// `rotateOn429` is `rotate_on_429`, `organizationUUID` is `organization_uuid`.
fn snake_case(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 4);
    let mut before = '_';
    for letter in name.chars() {
        let begins = letter.is_ascii_uppercase() && !before.is_ascii_uppercase();
        if before != '_' && (begins || letter.is_ascii_digit() && before.is_ascii_alphabetic()) {
            out.push('_');
        }
        out.push(letter.to_ascii_lowercase());
        before = letter;
    }
    out
}

fn below<'k>(key: &'k str, path: &str) -> Option<&'k str> {
    if path.is_empty() {
        return Some(key);
    }
    key.strip_prefix(path)?.strip_prefix('.')
}

fn has_rows_below(start: &str) -> bool {
    table::table().iter().any(|row| row.key.starts_with(start))
}

/// The keys that a table may have, in the order of the reference file.
fn names_in(prefix: &str) -> Vec<&'static str> {
    let mut names = Vec::new();
    let keys = table::table().iter().filter_map(|row| below(row.key, prefix));
    for key in keys {
        let name = key.split(['.', '[']).next().unwrap_or(key);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// The most similar known name, if it is similar enough for a slip.
fn nearest<'k>(name: &str, known: &[&'k str]) -> Option<&'k str> {
    if name.len() > 64 {
        return None;
    }
    let near = known.iter().map(|other| (distance(name, other), *other)).min()?;
    let most = (near.1.len() / 3).clamp(1, 3);
    (near.0 <= most).then_some(near.1)
}

/// Edits (insert, drop, replace) between two names.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (index, letter) in left.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = index + 1;
        for (column, other) in right.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != *other);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(row[column] + 1).min(diagonal + 1);
        }
    }
    row[right.len()]
}
