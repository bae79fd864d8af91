//! FC-116: outbound proxies, each a real one that makes tunnels or does not.

use std::net::{SocketAddr, TcpListener};
use std::time::{Duration, Instant};

use crate::support::{Answer, Proxy, Setup, Upstream, Way, World, credential, post};
use crate::tls;

const PASSWORD: &str = "CANARY-of-the-proxy";

/// A provider with connections through these proxies; `a-1`, `a-2`, ...
fn provider(base: &str, proxies: &[String]) -> String {
    let mut text =
        format!("[[providers]]\nid = \"a\"\nauth = \"apikey\"\nformat = \"openai\"\nbase_url = \"{base}\"\n");
    for (number, proxy) in proxies.iter().enumerate() {
        let id = format!("a-{}", number + 1);
        let credential = credential(&id);
        text.push_str(&format!(
            "[[connections]]\nid = \"{id}\"\nprovider = \"a\"\ncredential = \"{credential}\"\nproxy = \"{proxy}\"\n\
             timeouts = {{ connect = \"500ms\" }}\n"
        ));
    }
    text
}

fn level(world: &World, connection: &str) -> u64 {
    world.snapshot(connection)["cooldown"]["level"].as_u64().unwrap()
}

#[test]
fn fc_116_an_http_vendor_is_reached_through_a_tunnel_that_is_used_again() {
    let vendor = Upstream::start("a");
    let proxy = Proxy::start(Way::To(vendor.address));
    let login = format!("http://us%65r:{PASSWORD}@{}", proxy.address);
    let world = Setup::new().section(&provider("http://vendor.example:8080", &[login])).start();
    for _ in 0..3 {
        world.ask("a/x").served_by("a");
    }
    // base64 of user:CANARY-of-the-proxy
    let expected = "CONNECT vendor.example:8080 HTTP/1.1\r\nhost: vendor.example:8080\r\n\
        proxy-authorization: Basic dXNlcjpDQU5BUlktb2YtdGhlLXByb3h5\r\n\r\n";
    assert_eq!(proxy.heads(), [expected]);
    for request in vendor.requests() {
        assert!(request.head.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"), "{}", request.head);
        assert_eq!(request.header("host"), Some("vendor.example:8080"));
        assert_eq!(request.header("proxy-authorization"), None);
    }
}

#[test]
fn fc_116_an_https_vendor_is_reached_through_a_tunnel() {
    let vendor = tls::vendor(TcpListener::bind("127.0.0.1:0").unwrap(), tls::GOOD, tls::Ending::Stays);
    let proxy = Proxy::start(Way::To(vendor));
    let config = provider("https://vendor.example/v1", &[format!("http://{}", proxy.address)]);
    let world = Setup::new().section(&tls::trusted()).section(&config).start();
    world.ask("a/x").served_by("secure");
    assert_eq!(proxy.heads(), ["CONNECT vendor.example:443 HTTP/1.1\r\nhost: vendor.example:443\r\n\r\n"]);
}

#[test]
fn fc_116_the_connection_s_own_proxy_is_used_even_for_this_machine() {
    let vendor = Upstream::start("a");
    let proxy = Proxy::start(Way::To(vendor.address));
    let config = provider(&format!("http://{}", vendor.address), &[format!("http://{}", proxy.address)]);
    let world = Setup::new().section(&config).start();
    world.ask("a/x").served_by("a");
    assert_eq!(proxy.heads().len(), 1);
}

#[test]
fn fc_116_connections_with_different_proxies_share_no_tunnel() {
    let vendors = [Upstream::start("one"), Upstream::start("other")];
    let proxies = vendors.each_ref().map(|vendor| Proxy::start(Way::To(vendor.address)));
    let addresses = proxies.each_ref().map(|proxy| format!("http://{}", proxy.address));
    let world = Setup::new()
        .section(&provider("http://vendor.example", &addresses))
        .section("[[combos]]\nname = \"m1\"\ntargets = [{ model = \"a/x\", connection = \"a-1\" }]")
        .section("[[combos]]\nname = \"m2\"\ntargets = [{ model = \"a/x\", connection = \"a-2\" }]")
        .start();
    for _ in 0..2 {
        world.ask("m1").served_by("one");
        world.ask("m2").served_by("other");
    }
    assert_eq!(proxies.map(|proxy| proxy.heads().len()), [1, 1]);
}

#[test]
fn decision_7_a_proxy_that_fails_counts_on_no_breaker_and_cools_its_connection() {
    let refusing = Upstream::refusing();
    let login = |address: SocketAddr| format!("http://user:{PASSWORD}@{address}");
    let mut rows: Vec<(&str, String)> = vec![("refuses", login(refusing.address))];
    let proxies = [
        ("407", Way::Says("HTTP/1.1 407 Proxy Authentication Required\r\nproxy-authenticate: Basic\r\n\r\n")),
        ("502", Way::Says("HTTP/1.1 502 Bad Gateway\r\ncontent-length: 2\r\n\r\n{}")),
        ("closes", Way::Says("")),
        ("is none", Way::Says("SSH-2.0-OpenSSH_9.9\r\n\r\n")),
        ("hangs", Way::Hangs),
    ]
    .map(|(name, way)| (name, Proxy::start(way)));
    rows.extend(proxies.iter().map(|(name, proxy)| (*name, login(proxy.address))));
    for (name, proxy) in rows {
        let world = Setup::new()
            .section(&provider("http://vendor.example", &[proxy]))
            .provider("b", 1)
            .combo("m", &["a", "b"])
            .start();
        let asked = Instant::now();
        world.ask("m").served_by("b");
        assert!(asked.elapsed() < Duration::from_secs(3), "{name}: {:?}", asked.elapsed());
        assert_eq!((world.failures("a"), level(&world, "a-1")), (0, 1), "{name}");
        world.order("connection", "a-1", serde_json::json!({"message": "reset"}));
        let reply = world.ask("a/x");
        reply.is_error(502, "bad_gateway");
        assert!(!reply.text().contains(PASSWORD) && !reply.text().contains("user"), "{}", reply.text());
        assert_eq!((world.failures("a"), level(&world, "a-1")), (0, 1), "{name}");
    }
}

#[test]
fn a_vendor_that_fails_behind_a_proxy_is_the_vendor_s_fault() {
    let vendor = Upstream::start("a");
    vendor.answers(Answer::nothing().closes());
    let proxy = Proxy::start(Way::To(vendor.address));
    let config = provider("http://vendor.example", &[format!("http://{}", proxy.address)]);
    let world = Setup::new().section(&config).start();
    world.ask("a/x").is_error(502, "bad_gateway");
    assert_eq!((world.failures("a"), level(&world, "a-1")), (1, 1));
}

#[test]
fn decision_31a_the_egress_of_a_connection_is_its_proxy_without_the_login() {
    let vendor = Upstream::start("a");
    let proxy = Proxy::start(Way::To(vendor.address));
    let login = format!("http://user:{PASSWORD}@{}", proxy.address);
    // One whose quota belongs to its egress.
    let config = provider("http://vendor.example", &[login]).replace("\"a\"", "\"opencode\"");
    let world = Setup::new().section(&config).start();
    world.ask("opencode/x").served_by("a");
    let known = world.admin("/api/actors/connection/a-1").text();
    assert!(known.contains(&format!("http://{}#", proxy.address)), "{known}");
    assert!(!known.contains(PASSWORD), "{known}");
}

#[test]
fn fc_116_an_account_s_tokens_are_renewed_through_its_proxy() {
    let vendor = Upstream::start("a");
    let tokens = r#"{"access_token":"at-0123456789","refresh_token":"rt-2","expires_in":3600}"#;
    vendor.answers_first([Answer::json(200, tokens)]);
    let proxy = Proxy::start(Way::To(vendor.address));
    let config = format!(
        "[[providers]]\nid = \"o\"\nauth = \"oauth\"\nformat = \"openai\"\nbase_url = \"http://vendor.example\"\n\
         oauth = {{ token_url = \"http://login.example/token\", client_id = \"me\" }}\n\
         [[connections]]\nid = \"o-1\"\nprovider = \"o\"\nrefresh_token = \"rt-1\"\nproxy = \"http://{}\"\n",
        proxy.address
    );
    let world = Setup::new().section(&config).start();
    world.ask("o/x").served_by("a");
    let asked: Vec<String> = proxy.heads().iter().map(|head| head.lines().next().unwrap().into()).collect();
    assert_eq!(asked, ["CONNECT login.example:80 HTTP/1.1", "CONNECT vendor.example:80 HTTP/1.1"]);
    assert_eq!(vendor.requests()[1].header("authorization"), Some("Bearer at-0123456789"));
}

#[test]
fn fc_116_a_changed_connection_keeps_the_proxy_of_its_file() {
    let vendor = Upstream::start("a");
    let proxy = Proxy::start(Way::To(vendor.address));
    let config = provider("http://vendor.example", &[format!("http://{}", proxy.address)]);
    let world = Setup::new().section(&config).start();
    let changed = world.manage("PATCH", "/api/providers/a-1", &serde_json::json!({"maxConcurrent": 3}));
    assert_eq!(changed.status, 200, "{}", changed.text());
    world.ask("a/x").served_by("a");
    assert_eq!(proxy.heads().len(), 1);
}

#[test]
fn fc_116_the_environment_counts_where_the_config_names_none() {
    let vendor = Upstream::start("a");
    let proxy = Proxy::start(Way::To(vendor.address));
    let here = Upstream::start("here");
    let plain = |id: &str, base: &str| {
        format!(
            "[[providers]]\nid = \"{id}\"\nauth = \"apikey\"\nformat = \"openai\"\nbase_url = \"{base}\"\n\
             [[connections]]\nid = \"{id}-1\"\nprovider = \"{id}\"\ncredential = \"0123456789\"\n"
        )
    };
    let mut child = Setup::new()
        .section(&plain("far", "http://vendor.example"))
        .section(&plain("near", &format!("http://{}", here.address)))
        .section(&plain("inside", &format!("http://{}.corp", "x".repeat(64))))
        .variable("http_proxy", &format!("http://user:{PASSWORD}@{}", proxy.address))
        .variable("NO_PROXY", ".corp")
        .spawn();
    let ask = |model: &str| {
        let body = format!(r#"{{"model":"{model}"}}"#);
        post(child.address, "/v1/chat/completions", "", body.as_bytes())
    };
    ask("far/x").served_by("a");
    ask("near/x").served_by("here");
    // Nobody has such a name.
    assert_eq!(ask("inside/x").status, 502);
    assert_eq!(proxy.heads().len(), 1);
    let (log, dump) = child.end();
    for shown in [log, dump] {
        assert!(!shown.contains(PASSWORD) && !shown.contains("dXNlcjpDQU5BUlk"), "a login is shown");
    }
}
