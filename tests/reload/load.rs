//! A hundred reloads while eight clients ask without a pause.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::process::{Over, Site, actors, ask, eventually};
use super::support::Upstream;
use super::{DONE, combo, reload, vendor};

const RELOADS: usize = 100;

#[test]
fn fc_061_a_hundred_reloads_under_load_lose_no_request() {
    let (one, two) = (Upstream::start("one"), Upstream::start("two"));
    let site = Site::new("reloads", "5s");
    let base = std::fs::read_to_string(site.path("config.toml")).unwrap();
    // Providers, connections and targets come and go; what clients ask for is always there.
    let small = base.clone() + &vendor("one", 1, &one) + &combo("best", &["one/x"]);
    let large =
        base + &vendor("one", 2, &one) + &vendor("two", 1, &two) + &combo("best", &["two/x", "one/x"]);
    site.edit(|_| small.clone());
    let process = site.start();
    let address = process.address.as_str();
    let (over, served) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        let end = Over(&over);
        let clients: Vec<_> = (0..8)
            .map(|client| {
                let (over, served) = (&over, &served);
                let model = if client % 2 == 0 { "best" } else { "one/x" };
                scope.spawn(move || {
                    while !over.load(Ordering::Relaxed) {
                        let (status, head, body) = ask(address, model);
                        if status != 200 {
                            over.store(true, Ordering::Relaxed);
                            panic!("{model}: {status}\n{head}\n{body}");
                        }
                        served.fetch_add(1, Ordering::Relaxed);
                    }
                })
            })
            .collect();
        for number in 0..RELOADS {
            let asked = served.load(Ordering::Relaxed);
            reload(&site, &process, |_| if number % 2 == 0 { large.clone() } else { small.clone() });
            eventually("requests between two reloads", || {
                over.load(Ordering::Relaxed) || served.load(Ordering::Relaxed) > asked + 8
            });
        }
        drop(end);
        for client in clients {
            client.join().unwrap();
        }
    });
    assert_eq!(site.log().matches(DONE).count(), RELOADS);
    assert!(two.asked() > 0, "what came and went was used");
    eventually("what was removed is gone", || {
        let rows = actors(address);
        !rows.contains_key("connection/one-2") && !rows.contains_key("provider/two")
    });
    let rows = actors(address);
    assert!(rows.values().all(|row| row["restarts"] == 0), "nobody died: {rows:?}");
    assert_eq!(rows["connection/one-1"]["inFlight"], 0);
}
