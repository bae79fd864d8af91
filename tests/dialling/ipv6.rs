//! FC-115: IPv6 on both sides. Racing dead addresses is tested beside the race itself.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};

use crate::support::{Answer, Setup, Upstream, get, post};

const CHAT: &str = "/v1/chat/completions";

fn provider(base: &str) -> String {
    format!(
        "[[providers]]\nid = \"six\"\nauth = \"apikey\"\nformat = \"openai\"\nbase_url = \"{base}\"\n\
         [[connections]]\nid = \"six-1\"\nprovider = \"six\"\ncredential = \"credential-of-six\"\n"
    )
}

#[test]
fn fc_115_a_vendor_at_an_ipv6_address_is_asked_with_that_host() {
    let vendor = Upstream::listening(TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).unwrap(), "six");
    let base = format!("http://{}/v1", vendor.address);
    let world = Setup::new().section(&provider(&base)).start();
    for _ in 0..2 {
        world.ask("six/x").served_by("six");
    }
    assert_eq!(vendor.connections(), 1);
    let host = vendor.address.to_string();
    assert!(host.starts_with("[::1]:"), "{host}");
    assert_eq!(vendor.requests()[0].header("host"), Some(host.as_str()));
}

#[test]
fn fc_115_a_vendor_on_this_machine_is_reached_by_name() {
    let vendor = Upstream::start("six");
    let base = format!("http://localhost:{}", vendor.address.port());
    let world = Setup::new().section(&provider(&base)).start();
    world.ask("six/x").served_by("six");
    let host = format!("localhost:{}", vendor.address.port());
    assert_eq!(vendor.only_request().header("host"), Some(host.as_str()));
}

#[test]
fn fc_115_clients_are_served_at_an_ipv6_address() {
    let child = Setup::new().provider("a", 1).variable("SWITCHTOWER__SERVER__LISTEN", "[::1]:0").spawn();
    assert_eq!(child.address.ip(), Ipv6Addr::LOCALHOST);
    post(child.address, CHAT, "", br#"{"model":"a/x"}"#).served_by("a");
    child.upstream("a").answers(Answer::good_stream("a"));
    post(child.address, CHAT, "", br#"{"model":"a/x","stream":true}"#).served_by("a");
}

#[test]
fn fc_115_the_unspecified_ipv6_address_takes_both_families() {
    let child = Setup::new().provider("a", 1).variable("SWITCHTOWER__SERVER__LISTEN", "[::]:0").spawn();
    let port = child.address.port();
    for address in [SocketAddr::from((Ipv6Addr::LOCALHOST, port)), (Ipv4Addr::LOCALHOST, port).into()] {
        assert_eq!(get(address, "/healthz", "").status, 200, "{address}");
        // Anybody may reach it, so a key is required.
        assert_eq!(post(address, CHAT, "", br#"{"model":"a/x"}"#).status, 401, "{address}");
    }
}
