//! The load: one client that asks in turn, many that ask at once, and many that read streams.
//!
//! Every loop is bounded by a count or a time, and every request by a limit, so that a proxy that
//! hangs ends the measurement instead of joining it.

use std::cell::Cell;
use std::future::Future;
use std::io::Result;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};

use tokio::task::{LocalSet, spawn_local};

use super::wire::Wire;

/// No single answer of a measurement takes longer.
const LIMIT: Duration = Duration::from_secs(10);
/// Streams begin this far apart: all at once would measure the crowd at the door.
const RAMP: Duration = Duration::from_millis(500);

/// What to ask where.
#[derive(Clone)]
pub struct Shot {
    /// Where.
    pub address: SocketAddr,
    /// The whole request.
    pub request: Rc<[u8]>,
}

/// How a closed loop went.
#[derive(Clone, Copy, Debug)]
pub struct Closed {
    /// Complete answers.
    pub answers: u64,
    /// How long it ran.
    pub took: Duration,
}

async fn limited<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    tokio::time::timeout(LIMIT, work).await.unwrap_or_else(|_| Err(std::io::ErrorKind::TimedOut.into()))
}

/// Microseconds of every answer, by target: one request to each target in turn, so that drift of
/// the machine hits all alike.
pub async fn in_turn(targets: &[Shot], rounds: usize, warm_up: usize) -> Result<Vec<Vec<f64>>> {
    let mut wires = Vec::new();
    for shot in targets {
        wires.push(limited(Wire::dial(shot.address)).await?);
    }
    let mut times = vec![Vec::with_capacity(rounds); targets.len()];
    for round in 0..rounds + warm_up {
        for (index, shot) in targets.iter().enumerate() {
            let started = Instant::now();
            limited(wires[index].ask(&shot.request, |_| {})).await?;
            if round >= warm_up {
                times[index].push(started.elapsed().as_secs_f64() * 1e6);
            }
        }
    }
    Ok(times)
}

/// `clients` connections, each asking again as soon as it was answered.
pub async fn closed(shot: &Shot, clients: usize, length: Duration) -> Result<Closed> {
    let answers = Rc::new(Cell::new(0));
    let started = Instant::now();
    let end = started + length;
    let client = |_: usize| {
        let (shot, answers) = (shot.clone(), answers.clone());
        async move {
            let mut wire = limited(Wire::dial(shot.address)).await?;
            while Instant::now() < end {
                limited(wire.ask(&shot.request, |_| {})).await?;
                answers.set(answers.get() + 1);
            }
            Ok(())
        }
    };
    together(clients, client).await?;
    Ok(Closed { answers: answers.get(), took: started.elapsed() })
}

/// Milliseconds by which each content chunk of each stream came after the instant at which a script
/// that began with the request would have sent it. The way there is part of it, for every target
/// alike.
pub async fn streams(shot: &Shot, count: usize, every: Duration) -> Result<Vec<Vec<f64>>> {
    let stream = |index: usize| {
        let shot = shot.clone();
        async move {
            tokio::time::sleep(RAMP.mul_f64(index as f64 / count as f64)).await;
            let mut wire = limited(Wire::dial(shot.address)).await?;
            let started = Instant::now();
            let mut late = Vec::new();
            let seen = |chunk: &[u8]| {
                // one event may come in one chunk with others: what counts is when it was there
                for _ in 0..content_events(chunk) {
                    let due = every * late.len() as u32;
                    late.push((started.elapsed().as_secs_f64() - due.as_secs_f64()) * 1e3);
                }
            };
            limited(wire.ask(&shot.request, seen)).await?;
            Ok(late)
        }
    };
    together(count, stream).await
}

/// Events of an OpenAI stream that carry a piece of content.
fn content_events(chunk: &[u8]) -> usize {
    const MARK: &[u8] = br#""delta":{"content":"#;
    chunk.windows(MARK.len()).filter(|window| *window == MARK).count()
}

/// Runs `count` of them at once and fails if one fails.
async fn together<T: 'static, F>(count: usize, one: impl Fn(usize) -> F) -> Result<Vec<T>>
where
    F: Future<Output = Result<T>> + 'static,
{
    let local = LocalSet::new();
    local
        .run_until(async {
            let tasks: Vec<_> = (0..count).map(|index| spawn_local(one(index))).collect();
            let mut results = Vec::with_capacity(count);
            for task in tasks {
                results.push(task.await.map_err(std::io::Error::other)??);
            }
            Ok(results)
        })
        .await
}
