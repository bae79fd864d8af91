//! The start is over when it says so: whoever asks then sees every owner.
//!
//! The process itself is started, because what went wrong here was a race of its threads.

#[path = "support/process.rs"]
mod process;

use process::{Process, TOKEN};

/// FC-060: a connection that rests must be known to rest before the first request is taken. Owners
/// used to publish themselves to a router that was not reachable yet, and were then missing from
/// the board until something happened to them.
#[test]
fn fc_060_every_connection_is_on_the_board_when_the_start_is_over() {
    const WANTED: [&str; 8] = [
        "claude-a-1",
        "claude-a-2",
        "claude-b-1",
        "demo-a-1",
        "demo-a-2",
        "demo-b-1",
        "gemini-a-1",
        "responses-a-1",
    ];
    let config = format!(
        "[server]\nlisten = \"127.0.0.1:0\"\nworkers = 4\n[admin]\ntoken = \"{TOKEN}\"\n\
         [store]\npath = \"store\"\n[demo]\nenabled = true\n"
    );
    // a race shows in one of many starts
    for number in 0..12 {
        let (_, health) = Process::serve(&config).get("/api/monitoring/health");
        let connections = health["connectionHealth"].as_object().unwrap();
        let mut names: Vec<&str> = connections.keys().map(String::as_str).collect();
        names.sort_unstable();
        assert_eq!(names, WANTED, "start {number}");
    }
}

/// A table of descriptors that grows while threads run stops all of them for 10 to 25 ms: streams felt
/// it at 64, 128 and 256 sockets. It has its size before the first request, whatever soft limit the
/// process was given; 1000 streams need 2000 descriptors.
#[test]
fn room_for_sockets_is_made_before_the_first_request() {
    let config =
        format!("[server]\nlisten = \"127.0.0.1:0\"\n[admin]\ntoken = \"{TOKEN}\"\n[demo]\nenabled = true\n");
    let told = |process: &Process, file: &str, name: &str| -> Vec<u64> {
        let text = std::fs::read_to_string(format!("/proc/{}/{file}", process.id())).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.split_whitespace().map_while(|word| word.parse().ok()).collect()
    };
    let process = Process::serve_below(&config, 256);
    let limits = told(&process, "limits", "Max open files");
    assert_eq!(limits[0], limits[1], "the soft limit is the hard one");
    let room = told(&process, "status", "FDSize:")[0];
    assert!(room >= limits[1].min(16_384), "room for {room} of {limits:?}");
    assert_eq!(process.chat("demo-a/demo").0, 200);
}
