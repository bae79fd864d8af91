//! Outbound proxies: `http://host:port`, with or without a login.
//!
//! The login is a secret: whatever prints a proxy shows only where it is.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::net::Ipv6Addr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::Secret;

/// What is accepted.
pub const ACCEPTED_PROXY: &str = "http://HOST:PORT or http://USER:PASSWORD@HOST:PORT";
/// The port of a proxy that names none.
const PORT: u16 = 80;

/// An outbound proxy.
#[derive(Clone, PartialEq, Eq)]
pub struct Proxy {
    host: String,
    port: u16,
    login: Option<Login>,
}

#[derive(Clone, PartialEq, Eq)]
struct Login {
    user: Secret,
    /// `Basic ...`
    authorization: Secret,
}

impl Proxy {
    /// Reads an address; what is wrong with it never quotes it.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let text = text.trim();
        let rest = match text.split_once("://") {
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => rest,
            Some(_) => return Err("is not an http:// address"),
            None => text,
        };
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        let (login, place) = match rest.rsplit_once('@') {
            Some((login, place)) => {
                (Some(Login::parse(login).ok_or("has a login that cannot be read")?), place)
            }
            None => (None, rest),
        };
        let (host, port) = host_and_port(place).ok_or("is not an address of a proxy")?;
        Ok(Self { host, port, login })
    }

    /// Its name or IP address, that of IPv6 without brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Who is said to be there: a proxy may leave by another address for each.
    pub fn user(&self) -> Option<&Secret> {
        self.login.as_ref().map(|login| &login.user)
    }

    /// The value of `proxy-authorization`.
    pub fn authorization(&self) -> Option<&Secret> {
        self.login.as_ref().map(|login| &login.authorization)
    }
}

impl fmt::Display for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "http://[{}]:{}", self.host, self.port),
            false => write!(f, "http://{}:{}", self.host, self.port),
        }
    }
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Hash for Proxy {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.host, self.port).hash(state);
    }
}

impl Login {
    fn parse(text: &str) -> Option<Self> {
        let (user, password) = text.split_once(':').unwrap_or((text, ""));
        let (user, password) = (decoded(user)?, decoded(password)?);
        let both = [user.as_slice(), b":", &password].concat();
        Some(Self {
            user: String::from_utf8_lossy(&user).into_owned().into(),
            authorization: format!("Basic {}", STANDARD.encode(both)).into(),
        })
    }
}

/// `%41` is `A`.
fn decoded(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        (rest, _) = match (first, tail) {
            (b'%', [high, low, tail @ ..]) => {
                let digits = [*high, *low];
                let digits = std::str::from_utf8(&digits).ok()?;
                (tail, bytes.push(u8::from_str_radix(digits, 16).ok()?))
            }
            (b'%', _) => return None,
            (byte, tail) => (tail, bytes.push(*byte)),
        };
    }
    Some(bytes)
}

fn host_and_port(text: &str) -> Option<(String, u16)> {
    if let Some(rest) = text.strip_prefix('[') {
        let (host, port) = rest.split_once(']')?;
        let _: Ipv6Addr = host.parse().ok()?;
        return Some((host.to_owned(), port_of(port)?));
    }
    let at = text.find(':').unwrap_or(text.len());
    let (host, port) = text.split_at(at);
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    (!host.is_empty() && host.bytes().all(fits)).then_some(())?;
    Some((host.to_ascii_lowercase(), port_of(port)?))
}

fn port_of(text: &str) -> Option<u16> {
    match text {
        "" => Some(PORT),
        text => text.strip_prefix(':')?.parse().ok().filter(|port| *port > 0),
    }
}

#[cfg(test)]
mod tests {
    use super::Proxy;

    #[test]
    fn an_address_is_read_with_and_without_its_parts() {
        for (text, host, port, shown) in [
            ("http://proxy.corp:3128", "proxy.corp", 3128, "http://proxy.corp:3128"),
            ("HTTP://Proxy.Corp:3128/", "proxy.corp", 3128, "http://proxy.corp:3128"),
            ("proxy.corp:3128", "proxy.corp", 3128, "http://proxy.corp:3128"),
            ("http://proxy", "proxy", 80, "http://proxy:80"),
            ("http://[::1]:3128", "::1", 3128, "http://[::1]:3128"),
            (" http://10.0.0.1:8080 ", "10.0.0.1", 8080, "http://10.0.0.1:8080"),
        ] {
            let proxy = Proxy::parse(text).unwrap();
            assert_eq!(
                (proxy.host(), proxy.port(), proxy.to_string().as_str()),
                (host, port, shown),
                "{text}"
            );
            assert!(proxy.authorization().is_none());
        }
    }

    #[test]
    fn a_login_is_decoded_and_never_shown() {
        let proxy = Proxy::parse("http://us%65r:p%40ss:w@h:1").unwrap();
        // base64 of user:p@ss:w
        assert_eq!(proxy.authorization().unwrap().expose(), "Basic dXNlcjpwQHNzOnc=");
        assert_eq!(proxy.user().unwrap().expose(), "user");
        assert_eq!((format!("{proxy}"), format!("{proxy:?}")), ("http://h:1".into(), "http://h:1".into()));
        assert_ne!(proxy, Proxy::parse("http://other@h:1").unwrap());
    }

    #[test]
    fn what_is_no_http_proxy_is_refused_without_quoting_it() {
        for text in [
            "",
            "http://",
            "https://h:1",
            "socks5://h:1",
            "http://h:0",
            "http://h:99999",
            "http://h:x",
            "http://h:1/path",
            "http://h?q",
            "http://[::1",
            "http://[x]:1",
            "http://u:%zz@h:1",
            "http://u%4@h",
            "h o:1",
            "direct:",
        ] {
            let wrong = Proxy::parse(text).expect_err(text);
            assert!(wrong.starts_with("is ") || wrong.starts_with("has "), "{wrong}");
        }
    }
}
