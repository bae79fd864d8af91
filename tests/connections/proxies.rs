//! `proxy` of a connection (contract 8): who goes through it, how it is shown, and that neither it
//! nor a credential takes the other from the file. It is at rest as the secrets are (`rest`).

use std::fs;

use serde_json::{Value, json};

use crate::process;
use crate::stage::{FILE_KEY, KEY, Stage, site};
use crate::support::{Proxy, Upstream, Way};

const PASSWORD: &str = "px-canary";
/// base64 of team:px-canary
const LOGIN: &str = "proxy-authorization: Basic dGVhbTpweC1jYW5hcnk=";

/// A way to the vendor.
fn way(stage: &Stage) -> Proxy {
    Proxy::start(Way::To(stage.vendor.address))
}

/// Its address with a login.
fn address(proxy: &Proxy) -> String {
    format!("http://team:{PASSWORD}@{}", proxy.address)
}

/// Its address as it is shown.
fn shown(proxy: &Proxy) -> Value {
    format!("http://{}", proxy.address).into()
}

/// A stage whose file gives `p-file` a proxy.
fn behind(name: &str) -> (Stage, Proxy) {
    let vendor = Upstream::start("vendor");
    let of_file = Proxy::start(Way::To(vendor.address));
    let site = site(name, &vendor);
    site.edit(|config| format!("{config}proxy = \"{}\"\n", address(&of_file)));
    let process = site.start();
    (Stage { site, vendor, process }, of_file)
}

/// How many tunnels each of them was asked for, after a request with this credential was served. A
/// change starts new pools, so the first request after it asks for one.
#[track_caller]
fn tunnels<const N: usize>(stage: &Stage, credential: &str, proxies: [&Proxy; N]) -> [usize; N] {
    assert_eq!(stage.ask("p/x"), (200, Some(credential.into())));
    proxies.map(|proxy| proxy.heads().len())
}

#[test]
fn a_given_proxy_is_the_way_at_once_and_is_shown_without_its_login() {
    let stage = Stage::new("proxy");
    let (one, two) = (way(&stage), way(&stage));
    let body = json!({"id": "mine", "provider": "p", "priority": 0, "apiKey": KEY, "proxy": address(&one)});
    let made = stage.make(body);
    assert_eq!([&made["proxy"], &stage.shown("mine")["proxy"]], [&shown(&one), &shown(&one)]);
    assert_eq!(tunnels(&stage, KEY, [&one, &two]), [1, 0]);
    let vendor = stage.vendor.address;
    assert_eq!(one.heads(), [format!("CONNECT {vendor} HTTP/1.1\r\nhost: {vendor}\r\n{LOGIN}\r\n\r\n")]);
    let changed = stage.patch("mine", json!({"proxy": format!("http://{}", two.address)}));
    assert_eq!([&changed["proxy"], &changed["apiKey"]], [&shown(&two), &json!("sk-…ABCD")]);
    assert_eq!(tunnels(&stage, KEY, [&one, &two]), [1, 1]);
    assert!(!two.heads()[0].contains("authorization"), "{:?}", two.heads());
    let before = stage.shown("mine");
    for bad in [json!("http://u:px-canary@h:0"), json!(1), json!("file:/etc/hostname"), json!("…")] {
        let (status, answer) = stage.api("PATCH", "/api/providers/mine", &json!({"proxy": bad}));
        assert_eq!((status, &answer["error"]["details"][0]["field"]), (400, &"proxy".into()), "{answer}");
        assert!(!answer.to_string().contains("canary"), "{answer}");
    }
    assert_eq!(stage.shown("mine"), before, "a refused change changes nothing");
    assert_eq!(stage.patch("mine", json!({"proxy": null}))["proxy"], Value::Null);
    assert_eq!(tunnels(&stage, KEY, [&one, &two]), [1, 1], "straight to the vendor");
}

#[test]
fn neither_a_proxy_nor_a_credential_takes_the_other_from_the_file() {
    let (stage, of_file) = behind("proxy-file");
    let own = way(&stage);
    assert_eq!(stage.shown("p-file")["proxy"], shown(&of_file));
    assert_eq!(tunnels(&stage, FILE_KEY, [&of_file, &own]), [1, 0]);
    let changed = stage.patch("p-file", json!({"proxy": address(&own)}));
    assert_eq!([&changed["proxy"], &changed["apiKey"]], [&shown(&own), &json!("sk-…file")]);
    assert_eq!(tunnels(&stage, FILE_KEY, [&of_file, &own]), [1, 1], "its credential stays with the file");
    assert_eq!(stage.patch("p-file", json!({"apiKey": KEY}))["proxy"], shown(&own));
    assert_eq!(tunnels(&stage, KEY, [&of_file, &own]), [1, 2]);
    let changed = stage.patch("p-file", json!({"proxy": null}));
    assert_eq!([&changed["proxy"], &changed["apiKey"]], [&shown(&of_file), &json!("sk-…ABCD")]);
    assert_eq!(tunnels(&stage, KEY, [&of_file, &own]), [2, 2], "the file's again");
    stage.delete("p-file");
    assert_eq!(stage.patch("p-file", json!({"apiKey": KEY}))["proxy"], shown(&of_file));
    assert_eq!(tunnels(&stage, KEY, [&of_file, &own]), [3, 2], "a credential alone leaves the file's proxy");
}

