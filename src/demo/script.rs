//! From a behaviour to the instructions of a body.
//!
//! Every script is an iterator that makes its pieces when they are asked for: a million chunks cost
//! no more memory than one, and a script that stalls never makes the rest.

use std::iter;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;

use super::answer::Answer;
use super::behaviour::{Behaviour, Breakage};
use super::dialect::Frames;
use super::playback::{Step, Steps};

/// Pieces per second of a slow body, where its rate allows: smooth, and few timers.
const PIECES_PER_SECOND: u64 = 20;

/// How a body that is not streamed is sent, where it is not simply sent whole.
pub(super) fn whole(behaviour: Behaviour, body: &Bytes) -> Option<Steps> {
    match behaviour {
        Behaviour::Broken { after, how } => {
            // a body that breaks off is never complete, however short it is
            let sent = body.slice(..after.min(body.len().saturating_sub(1)));
            Some(Box::new([Step::Send(sent), ending(how)].into_iter()))
        }
        Behaviour::Trickle { bytes_per_second } => Some(trickle(body.clone(), bytes_per_second)),
        _ => None,
    }
}

/// How a stream is sent: what opens it, its content, and what ends it.
pub(super) fn stream(frames: &'static dyn Frames, answer: Answer, behaviour: Behaviour) -> Steps {
    match behaviour {
        Behaviour::ErrorIn200 => Box::new(frames.broken(&answer).into_iter().map(send)),
        Behaviour::Broken { after, how } => {
            let answer = Rc::new(answer);
            let opening = frames.opening(&answer).into_iter().map(send);
            Box::new(opening.chain(content(frames, answer, after, 0)).chain(iter::once(ending(how))))
        }
        Behaviour::Trickle { bytes_per_second } => {
            let pieces = complete(frames, answer, 0).filter_map(|step| match step {
                Step::Send(bytes) => Some(bytes),
                _ => None,
            });
            let body: Vec<u8> = pieces.flatten().collect();
            trickle(Bytes::from(body), bytes_per_second)
        }
        Behaviour::Chunks { every_ms, .. } => Box::new(complete(frames, answer, every_ms)),
        _ => Box::new(complete(frames, answer, 0)),
    }
}

fn complete(frames: &'static dyn Frames, answer: Answer, every_ms: u64) -> impl Iterator<Item = Step> {
    let answer = Rc::new(answer);
    let words = answer.words;
    let opening = frames.opening(&answer).into_iter().map(send);
    let content = content(frames, Rc::clone(&answer), words, every_ms);
    let closing = iter::once_with(move || frames.closing(&answer)).flatten().map(send);
    opening.chain(content).chain(closing)
}

fn content(
    frames: &'static dyn Frames,
    answer: Rc<Answer>,
    count: usize,
    every_ms: u64,
) -> impl Iterator<Item = Step> {
    (0..count).flat_map(move |index| {
        let pause = (index > 0 && every_ms > 0).then(|| Step::Wait(Duration::from_millis(every_ms)));
        pause.into_iter().chain(iter::once(send(frames.delta(&answer, index))))
    })
}

fn trickle(mut body: Bytes, bytes_per_second: u64) -> Steps {
    let piece = (bytes_per_second / PIECES_PER_SECOND).max(1);
    let pause = Duration::from_micros(piece * 1_000_000 / bytes_per_second);
    let mut first = true;
    Box::new(
        iter::from_fn(move || {
            let next = body.split_to(body.len().min(piece as usize));
            let paused = (!next.is_empty() && !first).then(|| Step::Wait(pause));
            first = false;
            (!next.is_empty()).then(|| paused.into_iter().chain(iter::once(Step::Send(next))))
        })
        .flatten(),
    )
}

fn send(frame: String) -> Step {
    Step::Send(Bytes::from(frame))
}

fn ending(how: Breakage) -> Step {
    match how {
        Breakage::Stall => Step::Stall,
        Breakage::Cut => Step::Cut,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use bytes::Bytes;

    use super::super::behaviour::Behaviour;
    use super::super::playback::Step;
    use super::whole;

    fn steps(name: &str, body: &'static str) -> Vec<Step> {
        whole(Behaviour::parse(name), &Bytes::from_static(body.as_bytes())).expect("a script").collect()
    }

    fn sent(text: &'static str) -> Step {
        Step::Send(Bytes::from_static(text.as_bytes()))
    }

    #[test]
    fn a_body_breaks_off_after_so_many_bytes_and_never_later_than_its_last() {
        assert_eq!(steps("cut-after-2", "abcd"), [sent("ab"), Step::Cut]);
        assert_eq!(steps("stall-after-9", "abcd"), [sent("abc"), Step::Stall]);
    }

    #[test]
    fn a_trickle_keeps_its_rate_in_pieces() {
        let second = Step::Wait(Duration::from_secs(1));
        assert_eq!(steps("trickle-1", "ab"), [sent("a"), second, sent("b")]);
        let tick = Step::Wait(Duration::from_millis(50));
        assert_eq!(steps("trickle-40", "abc"), [sent("ab"), tick, sent("c")]);
    }

    #[test]
    fn what_is_sent_whole_needs_no_script() {
        assert!(whole(Behaviour::Steady, &Bytes::from_static(b"abc")).is_none());
    }
}
