//! The stream below HTTP: plain or TLS, and its end is an error.
//!
//! The client reports a body that was cut as a clean end. Here the peer's end is an error
//! wherever bytes were still expected; a complete body never gets that far. TLS lies below
//! this, so a close_notify hides no cut. Heads are looked at on their way (`heads`).

use std::io::{self, Read};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use actix_rt::net::{ActixStream, Ready, TcpStream};
use actix_tls::connect::rustls_0_23::reexports::AsyncTlsStream;
use socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::heads::Heads;
use super::trip::note;

/// A quiet connection is asked after this pause whether it lives, and then this often.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(5);
/// A peer that acknowledges nothing for so long is gone: a path that was dropped without a
/// word (a NAT, a cable) must not take a request's whole time.
const SILENT_PATH: Duration = Duration::from_secs(30);

/// A connection to an upstream.
#[derive(Debug)]
pub(super) struct Wire {
    io: Io,
    heads: Heads,
}

#[derive(Debug)]
enum Io {
    /// As it is.
    Plain(TcpStream),
    /// Encrypted.
    Tls(Box<AsyncTlsStream<TcpStream>>),
}

/// No Nagle, and an eye on the path.
pub(super) fn prepare(tcp: &TcpStream) {
    let socket = SockRef::from(tcp);
    let keep_alive = TcpKeepalive::new().with_time(KEEP_ALIVE).with_interval(KEEP_ALIVE_INTERVAL);
    let set = tcp
        .set_nodelay(true)
        .and_then(|()| socket.set_tcp_keepalive(&keep_alive))
        .and_then(|()| socket.set_tcp_user_timeout(Some(SILENT_PATH)));
    if let Err(error) = set {
        tracing::debug!(%error, "an option of a connection could not be set");
    }
}

impl Wire {
    /// As it is.
    pub(super) fn plain(tcp: TcpStream) -> Self {
        Self { io: Io::Plain(tcp), heads: Heads::default() }
    }

    /// Encrypted.
    pub(super) fn tls(tls: AsyncTlsStream<TcpStream>) -> Self {
        Self { io: Io::Tls(Box::new(tls)), heads: Heads::default() }
    }
}

impl Io {
    fn tcp(&self) -> &TcpStream {
        match self {
            Self::Plain(tcp) => tcp,
            Self::Tls(tls) => tls.get_ref().0,
        }
    }

    fn read(&mut self, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = match self {
            Self::Plain(tcp) => Pin::new(tcp).poll_read(cx, buffer),
            Self::Tls(tls) => Pin::new(tls).poll_read(cx, buffer),
        };
        if buffer.filled().len() > before {
            note(|trip| trip.heard.set(true));
        } else if matches!(read, Poll::Ready(Ok(()))) && buffer.remaining() > 0 {
            return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
        }
        read
    }

    /// The client reads nothing before its body is out. A peer that says why it takes no more
    /// has been heard even so.
    fn listen(&mut self, cx: &mut Context<'_>) {
        let mut byte = [0];
        let heard = match self {
            // Asked past the reactor, which may not have heard of it yet.
            Self::Plain(tcp) => (&*SockRef::from(&*tcp)).read(&mut byte).is_ok_and(|count| count > 0),
            Self::Tls(tls) => {
                let mut buffer = ReadBuf::new(&mut byte);
                Pin::new(tls).poll_read(cx, &mut buffer).is_ready() && !buffer.filled().is_empty()
            }
        };
        if heard {
            note(|trip| trip.heard.set(true));
        }
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Self { io, heads } = self.get_mut();
        heads.read(cx, buffer, |cx, buffer| io.read(cx, buffer))
    }
}

impl AsyncWrite for Wire {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = match &mut self.io {
            Io::Plain(tcp) => Pin::new(tcp).poll_write(cx, bytes),
            Io::Tls(tls) => Pin::new(tls).poll_write(cx, bytes),
        };
        match written {
            // What came before is no answer to this.
            Poll::Ready(Ok(_)) => {
                self.heads.expect();
                note(|trip| trip.heard.set(false));
            }
            Poll::Ready(Err(_)) => self.io.listen(cx),
            Poll::Pending => {}
        }
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.io {
            Io::Plain(tcp) => Pin::new(tcp).poll_flush(cx),
            Io::Tls(tls) => Pin::new(tls).poll_flush(cx),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.io {
            Io::Plain(tcp) => Pin::new(tcp).poll_shutdown(cx),
            Io::Tls(tls) => Pin::new(tls).poll_shutdown(cx),
        }
    }
}

impl ActixStream for Wire {
    fn poll_read_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<Ready>> {
        ActixStream::poll_read_ready(self.io.tcp(), cx)
    }

    fn poll_write_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<Ready>> {
        ActixStream::poll_write_ready(self.io.tcp(), cx)
    }
}
