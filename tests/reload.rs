//! SIGHUP (contract 1, FC-061): what applies at once, what needs a restart and says so, what is
//! refused whole, and that none of it costs a running request.

#[path = "reload/load.rs"]
mod load;
#[path = "reload/numbers.rs"]
mod numbers;
mod process;
#[allow(dead_code, unused_imports, reason = "each test file uses its part")]
mod support;

use process::{Process, Site, actor, actors, ask, call, eventually, open, order, read};
use support::{Answer, Gate, Upstream};

const DONE: &str = "the config was read again";
const REFUSED: &str = "the new config is refused; the old one stays";

/// A provider with connections `<id>-1`, ... whose credentials are `secret-<id>-1`, ...
fn vendor(id: &str, connections: usize, upstream: &Upstream) -> String {
    let base = upstream.address;
    let mut text = format!(
        "[[providers]]\nid = \"{id}\"\nauth = \"apikey\"\nformat = \"openai\"\nbase_url = \"http://{base}\"\n"
    );
    for number in 1..=connections {
        text += &format!(
            "[[connections]]\nid = \"{id}-{number}\"\nprovider = \"{id}\"\ncredential = \"secret-{id}-{number}\"\n"
        );
    }
    text
}

fn combo(name: &str, targets: &[&str]) -> String {
    let targets: Vec<String> = targets.iter().map(|target| format!("{{ model = \"{target}\" }}")).collect();
    format!("[[combos]]\nname = \"{name}\"\nstrategy = \"priority\"\ntargets = [{}]\n", targets.join(", "))
}

/// Sends the signal and waits until the process has said what it made of it.
fn hang_up(site: &Site, process: &Process, outcome: &str) {
    let before = site.log().matches(outcome).count();
    process.signal("HUP");
    eventually(outcome, || site.log().matches(outcome).count() > before);
}

/// Changes the config and has it read again.
fn reload(site: &Site, process: &Process, change: impl FnOnce(String) -> String) {
    site.edit(change);
    hang_up(site, process, DONE);
}

