//! HTTP/1.1 as the generator speaks it: raw TCP, keep-alive, no more parsing than it needs.
//!
//! A real client's own cost would hide the proxy's, so requests are written as ready bytes, and of
//! an answer only the status and where its body ends are read.

use std::io::{Error, ErrorKind, Result};
use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// An answer longer than this is not one of the scripted upstream.
const MOST_HEAD: usize = 64 * 1024;

/// One kept connection.
pub struct Wire {
    stream: TcpStream,
    buffer: Vec<u8>,
}

/// Where a body ends.
enum Framing {
    Sized(usize),
    Chunked,
}

impl Wire {
    /// Dials, with Nagle off.
    pub async fn dial(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, buffer: Vec::with_capacity(16 * 1024) })
    }

    /// Sends a request and reads its answer to the end; `seen` is told of each chunk as it comes.
    /// Anything but a complete 200 is an error: a benchmark of failures would be fast and wrong.
    pub async fn ask(&mut self, request: &[u8], seen: impl FnMut(&[u8])) -> Result<()> {
        match self.reply(request, seen).await? {
            200 => Ok(()),
            status => Err(bad(&format!("status {status}"))),
        }
    }

    /// The same for any complete answer; its status.
    pub async fn reply(&mut self, request: &[u8], mut seen: impl FnMut(&[u8])) -> Result<u16> {
        self.stream.write_all(request).await?;
        let (status, framing) = self.head().await?;
        match framing {
            Framing::Sized(length) => {
                self.fill(length).await?;
                seen(&self.buffer[..length]);
                self.buffer.drain(..length);
            }
            Framing::Chunked => self.chunks(seen).await?,
        }
        Ok(status)
    }

    async fn head(&mut self) -> Result<(u16, Framing)> {
        let end = self.line_end(b"\r\n\r\n").await?;
        let head = std::str::from_utf8(&self.buffer[..end]).map_err(|_| bad("a head that is no text"))?;
        let status = head.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)?.parse().ok());
        let status = status.ok_or_else(|| bad("a head without a status"))?;
        let mut framing = None;
        for line in head.lines().skip(1) {
            let Some((name, value)) = line.split_once(':') else { continue };
            if name.eq_ignore_ascii_case("content-length") {
                let length = value.trim().parse().map_err(|_| bad("content-length is no number"))?;
                framing = Some(Framing::Sized(length));
            } else if name.eq_ignore_ascii_case("transfer-encoding") {
                framing = Some(Framing::Chunked);
            }
        }
        self.buffer.drain(..end + 4);
        // a 204 has no body and says nothing of it
        let framing = framing.or((status == 204).then_some(Framing::Sized(0)));
        Ok((status, framing.ok_or_else(|| bad("neither content-length nor chunked"))?))
    }

    async fn chunks(&mut self, mut seen: impl FnMut(&[u8])) -> Result<()> {
        loop {
            let end = self.line_end(b"\r\n").await?;
            let length = std::str::from_utf8(&self.buffer[..end]).ok();
            let length = length.and_then(|text| usize::from_str_radix(text.trim(), 16).ok());
            let length = length.ok_or_else(|| bad("a chunk without a length"))?;
            let whole = end + 2 + length + 2;
            self.fill(whole).await?;
            if length > 0 {
                seen(&self.buffer[end + 2..end + 2 + length]);
            }
            self.buffer.drain(..whole);
            if length == 0 {
                return Ok(());
            }
        }
    }

    /// Reads until the buffer holds so many bytes.
    async fn fill(&mut self, length: usize) -> Result<()> {
        while self.buffer.len() < length {
            self.more().await?;
        }
        Ok(())
    }

    async fn line_end(&mut self, end: &[u8]) -> Result<usize> {
        loop {
            if let Some(at) = self.buffer.windows(end.len()).position(|window| window == end) {
                return Ok(at);
            }
            if self.buffer.len() > MOST_HEAD {
                return Err(bad("a line without an end"));
            }
            self.more().await?;
        }
    }

    async fn more(&mut self) -> Result<()> {
        match self.stream.read_buf(&mut self.buffer).await? {
            0 => Err(ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }
}

fn bad(what: &str) -> Error {
    Error::new(ErrorKind::InvalidData, what.to_owned())
}
