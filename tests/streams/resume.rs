//! Going on with a stream that was cut after the client had a part of it, where an operator wants
//! that (flow 6.6; E111-E114).

use std::time::Duration;

use serde_json::Value;

use crate::support::{Answer, End, Reply, Setup, World, eventually};
use crate::{CHAT, Dialect, MESSAGES, RESPONSES, events, got, open_events};

const ON: &str = "[resilience.stream_recovery]\ncontinue_mid_stream = true";

/// A piece of text as an event of its dialect.
type Delta = fn(&str) -> String;

fn chat(text: &str) -> String {
    format!(
        "data: {{\"id\":\"c1\",\"model\":\"m\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}},\"finish_reason\":null}}]}}\n\n"
    )
}

fn response(text: &str) -> String {
    let delta = format!(
        "{{\"type\":\"response.output_text.delta\",\"item_id\":\"i1\",\"output_index\":0,\"content_index\":0,\"delta\":\"{text}\"}}"
    );
    format!("event: response.output_text.delta\ndata: {delta}\n\n")
}

/// `a` answers with these one after the other, the last one again and again.
fn world(answers: Vec<Answer>) -> World {
    let world = Setup::new().section(ON).provider("a", 1).start();
    world.upstream("a").answers(answers.last().unwrap().clone());
    world.upstream("a").answers_first(answers);
    world
}

/// The text of all deltas.
fn text(reply: &Reply) -> String {
    let text = reply.text();
    let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
    let events = data.filter_map(|data| serde_json::from_str::<Value>(data).ok());
    let delta = |event: Value| {
        let delta = event.pointer("/choices/0/delta/content").or(event.get("delta")).cloned();
        delta.and_then(|delta| delta.as_str().map(str::to_owned))
    };
    events.filter_map(delta).collect()
}

fn whole(dialect: &Dialect, delta: &str) -> Answer {
    events(&[&dialect.opening(), delta, &dialect.stop.concat(), dialect.end])
}

#[test]
fn e111_the_rest_is_added_without_what_it_repeats() {
    for (dialect, delta) in [(&CHAT, chat as Delta), (&RESPONSES, response)] {
        let broken = open_events(&[&dialect.opening(), &delta("Hello wor")]).resets();
        let world = world(vec![broken, whole(dialect, &delta("Hello world!"))]);
        let body = serde_json::json!({"model": "a/x", "stream": true, "input": "q",
            "messages": [{"role": "user", "content": "q"}]});
        let reply = world.post(dialect.route, body);
        assert_eq!((reply.status, reply.end), (200, End::Complete), "{}", reply.text());
        assert_eq!(text(&reply), "Hello world!");
        assert_eq!(reply.text().matches(dialect.end.lines().next().unwrap()).count(), 1, "{}", reply.text());
        let asked = world.upstream("a").requests();
        let key = if dialect.route == CHAT.route { "messages" } else { "input" };
        let turns = &serde_json::from_slice::<Value>(&asked[1].body).unwrap()[key];
        assert_eq!(turns[1], serde_json::json!({"role": "assistant", "content": "Hello wor"}), "{turns}");
        assert_eq!((asked.len(), world.failures("a")), (2, 1), "the break is the target's");
        eventually("the slot is free", || world.in_flight("a-1") == 0);
    }
}

/// FC-033, FC-093: the rest is read to its end first; the client is not left in silence.
#[test]
fn fc_093_comments_bridge_the_wait_for_the_rest() {
    let beats = Setup::new().section(&format!("{ON}\n[stream]\nheartbeat = \"100ms\""));
    let world = beats.provider("a", 1).start();
    let slow = open_events(&[&chat("Hello wor")]).pauses(Duration::from_millis(450));
    world
        .upstream("a")
        .answers(slow.chunk(chat("Hello world!")).chunk(CHAT.stop[0]).chunk(CHAT.end).last_chunk());
    world.upstream("a").answers_first([open_events(&[&chat("Hello wor")]).resets()]);
    let body =
        serde_json::json!({"model": "a/x", "stream": true, "messages": [{"role": "user", "content": "q"}]});
    let reply = world.post(CHAT.route, body);
    assert_eq!((reply.status, reply.end), (200, End::Complete), "{}", reply.text());
    assert!(reply.text().matches(": keep-alive\n\n").count() >= 2, "{}", reply.text());
    assert!(reply.text().ends_with(CHAT.end), "{}", reply.text());
}

