//! The start is over when it says so: whoever asks then sees every owner.
//!
//! The process itself is started, because what went wrong here was a race of its threads.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

const CONFIG: &str = "[server]\nlisten = \"127.0.0.1:0\"\nworkers = 4\n\n[admin]\ntoken = \"start-test\"\n\n\
                      [store]\npath = \"store\"\n\n[demo]\nenabled = true\n";

/// A process that is killed with this value, and its folder.
struct Started {
    child: Child,
    address: String,
    folder: PathBuf,
}

impl Started {
    fn new(number: usize) -> Self {
        let name = format!("switchtower-start-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let config = folder.join("config.toml");
        std::fs::write(&config, CONFIG).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_switchtower"));
        let command = command.arg("serve").arg("--config").arg(&config).env("RUST_LOG", "error");
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on http://").expect("its first line").to_owned();
        Self { child, address, folder }
    }

    fn health(&self) -> Value {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let head = "GET /api/monitoring/health HTTP/1.1\r\nhost: start\r\nconnection: close\r\n\
                    authorization: Bearer start-test\r\n\r\n";
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// FC-060: a connection that rests must be known to rest before the first request is taken. Owners
/// used to publish themselves to a router that was not reachable yet, and were then missing from
/// the board until something happened to them.
#[test]
fn every_connection_is_on_the_board_when_the_start_is_over() {
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
    for number in 0..20 {
        let health = Started::new(number).health();
        let connections = health["connectionHealth"].as_object().unwrap();
        let mut names: Vec<&str> = connections.keys().map(String::as_str).collect();
        names.sort_unstable();
        assert_eq!(names, WANTED, "start {number}");
    }
}
