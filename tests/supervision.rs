//! No client request fails because an owner died (design "Actors"): the process serves 32
//! clients while every kind of actor is poisoned again and again.

mod process;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use process::{Over, Site, actors, ask, eventually, order};

/// Four deaths of each: the pauses are 0, 100, 200 and 400 ms, inside the second that calls wait.
const ROUNDS: u64 = 4;
const LOCKOUT: &str = "lockout/demo-a-1:family:status-404";
const VICTIMS: [&str; 8] = [
    "router/router",
    "store/store",
    "provider/demo-a",
    "provider/demo-b",
    "connection/demo-a-1",
    "connection/demo-a-2",
    "connection/demo-b-1",
    LOCKOUT,
];

#[test]
fn no_request_fails_while_every_kind_of_actor_dies() {
    let site = Site::new("supervision", "5s");
    let process = site.start();
    let address = process.address.as_str();
    // A lockout to poison; it lives longer than this test.
    let _ = ask(address, "demo-a/status-404");
    eventually("the lockout", || actors(address).contains_key(LOCKOUT));
    let (over, served) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for client in 0..32 {
            let (over, served) = (&over, &served);
            let model = if client % 2 == 0 { "demo" } else { "demo-fast" };
            scope.spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    let (status, head, body) = ask(address, model);
                    if status != 200 {
                        over.store(true, Ordering::Relaxed);
                        panic!("{model}: {status}\n{head}\n{body}");
                    }
                    served.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let _end = Over(&over);
        for round in 1..=ROUNDS {
            for victim in VICTIMS {
                order(address, victim, r#"{"message":"poison"}"#);
                eventually("it died and was replaced", || {
                    over.load(Ordering::Relaxed) || actors(address)[victim]["restarts"] == round
                });
            }
        }
    });
    let rows = actors(address);
    for victim in VICTIMS {
        assert_eq!(rows[victim]["restarts"], ROUNDS, "{victim}");
    }
    assert!(served.into_inner() > 100);
    eventually("every slot is back", || {
        actors(address).values().all(|row| row["inFlight"].as_u64().unwrap_or(0) == 0)
    });
}
