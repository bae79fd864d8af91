//! Each room of the root crate may use only some others; a line that reaches further
//! belongs elsewhere. Read from the sources themselves: `use` lines and paths.

use std::fs;
use std::path::{Path, PathBuf};

/// Room, and what no line of it may name.
const NEVER: &[(&str, &[&str])] = &[
    (
        "formats",
        &["actors::", "awc::", "actix_web::", "sled::", "crate::http", "crate::relay", "crate::upstream"],
    ),
    ("upstream", &["actors::", "actix_web::", "sled::", "crate::http", "crate::storage", "crate::relay"]),
    ("relay", &["actix_web::", "sled::", "awc::", "crate::http", "crate::admin", "crate::storage"]),
    ("http", &["awc::", "sled::", "crate::storage", "crate::admin"]),
    ("admin", &["awc::", "sled::", "crate::upstream"]),
    ("storage", &["crate::http", "crate::upstream", "crate::formats", "actix_web::", "awc::"]),
    ("settings", &["actors::", "actix", "awc::", "sled::", "crate::http", "crate::relay", "crate::upstream"]),
    ("api", &["actors::", "actix", "awc::", "sled::", "crate::http", "crate::admin", "crate::relay"]),
    ("demo", &["crate::relay", "crate::upstream", "crate::http", "crate::settings", "policy::", "actors::"]),
];

fn sources(room: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = vec![root.join(format!("{room}.rs"))];
    let mut folders = vec![root.join(room)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("every room has a folder") {
            let path = entry.expect("the folder can be read").path();
            match path.is_dir() {
                true => folders.push(path),
                false => found.push(path),
            }
        }
    }
    found
}

/// `word` stands there as a path of its own, not as the end of a longer name.
fn names(line: &str, word: &str) -> bool {
    let boundary = |at: usize| {
        !line[..at].ends_with(|before: char| before.is_alphanumeric() || matches!(before, '_' | ':'))
            || line[..at].ends_with(" ::")
            || line[..at].ends_with("(::")
    };
    line.match_indices(word).any(|(at, _)| boundary(at))
}

#[test]
fn no_line_stands_in_the_wrong_room() {
    let mut wrong = Vec::new();
    for (room, never) in NEVER {
        for path in sources(room) {
            let text = fs::read_to_string(&path).expect("a source can be read");
            for (number, line) in
                text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//"))
            {
                for word in never.iter().filter(|word| names(line, word)) {
                    wrong.push(format!("{}:{}: {word}", path.display(), number + 1));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// What policy may be built from: values in, values out. Nothing that has a clock, dice, threads,
/// files or a log, whether or not it is used.
const OF_POLICY: &[&str] = &["serde", "httpdate", "serde_json", "sha2", "proptest"];

#[test]
fn policy_is_built_from_pure_crates() {
    let manifest = include_str!("../actors/policy/Cargo.toml");
    let manifest: toml::Table = manifest.parse().expect("the manifest is TOML");
    let tables = ["dependencies", "dev-dependencies", "build-dependencies"];
    let named =
        tables.iter().filter_map(|table| manifest.get(*table)?.as_table()).flat_map(toml::Table::keys);
    let strangers: Vec<&String> = named.filter(|name| !OF_POLICY.contains(&name.as_str())).collect();
    assert!(strangers.is_empty(), "{strangers:?}");
}

#[test]
fn the_check_sees_what_it_looks_for() {
    assert!(names("use awc::Client;", "awc::"));
    assert!(names("    let x: ::actors::A = 1;", "actors::"));
    assert!(!names("use crate::factors::A;", "actors::"));
    assert!(!names("use super::actors::A;", "actors::"));
}
