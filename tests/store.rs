//! What the store keeps, drops and sets aside at a start (FC-060), who may open it (FC-125), and how
//! large it may become (FC-063). Records are written with sled itself while nobody runs.

mod process;
#[path = "store/tools.rs"]
mod tools;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use actix::Actor;
use actors::messages::{ConnectionSnapshot, Owner, Snapshot, StoreLink};
use actors::watch::{DeathWatch, Living};
use process::{Scripted, Site, actor, actors, ask, eventually, order};
use serde_json::{Value, json};
use switchtower::storage::{Database, Flush, Health, Store};

const BREAKERS: &str = "domain_circuit_breakers";
const CONNECTIONS: &str = "connections";
const LOCKOUTS: &str = "model_lockouts";
const HOUR: u64 = 3_600_000;

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64
}

/// Opens the store of a site that does not run. Whoever had it open last in this process lets go of
/// it a moment later: sled's threads do.
fn sled_of(site: &Site) -> sled::Db {
    let config = sled::Config::new().path(site.path("store")).flush_every_ms(None);
    let mut opened = None;
    eventually("the store is free", || {
        let tried = config.open();
        let is_held = tried.as_ref().is_err_and(|error| error.to_string().contains("could not acquire lock"));
        opened = (!is_held).then(|| tried.unwrap());
        !is_held
    });
    opened.expect("it is free")
}

fn put(db: &sled::Db, tree: &str, key: &[u8], value: &[u8]) {
    db.open_tree(tree).unwrap().insert(key, value).unwrap();
    db.flush().unwrap();
}

fn record(data: &Value) -> Vec<u8> {
    json!({"v": 1, "data": data}).to_string().into_bytes()
}

/// Keys and values of a tree.
fn all(db: &sled::Db, tree: &str) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let entries = db.open_tree(tree).unwrap();
    entries.iter().map(|entry| entry.map(|(key, value)| (key.to_vec(), value.to_vec())).unwrap()).collect()
}

fn resting(until: u64, reason: &str, status: u16) -> Value {
    let from = until.min(now()) - HOUR;
    json!({"cooldown": {
        "until": until, "level": 1, "episode_at": from, "failed_at": from, "cooled_for_ms": until - from,
        "last_error": {"reason": reason, "status": status, "at": from, "hint_ms": null},
    }})
}