/// The rest may be cut as well.
#[test]
fn flow_6_6_31_a_rest_that_is_cut_is_gone_on_with_too() {
    let broken = |words: &str| open_events(&[&chat(words)]).resets();
    let world = world(vec![
        broken("The quick "),
        broken("The quick brown fox "),
        whole(&CHAT, &chat("brown fox jumps")),
    ]);
    let reply = CHAT.ask_chat(&world);
    assert_eq!((text(&reply).as_str(), reply.end), ("The quick brown fox jumps", End::Complete));
    assert_eq!(world.upstream("a").asked(), 3);
}

/// E112 with decision 20: what begins anew is never glued on, and after four tries it is cut.
#[test]
fn e112_an_answer_that_begins_anew_is_told_as_cut() {
    let world = world(vec![open_events(&[&chat("Hello wor")]).resets(), whole(&CHAT, &chat("world!"))]);
    let reply = CHAT.ask_chat(&world);
    assert_eq!(text(&reply), "Hello wor");
    assert!(reply.end != End::Complete && reply.text().contains("upstream_truncated"), "{}", reply.text());
    assert_eq!(world.upstream("a").asked(), 5);
    eventually("the slot is free", || world.in_flight("a-1") == 0);
}

#[test]
fn e113_a_tool_call_is_never_gone_on_with() {
    let tool = "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"t\",\"function\":{\"name\":\"f\",\"arguments\":\"{\"}}]}}]}\n\n";
    let world = world(vec![open_events(&[tool]).resets(), whole(&CHAT, &chat("x"))]);
    let reply = CHAT.ask_chat(&world);
    assert!(reply.end != End::Complete && reply.text().contains("upstream_truncated"), "{}", reply.text());
    assert_eq!(world.upstream("a").asked(), 1);
}

/// What several answers have said cannot be told apart: nothing could be shown to the model.
#[test]
fn flow_6_6_27_of_several_answers_none_is_gone_on_with() {
    let second = chat("Hello wor").replace("\"index\":0", "\"index\":1");
    let broken = open_events(&[&chat("Hello wor"), &second]).resets();
    let world = world(vec![broken, whole(&CHAT, &chat("Hello world!"))]);
    let reply = CHAT.ask_chat(&world);
    assert!(reply.end != End::Complete && reply.text().contains("upstream_truncated"), "{}", reply.text());
    assert_eq!(world.upstream("a").asked(), 1);
}

/// Reasoning alone with `stop`: asked again with the same turns.
#[test]
fn e114_a_turn_that_only_thought_is_asked_again() {
    let thought = events(&[CHAT.reasoning, &CHAT.stop.concat(), CHAT.end]);
    let world = world(vec![thought, whole(&CHAT, &chat("Well."))]);
    let reply = CHAT.ask_chat(&world);
    assert_eq!((text(&reply).as_str(), reply.end), ("Well.", End::Complete), "{}", reply.text());
    let asked = world.upstream("a").requests();
    let turns =
        |index: usize| serde_json::from_slice::<Value>(&asked[index].body).unwrap()["messages"].clone();
    assert_eq!(turns(0), turns(1));
}

#[test]
fn messages_are_not_gone_on_with() {
    let world = world(vec![open_events(&[&MESSAGES.opening(), MESSAGES.text]).resets()]);
    let reply = MESSAGES.ask(&world, "a/x");
    assert!(reply.text().contains("upstream_truncated"), "{}", reply.text());
    assert_eq!(world.upstream("a").asked(), 1);
}

#[test]
fn a_client_that_leaves_meanwhile_ends_the_call() {
    let world = world(vec![open_events(&[&chat("Hello wor")]).resets(), Answer::silence()]);
    let mut wire = world.open(CHAT.route, &CHAT.chat_body());
    wire.read_until(|reply| !reply.chunks.is_empty());
    eventually("the rest is asked for", || world.upstream("a").asked() == 2);
    drop(wire);
    eventually("the vendor is told", || world.upstream("a").closed() >= 1);
    eventually("the slot is free", || world.in_flight("a-1") == 0);
}

/// Off unless it is wanted, and complete answers are untouched.
#[test]
fn a_complete_answer_is_as_it_came() {
    let world = world(vec![events(&[&CHAT.complete()])]);
    got(&CHAT.ask_chat(&world), &CHAT.complete());
    assert_eq!(world.upstream("a").asked(), 1);
}

impl Dialect {
    fn chat_body(&self) -> Value {
        serde_json::json!({"model": "a/x", "stream": true, "messages": [{"role": "user", "content": "q"}]})
    }

    fn ask_chat(&self, world: &World) -> Reply {
        world.post(self.route, self.chat_body())
    }
}
