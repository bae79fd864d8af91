//! `store verify` and `store compact` on the store of a stopped instance: what they say, what they
//! leave as it was, and what a kill in the middle leaves (contract 1, FC-060, FC-063).

use std::fs;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Resource, Rlimit, prlimit};
use serde_json::json;

use crate::process::{Site, ask, operate};
use crate::{CONNECTIONS, GARBAGE, put, record, resting, sled_of};

/// A command on the site's store: exit code, stdout, stderr but for how far long work is.
fn store(site: &Site, arguments: &[&str]) -> (i32, String, String) {
    let output = command(site, arguments).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(!err.contains("panicked"), "{err}");
    let is_progress =
        |line: &str| [" records read", " records copied or compared"].iter().any(|end| line.ends_with(end));
    let err: String = err.lines().filter(|line| !is_progress(line)).flat_map(|line| [line, "\n"]).collect();
    (output.status.code().expect("it exits by itself"), out, err)
}

fn command(site: &Site, arguments: &[&str]) -> Command {
    let mut command = site.command();
    command.arg("store").args(arguments).stderr(Stdio::piped());
    command
}

fn dump(site: &Site) -> String {
    let (code, out, err) = store(site, &["dump"]);
    assert_eq!((code, err.as_str()), (0, ""));
    out
}

/// What stands beside the config, but for its log.
fn names(site: &Site) -> Vec<String> {
    let names = fs::read_dir(site.path(".")).unwrap();
    let mut names: Vec<_> = names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|name| name != "log" && name != "config.toml");
    names.sort();
    names
}

fn garbage(site: &Site) {
    let db = sled_of(site);
    for (number, (key, value, _)) in GARBAGE.into_iter().enumerate() {
        let key = if number < 2 { format!("record-{number}").into_bytes() } else { key.to_vec() };
        put(&db, CONNECTIONS, &key, value);
    }
    put(&db, CONNECTIONS, b"demo-a-1", &record(&resting(crate::now() + 1_000_000, "server_error", 503)));
}

/// Many records that were overwritten many times: what a kill has time for.
fn overwritten(site: &Site, rounds: u32) {
    let db = sled_of(site);
    let tree = db.open_tree("domain_circuit_breakers").unwrap();
    for round in 0..rounds {
        for number in 0..3_000_u32 {
            let value = record(&json!({"state": "CLOSED", "failures": round, "note": "x".repeat(200)}));
            tree.insert(format!("provider-{number}"), value).unwrap();
        }
        db.flush().unwrap();
    }
}

#[test]
fn fc_060_verify_names_what_the_next_start_sets_aside_and_moves_nothing() {
    let site = Site::new("verify", "5s");
    site.start().end();
    let (code, out, err) = store(&site, &["verify"]);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert!(out.ends_with("every record can be read\n"), "{out}");
    garbage(&site);
    put(&sled_of(&site), "of_a_later_version", b"k", b"v");
    let before = dump(&site);
    let (code, out, err) = store(&site, &["verify"]);
    assert_eq!(code, 1, "{out}");
    assert_eq!(
        out.lines().filter(|line| line.starts_with("bad: connections: ")).count(),
        GARBAGE.len(),
        "{out}"
    );
    assert!(out.contains("bad: connections: record-1: version 2 is newer than the 1"), "{out}");
    let line = |tree: &str| {
        out.lines().find(|line| line.starts_with(tree)).unwrap_or_else(|| panic!("{tree}: {out}"))
    };
    assert!(line("connections").ends_with(&format!(" good, {} bad", GARBAGE.len())), "{out}");
    assert!(
        line("of_a_later_version").ends_with("1 of another version, not judged and left as they are"),
        "{out}"
    );
    assert!(err.starts_with(&format!("error: {} of the records above", GARBAGE.len())), "{err}");
    assert_eq!(dump(&site), before, "it only looks");
    site.start().end();
    let (code, out, _) = store(&site, &["verify"]);
    assert_eq!(code, 0, "{out}");
    assert!(out.contains(&format!("{} set aside by earlier starts", GARBAGE.len())), "{out}");
    assert!(out.contains("of_a_later_version"), "a start leaves it, too: {out}");
}

/// Contract 7: a store and a key that do not belong together are known before somebody needs them.
#[test]
fn verify_tries_what_is_sealed_with_the_key_at_hand() {
    const SECRET: &str = "sk-canary-verify-0123456789";
    let site = Site::new("verify-sealed", "5s");
    let process = site.start();
    let body = json!({"provider": "demo-a", "id": "made", "apiKey": SECRET});
    assert_eq!(operate(&process.address, "POST", "/api/providers", &body).0, 201);
    process.end();
    let (code, out, err) = store(&site, &["verify"]);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert!(out.ends_with("every record can be read, and what is sealed opens\n"), "{out}");

    let file = site.path("store.key");
    let key = fs::read(&file).unwrap();
    fs::write(&file, "0".repeat(64)).unwrap();
    let (code, out, err) = store(&site, &["verify"]);
    let row =
        "closed: provider_connections: made: its secret was sealed with another key, or for another record\n";
    assert!(code == 1 && out.starts_with(row), "{out}");
    assert!(out.contains("1 good, 1 of them closed\n"), "{out}");
    assert!(err.starts_with("error: 1 of the records above do not open with this key"), "{err}");
    assert!(!format!("{out}{err}").contains("canary"), "{out}{err}");

    fs::write(&file, "no key").unwrap();
    let (code, _, err) = store(&site, &["verify"]);
    assert!(code == 1 && err.contains("store.key holds no key of the store"), "{err}");

    fs::remove_file(&file).unwrap();
    let (code, out, err) = store(&site, &["verify"]);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert!(out.contains("what is sealed in 1 was not tried: there is no key"), "{out}");
    assert!(!file.exists(), "it makes none");
    // Another key is no reason not to make the store smaller.
    fs::write(&file, "0".repeat(64)).unwrap();
    assert_eq!(store(&site, &["compact"]).0, 0);
    fs::write(&file, key).unwrap();
    assert_eq!(store(&site, &["verify"]).0, 0);
}

