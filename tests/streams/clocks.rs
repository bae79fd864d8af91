//! Each clock and its limit, over sockets (decision 18a; FC-030, FC-032, FC-093). What they do
//! for minutes is tested on paused time in `policy::stream`.

use std::time::{Duration, Instant};

use crate::support::{Answer, End, Reply, Setup, World, eventually};
use crate::{ALL, CHAT, Dialect, events, got, open_events};

fn with(section: &str, dialect: &Dialect) -> World {
    let section = format!("[stream]\n{section}");
    let world = Setup::new().section(&section).provider("a", 1).provider("b", 1).combo("m", &["a", "b"]);
    let world = world.start();
    world.upstream("b").answers(events(&[&dialect.complete()]));
    world
}

/// Complete or not, within what the limit and a slow machine need.
fn timed(dialect: &Dialect, world: &World, model: &str) -> (Reply, Duration) {
    let started = Instant::now();
    let reply = dialect.ask(world, model);
    (reply, started.elapsed())
}

#[test]
fn fc_030_a_head_without_content_fails_over() {
    for dialect in ALL {
        for held in [vec![], vec![": ping\n\n"], vec![dialect.opening[1]]] {
            let world = with("first_content_timeout = \"300ms\"", dialect);
            world.upstream("a").answers(open_events(&held).hangs());
            let (reply, took) = timed(dialect, &world, "m");
            got(&reply, &dialect.complete());
            assert!(took >= Duration::from_millis(300), "{took:?}");
            assert_eq!(world.failures("a"), 0, "it counts on no breaker");
            eventually("the vendor is told", || world.upstream("a").closed() == 1);
        }
    }
}

#[test]
fn fc_030_pings_do_not_extend_the_first_content() {
    let world = with("first_content_timeout = \"400ms\"", &CHAT);
    let pings = (0..40)
        .fold(Answer::stream(), |answer, _| answer.chunk(": ping\n\n").pauses(Duration::from_millis(50)));
    world.upstream("a").answers(pings.hangs());
    let (reply, took) = timed(&CHAT, &world, "m");
    got(&reply, &CHAT.complete());
    assert!(took < Duration::from_millis(1_900), "{took:?}");
}

/// Fifteen tools are worth fifteen seconds more; a combo's own limit is exact (decision 15).
#[test]
fn flow_6_2_8_a_heavy_request_may_take_longer_to_begin() {
    let world = with("first_content_timeout = \"200ms\"", &CHAT);
    let late = Duration::from_millis(700);
    world
        .upstream("a")
        .answers(open_events(&[": ping\n\n"]).pauses(late).chunk(CHAT.text).chunk(CHAT.end).last_chunk());
    let tools = vec![serde_json::json!({"type": "function"}); 15];
    let heavy = serde_json::json!({"model": "m", "stream": true, "messages": [], "tools": tools});
    got(&world.post(CHAT.route, heavy), &(": ping\n\n".to_owned() + CHAT.text + CHAT.end));
    got(&CHAT.ask(&world, "m"), &CHAT.complete());
}

#[test]
fn decision_9a_a_single_target_is_told_with_the_code() {
    let world = with("first_content_timeout = \"200ms\"", &CHAT);
    world.upstream("a").answers(open_events(&[]).hangs());
    CHAT.ask(&world, "a/x").is_error(504, "STREAM_READINESS_TIMEOUT");
    assert_eq!(world.derived("connection", "a-1")["state"], "ready", "nobody cools");
}

/// E103, flow 6.3: recorded on the connection, and no cooldown by default.
#[test]
fn e103_a_stall_after_content_is_told_and_cools_nobody() {
    for (section, code) in [
        ("content_stall_timeout = \"300ms\"", "STREAM_CONTENT_STALL"),
        ("idle_timeout = \"300ms\"", "STREAM_IDLE_TIMEOUT"),
        ("total_timeout = \"300ms\"", "STREAM_TOTAL_TIMEOUT"),
        ("attempt_deadline = \"300ms\"", "STREAM_ATTEMPT_TIMEOUT"),
    ] {
        for dialect in ALL {
            let world = with(section, dialect);
            world.upstream("a").answers(open_events(&[dialect.text]).hangs());
            let reply = dialect.ask(&world, "m");
            assert_ne!(reply.end, End::Complete);
            let error = reply.text();
            let error = error.strip_prefix(dialect.text).unwrap_or_else(|| panic!("{error}"));
            assert!(error.contains(&format!("\"code\":\"{code}\"")), "{error}");
            assert_eq!(world.upstream("b").asked(), 0);
            eventually("the vendor is told", || world.upstream("a").closed() == 1);
            eventually("the slot is free", || world.in_flight("a-1") == 0);
            let connection = world.derived("connection", "a-1");
            assert_eq!((&connection["state"], world.failures("a")), (&"ready".into(), 0), "{connection}");
        }
    }
}

