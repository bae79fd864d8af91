//! `response_validation` of a combo: texts are texts, paths lead somewhere, and a predicate has
//! the value it compares with (routing 1.3, 7.9).

use policy::validation::{Path, Predicate, Test, Validation};

use super::Context;
use crate::settings::sheet::Sheet;

const PREDICATES: &str = "combos[].config.response_validation.json_path_predicates[]";
const PATH: &str = "combos[].config.response_validation.json_path_predicates[].path";
const OP: &str = "combos[].config.response_validation.json_path_predicates[].op";
const VALUE: &str = "combos[].config.response_validation.json_path_predicates[].value";
/// Routing 1.3.
const MOST: usize = 20;

/// Reads what a combo expects.
pub(super) fn read(context: &mut Context<'_>, sheet: &Sheet) -> Validation {
    let key = |name: &str| format!("combos[].config.response_validation.{name}");
    let predicates = sheet.list(PREDICATES);
    if predicates.len() > MOST {
        let problem = format!("holds {} predicates", predicates.len());
        context.refuse(&predicates[MOST], PREDICATES, &problem, "at most 20");
    }
    Validation {
        forbidden: sheet.texts(&key("forbidden_substrings")),
        required: sheet.texts(&key("required_substrings")),
        min_length: sheet.amount(&key("min_content_length")),
        predicates: predicates.iter().filter_map(|entry| predicate(context, entry)).collect(),
    }
}

fn predicate(context: &mut Context<'_>, sheet: &Sheet) -> Option<Predicate> {
    let path = Path::parse(&sheet.text(PATH)?);
    if path.is_none() {
        context.refuse(sheet, PATH, "is no path", "for example \"$.choices[0].message.content\"");
    }
    let op = sheet.text(OP)?;
    let compares = op.ends_with("quals");
    let value = sheet.data(VALUE);
    if compares != sheet.is_given(VALUE) {
        let (problem, accepted) = match compares {
            true => ("is missing", "the value to compare with"),
            false => ("is not looked at", "a value only for equals and notEquals"),
        };
        context.refuse(sheet, VALUE, problem, accepted);
    }
    let test = match op.as_str() {
        "exists" => Test::Exists,
        "nonEmpty" => Test::NonEmpty,
        "equals" => Test::Equals(value?),
        _ => Test::NotEquals(value?),
    };
    Some(Predicate { path: path?, test })
}
