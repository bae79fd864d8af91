//! The clients: each keeps one connection and sends its requests one after the other.

use std::cell::RefCell;
use std::io::{ErrorKind, Result};
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};

use tokio::task::spawn_local;
use tokio::time::{Instant as Due, sleep_until, timeout};

use super::stage::chat;
use super::wire::Wire;

/// No request of a flood takes longer, so that a proxy that hangs ends the measurement.
const LIMIT: Duration = Duration::from_secs(330);

/// One answered request.
#[derive(Clone, Copy, Debug)]
pub struct Answered {
    /// Its status; 0: no whole answer.
    pub status: u16,
    /// How long it took, ms.
    pub ms: f64,
}

/// Until when clients go on.
#[derive(Clone, Copy, Debug)]
pub enum Until {
    /// So many requests each.
    Count(usize),
    /// So long.
    Over(Duration),
}

/// A crowd that asks one model.
#[derive(Clone, Copy, Debug)]
pub struct Crowd<'a> {
    /// The letter of their names.
    pub name: &'a str,
    /// How many.
    pub clients: usize,
    /// What they ask.
    pub model: &'a str,
    /// Until when.
    pub until: Until,
    /// Time between the starts of one client's requests; zero: as soon as it was answered.
    pub every: Duration,
}

/// All answers of a crowd at an address.
pub async fn crowd(address: SocketAddr, crowd: Crowd<'_>) -> Vec<Answered> {
    let all = Rc::new(RefCell::new(Vec::new()));
    let began = Due::now();
    let clients: Vec<_> = (0..crowd.clients)
        .map(|number| {
            let mut client = Client {
                address,
                name: format!("{}{number}", crowd.name),
                model: crowd.model.to_owned(),
                wire: None,
                answers: all.clone(),
            };
            // spread over one distance, as strangers are
            let first = began + crowd.every.mul_f64(number as f64 / crowd.clients as f64);
            spawn_local(async move { client.run(first, crowd.until, crowd.every).await })
        })
        .collect();
    for client in clients {
        client.await.expect("a client does not panic");
    }
    all.take()
}

struct Client {
    address: SocketAddr,
    name: String,
    model: String,
    wire: Option<Wire>,
    answers: Rc<RefCell<Vec<Answered>>>,
}

impl Client {
    async fn run(&mut self, first: Due, until: Until, every: Duration) {
        let began = Instant::now();
        for number in 0.. {
            let over = match until {
                Until::Count(count) => number >= count,
                Until::Over(length) => began.elapsed() >= length,
            };
            if over {
                return;
            }
            if !every.is_zero() {
                sleep_until(first + every * number as u32).await;
            }
            let asked = Instant::now();
            let request = chat(&self.model, &format!("{}-{number}", self.name));
            let status = self.ask(&request).await.unwrap_or_else(|_| {
                self.wire = None;
                0
            });
            let ms = asked.elapsed().as_secs_f64() * 1e3;
            self.answers.borrow_mut().push(Answered { status, ms });
        }
    }

    async fn ask(&mut self, request: &[u8]) -> Result<u16> {
        let mut wire = match self.wire.take() {
            Some(wire) => wire,
            None => Wire::dial(self.address).await?,
        };
        let status = timeout(LIMIT, wire.reply(request, |_| {})).await.map_err(|_| ErrorKind::TimedOut)??;
        self.wire = Some(wire);
        Ok(status)
    }
}

/// The latency below which a share of the answers lies, ms.
pub fn quantile(answers: &[Answered], share: f64) -> f64 {
    let mut times: Vec<f64> = answers.iter().map(|answer| answer.ms).collect();
    times.sort_by(f64::total_cmp);
    let last = times.len().saturating_sub(1);
    times.get((last as f64 * share).round() as usize).copied().unwrap_or(f64::NAN)
}

/// Answers of a status.
pub fn of_status(answers: &[Answered], status: u16) -> Vec<Answered> {
    answers.iter().copied().filter(|answer| answer.status == status).collect()
}
