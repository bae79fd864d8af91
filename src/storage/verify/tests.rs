//! What is told of each tree, good or bad (FC-060).

use super::{Count, Found, Standing};
use crate::storage::database::tests::Folder;
use crate::storage::{Database, Tree, Vault, provider_record, proxy_record, token_record};

const CANARY: &str = "sk-canary-0123456789";

/// Records of one tree: key, value, and what is wrong with it, if something is.
type Row = (&'static str, &'static str, Option<&'static str>);

/// Of each tree one that a start can use, and some that it cannot.
const ROWS: &[(Tree, &[Row])] = &[
    (
        Tree::Breakers,
        &[
            ("p", r#"{"v":1,"data":{}}"#, None),
            ("no id", r#"{"v":1,"data":{}}"#, Some("the key is not an id")),
            ("q", r#"{"v":2,"data":{}}"#, Some("version 2 is newer than the 1 that is understood")),
            ("r", "no JSON", Some("not a record of this tree: no JSON at column 2")),
        ],
    ),
    (
        Tree::Connections,
        &[
            ("c", r#"{"v":1,"data":{}}"#, None),
            ("d", "{}", Some("not a record of this tree: missing field `v` at line 1 column 2")),
        ],
    ),
    (Tree::Lockouts, &[("c:everything:m", r#"{"v":1,"data":{}}"#, Some("the key is not an id"))]),
    (
        Tree::Settings,
        &[
            ("setting:a.b", r#"{"v":1,"data":1}"#, None),
            ("a.b", r#"{"v":1,"data":1}"#, Some("the key is not an id")),
        ],
    ),
    (
        Tree::ProviderConnections,
        &[
            ("c", r#"{"v":1,"data":{"fields":{},"sealed":"AQ=="}}"#, None),
            // The parser would quote it.
            (
                "d",
                r#"{"v":1,"data":{"fields":"sk-canary-0123456789"}}"#,
                Some("not a record of this tree: a value is not what it must be at column 46"),
            ),
        ],
    ),
    (
        Tree::Providers,
        &[
            ("p", r#"{"v":1,"data":{"fields":{}}}"#, None),
            ("p/q", r#"{"v":1,"data":{"fields":{}}}"#, Some("the key is not an id")),
        ],
    ),
    (
        Tree::Keys,
        &[
            ("k 1", r#"{"v":1,"data":{"fields":{}}}"#, None),
            (
                "k 2",
                r#"{"v":1,"data":{"fields":{},"hash":"sk-canary-0123456789"}}"#,
                Some("its hash is none"),
            ),
        ],
    ),
    (
        Tree::Combos,
        &[
            ("a/b", r#"{"v":1,"data":{"fields":{},"createdAt":1,"updatedAt":1}}"#, None),
            (
                "c",
                r#"{"v":1,"data":{"fields":{}}}"#,
                Some("not a record of this tree: missing field `createdAt` at line 1 column 27"),
            ),
        ],
    ),
    (
        Tree::Mappings,
        &[(
            "a/b",
            r#"{"v":1,"data":{"fields":{},"createdAt":1,"updatedAt":1}}"#,
            Some("the key is not an id"),
        )],
    ),
    (
        Tree::Aliases,
        &[
            ("a/b", r#"{"v":1,"data":"p/m"}"#, None),
            (
                "c",
                r#"{"v":1,"data":{}}"#,
                Some("not a record of this tree: a value is not what it must be at column 14"),
            ),
        ],
    ),
    (
        Tree::Pools,
        &[
            ("a", r#"{"v":1,"data":{"name":"n","connections":[]}}"#, None),
            (
                "b",
                r#"{"v":1,"data":{}}"#,
                Some("not a record of this tree: missing field `name` at line 1 column 16"),
            ),
        ],
    ),
    (Tree::History, &[("2026-11-30/x", r#"{"v":1,"data":{}}"#, Some("the key is not an id"))]),
    (
        Tree::Tokens,
        &[
            ("c", r#"{"v":1,"data":{"origin":"o","access":null,"refresh":"r"}}"#, None),
            (
                "d",
                r#"{"v":1,"data":{"origin":"o"}}"#,
                Some("not a record of this tree: missing field `refresh` at line 1 column 28"),
            ),
        ],
    ),
    (
        Tree::Meta,
        &[("salt", "any", None), ("later", "any", None), ("admin_token", "short", Some("its hash is none"))],
    ),
    (Tree::Quarantine, &[("connections/x", "no JSON", None)]),
];

fn filled(folder: &Folder) -> Database {
    let database = Database::open(&folder.0.join("store")).unwrap();
    for (tree, rows) in ROWS {
        let mut batch = sled::Batch::default();
        rows.iter().for_each(|(key, value, _)| batch.insert(*key, *value));
        database.apply(*tree, batch).unwrap();
    }
    database
}

fn verified(database: &Database) -> (Vec<Count>, Vec<(String, String, String)>) {
    let mut bad = Vec::new();
    let counts = database.verify(None, &mut |found| {
        if let Found::Bad { tree, key, why } = found {
            bad.push((tree.to_owned(), key, why));
        }
    });
    (counts.unwrap(), bad)
}

#[test]
fn fc_060_each_record_that_a_start_would_set_aside_is_told_and_none_else() {
    let folder = Folder::new("verify");
    let database = filled(&folder);
    let (counts, bad) = verified(&database);
    let mut wanted = Vec::new();
    for (tree, rows) in ROWS {
        let wrong = rows.iter().filter_map(|(key, _, why)| Some((key, (*why)?)));
        wanted.extend(wrong.map(|(key, why)| (tree.name().to_owned(), (*key).to_owned(), why.to_owned())));
        let count = counts.iter().find(|count| count.tree == tree.name()).unwrap();
        let good = rows.iter().filter(|(_, _, why)| why.is_none()).count();
        assert_eq!((count.good, count.bad), (good as u64, (rows.len() - good) as u64), "{count:?}");
    }
    let (mut found, mut wanted_sorted) = (bad, wanted);
    found.sort();
    wanted_sorted.sort();
    assert_eq!(found, wanted_sorted);
    assert!(!format!("{found:?}").contains(CANARY));
    assert!(database.records(Tree::Quarantine).unwrap().len() == 1, "nothing was moved");
    // Whatever a start sets aside was told, and what it sets aside is all that was told.
    database.load().unwrap();
    database.stored().unwrap();
    database.tokens().unwrap();
    database.usage_of("2026-11-30".parse().unwrap()).unwrap();
    let moved = database.records(Tree::Quarantine).unwrap().len() - 1;
    // Meta's are read by key, and made anew.
    assert_eq!(moved, found.len() - 1);
    let (_, bad) = verified(&database);
    assert_eq!(bad.len(), 1, "{bad:?}");
}

#[test]
fn fc_060_what_another_version_has_written_is_told_and_left() {
    let folder = Folder::new("verify-unknown");
    let database = Database::open(&folder.0.join("store")).unwrap();
    let put = |tree: &str| {
        database.with(|db| db.open_tree(tree)?.insert("k", "anything")).unwrap();
    };
    put("of_a_later_version");
    put("connections");
    let (counts, bad) = verified(&database);
    let of = |tree: &str| counts.iter().find(|count| count.tree == tree).unwrap();
    assert_eq!((of("of_a_later_version").standing, of("of_a_later_version").good), (Standing::Unknown, 1));
    assert_eq!((of("connections").standing, of("connections").bad, bad.len()), (Standing::Known, 1, 1));
    assert!(!counts.iter().any(|count| count.tree.contains("sled")), "{counts:?}");
}

#[test]
fn keys_are_fit_for_a_terminal() {
    let folder = Folder::new("verify-keys");
    let database = Database::open(&folder.0.join("store")).unwrap();
    let key = format!("\u{1b}[31m\n{}", "x".repeat(300));
    let mut batch = sled::Batch::default();
    batch.insert(key.as_bytes(), "");
    database.apply(Tree::Connections, batch).unwrap();
    let (_, bad) = verified(&database);
    assert!(bad[0].1.starts_with(r"\u{1b}[31m\nxxx") && bad[0].1.len() < 220, "{bad:?}");
}

/// What was sealed with the key of this number.
fn vault(key: u32) -> Vault {
    Vault::of_store("nowhere".as_ref(), Some(&format!("{key:064}"))).unwrap()
}

/// Rows that were sealed with the key 1, and with another one.
fn seal_some(database: &Database) {
    let seal = |key: u32, record: &str, text: &str| vault(key).seal(record, text).unwrap();
    let secrets = format!(r#"{{"apiKey":"{CANARY}"}}"#);
    let put = |tree: Tree, key: &str, data: String| {
        let mut batch = sled::Batch::default();
        batch.insert(key, format!(r#"{{"v":1,"data":{data}}}"#).as_bytes());
        database.apply(tree, batch).unwrap();
    };
    let connection = |sealed: String, proxy: String| {
        format!(r#"{{"fields":{{}},"sealed":"{sealed}","sealedProxy":"{proxy}"}}"#)
    };
    let proxy = |key: u32, id: &str| seal(key, &proxy_record(id), CANARY);
    put(Tree::ProviderConnections, "good", connection(seal(1, "good", &secrets), proxy(1, "good")));
    put(Tree::ProviderConnections, "moved", connection(seal(1, "good", &secrets), proxy(1, "moved")));
    put(Tree::ProviderConnections, "old", connection(seal(2, "old", &secrets), proxy(2, "old")));
    put(Tree::ProviderConnections, "odd", connection(seal(1, "odd", CANARY), "AQ==".into()));
    put(Tree::ProviderConnections, "plain", r#"{"fields":{}}"#.into());
    let provider = |key: u32, id: &str| {
        format!(r#"{{"fields":{{}},"sealed":"{}"}}"#, seal(key, &provider_record(id), "{}"))
    };
    put(Tree::Providers, "p", provider(1, "p"));
    put(Tree::Providers, "q", provider(2, "q"));
    let tokens = |access: u32, refresh: u32| {
        let of = |key: u32, what: &str| seal(key, &token_record(&"c".into(), what), CANARY);
        format!(
            r#"{{"origin":"o","access":"{}","refresh":"{}"}}"#,
            of(access, "access"),
            of(refresh, "refresh")
        )
    };
    put(Tree::Tokens, "c", tokens(1, 2));
    let handoff = |key: u32| {
        let sealed = seal(key, "handoff/s/m", CANARY);
        format!(r#"{{"from":"c","sealed":"{sealed}","expiresAt":1}}"#)
    };
    put(Tree::Handoffs, "s/m", handoff(1));
    put(Tree::Handoffs, "s/n", handoff(1));
}

#[test]
fn contract_7_what_does_not_open_is_told_by_row_and_part_and_never_its_value() {
    let folder = Folder::new("verify-sealed");
    let database = Database::open(&folder.0.join("store")).unwrap();
    seal_some(&database);
    let mut told = Vec::new();
    let vault = vault(1);
    let counts = database.verify(Some(&vault), &mut |found| match found {
        Found::Closed { tree, key, why } => told.push(format!("{tree}: {key}: {why}")),
        Found::Bad { key, why, .. } => panic!("{key}: {why}"),
        Found::Read(..) => {}
    });
    let other = "was sealed with another key, or for another record";
    let form = "is not sealed as this version does";
    assert_eq!(
        told,
        [
            format!("handoffs: s/n: its summary {other}"),
            format!("oauth_tokens: c: its refresh token {other}"),
            format!("provider_connections: moved: its secret {other}"),
            format!("provider_connections: odd: its secret {form}; its proxy {form}"),
            format!("provider_connections: old: its secret {other}; its proxy {other}"),
            format!("provider_nodes: q: its secret {other}"),
        ]
    );
    let of = |counts: &[Count], tree: Tree| {
        let count = counts.iter().find(|count| count.tree == tree.name()).unwrap();
        (count.good, count.sealed, count.closed)
    };
    assert_eq!(of(&counts.unwrap(), Tree::ProviderConnections), (5, 4, 3));
    let (counts, _) = verified(&database);
    assert_eq!(of(&counts, Tree::ProviderConnections), (5, 4, 0), "without a key it is only counted");
}
