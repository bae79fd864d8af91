//! Sessions of clients over sockets: who names one stays with its account, and nobody upstream or
//! in the store hears its name (rules 6, 9.7; FC-100; contract 3).

#[allow(dead_code, reason = "each test file uses its part")]
mod process;
#[allow(dead_code, unused_imports, reason = "each test file uses its part")]
mod support;

use process::{Site, call};
use serde_json::{Value, json};
use support::{Answer, Setup, World, post};

const HEADERS: [&str; 3] = ["X-Session-Id", "x-codex-session-id", "x-omniroute-session"];

fn ask(world: &World, headers: &str, mut body: Value) -> String {
    body["model"] = "a/m".into();
    let reply = post(world.address, "/v1/chat/completions", headers, body.to_string().as_bytes());
    assert_eq!(reply.status, 200, "{}", reply.text());
    reply.header("x-omniroute-selected-connection-id").unwrap().to_owned()
}

fn named(world: &World, session: &str) -> String {
    ask(world, &format!("X-Session-Id: {session}\r\n"), json!({}))
}

/// Rules A1, A2, A10: new sessions are spread, each stays, and the headers end here.
#[test]
fn fc_100_a_session_stays_with_its_account_and_its_name_stays_here() {
    for strategy in ["fill-first", "p2c"] {
        let section = format!("[settings]\nfallback_strategy = \"{strategy}\"");
        let world = Setup::new().section(&section).provider("a", 2).start();
        let (one, other) = (named(&world, "s1"), named(&world, "s2"));
        assert_ne!(one, other, "{strategy}");
        for _ in 0..10 {
            assert_eq!(named(&world, "s1"), one, "{strategy}");
            assert_eq!(named(&world, "s2"), other, "{strategy}");
        }
        for name in HEADERS {
            ask(&world, &format!("{name}: s1\r\n"), json!({}));
        }
        for request in world.upstream("a").requests() {
            assert!(HEADERS.iter().all(|name| request.header(name).is_none()), "{}", request.head);
        }
    }
}

/// Rules 6.2: the body's own names; a text is none by itself.
#[test]
fn a_body_may_name_its_session() {
    let bodies = [
        json!({"metadata": {"session_id": "x"}}),
        json!({"metadata": {"sessionId": "x"}}),
        json!({"conversation_id": "x"}),
        json!({"session_id": "x"}),
        json!({"prompt_cache_key": "x"}),
    ];
    let text = json!({"messages": [{"role": "user", "content": "hello"}]});
    for body in bodies {
        let world = Setup::new().provider("a", 2).start();
        assert_eq!([named(&world, "s1"), ask(&world, "", body.clone())], ["a-1", "a-2"], "{body}");
        assert_eq!([ask(&world, "", text.clone()), ask(&world, "", body.clone())], ["a-1", "a-2"], "{body}");
    }
}

/// Decision 23.
#[test]
fn a_first_text_names_a_session_where_it_may() {
    let world =
        Setup::new().section("[settings]\nsession_affinity_from_text = true").provider("a", 2).start();
    let text = |text: &str| json!({"messages": [{"role": "user", "content": text}]});
    let (one, other) = (ask(&world, "", text("hello")), ask(&world, "", text("bye")));
    assert_ne!(one, other);
    let longer = json!({"messages": [{"role": "user", "content": "bye"}, {"role": "user", "content": "x"}]});
    assert_eq!([ask(&world, "", text("hello")), ask(&world, "", longer)], [one, other]);
}

/// Rules 6.11: the account fails, the session moves, and does not come back by itself.
#[test]
fn a_session_moves_when_its_account_fails() {
    let world = Setup::new().provider("a", 2).start();
    assert_eq!(named(&world, "s1"), "a-1");
    world.upstream("a").answers_first([Answer::status(429)]);
    assert_eq!(named(&world, "s1"), "a-2");
    world.order("connection", "a-1", json!({"message": "reset"}));
    assert_eq!([named(&world, "s1"), named(&world, "s1")], ["a-2", "a-2"]);
    assert_eq!(named(&world, "s2"), "a-1");
}

/// Rules A5.
#[test]
fn without_a_ttl_nobody_stays() {
    let world = Setup::new().section("[settings]\nsession_affinity_ttl_ms = 0").provider("a", 2).start();
    assert_eq!([named(&world, "s1"), named(&world, "s2")], ["a-1", "a-1"]);
}

/// Contract 4: a session is named as its client would name it, and nothing changes by asking.
#[test]
fn an_explanation_follows_a_session() {
    let world = Setup::new().provider("a", 2).start();
    assert_eq!([named(&world, "s1"), named(&world, "s2")], ["a-1", "a-2"]);
    let first = |session: &str| {
        let asked = json!({"model": "a/m", "session": session, "format": "openai"});
        let told = world.manage("POST", "/api/route/explain", &asked).json();
        told["order"][0]["connection"].as_str().unwrap_or_else(|| panic!("{told}")).to_owned()
    };
    assert_eq!([first("s2"), first("s1"), first("s2")], ["a-2", "a-1", "a-2"]);
    assert_eq!([first("new"), first("new")], ["a-1", "a-1"], "nobody was seated");
}

/// Decision 11; the store holds no name.
#[test]
fn a_session_is_known_after_a_restart() {
    let site = Site::new("sessions", "5s");
    let account = |address: &str, session: &str| {
        let body = json!({"model": "demo-a/steady", "session_id": session}).to_string();
        let (status, head, body) = call(address, "POST", "/v1/chat/completions", &body);
        assert_eq!(status, 200, "{body}");
        let named = head.lines().find_map(|line| line.strip_prefix("x-omniroute-selected-connection-id: "));
        named.unwrap_or_else(|| panic!("{head}")).to_owned()
    };
    let mut process = site.start();
    let secret = "session-name-1234";
    assert_eq!(account(&process.address, "other"), "demo-a-1");
    assert_eq!(account(&process.address, secret), "demo-a-2");
    let status = std::process::Command::new("kill").args(["-TERM", &process.child.id().to_string()]).status();
    assert!(status.unwrap().success() && process.child.wait().unwrap().success());
    let store = std::fs::read_dir(site.path("store")).unwrap().map(|entry| entry.unwrap().path());
    for file in store.filter(|path| path.is_file()) {
        let bytes = std::fs::read(&file).unwrap();
        assert!(!bytes.windows(secret.len()).any(|window| window == secret.as_bytes()), "{}", file.display());
    }
    let process = site.start();
    assert_eq!(account(&process.address, secret), "demo-a-2");
    assert_eq!(account(&process.address, "new"), "demo-a-1");
}
