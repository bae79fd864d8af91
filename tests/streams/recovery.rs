//! A stream that breaks in its opening is opened again on the same account, where an operator
//! wants that (flow 6.5; E104-E110). The rules by the millisecond are `policy::stream`'s.

use std::time::{Duration, Instant};

use crate::support::{Answer, End, Gate, Setup, World, eventually};
use crate::{ALL, CHAT, Dialect, events, got, open_events};

const ON: &str = "[resilience.stream_recovery]\nenabled = true";

fn recovering(dialect: &Dialect) -> World {
    let world = Setup::new().section(ON).provider("a", 1).provider("b", 1).combo("m", &["a", "b"]).start();
    world.upstream("a").answers(events(&[&dialect.complete()]));
    world
}

/// What breaks right after its first words.
fn broken(dialect: &Dialect) -> Answer {
    open_events(&[&dialect.opening(), dialect.text]).resets()
}

#[test]
fn e104_a_stream_that_breaks_in_its_opening_is_opened_again_unseen() {
    for dialect in ALL {
        let world = recovering(dialect);
        world.upstream("a").answers_first([broken(dialect)]);
        got(&dialect.ask(&world, "m"), &dialect.complete());
        assert_eq!((world.upstream("a").asked(), world.upstream("b").asked()), (2, 0));
        assert_eq!(world.failures("a"), 0, "all of it is one attempt, and it was good");
        eventually("the slot is free", || world.in_flight("a-1") == 0);
        let metrics = world.admin("/metrics");
        assert!(metrics.text().contains("stream_reopens_total 1"), "{}", metrics.text());
    }
}

/// E105: a timer lets it go.
#[test]
fn e105_the_opening_is_held_for_three_quarters_of_a_second() {
    let world = recovering(&CHAT);
    let gate = Gate::default();
    let rest = CHAT.stop.concat() + CHAT.end;
    world.upstream("a").answers(open_events(&[CHAT.text]).until(&gate).chunk(&rest).last_chunk());
    let started = Instant::now();
    let mut wire = world.open(CHAT.route, &CHAT.body("m"));
    assert_eq!(wire.read_until(|reply| !reply.chunks.is_empty()).text(), CHAT.text);
    assert!(started.elapsed() >= Duration::from_millis(750), "{:?}", started.elapsed());
    gate.open();
    got(&wire.reply(), &(CHAT.text.to_owned() + &rest));
}

#[test]
fn e106_a_large_opening_goes_at_once() {
    let world = recovering(&CHAT);
    let long =
        format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{}\"}}}}]}}\n\n", "x".repeat(70_000));
    world.upstream("a").answers(open_events(&[&long]).hangs());
    let started = Instant::now();
    let mut wire = world.open(CHAT.route, &CHAT.body("m"));
    wire.read_until(|reply| reply.body.len() >= long.len());
    assert!(started.elapsed() < Duration::from_millis(700), "{:?}", started.elapsed());
}

/// E107 with decision 20: what is left goes out, and is told as cut.
#[test]
fn e107_after_four_more_the_last_is_told_as_cut() {
    for dialect in ALL {
        let world = recovering(dialect);
        world.upstream("a").answers(broken(dialect));
        let reply = dialect.ask(&world, "m");
        assert_ne!(reply.end, End::Complete);
        let (all, text) = (reply.text(), dialect.opening() + dialect.text);
        let error = all.strip_prefix(text.as_str()).unwrap_or_else(|| panic!("{all}"));
        assert!(error.contains("upstream_truncated"), "{error}");
        assert_eq!((world.upstream("a").asked(), world.upstream("b").asked()), (5, 0));
        eventually("the slot is free", || world.in_flight("a-1") == 0);
    }
}

#[test]
fn e108_a_short_answer_that_is_complete_is_not_asked_for_again() {
    for dialect in ALL {
        let world = recovering(dialect);
        world.upstream("a").answers(open_events(&[&dialect.complete()]).resets());
        got(&dialect.ask(&world, "m"), &dialect.complete());
        assert_eq!(world.upstream("a").asked(), 1);
    }
}

#[test]
fn e109_what_is_held_goes_out_if_nobody_answers_again() {
    let world = recovering(&CHAT);
    world.upstream("a").answers(Answer::status(503));
    world.upstream("a").answers_first([broken(&CHAT)]);
    let reply = CHAT.ask(&world, "m");
    let text = CHAT.opening() + CHAT.text;
    assert!(
        reply.text().starts_with(&text) && reply.text().contains("upstream_truncated"),
        "{}",
        reply.text()
    );
    assert_eq!(world.upstream("a").asked(), 2);
}

