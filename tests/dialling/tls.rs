//! A vendor behind TLS. Its certificate is signed by a root that only these tests know and that is
//! made as they run, for `vendor.example`, `localhost`, 127.0.0.1 and ::1.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use policy::verdict::Transport;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use switchtower::upstream::Dialled;

use crate::stage::{ask, dialler, endpoint};
use crate::support::Setup;

/// Names and addresses of the vendor.
const NAMES: [&str; 4] = ["vendor.example", "localhost", "127.0.0.1", "::1"];

/// The certificate of a vendor, its key, and a file with the root that signed it.
struct Certificates {
    leaf: CertificateDer<'static>,
    key: Vec<u8>,
    root: PathBuf,
}

fn certificates() -> &'static Certificates {
    static MADE: LazyLock<Certificates> = LazyLock::new(|| {
        let mut root = CertificateParams::new(Vec::new()).unwrap();
        root.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let root_key = KeyPair::generate().unwrap();
        let pem = root.self_signed(&root_key).unwrap().pem();
        let (issuer, key) = (Issuer::new(root, root_key), KeyPair::generate().unwrap());
        let leaf = CertificateParams::new(NAMES.map(String::from).to_vec()).unwrap();
        let leaf = leaf.signed_by(&key, &issuer).unwrap().der().clone();
        let file = std::env::temp_dir().join(format!("switchtower-test-root-{}.pem", std::process::id()));
        std::fs::write(&file, pem).unwrap();
        Certificates { leaf, key: key.serialize_der(), root: file }
    });
    &MADE
}

/// A line of the config that trusts the root.
pub fn trusted() -> String {
    format!("[upstream]\nca_file = \"{}\"\n", certificates().root.display())
}

/// How a vendor ends what it says.
#[derive(Clone, Copy)]
pub enum Ending {
    /// The connection stays.
    Stays,
    /// With a close_notify, as a proxy or a CDN does.
    Notified,
    /// Without one.
    Abrupt,
}

/// Says these bytes to every request.
pub fn vendor(listener: TcpListener, says: &'static str, ending: Ending) -> SocketAddr {
    let address = listener.local_addr().unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let chain = vec![certificates().leaf.clone()];
    let key = PrivateKeyDer::try_from(certificates().key.clone()).unwrap();
    let mut config = config.with_no_client_auth().with_single_cert(chain, key).unwrap();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let config = Arc::new(config);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (config, stream) = (config.clone(), stream.unwrap());
            // A client that does not trust us ends the handshake.
            std::thread::spawn(move || talk(config, stream, says, ending));
        }
    });
    address
}

fn talk(
    config: Arc<ServerConfig>,
    stream: TcpStream,
    says: &str,
    ending: Ending,
) -> Result<(), std::io::Error> {
    let mut tls = StreamOwned::new(ServerConnection::new(config).unwrap(), stream);
    while tls.read(&mut [0; 4096])? > 0 {
        // FC-110: one h2 connection would take all its requests with it, so none is ever made.
        assert_eq!(tls.conn.alpn_protocol(), Some(&b"http/1.1"[..]));
        tls.write_all(says.as_bytes())?;
        match ending {
            Ending::Stays => continue,
            Ending::Notified => {
                tls.conn.send_close_notify();
                tls.flush()?;
            }
            Ending::Abrupt => {}
        }
        break;
    }
    Ok(())
}

pub const GOOD: &str = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 22\r\n\r\n\
    {\"served_by\":\"secure\"}";

/// A provider at this address.
pub fn provider(base: &str) -> String {
    format!(
        "[[providers]]\nid = \"s\"\nauth = \"apikey\"\nformat = \"openai\"\nbase_url = \"{base}\"\n\
         [[connections]]\nid = \"s-1\"\nprovider = \"s\"\ncredential = \"credential-of-s\"\n"
    )
}

/// FC-110, too: it would speak h2, and is not asked to.
#[test]
fn fc_110_a_vendor_behind_tls_answers_by_name_and_by_address_in_http_1_1() {
    for (listen, host) in [("127.0.0.1:0", "127.0.0.1"), ("127.0.0.1:0", "localhost"), ("[::1]:0", "[::1]")] {
        let address = vendor(TcpListener::bind(listen).unwrap(), GOOD, Ending::Stays);
        let base = format!("https://{host}:{}", address.port());
        let world = Setup::new().section(&trusted()).section(&provider(&base)).start();
        for _ in 0..2 {
            world.ask("s/x").served_by("secure");
        }
    }
}

/// Measured: above TLS the client takes a cut behind a close_notify for the end.
#[test]
fn a_body_that_is_cut_behind_tls_is_an_error_however_it_is_cut() {
    const CUT: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n\
        10\r\ndata: {\"x\":1}\r\n\r\n\r\n";
    for ending in [Ending::Notified, Ending::Abrupt] {
        let address = vendor(TcpListener::bind("127.0.0.1:0").unwrap(), CUT, ending);
        let base = format!("https://{address}");
        let world = Setup::new().section(&trusted()).section(&provider(&base)).start();
        let reply = world.ask_streamed("s/x");
        assert_ne!((reply.status, reply.end), (200, crate::support::End::Complete), "{}", reply.text());
    }
}

#[test]
fn a_vendor_that_nobody_vouches_for_is_a_failure_of_tls() {
    let address = vendor(TcpListener::bind("127.0.0.1:0").unwrap(), GOOD, Ending::Stays);
    actix_rt::System::new().block_on(async {
        let untrusted = endpoint(&format!("https://{address}"), Duration::from_secs(5));
        assert_eq!(ask(&dialler(), &untrusted).await, Err(Dialled::Failed(Transport::Tls)));
    });
}
