//! Environment variables over the file.
//!
//! `SWITCHTOWER__SECTION__KEY` sets any key of a section and must be right. The
//! guide's own names are weaker, and one that is no number in bounds is ignored.

use super::finding::{Finding, Findings, Place, Problem};
use super::kind::Kind;
use super::sheet::{Cell, Sheet};
use super::table::{self, Row};
use super::value::{self, Value};

/// Of the guide's variables one is stronger than what is stored, and so than all others (flow 4.1).
pub(super) const BEATS_STORED: &str = "RATE_LIMIT_AUTO_ENABLE";

/// The limit of a whole request, and who follows it when it has no variable of its own (flow 6.1).
const FOR_ALL: &str = "REQUEST_TIMEOUT_MS";
const FOLLOW: [&str; 3] = ["FETCH_TIMEOUT_MS", "STREAM_READINESS_TIMEOUT_MS", "STREAM_IDLE_TIMEOUT_MS"];

/// Looks up the variables of every row and lays what is set over the sheet.
pub(super) fn overlay(sheet: &mut Sheet, env: &dyn Fn(&str) -> Option<String>, findings: &mut Findings) {
    for row in table::table() {
        let Some(name) = row.variable() else { continue };
        let own_text = env(&name);
        let is_set = own_text.is_some();
        if let Some(text) = own_text {
            own(row, name, &text, sheet, findings);
        }
        if let Some(name) = row.env.filter(|name| !is_set || *name == BEATS_STORED)
            && let Some(text) = env(name).or_else(|| env(FOR_ALL).filter(|_| FOLLOW.contains(&name)))
        {
            guides(row, name, &text, sheet, findings);
        }
    }
}

/// Variables that look like settings and are none: like unknown keys they are refused, not ignored.
pub fn unknown_variables(names: impl Iterator<Item = String>) -> Vec<Finding> {
    let known: Vec<String> = table::table().iter().filter_map(Row::variable).collect();
    let mut unknown: Vec<String> =
        names.filter(|name| name.starts_with("SWITCHTOWER__") && !known.contains(name)).collect();
    unknown.sort_unstable();
    let finding = |name: String| Finding {
        file: format!("env {name}"),
        line: 0,
        key: name,
        problem: "no key of a section has this variable".into(),
        accepted: "SWITCHTOWER__SECTION__KEY, see `switchtower settings` for the keys".into(),
        warning: false,
    };
    unknown.into_iter().map(finding).collect()
}

fn own(row: &'static Row, name: String, text: &str, sheet: &mut Sheet, findings: &mut Findings) {
    let place = Place::Env(name);
    match value::from_text(&row.kind, text) {
        Ok(value) => {
            sheet.cells.insert(row.key, Cell { value: Some(value), place });
        }
        Err(problem) => findings.refuse(&place, row.key, problem),
    }
}

fn guides(row: &'static Row, name: &str, text: &str, sheet: &mut Sheet, findings: &mut Findings) {
    if text.trim().is_empty() {
        return;
    }
    let place = Place::Env(name.to_owned());
    match of_the_guide(row, name, text) {
        Some(value) => {
            sheet.cells.insert(row.key, Cell { value: Some(value), place });
        }
        None => {
            let problem = Problem::new("is ignored", row.kind.accepted());
            findings.warn(&place, row.key, problem);
        }
    }
}

fn of_the_guide(row: &Row, name: &str, text: &str) -> Option<Value> {
    match row.kind {
        Kind::Flag => flag(name, text).map(Value::Flag),
        // These are clamped (flow 4.1.2); every other one is right or ignored.
        Kind::Millis(_, high) | Kind::Whole(_, high) if name.starts_with("RATE_LIMIT_") => {
            whole_number(&row.kind, text, high)
        }
        Kind::Span(..) => milliseconds(&row.kind, text),
        kind => whole_number(&kind, text, u64::MAX),
    }
}

/// The guide's flags differ in what they understand (core 6.4, flow 5.3).
fn flag(name: &str, text: &str) -> Option<bool> {
    let text = text.trim().to_ascii_lowercase();
    let on = matches!(text.as_str(), "true" | "1" | "on");
    match (name, text.as_str()) {
        _ if on => Some(true),
        ("PROVIDER_COOLDOWN_ENABLED" | "QUOTA_PREFLIGHT_CUTOFF_ENABLED", _) => Some(false),
        (_, "false" | "0" | "off") => Some(false),
        (BEATS_STORED, _) => None,
        (_, "yes") => Some(true),
        (_, "no") => Some(false),
        _ => None,
    }
}

/// A number that is not negative, truncated, at most `high`, within the bounds of the kind.
fn whole_number(kind: &Kind, text: &str, high: u64) -> Option<Value> {
    let number = positive(text)?;
    value::from_text(kind, &format!("{:.0}", number.trunc().min(high as f64))).ok()
}

/// The guide writes durations as milliseconds.
fn milliseconds(kind: &Kind, text: &str) -> Option<Value> {
    let number = positive(text)?;
    value::from_text(kind, &format!("{:.0}ms", number.trunc())).ok()
}

fn positive(text: &str) -> Option<f64> {
    let number: f64 = text.trim().parse().ok()?;
    (number.is_finite() && number >= 0.0).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::unknown_variables;

    #[test]
    fn a_variable_that_no_key_has_is_a_finding() {
        let names = [
            "SWITCHTOWER__SERVER__REQUIRE_API_KEYS",
            "SWITCHTOWER__SERVER__LISTEN",
            "SWITCHTOWER_ADMIN_TOKEN",
        ];
        let found = unknown_variables(names.into_iter().map(str::to_owned));
        let keys: Vec<&str> = found.iter().map(|finding| finding.key.as_str()).collect();
        assert_eq!(keys, ["SWITCHTOWER__SERVER__REQUIRE_API_KEYS"]);
    }
}
