//! A fake vendor on raw TCP: does what its script says and records what it got.
//!
//! One thread for each connection, blocking, so that a script is what happens on the
//! wire and nothing else.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::answer::{Answer, Gate, Step};

/// How often a waiting thread looks whether the test is over.
const LOOK: Duration = Duration::from_millis(10);

/// One request as it came.
#[derive(Clone, Debug)]
pub struct Received {
    /// The head, verbatim, without the blank line.
    pub head: String,
    /// The body as far as it came.
    pub body: Vec<u8>,
    /// When its head was complete.
    pub at: Instant,
    /// When the peer closed or reset the connection.
    pub closed: Option<Instant>,
}

impl Received {
    /// The values of a header.
    pub fn headers(&self, name: &str) -> Vec<&str> {
        let lines = self.head.lines().skip(1).filter_map(|line| line.split_once(':'));
        lines.filter(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim()).collect()
    }

    /// The value of a header that comes once.
    pub fn header(&self, name: &str) -> Option<&str> {
        let values = self.headers(name);
        assert!(values.len() <= 1, "{name} came {} times", values.len());
        values.first().copied()
    }
}

#[derive(Default)]
struct Shared {
    next: Mutex<VecDeque<Answer>>,
    always: Mutex<Answer>,
    requests: Mutex<Vec<Received>>,
    connections: AtomicUsize,
    over: AtomicBool,
}

/// A running fake vendor; its threads end when it is dropped.
#[derive(Clone)]
pub struct Upstream {
    /// Where it listens, or refuses.
    pub address: SocketAddr,
    shared: Arc<Shared>,
    life: Arc<Life>,
}

struct Life {
    shared: Arc<Shared>,
    /// Held, bound but not listening: whoever connects is refused, and nobody else gets the port.
    _refusing: Option<socket2::Socket>,
}

impl Drop for Life {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::Release);
    }
}

impl Upstream {
    /// Listens and answers 200 until told otherwise.
    pub fn start(name: &str) -> Self {
        Self::listening(TcpListener::bind("127.0.0.1:0").unwrap(), name)
    }

    /// The same elsewhere.
    pub fn listening(listener: TcpListener, name: &str) -> Self {
        listener.set_nonblocking(true).unwrap();
        let upstream = Self::at(listener.local_addr().unwrap(), None);
        upstream.answers(Answer::good(name));
        let shared = upstream.shared.clone();
        std::thread::spawn(move || accept(&listener, &shared));
        upstream
    }

    /// Refuses every connection.
    pub fn refusing() -> Self {
        let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
        let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
        socket.bind(&any.into()).unwrap();
        let address = socket.local_addr().unwrap().as_socket().unwrap();
        Self::at(address, Some(socket))
    }

    fn at(address: SocketAddr, refusing: Option<socket2::Socket>) -> Self {
        let shared = Arc::new(Shared::default());
        let life = Arc::new(Life { shared: shared.clone(), _refusing: refusing });
        Self { address, shared, life }
    }

    /// From now on this to every request.
    pub fn answers(&self, answer: Answer) -> &Self {
        self.shared.next.lock().unwrap().clear();
        *self.shared.always.lock().unwrap() = answer;
        self
    }

    /// These to the next requests, in order, before what it always answers.
    pub fn answers_first(&self, answers: impl IntoIterator<Item = Answer>) -> &Self {
        self.shared.next.lock().unwrap().extend(answers);
        self
    }

    /// What it got so far.
    pub fn requests(&self) -> Vec<Received> {
        self.shared.requests.lock().unwrap().clone()
    }

    /// How many requests it got.
    pub fn asked(&self) -> usize {
        self.shared.requests.lock().unwrap().len()
    }

    /// The only request it got.
    pub fn only_request(&self) -> Received {
        let requests = self.requests();
        assert_eq!(requests.len(), 1, "requests");
        requests.into_iter().next().unwrap()
    }

    /// How many connections were opened to it.
    pub fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::Acquire)
    }

    /// Requests whose connection the peer has closed.
    pub fn closed(&self) -> usize {
        self.shared.requests.lock().unwrap().iter().filter(|request| request.closed.is_some()).count()
    }
}

impl Shared {
    fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    fn answer(&self) -> Answer {
        let next = self.next.lock().unwrap().pop_front();
        next.unwrap_or_else(|| self.always.lock().unwrap().clone())
    }

