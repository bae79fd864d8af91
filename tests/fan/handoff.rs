//! Routing 4.4: a talk goes on with another account.

use std::net::SocketAddr;

use serde_json::{Value, json};

use super::support::{Answer, Child, Reply, Setup, eventually, post};
use super::{CHAT, body, setup};

const SUMMARY: &str = "CANARY of the summary";

/// An answer of an account that has used so much.
fn used(share: f64, text: &str) -> Answer {
    let headers = format!(
        "content-type: application/json\r\nanthropic-ratelimit-unified-5h-utilization: {share}\r\n\
         anthropic-ratelimit-unified-5h-reset: 4102444800\r\n"
    );
    let message = json!({"choices": [{"index": 0, "message": {"role": "assistant", "content": text}}]});
    Answer::sized(200, &headers, message.to_string())
}

fn turn_at(address: SocketAddr, text: &str) -> Reply {
    let asked = json!({"model": "m", "messages": [{"role": "user", "content": text}]});
    post(address, CHAT, "x-session-id: talk-1\r\n", asked.to_string().as_bytes())
}

fn turn(child: &Child, text: &str) -> Reply {
    turn_at(child.address, text)
}

fn relay() -> Setup {
    setup("context-relay", &["a", "b"], "max_retries = 0, combo_cooldown_wait_enabled = false")
}

fn start() -> Child {
    relay().spawn()
}

#[test]
fn row_20_the_next_account_is_shown_what_the_last_one_summed_up() {
    let mut child = start();
    let summary = json!({"summary": SUMMARY, "keyDecisions": ["<b>"]}).to_string();
    // What the account uses is known from its first answer on; a summary is due with the second.
    child.upstream("a").answers_first([used(0.86, "one"), used(0.86, "two"), used(0.86, &summary)]);
    child.upstream("a").answers_first([Answer::status(503)]);
    assert_eq!(turn(&child, "first").status, 200);
    assert_eq!(child.upstream("a").asked(), 1);
    assert_eq!(turn(&child, "second").status, 200);
    eventually("the talk is summed up", || child.upstream("a").asked() == 3);
    let asked = body(&child.upstream("a").requests()[2]);
    assert_eq!((&asked["model"], &asked["max_tokens"]), (&json!("x"), &json!(800)));
    assert_eq!(asked["messages"][1]["content"], "user: second\n\n");

    let last = || body(child.upstream("b").requests().last().unwrap());
    eventually("the other account is told", || {
        assert_eq!(turn(&child, "third").status, 200);
        // The first of these may have come before the summary was read.
        child.upstream("b").asked() > 0 && last()["messages"].as_array().unwrap().len() == 2
    });
    let told: Value = last()["messages"].clone();
    assert_eq!(
        (&told[0]["role"], &told[1]),
        (&json!("system"), &json!({"role": "user", "content": "third"}))
    );
    let text = told[0]["content"].as_str().unwrap();
    assert!(text.contains(&format!("<summary>{SUMMARY}</summary>")), "{text}");
    assert!(text.contains("<decision>&lt;b&gt;</decision>"), "{text}");
    let own = child.upstream("a").requests();
    assert!(own.iter().all(|request| !String::from_utf8_lossy(&request.body).contains("context_handoff")));

    let (log, dump) = child.end();
    assert!(dump.contains("handoffs") && !dump.contains("CANARY"), "{dump}");
    assert!(!log.contains("CANARY"));
}

#[test]
fn row_19_below_the_threshold_nothing_is_summed_up() {
    let mut child = start();
    child.upstream("a").answers(used(0.8, "one"));
    for text in ["first", "second", "third"] {
        assert_eq!(turn(&child, text).status, 200);
    }
    let (log, dump) = child.end();
    assert_eq!(child.upstream("a").asked(), 3, "{log}");
    assert!(!dump.contains("handoffs/"), "{dump}");
}

/// Routing 4.4, the table of 4: a router that follows another has what that one had.
#[test]
fn a_summary_outlives_the_router() {
    // Only a build with hooks can make it panic.
    let deaths = if cfg!(feature = "test-hooks") { &["restart", "poison"][..] } else { &["restart"] };
    for death in deaths {
        let world = relay().start();
        let summary = json!({"summary": SUMMARY}).to_string();
        world.upstream("a").answers_first([used(0.86, "one"), used(0.86, "two"), used(0.86, &summary)]);
        world.upstream("a").answers_first([Answer::status(503)]);
        assert_eq!(turn_at(world.address, "first").status, 200);
        assert_eq!(turn_at(world.address, "second").status, 200);
        eventually("the talk is summed up", || world.upstream("a").asked() == 3);
        let told = |text: &str| {
            assert_eq!(turn_at(world.address, text).status, 200);
            let asked = world.upstream("b").requests();
            asked.last().is_some_and(|asked| body(asked).to_string().contains(SUMMARY))
        };
        eventually("the other account is told", || told("third"));
        world.order("router", "router", json!({"message": death}));
        let restarts = || world.admin("/api/actors/router/router").json()["restarts"] == 1;
        eventually("another router is there", restarts);
        assert!(told("fourth"), "{death}");
    }
}
