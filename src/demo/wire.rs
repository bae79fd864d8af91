//! The TCP socket below a connection, for faults that HTTP has no words for.
//!
//! actix owns the socket while it runs; a duplicate of its handle, kept beside the connection and
//! dropped with it, is how a script reaches below HTTP without a server of its own. Where no
//! duplicate could be made (no handles left) a fault falls back to the mildest form.

use std::any::Any;
use std::io::Write;
use std::net::Shutdown;
use std::rc::Rc;
use std::time::Duration;

use actix_rt::net::TcpStream;
use actix_web::HttpRequest;
use actix_web::dev::Extensions;
use socket2::{SockRef, Socket};

/// Looks like a start, is not HTTP.
const GARBAGE: &[u8] = b"\x00\x01\x02\xff\xfe this is not HTTP \r\n\r\n";

/// A second handle on the socket of one connection.
#[derive(Clone)]
pub(super) struct Wire(Rc<Socket>);

impl Wire {
    /// Keeps a handle with every new connection.
    pub(super) fn remember(connection: &dyn Any, data: &mut Extensions) {
        let Some(stream) = connection.downcast_ref::<TcpStream>() else {
            return;
        };
        match SockRef::from(stream).try_clone() {
            Ok(socket) => {
                data.insert(Self(Rc::new(socket)));
            }
            Err(error) => tracing::debug!(%error, "no second handle on a demo connection"),
        }
    }

    /// The handle that was kept for the connection of a request.
    pub(super) fn of(request: &HttpRequest) -> Option<Self> {
        request.conn_data::<Self>().cloned()
    }

    /// Ends the connection after what was already written. The server sees the end of the
    /// client's side, takes the client for gone and drops the rest of the answer.
    pub(super) fn close(&self) {
        self.told(self.0.shutdown(Shutdown::Both), "close");
    }

    /// Makes the coming close a TCP reset.
    pub(super) fn reset_on_close(&self) {
        self.told(self.0.set_linger(Some(Duration::ZERO)), "linger");
    }

    /// Writes bytes that are not HTTP and ends the connection.
    pub(super) fn babble(&self) {
        self.told((&*self.0).write_all(GARBAGE), "write");
        self.close();
    }

    /// A client that has already gone makes every order fail, and that is fine.
    fn told(&self, outcome: std::io::Result<()>, order: &str) {
        if let Err(error) = outcome {
            tracing::debug!(%error, order, "the socket of a demo connection refused");
        }
    }
}
