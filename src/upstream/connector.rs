//! Clients of one worker: no redirects, no own timeouts, no pool limit, and HTTP/1.1 only.
//!
//! A connection that HTTP/2 multiplexes takes all its requests with it when it goes, and the
//! client neither pings it nor looks whether it lives; so TLS offers `http/1.1` alone.

use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use actix_tls::connect::rustls_0_23::TlsConnector;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use super::dial::{Dial, Way};
use crate::settings::Proxy;

/// What a client is made with.
#[derive(Clone, Debug)]
pub struct ClientSettings {
    /// Limit of a new connection that has none of its own: name, TCP and TLS.
    pub connect_timeout: Duration,
    /// How long an unused connection is kept.
    pub pool_idle: Duration,
    /// How long a connection is used at all.
    pub pool_lifetime: Duration,
    /// Certificates trusted beside the public roots.
    pub roots: Arc<Vec<CertificateDer<'static>>>,
}

/// What the connections of one pool have in common, beside the settings.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Kind {
    /// Limit of a new connection.
    pub(super) connect_timeout: Duration,
    /// Whether there is TLS.
    pub(super) secure: bool,
    /// The outbound proxy they go through.
    pub(super) proxy: Option<Arc<Proxy>>,
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

/// A client for one worker. `keep` false: every request dials. It is only ever given `http`
/// addresses; its kind says whether there is TLS below.
pub(super) fn client(settings: &ClientSettings, kind: &Kind, keep: bool) -> awc::Client {
    let tls = kind.secure.then(|| TlsConnector::service(tls(settings)));
    let way = Way { tls, proxy: kind.proxy.clone(), limit: kind.connect_timeout };
    let connector = awc::Connector::new()
        .connector(Dial(Rc::new(way)))
        // Ours comes first.
        .timeout(kind.connect_timeout.saturating_mul(2))
        .conn_keep_alive(if keep { settings.pool_idle } else { Duration::ZERO })
        .conn_lifetime(settings.pool_lifetime)
        .limit(0);
    awc::Client::builder()
        .disable_timeout()
        .disable_redirects()
        .no_default_headers()
        .connector(connector)
        .finish()
}
