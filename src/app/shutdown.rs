//! The end: refuse, drain, save, stop (contract 1).

use std::time::Duration;

use actors::messages::Barrier;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::serve::{Parts, Running};
use crate::storage::Flush;

/// How often the number of requests in flight is looked at while draining.
const LOOK: Duration = Duration::from_millis(20);

/// How long a client may take to read how its answer ended.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// How long a token endpoint may take to answer; its own limit is shorter.
const RENEWAL: Duration = Duration::from_secs(20);

/// The signals that are heeded. Made before the start, so that one that comes while the process
/// starts waits for its end instead of killing it.
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
}

impl Signals {
    /// From now on they no longer end the process by themselves.
    pub fn listen() -> std::io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }
}

/// Runs until a signal asks for the end (SIGHUP only reads the config again), then drains; a second signal exits at once.
pub async fn run(running: Running, signals: Signals) -> std::io::Result<()> {
    let Signals { mut terminate, mut interrupt, mut hang_up } = signals;
    loop {
        tokio::select! {
            _ = terminate.recv() => break,
            _ = interrupt.recv() => break,
            _ = hang_up.recv() => running.parts.live.reload().await,
        }
    }
    let again = async {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    };
    tokio::select! {
        () = drain(running.parts) => {}
        () = again => tracing::warn!("a second signal: exiting at once"),
    }
    Ok(())
}

/// Ends it as a signal would, for whoever runs it inside a process of their own.
pub async fn stop(running: Running) {
    drain(running.parts).await;
}

async fn drain(parts: Parts) {
    parts.gate.drain();
    parts.live.reloader.tower.closing.begin();
    // Who only listens must not hold up the end.
    parts.owners.router.events.close();
    let grace = **parts.live.reloader.grace.load();
    tracing::info!(in_flight = parts.gate.running(), ?grace, "draining");
    let drained = async {
        while parts.gate.running() > 0 {
            tokio::time::sleep(LOOK).await;
        }
    };
    if tokio::time::timeout(grace, drained).await.is_err() {
        tracing::warn!(
            in_flight = parts.gate.running(),
            "the grace is over; what still runs is told so and ends"
        );
        parts.live.reloader.tower.cutoff.notify_waiters();
        // What does not even take its last words is cut by the servers' stop.
        let told = async {
            while parts.gate.running() > 0 {
                tokio::time::sleep(LOOK).await;
            }
        };
        let _ = tokio::time::timeout(LAST_WORDS, told).await;
    }
    renewed(&parts).await;
    // From here on an owner's end is no news, and what the owners still have to say is heard first.
    parts.living.end();
    hear_out(&parts).await;
    save(&parts).await;
    for server in &parts.servers {
        server.stop(true).await;
    }
    // Requests that ended in the last moment may have said something.
    save(&parts).await;
    parts.store_arbiter.stop();
    tracing::info!("stopped");
}

/// Tokens that are being renewed are heard out: the old ones are used up, and the new ones cannot be
/// had again.
async fn renewed(parts: &Parts) {
    parts.sweep.abort();
    let landed = async {
        while parts.tokens.flights() > 0 {
            tokio::time::sleep(LOOK).await;
        }
    };
    if tokio::time::timeout(RENEWAL, landed).await.is_err() {
        tracing::error!(
            "a token was still being renewed at shutdown; its connection may have to log in again"
        );
    }
}

async fn hear_out(parts: &Parts) {
    let directory = &parts.owners.directory;
    let all = async {
        for connection in directory.connections() {
            let _ = connection.mailbox.ask(Barrier).await;
        }
        for provider in directory.providers() {
            let _ = provider.mailbox.ask(Barrier).await;
        }
        let _ = parts.owners.router.mailbox.ask(Barrier).await;
        for lockout in directory.lockouts() {
            let _ = lockout.mailbox.ask(Barrier).await;
        }
    };
    if tokio::time::timeout(Duration::from_secs(2), all).await.is_err() {
        tracing::warn!("an owner did not answer at shutdown");
    }
}

async fn save(parts: &Parts) {
    let Some(store) = parts.store.load_full() else { return };
    match store.send(Flush).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::error!(%error, "the store could not be written at shutdown"),
        Err(error) => tracing::error!(%error, "the store's actor was gone at shutdown"),
    }
}