#[test]
fn e110_a_client_that_leaves_meanwhile_costs_no_other_request() {
    let world = recovering(&CHAT);
    let gate = Gate::default();
    world.upstream("a").answers(open_events(&[CHAT.text]).until(&gate).resets());
    let wire = world.open(CHAT.route, &CHAT.body("m"));
    eventually("the vendor is asked", || world.upstream("a").asked() == 1);
    drop(wire);
    eventually("the slot is free", || world.in_flight("a-1") == 0);
    gate.open();
    assert_eq!((world.upstream("a").asked(), world.failures("a")), (1, 0));
}

/// One request is one call: what was given up does not run on beside its successor.
#[test]
fn what_was_given_up_is_closed_before_it_is_opened_again() {
    let section = format!("{ON}\n[stream]\ncontent_stall_timeout = \"200ms\"");
    let world = Setup::new().section(&section).provider("a", 1).start();
    let gate = Gate::default();
    world.upstream("a").answers(events(&[&CHAT.complete()]).held_by(&gate));
    world.upstream("a").answers_first([open_events(&[CHAT.text]).hangs()]);
    let mut wire = world.open(CHAT.route, &CHAT.body("a/x"));
    eventually("it is asked again", || world.upstream("a").asked() == 2);
    eventually("the first is told", || world.upstream("a").closed() == 1);
    gate.open();
    got(&wire.reply(), &CHAT.complete());
}

/// After the client has bytes nothing is opened again (flow 6.6.26).
#[test]
fn what_the_client_has_is_never_replayed() {
    let world = recovering(&CHAT);
    let gate = Gate::default();
    world.upstream("a").answers(open_events(&[CHAT.text]).until(&gate).resets());
    let mut wire = world.open(CHAT.route, &CHAT.body("m"));
    wire.read_until(|reply| !reply.chunks.is_empty());
    gate.open();
    let reply = wire.reply();
    assert!(reply.text().contains("upstream_truncated"), "{}", reply.text());
    assert_eq!(world.upstream("a").asked(), 1);
}

/// Words, each a quarter of a second after the one before.
fn trickles(words: usize) -> Answer {
    let pause = Duration::from_millis(250);
    let trickles = (0..words).fold(Answer::stream(), |answer, _| answer.chunk(CHAT.text).pauses(pause));
    trickles.chunk(CHAT.end).last_chunk()
}

/// E121: too slow in the opening, and too slow later.
#[test]
fn e121_a_stream_that_trickles_is_ended() {
    let watchdog = "[resilience.stream_recovery.throughput_watchdog]\nenabled = true\nwarmup_ms = 0\n\
                    window_ms = 1000\nmin_useful_bytes_per_second = 100";
    let world = Setup::new().section(watchdog).provider("a", 1).start();
    world.upstream("a").answers(trickles(20));
    let reply = CHAT.ask(&world, "a/x");
    assert_ne!(reply.end, End::Complete);
    assert!(reply.text().contains("STREAM_THROUGHPUT_TOO_LOW"), "{}", reply.text());
    assert_eq!((world.upstream("a").asked(), world.failures("a")), (1, 0));
    eventually("the vendor is told", || world.upstream("a").closed() == 1);
}

/// Flow 6.7: nobody is watched but the account that asks for it.
#[test]
fn a_connection_has_its_stream_watched_where_no_other_is() {
    let own = "watchdog = { enabled = true, warmup = \"0s\", window = \"1s\", min_bytes_per_second = 100 }";
    let world = Setup::new().provider("b", 1).provider("a", 1).section(own).start();
    world.upstream("a").answers(trickles(20));
    world.upstream("b").answers(trickles(8));
    let reply = CHAT.ask(&world, "a/x");
    assert_ne!(reply.end, End::Complete);
    assert!(reply.text().contains("STREAM_THROUGHPUT_TOO_LOW"), "{}", reply.text());
    got(&CHAT.ask(&world, "b/x"), &(CHAT.text.repeat(8) + CHAT.end));
}

/// Flow 6.7: a model that is slow by its nature is let alone; others of its provider are not.
#[test]
fn a_model_switches_off_the_watchdog_of_all() {
    let watchdog = "[resilience.stream_recovery.throughput_watchdog]\nenabled = true\nwarmup_ms = 0\n\
                    window_ms = 1000\nmin_useful_bytes_per_second = 100";
    let keys = "format = \"openai\"\nmodels = [{ id = \"deep\", watchdog = { enabled = false } }, \"x\"]";
    let world = Setup::new().section(watchdog).provider_with("a", 1, keys).start();
    world.upstream("a").answers(trickles(8));
    got(&CHAT.ask(&world, "a/deep"), &(CHAT.text.repeat(8) + CHAT.end));
    let reply = CHAT.ask(&world, "a/x");
    assert!(reply.text().contains("STREAM_THROUGHPUT_TOO_LOW"), "{}", reply.text());
}
