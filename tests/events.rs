//! `GET /api/events` over real sockets (contract 4): what a listener reads of each kind of change,
//! how it goes on after a break, who may listen, and that nobody who listens holds up the end.

mod process;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use process::{Process, Site, ask, call, eventually, order, read};
use serde_json::{Value, json};

const LEASE_KEY: &str = "sk-managed-0123456789";
const OWNER: &str = "vlo_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
/// How long anything may take before a test fails instead of hanging.
const LIMIT: Duration = Duration::from_secs(20);
/// So many listen at once.
const MOST: usize = 64;

/// One event as it came.
#[derive(Clone, Debug, PartialEq)]
struct Told {
    what: String,
    id: u64,
    data: Value,
}

/// A browser that listens.
struct Ear {
    stream: BufReader<TcpStream>,
    head: String,
    /// What an `id:` line said last.
    last: u64,
    since: Instant,
}

fn request(address: &str, headers: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    let head = format!("GET /api/events HTTP/1.1\r\nhost: h\r\n{headers}\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    stream
}

const TOKEN: &str = "authorization: Bearer process-test\r\n";

impl Ear {
    fn open(process: &Process) -> Self {
        Self::after(process, None)
    }

    /// Listens, and has read the first block: what happens from now on is heard.
    fn after(process: &Process, last: Option<u64>) -> Self {
        let named = last.map(|id| format!("last-event-id: {id}\r\n")).unwrap_or_default();
        let stream = BufReader::new(request(&process.address, &format!("{TOKEN}{named}")));
        let mut ear = Self { stream, head: String::new(), last: 0, since: Instant::now() };
        loop {
            let line = ear.line().expect("a head");
            if line.is_empty() {
                break;
            }
            ear.head += &format!("{}\n", line.to_lowercase());
        }
        assert!(ear.head.starts_with("http/1.1 200"), "{}", ear.head);
        assert_eq!(ear.block().expect("a first block"), [": listening".to_owned(), "retry: 1000".into()]);
        ear
    }

    /// A line without its end; `None`: the connection has ended.
    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let length = self.stream.read_line(&mut line).expect("it comes in time");
        (length > 0).then(|| line.trim_end().to_owned())
    }

    /// The lines of the next block but for its id; `None`: the stream has ended as it should.
    fn block(&mut self) -> Option<Vec<String>> {
        let mut lines = Vec::new();
        loop {
            assert!(self.since.elapsed() < LIMIT, "nothing but comments: {lines:?}");
            let line = self.line().expect("the last chunk comes first");
            let is_size = !line.is_empty() && line.bytes().all(|byte| byte.is_ascii_hexdigit());
            match line.strip_prefix("id: ") {
                Some(id) => self.last = id.parse().unwrap(),
                None if line == "0" => return None,
                None if is_size => {}
                None if !line.is_empty() => lines.push(line),
                None if !lines.is_empty() => return Some(lines),
                None => {}
            }
        }
    }

    fn next(&mut self) -> Told {
        loop {
            let lines = self.block().expect("it goes on");
            let field = |name: &str| lines.iter().find_map(|line| line.strip_prefix(name));
            if let (Some(what), Some(data)) = (field("event: "), field("data: ")) {
                let data = serde_json::from_str(data).unwrap();
                return Told { what: what.into(), id: self.last, data };
            }
        }
    }

    /// The next `count`, each as event, whose, `from > to`, why, and whether it has an end.
    fn lines(&mut self, count: usize) -> Vec<(String, String, String, String, bool)> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let line = |Told { what, data, .. }: Told| {
            let moved = format!("{} > {}", text(&data["from"]), text(&data["to"]));
            let of = format!("{} {}", text(&data["kind"]), text(&data["id"]));
            (what, of, moved, text(&data["reason"]), data["until"].is_string())
        };
        (0..count).map(|_| line(self.next())).collect()
    }
}

fn site(name: &str) -> Site {
    let key = format!(
        "[stream]\nheartbeat = \"50ms\"\n[[keys]]\nname = \"managed\"\nkey = \"{LEASE_KEY}\"\n\
         scopes = [\"inference\", \"lease:exclusive\"]\nallowed_connections = [\"demo-b-1\"]\n"
    );
    Site::with(&format!("events-{name}"), &key)
}

