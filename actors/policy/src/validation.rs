//! What a combo expects of an answer besides that there is one (routing 1.3, 7.9): texts that
//! must or must not stand in it, a least length, and what lies at a path of its JSON.
//!
//! Values only. Where an answer keeps its text is the business of its dialect.

use std::fmt;

use serde_json::Value;

/// What a combo expects of an answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Validation {
    /// None of these stands in the text.
    pub forbidden: Vec<String>,
    /// Each of these does.
    pub required: Vec<String>,
    /// The text has so many characters.
    pub min_length: usize,
    /// Each of these holds for the JSON.
    pub predicates: Vec<Predicate>,
}

/// What must be at a place of the answer's JSON.
#[derive(Clone, Debug, PartialEq)]
pub struct Predicate {
    /// The place.
    pub path: Path,
    /// What must be there.
    pub test: Test,
}

/// What must be at a place.
#[derive(Clone, Debug, PartialEq)]
pub enum Test {
    /// Anything, null too.
    Exists,
    /// Something: no null, empty text, list or object.
    NonEmpty,
    /// This value.
    Equals(Value),
    /// Anything else, or nothing.
    NotEquals(Value),
}

/// A place in JSON: `$.choices[0].message.content`. `$` may be left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path(Vec<Step>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Name(String),
    Index(usize),
}

/// Which expectation an answer breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Breach {
    /// The n-th forbidden text stands in it.
    Forbidden(usize),
    /// The n-th required text does not.
    Required(usize),
    /// It is shorter than the least length.
    TooShort,
    /// The n-th predicate does not hold.
    Predicate(usize),
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Forbidden(index) => write!(f, "forbidden_substrings[{index}]"),
            Self::Required(index) => write!(f, "required_substrings[{index}]"),
            Self::TooShort => f.write_str("min_content_length"),
            Self::Predicate(index) => write!(f, "json_path_predicates[{index}]"),
        }
    }
}

impl Validation {
    /// Nothing is expected.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// A text that must not be there; enough for the opening part of a stream.
    pub fn forbids(&self, text: &str) -> Option<Breach> {
        let found = self.forbidden.iter().position(|forbidden| text.contains(forbidden));
        found.map(Breach::Forbidden)
    }

    /// What a whole text breaks.
    pub fn of_text(&self, text: &str) -> Option<Breach> {
        let missing = || self.required.iter().position(|required| !text.contains(required));
        let short =
            || (text.chars().take(self.min_length).count() < self.min_length).then_some(Breach::TooShort);
        self.forbids(text).or_else(|| missing().map(Breach::Required)).or_else(short)
    }

    /// What the JSON breaks.
    pub fn of_json(&self, json: &Value) -> Option<Breach> {
        self.predicates.iter().position(|predicate| !predicate.holds(json)).map(Breach::Predicate)
    }
}

impl Predicate {
    fn holds(&self, json: &Value) -> bool {
        let found = self.path.find(json);
        match &self.test {
            Test::Exists => found.is_some(),
            Test::NonEmpty => found.is_some_and(is_something),
            Test::Equals(value) => found.is_some_and(|found| is_equal(found, value)),
            Test::NotEquals(value) => !found.is_some_and(|found| is_equal(found, value)),
        }
    }
}

fn is_something(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        Value::Bool(_) | Value::Number(_) => true,
    }
}

/// 1 is 1.0.
fn is_equal(one: &Value, other: &Value) -> bool {
    match (one.as_f64(), other.as_f64()) {
        (Some(one), Some(other)) => one == other,
        _ => one == other,
    }
}

impl Path {
    /// Reads `$.a.b[0]["c d"]`; `None`: it is no path.
    pub fn parse(text: &str) -> Option<Self> {
        let mut steps = Vec::new();
        let mut rest = text.strip_prefix('$').unwrap_or(text);
        if rest.is_empty() {
            return None;
        }
        let mut first = rest.len() == text.len();
        while !rest.is_empty() {
            let (step, after) = match rest.strip_prefix('[') {
                Some(inner) => bracket(inner)?,
                None if first => name(rest)?,
                None => name(rest.strip_prefix('.')?)?,
            };
            steps.push(step);
            rest = after;
            first = false;
        }
        Some(Self(steps))
    }

    /// What is there.
    pub fn find<'v>(&self, json: &'v Value) -> Option<&'v Value> {
        self.0.iter().try_fold(json, |value, step| match step {
            Step::Name(name) => value.get(name),
            Step::Index(index) => value.get(index),
        })
    }
}

