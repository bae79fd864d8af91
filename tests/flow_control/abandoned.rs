//! FC-126: streams that are given up at any point leave no descriptor, no memory, no place, and
//! nothing of one request appears in another.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use crate::process::{Process, TOKEN};
use crate::support::{LIMIT, eventually};
use crate::{CHAT, descriptors, resident_kib};

const STREAMS: usize = 400;
const AT_ONCE: usize = 8;
/// What an allocator may keep of a load that is over.
const SLACK_KIB: u64 = 6 * 1024;

/// A switchtower before an upstream that sends 40 pieces, 2 ms apart, whatever the model.
fn stage() -> (Process, Process) {
    let upstream = Process::upstream();
    let address = &upstream.address;
    let tower = Process::serve(&format!(
        "[server]\nlisten = \"127.0.0.1:0\"\nworkers = 1\n[admin]\ntoken = \"{TOKEN}\"\n\
         [store]\npath = \"data\"\n[upstream]\npool_idle = \"1s\"\n\
         [[providers]]\nid = \"a\"\nauth = \"apikey\"\nformat = \"openai\"\nbase_url = \"http://{address}/v1\"\n\
         headers = {{ x-demo-behaviour = \"chunks-40x2\" }}\n\
         [[connections]]\nid = \"a-1\"\nprovider = \"a\"\ncredential = \"demo-a-1\"\nmax_concurrent = {AT_ONCE}\n"
    ));
    (upstream, tower)
}

/// How much of its answer a client reads before it leaves.
#[derive(Clone, Copy)]
enum Reads {
    Nothing,
    Bytes(usize),
    All,
}

/// Asks under a name of its own, and leaves; what it has read.
fn one(address: &str, number: usize, reads: Reads, dice: &mut fastrand::Rng) -> String {
    let body = format!(r#"{{"model":"a/canary-{number:05}-","stream":true}}"#);
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    let head = format!(
        "POST {CHAT} HTTP/1.1\r\nhost: s\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
    let mut read = Vec::new();
    match reads {
        Reads::Nothing => {}
        Reads::Bytes(count) => drop(Read::by_ref(&mut stream).take(count as u64).read_to_end(&mut read)),
        Reads::All => drop(stream.read_to_end(&mut read).unwrap()),
    }
    match dice.u8(..3) {
        0 => socket2::SockRef::from(&stream).set_linger(Some(Duration::ZERO)).unwrap(),
        1 => drop(stream.shutdown(Shutdown::Write)),
        _ => {}
    }
    String::from_utf8_lossy(&read).into_owned()
}

/// Whoever is named in an answer is the one who asked.
fn holds_only(number: usize, read: &str) {
    for canary in read.split("canary-").skip(1) {
        let digits: String = canary.chars().take_while(char::is_ascii_digit).collect();
        // the last one may be cut short
        assert!(format!("{number:05}").starts_with(&digits), "request {number} got: {canary:.20}");
    }
}

fn storm(tower: &Process, from: usize, count: usize) {
    std::thread::scope(|scope| {
        for lane in 0..AT_ONCE {
            scope.spawn(move || {
                let mut dice = fastrand::Rng::with_seed((from + lane) as u64);
                for number in (from..from + count).filter(|number| number % AT_ONCE == lane) {
                    let reads = match dice.u8(..10) {
                        0 => Reads::Nothing,
                        1 => Reads::All,
                        _ => Reads::Bytes(dice.usize(1..8_000)),
                    };
                    let read = one(&tower.address, number, reads, &mut dice);
                    holds_only(number, &read);
                    if let Reads::All = reads {
                        assert!(
                            read.starts_with("HTTP/1.1 200") && read.contains("[DONE]"),
                            "{number}: {read}"
                        );
                    }
                }
            });
        }
    });
}

fn is_quiet(tower: &Process) -> bool {
    let (_, connection) = tower.get("/api/actors/connection/a-1");
    let (_, router) = tower.get("/api/actors/router/router");
    connection["inFlight"] == 0 && router["inFlight"] == 0
}

#[test]
fn fc_126_abandoned_streams_leave_nothing_behind() {
    let (_upstream, tower) = stage();
    storm(&tower, 0, 50);
    eventually("the warm-up is over", || is_quiet(&tower));
    eventually("no connection is left of it", || descriptors(tower.id()) < 60);
    let (files, memory) = (descriptors(tower.id()), resident_kib(tower.id()));
    storm(&tower, 100, STREAMS);
    eventually("every place is free", || is_quiet(&tower));
    // the pool closes what is idle only when it is asked again: one for each place
    eventually("every descriptor is closed", || descriptors(tower.id()) <= files + AT_ONCE);
    let after = resident_kib(tower.id());
    assert!(after <= memory + SLACK_KIB, "{memory} KiB became {after} KiB");
    let (_, actor) = tower.get("/api/actors/connection/a-1");
    assert_eq!(actor["state"], "ready", "{actor}");
}