/// Records that nobody can read: key, value, and what the log says about it.
const GARBAGE: [(&[u8], &[u8], &str); 4] = [
    (b"demo-a-1:family:garbage", b"\xff\x00 no JSON", "not a record of this tree"),
    (b"demo-a-1:family:newer", br#"{"v":2,"data":{}}"#, "version 2 is newer than the 1"),
    (b"\xff\xfe", br#"{"v":1,"data":{}}"#, "the key is not an id"),
    (b"no id at all", br#"{"v":1,"data":{}}"#, "the key is not an id"),
];

#[test]
fn fc_060_what_cannot_be_read_is_set_aside_and_never_stops_the_start() {
    let site = Site::new("garbage", "5s");
    let trees = [BREAKERS, CONNECTIONS, LOCKOUTS];
    let mut wanted = BTreeMap::new();
    {
        let db = sled_of(&site);
        for tree in trees {
            for (number, (key, value, _)) in GARBAGE.into_iter().enumerate() {
                // The first two are ids everywhere; a lockout's has three parts, the others' one.
                let key = match (tree, number) {
                    (LOCKOUTS, _) | (_, 2 | 3) => key.to_vec(),
                    (_, number) => format!("record-{number}").into_bytes(),
                };
                put(&db, tree, &key, value);
                wanted.insert([tree.as_bytes(), b"/", &key].concat(), value.to_vec());
            }
        }
        put(&db, CONNECTIONS, b"demo-a-1", &record(&resting(now() + HOUR, "server_error", 503)));
    }
    let process = site.start();
    assert_eq!(ask(&process.address, "demo-b/steady").0, 200);
    assert_eq!(actors(&process.address)["connection/demo-a-1"]["state"], "cooling", "the rest is read");
    let log = site.log();
    for (_, _, why) in GARBAGE {
        let lines = log.lines().filter(|line| line.contains("moved to quarantine") && line.contains(why));
        assert!(lines.count() >= trees.len(), "{why}: {log}");
    }
    process.end();
    let db = sled_of(&site);
    assert_eq!(all(&db, "quarantine"), wanted, "kept as it was");
    for tree in trees {
        let left = all(&db, tree).into_keys();
        let garbage: Vec<_> =
            left.filter(|key| wanted.contains_key(&[tree.as_bytes(), b"/", key].concat())).collect();
        assert_eq!(garbage, Vec::<Vec<u8>>::new(), "moved, not copied: {tree}");
    }
}

#[test]
fn fc_060_a_future_cooldown_is_kept_to_the_millisecond_and_an_expired_one_is_gone() {
    let site = Site::new("verbatim", "5s");
    let (future, past) = (now() + 120 * HOUR + 7, now() - 1_000);
    {
        let db = sled_of(&site);
        put(&db, CONNECTIONS, b"demo-a-1", &record(&resting(future, "rate_limit_exceeded", 429)));
        put(&db, CONNECTIONS, b"demo-a-2", &record(&resting(past, "rate_limit_exceeded", 429)));
        let lock = |until: u64| {
            let from = until.min(now()) - HOUR;
            record(&json!({"key": {"scope": "exact", "model": "steady"}, "until": until, "failures": 1,
                "reason": "model_capacity", "locked_at": from, "last_failure_at": from,
                "last_cooldown_ms": until - from}))
        };
        put(&db, LOCKOUTS, b"demo-b-1:exact:locked", &lock(future));
        put(&db, LOCKOUTS, b"demo-b-1:exact:over", &lock(past - 3 * HOUR));
    }
    let process = site.start();
    let kept = actor(&process.address, "connection/demo-a-1");
    assert_eq!((&kept["state"], &kept["snapshot"]["cooldown"]["until"]), (&json!("cooling"), &json!(future)));
    let gone = actor(&process.address, "connection/demo-a-2");
    assert_eq!((&gone["state"], &gone["derived"]["remainingMs"]), (&json!("ready"), &json!(0)));
    assert_eq!(gone["derived"]["rateLimitedUntil"], Value::Null);
    let rows = actors(&process.address);
    let locks: Vec<&String> = rows.keys().filter(|name| name.starts_with("lockout/")).collect();
    assert_eq!(locks, ["lockout/demo-b-1:exact:locked"]);
    assert_eq!(actor(&process.address, locks[0])["snapshot"]["until"], future);
    process.end();
    let db = sled_of(&site);
    let keys: Vec<_> = all(&db, LOCKOUTS).into_keys().collect();
    assert_eq!(keys, [b"demo-b-1:exact:locked".to_vec()], "what is over leaves the disk");
    let stored: Value = serde_json::from_slice(&all(&db, CONNECTIONS)[b"demo-a-1".as_slice()]).unwrap();
    assert_eq!(stored["data"]["cooldown"]["until"], future);
}

#[test]
fn fc_060_a_breaker_that_opened_by_itself_keeps_its_hold() {
    let site = Site::with(
        "hold",
        "[resilience.provider_breaker.apikey]\nfailure_threshold = 2\ndegradation_threshold = 1\n\
         reset_timeout_ms = 600000\n[resilience.connection_cooldown.apikey]\nbase_cooldown_ms = 1\nmax_backoff_steps = 0\n",
    );
    let mut process = site.start();
    eventually("the breaker opens", || {
        let _ = ask(&process.address, "demo-a/status-503");
        actors(&process.address)["provider/demo-a"]["state"] == "open"
    });
    let seen = |address: &str| {
        let breaker = actor(address, "provider/demo-a");
        assert_eq!(breaker["snapshot"]["forced_until"], Value::Null, "nobody ordered it");
        ["openUntil", "effectiveResetTimeoutMs", "failureCount", "openCycleCount"]
            .map(|field| breaker["derived"][field].clone())
    };
    let before = seen(&process.address);
    assert!(before[0].is_string(), "{before:?}");
    assert_eq!(before[1], 600_000);
    // An order waits for the disk, and what was news before it is written with it.
    order(&process.address, "connection/claude-a-1", r#"{"message":"drain"}"#);
    process.child.kill().unwrap();
    drop(process);
    let process = site.start();
    assert_eq!(seen(&process.address), before);
    assert_eq!(ask(&process.address, "demo-a/steady").0, 503, "and holds");
}

#[test]
fn fc_060_records_of_ids_that_no_longer_exist_are_dropped() {
    let site = Site::new("strangers", "5s");
    {
        let db = sled_of(&site);
        let until = now() + HOUR;
        put(&db, BREAKERS, b"removed", &record(&json!({"state": "OPEN", "last_failure_at": now()})));
        put(&db, CONNECTIONS, b"removed-1", &record(&resting(until, "server_error", 503)));
        put(&db, CONNECTIONS, b"demo-a-1", &record(&resting(until, "server_error", 503)));
        let lock = json!({"key": {"scope": "exact", "model": "m"}, "until": until, "failures": 1});
        put(&db, LOCKOUTS, b"removed-1:exact:m", &record(&lock));
    }
    let process = site.start();
    let rows = actors(&process.address);
    assert!(!rows.keys().any(|name| name.contains("removed")), "{:?}", rows.keys());
    process.end();
    let db = sled_of(&site);
    let keys = |tree| all(&db, tree).into_keys().collect::<Vec<_>>();
    for (tree, key) in [(BREAKERS, "removed"), (CONNECTIONS, "removed-1"), (LOCKOUTS, "removed-1:exact:m")] {
        assert!(!keys(tree).contains(&key.as_bytes().to_vec()), "{key}");
    }
    assert!(keys(CONNECTIONS).contains(&b"demo-a-1".to_vec()), "the others stay");
    assert!(all(&db, "quarantine").is_empty(), "they can be read, so they are no puzzle");
}

/// Decision 3c. The records are made by the process itself, so that their fingerprints are real.
#[test]
fn fc_060_a_changed_credential_clears_what_was_about_the_old_one() {
    let vendor = |id: &str, credential: &str, base: &str| {
        format!(
            "[[providers]]\nid = \"{id}\"\nauth = \"apikey\"\nformat = \"openai\"\nbase_url = \"{base}\"\n\
             [[connections]]\nid = \"{id}-1\"\nprovider = \"{id}\"\ncredential = \"{credential}\"\n"
        )
    };
    let upstream = Scripted::start();
    let config = |credential: &str| -> String {
        let ids = ["refused", "broken", "kept"];
        let credential =
            |id: &str| if id == "kept" { "same-credential".into() } else { format!("{credential}-{id}") };
        ids.iter().map(|id| vendor(id, &credential(id), &format!("http://{}", upstream.0.address))).collect()
    };
    let site = Site::with(
        "credential",
        &format!(
            "[resilience.connection_cooldown.apikey]\nbase_cooldown_ms = 3600000\n{}",
            config("old-credential")
        ),
    );
    let process = site.start();
    for target in ["refused/status-401", "broken/status-503", "kept/status-401"] {
        let _ = ask(&process.address, target);
    }
    let states = |address: &str| {
        let rows = actors(address);
        ["refused-1", "broken-1", "kept-1"]
            .map(|id| rows[&format!("connection/{id}")]["state"].as_str().unwrap().to_owned())
    };
    assert_eq!(states(&process.address), ["cooling", "cooling", "cooling"]);
    process.end();
    let process = site.start();
    assert_eq!(
        states(&process.address),
        ["cooling", "cooling", "cooling"],
        "nothing changed, nothing clears"
    );
    process.end();
    site.edit(|text| text.replace("old-credential", "new-credential"));
    let process = site.start();
    assert_eq!(states(&process.address), ["ready", "cooling", "cooling"]);
    assert_eq!(ask(&process.address, "refused/steady").0, 200);
    process.end();
}

/// Every file of a folder with its bytes.
fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.insert(path.display().to_string(), Vec::new());
            found.extend(contents(&path));
        } else {
            found.insert(path.display().to_string(), fs::read(&path).unwrap());
        }
    }
    found
}

#[test]
fn fc_125_whoever_comes_second_says_so_and_changes_nothing_on_disk() {
    let site = Site::new("locked", "5s");
    let process = site.start();
    order(&process.address, "connection/demo-a-1", r#"{"message":"cool","for":"1h"}"#);
    // What the order leaves in the audit is written behind its answer.
    let mut before = BTreeMap::new();
    eventually("a quiet store", || {
        let now = contents(&site.path("store"));
        let is_told = now.values().any(|bytes| bytes.windows(13).any(|window| window == b"actor.message"));
        let is_quiet = is_told && now == before;
        before = now;
        is_quiet
    });
    let store = site.path("store").display().to_string();
    for (arguments, advice) in [
        (["serve"].as_slice(), "stop that one, or give this one another `store.path`"),
        (["store", "dump"].as_slice(), "a running instance answers `switchtower status`"),
        (["store", "verify"].as_slice(), "a running instance answers `switchtower status`"),
        (["store", "compact"].as_slice(), "a running instance answers `switchtower status`"),
    ] {
        let second = site.command().args(arguments).stderr(std::process::Stdio::piped()).output().unwrap();
        let error = String::from_utf8_lossy(&second.stderr).into_owned();
        assert_eq!(second.status.code(), Some(1), "{arguments:?}: {error}");
        assert!(error.contains(&store) && error.contains("in use by another switchtower"), "{error}");
        assert!(error.contains(advice), "{error}");
        assert!(!error.contains("panicked") && second.stdout.is_empty(), "{error}");
        assert!(contents(&site.path("store")) == before, "{arguments:?} changed the store");
    }
    let listed: Vec<_> =
        fs::read_dir(site.path(".")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(listed.len(), 4, "config, log, store and its key, nothing beside them: {listed:?}");
    assert_eq!(ask(&process.address, "demo-b/steady").0, 200, "the first one serves on");
}

/// A rewrite happens only at a start, so what a run may grow to is what this bounds.
#[actix_rt::test]
async fn fc_063_overwriting_the_same_keys_does_not_fill_the_disk() {
    const KEYS: usize = 100;
    const ROUNDS: u64 = 1_000;
    const BOUND: u64 = 8 * 1024 * 1024;
    let site = Site::new("growth", "5s");
    let database = Database::open(&site.path("store")).unwrap();
    let link = StoreLink::new(2 * KEYS);
    let health = Arc::new(Health::default());
    let watch = DeathWatch::new(Living::new(), |_| {});
    let never = Duration::from_secs(3_600);
    let store = Store::new(database.clone(), Arc::default(), never, health.clone(), watch).start();
    link.install(store.clone().recipient());
    for round in 1..=ROUNDS {
        for key in 0..KEYS {
            let mut snapshot = ConnectionSnapshot { fingerprint: "f".repeat(200), ..Default::default() };
            snapshot.cooldown.generation = round;
            let owner = Owner::Connection(format!("connection-{key}").as_str().into());
            link.save(owner, Some(Snapshot::Connection(snapshot)));
        }
        // Each round reaches the disk; the interval of a run would write many as one.
        store.send(Flush).await.unwrap().unwrap();
    }
    let (size, live) = (database.size(), database.live_bytes());
    assert!(live > 100 * 200 && size >= live, "{live} bytes live of {size}");
    assert!(size < BOUND, "{size} bytes for {live} live ones");
    assert_eq!(health.bytes(), size, "what metrics say");
    let restored = database.load().unwrap();
    assert_eq!(restored.connections.len(), KEYS);
    assert!(restored.connections.values().all(|stored| stored.cooldown.generation == ROUNDS), "the newest");
}
