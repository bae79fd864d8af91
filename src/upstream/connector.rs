//! Clients of one worker: no Nagle, no redirects, no own timeouts, no pool limit, and a
//! peer's early end is an error.
//!
//! The plain client reports a body that was cut as a clean end. `StrictEof` below HTTP
//! turns the peer's end into an error wherever bytes were still expected; a complete body
//! never gets that far. Behind TLS a close_notify hides the cut, so length and JSON are
//! checked above as well.

use std::cell::Cell;
use std::io;
use std::net::IpAddr;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use actix_rt::net::{ActixStream, Ready, TcpStream};
use actix_service::ServiceExt;
use actix_tls::connect::Connection;
use awc::http::Uri;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// What a client is made with.
#[derive(Clone, Debug)]
pub struct ClientSettings {
    /// Limit of a new connection: name, TCP and TLS.
    pub connect_timeout: Duration,
    /// How long an unused connection is kept.
    pub pool_idle: Duration,
    /// How long a connection is used at all.
    pub pool_lifetime: Duration,
    /// Certificates trusted beside the public roots.
    pub roots: Arc<Vec<CertificateDer<'static>>>,
}

/// Reads extra root certificates from a PEM file.
pub fn extra_roots(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let certificates = CertificateDer::pem_file_iter(path).map_err(|error| error.to_string())?;
    let certificates: Vec<_> = certificates.collect::<Result<_, _>>().map_err(|error| error.to_string())?;
    match certificates.is_empty() {
        true => Err("no certificate in it".into()),
        false => Ok(certificates),
    }
}

tokio::task_local! {
    /// Set when the request that is being sent opened its own connection: from which address.
    pub(super) static DIALLED: Cell<Option<IpAddr>>;
}

fn tls(settings: &ClientSettings) -> Arc<rustls::ClientConfig> {
    let mut roots = rustls::RootCertStore::from_iter(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    let (_, unusable) = roots.add_parsable_certificates(settings.roots.iter().cloned());
    if unusable > 0 {
        tracing::warn!(unusable, "extra root certificates could not be used");
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("ring supports the default protocol versions");
    let mut config = config.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Arc::new(config)
}

/// A client that keeps connections, for one worker. `keep` false: every request dials.
pub(super) fn client(settings: &ClientSettings, keep: bool) -> awc::Client {
    let tcp =
        actix_tls::connect::Connector::default().service().map(|connection: Connection<Uri, TcpStream>| {
            let (io, connection) = connection.replace_io(());
            let from = io.local_addr().map_or(IpAddr::from([0, 0, 0, 0]), |address| address.ip());
            // Outside a request (a test, say) nobody asks.
            let _ = DIALLED.try_with(|dialled| dialled.set(Some(from)));
            if let Err(error) = io.set_nodelay(true) {
                tracing::debug!(%error, "nodelay could not be set");
            }
            connection.replace_io(StrictEof(io)).1
        });
    let connector = awc::Connector::new()
        .connector(tcp)
        .rustls_0_23(tls(settings))
        .timeout(settings.connect_timeout)
        .handshake_timeout(settings.connect_timeout)
        .conn_keep_alive(if keep { settings.pool_idle } else { Duration::ZERO })
        .conn_lifetime(settings.pool_lifetime)
        .disconnect_timeout(Duration::ZERO)
        .limit(0);
    awc::Client::builder()
        .disable_timeout()
        .disable_redirects()
        .no_default_headers()
        .connector(connector)
        .finish()
}

/// A stream whose end is an error to whoever still wanted bytes.
#[derive(Debug)]
struct StrictEof(TcpStream);

impl AsyncRead for StrictEof {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.0).poll_read(cx, buffer);
        match read {
            Poll::Ready(Ok(())) if buffer.filled().len() == before && buffer.remaining() > 0 => {
                Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()))
            }
            read => read,
        }
    }
}

impl AsyncWrite for StrictEof {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

impl ActixStream for StrictEof {
    fn poll_read_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<Ready>> {
        ActixStream::poll_read_ready(&self.0, cx)
    }

    fn poll_write_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<Ready>> {
        ActixStream::poll_write_ready(&self.0, cx)
    }
}