#[track_caller]
fn assert_served(address: &str, model: &str, by: &str) {
    let (status, _, body) = ask(address, model);
    assert_eq!(status, 200, "{model}: {body}");
    assert!(body.contains(&format!(r#""served_by":"{by}""#)), "{model}: {body}");
}

#[test]
fn fc_061_an_invalid_file_is_refused_whole_and_the_old_one_serves_on() {
    let (one, two) = (Upstream::start("one"), Upstream::start("two"));
    let site = Site::with("refuse", &vendor("one", 1, &one));
    let process = site.start();
    let good = std::fs::read_to_string(site.path("config.toml")).unwrap();
    // Everything in it is right but two lines.
    let bad =
        good.replace("workers = 2", "workers = 2\nmax_body = \"lots\"").replace("secret-one-1", "other")
            + &vendor("two", 1, &two)
            + &combo("new", &["two/x", "nobody/x"]);
    site.edit(|_| bad.clone());
    hang_up(&site, &process, REFUSED);
    let log = site.log();
    for key in ["server.max_body", "combos[].targets[].model"] {
        let line = log.lines().find(|line| line.contains(key)).unwrap_or_else(|| panic!("{key}: {log}"));
        assert!(line.contains("config.toml:") && line.contains("accepted: "), "{line}");
    }
    assert_served(&process.address, "one/x", "one");
    assert_eq!(one.only_request().header("authorization"), Some("Bearer secret-one-1"));
    for model in ["two/x", "new"] {
        assert_eq!(ask(&process.address, model).0, 404, "{model}");
    }
    assert!(!actors(&process.address).contains_key("provider/two"));

    for broken in ["not TOML at all [", &format!("{good}[upstream]\nca_file = \"missing.pem\"\n")] {
        site.edit(|_| broken.to_owned());
        hang_up(&site, &process, REFUSED);
        assert_served(&process.address, "one/x", "one");
    }
    std::fs::remove_file(site.path("config.toml")).unwrap();
    hang_up(&site, &process, REFUSED);
    assert_served(&process.address, "one/x", "one");

    std::fs::write(site.path("config.toml"), good + &vendor("two", 1, &two)).unwrap();
    hang_up(&site, &process, DONE);
    assert_served(&process.address, "two/x", "two");
}

#[test]
fn an_empty_file_is_one_that_is_being_written() {
    let one = Upstream::start("one");
    let site = Site::with("empty", &vendor("one", 1, &one));
    let process = site.start();
    let config = std::fs::read_to_string(site.path("config.toml")).unwrap();
    site.edit(|_| " \n".into());
    hang_up(&site, &process, REFUSED);
    assert_served(&process.address, "one/x", "one");
    site.edit(|_| config);
    hang_up(&site, &process, DONE);
    assert_served(&process.address, "one/x", "one");
}

#[test]
fn fc_061_what_is_new_is_served_at_once_and_a_removed_combo_is_unknown() {
    let (one, two) = (Upstream::start("one"), Upstream::start("two"));
    let site = Site::with("entities", &(vendor("one", 1, &one) + &combo("old", &["one/x"])));
    let process = site.start();
    let address = process.address.as_str();
    assert_served(address, "old", "one");
    assert_eq!(ask(address, "two/x").0, 404);
    reload(&site, &process, |text| {
        text.replace("name = \"old\"", "name = \"new\"").replace("one/x", "two/x") + &vendor("two", 2, &two)
    });
    assert_served(address, "two/x", "two");
    assert_served(address, "new", "two");
    assert_served(address, "one/x", "one");
    let (status, _, body) = ask(address, "old");
    assert_eq!(status, 404, "{body}");
    assert!(body.contains("\"model_not_found\""), "{body}");
    let rows = actors(address);
    for name in ["provider/two", "connection/two-1", "connection/two-2"] {
        assert!(rows.contains_key(name), "{name}");
    }
    assert!(call(address, "GET", "/v1/models", "").2.contains("\"new\""));
    assert!(!call(address, "GET", "/v1/models", "").2.contains("\"old\""));
}

#[test]
fn fc_061_a_removed_connection_drains_and_then_its_owner_is_gone() {
    let (one, gate) = (Upstream::start("one"), Gate::default());
    let chunk = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n";
    one.answers_first([Answer::stream()
        .chunk(chunk)
        .until(&gate)
        .chunk(chunk)
        .chunk("data: [DONE]\n\n")
        .last_chunk()]);
    let site = Site::with("drains", &vendor("one", 1, &one));
    let process = site.start();
    let address = process.address.as_str();
    let stream = open(address, "POST", "/v1/chat/completions", r#"{"model":"one/x","stream":true}"#);
    eventually("the stream runs", || actors(address)["connection/one-1"]["inFlight"] == 1);
    reload(&site, &process, |text| text.replace("one-1", "one-2"));
    assert_served(address, "one/x", "one");
    assert_eq!(
        one.requests()[1].header("authorization"),
        Some("Bearer secret-one-2"),
        "nothing new goes there"
    );
    let rows = actors(address);
    assert_eq!(rows["connection/one-1"]["inFlight"], 1, "it still runs");
    gate.open();
    let (status, _, body) = read(stream);
    assert!(status == 200 && body.contains("[DONE]"), "{status} {body}");
    assert_eq!(body.matches("\"content\":\"a\"").count(), 2, "{body}");
    eventually("it is gone", || !actors(address).contains_key("connection/one-1"));
    assert_eq!(call(address, "GET", "/api/actors/connection/one-1", "").0, 404);

    reload(&site, &process, |text| text[..text.find("[[providers]]").unwrap()].to_owned());
    eventually("the provider is gone", || !actors(address).keys().any(|name| name.contains("/one")));
    assert_eq!(ask(address, "one/x").0, 404);
    assert_eq!(ask(address, "demo-b/steady").0, 200);
}

#[test]
fn fc_061_a_changed_credential_is_used_from_the_next_request() {
    let one = Upstream::start("one");
    let rest = "[resilience.connection_cooldown.apikey]\nbase_cooldown_ms = 3600000\n";
    let site = Site::with("new-secret", &(rest.to_owned() + &vendor("one", 1, &one)));
    let process = site.start();
    assert_served(&process.address, "one/x", "one");
    reload(&site, &process, |text| text.replace("secret-one-1", "rotated-one-1"));
    assert_served(&process.address, "one/x", "one");
    let sent: Vec<_> =
        one.requests().iter().map(|one| one.header("authorization").unwrap().to_owned()).collect();
    assert_eq!(sent, ["Bearer secret-one-1", "Bearer rotated-one-1"]);
    // Decision 3c: what was about the old credential goes with it, what was not stays.
    for (status, is_kept) in [(401, false), (503, true)] {
        one.answers_first([Answer::status(status)]);
        let _ = ask(&process.address, "one/x");
        let until = || actor(&process.address, "connection/one-1")["snapshot"]["cooldown"]["until"].clone();
        let before = until();
        assert!(before.is_u64(), "{status}: {before}");
        reload(&site, &process, |text| text.replace("-one-1\"\n", "x-one-1\"\n"));
        // An order goes behind the new config, to the router and to the owner.
        order(&process.address, "connection/one-1", r#"{"message":"undrain"}"#);
        assert_eq!(until(), if is_kept { before } else { serde_json::Value::Null }, "{status}");
    }
}
