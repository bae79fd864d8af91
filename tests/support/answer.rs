//! What a fake vendor does with one request, as bytes and pauses.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Holds a script until the test opens it.
#[derive(Clone, Debug, Default)]
pub struct Gate(Arc<AtomicBool>);

impl Gate {
    /// Lets the script go on.
    pub fn open(&self) {
        self.0.store(true, Ordering::Release);
    }

    pub(super) fn is_open(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// One thing done on the wire.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// These bytes, in one write.
    Send(Vec<u8>),
    /// Nothing for a while.
    Pause(Duration),
    /// Nothing until the gate opens.
    Until(Gate),
    /// Nothing is even read until the gate opens.
    Deaf(Gate),
    /// Nothing until the peer closes.
    Hang,
    /// The end with a FIN.
    Close,
    /// The end with an RST.
    Reset,
}

/// An answer; without an ending of its own the connection stays open for the next request.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    pub(super) early: bool,
    pub(super) steps: Vec<Step>,
}

/// The end of a stream in each dialect, one after the other.
pub const END_OF_STREAM: &str = "event: response.completed\ndata: {\"type\":\"response.completed\"}\n\n\
     event: message_stop\ndata: {\"type\":\"message_stop\"}\n\ndata: [DONE]\n\n";

impl Answer {
    /// These bytes, whatever they are.
    pub fn raw(bytes: impl Into<Vec<u8>>) -> Self {
        Self::default().send(bytes)
    }

    /// No byte at all; give it an ending, or it hangs.
    pub fn nothing() -> Self {
        Self::default()
    }

    /// Never a head.
    pub fn silence() -> Self {
        Self::default().hangs()
    }

    /// A sized JSON answer.
    pub fn json(status: u16, body: impl AsRef<[u8]>) -> Self {
        Self::sized(status, "content-type: application/json\r\n", body)
    }

    /// A good answer that says who gave it.
    pub fn good(who: &str) -> Self {
        Self::json(200, good_body(who))
    }

    /// An error of a status.
    pub fn status(status: u16) -> Self {
        Self::json(status, error_body(status))
    }

    /// A sized answer; `headers` are lines that end in CRLF.
    pub fn sized(status: u16, headers: &str, body: impl AsRef<[u8]>) -> Self {
        let length = body.as_ref().len();
        Self::lying(status, headers, length, body)
    }

    /// An answer whose content-length may be a lie.
    pub fn lying(status: u16, headers: &str, length: usize, body: impl AsRef<[u8]>) -> Self {
        let head = format!("HTTP/1.1 {status} Status\r\n{headers}content-length: {length}\r\n\r\n");
        Self::raw([head.as_bytes(), body.as_ref()].concat())
    }

    /// The head of a chunked answer.
    pub fn chunked(status: u16, headers: &str) -> Self {
        Self::raw(format!("HTTP/1.1 {status} Status\r\n{headers}transfer-encoding: chunked\r\n\r\n"))
    }

    /// The head of an event stream.
    pub fn stream() -> Self {
        Self::chunked(200, "content-type: text/event-stream\r\n")
    }

    /// An event stream that says who gave it, complete in whatever dialect it was asked for: what
    /// follows the end of one is the end of the next.
    pub fn good_stream(who: &str) -> Self {
        let ends = END_OF_STREAM;
        Self::stream().chunk(format!("data: {}\n\n", good_body(who))).chunk(ends).last_chunk()
    }

    /// Bytes in a write of their own.
    pub fn send(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.steps.push(Step::Send(bytes.into()));
        self
    }

    /// One chunk.
    pub fn chunk(self, bytes: impl AsRef<[u8]>) -> Self {
        let bytes = bytes.as_ref();
        let size = format!("{:x}\r\n", bytes.len());
        self.send([size.as_bytes(), bytes, b"\r\n"].concat())
    }

    /// The end of a chunked body.
    pub fn last_chunk(self) -> Self {
        self.send("0\r\n\r\n")
    }

    /// All of it, after a pause.
    pub fn after(mut self, pause: Duration) -> Self {
        self.steps.insert(0, Step::Pause(pause));
        self
    }

    /// All of it, once the gate is open.
    pub fn held_by(mut self, gate: &Gate) -> Self {
        self.steps.insert(0, Step::Until(gate.clone()));
        self
    }

    /// A pause before what follows.
    pub fn pauses(mut self, pause: Duration) -> Self {
        self.steps.push(Step::Pause(pause));
        self
    }

    /// What follows comes once the gate is open.
    pub fn until(mut self, gate: &Gate) -> Self {
        self.steps.push(Step::Until(gate.clone()));
        self
    }

    /// Reads nothing until the gate is open.
    pub fn deaf_until(mut self, gate: &Gate) -> Self {
        self.steps.push(Step::Deaf(gate.clone()));
        self
    }

    /// Then nothing, until the peer closes.
    pub fn hangs(mut self) -> Self {
        self.steps.push(Step::Hang);
        self
    }

    /// Then the end.
    pub fn closes(mut self) -> Self {
        self.steps.push(Step::Close);
        self
    }

    /// Then an RST.
    pub fn resets(mut self) -> Self {
        self.steps.push(Step::Reset);
        self
    }

    /// Before the request's body was read; what is still coming is left unread.
    pub fn early(mut self) -> Self {
        self.early = true;
        self
    }
}

fn good_body(who: &str) -> String {
    format!(
        r#"{{"id":"r1","choices":[{{"index":0,"message":{{"role":"assistant","content":"{who}"}},"delta":{{"content":"{who}"}}}}],"served_by":"{who}"}}"#
    )
}

fn error_body(status: u16) -> String {
    format!(r#"{{"error":{{"message":"fake {status}","type":"fake","code":"fake_{status}"}}}}"#)
}
