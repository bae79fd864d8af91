//! README's tables are compared with the code they describe: a table that drifts fails
//! here, with the text that would be right; `REWRITE_README=1 cargo test --test readme` puts it there.

use std::ops::Range;
use std::sync::Mutex;

use policy::account;
use policy::strategy::{STRATEGIES, Strategy};
use policy::verdict::{self, ENDS, Told};
use switchtower::demo::behaviours;
use switchtower::http::errors::Code;
use switchtower::settings::{REQUIRED, Row, table};

/// Where the block stands in a README.
fn block(readme: &str, name: &str) -> Range<usize> {
    let start = readme.find(&format!("<!-- {name}:")).expect("README has the block");
    let begin = start + readme[start..].find("-->\n").expect("the comment is closed") + "-->\n".len();
    begin..begin + readme[begin..].find("<!-- end -->").expect("the block is closed")
}

/// Tests run side by side, and each that rewrites reads the file first.
static WRITES: Mutex<()> = Mutex::new(());

/// Compares a block with what it should be. With `REWRITE_README` set it is put right instead.
#[track_caller]
fn assert_block(name: &str, wanted: &str) {
    let readme = include_str!("../README.md");
    let found = &readme[block(readme, name)];
    if found != wanted && std::env::var_os("REWRITE_README").is_some() {
        let _turn = WRITES.lock().expect("no test panics while it writes");
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
        let mut readme = std::fs::read_to_string(&path).expect("README can be read");
        readme.replace_range(block(&readme, name), wanted);
        std::fs::write(&path, readme).expect("README can be written");
        return;
    }
    assert_eq!(found, wanted, "REWRITE_README=1 puts it right");
}

#[test]
fn every_error_code_is_in_the_table_and_no_other() {
    let rows: String = Code::ALL
        .iter()
        .map(|code| format!("| `{}` | {} | {} |\n", code.as_str(), code.status(), code.meaning()))
        .collect();
    assert_block("codes", &format!("| `error.code` | status | means |\n|---|---|---|\n{rows}"));
}

#[test]
fn every_end_is_in_the_table_and_no_other() {
    let own = [Told::NOT_EXPECTED, Told::TOO_SLOW];
    let all = ENDS.iter().map(|(_, told)| *told).chain(own);
    let rows: String = all.map(|told| format!("| `{}` | {} |\n", told.code, told.words)).collect();
    assert_block("ends", &format!("| `end` | the upstream |\n|---|---|\n{rows}"));
}

#[test]
fn every_strategy_is_in_the_table_and_no_other() {
    let rows: String = STRATEGIES
        .iter()
        .map(|strategy| format!("| `{}` | {} |\n", strategy.name(), strategy.doc_short()))
        .collect();
    assert_block("strategies", &format!("| name | orders targets by |\n|---|---|\n{rows}"));
}

#[test]
fn every_strategy_is_explained_with_an_example() {
    let of = |strategy: &&dyn Strategy| {
        let also = match strategy.aliases() {
            [] => String::new(),
            aliases => format!(" (also `{}`)", aliases.join("`, `")),
        };
        let (name, text, example) = (strategy.name(), strategy.doc_long(), strategy.example());
        format!("**`{name}`**{also}. {text}\n\n```toml\n[[combos]]\n{example}\n```\n\n")
    };
    let all: String = STRATEGIES.iter().map(of).collect();
    assert_block("strategy-texts", &format!("\n{all}"));
}

#[test]
fn every_account_strategy_is_in_the_table_and_no_other() {
    let rows: String =
        account::STRATEGIES.iter().map(|row| format!("| `{}` | {} |\n", row.name, row.doc_short)).collect();
    assert_block("accounts", &format!("| name | asks accounts |\n|---|---|\n{rows}"));
}

#[test]
fn every_row_of_the_verdicts_is_in_the_table_in_its_order() {
    let rows: String = verdict::rows()
        .map(|row| {
            format!("| `{}` | {} | {} | {} |\n", row.id, row.title, cell(&row.when), cell(&row.outcome))
        })
        .collect();
    assert_block("verdicts", &format!("| row | about | holds when | means |\n|---|---|---|---|\n{rows}"));
}

#[test]
fn every_behaviour_is_in_the_table_and_no_other() {
    let rows: String =
        behaviours().iter().map(|(name, meaning)| format!("| `{name}` | {meaning} |\n")).collect();
    assert_block("behaviours", &format!("| model | the upstream |\n|---|---|\n{rows}"));
}

/// A text inside a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// The marks behind a key's meaning.
fn marks(row: &Row) -> String {
    let mut marks = String::new();
    if let Some(name) = row.env {
        marks += &format!("; variable `{name}`");
    }
    if let Some(kind) = row.patch {
        marks += &format!("; PATCH takes {}", kind.accepted());
    }
    if row.restart {
        marks += "; needs a restart";
    }
    if !row.acts {
        marks += "; **not acted on yet**";
    }
    marks
}

#[test]
fn every_setting_is_in_the_table_and_no_other() {
    let line = |row: &Row| {
        let default = match row.default {
            "" => "–".to_owned(),
            REQUIRED => "required".to_owned(),
            default => format!("`{}`", cell(default)),
        };
        let unit = if row.unit.is_empty() { String::new() } else { format!(" ({})", row.unit) };
        let (accepted, doc) = (cell(&row.kind.accepted()), cell(row.doc));
        format!("| `{}` | {default}{unit} | {accepted} | {doc}{} |\n", row.key, cell(&marks(row)))
    };
    let (repeated, all): (Vec<&Row>, Vec<&Row>) = table().iter().partition(|row| row.is_repeated());
    assert!(repeated.len() > 60, "all combos can begin with {} keys", repeated.len());
    let rows: String = all.into_iter().map(line).collect();
    let rows = rows.replacen(
        "| `settings.provider_overrides.",
        "| `settings.combo_defaults.…` | – | as `combos[].config.…` | the same for every combo that says nothing of it |\n\
         | `settings.provider_overrides.",
        1,
    );
    assert_block("settings", &format!("| key | default | accepts | means |\n|---|---|---|---|\n{rows}"));
}

#[test]
fn every_linked_file_exists() {
    let readme = include_str!("../README.md");
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut links = 0;
    for link in readme.split("](").skip(1) {
        let target = link.split(')').next().expect("split has a first part");
        if let Some(anchor) = target.strip_prefix('#') {
            let heads = readme.lines();
            let heads =
                heads.filter_map(|line| line.strip_prefix("### ").or_else(|| line.strip_prefix("## ")));
            let mut heads = heads.map(|head| head.to_lowercase().replace(' ', "-"));
            assert!(heads.any(|head| head == anchor), "README links to #{anchor}, which is no heading");
        } else if !target.contains("://") {
            assert!(root.join(target).exists(), "README links to {target}, which does not exist");
            links += 1;
        }
    }
    assert!(links > 10, "the route of a request is shown with links");
}