    fn peer_closed(&self, index: Option<usize>) {
        let Some(index) = index else { return };
        self.requests.lock().unwrap()[index].closed.get_or_insert_with(Instant::now);
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    while !shared.is_over() {
        match listener.accept() {
            Ok((stream, _)) => {
                shared.connections.fetch_add(1, Ordering::AcqRel);
                let shared = shared.clone();
                std::thread::spawn(move || Talk::new(stream, shared).run());
            }
            Err(_) => std::thread::sleep(Duration::from_millis(1)),
        }
    }
}

/// One connection.
struct Talk {
    stream: TcpStream,
    shared: Arc<Shared>,
    read: Vec<u8>,
    current: Option<usize>,
}

enum After {
    NextRequest,
    End,
}

impl Talk {
    fn new(stream: TcpStream, shared: Arc<Shared>) -> Self {
        stream.set_nonblocking(false).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(LOOK)).unwrap();
        Self { stream, shared, read: Vec::new(), current: None }
    }

    fn run(mut self) {
        while let Some(index) = self.head() {
            self.current = Some(index);
            let answer = self.shared.answer();
            if !answer.early && !self.body(index) {
                break;
            }
            if let After::End = self.act(answer) {
                return;
            }
        }
        self.shared.peer_closed(self.current);
    }

    /// Reads more; false when the peer has closed or the test is over.
    fn more(&mut self) -> bool {
        let mut piece = [0; 65536];
        while !self.shared.is_over() {
            match self.stream.read(&mut piece) {
                Ok(0) => return false,
                Ok(count) => {
                    self.read.extend_from_slice(&piece[..count]);
                    return true;
                }
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                Err(_) => return false,
            }
        }
        false
    }

    fn head(&mut self) -> Option<usize> {
        let end = loop {
            if let Some(end) = self.read.windows(4).position(|window| window == b"\r\n\r\n") {
                break end;
            }
            if !self.more() {
                return None;
            }
        };
        let head = String::from_utf8(self.read[..end].to_vec()).unwrap();
        self.read.drain(..end + 4);
        let received = Received { head, body: Vec::new(), at: Instant::now(), closed: None };
        let mut requests = self.shared.requests.lock().unwrap();
        requests.push(received);
        Some(requests.len() - 1)
    }

    /// Reads the body of a request; our own client always states its length.
    fn body(&mut self, index: usize) -> bool {
        let mut left = {
            let requests = self.shared.requests.lock().unwrap();
            requests[index].header("content-length").map_or(0, |length| length.parse().unwrap())
        };
        loop {
            let part: Vec<u8> = self.read.drain(..self.read.len().min(left)).collect();
            left -= part.len();
            self.shared.requests.lock().unwrap()[index].body.extend(part);
            if left == 0 {
                return true;
            }
            if !self.more() {
                return false;
            }
        }
    }

    fn act(&mut self, answer: Answer) -> After {
        for step in answer.steps {
            let written = match step {
                Step::Send(bytes) => self.stream.write_all(&bytes).is_ok(),
                Step::Pause(pause) => {
                    let started = Instant::now();
                    self.wait(|| started.elapsed() >= pause)
                }
                Step::Until(gate) => self.wait(|| gate.is_open()),
                Step::Deaf(gate) => self.stand_still(&gate),
                Step::Hang => self.wait(|| false),
                Step::Close => return After::End,
                Step::Reset => {
                    let linger = Some(Duration::ZERO);
                    socket2::SockRef::from(&self.stream).set_linger(linger).unwrap();
                    return After::End;
                }
            };
            if !written {
                self.shared.peer_closed(self.current);
                return After::End;
            }
        }
        After::NextRequest
    }

    fn stand_still(&self, gate: &Gate) -> bool {
        while !gate.is_open() && !self.shared.is_over() {
            std::thread::sleep(Duration::from_millis(1));
        }
        !self.shared.is_over()
    }

    /// Waits, and notices when the peer closes meanwhile.
    fn wait(&mut self, is_over: impl Fn() -> bool) -> bool {
        let mut piece = [0; 4096];
        self.stream.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
        while !self.shared.is_over() {
            if is_over() {
                self.stream.set_read_timeout(Some(LOOK)).unwrap();
                return true;
            }
            match self.stream.read(&mut piece) {
                Ok(0) => return false,
                Ok(count) => self.read.extend_from_slice(&piece[..count]),
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                Err(_) => return false,
            }
        }
        false
    }
}