#[test]
fn a_proxy_survives_a_kill_9_and_what_was_shown_keeps_its_login() {
    let (mut stage, of_file) = behind("proxy-kill");
    let own = way(&stage);
    stage.make(json!({"id": "mine", "provider": "p", "priority": 0, "apiKey": KEY, "proxy": address(&own)}));
    for (number, body) in
        [None, Some(stage.shown("mine")), Some(json!({"name": "n"}))].into_iter().enumerate()
    {
        if let Some(body) = body {
            let (status, answer) = stage.api("PUT", "/api/providers/mine", &body);
            assert_eq!((status, &answer["connection"]["proxy"]), (200, &shown(&own)), "{answer}");
        }
        stage.crash();
        assert_eq!(stage.shown("mine")["proxy"], shown(&own));
        assert_eq!(tunnels(&stage, KEY, [&own, &of_file]), [number + 1, 0]);
        assert!(own.heads()[number].contains(LOGIN), "{:?}", own.heads());
    }
    // What was shown of the file's stays the file's: it follows the file.
    stage.patch("mine", json!({"isActive": false}));
    let (status, answer) = stage.api("PUT", "/api/providers/p-file", &stage.shown("p-file"));
    assert_eq!(status, 200, "{answer}");
    stage.site.edit(|config| config.replace(&address(&of_file), &address(&own)));
    stage.crash();
    assert_eq!(
        [&stage.shown("p-file")["source"], &stage.shown("p-file")["proxy"]],
        [&json!("stored"), &shown(&own)]
    );
    assert_eq!(tunnels(&stage, FILE_KEY, [&own, &of_file]), [4, 0]);
}

#[test]
fn a_proxy_that_does_not_open_is_never_left_out_and_the_right_key_brings_it_back() {
    let mut stage = Stage::new("proxy-key");
    let own = way(&stage);
    stage.make(json!({"id": "box", "provider": "l", "proxy": address(&own)}));
    let path = stage.site.path("store.key");
    let key = fs::read_to_string(&path).unwrap();
    fs::write(&path, "0".repeat(64)).unwrap();
    stage.crash();
    let hidden = stage.shown("box");
    assert_eq!([&hidden["status"], &hidden["proxy"]], [&json!("inactive"), &json!("…")], "{hidden}");
    assert_eq!(hidden["isActive"], true, "what was typed, else sending it back would keep it switched off");
    let log = stage.site.log();
    assert!(log.contains("the proxy of the stored connection `box` was sealed with another key"), "{log}");
    assert_eq!(stage.ask("l/x"), (503, None), "not by another way");
    let (status, answer) = stage.api("POST", "/api/providers/box/test", &json!({"model": "x"}));
    assert_eq!((status, stage.vendor.asked()), (503, 0), "not for a test either: {answer}");
    let (status, answer) = stage.api("PUT", "/api/providers/box", &hidden);
    assert_eq!((status, &answer["connection"]["proxy"]), (200, &json!("…")), "{answer}");
    fs::write(&path, key).unwrap();
    stage.crash();
    assert_eq!(process::ask(&stage.process.address, "l/x").0, 200);
    assert_eq!(own.heads().len(), 1);
    fs::write(&path, "f".repeat(64)).unwrap();
    stage.crash();
    assert_eq!(stage.patch("box", json!({"proxy": address(&own)}))["status"], "ready", "entered once more");
    assert_eq!(process::ask(&stage.process.address, "l/x").0, 200);
    assert_eq!(own.heads().len(), 2);
}

#[test]
fn no_token_is_renewed_around_a_proxy_that_cannot_be_had() {
    let account = |id: &str, rest: &str| {
        format!("[[connections]]\nid = \"{id}\"\nprovider = \"t\"\nrefresh_token = \"rt-{id}\"\n{rest}")
    };
    let site = process::Site::with(
        "connections-proxy-tokens",
        &[
            "[[providers]]\nid = \"t\"\nauth = \"oauth\"\nformat = \"openai\"\nbase_url = \"http://127.0.0.1:1\"\n\
             oauth = { token_url = \"http://127.0.0.1:1\", client_id = \"id\" }\n"
                .to_owned(),
            account("plain", ""),
            account("lost", "proxy = \"env:SWITCHTOWER_TEST_NOT_THERE\"\n"),
        ]
        .concat(),
    );
    let running = site.start();
    let health = process::health(&running.address);
    let renewed: Vec<&String> = health["tokens"]["connections"].as_object().unwrap().keys().collect();
    assert_eq!(renewed, ["plain"]);
    let (_, shown) = process::operate(&running.address, "GET", "/api/providers/lost", &Value::Null);
    assert_eq!(shown["connection"]["status"], "inactive", "{shown}");
}
