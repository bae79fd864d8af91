//! The stage: the scripted upstream, and one proxy after the other in front of it.
//!
//! All of them live in a scratch folder and on free ports of the loopback, and go with this value.

use std::io::{Error, Result};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Command, Stdio};
use std::rc::Rc;
use std::{env, fs};

use super::folder::Folder;
use super::load::Shot;
use super::process::{LOAD_CORE, PROXY_CORE, Process, can_pin};

/// One worker, keep-alive both ways, nothing buffered: the practical limit of a proxy.
const NGINX: &str = "\
worker_processes 1;
daemon off;
pid ${RUN}/nginx.pid;
error_log ${RUN}/nginx-error.log warn;
events { worker_connections 4096; }
http {
  access_log off;
  client_body_temp_path ${RUN}/nginx-body; proxy_temp_path ${RUN}/nginx-proxy;
  fastcgi_temp_path ${RUN}/nginx-f; uwsgi_temp_path ${RUN}/nginx-u; scgi_temp_path ${RUN}/nginx-s;
  keepalive_requests 10000000;
  tcp_nodelay on;
  upstream good { server ${UP}; keepalive 512; keepalive_requests 10000000; }
  proxy_http_version 1.1;
  proxy_set_header Connection \"\";
  proxy_set_header Host $host;
  proxy_buffering off;
  proxy_read_timeout 600s;
  server {
    listen ${LISTEN} backlog=4096;
    location / { proxy_pass http://good; }
  }
}
";

const SWITCHTOWER: &str = r#"
[server]
listen = "127.0.0.1:0"
workers = 1
[store]
path = "store"
[[providers]]
id = "up"
auth = "apikey"
format = "openai"
base_url = "http://${UP}/v1"
[[connections]]
id = "up-1"
provider = "up"
credential = "bench"
"#;

/// Who is asked.
pub struct Target {
    /// The name in the tables.
    pub name: &'static str,
    /// Its process; none for `direct`.
    pub process: Option<Process>,
    /// Resident memory before the first request, MiB.
    pub idle_mib: f64,
    address: SocketAddr,
    prefix: &'static str,
}

/// Everything that runs.
pub struct Stage {
    /// `direct` first, `switchtower` last, nginx between if it is installed.
    pub targets: Vec<Target>,
    /// What the reader must know about this run.
    pub notes: Vec<String>,
    // after the targets: fields are dropped in order, the upstream must outlive the proxies
    _upstream: Process,
    _folder: Folder,
}

impl Stage {
    /// Starts all of it.
    pub async fn set() -> Result<Self> {
        let folder = Folder::make("overhead")?;
        let program = env::var("SWITCHTOWER_BIN").unwrap_or(env!("CARGO_BIN_EXE_switchtower").into());
        let listen = ["demo-upstream", "--no-log", "--listen", "127.0.0.1:0"];
        let (upstream, up) = Process::start(LOAD_CORE, &program, &listen)?;
        let mut notes = Vec::new();
        if !can_pin() {
            notes.push(
                "not pinned (two cores and `taskset` are needed): the load shares the proxy's core".into(),
            );
        }
        let mut targets =
            vec![Target { name: "direct", process: None, idle_mib: 0.0, address: up, prefix: "" }];
        match nginx(&folder.0, up) {
            Ok(Some(nginx)) => targets.push(nginx),
            Ok(None) => {
                notes.push("nginx is not installed: no comparison, its budgets are not judged".into())
            }
            Err(error) => notes.push(format!("nginx does not start ({error}): no comparison")),
        }
        targets.push(switchtower(&folder.0, &program, up)?);
        Ok(Self { targets, notes, _upstream: upstream, _folder: folder })
    }
}

impl Target {
    fn new(name: &'static str, process: Process, address: SocketAddr, prefix: &'static str) -> Self {
        let idle_mib = process.resident_mib();
        Self { name, process: Some(process), idle_mib, address, prefix }
    }

    /// A chat request for `model` in a body of at least `body_bytes`.
    pub fn shot(&self, model: &str, stream: bool, body_bytes: usize) -> Shot {
        let body = |padding: usize| {
            let (prefix, words) = (self.prefix, "word ".repeat(padding.div_ceil(5)));
            let text = format!("What does a proxy cost? {}", &words[..padding]);
            format!(
                r#"{{"model":"{prefix}{model}","stream":{stream},"messages":[{{"role":"user","content":"{text}"}}]}}"#
            )
        };
        let body = body(body_bytes.saturating_sub(body(0).len()));
        let (address, length) = (self.address, body.len());
        let request = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nhost: {address}\r\nuser-agent: overhead\r\naccept: */*\r\n\
             authorization: Bearer bench\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        Shot { address, request: Rc::from(request.into_bytes()) }
    }
}

fn nginx(folder: &Path, up: SocketAddr) -> Result<Option<Target>> {
    let mut version = Command::new("nginx");
    if version.arg("-v").stdout(Stdio::null()).stderr(Stdio::null()).status().is_err() {
        return Ok(None);
    }
    // nginx cannot say which port it got, so a free one is looked for before
    let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
    let run = text(folder)?;
    let config = NGINX.replace("${RUN}", run).replace("${UP}", &up.to_string());
    let file = folder.join("nginx.conf");
    fs::write(&file, config.replace("${LISTEN}", &address.to_string()))?;
    let log = folder.join("nginx-error.log");
    let arguments = ["-p", run, "-e", text(&log)?, "-c", text(&file)?];
    let process = Process::start_on(address, PROXY_CORE, "nginx", &arguments)?;
    Ok(Some(Target::new("nginx", process, address, "")))
}

fn switchtower(folder: &Path, program: &str, up: SocketAddr) -> Result<Target> {
    let file = folder.join("config.toml");
    fs::write(&file, SWITCHTOWER.replace("${UP}", &up.to_string()))?;
    let arguments = ["serve", "--config", text(&file)?];
    let (process, address) = Process::start(PROXY_CORE, program, &arguments)?;
    Ok(Target::new("switchtower", process, address, "up/"))
}

fn text(path: &Path) -> Result<&str> {
    path.to_str().ok_or_else(|| Error::other(format!("{} is no text", path.display())))
}
