//! The real process, for tests whose subject is the process: started from a config text in a folder
//! of its own, asked over plain sockets, killed with this value.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde_json::Value;

/// The admin token of every config here.
pub const TOKEN: &str = "process-test";
/// No answer takes longer; a test fails instead of hanging.
const LIMIT: Duration = Duration::from_secs(20);

/// A running switchtower.
pub struct Process {
    child: Child,
    /// `host:port`.
    pub address: String,
    folder: Option<PathBuf>,
}

impl Process {
    /// `serve` with this config; its listen address must be port 0.
    pub fn serve(config: &str) -> Self {
        let (file, folder) = Self::site(config);
        let mut command = Command::new(env!("CARGO_BIN_EXE_switchtower"));
        Self::start(command.args(["serve", "--config"]).arg(file), Some(folder))
    }

    /// The file of this config in a folder of its own, and the folder.
    fn site(config: &str) -> (PathBuf, PathBuf) {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder =
            std::env::temp_dir().join(format!("switchtower-process-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("config.toml");
        std::fs::write(&file, config).unwrap();
        (file, folder)
    }

    fn start(command: &mut Command, folder: Option<PathBuf>) -> Self {
        let command = command.env("RUST_LOG", "error").stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on http://").expect("its first line").to_owned();
        Self { child, address, folder }
    }

    /// A GET as an operator: status and JSON.
    pub fn get(&self, path: &str) -> (u16, Value) {
        self.ask(&format!("GET {path} HTTP/1.1\r\nauthorization: Bearer {TOKEN}\r\n"), "")
    }

    fn ask(&self, head: &str, body: &str) -> (u16, Value) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        let (host, length) = (&self.address, body.len());
        let rest = format!("host: {host}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}");
        stream.write_all(format!("{head}{rest}").as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").expect("a whole head");
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        (status, serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {answer}")))
    }
}

/// What only some of the tests ask for.
#[allow(dead_code)]
impl Process {
    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The scripted upstream alone.
    pub fn upstream() -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_switchtower"));
        Self::start(command.args(["demo-upstream", "--listen", "127.0.0.1:0"]), None)
    }

    /// [`Process::serve`] under a soft limit of open files.
    pub fn serve_below(config: &str, files: u32) -> Self {
        let (file, folder) = Self::site(config);
        let mut command = Command::new("sh");
        let lines = format!("ulimit -Sn {files}; exec \"$0\" serve --config \"$1\"");
        Self::start(command.args(["-c", &lines, env!("CARGO_BIN_EXE_switchtower")]).arg(file), Some(folder))
    }

    /// A chat request for `model`: status and JSON.
    pub fn chat(&self, model: &str) -> (u16, Value) {
        let body =
            format!(r#"{{"model":"{model}","messages":[{{"role":"user","content":"How are you?"}}]}}"#);
        self.ask("POST /v1/chat/completions HTTP/1.1\r\ncontent-type: application/json\r\n", &body)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if let Some(folder) = &self.folder {
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}
