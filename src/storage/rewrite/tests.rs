//! A crash after any step of a rewrite leaves a whole store, and nothing beside it after the next
//! opening (FC-063).

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use super::{Rewrite, beside, replaced};
use crate::storage::database::tests::Folder;
use crate::storage::{Database, OpenError};

/// Values that were put there and overwritten, in trees of this version, of another one and of nobody.
fn fill(path: &Path) -> Vec<(String, Vec<u8>, Vec<u8>)> {
    let db = sled::Config::new().path(path).flush_every_ms(None).open().unwrap();
    for round in 0..20_u32 {
        for number in 0..200_u32 {
            for tree in ["meta", "of a later version", "empty"] {
                let value = [round.to_be_bytes().repeat(40), number.to_be_bytes().to_vec()].concat();
                db.open_tree(tree).unwrap().insert(number.to_be_bytes(), value).unwrap();
            }
        }
        db.flush().unwrap();
    }
    db.open_tree("empty").unwrap().clear().unwrap();
    db.insert(b"\xff", b"").unwrap();
    db.flush().unwrap();
    contents(&db)
}

fn contents(db: &sled::Db) -> Vec<(String, Vec<u8>, Vec<u8>)> {
    let mut all = Vec::new();
    for name in db.tree_names() {
        let tree = String::from_utf8_lossy(&name).into_owned();
        let records = db.open_tree(&name).unwrap();
        all.extend(records.iter().map(|entry| {
            let (key, value) = entry.unwrap();
            (tree.clone(), key.to_vec(), value.to_vec())
        }));
    }
    all.sort();
    all
}

/// As a start opens it, when the threads of who had it before have let it go.
fn opened(path: &Path) -> Database {
    let started = Instant::now();
    loop {
        match Database::open_as_it_is(path) {
            Err(OpenError::Locked(_)) if started.elapsed() < Duration::from_secs(10) => {
                std::thread::yield_now()
            }
            opened => return opened.unwrap(),
        }
    }
}

fn reopened(path: &Path) -> Vec<(String, Vec<u8>, Vec<u8>)> {
    opened(path).with(|db| Ok(contents(db))).unwrap()
}

fn names(folder: &Folder) -> Vec<String> {
    let names = fs::read_dir(&folder.0).unwrap();
    let mut names: Vec<_> = names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn fc_063_a_rewrite_keeps_every_record_and_gives_room_back() {
    let folder = Folder::new("rewrite");
    let path = folder.0.join("store");
    let wanted = fill(&path);
    let mut seen = Vec::new();
    let database = opened(&path);
    let (before, after) = database.rewrite(&mut |tree, done| seen.push((tree.to_owned(), done))).unwrap();
    assert!(after < before / 2, "{before} bytes, then {after}");
    assert!(seen.contains(&("meta".to_owned(), 200)), "{} told", seen.len());
    assert_eq!(opened(&path).size(), after);
    assert!(wanted.len() == 401 && reopened(&path) == wanted);
    assert_eq!(names(&folder), ["store"]);
}

#[test]
fn fc_063_a_crash_after_any_step_loses_nothing() {
    type Step = fn(&Rewrite<'_>) -> std::io::Result<()>;
    let steps: [Step; 5] = [
        |rewrite| rewrite.clear(),
        |rewrite| rewrite.copy(&mut |_, _| {}),
        |rewrite| rewrite.compare(&mut |_, _| {}),
        |rewrite| rewrite.move_away(),
        |rewrite| rewrite.move_in(),
    ];
    for done in 0..=steps.len() {
        let folder = Folder::new("rewrite-crash");
        let path = folder.0.join("store");
        let wanted = fill(&path);
        let database = super::open_again(&path).unwrap();
        let rewrite = Rewrite::of(&path, database);
        steps[..done].iter().for_each(|step| step(&rewrite).unwrap());
        drop(rewrite);
        assert_eq!(path.exists(), done != 4, "after {done} steps");
        assert!(Database::exists(&path));
        assert!(reopened(&path) == wanted, "after {done} steps");
        assert!(!replaced(&path).exists(), "after {done} steps");
        // A copy that was not finished is only room; the next rewrite takes it.
        let database = opened(&path);
        database.rewrite(&mut |_, _| {}).unwrap();
        assert!(reopened(&path) == wanted, "after {done} steps and a rewrite");
        assert_eq!(names(&folder), ["store"], "after {done} steps");
    }
}

#[test]
fn fc_063_a_folder_that_holds_no_store_is_none() {
    let folder = Folder::new("rewrite-empty");
    let path = folder.0.join("store");
    let wanted = fill(&path);
    fs::rename(&path, replaced(&path)).unwrap();
    fs::create_dir(&path).unwrap();
    assert!(reopened(&path) == wanted);
}

#[test]
fn fc_125_whoever_opens_the_store_while_it_is_copied_and_moved_is_refused() {
    let folder = Folder::new("rewrite-locked");
    let path = folder.0.join("store");
    let wanted = fill(&path);
    let rewrite = Rewrite::of(&path, super::open_again(&path).unwrap());
    let refused = || matches!(Database::open(&path), Err(OpenError::Locked(_)));
    rewrite.clear().unwrap();
    rewrite.copy(&mut |_, _| assert!(refused())).unwrap();
    rewrite.compare(&mut |_, _| {}).unwrap();
    assert!(refused());
    // Its own lock goes with the folder: whoever comes now does not get the files that will go.
    rewrite.move_away().unwrap();
    assert!(matches!(Database::open(&replaced(&path)), Err(OpenError::Locked(_))));
    rewrite.move_in().unwrap();
    assert!(reopened(&path) == wanted);
}

#[test]
fn a_copy_that_is_another_one_takes_nobodys_place() {
    for change in [Some(b"other".as_slice()), None] {
        let folder = Folder::new("rewrite-differs");
        let path = folder.0.join("store");
        let wanted = fill(&path);
        let rewrite = Rewrite::of(&path, super::open_again(&path).unwrap());
        rewrite.clear().unwrap();
        rewrite.copy(&mut |_, _| {}).unwrap();
        {
            let fresh = super::open_again(&beside(&path, "rewritten")).unwrap();
            let meta = fresh.open_tree("meta").unwrap();
            match change {
                Some(value) => drop(meta.insert(7_u32.to_be_bytes(), value).unwrap()),
                None => drop(meta.remove(199_u32.to_be_bytes()).unwrap()),
            }
            fresh.flush().unwrap();
        }
        let error = rewrite.compare(&mut |_, _| {}).unwrap_err();
        assert!(error.to_string().contains("another one"), "{error}");
        drop(rewrite);
        assert!(reopened(&path) == wanted);
    }
}
