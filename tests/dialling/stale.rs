//! FC-052, decision 7: a pooled connection that the vendor closed meanwhile is dialled again
//! once and blames nobody, unless a byte of an answer came.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;

use crate::stage::{ask, dialler, endpoint};
use crate::support::{Answer, Setup, World, post};

const CHAT: &str = "/v1/chat/completions";

/// Failures on the breaker, and the cooldown's level.
fn blame(world: &World) -> (u64, u64) {
    (world.failures("a"), world.snapshot("a-1")["cooldown"]["level"].as_u64().unwrap())
}

/// A body that no socket buffers take whole.
fn twenty_megabytes() -> Vec<u8> {
    format!(r#"{{"model":"a/x","x":"{}"}}"#, "y".repeat(20 * 1024 * 1024)).into_bytes()
}

/// A world whose pool holds a connection that ends like this at the next request.
fn pooled(ending: Answer) -> World {
    let world = Setup::new().provider("a", 1).start();
    world.upstream("a").answers_first([Answer::good("a"), ending]);
    world.ask("a/x").served_by("a");
    world
}

#[test]
fn fc_052_a_large_body_on_a_stale_connection_is_sent_again() {
    for stale in [Answer::nothing().closes().early(), Answer::nothing().resets().early()] {
        let world = pooled(stale);
        post(world.address, CHAT, "", &twenty_megabytes()).served_by("a");
        let upstream = world.upstream("a");
        assert_eq!((upstream.asked(), upstream.connections()), (3, 2));
        assert!(upstream.requests()[2].body.len() > 20 * 1024 * 1024, "all of it");
        assert_eq!(blame(&world), (0, 0));
    }
}

#[test]
fn fc_052_what_has_begun_to_answer_is_not_asked_again() {
    for begun in [Answer::raw("HTTP/1.1 200 OK\r\ncontent-le").closes(), Answer::raw("H").resets()] {
        let world = pooled(begun);
        world.ask("a/x").is_error(502, "bad_gateway");
        assert_eq!(world.upstream("a").asked(), 2);
        assert_eq!(blame(&world), (1, 1));
    }
}

#[test]
fn fc_052_an_answer_in_the_middle_of_our_body_is_not_asked_for_again() {
    let world = pooled(Answer::status(413).closes().early());
    post(world.address, CHAT, "", &twenty_megabytes()).is_error(502, "bad_gateway");
    assert_eq!(world.upstream("a").asked(), 2);
    assert_eq!(blame(&world), (0, 0), "decision 9c");
}

#[test]
fn a_connection_that_was_dialled_again_is_closed_afterwards() {
    let world = pooled(Answer::nothing().closes());
    world.ask("a/x").served_by("a");
    assert_eq!(world.upstream("a").requests()[2].header("connection"), Some("close"));
    crate::support::eventually("it is closed", || world.upstream("a").closed() == 1);
}

#[test]
fn fc_052_the_replay_is_one_attempt_for_the_client_and_in_the_decisions() {
    let world = pooled(Answer::nothing().closes());
    let reply = world.post(CHAT, json!({"model": "a/x"}));
    reply.served_by("a");
    assert_eq!(reply.header("x-omniroute-fallback-attempts"), None);
    assert!(reply.header("x-omniroute-decision").unwrap().ends_with("attempts=1"));
}

/// A vendor that closes what was idle for so long, without a word.
fn closing_after(idle: Duration) -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let opened = Arc::new(AtomicUsize::new(0));
    let count = opened.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            count.fetch_add(1, Ordering::Relaxed);
            std::thread::spawn(move || {
                stream.set_read_timeout(Some(idle)).unwrap();
                while stream.read(&mut [0; 4096]).is_ok_and(|read| read > 0) {
                    let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";
                    if stream.write_all(answer).is_err() {
                        break;
                    }
                }
            });
        }
    });
    (address, opened)
}

/// The pauses are what is tested: requests that meet the vendor's close.
#[test]
fn fc_052_no_request_fails_in_the_moment_of_the_close() {
    const ROUNDS: u64 = 200;
    let idle = Duration::from_millis(15);
    let (address, opened) = closing_after(idle);
    actix_rt::System::new().block_on(async {
        let dialler = dialler();
        let upstream = endpoint(&format!("http://{address}"), Duration::from_secs(5));
        for round in 0..ROUNDS {
            assert_eq!(ask(&dialler, &upstream).await, Ok(200), "round {round}");
            // From well before to well after it.
            tokio::time::sleep(Duration::from_micros(13_000 + round * 20)).await;
        }
    });
    let opened = opened.load(Ordering::Relaxed);
    assert!(opened > 1 && opened < 2 * ROUNDS as usize, "{opened} connections");
}
