//! Clients of HTTP/1.0, which know no chunks (RFC 9112 6.1): what has no length ends with its
//! connection.

use std::io::Read;

use serde_json::Value;

use crate::support::{Answer, Wire, World, request_bytes};
use crate::{ALL, pair};

/// Such a client, which would keep its connection.
pub struct Old(Wire);

impl Old {
    pub fn ask(world: &World, path: &str, body: &Value) -> Self {
        let headers = "connection: keep-alive\r\n";
        let request = request_bytes("POST", path, headers, body.to_string().as_bytes());
        let request = String::from_utf8(request).unwrap().replace("HTTP/1.1", "HTTP/1.0");
        let mut wire = Wire::open(world.address);
        wire.send(request.as_bytes());
        Self(wire)
    }

    /// The raw reply, as soon as it is as wanted.
    pub fn read_until(&mut self, wanted: impl Fn(&str) -> bool) -> String {
        let mut reply = String::new();
        let mut byte = [0];
        while !wanted(&reply) {
            self.0.stream().read_exact(&mut byte).unwrap_or_else(|_| panic!("it has ended: {reply}"));
            reply.push(char::from(byte[0]));
        }
        reply
    }

    /// What is still to come until the connection ends.
    pub fn rest(self) -> String {
        let mut rest = String::new();
        self.0.stream().read_to_string(&mut rest).unwrap();
        rest
    }
}

#[test]
fn a_stream_to_http_1_0_has_no_chunks_and_ends_with_its_connection() {
    for dialect in ALL {
        let world = pair(dialect);
        let reply = Old::ask(&world, dialect.route, &dialect.body("b/x")).rest();
        let (head, body) = reply.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.0 200") && !head.contains("transfer-encoding"), "{head}");
        assert_eq!(body, dialect.complete());
    }
}

#[test]
fn a_whole_answer_to_http_1_0_has_its_length() {
    let world = pair(&crate::CHAT);
    world.upstream("a").answers(Answer::good("a"));
    let body = serde_json::json!({"model": "a/x"});
    let reply = Old::ask(&world, crate::CHAT.route, &body).read_until(|reply| reply.ends_with("}"));
    assert!(reply.contains("content-length: ") && !reply.contains("connection: close"), "{reply}");
}
