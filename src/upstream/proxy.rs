//! A way through an outbound proxy: always a tunnel (`CONNECT`), towards http upstreams as
//! towards https ones.
//!
//! In a tunnel the proxy never sees a request, and what it says is never taken for the
//! upstream's answer: an http upstream behind an absolute address could not be told from a
//! proxy that answers 407 or 502 itself. The price: a proxy that tunnels to port 443 alone
//! reaches no http upstream. Whatever goes wrong up to the end of the proxy's answer is the
//! proxy's fault (decision 7), and so is a host that the proxy cannot reach.

use actix_rt::net::TcpStream;
use policy::verdict::Transport;
use sha2::{Digest, Sha256};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::dial::connect;
use crate::settings::Proxy;

/// Longest answer of a proxy, bytes.
const LONGEST: usize = 16 * 1024;

/// A connection to `host` through the proxy.
pub(super) async fn tunnel(proxy: &Proxy, host: &str, port: u16) -> Result<TcpStream, Transport> {
    let failed = |why: &str| {
        tracing::warn!(%proxy, host, port, why, "the outbound proxy gives no way through");
        Transport::ProxyUnreachable
    };
    let mut tcp =
        connect(proxy.host(), proxy.port()).await.map_err(|_| failed("it cannot be connected to"))?;
    let asked = async {
        tcp.set_nodelay(true)?;
        tcp.write_all(question(proxy, host, port).as_bytes()).await?;
        answer(&mut tcp).await
    };
    match asked.await {
        Ok(Some(200..=299)) => Ok(tcp),
        Ok(Some(status)) => Err(failed(&format!("it answers {status}"))),
        Ok(None) => Err(failed("it does not answer in HTTP")),
        Err(_) => Err(failed("it closes the connection")),
    }
}

fn question(proxy: &Proxy, host: &str, port: u16) -> String {
    let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
    let login = proxy.authorization().map_or(String::new(), |authorization| {
        format!("proxy-authorization: {}\r\n", authorization.expose())
    });
    format!("CONNECT {host}:{port} HTTP/1.1\r\nhost: {host}:{port}\r\n{login}\r\n")
}

/// The status of the answer, whose head is then read to its end and not a byte further.
async fn answer(tcp: &mut TcpStream) -> std::io::Result<Option<u16>> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() >= LONGEST {
            return Ok(None);
        }
        // What follows is the upstream's. A head is short and comes at once.
        head.push(tcp.read_u8().await?);
    }
    let line = head.split(|byte| *byte == b'\r').next().and_then(|line| std::str::from_utf8(line).ok());
    let mut words = line.unwrap_or_default().split(' ');
    let version = words.next().is_some_and(|version| version.starts_with("HTTP/1."));
    Ok(words.next().and_then(|status| status.parse().ok()).filter(|_| version))
}

/// What tells the proxy's egress from others (decision 31a). Proxies that leave by another address
/// for each user are told apart by the user, who is not shown.
pub(super) fn identity(proxy: &Proxy) -> String {
    match proxy.user() {
        None => proxy.to_string(),
        Some(user) => {
            let mark: String =
                Sha256::digest(user.expose()).iter().take(4).map(|byte| format!("{byte:02x}")).collect();
            format!("{proxy}#{mark}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{identity, question};
    use crate::settings::Proxy;

    #[test]
    fn the_question_names_the_upstream_and_the_login() {
        let proxy = Proxy::parse("http://u:p@h:1").unwrap();
        let login = "proxy-authorization: Basic dTpw\r\n";
        assert_eq!(
            question(&proxy, "api.example.com", 443),
            format!("CONNECT api.example.com:443 HTTP/1.1\r\nhost: api.example.com:443\r\n{login}\r\n")
        );
        let proxy = Proxy::parse("http://h:1").unwrap();
        assert_eq!(question(&proxy, "::1", 80), "CONNECT [::1]:80 HTTP/1.1\r\nhost: [::1]:80\r\n\r\n");
    }

    #[test]
    fn decision_31a_an_egress_is_told_by_proxy_and_user_and_shows_neither_login() {
        let of = |text: &str| identity(&Proxy::parse(text).unwrap());
        assert_eq!(of("http://h:1"), "http://h:1");
        assert_eq!(of("http://session-1:p@h:1"), of("http://session-1:other@h:1"));
        assert_ne!(of("http://session-1:p@h:1"), of("http://session-2:p@h:1"));
        assert!(!of("http://session-1:p@h:1").contains("session"));
    }
}
