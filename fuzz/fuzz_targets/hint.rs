//! Any answer of an upstream: it states no wait, or one inside [1 s, 30 days], and nothing
//! panics (overflow checks are on). The input looks like an answer, so that seeds and findings
//! can be read and written by hand: a status, lines of headers, an empty line, a body.
#![no_main]

use std::str;

use libfuzzer_sys::fuzz_target;
use policy::hint::{Hint, HintSource, find, from_body, from_headers, is_read};

/// 2026-01-15T12:00:00Z, ms
const T0: u64 = 1_768_478_400_000;

fuzz_target!(|answer: &[u8]| {
    let (status, headers, body) = parts(answer);
    let get = |name: &str| {
        assert!(is_read(name), "{name} is read and not listed");
        headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name.as_bytes())).map(|(_, value)| *value)
    };
    let body = String::from_utf8_lossy(body);
    for now in [T0, 0, u64::MAX] {
        let header = from_headers(get, status, now);
        let words = from_body(&body, now);
        let found = find(get, &body, status, now);
        for hint in [header, words, found].into_iter().flatten() {
            assert!((Hint::MIN_MS..=Hint::MAX_MS).contains(&hint.wait_ms), "{hint:?}");
        }
        assert!(header.is_none_or(|hint| hint.source == HintSource::Header && found == Some(hint)));
        assert!(words.is_none_or(|hint| hint.source != HintSource::Header));
        // Only the answer's own date may make a difference to its body.
        assert!(header.is_some() || get("date").is_some() || found == words);
    }
});

type Headers<'a> = Vec<(&'a [u8], &'a [u8])>;

fn parts(answer: &[u8]) -> (u16, Headers<'_>, &[u8]) {
    let (status, mut rest) = line(answer);
    let status = str::from_utf8(status).ok().and_then(|status| status.parse().ok()).unwrap_or(429);
    let mut headers = Vec::new();
    loop {
        let (header, tail) = line(rest);
        rest = tail;
        let Some(colon) = header.iter().position(|byte| *byte == b':') else { break };
        headers.push((&header[..colon], &header[colon + 1..]));
    }
    (status, headers, rest)
}

fn line(bytes: &[u8]) -> (&[u8], &[u8]) {
    let end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
    (&bytes[..end], bytes.get(end + 1..).unwrap_or_default())
}
