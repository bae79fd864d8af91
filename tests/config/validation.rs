//! `response_validation` of combos: bounds, paths and what each predicate needs (routing 1.3).

use policy::validation::{Path, Predicate, Test, Validation};
use serde_json::json;
use switchtower::app::blueprint;

use crate::support::{check, combo, settings};

fn with(lines: &str) -> String {
    combo("[\"p/m\"]") + "[combos.config.response_validation]\n" + lines
}

fn predicates(count: usize) -> String {
    with(&format!("json_path_predicates = [{}]", "{ path = \"a\", op = \"exists\" },\n".repeat(count)))
}

#[test]
fn a_combo_expects_what_is_written_and_by_itself_nothing() {
    let read = |text: &str| settings(text).combos.remove(0).config.response_validation;
    assert_eq!(read(&combo("[\"p/m\"]")), Validation::default());
    let lines = "forbidden_substrings = [\"a,b\", \" \"]\nrequired_substrings = [\"c\"]\nmin_content_length = 7\n\
        json_path_predicates = [{ path = \"$.a[0]\", op = \"exists\" }, { path = \"b\", op = \"nonEmpty\" },\n\
        { path = \"c\", op = \"equals\", value = 5 }, { path = \"d\", op = \"notEquals\", value = \"x\" }]";
    let tests = [Test::Exists, Test::NonEmpty, Test::Equals(json!(5)), Test::NotEquals(json!("x"))];
    let wanted = Validation {
        forbidden: vec!["a,b".into(), " ".into()],
        required: vec!["c".into()],
        min_length: 7,
        predicates: ["$.a[0]", "b", "c", "d"]
            .into_iter()
            .zip(tests)
            .map(|(path, test)| Predicate { path: Path::parse(path).unwrap(), test })
            .collect(),
    };
    assert_eq!(read(&with(lines)), wanted);
    assert_eq!(read(&predicates(20)).predicates.len(), 20);
}

#[test]
fn routing_1_3_the_bounds_of_what_may_be_expected() {
    const KEY: &str = "combos[].config.response_validation";
    let texts = |count: usize| (0..count).map(|n| format!("\"t{n}\",")).collect::<String>();
    let list = |name: &str, count| with(&format!("{name} = [{}]", texts(count)));
    settings(&list("forbidden_substrings", 50));
    let key = |name: &str| format!("{KEY}.{name}");
    let one = |entry: &str| with(&format!("json_path_predicates = [{entry}]"));
    check(&[
        (
            &list("forbidden_substrings", 51),
            15,
            &key("forbidden_substrings"),
            "holds 51 texts, accepted: a list of at most 50",
        ),
        (&list("required_substrings", 51), 15, &key("required_substrings"), "holds 51 texts"),
        (&with("required_substrings = [\"\"]"), 15, &key("required_substrings"), "1 to 1000 characters"),
        (&with("min_content_length = 1000001"), 15, &key("min_content_length"), "from 0 to 1000000"),
        (&predicates(21), 35, &key("json_path_predicates[]"), "holds 21 predicates"),
        (&one("{ path = \"$..a\", op = \"exists\" }"), 15, &key("json_path_predicates[].path"), "is no path"),
        (&one("{ path = \"a\", op = \"like\" }"), 15, &key("json_path_predicates[].op"), "exists | nonEmpty"),
        (&one("{ op = \"exists\" }"), 15, &key("json_path_predicates[].path"), "is missing"),
        (&one("{ path = \"a\", op = \"equals\" }"), 15, &key("json_path_predicates[].value"), "is missing"),
        (
            &one("{ path = \"a\", op = \"exists\", value = 1 }"),
            15,
            &key("json_path_predicates[].value"),
            "not looked at",
        ),
        (
            &one("{ path = \"a\", op = \"equals\", value = [1] }"),
            15,
            &key("json_path_predicates[].value"),
            "a text, a number",
        ),
    ]);
}

#[test]
fn what_is_written_is_what_the_plans_are_made_with() {
    let made = |text: &str| blueprint(&settings(text), "salt").catalogue.combos["m"].validation.clone();
    assert_eq!(made(&combo("[\"p/m\"]")), None, "no rules cost nothing");
    assert_eq!(made(&with("min_content_length = 7")).map(|rules| rules.min_length), Some(7));
}
