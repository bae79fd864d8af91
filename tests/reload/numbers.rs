//! Numbers and keys: which act at once, and which keep their value and say so.

use super::process::{Site, actor, actors, ask, call, eventually};
use super::support::{Answer, Upstream, get, post};
use super::{DONE, assert_served, hang_up, reload, vendor};

#[test]
fn fc_061_a_changed_breaker_threshold_acts_and_keeps_the_count() {
    let one = Upstream::start("one");
    one.answers(Answer::status(503));
    let numbers = "[resilience.connection_cooldown.apikey]\nbase_cooldown_ms = 1\nmax_backoff_steps = 0\n";
    let site = Site::with("threshold", &(numbers.to_owned() + &vendor("one", 1, &one)));
    let process = site.start();
    let address = process.address.as_str();
    let derived = || actor(address, "provider/one")["derived"].clone();
    let fail = |count: u64| {
        eventually("it counts", || {
            let _ = ask(address, "one/x");
            derived()["failureCount"] == count
        });
    };
    (1..=5).for_each(fail);
    assert_eq!(derived()["state"], "closed");
    let breaker = "[resilience.provider_breaker.apikey]\nfailure_threshold = 7\ndegradation_threshold = 6\n";
    reload(&site, &process, |text| text + breaker);
    eventually("the number is there", || derived()["degradationThreshold"] == 6);
    assert_eq!(derived()["failureCount"], 5, "the count is kept");
    fail(6);
    assert_eq!(derived()["state"], "degraded");
    fail(7);
    assert_eq!(derived()["state"], "open");
    let asked = one.asked();
    assert_eq!(ask(address, "one/x").0, 503);
    assert_eq!(one.asked(), asked, "an open breaker asks nobody");
}

#[test]
fn a_changed_mailbox_bound_acts_in_every_kind_of_actor() {
    let site = Site::with(
        "bounds",
        "[mailbox]\nrouter = 11\nprovider = 12\nconnection = 13\nlockout = 14\nstore = 15\n",
    );
    let process = site.start();
    let _ = ask(&process.address, "demo-a/status-404");
    let lockout = "lockout/demo-a-1:family:status-404";
    eventually("a lockout", || actors(&process.address).contains_key(lockout));
    let capacities = || {
        let rows = actors(&process.address);
        ["router/router", "provider/demo-a", "connection/demo-a-1", lockout, "store/store"]
            .map(|name| rows[name]["mailbox"]["capacity"].as_u64().unwrap())
    };
    assert_eq!(capacities(), [11, 12, 13, 14, 15]);
    reload(&site, &process, |text| {
        (11..=15).fold(text, |text, bound| {
            text.replace(&format!(" = {bound}\n"), &format!(" = {}\n", bound + 100))
        })
    });
    eventually("the bounds", || capacities() == [111, 112, 113, 114, 115]);
}

#[test]
fn a_changed_set_of_keys_acts_at_once() {
    let one = Upstream::start("one");
    let key = |name: &str, scope: &str| {
        format!("[[keys]]\nname = \"{name}\"\nkey = \"key-of-{name}\"\nscopes = [\"{scope}\"]\n")
    };
    let keys = key("ann", "inference") + &key("bob", "inference");
    let site = Site::with("keys", &(vendor("one", 1, &one) + &keys));
    site.edit(|text| text.replace("workers = 2", "workers = 2\nrequire_api_key = true"));
    let process = site.start();
    let status = |name: &str| {
        let header = format!("authorization: Bearer key-of-{name}\r\n");
        let address = process.address.parse().unwrap();
        post(address, "/v1/chat/completions", &header, br#"{"model":"one/x"}"#).status
    };
    assert_eq!(["ann", "bob", "eve"].map(status), [200, 200, 401]);
    reload(&site, &process, |text| text.replace(&key("ann", "inference"), &key("eve", "inference")));
    assert_eq!(["ann", "bob", "eve"].map(status), [401, 200, 200]);
    reload(&site, &process, |text| text.replace(&key("bob", "inference"), &key("bob", "manage")));
    assert_eq!(["ann", "bob", "eve"].map(status), [401, 403, 200]);
    reload(&site, &process, |text| text.replace("require_api_key = true", "require_api_key = false"));
    assert_eq!(["ann", "bob", "eve"].map(status), [200, 403, 200], "a known key has its own rights");
    let metrics = || get(process.address.parse().unwrap(), "/metrics", "").status;
    assert_eq!(metrics(), 401);
    reload(&site, &process, |text| text + "\n[metrics]\npublic = true\n");
    assert_eq!(metrics(), 200);
    reload(&site, &process, |text| text.replace("token = \"process-test\"", "token = \"another\""));
    assert_eq!(call(&process.address, "GET", "/api/actors", "").0, 401, "the admin token too");
}

/// Each line with what it becomes: none of it can change while the process runs.
const BOUND_AT_START: [(&str, &str, &str); 5] = [
    ("server.listen", "listen = \"127.0.0.1:0\"\n", "listen = \"0.0.0.0:1\"\n"),
    ("server.workers", "workers = 2\n", "workers = 1\n"),
    ("admin.listen", "token = \"process-test\"\n", "token = \"process-test\"\nlisten = \"127.0.0.1:1\"\n"),
    ("store.path", "path = \"store\"\n", "path = \"elsewhere\"\n"),
    ("demo.enabled", "enabled = true\n", "enabled = false\n"),
];

#[test]
fn what_needs_a_restart_says_so_and_keeps_its_value() {
    let one = Upstream::start("one");
    let site = Site::with("restart-only", &vendor("one", 1, &one));
    let process = site.start();
    let address = process.address.as_str();
    let told = |key: &str| {
        let log = site.log();
        let words = ["the new value needs a restart; the old one stays", &format!("key=\"{key}\"")];
        log.lines().filter(|line| words.iter().all(|word| line.contains(word))).count()
    };
    let before = std::fs::read_to_string(site.path("config.toml")).unwrap();
    reload(&site, &process, |text| {
        let change = |text: String, (_, from, to): (&str, &str, &str)| {
            assert!(text.contains(from), "{from}");
            text.replace(from, to)
        };
        BOUND_AT_START.into_iter().fold(text, change).replace("secret-one-1", "rotated-one-1")
    });
    for (key, _, _) in BOUND_AT_START {
        assert_eq!(told(key), 1, "{key}: {}", site.log());
    }
    // Asked without a key: whether one is required hangs on the address that is listened on, not on the
    // public one that waits for a restart.
    assert_served(address, "one/x", "one");
    assert_eq!(one.only_request().header("authorization"), Some("Bearer rotated-one-1"), "the rest applies");
    assert_eq!(ask(address, "demo-b/steady").0, 200, "the demo serves on");
    assert_eq!(call(address, "GET", "/api/actors", "").0, 200, "the management API stays where it is");
    assert!(!site.path("elsewhere").exists());
    hang_up(&site, &process, DONE);
    for (key, _, _) in BOUND_AT_START {
        assert_eq!(told(key), 2, "it still needs one: {key}");
    }
    reload(&site, &process, |_| before);
    for (key, _, _) in BOUND_AT_START {
        assert_eq!(told(key), 2, "as it was at start: {key}");
    }
}
