//! Each clock and its limit, over sockets (decision 18a; FC-030, FC-031, FC-032, FC-088, FC-093). What they do
//! for minutes is tested on paused time in `policy::stream`.

use std::time::{Duration, Instant};

use crate::support::{Answer, End, Reply, Setup, World, eventually};
use crate::{ALL, CHAT, Dialect, MESSAGES, RESPONSES, events, got, open_events};

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
    let keys = "format = \"openai\"\ntimeouts = { idle = \"200ms\" }";
    let world = Setup::new().provider_with("a", 1, keys).start();
    world.upstream("a").answers(open_events(&[CHAT.text]).hangs());
    let reply = CHAT.ask(&world, "a/x");
    assert!(reply.text().contains("STREAM_IDLE_TIMEOUT"), "{}", reply.text());
}

/// FC-031: an account whose models think longer than the section allows.
#[test]
fn fc_031_pauses_of_thinking_are_borne_where_a_limit_is_longer() {
    let section = "[stream]\nfirst_content_timeout = \"200ms\"\ncontent_stall_timeout = \"200ms\"";
    let pause = Duration::from_millis(500);
    for dialect in ALL {
        for (timeouts, borne) in
            [("{ first_content = \"10s\", content_stall = \"10s\" }", true), ("{ }", false)]
        {
            let formats = "format = [\"openai\", \"anthropic\", \"responses\"]";
            let keys = format!("{formats}\ntimeouts = {timeouts}");
            let world = Setup::new().section(section).provider_with("a", 1, &keys).start();
            let answer =
                open_events(&[&dialect.opening()]).pauses(pause).chunk(dialect.reasoning).pauses(pause);
            let rest = dialect.text.to_owned() + &dialect.stop.concat() + dialect.end;
            world.upstream("a").answers(answer.chunk(&rest).last_chunk());
            let reply = dialect.ask(&world, "a/x");
            match borne {
                true => got(&reply, &(dialect.opening() + dialect.reasoning + &rest)),
                false => drop(reply.is_error(504, "STREAM_READINESS_TIMEOUT")),
            }
        }
    }
}

/// FC-032: it takes longer than any of its limits, and never longer between two words.
#[test]
fn fc_032_what_goes_on_is_not_ended() {
    let limits =
        "first_content_timeout = \"500ms\"\ncontent_stall_timeout = \"500ms\"\nidle_timeout = \"500ms\"";
    for dialect in ALL {
        let world = with(limits, dialect);
        let pause = Duration::from_millis(150);
        let talks = (0..8).fold(Answer::stream(), |answer, _| answer.chunk(dialect.text).pauses(pause));
        let end = dialect.stop.concat() + dialect.end;
        world.upstream("a").answers(talks.chunk(&end).last_chunk());
        let (reply, took) = timed(dialect, &world, "m");
        got(&reply, &(dialect.text.repeat(8) + &end));
        assert!(took > Duration::from_millis(1_000), "{took:?}");
    }
}

/// FC-032: the client library would end a call that has no head after five seconds.
#[test]
fn fc_032_a_head_may_take_its_time() {
    let world = Setup::new().provider("a", 1).start();
    let late = Duration::from_millis(5_500);
    world.upstream("a").answers(events(&[&CHAT.complete()]).after(late));
    world.upstream("a").answers_first([Answer::good("late").after(late)]);
    std::thread::scope(|scope| {
        let whole = scope.spawn(|| world.ask("a/x"));
        eventually("the first is asked", || world.upstream("a").asked() == 1);
        got(&CHAT.ask(&world, "a/x"), &CHAT.complete());
        whole.join().unwrap().served_by("late");
    });
}

/// FC-088: whatever the model does is progress; a typed keep-alive is a sign of life, and no more.
#[test]
fn fc_088_reasoning_and_tools_are_progress_and_any_byte_is_life() {
    let arguments = "event: response.function_call_arguments.delta\ndata: {\"type\":\"response.function_call_arguments.delta\",\"item_id\":\"i\",\"delta\":\"{\"}\n\n";
    let input = "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{\"}}\n\n";
    let alive = "event: keepalive\ndata: {\"type\":\"keepalive\"}\n\n";
    let both = "content_stall_timeout = \"500ms\"\nidle_timeout = \"500ms\"";
    let idle = "content_stall_timeout = \"0s\"\nidle_timeout = \"500ms\"";
    for (dialect, frame, section, code) in [
        (&CHAT, CHAT.reasoning, both, None),
        (&RESPONSES, arguments, both, None),
        (&MESSAGES, input, both, None),
        (&RESPONSES, alive, idle, None),
        (&RESPONSES, alive, both, Some("STREAM_CONTENT_STALL")),
    ] {
        let world = with(section, dialect);
        let pause = Duration::from_millis(150);
        let frames = (0..8).fold(open_events(&[dialect.text]), |answer, _| answer.pauses(pause).chunk(frame));
        let end = dialect.stop.concat() + dialect.end;
        world.upstream("a").answers(frames.chunk(&end).last_chunk());
        let reply = dialect.ask(&world, "m");
        let text = reply.text();
        match code {
            None => assert!(reply.end == End::Complete && text.ends_with(&end), "{text}"),
            Some(code) => assert!(reply.end != End::Complete && text.contains(code), "{text}"),
        }
    }
}

