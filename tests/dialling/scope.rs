//! Decision 7: a provider's own host that cannot be reached counts as a 502, on its breaker and
//! on the connection, and the request goes on.

use std::io::{Read, Write};
use std::net::TcpListener;

use serde_json::{Value, json};

use crate::stage::Dead;
use crate::support::{Setup, Upstream};

/// Reads what comes and answers without TLS.
fn no_tls() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 4096]).unwrap();
            stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
        }
    });
    port
}

#[test]
fn decision_7_a_host_that_cannot_be_reached_counts_on_its_breaker_and_cools_its_connection() {
    let (refusing, dead) = (Upstream::refusing(), Dead::new());
    let rows = [
        ("dns", format!("http://{}.invalid", "x".repeat(64))),
        ("refused", format!("http://{}", refusing.address)),
        ("connect_timeout", format!("http://{}", dead.address)),
        ("tls", format!("https://127.0.0.1:{}", no_tls())),
        ("connect_timeout", format!("https://{}", dead.address)),
    ];
    for (end, base) in rows {
        let world = Setup::new()
            .section(&format!(
                "[[providers]]\nid = \"a\"\nauth = \"apikey\"\nformat = \"openai\"\nbase_url = \"{base}\"\n\
                 timeouts = {{ connect = \"200ms\" }}\n\
                 [[connections]]\nid = \"a-1\"\nprovider = \"a\"\ncredential = \"credential-of-a\"\n"
            ))
            .provider("b", 1)
            .combo("m", &["a", "b"])
            .start();
        world.ask("m").served_by("b");
        let cooldown = &world.snapshot("a-1")["cooldown"];
        assert_eq!((world.failures("a"), cooldown["level"].as_u64()), (1, Some(1)), "{base}");
        assert!(cooldown["until"].is_u64(), "{base}");
        assert_eq!(world.failures("b"), 0, "{base}");
        let log = world.admin("/api/decisions?limit=1").json();
        let attempts = &log["decisions"][0]["attempts"];
        assert_eq!((&attempts[0]["end"], &attempts[1]["end"]), (&json!(end), &Value::Null), "{log}");
    }
}
