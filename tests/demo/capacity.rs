//! An account that takes so many requests at once: who is refused, and when a place is free again.
//!
//! The log tells who is in flight: a place is taken in the same step in which the behaviour is
//! written down, and nothing here waits for the answers that are being worked on.

use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::net::TcpStream;
use tokio::time::sleep;

use crate::client::{Reply, World};
use crate::{CHAT, EMBEDDINGS, MESSAGES, PLAIN, RESPONSES, ask, ask_streamed, gemini};

/// Long enough for a test to be over, and no longer.
const ONE: &str = "capacity-1-60000ms";
const TWO: &str = "capacity-2-60000ms";

/// A request that is being worked on, once it is.
async fn in_flight(world: &World, headers: &str, model: &str) -> TcpStream {
    let before = running(world).await;
    let stream = world.open(CHAT, headers, &ask(model)).await;
    become_running(world, before + 1).await;
    stream
}

async fn become_running(world: &World, count: usize) {
    for _ in 0..1000 {
        if running(world).await == count {
            return;
        }
        sleep(Duration::from_millis(1)).await;
    }
    panic!("{} run, not {count}", running(world).await);
}

async fn running(world: &World) -> usize {
    let is_running = |entry: &&Value| {
        entry["behaviour"].is_string() && entry["status"].is_null() && entry["cut"].is_null()
    };
    world.log("").await.iter().filter(is_running).count()
}

fn is_refused(reply: &Reply) {
    assert_eq!((reply.status, reply.header("retry-after")), (429, None), "{}", reply.text());
    assert!(reply.text().contains("too many concurrent requests"), "{}", reply.text());
}

#[actix_web::test]
async fn above_its_capacity_an_account_refuses_in_every_dialect() {
    let world = World::start().await;
    let _held = (in_flight(&world, "", TWO).await, in_flight(&world, "", TWO).await);
    for path in [CHAT, MESSAGES, RESPONSES, EMBEDDINGS] {
        for body in [ask(TWO), ask_streamed(TWO)] {
            is_refused(&world.post(path, &body).await);
        }
    }
    is_refused(&world.post(&gemini(TWO, "generateContent"), "{}").await);
    is_refused(&world.post_with(CHAT, &format!("x-demo-behaviour: {TWO}\r\n"), &ask("steady")).await);
    let refused = world.post(CHAT, &ask(TWO)).await.json();
    assert_eq!(refused["error"]["code"], "rate_limit_exceeded");
    assert_eq!(running(&world).await, 2, "who is refused takes no place");
    assert_eq!(world.post(CHAT, &ask("capacity-0-0ms")).await.status, 429);
}

#[actix_web::test]
async fn places_belong_to_one_name_and_one_credential() {
    let world = World::start().await;
    let (a, b) = ("authorization: Bearer demo-a\r\n", "x-api-key: demo-b\r\n");
    let _a = in_flight(&world, a, ONE).await;
    let _b = in_flight(&world, b, ONE).await;
    let _nobody = in_flight(&world, "", ONE).await;
    let _other_name = in_flight(&world, a, TWO).await;
    for headers in [a, b, ""] {
        is_refused(&world.post_with(CHAT, headers, &ask(ONE)).await);
    }
    is_refused(&world.post_with(CHAT, "x-api-key: demo-a\r\n", &ask(ONE)).await);
}

#[actix_web::test]
async fn a_client_that_leaves_gives_its_place_back() {
    let world = World::start().await;
    for round in 1..=3 {
        let stream = in_flight(&world, "", ONE).await;
        is_refused(&world.post(CHAT, &ask(ONE)).await);
        drop(stream);
        become_running(&world, 0).await;
        let cut = world.log("").await.iter().filter(|entry| entry["cut"] == true).count();
        assert_eq!(cut, round);
    }
}

#[actix_web::test]
async fn whoever_has_its_answer_finds_its_place_free() {
    for log in [true, false] {
        let world = World::with_log(log).await;
        for round in 0..20 {
            for path in PLAIN {
                for body in [ask("capacity-1-1ms"), ask_streamed("capacity-1-1ms")] {
                    let reply = world.post(path, &body).await;
                    assert_eq!(reply.status, 200, "log {log}, round {round}, {path}: {}", reply.text());
                }
            }
        }
    }
}

#[actix_web::test]
async fn a_capacity_takes_its_time() {
    let world = World::start().await;
    for (model, least) in [("capacity-1", 50), ("capacity-1-20ms", 20)] {
        let asked = Instant::now();
        assert_eq!(world.post(CHAT, &ask(model)).await.status, 200);
        assert!(asked.elapsed() >= Duration::from_millis(least), "{model}");
    }
}
