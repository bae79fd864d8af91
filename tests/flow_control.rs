//! Clients that are many, slow, wrong or gone, over real sockets: what they may cost others.
//!
//! The field cases of the topics queue, slow-client, resources and slot-leak (FC-010, FC-011,
//! FC-048, FC-051, FC-105, FC-106, FC-112, FC-126). What one client's leaving does to its own request stands in
//! `disconnect`, what the libraries do in `transport`.

#[path = "flow_control/abandoned.rs"]
mod abandoned;
#[path = "flow_control/berths.rs"]
mod berths;
#[path = "flow_control/blame.rs"]
mod blame;
#[path = "flow_control/budget.rs"]
mod budget;
#[path = "support/process.rs"]
mod process;
#[path = "flow_control/queue.rs"]
mod queue;
#[path = "flow_control/refusals.rs"]
mod refusals;
#[path = "flow_control/slow.rs"]
mod slow;
#[allow(dead_code, unused_imports, reason = "each test file uses its part")]
mod support;
#[path = "flow_control/turns.rs"]
mod turns;

use std::fs;

use serde_json::json;
use support::{Answer, Gate, Wire, World, eventually};

const CHAT: &str = "/v1/chat/completions";

/// Nothing is left of what was refused or gave up: no slot, no request, no blame.
#[track_caller]
fn nothing_remains(world: &World) {
    eventually("every slot is free", || world.in_flight("a-1") == 0);
    eventually("no request is left", || world.admin("/api/actors/router/router").json()["inFlight"] == 0);
    assert_eq!(world.failures("a"), 0, "nothing counts on the breaker");
    let cooldown = &world.snapshot("a-1")["cooldown"];
    assert!(cooldown["until"].is_null(), "nothing rests: {cooldown}");
    assert_eq!((&cooldown["level"], &cooldown["terminal"]), (&json!(0), &json!(null)), "{cooldown}");
}

/// Requests that the vendor holds until the gate opens.
fn held(world: &World, count: usize) -> (Gate, Vec<Wire>) {
    let gate = Gate::default();
    world.upstream("a").answers(Answer::good("a").held_by(&gate));
    let before = world.upstream("a").asked();
    let wires = (0..count).map(|_| world.open(CHAT, &json!({"model": "a/x"}))).collect();
    eventually("the vendor holds them all", || world.upstream("a").asked() == before + count);
    (gate, wires)
}

/// Open descriptors of a process.
fn descriptors(process: u32) -> usize {
    fs::read_dir(format!("/proc/{process}/fd")).map_or(0, Iterator::count)
}

/// Resident memory of a process, KiB.
fn resident_kib(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a process has memory");
    line.trim().trim_end_matches("kB").trim().parse().unwrap()
}
