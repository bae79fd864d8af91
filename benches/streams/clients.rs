//! Clients of streams: one reads to the end, one is cut, one leaves, one stops reading.

use std::cell::Cell;
use std::io::{Error, ErrorKind, Result};
use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::Notify;

use super::wire::Wire;

/// No stream of a measurement takes longer.
const LIMIT: Duration = Duration::from_secs(120);
/// What a client that stops reading lets its kernel take, bytes: the less, the sooner it is felt.
const SMALL_WINDOW: u32 = 16 * 1024;

/// How a stream went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It was read to its end.
    Complete,
    /// The answer broke off.
    Cut,
    /// Its client had enough.
    Left,
}

/// A streamed chat request for `model`.
pub fn chat(model: &str) -> Vec<u8> {
    let body = format!(
        r#"{{"model":"up/{model}","stream":true,"messages":[{{"role":"user","content":"Go on."}}]}}"#
    );
    let length = body.len();
    format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: s\r\ncontent-type: application/json\r\n\
         content-length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}

/// One stream; its client leaves after so many chunks, if it is told to.
pub async fn stream(address: SocketAddr, model: &str, leaves_after: Option<usize>) -> Result<Ended> {
    let mut wire = Wire::dial(address).await?;
    let (seen, enough) = (Cell::new(0), Notify::new());
    let request = chat(model);
    let asked = wire.ask(&request, |_| {
        seen.set(seen.get() + 1);
        if leaves_after.is_some_and(|most| seen.get() >= most) {
            enough.notify_one();
        }
    });
    tokio::select! {
        () = enough.notified() => Ok(Ended::Left),
        read = tokio::time::timeout(LIMIT, asked) => match read {
            Ok(Ok(())) => Ok(Ended::Complete),
            Ok(Err(error)) if error.kind() == ErrorKind::UnexpectedEof => Ok(Ended::Cut),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(ErrorKind::TimedOut.into()),
        },
    }
}

/// A stream that is open, as far as its client knows.
pub struct Open {
    stream: TcpStream,
    part: Vec<u8>,
}

impl Open {
    /// Asks and reads the beginning of the answer. `small`: its kernel takes little in advance.
    pub async fn begin(address: SocketAddr, model: &str, small: bool) -> Result<Self> {
        let socket = TcpSocket::new_v4()?;
        if small {
            socket.set_recv_buffer_size(SMALL_WINDOW)?;
        }
        let mut open = Self { stream: socket.connect(address).await?, part: vec![0; 4096] };
        open.stream.write_all(&chat(model)).await?;
        let read = open.stream.read(&mut open.part).await?;
        match open.part[..read].starts_with(b"HTTP/1.1 200 ") {
            true => Ok(open),
            false => Err(Error::other(String::from_utf8_lossy(&open.part[..read]).into_owned())),
        }
    }

    /// Reads on until the other side ends.
    pub async fn drain(mut self) {
        while let Ok(1..) = self.stream.read(&mut self.part).await {}
    }
}