fn lease(process: &Process, body: &Value) {
    let body = body.to_string();
    let mut stream = TcpStream::connect(&process.address).unwrap();
    let head = format!(
        "POST /v1/session-leases HTTP/1.1\r\nhost: h\r\nconnection: close\r\nauthorization: Bearer {LEASE_KEY}\r\n\
         content-type: application/json\r\nx-omniroute-lease-owner: {OWNER}\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    let (status, _, body) = read(stream);
    assert_eq!(status, 200, "{body}");
}

/// Contract 4: breaker, cooldown, lockout, lease, restart, and drains; each exactly once.
#[test]
fn each_kind_of_change_is_one_event() {
    let site = site("kinds");
    let process = site.start();
    let address = &process.address;
    let mut ear = Ear::open(&process);
    for header in ["content-type: text/event-stream\n", "cache-control: no-cache", "x-accel-buffering: no\n"]
    {
        assert!(ear.head.contains(header), "{header}: {}", ear.head);
    }
    order(address, "provider/demo-b", r#"{"message":"trip","for":"60s"}"#);
    order(address, "provider/demo-b", r#"{"message":"reset"}"#);
    order(address, "connection/demo-a-2", r#"{"message":"cool","for":"60s"}"#);
    order(address, "connection/demo-a-2", r#"{"message":"drain"}"#);
    assert_eq!(ask(address, "demo-a/status-404").0, 404);
    lease(&process, &json!({"action": "acquire", "model": "demo-b/steady"}));
    lease(&process, &json!({"action": "release", "generation": 1}));
    order(address, "connection/claude-a-1", r#"{"message":"restart"}"#);
    let lockout = "lockout demo-a-1:family:status-404";
    let expected = [
        ("breaker", "provider demo-b", "closed > open", "manual-trip", true),
        ("breaker", "provider demo-b", "open > closed", "manual-reset", false),
        ("cooldown", "connection demo-a-2", "ready > cooling", "manual-cool", true),
        ("drain", "connection demo-a-2", "ready > draining", "operator", false),
        ("lockout", lockout, "free > locked", "not_found", true),
        ("lease", "connection demo-b-1", "free > leased", "ACQUIRED", true),
        ("lease", "connection demo-b-1", "leased > free", "OWNER_EXIT", false),
        ("restart", "connection claude-a-1", "running > restarting", "operator", false),
    ];
    let expected = expected.map(|(what, of, moved, why, ends)| {
        (what.to_owned(), of.to_owned(), moved.to_owned(), why.to_owned(), ends)
    });
    assert_eq!(ear.lines(expected.len()), expected);
    order(address, "router/router", r#"{"message":"restart"}"#);
    let told = ear.next();
    assert_eq!((told.what.as_str(), &told.data["kind"]), ("restart", &json!("router")));
    let fields: Vec<&str> = told.data.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(
        fields,
        ["at", "from", "id", "kind", "reason", "to", "until"],
        "and nothing of owners or keys"
    );
    assert!(told.data["at"].as_str().unwrap().ends_with('Z'), "{told:?}");
}

/// A browser names what it heard last, and misses nothing of the break.
#[test]
fn who_comes_back_goes_on_behind_what_it_heard() {
    let site = site("back");
    let mut process = site.start();
    let mut ear = Ear::open(&process);
    order(&process.address, "connection/demo-a-1", r#"{"message":"drain"}"#);
    let first = ear.next();
    drop(ear);
    order(&process.address, "connection/demo-a-1", r#"{"message":"undrain"}"#);
    let mut ear = Ear::after(&process, Some(first.id));
    assert_eq!(ear.last, first.id, "the first block says where it begins");
    let second = ear.next();
    assert_eq!((second.id, &second.data["to"]), (first.id + 1, &json!("ready")));
    let (status, _, body) =
        read(request(&process.address, &format!("{TOKEN}connection: close\r\nlast-event-id: x\r\n")));
    assert_eq!(status, 400, "{body}");
    // Another process knows nothing of it, and says so.
    site.crash(&mut process);
    let mut ear = Ear::after(&process, Some(second.id));
    let told = ear.next();
    assert_eq!((told.what.as_str(), told.data), ("missed", json!({"missed": null})));
    assert!(told.id > second.id, "ids rise over a restart");
    order(&process.address, "connection/demo-a-1", r#"{"message":"drain"}"#);
    assert_eq!(ear.next().id, told.id + 1);
}

/// Contract 4: 401 and nothing else; who loses the right loses the stream.
#[test]
fn operators_alone_listen() {
    let site = site("operators");
    let process = site.start();
    let (status, _, body) = read(request(&process.address, "connection: close\r\n"));
    assert_eq!(status, 401);
    assert!(!body.contains("listening"), "{body}");
    let mut ear = Ear::open(&process);
    assert_eq!(ear.block(), Some(vec![": keep-alive".to_owned()]));
    site.edit(|config| config.replace("process-test", "another-token"));
    process.signal("HUP");
    while let Some(block) = ear.block() {
        assert_eq!(block, [": keep-alive"]);
    }
}

/// RFC 9112 6.1: it knows no chunks.
#[test]
fn who_speaks_http_1_0_listens_until_its_connection_ends() {
    let site = site("old");
    let process = site.start();
    let mut stream = TcpStream::connect(&process.address).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    let head = format!("GET /api/events HTTP/1.0\r\nconnection: keep-alive\r\n{TOKEN}\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    let mut lines = BufReader::new(stream).lines().map(|line| line.unwrap().to_lowercase());
    let head: Vec<String> = lines.by_ref().take_while(|line| !line.is_empty()).collect();
    assert!(head[0].starts_with("http/1.0 200"), "{head:?}");
    assert!(!head.iter().any(|line| line.starts_with("transfer-encoding")), "{head:?}");
    assert_eq!(lines.next().unwrap(), ": listening");
}

#[test]
fn so_many_listen_and_who_leaves_makes_room() {
    let site = site("many");
    let process = site.start();
    let mut ears: Vec<Ear> = (0..MOST).map(|_| Ear::open(&process)).collect();
    let (status, head, body) = call(&process.address, "GET", "/api/events", "");
    assert_eq!(status, 503, "{head}");
    assert!(body.contains("\"too_many_listeners\""), "{body}");
    ears.pop().unwrap().stream.get_ref().shutdown(Shutdown::Both).unwrap();
    eventually("room", || {
        let mut stream = request(&process.address, TOKEN);
        let mut status = [0; 12];
        stream.read_exact(&mut status).unwrap();
        status.ends_with(b"200")
    });
}

/// The drain ends listeners at once, and well: neither do they use up its grace.
#[test]
fn nobody_who_listens_holds_up_the_end() {
    let site = site("end");
    let mut process = site.start();
    let mut ears = [Ear::open(&process), Ear::open(&process)];
    let began = Instant::now();
    process.signal("TERM");
    for ear in &mut ears {
        while let Some(block) = ear.block() {
            assert_eq!(block, [": keep-alive"]);
        }
    }
    assert!(process.child.wait().unwrap().success());
    assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
}
