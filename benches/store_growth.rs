//! How the store grows when the same keys are overwritten again and again (field case 063).
//!
//! `cargo bench --bench store_growth [-- --quick]`. 5 M saves of 1000 connections, 200 bytes each, go
//! through the Store actor as the owners' own do: newest per key, one batch and one flush per
//! interval. An interval here is one round over all keys, so that every overwrite reaches the disk;
//! in service the interval is 250 ms, and what is overwritten within it is written once. The field
//! case's 100 k values of 40 KB do not happen here: the store holds snapshots of owners, no call
//! logs. At the end a store that is mostly waste is made and opened, to show the rewrite.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use actix::{Actor, Addr};
use actors::messages::{ConnectionSnapshot, Owner, Snapshot, StoreLink};
use actors::watch::{DeathWatch, Living};
use switchtower::storage::{Database, Flush, Health, Store};

const KEYS: usize = 1000;
const VALUE_BYTES: usize = 200;
const MIB: f64 = 1024.0 * 1024.0;
/// The actor's own timer must not come between: rounds are flushed by order.
const NEVER: Duration = Duration::from_secs(3600);
/// The store is rewritten at start above this size and eight times its live data.
const REWRITE_ABOVE: u64 = 64 * 1024 * 1024;

fn main() {
    let quick = std::env::args().any(|argument| argument == "--quick");
    let (overwrites, every) = if quick { (50_000, 10_000) } else { (5_000_000, 500_000) };
    let folder = std::env::temp_dir().join(format!("switchtower-growth-{}", std::process::id()));
    let measured = actix_rt::System::new().block_on(grow(folder.join("store"), overwrites, every));
    let rewritten = measured.and_then(|()| show_rewrite(&folder.join("wasteful")));
    // What is left in a temporary folder is no failure of the measurement.
    let _ = std::fs::remove_dir_all(&folder);
    if let Err(error) = rewritten {
        eprintln!("store_growth: {error}");
        std::process::exit(1);
    }
}

async fn grow(path: PathBuf, overwrites: usize, every: usize) -> Result<(), String> {
    let database = Database::open(&path).map_err(|error| error.to_string())?;
    let link = StoreLink::new(2 * KEYS);
    let watch = DeathWatch::new(Living::new(), |_| {});
    let store =
        Store::new(database.clone(), Arc::default(), NEVER, Arc::new(Health::default()), watch).start();
    link.install(store.clone().recipient());
    let value = snapshot();
    println!(
        "{overwrites} overwrites of {KEYS} keys, {VALUE_BYTES} bytes each, a batch and a flush for every {KEYS}"
    );
    println!("| overwrites | folder MiB | live MiB | seconds |\n|---|---|---|---|");
    let started = Instant::now();
    let mut largest: f64 = 0.0;
    for round in 1..=overwrites / KEYS {
        save_all(&link, &store, &value, round as u64).await?;
        if (round * KEYS).is_multiple_of(every) {
            let (size, live) = (folder_bytes(&path) as f64 / MIB, database.live_bytes() as f64 / MIB);
            println!("| {} | {size:.1} | {live:.2} | {:.1} |", round * KEYS, started.elapsed().as_secs_f64());
            largest = largest.max(size);
        }
    }
    println!("largest: {largest:.1} MiB (a start rewrites above {} MiB)", REWRITE_ABOVE as f64 / MIB);
    Ok(())
}

/// One round: every key once, then what the interval does.
async fn save_all(
    link: &StoreLink,
    store: &Addr<Store>,
    value: &ConnectionSnapshot,
    round: u64,
) -> Result<(), String> {
    for key in 0..KEYS {
        let owner = Owner::Connection(format!("connection-{key:04}").as_str().into());
        let mut value = value.clone();
        // every write differs, as real ones do
        value.cooldown.generation = round;
        link.save(owner, Some(Snapshot::Connection(value)));
    }
    store.send(Flush).await.map_err(|error| error.to_string())?
}

/// A connection whose record is of the wanted size.
fn snapshot() -> ConnectionSnapshot {
    let mut value = ConnectionSnapshot::default();
    let short = serde_json::to_vec(&value).expect("a snapshot is JSON").len();
    value.fingerprint = "f".repeat(VALUE_BYTES.saturating_sub(short));
    value
}

/// Makes a store of much waste behind switchtower's back and opens it as a start does.
fn show_rewrite(path: &Path) -> Result<(), String> {
    let text = |error: sled::Error| error.to_string();
    let raw = sled::Config::new().path(path).flush_every_ms(None).open().map_err(text)?;
    let waste = raw.open_tree("quarantine").map_err(text)?;
    raw.open_tree("meta").map_err(text)?.insert("kept", "through the rewrite").map_err(text)?;
    for number in 0_u32..4_000 {
        waste.insert(number.to_be_bytes(), vec![number as u8; 40 * 1024]).map_err(text)?;
    }
    waste.clear().map_err(text)?;
    raw.flush().map_err(text)?;
    drop((waste, raw));
    let before = folder_bytes(path);
    let started = Instant::now();
    let database = Database::open(path).map_err(|error| error.to_string())?;
    let (after, live) = (folder_bytes(path), database.live_bytes());
    println!(
        "a start on {:.1} MiB with {live} live bytes: {:.1} MiB after it, in {:.2} s",
        before as f64 / MIB,
        after as f64 / MIB,
        started.elapsed().as_secs_f64(),
    );
    let kept = database.meta("kept").map_err(text)?;
    if kept.as_deref() != Some(b"through the rewrite".as_slice()) {
        return Err("the rewrite lost a record".into());
    }
    if before > REWRITE_ABOVE && after >= before {
        return Err(format!("{before} bytes were not rewritten"));
    }
    Ok(())
}

fn folder_bytes(path: &Path) -> u64 {
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    let bytes = entries.map(|entry| match entry.metadata() {
        Ok(found) if found.is_dir() => folder_bytes(&entry.path()),
        Ok(found) => found.len(),
        // sled moves files while they are counted
        Err(_) => 0,
    });
    bytes.sum()
}
