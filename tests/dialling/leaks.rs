//! FC-053: whatever became of many attempts to connect, the next one is as the first.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::pin::pin;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use policy::verdict::Transport;
use switchtower::upstream::{Dialled, Dialler, Endpoint};

use crate::stage::{Dead, Shut, ask, dialler, endpoint};
use crate::support::{Upstream, eventually};

const MANY: usize = 200;
const LONG: Duration = Duration::from_secs(5);

fn run(test: impl Future<Output = ()>) {
    actix_rt::System::new().block_on(test);
}

/// All of them at once.
async fn many(dialler: &Dialler, endpoint: &Endpoint) -> Vec<Result<u16, Dialled>> {
    join_all((0..MANY).map(|_| ask(dialler, endpoint))).await
}

async fn answers_at_once(dialler: &Dialler, upstream: &Endpoint) {
    let asked = Instant::now();
    assert_eq!(ask(dialler, upstream).await, Ok(200));
    assert!(asked.elapsed() < Duration::from_secs(1), "{:?}", asked.elapsed());
}

#[test]
fn fc_053_after_200_refusals_the_port_opens_and_the_next_request_succeeds_at_once() {
    run(async {
        let (dialler, shut) = (dialler(), Shut::new());
        let upstream = endpoint(&format!("http://{}", shut.address()), LONG);
        for _ in 0..MANY {
            assert_eq!(ask(&dialler, &upstream).await, Err(Dialled::Failed(Transport::Refused)));
        }
        let open = shut.open();
        std::thread::spawn(move || answer_once(&open));
        answers_at_once(&dialler, &upstream).await;
    });
}

fn answer_once(listener: &TcpListener) {
    let (mut stream, _) = listener.accept().unwrap();
    let _ = stream.read(&mut [0; 4096]).unwrap();
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}").unwrap();
}

#[test]
fn fc_053_names_that_nobody_has_cost_nothing() {
    run(async {
        let (dialler, live) = (dialler(), Upstream::start("a"));
        // A label of 64 letters is none, whatever the name server would say.
        let nobody = endpoint(&format!("http://{}.invalid", "a".repeat(64)), LONG);
        for outcome in many(&dialler, &nobody).await {
            assert_eq!(outcome, Err(Dialled::Failed(Transport::Dns)));
        }
        answers_at_once(&dialler, &endpoint(&format!("http://{}", live.address), LONG)).await;
    });
}

#[test]
fn fc_053_what_is_no_tls_costs_nothing() {
    run(async {
        let (dialler, live) = (dialler(), Upstream::start("a"));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let plain = endpoint(&format!("https://{}", listener.local_addr().unwrap()), LONG);
        std::thread::spawn(move || {
            for stream in listener.incoming().take(MANY) {
                let mut stream = stream.unwrap();
                let _ = stream.read(&mut [0; 4096]).unwrap();
                stream.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n").unwrap();
            }
        });
        for _ in 0..MANY {
            assert_eq!(ask(&dialler, &plain).await, Err(Dialled::Failed(Transport::Tls)));
        }
        answers_at_once(&dialler, &endpoint(&format!("http://{}", live.address), LONG)).await;
    });
}

#[test]
fn fc_053_connects_that_take_too_long_leave_nothing_behind() {
    run(async {
        let (dialler, live, dead) = (dialler(), Upstream::start("a"), Dead::new());
        for scheme in ["http", "https"] {
            let off = endpoint(&format!("{scheme}://{}", dead.address), Duration::from_millis(300));
            let started = Instant::now();
            for outcome in many(&dialler, &off).await {
                assert_eq!(outcome, Err(Dialled::Failed(Transport::ConnectTimeout)));
            }
            assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
            assert_eq!(dead.attempts(), 0);
        }
        answers_at_once(&dialler, &endpoint(&format!("http://{}", live.address), LONG)).await;
    });
}

#[test]
fn a_handshake_that_nobody_answers_ends_with_the_connect_limit() {
    run(async {
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let silent =
            endpoint(&format!("https://{}", silent.local_addr().unwrap()), Duration::from_millis(200));
        let started = Instant::now();
        assert_eq!(ask(&dialler(), &silent).await, Err(Dialled::Failed(Transport::ConnectTimeout)));
        let took = started.elapsed();
        assert!(took >= Duration::from_millis(200) && took < Duration::from_secs(2), "{took:?}");
    });
}

#[test]
fn fc_053_requests_that_are_dropped_while_they_connect_leave_nothing_behind() {
    run(async {
        let (dialler, live, dead) = (dialler(), Upstream::start("a"), Dead::new());
        let off = endpoint(&format!("http://{}", dead.address), LONG);
        {
            let mut asking = pin!(many(&dialler, &off));
            eventually_async(&mut asking, || dead.attempts() == MANY).await;
        }
        eventually("all are closed", || dead.attempts() == 0);
        answers_at_once(&dialler, &endpoint(&format!("http://{}", live.address), LONG)).await;
    });
}

/// Runs `work`, which must not end, until `condition` holds.
async fn eventually_async<F: Future + Unpin>(work: &mut F, condition: impl Fn() -> bool) {
    let holds = async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::select! {
        _ = work => panic!("it has ended"),
        held = tokio::time::timeout(LONG, holds) => held.expect("it comes to that"),
    }
}