/// FC-092: who is told of a limit is told what moves it, streamed or not.
#[test]
fn fc_092_an_error_of_time_names_its_setting() {
    for dialect in ALL {
        let formats = "format = [\"openai\", \"anthropic\", \"responses\"]";
        let keys = format!("{formats}\ntimeouts = {{ first_byte = \"200ms\", first_content = \"200ms\" }}");
        let world = Setup::new().provider_with("a", 1, &keys).start();
        let named = |reply: Reply, code: &str, setting: &str| {
            reply.is_error(504, code);
            let message = reply.json()["error"]["message"].as_str().unwrap().to_owned();
            assert!(message.contains(&format!("`{setting}`")), "{message}");
        };
        world.upstream("a").answers(open_events(&[]).hangs());
        named(dialect.ask(&world, "a/x"), "STREAM_READINESS_TIMEOUT", "stream.first_content_timeout");
        world.upstream("a").answers(Answer::silence());
        named(dialect.ask(&world, "a/x"), "gateway_timeout", "upstream.first_byte_timeout");
        let whole = serde_json::json!({"model": "a/x", "max_tokens": 9});
        named(world.post(dialect.route, whole), "gateway_timeout", "upstream.first_byte_timeout");
    }
}

/// Flow 6.1, FC-112: an answer that is not streamed and drips, which no limit of silence ends.
#[test]
fn fc_112_an_upstream_that_drips_is_given_up() {
    let keys = "format = \"openai\"\ntimeouts = { body = \"500ms\" }";
    let setup = Setup::new().provider_with("a", 1, keys).provider("b", 1).combo("m", &["a", "b"]);
    let world = setup.start();
    let json = "content-type: application/json\r\n";
    let drips = |answer: Answer| {
        (0..200).fold(answer, |answer, _| answer.chunk(" ").pauses(Duration::from_millis(20)))
    };
    world.upstream("a").answers(drips(Answer::chunked(200, json)));
    let failed = world.ask("a/x");
    failed.is_error(504, "gateway_timeout");
    assert!(failed.text().contains("`upstream.body_timeout`"), "{}", failed.text());
    assert_eq!(world.ask("m").json()["served_by"], "b", "another may be quicker");
    // Longer than 1 MiB it has begun already: what is there is told as cut.
    let long = Answer::chunked(200, json).chunk(format!("{{\"text\":\"{}", "x".repeat(1100 * 1024)));
    world.upstream("a").answers(drips(long));
    let begun = world.ask("m");
    assert_eq!(begun.status, 200);
    assert_ne!(begun.end, End::Complete);
    eventually("the vendor is told each time", || world.upstream("a").closed() == 3);
    eventually("the slot is free", || world.in_flight("a-1") == 0);
}

/// Every limit off: nothing ends, and nothing else changes.
#[test]
fn without_limits_streams_flow() {
    let names = [
        "first_content_timeout",
        "content_stall_timeout",
        "idle_timeout",
        "total_timeout",
        "attempt_deadline",
    ];
    let others = ["early_commit", "early_commit_json", "heartbeat"];
    let section: Vec<String> = names.iter().chain(&others).map(|name| format!("{name} = \"0s\"")).collect();
    for dialect in ALL {
        let world = with(&(section.join("\n") + "\nmax_event = \"64KiB\""), dialect);
        let pause = Duration::from_millis(100);
        let slow = open_events(&[&dialect.opening()]).pauses(pause).chunk(dialect.text).pauses(pause);
        let end = dialect.stop.concat() + dialect.end;
        world.upstream("a").answers(slow.chunk(&end).last_chunk());
        got(&dialect.ask(&world, "m"), &(dialect.opening() + dialect.text + &end));
        world.upstream("a").answers(events(&[&dialect.opening(), dialect.quota]));
        got(&dialect.ask(&world, "m"), &dialect.complete());
    }
}
