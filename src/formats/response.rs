//! Ids of responses, by which later requests go on from them (FC-101).
//!
//! An id is told apart and never kept: what is remembered is its hash. It stands in the body of an
//! answer, or in the first events of its stream.

use std::sync::Arc;

use bytes::Bytes;
use policy::affinity::OF_RESPONSE;
use sha2::{Digest, Sha256};

use super::sse::Scanner;
use super::walk::{Walk, Walked};

/// The longest id that anybody gives, bytes.
const LONGEST: usize = 512;
/// Bytes of a hash that are kept.
const KEPT: usize = 16;

/// The key of a response; none for what is no id.
pub fn key(id: &str) -> Option<Arc<str>> {
    if id.is_empty() || id.len() > LONGEST {
        return None;
    }
    let hash = Sha256::digest(id.as_bytes());
    let hex: String = hash[..KEPT].iter().map(|byte| format!("{byte:02x}")).collect();
    Some(format!("{OF_RESPONSE}{hex}").into())
}

/// The key of the response that the beginning of an answer is about; none, if nobody can go on from
/// it because its upstream does not store it.
pub fn made(first: &Bytes, framed: bool) -> Option<Arc<str>> {
    if !framed {
        return told(first).key();
    }
    let mut scanner = Scanner::new(first.len());
    scanner.feed(first.clone());
    // All that is there is one block.
    scanner.next_block();
    while let Some(Ok(frame)) = scanner.next_frame() {
        let (data, mut said) = (frame.data(), Told::default());
        let _ = Walk::new(&data).object(|name, walk| {
            match name {
                b"response" => said.read(walk)?,
                _ => drop(walk.skip()?),
            }
            Ok(())
        });
        if said.id.is_some() {
            return said.key();
        }
    }
    None
}

/// What is no JSON to its end may have said its id before.
fn told(json: &[u8]) -> Told {
    let mut told = Told::default();
    let _ = told.read(&mut Walk::new(json));
    told
}

#[derive(Default)]
struct Told {
    id: Option<String>,
    forgets: bool,
}

impl Told {
    fn read(&mut self, walk: &mut Walk<'_>) -> Walked<()> {
        walk.object(|name, walk| {
            match name {
                b"id" => {
                    let id = walk.text()?.and_then(|id| std::str::from_utf8(id).ok());
                    self.id = id.map(str::to_owned);
                }
                b"store" => self.forgets = walk.skip()? == b"false",
                _ => drop(walk.skip()?),
            }
            Ok(())
        })
    }

    fn key(self) -> Option<Arc<str>> {
        key(&self.id.filter(|_| !self.forgets)?)
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::{key, made};

    fn of(text: &str, framed: bool) -> Option<std::sync::Arc<str>> {
        made(&Bytes::copy_from_slice(text.as_bytes()), framed)
    }

    #[test]
    fn fc_101_a_response_is_known_from_its_body_and_from_its_first_events() {
        let r1 = key("resp_1");
        assert!(r1.as_ref().is_some_and(|key| key.len() == 41 && !key.contains("resp_1")), "{r1:?}");
        assert_ne!(r1, key("resp_2"));
        assert_eq!(of(r#"{"object":"response","output":[{"id":"msg_1"}],"id":"resp_1"}"#, false), r1);
        assert_eq!(of(r#"{"id":"resp_1","output":[{"text":"cut"#, false), r1);
        let created =
            r#"data: {"response":{"output":[],"id":"resp_1","store":true},"type":"response.created"}"#;
        let stream = format!(
            ": hi\n\nevent: response.created\n{created}\n\ndata: {{\"response\":{{\"id\":\"no\"}}}}\n\n"
        );
        assert_eq!(of(&stream, true), r1);
        assert_eq!(of(&stream.replace('\n', "\r\n"), true), r1);
    }

    #[test]
    fn what_is_no_id_or_is_not_stored_is_not_remembered() {
        for body in ["", "[]", "{}", r#"{"id":7}"#, r#"{"id":""}"#, r#"{"id":"r","store":false}"#] {
            assert_eq!(of(body, false), None, "{body}");
        }
        assert_eq!(key(&"x".repeat(513)), None);
        let unkept = "data: {\"response\":{\"id\":\"r\",\"store\":false}}\n\n";
        for stream in ["", ": hi\n\n", "data: {\"item\":{\"id\":\"i\"}}\n\n", "data: [DONE]\n\n", unkept] {
            assert_eq!(of(stream, true), None, "{stream}");
        }
    }
}
