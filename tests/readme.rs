//! README's tables are compared with the code they describe: a table that drifts fails
//! here, with the text that would be right.

use policy::strategy::STRATEGIES;
use switchtower::demo::behaviours;
use switchtower::http::errors::Code;

fn block(name: &str) -> String {
    let readme = include_str!("../README.md");
    let start = readme.find(&format!("<!-- {name}:")).expect("README has the block");
    let body = readme[start..].split_once("-->\n").expect("the comment is closed").1;
    body.split_once("<!-- end -->").expect("the block is closed").0.to_owned()
}

#[test]
fn every_error_code_is_in_the_table_and_no_other() {
    let rows: String = Code::ALL
        .iter()
        .map(|code| format!("| `{}` | {} | {} |\n", code.as_str(), code.status(), code.meaning()))
        .collect();
    assert_eq!(block("codes"), format!("| `error.code` | status | means |\n|---|---|---|\n{rows}"));
}

#[test]
fn every_strategy_is_in_the_table_and_no_other() {
    let rows: String = STRATEGIES
        .iter()
        .map(|strategy| format!("| `{}` | {} |\n", strategy.name(), strategy.doc_short()))
        .collect();
    assert_eq!(block("strategies"), format!("| name | orders targets by |\n|---|---|\n{rows}"));
}

#[test]
fn every_behaviour_is_in_the_table_and_no_other() {
    let rows: String =
        behaviours().iter().map(|(name, meaning)| format!("| `{name}` | {meaning} |\n")).collect();
    assert_eq!(block("behaviours"), format!("| model | the upstream |\n|---|---|\n{rows}"));
}

#[test]
fn every_linked_file_exists() {
    let readme = include_str!("../README.md");
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut links = 0;
    for link in readme.split("](").skip(1) {
        let target = link.split(')').next().expect("split has a first part");
        if !target.contains("://") {
            assert!(root.join(target).exists(), "README links to {target}, which does not exist");
            links += 1;
        }
    }
    assert!(links > 10, "the route of a request is shown with links");
}