#[test]
fn fc_063_compact_gives_room_back_and_everything_is_there_after_it() {
    const SECRET: &str = "sk-canary-compact-0123456789";
    let site = Site::new("compact", "5s");
    let process = site.start();
    let body = json!({"provider": "demo-a", "id": "made", "apiKey": SECRET});
    assert_eq!(operate(&process.address, "POST", "/api/providers", &body).0, 201);
    process.end();
    overwritten(&site, 10);
    put(&sled_of(&site), "of_a_later_version", b"k", b"v");
    let before = dump(&site);
    let (code, out, err) = store(&site, &["compact"]);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    let words: Vec<&str> = out.split_whitespace().collect();
    let (old, new): (u64, u64) = (words[1].parse().unwrap(), words[4].parse().unwrap());
    // How much of it sled had freed by itself differs from run to run.
    assert!(new < old, "{out}");
    let on_disk: u64 =
        ["db"].iter().map(|name| fs::metadata(site.path("store").join(name)).unwrap().len()).sum();
    assert!(on_disk <= new && on_disk > new / 4, "{on_disk} bytes of {new}");
    assert_eq!(dump(&site), before);
    assert!(!before.contains(SECRET) && before.contains("\"sealed\":"), "sealed, before and after");
    assert_eq!(sled_of(&site).open_tree("of_a_later_version").unwrap().len(), 1);
    assert_eq!(names(&site), ["store", "store.key"]);
    let process = site.start();
    let (status, shown) = operate(&process.address, "GET", "/api/providers/made", &json!(null));
    assert_eq!((status, &shown["connection"]["apiKey"]), (200, &json!("sk-…6789")), "it opens");
    assert_eq!(ask(&process.address, "demo-a/steady").0, 200);
}

#[test]
fn fc_060_compact_refuses_what_cannot_be_read_unless_it_is_to_go_along() {
    let site = Site::new("compact-bad", "5s");
    garbage(&site);
    let before = dump(&site);
    let (code, out, err) = store(&site, &["compact"]);
    assert_eq!((code, out.as_str()), (1, ""), "{err}");
    assert!(err.contains("4 records cannot be read, and nothing was changed"), "{err}");
    assert!(err.contains("store verify") && err.contains("--with-bad"), "{err}");
    assert_eq!(dump(&site), before);
    let (code, out, err) = store(&site, &["compact", "--with-bad"]);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert_eq!(dump(&site), before, "byte for byte");
    assert_eq!(store(&site, &["verify"]).0, 1, "and as bad as before");
}

#[test]
fn fc_063_a_kill_at_any_instant_leaves_a_whole_store() {
    let site = Site::new("compact-kill", "5s");
    overwritten(&site, 4);
    let before = dump(&site);
    let fresh = site.path("store.rewritten");
    // Each way to meet another instant: while it reads, copies, compares, moves, clears up.
    let (mut whole, mut cut) = (0, 0);
    for turn in 0..9_u32 {
        let mut child = command(&site, &["compact"]).stderr(Stdio::null()).spawn().unwrap();
        let started = std::time::Instant::now();
        let size = || fs::metadata(fresh.join("db")).map_or(0, |file| file.len());
        let over = || started.elapsed() > std::time::Duration::from_millis(u64::from(turn) * 30);
        let met = || match turn % 3 {
            0 => over(),
            1 => size() > u64::from(turn) * 80_000,
            _ => site.path("store.replaced").exists(),
        };
        while child.try_wait().unwrap().is_none() && !met() {
            std::hint::spin_loop();
        }
        child.kill().unwrap();
        let killed = !child.wait().unwrap().success();
        (whole, cut) = (whole + u32::from(!killed), cut + u32::from(killed));
        assert!(dump(&site) == before, "turn {turn}");
        assert!(!site.path("store.replaced").exists(), "turn {turn}");
    }
    assert!(cut >= 3, "{cut} kills met it, {whole} came too late");
    assert_eq!(store(&site, &["compact"]).0, 0);
    assert_eq!(names(&site), ["store"]);
    assert!(dump(&site) == before);
}

#[test]
fn fc_120_without_room_compact_says_so_and_the_store_is_as_it_was() {
    let site = Site::new("compact-full", "5s");
    overwritten(&site, 4);
    let before = dump(&site);
    // A process that outlives SIGXFSZ: past its limit a file cannot be written, as on a full disk.
    let mut child = Command::new("sh")
        .args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_switchtower")])
        .args(["store", "compact", "--config"])
        .arg(site.path("config.toml"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while !site.path("store.rewritten").exists() {
        assert!(child.try_wait().unwrap().is_none(), "it ended before it copied");
    }
    let id = Pid::from_raw(child.id() as i32);
    prlimit(id, Resource::Fsize, Rlimit { current: Some(0), maximum: None }).unwrap();
    let output = child.wait_with_output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{err}");
    assert!(err.contains("could not be rewritten and is as it was") && !err.contains("panicked"), "{err}");
    assert_eq!(names(&site), ["store"], "its room is given back");
    assert!(dump(&site) == before);
}