/// Core P4: unless the operator wants it.
#[test]
fn e103_a_stall_cools_where_an_operator_wants_it() {
    let section = "content_stall_timeout = \"200ms\"\n[resilience.stream_stall_cooldown]\nenabled = true";
    let world = with(section, &CHAT);
    world.upstream("a").answers(open_events(&[CHAT.text]).hangs());
    CHAT.ask(&world, "a/x");
    eventually("it rests", || world.derived("connection", "a-1")["state"] == "cooling");
}

/// Reasoning and lifecycle: the one re-arms the stall, the other does not.
#[test]
fn e100_reasoning_is_progress_and_pings_are_not() {
    let world = with("content_stall_timeout = \"400ms\"", &CHAT);
    let pause = Duration::from_millis(150);
    let thinks = (0..6).fold(Answer::stream(), |answer, _| answer.chunk(CHAT.reasoning).pauses(pause));
    world.upstream("a").answers(thinks.chunk(CHAT.text).chunk(CHAT.end).last_chunk());
    got(&CHAT.ask(&world, "a/x"), &(CHAT.reasoning.repeat(6) + CHAT.text + CHAT.end));
    let pings = open_events(&[CHAT.text]);
    let pings = (0..20).fold(pings, |answer, _| answer.chunk(": ping\n\n").pauses(pause));
    world.upstream("a").answers(pings.chunk(CHAT.end).last_chunk());
    assert!(CHAT.ask(&world, "a/x").text().contains("STREAM_CONTENT_STALL"));
}

/// The whole request's time is over: nobody else is asked, and no provider is blamed.
#[test]
fn the_total_ends_a_request_between_its_attempts_too() {
    let world = with("total_timeout = \"300ms\"", &CHAT);
    world.upstream("a").answers(Answer::silence());
    CHAT.ask(&world, "m").is_error(504, "STREAM_TOTAL_TIMEOUT");
    assert_eq!((world.upstream("b").asked(), world.failures("a")), (0, 0));
}

/// FC-093: comments stand between events, never inside one, and only when something was sent.
#[test]
fn fc_093_a_heartbeat_stands_between_two_events() {
    let world = with("heartbeat = \"100ms\"", &CHAT);
    let (half, rest) = CHAT.text.split_at(40);
    let answer = open_events(&[CHAT.text, half]).pauses(Duration::from_millis(450)).chunk(rest);
    world.upstream("a").answers(answer.chunk(CHAT.end).last_chunk());
    let reply = CHAT.ask(&world, "a/x");
    let text = reply.text();
    assert!(text.matches(": keep-alive\n\n").count() >= 2, "{text}");
    assert_eq!(text.replace(": keep-alive\n\n", ""), CHAT.text.repeat(2) + CHAT.end);
    assert_eq!(reply.end, End::Complete);
}

#[test]
fn an_event_larger_than_allowed_ends_the_stream() {
    let world = with("max_event = \"64KiB\"", &CHAT);
    let long =
        format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{}\"}}}}]}}\n\n", "x".repeat(70_000));
    world.upstream("a").answers(events(&[CHAT.text, &long, CHAT.end]));
    let reply = CHAT.ask(&world, "a/x");
    assert_ne!(reply.end, End::Complete);
    assert!(reply.text().contains("stream.max_event"), "{}", &reply.text()[..300.min(reply.text().len())]);
    // Before anything was sent it is a failed attempt like any other.
    world.upstream("a").answers(events(&[&long, CHAT.end]));
    got(&CHAT.ask(&world, "m"), &CHAT.complete());
}

/// Connection before model before provider before the section.
#[test]
fn limits_are_resolved_per_provider() {
    let keys = "format = \"openai\"\ntimeouts = { first_content = \"200ms\" }";
    let world = Setup::new().provider_with("a", 1, keys).start();
    world.upstream("a").answers(open_events(&[]).hangs());
    CHAT.ask(&world, "a/x").is_error(504, "STREAM_READINESS_TIMEOUT");
}
