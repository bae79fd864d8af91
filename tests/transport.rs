//! What the HTTP libraries do by default and must not do here, each as a regression
//! test on real sockets.
//!
//! Truncated bodies stand in `failover` (decision 9a, FC-003), clients that leave in
//! `disconnect`, redirects in `client_side`.

#[allow(dead_code, unused_imports, reason = "each test file uses its part")]
mod support;

use std::net::{Shutdown, SocketAddr};
use std::time::{Duration, Instant};

use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};
use serde_json::json;
use socket2::SockRef;
use support::{Answer, End, Gate, Reply, Setup, Wire, World, eventually, post, within};
use switchtower::app;
use switchtower::settings::{Stored, load_with};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const CHAT: &str = "/v1/chat/completions";
const JSON: &str = "content-type: application/json\r\n";

/// Looks at the socket of this process that connects these two, whoever opened it.
fn with_socket<T>(local: Option<SocketAddr>, peer: SocketAddr, look: impl Fn(&SockRef<'_>) -> T) -> T {
    let this = pidfd_open(getpid(), PidfdFlags::empty()).unwrap();
    for entry in std::fs::read_dir("/proc/self/fd").unwrap().flatten() {
        let number = entry.file_name().to_str().unwrap().parse().unwrap();
        // One that another thread has closed meanwhile is none of ours.
        let Ok(descriptor) = pidfd_getfd(&this, number, PidfdGetfdFlags::empty()) else { continue };
        let socket = SockRef::from(&descriptor);
        let address = |address: std::io::Result<socket2::SockAddr>| address.ok()?.as_socket();
        if address(socket.peer_addr()) == Some(peer)
            && (local.is_none() || address(socket.local_addr()) == local)
        {
            return look(&socket);
        }
    }
    panic!("no socket to {peer}");
}

/// A stream of which one chunk has come.
fn an_open_stream(world: &World, chunk: &str) -> Wire {
    world.upstream("a").answers(Answer::stream().chunk(chunk).hangs());
    let mut wire = world.open(CHAT, &json!({"model": "a/x", "stream": true}));
    wire.read_until(|reply| !reply.chunks.is_empty());
    wire
}

#[test]
fn nagle_is_off_towards_clients_and_vendors() {
    let world = Setup::new().provider("a", 1).start();
    let wire = an_open_stream(&world, "data: {\"x\":1}\n\n");
    let client = wire.stream().local_addr().unwrap();
    let vendor = world.upstream("a").address;
    assert!(with_socket(Some(world.address), client, |socket| socket.tcp_nodelay().unwrap()), "client");
    assert!(with_socket(None, vendor, |socket| socket.tcp_nodelay().unwrap()), "vendor");
}

#[test]
fn a_client_that_stops_reading_is_bounded_by_the_write_stall_limit() {
    let world = Setup::new().server("write_stall_timeout = \"7s\"").provider("a", 1).start();
    let wire = an_open_stream(&world, "data: {\"x\":1}\n\n");
    let client = wire.stream().local_addr().unwrap();
    let limit = with_socket(Some(world.address), client, |socket| socket.tcp_user_timeout().unwrap());
    assert_eq!(limit, Some(Duration::from_secs(7)));
}

/// On an address of its own as well: who listens to events there stays for days, and few may.
#[test]
fn so_is_one_of_the_management_api() {
    let folder = std::env::temp_dir().join(format!("switchtower-own-address-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let config = folder.join("config.toml");
    let text = "[server]\nlisten = \"127.0.0.1:0\"\nworkers = 1\nwrite_stall_timeout = \"7s\"\n\
                [admin]\nlisten = \"127.0.0.1:0\"\ntoken = \"t\"\n[store]\npath = \"data\"\n";
    std::fs::write(&config, text).unwrap();
    let strategies = policy::strategy::names();
    let loaded = load_with(&config, &|_| None, &strategies, &app::builtin(), &Stored::default()).unwrap();
    let limit = actix_rt::System::new().block_on(async {
        let running = app::start(loaded, &config).await.unwrap();
        let address = running.admin_address.unwrap();
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: h\r\n\r\n").await.unwrap();
        assert_ne!(stream.read(&mut [0; 512]).await.unwrap(), 0, "it has been accepted");
        let client = stream.local_addr().unwrap();
        let limit = with_socket(Some(address), client, |socket| socket.tcp_user_timeout().unwrap());
        app::stop(running).await;
        limit
    });
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(limit, Some(Duration::from_secs(7)));
}

#[test]
fn a_half_closed_client_has_left() {
    for stream in [false, true] {
        let world = Setup::new().provider("a", 1).start();
        world.upstream("a").answers(Answer::silence());
        let wire = world.open(CHAT, &json!({"model": "a/x", "stream": stream}));
        eventually("the vendor is asked", || world.upstream("a").asked() == 1);
        wire.stream().shutdown(Shutdown::Write).unwrap();
        within(Duration::from_secs(2), "the vendor is told", || world.upstream("a").closed() == 1);
        within(Duration::from_secs(2), "the slot is free", || world.in_flight("a-1") == 0);
    }
}

#[test]
fn a_chunk_reaches_the_client_while_the_stream_goes_on() {
    let world = Setup::new().provider("a", 1).start();
    let gates: Vec<Gate> = (0..20).map(|_| Gate::default()).collect();
    let script = gates.iter().fold(Answer::stream(), |script, gate| script.chunk("data: 1\n\n").until(gate));
    world.upstream("a").answers(script.chunk("data: [DONE]\n\n").last_chunk());
    let mut wire = world.open(CHAT, &json!({"model": "a/x", "stream": true}));
    for (number, gate) in gates.iter().enumerate() {
        // The next one is not even sent before this one was read: nothing waits for more bytes.
        let so_far = wire.read_until(|reply| reply.chunks.len() > number);
        assert_eq!((so_far.chunks.len(), so_far.end), (number + 1, End::Open));
        gate.open();
    }
    assert_eq!(wire.reply().end, End::Complete);
}

/// FC-111: an event is never held for the sake of an encoder, ours or one on the way.
#[test]
fn fc_111_nothing_is_compressed_below_v1() {
    let world = Setup::new().provider("a", 1).start();
    let accepts = "accept-encoding: gzip, deflate, br, zstd\r\n";
    let body = format!(r#"{{"text":"{}"}}"#, "a".repeat(100_000));
    world.upstream("a").answers(Answer::sized(200, JSON, &body));
    let plain = post(world.address, CHAT, accepts, br#"{"model":"a/x"}"#);
    let data = format!("data: {body}\n\ndata: [DONE]\n\n");
    world.upstream("a").answers(Answer::stream().chunk(&data).last_chunk());
    let streamed = post(world.address, CHAT, accepts, br#"{"model":"a/x","stream":true}"#);
    assert!(plain.text() == body && streamed.text() == data, "identity");
    assert_eq!(streamed.header("cache-control"), Some("no-cache, no-transform"));
    assert_eq!(streamed.header("x-accel-buffering"), Some("no"));
    for reply in [plain, streamed, world.get("/v1/models", accepts)] {
        assert_eq!((reply.status, reply.end), (200, End::Complete));
        assert_eq!(reply.header("content-encoding"), None);
    }
    for request in world.upstream("a").requests() {
        assert!(request.header("accept-encoding") == Some("identity"), "{}", request.head);
    }
}

/// The reply and its time, of a vendor with this limit that says its head after this pause.
fn late_by(pause: Duration, limit: &str, stream: bool) -> (Reply, Duration) {
    let keys = format!("format = \"openai\"\ntimeouts = {{ first_byte = \"{limit}\" }}");
    let world = Setup::new().provider_with("a", 1, &keys).start();
    let good = if stream { Answer::good_stream("a") } else { Answer::good("a") };
    world.upstream("a").answers(good.after(pause));
    let asked = Instant::now();
    let reply = world.post(CHAT, json!({"model": "a/x", "stream": stream}));
    (reply, asked.elapsed())
}

#[test]
fn the_limit_to_the_head_is_ours_not_the_library_s() {
    let longer_than_the_library_waits = Duration::from_millis(5_500);
    for stream in [false, true] {
        let (reply, took) = late_by(Duration::from_secs(60), "300ms", stream);
        reply.is_error(504, "gateway_timeout");
        assert!(took >= Duration::from_millis(300) && took < Duration::from_secs(4), "{took:?}");
    }
    let streamed = std::thread::spawn(move || late_by(longer_than_the_library_waits, "8s", true));
    let (reply, took) = late_by(longer_than_the_library_waits, "8s", false);
    reply.served_by("a");
    assert!(took >= longer_than_the_library_waits, "{took:?}");
    streamed.join().unwrap().0.served_by("a");
}

#[test]
fn a_hundred_and_fifty_requests_run_at_once_at_one_vendor() {
    let world = Setup::new().provider("a", 1).start();
    let gate = Gate::default();
    world.upstream("a").answers(Answer::good("a").held_by(&gate));
    let mut wires: Vec<Wire> = (0..150).map(|_| world.open(CHAT, &json!({"model": "a/x"}))).collect();
    eventually("all are asked at once", || world.upstream("a").asked() == 150);
    assert_eq!((world.in_flight("a-1"), world.upstream("a").connections()), (150, 150));
    gate.open();
    for wire in &mut wires {
        wire.reply().served_by("a");
    }
    eventually("all slots are free", || world.in_flight("a-1") == 0);
}

fn level(world: &World) -> u64 {
    world.snapshot("a-1")["cooldown"]["level"].as_u64().unwrap()
}

#[test]
fn a_connection_is_used_again() {
    let world = Setup::new().provider("a", 1).start();
    for _ in 0..5 {
        world.ask("a/x").served_by("a");
    }
    assert_eq!((world.upstream("a").asked(), world.upstream("a").connections()), (5, 1));
}

#[test]
fn decision_7_a_stale_pooled_connection_is_dialled_again_and_blames_nobody() {
    for stale in [Answer::nothing().closes(), Answer::nothing().resets()] {
        for stream in [false, true] {
            let world = Setup::new().provider("a", 1).start();
            let again = if stream { Answer::good_stream("a") } else { Answer::good("a") };
            world.upstream("a").answers_first([Answer::good("a"), stale.clone(), again]);
            world.ask("a/x").served_by("a");
            let reply = world.post(CHAT, json!({"model": "a/x", "stream": stream}));
            reply.served_by("a");
            let vendor = world.upstream("a");
            assert_eq!((vendor.asked(), vendor.connections()), (3, 2));
            assert_eq!((world.failures("a"), level(&world)), (0, 0), "blames nobody");
            assert_eq!(reply.header("x-omniroute-fallback-attempts"), None, "one attempt");
        }
    }
}

#[test]
fn decision_7_a_stale_pooled_connection_is_dialled_again_once() {
    let world = Setup::new().provider("a", 1).start();
    world.upstream("a").answers(Answer::nothing().resets()).answers_first([Answer::good("a")]);
    world.ask("a/x").served_by("a");
    world.ask("a/x").is_error(502, "bad_gateway");
    assert_eq!(world.upstream("a").asked(), 3);
    assert_eq!((world.failures("a"), level(&world)), (1, 1));
}

#[test]
fn a_connection_that_the_vendor_closed_while_idle_is_not_used_again() {
    let world = Setup::new().provider("a", 1).start();
    world.upstream("a").answers(Answer::good("a").closes());
    for _ in 0..5 {
        world.ask("a/x").served_by("a");
    }
    assert_eq!((world.upstream("a").asked(), world.failures("a"), level(&world)), (5, 0, 0));
}

#[test]
fn fc_056_bodies_above_two_mebibytes_pass_both_ways() {
    let world = Setup::new().provider("a", 1).start();
    let text = "0123456789abcdef".repeat(400_000);
    let answer = format!(r#"{{"text":"{text}"}}"#);
    for stream in [false, true] {
        let script = match stream {
            false => Answer::sized(200, JSON, &answer),
            true => Answer::stream().chunk(format!("data: {answer}\n\ndata: [DONE]\n\n")).last_chunk(),
        };
        world.upstream("a").answers(script);
        let body = format!(r#"{{"model":"a/x","stream":{stream},"text":"{text}"}}"#);
        let reply = post(world.address, CHAT, "", body.as_bytes());
        assert_eq!((reply.status, reply.end), (200, End::Complete));
        assert!(reply.text().contains(&answer), "{} bytes came back", reply.body.len());
        let got = world.upstream("a").requests().pop().unwrap().body;
        assert!(got == body.replacen("a/x", "x", 1).as_bytes(), "{} bytes went up", got.len());
    }
}

/// A body that no socket buffers take whole.
fn twenty_megabytes(model: &str) -> Vec<u8> {
    format!(r#"{{"model":"{model}","x":"{}"}}"#, "y".repeat(20 * 1024 * 1024)).into_bytes()
}

#[test]
fn decision_9c_an_answer_in_the_middle_of_our_body_fails_over_and_cools_nobody() {
    for status in [413, 429, 503] {
        let world = Setup::new().provider("a", 1).provider("b", 1).combo("m", &["a", "b"]).start();
        world.upstream("a").answers(Answer::status(status).closes().early());
        post(world.address, CHAT, "", &twenty_megabytes("m")).served_by("b");
        assert_eq!((world.upstream("a").asked(), world.upstream("b").asked()), (1, 1), "{status}");
        assert_eq!((world.failures("a"), level(&world)), (0, 0), "{status}");
        assert!(world.snapshot("a-1")["cooldown"]["until"].is_null(), "{status}");
        assert!(world.upstream("b").only_request().body.len() > 20 * 1024 * 1024);
    }
}

#[test]
fn decision_9c_without_another_target_the_interruption_is_told() {
    let world = Setup::new().provider("a", 1).start();
    world.upstream("a").answers(Answer::status(413).closes().early());
    post(world.address, CHAT, "", &twenty_megabytes("a/x")).is_error(502, "bad_gateway");
    assert_eq!((world.failures("a"), level(&world)), (0, 0));
    world.upstream("a").answers(Answer::good("a"));
    world.ask("a/x").served_by("a");
}

/// Heads behind which the client library sees no body, and no end of one.
const HALF_ANSWERS: [&str; 3] = [
    "HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n",
    "HTTP/1.1 204 No Content\r\n\r\n",
    "HTTP/1.1 304 Not Modified\r\n\r\n",
];

/// What comes late on such a connection was once given to the next client as its own answer.
#[test]
fn what_follows_half_an_answer_reaches_no_other_client() {
    for head in HALF_ANSWERS {
        let world = Setup::new().provider("a", 1).provider("b", 1).combo("m", &["a", "b"]).start();
        world.upstream("a").answers(Answer::good("a")).answers_first([Answer::raw(head)]);
        world.ask("m").served_by("b");
        assert!(world.order("connection", "a-1", json!({"message": "reset"})).status == 200, "{head}");
        world.ask("m").served_by("a");
        assert_eq!(world.upstream("a").connections(), 2, "{head}");
        within(Duration::from_secs(2), "the first one is closed", || world.upstream("a").closed() == 1);
    }
}

#[test]
fn an_encoding_that_was_not_asked_for_is_no_answer() {
    let world = Setup::new().provider("a", 1).provider("b", 1).combo("m", &["a", "b"]).start();
    let packed = "content-type: text/event-stream\r\ncontent-encoding: gzip\r\n";
    world.upstream("a").answers(Answer::sized(200, packed, b"\x1f\x8b\x08\x00"));
    world.upstream("b").answers(Answer::good_stream("b"));
    world.ask_streamed("m").served_by("b");
    let plain = "content-type: application/json\r\ncontent-encoding: identity\r\n";
    world.upstream("a").answers(Answer::sized(200, plain, "{\"a\":1}"));
    world.order("connection", "a-1", json!({"message": "reset"}));
    assert_eq!(world.ask("m").text(), "{\"a\":1}");
}

#[test]
fn fc_052_a_path_that_was_dropped_without_a_word_is_noticed() {
    let world = Setup::new().provider("a", 1).start();
    let _wire = an_open_stream(&world, "data: {\"x\":1}\n\n");
    let options = with_socket(None, world.upstream("a").address, |socket| {
        (
            socket.keepalive().unwrap(),
            socket.tcp_keepalive_time().unwrap(),
            socket.tcp_user_timeout().unwrap(),
        )
    });
    assert_eq!(options, (true, Duration::from_secs(15), Some(Duration::from_secs(30))));
}
