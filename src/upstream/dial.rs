//! Opening a connection: name, address, proxy, TLS, all of it within one limit.
//!
//! The client's own connector tries addresses one after another and knows no proxy, and TLS
//! above it would hide where a connection failed and where a body was cut. So all of it is
//! done here, and the client only ever sees plain HTTP/1.1.

use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use actix_rt::net::TcpStream;
use actix_service::Service;
use actix_tls::connect::rustls_0_23::TlsConnectorService;
use actix_tls::connect::{ConnectError, ConnectInfo, Connection, Host};
use awc::http::Uri;
use futures_util::future::LocalBoxFuture;
use policy::verdict::Transport;
use tokio::time::{Instant, timeout_at};

use super::proxy::tunnel;
use super::race::{by_turns, race};
use super::trip::note;
use super::wire::{Wire, prepare};
use crate::settings::Proxy;

/// How connections are opened.
pub(super) struct Way {
    /// Makes TLS of a connection; `None`: it stays plain.
    pub(super) tls: Option<TlsConnectorService>,
    /// Goes through it; `None`: straight there.
    pub(super) proxy: Option<Arc<Proxy>>,
    /// Limit of all of it.
    pub(super) limit: Duration,
}

/// Opens connections for a client.
#[derive(Clone)]
pub(super) struct Dial(pub(super) Rc<Way>);

impl Service<ConnectInfo<Uri>> for Dial {
    type Response = Connection<Uri, Wire>;
    type Error = ConnectError;
    type Future = LocalBoxFuture<'static, Result<Self::Response, Self::Error>>;

    actix_service::always_ready!();

    fn call(&self, info: ConnectInfo<Uri>) -> Self::Future {
        let way = self.0.clone();
        Box::pin(async move {
            note(|trip| trip.dialled.set(true));
            match way.open(info.request()).await {
                Ok(wire) => Ok(Connection::new(info.request().clone(), wire)),
                Err(transport) => {
                    note(|trip| trip.failed.set(Some(transport)));
                    // The client's words for it are not read.
                    Err(ConnectError::Io(io::ErrorKind::NotConnected.into()))
                }
            }
        })
    }
}

impl Way {
    async fn open(&self, address: &Uri) -> Result<Wire, Transport> {
        let ends = Instant::now() + self.limit;
        let host = address.host().ok_or(Transport::Dns)?;
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        let port = address.port_u16().unwrap_or(if self.tls.is_some() { 443 } else { 80 });
        let opened = match &self.proxy {
            // Names are the proxy's business then.
            Some(proxy) => timeout_at(ends, tunnel(proxy, host, port)).await.map_err(|_| {
                tracing::warn!(%proxy, host, port, "the outbound proxy does not answer in time");
                Transport::ProxyUnreachable
            }),
            None => timeout_at(ends, connect(host, port)).await.map_err(|_| Transport::ConnectTimeout),
        };
        let tcp = opened??;
        prepare(&tcp);
        note(|trip| trip.from.set(tcp.local_addr().ok().map(|from| from.ip())));
        let Some(tls) = &self.tls else { return Ok(Wire::plain(tcp)) };
        let handshake = tls.call(Connection::new(Name(host.to_owned()), tcp));
        match timeout_at(ends, handshake).await {
            Ok(Ok(secured)) => Ok(Wire::tls(secured.into_parts().0)),
            Ok(Err(error)) => Err(of_handshake(&error)),
            Err(_) => Err(Transport::ConnectTimeout),
        }
    }
}

/// A host without a port: an IPv6 address would be cut in two.
struct Name(String);

impl Host for Name {
    fn hostname(&self) -> &str {
        &self.0
    }
}

/// A connection to whichever address of the host answers first.
pub(super) async fn connect(host: &str, port: u16) -> Result<TcpStream, Transport> {
    let addresses = match host.parse() {
        Ok(address) => vec![std::net::SocketAddr::new(address, port)],
        Err(_) => {
            let known = tokio::net::lookup_host((host, port)).await.map_err(|_| Transport::Dns)?;
            by_turns(known)
        }
    };
    if addresses.is_empty() {
        return Err(Transport::Dns);
    }
    race(addresses, TcpStream::connect).await.map_err(|error| match error.kind() {
        io::ErrorKind::TimedOut => Transport::ConnectTimeout,
        _ => Transport::Refused,
    })
}

/// What is no TLS, or none that we trust, is told from a peer that left in the middle.
fn of_handshake(error: &io::Error) -> Transport {
    match error.kind() {
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe | io::ErrorKind::UnexpectedEof => {
            Transport::Reset
        }
        io::ErrorKind::TimedOut => Transport::ConnectTimeout,
        _ => Transport::Tls,
    }
}
