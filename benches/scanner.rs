//! What it costs to cut a stream into frames and to read what they say, on one core.
//!
//! `cargo bench --bench scanner [-- --quick]`. Streams of each dialect, in small frames and in large
//! ones, come in whole frames and in pieces of 1460 bytes (what one packet carries), and are sent on
//! as slices, as a relay would. Prints, never judges: MB/s, the best of several rounds, and
//! allocations per frame, once by the scanner alone and once with a look at each frame. The design
//! wants 1 GB/s for small frames. Pin it: `taskset -c 1 cargo bench --bench scanner`.

use std::alloc::System;
use std::hint::black_box;
use std::time::Instant;

use bytes::Bytes;
use policy::catalogue::Dialect;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use switchtower::formats::sight::Looker;
use switchtower::formats::sse::Scanner;

#[global_allocator]
static GLOBAL: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const PACKET: usize = 1460;
/// What is read at once when frames come whole.
const READ: usize = 32 * 1024;
/// A round is short, so that on a busy machine some rounds have the core to themselves.
const STREAM: usize = 256 << 10;
const DIALECTS: [(&str, Dialect); 4] = [
    ("chat", Dialect::Openai),
    ("messages", Dialect::Anthropic),
    ("responses", Dialect::Responses),
    ("gemini", Dialect::Gemini),
];

fn main() {
    let rounds = if std::env::args().any(|argument| argument == "--quick") { 50 } else { 1000 };
    println!("| stream | frame bytes | chunks | scanner MB/s | allocations | with look MB/s | allocations |");
    println!("|---|---|---|---|---|---|---|");
    for (name, dialect) in DIALECTS {
        for text in ["hello wor".to_owned(), "Lorem ipsum dolor, \\\"sit\\\" amet.\\n".repeat(480)] {
            let frames = frames(dialect, &text);
            let length = frames.iter().map(Vec::len).sum::<usize>() / frames.len();
            for (kind, chunks) in [("whole", whole(&frames)), ("1460", cut(&frames))] {
                let scanned = best(rounds, &chunks, frames.len(), None);
                let looked = best(rounds, &chunks, frames.len(), Some(dialect));
                println!(
                    "| {name} | {length} | {kind} | {:.0} | {:.3} | {:.0} | {:.3} |",
                    scanned.0, scanned.1, looked.0, looked.1
                );
            }
        }
    }
}

/// Frames as the vendors send them, one word or one long text each.
fn frames(dialect: Dialect, text: &str) -> Vec<Vec<u8>> {
    let frame = |number: usize| match dialect {
        Dialect::Openai => format!(
            "data: {{\"id\":\"chatcmpl-BdUM3cTr4DIpZVkFqXhYgNwLzTB5e\",\"object\":\"chat.completion.chunk\",\"created\":1748779281,\
             \"model\":\"gpt-5-2025-08-07\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}{number}\"}},\
             \"finish_reason\":null}}]}}\n\n"
        ),
        Dialect::Anthropic => format!(
            "event: content_block_delta\ndata: {{\"type\":\"content_block_delta\",\"index\":0,\
             \"delta\":{{\"type\":\"text_delta\",\"text\":\"{text}{number}\"}}}}\n\n"
        ),
        Dialect::Responses => format!(
            "event: response.output_text.delta\ndata: {{\"type\":\"response.output_text.delta\",\"sequence_number\":{number},\
             \"item_id\":\"msg_67c9fdcf37fc8190ba82116e33fb28c507b8b0ad4e5eb654\",\"output_index\":0,\"content_index\":0,\
             \"delta\":\"{text}\",\"logprobs\":[]}}\n\n"
        ),
        Dialect::Gemini => format!(
            "data: {{\"candidates\": [{{\"content\": {{\"parts\": [{{\"text\": \"{text}{number}\"}}],\"role\": \"model\"}},\
             \"index\": 0}}],\"usageMetadata\": {{\"promptTokenCount\": 12,\"totalTokenCount\": 12}},\
             \"modelVersion\": \"gemini-2.5-pro\",\"responseId\": \"a1b2c3d4\"}}\r\n\r\n"
        ),
    };
    let length = frame(0).len();
    (0..STREAM / length).map(|number| frame(number).into_bytes()).collect()
}

/// Chunks that end where a frame ends.
fn whole(frames: &[Vec<u8>]) -> Vec<Bytes> {
    let mut chunks: Vec<Vec<u8>> = vec![Vec::new()];
    for frame in frames {
        let last = chunks.last_mut().expect("it begins with one");
        match last.len() + frame.len() > READ && !last.is_empty() {
            true => chunks.push(frame.clone()),
            false => last.extend_from_slice(frame),
        }
    }
    chunks.into_iter().map(Bytes::from).collect()
}

fn cut(frames: &[Vec<u8>]) -> Vec<Bytes> {
    frames.concat().chunks(PACKET).map(Bytes::copy_from_slice).collect()
}

/// MB/s of the best round, and allocations per frame of the last one.
fn best(rounds: usize, chunks: &[Bytes], frames: usize, dialect: Option<Dialect>) -> (f64, f64) {
    let bytes: usize = chunks.iter().map(Bytes::len).sum();
    let (mut fastest, mut allocations) = (0.0_f64, 0.0);
    for _ in 0..rounds {
        let region = Region::new(GLOBAL);
        let started = Instant::now();
        let counted = run(chunks, dialect);
        let seconds = started.elapsed().as_secs_f64();
        assert_eq!(counted, frames, "every frame is told once");
        fastest = fastest.max(bytes as f64 / 1e6 / seconds);
        allocations = region.change().allocations as f64 / frames as f64;
    }
    (fastest, allocations)
}

/// One stream, as a relay reads it; how many frames it had.
fn run(chunks: &[Bytes], dialect: Option<Dialect>) -> usize {
    let (mut scanner, mut frames) = (Scanner::new(32 << 20), 0);
    let mut looker = dialect.map(Looker::new);
    for chunk in chunks {
        scanner.feed(chunk.clone());
        while scanner.next_block() {
            let mut end = 0;
            while let Some(frame) = scanner.next_frame() {
                let frame = frame.expect("no frame is too long");
                if let Some(looker) = &mut looker {
                    black_box(looker.look(&frame));
                }
                end = frame.span.end;
                frames += usize::from(frame.has_data());
            }
            black_box(scanner.block().slice(..end));
        }
    }
    frames
}
