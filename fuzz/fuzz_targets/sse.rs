//! Any stream, cut anywhere: the same events and the same bytes as in one piece. Whatever its frames
//! say, saying it panics nowhere, and a frame that is like the last one is told like any other. The
//! first line of the input is the cuts, a byte each (how many bytes the next piece has, over and over);
//! the rest is the stream.
#![no_main]

// The scanner alone, not the whole binary: this builds in seconds.
#[allow(dead_code, reason = "what others make of the same files is not looked at here")]
#[path = "../../src/formats"]
mod formats {
    pub mod quality;
    pub mod sight;
    pub mod sse;
    mod walk;
}

use bytes::Bytes;
use formats::sight::{Looker, StreamError, failure};
use formats::sse::{Frame, Scanner};
use libfuzzer_sys::fuzz_target;
use policy::catalogue::Dialect;
use policy::stream::{Kind, Sight};

const CAP: usize = 1 << 20;
const DIALECTS: [Dialect; 4] = [Dialect::Openai, Dialect::Anthropic, Dialect::Responses, Dialect::Gemini];

/// Name, data, and what it says in each dialect.
type Event = (Vec<u8>, Vec<u8>, [Sight; 4]);

#[derive(Debug, Default, PartialEq)]
struct Told {
    events: Vec<Event>,
    rest: Option<Event>,
    bytes: Vec<u8>,
}

fuzz_target!(|input: &[u8]| {
    let end = input.iter().position(|byte| *byte == b'\n').unwrap_or(0);
    let (cuts, stream) = (&input[..end], input.get(end + 1..).unwrap_or_default());
    let whole = read(&[usize::MAX], stream);
    assert_eq!(whole.bytes, stream, "every byte, in order");
    let sizes: Vec<usize> = cuts.iter().map(|cut| usize::from(*cut).max(1)).collect();
    for sizes in [&sizes[..], &[1], &[2, 1]] {
        if !sizes.is_empty() {
            assert_eq!(read(sizes, stream), whole, "pieces of {sizes:?}");
        }
    }
});

fn read(sizes: &[usize], stream: &[u8]) -> Told {
    let (mut scanner, mut told, mut rest) = (Scanner::new(CAP), Told::default(), stream);
    let mut lookers = DIALECTS.map(Looker::new);
    for size in sizes.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (piece, others) = rest.split_at(rest.len().min(*size));
        rest = others;
        scanner.feed(Bytes::copy_from_slice(piece));
        take(&mut scanner, &mut lookers, &mut told);
        let out = stream.len() - rest.len() - told.bytes.len();
        assert_eq!((scanner.pending(), scanner.is_between()), (out, out == 0));
    }
    let unclosed = scanner
        .rest()
        .map(|frame| (frame.span.clone(), frame.has_data().then(|| event(&frame, &mut lookers))));
    if let Some((span, unclosed)) = unclosed {
        told.bytes.extend_from_slice(&scanner.block()[span]);
        told.rest = unclosed;
    }
    told
}

fn take(scanner: &mut Scanner, lookers: &mut [Looker; 4], told: &mut Told) {
    while scanner.next_block() {
        let mut end = 0;
        while let Some(frame) = scanner.next_frame() {
            let frame = frame.expect("no input is as long as the cap");
            assert_eq!(frame.span.start, end, "frames follow each other");
            assert!(frame.span.end > end && !(frame.is_comment() && frame.has_data()));
            end = frame.span.end;
            told.events.extend(frame.has_data().then(|| event(&frame, lookers)));
        }
        told.bytes.extend_from_slice(&scanner.block().slice(..end));
    }
}

fn event(frame: &Frame<'_>, lookers: &mut [Looker; 4]) -> Event {
    let data = frame.data().into_owned();
    let sights = DIALECTS.map(|dialect| Looker::new(dialect).look(frame));
    assert_eq!(lookers.each_mut().map(|looker| looker.look(frame)), sights, "whatever came before it");
    for sight in sights {
        assert!(sight.text == 0 || sight.kind == Kind::Output);
        assert!(sight.text <= data.len());
        if sight.kind == Kind::Error {
            let StreamError { status, .. } = failure(&data);
            assert!((400..600).contains(&status), "{status}");
        }
    }
    (frame.name().to_vec(), data, sights)
}