/// `name` before the next step.
fn name(text: &str) -> Option<(Step, &str)> {
    let end = text.find(['.', '[']).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let plain = !name.is_empty()
        && !name.contains(|letter: char| letter.is_whitespace() || "]*?$\"'".contains(letter));
    plain.then(|| (Step::Name(name.to_owned()), rest))
}

/// `0]` or `"name"]`, behind the bracket.
fn bracket(text: &str) -> Option<(Step, &str)> {
    for quote in ['"', '\''] {
        if let Some(inner) = text.strip_prefix(quote) {
            let (name, rest) = inner.split_once(quote)?;
            return Some((Step::Name(name.to_owned()), rest.strip_prefix(']')?));
        }
    }
    let (number, rest) = text.split_once(']')?;
    Some((Step::Index(number.parse().ok()?), rest))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Breach, Path, Predicate, Test, Validation};

    fn predicate(path: &str, test: Test) -> Validation {
        let path = Path::parse(path).expect("a path");
        Validation { predicates: vec![Predicate { path, test }], ..Validation::default() }
    }

    #[test]
    fn routing_7_9_texts_are_forbidden_required_and_long_enough() {
        let rules = Validation {
            forbidden: vec!["As an AI".into(), "sorry".into()],
            required: vec!["a".into(), "Z".into()],
            min_length: 4,
            ..Validation::default()
        };
        for (text, breach) in [
            ("abcZ", None),
            ("aZéé", None),
            ("aZé", Some(Breach::TooShort)),
            ("abcz", Some(Breach::Required(1))),
            ("Z", Some(Breach::Required(0))),
            ("", Some(Breach::Required(0))),
            ("aZ, sorry", Some(Breach::Forbidden(1))),
            ("aZ, Sorry", None),
            ("As an AI", Some(Breach::Forbidden(0))),
        ] {
            assert_eq!(rules.of_text(text), breach, "{text}");
        }
        assert_eq!(rules.forbids("so far so"), None, "what is missing may still come");
        assert_eq!(rules.forbids("sorry"), Some(Breach::Forbidden(1)));
        assert!(!rules.is_empty() && Validation::default().is_empty());
        assert_eq!(Validation::default().of_text(""), None);
    }

    #[test]
    fn routing_7_9_predicates_look_at_one_place() {
        let json = json!({"a": {"b": [{"c d": "x"}, null, "", [], {}, 0, false]}, "n": 1});
        for (path, exists, non_empty) in [
            ("$.a", true, true),
            ("a.b", true, true),
            ("$.a.b[0]", true, true),
            ("$['a'].b[0][\"c d\"]", true, true),
            ("a.b[1]", true, false),
            ("a.b[2]", true, false),
            ("a.b[3]", true, false),
            ("a.b[4]", true, false),
            ("a.b[5]", true, true),
            ("a.b[6]", true, true),
            ("a.b[7]", false, false),
            ("a.b.c", false, false),
            ("n[0]", false, false),
            ("z", false, false),
        ] {
            let holds = |test| predicate(path, test).of_json(&json).is_none();
            assert_eq!((holds(Test::Exists), holds(Test::NonEmpty)), (exists, non_empty), "{path}");
        }
        let equal = |path: &str, value: Value| {
            let holds = |test| predicate(path, test).of_json(&json).is_none();
            (holds(Test::Equals(value.clone())), holds(Test::NotEquals(value)))
        };
        assert_eq!(equal("n", json!(1.0)), (true, false));
        assert_eq!(equal("n", json!("1")), (false, true));
        assert_eq!(equal("a.b[0].c", json!(null)), (false, true), "what is not there is not equal");
        assert_eq!(equal("a.b[1]", json!(null)), (true, false));
        let two = Validation {
            predicates: ["n", "z"].map(|path| predicate(path, Test::Exists).predicates.remove(0)).into(),
            ..Validation::default()
        };
        assert_eq!(two.of_json(&json), Some(Breach::Predicate(1)));
        assert_eq!(Breach::Predicate(1).to_string(), "json_path_predicates[1]");
    }

    #[test]
    fn what_is_no_path_is_refused() {
        for text in [
            "", "$", ".a", "a.", "a..b", "a[", "a[x]", "a[-1]", "a[0", "a b", "$..a", "$.*", "a[\"b]", "$a",
            "a]",
        ] {
            assert_eq!(Path::parse(text), None, "{text}");
        }
    }
}
