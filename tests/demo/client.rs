//! A client that shows what was really on the wire.
//!
//! Ordinary clients hide what these tests are about: where a chunk begins, whether the last one
//! came, whether the end was an end or a reset. This one speaks raw TCP and reports all of it.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::Duration;

use actix_web::dev::ServerHandle;
use serde_json::Value;
use switchtower::demo::{self, DemoSettings};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

/// How long a test waits before it calls an upstream silent.
const PATIENCE: Duration = Duration::from_millis(40);
/// How long anything else may take before a test fails instead of hanging.
const LIMIT: Duration = Duration::from_secs(10);

/// A running upstream on a free port; it stops with the test.
pub struct World {
    pub address: SocketAddr,
    handle: ServerHandle,
}

/// How a reply ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Complete,
    Closed,
    Reset,
    Silent,
}

/// What came over the wire.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    pub chunks: Vec<String>,
    pub raw: Vec<u8>,
    pub end: End,
}

impl World {
    pub async fn start() -> Self {
        Self::with_log(true).await
    }

    pub async fn with_log(log: bool) -> Self {
        let listen = SocketAddr::from(([127, 0, 0, 1], 0));
        let demo = demo::bind(DemoSettings { listen, log, workers: 1 }).await.unwrap();
        let address = demo.address();
        let server = demo.server();
        let handle = server.handle();
        actix_rt::spawn(server);
        Self { address, handle }
    }

    /// A POST with a JSON body, as `Wire` so that a test may do odd things with the socket.
    pub async fn open(&self, path: &str, headers: &str, body: &str) -> TcpStream {
        let length = body.len();
        self.raw(&format!(
            "POST {path} HTTP/1.1\r\nhost: demo\r\ncontent-length: {length}\r\n{headers}\r\n{body}"
        ))
        .await
    }

    pub async fn raw(&self, request: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        stream
    }

    pub async fn post(&self, path: &str, body: &str) -> Reply {
        read_reply(&mut self.open(path, "", body).await).await
    }

    /// Like `post`, but once there is `enough`, an upstream that says nothing is taken for silent.
    pub async fn post_until(&self, path: &str, body: &str, enough: impl Fn(&Reply) -> bool) -> Reply {
        read_until(&mut self.open(path, "", body).await, enough).await
    }

    pub async fn post_with(&self, path: &str, headers: &str, body: &str) -> Reply {
        read_reply(&mut self.open(path, headers, body).await).await
    }

    pub async fn call(&self, method: &str, path: &str) -> Reply {
        let request = format!("{method} {path} HTTP/1.1\r\nhost: demo\r\n\r\n");
        read_reply(&mut self.raw(&request).await).await
    }

    pub async fn log(&self, query: &str) -> Vec<Value> {
        let page = self.call("GET", &format!("/demo/log{query}")).await.json();
        page["requests"].as_array().unwrap().clone()
    }

    /// The only entry of the log, as soon as it is as wanted.
    pub async fn log_entry(&self, wanted: impl Fn(&Value) -> bool) -> Value {
        for _ in 0..1000 {
            if let Some(entry) = self.log("").await.into_iter().find(&wanted) {
                return entry;
            }
            sleep(Duration::from_millis(1)).await;
        }
        panic!("no such entry in {:?}", self.log("").await);
    }
}

impl Drop for World {
    fn drop(&mut self) {
        drop(self.handle.stop(false));
    }
}

impl Reply {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Every `data:` of the stream that is JSON, and that each chunk is exactly one event.
    pub fn events(&self) -> Vec<Value> {
        let data = self.chunks.iter().map(|chunk| {
            assert!(chunk.ends_with("\n\n") || chunk.ends_with("\r\n\r\n"), "one whole frame: {chunk:?}");
            let mut lines = chunk.lines().filter_map(|line| line.strip_prefix("data: "));
            let data = lines.next().unwrap();
            assert_eq!(lines.next(), None, "one event in a chunk: {chunk:?}");
            data
        });
        data.filter(|data| *data != "[DONE]").map(|data| serde_json::from_str(data).unwrap()).collect()
    }
}

/// Reads one reply, or as much of it as comes.
pub async fn read_reply(stream: &mut TcpStream) -> Reply {
    read_until(stream, |_| false).await
}

/// Reads one reply; from `enough` on, silence ends it too. Waiting for silence only then keeps a
/// busy machine from looking like a silent upstream.
pub async fn read_until(stream: &mut TcpStream, enough: impl Fn(&Reply) -> bool) -> Reply {
    let mut raw = Vec::new();
    let mut piece = [0; 4096];
    let mut patience = if enough(&parse(&raw, End::Complete).0) { PATIENCE } else { LIMIT };
    loop {
        let end = match timeout(patience, stream.read(&mut piece)).await {
            Err(_) => End::Silent,
            Ok(Ok(0)) => End::Closed,
            Ok(Ok(count)) => {
                raw.extend_from_slice(&piece[..count]);
                End::Complete
            }
            Ok(Err(error)) if error.kind() == ErrorKind::ConnectionReset => End::Reset,
            Ok(Err(error)) => panic!("{error}"),
        };
        let (reply, complete) = parse(&raw, end);
        if complete || end != End::Complete {
            return reply;
        }
        patience = if enough(&reply) { PATIENCE } else { LIMIT };
    }
}

fn parse(raw: &[u8], end: End) -> (Reply, bool) {
    let mut reply = Reply {
        status: 0,
        headers: Vec::new(),
        body: Vec::new(),
        chunks: Vec::new(),
        raw: raw.to_vec(),
        end,
    };
    let Some(at) = raw.windows(4).position(|window| window == b"\r\n\r\n") else {
        return (reply, false);
    };
    let head = String::from_utf8_lossy(&raw[..at]).into_owned();
    let Some(status) = head.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)) else {
        return (reply, false);
    };
    reply.status = status.parse().unwrap();
    let lines = head.lines().skip(1).filter_map(|line| line.split_once(": "));
    reply.headers = lines.map(|(name, value)| (name.to_lowercase(), value.to_owned())).collect();
    let rest = &raw[at + 4..];
    let complete = match reply.header("content-length").map(|length| length.parse::<usize>().unwrap()) {
        Some(length) => {
            reply.body = rest.to_vec();
            assert!(rest.len() <= length, "more than promised");
            rest.len() == length
        }
        None if reply.header("transfer-encoding") == Some("chunked") => parse_chunks(&mut reply, rest),
        None => true,
    };
    if complete {
        reply.end = End::Complete;
    }
    (reply, complete)
}

fn parse_chunks(reply: &mut Reply, mut rest: &[u8]) -> bool {
    while let Some(at) = rest.windows(2).position(|window| window == b"\r\n") {
        let length = usize::from_str_radix(std::str::from_utf8(&rest[..at]).unwrap(), 16).unwrap();
        let Some(chunk) = rest.get(at + 2..at + 2 + length) else {
            return false;
        };
        let Some(after) = rest.get(at + 4 + length..) else {
            return false;
        };
        if length == 0 {
            return true;
        }
        reply.chunks.push(String::from_utf8_lossy(chunk).into_owned());
        reply.body.extend_from_slice(chunk);
        rest = after;
    }
    false
}
