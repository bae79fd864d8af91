//! Which outbound proxy a request goes through, where the config names none: `HTTPS_PROXY`,
//! `HTTP_PROXY` and `NO_PROXY`, lower case first, read once at start.
//!
//! `NO_PROXY` is a list of names (each stands for itself and all below it, with or without a
//! dot before it), IP addresses, networks (`10.0.0.0/8`, `fd00::/8`), any of the first two
//! with a port, or `*` for everything. Names are not looked up. An upstream on this machine
//! is never sent through a proxy of the environment (FC-116).

use std::net::IpAddr;
use std::sync::Arc;

use awc::http::Uri;
use awc::http::uri::Scheme;

use crate::settings::{ACCEPTED_PROXY, Proxy};

/// What the environment says.
#[derive(Clone, Debug, Default)]
pub struct Proxies {
    https: Option<Arc<Proxy>>,
    http: Option<Arc<Proxy>>,
    none: Vec<Exception>,
}

/// One entry of `NO_PROXY`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Exception {
    place: Place,
    port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    Everywhere,
    /// In lower case, no dot before it.
    Name(String),
    /// Its first so many bits.
    Network(IpAddr, u32),
}

impl Proxies {
    /// Reads the environment; what is wrong with it never quotes it.
    pub fn read(variable: &dyn Fn(&str) -> Option<String>) -> Result<Self, String> {
        let find = |name: &str| {
            let given = [name.to_ascii_lowercase(), name.to_owned()].into_iter();
            given.filter_map(|name| Some((variable(&name)?, name))).find(|(text, _)| !text.trim().is_empty())
        };
        let proxy = |name: &str| match find(name) {
            None => Ok(None),
            Some((text, name)) => match Proxy::parse(&text) {
                Ok(proxy) => Ok(Some(Arc::new(proxy))),
                Err(wrong) => Err(format!("{name} {wrong}, accepted: {ACCEPTED_PROXY}")),
            },
        };
        let none = find("NO_PROXY").map(|(text, _)| text).unwrap_or_default();
        let none = none.split([',', ' ', '\t']).filter_map(Exception::parse);
        Ok(Self { https: proxy("HTTPS_PROXY")?, http: proxy("HTTP_PROXY")?, none: none.collect() })
    }

    /// The proxy for an address.
    pub fn towards(&self, address: &Uri) -> Option<Arc<Proxy>> {
        let secure = address.scheme() == Some(&Scheme::HTTPS);
        let proxy = if secure { &self.https } else { &self.http }.as_ref()?;
        let host = bare(address.host()?).trim_end_matches('.').to_ascii_lowercase();
        let port = address.port_u16().unwrap_or(if secure { 443 } else { 80 });
        let direct = is_here(&host) || self.none.iter().any(|exception| exception.holds(&host, port));
        (!direct).then(|| proxy.clone())
    }
}

/// An IPv6 address without its brackets.
fn bare(host: &str) -> &str {
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
}

fn is_here(host: &str) -> bool {
    match host.parse::<IpAddr>() {
        Ok(address) => address.to_canonical().is_loopback() || address.is_unspecified(),
        Err(_) => host == "localhost" || host.ends_with(".localhost"),
    }
}

impl Exception {
    fn parse(text: &str) -> Option<Self> {
        let text = text.trim().to_ascii_lowercase();
        if text == "*" {
            return Some(Self { place: Place::Everywhere, port: None });
        }
        if let Some(network) = network(&text) {
            return Some(Self { place: network, port: None });
        }
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) if !text.ends_with(']') => (host, Some(port.parse().ok()?)),
            _ => (text.as_str(), None),
        };
        let place = network(bare(host)).unwrap_or_else(|| {
            let name = host.strip_prefix("*.").or_else(|| host.strip_prefix('.')).unwrap_or(host);
            Place::Name(name.trim_end_matches('.').to_owned())
        });
        (place != Place::Name(String::new())).then_some(Self { place, port })
    }

    fn holds(&self, host: &str, port: u16) -> bool {
        self.port.is_none_or(|own| own == port)
            && match &self.place {
                Place::Everywhere => true,
                Place::Name(name) => {
                    let above = host.strip_suffix(name.as_str());
                    above.is_some_and(|above| above.is_empty() || above.ends_with('.'))
                }
                Place::Network(network, bits) => host.parse().is_ok_and(|host| is_in(host, *network, *bits)),
            }
    }
}

/// An address, or a network of them.
fn network(text: &str) -> Option<Place> {
    let (address, bits) = match text.split_once('/') {
        Some((address, bits)) => (address, Some(bits.parse().ok()?)),
        None => (text, None),
    };
    let address: IpAddr = bare(address).parse().ok()?;
    let most = if address.is_ipv4() { 32 } else { 128 };
    let bits = bits.unwrap_or(most);
    (bits <= most).then_some(Place::Network(address, bits))
}

fn is_in(host: IpAddr, network: IpAddr, bits: u32) -> bool {
    match (host.to_canonical(), network.to_canonical()) {
        (IpAddr::V4(host), IpAddr::V4(network)) => {
            (host.to_bits() ^ network.to_bits()).checked_shr(32 - bits).unwrap_or(0) == 0
        }
        (IpAddr::V6(host), IpAddr::V6(network)) => {
            (host.to_bits() ^ network.to_bits()).checked_shr(128 - bits).unwrap_or(0) == 0
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests;
