//! A client that shows what was really on the wire: chunks, the last chunk, a reset.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::LIMIT;

/// How a reply ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// With its last byte or chunk.
    Complete,
    /// The connection was closed before it.
    Closed,
    /// The connection was reset before it.
    Reset,
    /// It has not ended yet.
    Open,
}

/// What came over the wire.
#[derive(Clone, Debug)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    pub chunks: Vec<Vec<u8>>,
    pub end: End,
}

impl Reply {
    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// A header that comes at most once.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.iter().filter(|(known, _)| known == name).map(|(_, value)| value);
        let value = values.next();
        assert!(values.next().is_none(), "{name} came more than once");
        value.map(String::as_str)
    }

    /// `error.code`.
    pub fn code(&self) -> String {
        self.json()["error"]["code"].as_str().unwrap_or_default().to_owned()
    }

    /// The reply is a complete good one of this upstream.
    #[track_caller]
    pub fn served_by(&self, who: &str) -> &Self {
        assert_eq!((self.status, self.end), (200, End::Complete), "{}", self.text());
        assert!(self.text().contains(&format!(r#""served_by":"{who}""#)), "{}", self.text());
        self
    }

    /// The reply is a complete error of ours.
    #[track_caller]
    pub fn is_error(&self, status: u16, code: &str) -> &Self {
        assert_eq!((self.status, self.end), (status, End::Complete), "{}", self.text());
        assert_eq!(self.code(), code, "{}", self.text());
        self
    }
}

/// A request as bytes; `headers` are lines that end in CRLF.
pub fn request_bytes(method: &str, path: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head =
        format!("{method} {path} HTTP/1.1\r\nhost: switchtower\r\ncontent-length: {length}\r\n{headers}\r\n");
    [head.as_bytes(), body].concat()
}

/// Sends a POST and reads the whole reply.
pub fn post(address: SocketAddr, path: &str, headers: &str, body: &[u8]) -> Reply {
    let mut wire = Wire::open(address);
    wire.send(&request_bytes("POST", path, headers, body));
    wire.reply()
}

/// A connection of a client.
pub struct Wire {
    stream: TcpStream,
    raw: Vec<u8>,
    end: End,
}

impl Wire {
    pub fn open(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream, raw: Vec::new(), end: End::Open }
    }

    /// The socket, for its options.
    pub fn stream(&self) -> &TcpStream {
        &self.stream
    }

    #[track_caller]
    pub fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    /// Sends what the peer takes; false when it has closed.
    pub fn try_send(&mut self, bytes: &[u8]) -> bool {
        self.stream.write_all(bytes).is_ok()
    }

    /// The end with an RST.
    pub fn reset(self) {
        socket2::SockRef::from(&self.stream).set_linger(Some(Duration::ZERO)).unwrap();
    }

    /// Reads the head of an interim reply and forgets it; its status line.
    #[track_caller]
    pub fn interim(&mut self) -> String {
        self.read_until(|_| true);
        let end = self.raw.windows(4).position(|window| window == b"\r\n\r\n").unwrap();
        let head: Vec<u8> = self.raw.drain(..end + 4).collect();
        String::from_utf8(head).unwrap().lines().next().unwrap().to_owned()
    }

    /// Forgets the reply that was read, for the next one on this connection.
    pub fn forget(&mut self) {
        self.raw.clear();
    }

    /// Reads one whole reply, or as much of it as comes.
    #[track_caller]
    pub fn reply(&mut self) -> Reply {
        self.read_until(|reply| reply.end != End::Open)
    }

    /// Reads until the peer has closed, whatever it says before.
    #[track_caller]
    pub fn read_to_the_end(&mut self) -> Reply {
        self.stream.set_read_timeout(Some(LIMIT)).unwrap();
        self.end = match self.stream.read_to_end(&mut self.raw) {
            Ok(_) => End::Closed,
            Err(error) if error.kind() == ErrorKind::ConnectionReset => End::Reset,
            Err(error) => panic!("{error}"),
        };
        Reply { end: self.end, ..parse(&self.raw).0 }
    }

    /// Reads until the reply is as wanted, or has ended.
    #[track_caller]
    pub fn read_until(&mut self, wanted: impl Fn(&Reply) -> bool) -> Reply {
        let deadline = Instant::now() + LIMIT;
        let mut piece = vec![0; 1024 * 1024];
        loop {
            let (mut reply, complete) = parse(&self.raw);
            reply.end = if complete && reply.status >= 200 { End::Complete } else { self.end };
            if reply.end != End::Open || (reply.status != 0 && wanted(&reply)) {
                return reply;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "no reply in time; so far {} {}", reply.status, reply.text());
            self.stream.set_read_timeout(Some(left)).unwrap();
            match self.stream.read(&mut piece) {
                Ok(0) => self.end = End::Closed,
                Ok(count) => self.raw.extend_from_slice(&piece[..count]),
                Err(error) if error.kind() == ErrorKind::ConnectionReset => self.end = End::Reset,
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                Err(error) => panic!("{error}"),
            }
        }
    }
}

fn parse(raw: &[u8]) -> (Reply, bool) {
    let mut reply =
        Reply { status: 0, headers: Vec::new(), body: Vec::new(), chunks: Vec::new(), end: End::Open };
    let Some(at) = raw.windows(4).position(|window| window == b"\r\n\r\n") else {
        return (reply, false);
    };
    let head = String::from_utf8_lossy(&raw[..at]).into_owned();
    let status = head.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)).expect("a status line");
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
    (reply, complete)
}

fn parse_chunks(reply: &mut Reply, mut rest: &[u8]) -> bool {
    while let Some(at) = rest.windows(2).position(|window| window == b"\r\n") {
        let length = usize::from_str_radix(std::str::from_utf8(&rest[..at]).unwrap(), 16).unwrap();
        let Some(chunk) = rest.get(at + 2..at + 2 + length) else { return false };
        let Some(after) = rest.get(at + 4 + length..) else { return false };
        if length == 0 {
            assert!(after.is_empty(), "bytes behind the last chunk");
            return true;
        }
        reply.chunks.push(chunk.to_vec());
        reply.body.extend_from_slice(chunk);
        rest = after;
    }
    false
}
