//! The usage wall of a Claude account (rules 5), between the socket and everything that judges.
//!
//! An account that has opted in may be sent the same request again: by the slower lane, after a
//! reset of its limit, or when a place is free. What is swallowed here nobody hears of: no
//! cooldown, no rotation, no count on a breaker (rules 5.5.2). The waits hold the account's slot and end
//! with the client, the process, or the request's time.

use std::time::Duration;

use bytes::Bytes;
use policy::catalogue::Dialect;
use policy::time::Millis;
use policy::wall::{Act, Asked, SLOW_HEADER, Signs, TOKEN_PREFIX, Tag, Waits, remaining};
use tokio::time::Instant;

use super::cascade::Run;
use super::dial::Opening;
use super::fault::Fault;
use super::send::{Hit, Shot, send};
use crate::settings::Secret;
use crate::upstream::{HeaderName, HeaderValue, Walled, finder};

/// Most retries without a wait. One is meant for each reason there is; siblings that win and lose the
/// lane meanwhile must not keep a request turning.
const AT_ONCE: u32 = 3;

/// One request at the wall.
struct Climb<'a> {
    walled: &'a Walled,
    /// When it was dispatched.
    since: Instant,
    /// The most that it may take.
    limit: Duration,
    waits: Waits,
    at_once: u32,
    /// A reset of the limit has been tried.
    asked_reset: bool,
}

impl Run<'_> {
    /// Sends an attempt and awaits its head.
    pub(super) async fn shoot(&self, opening: &Opening<'_>, body: &[Bytes]) -> Result<Hit, Fault> {
        let endpoint = &opening.endpoint;
        let (route, headers) = (self.inquiry.route, self.inquiry.headers.as_slice());
        let under = Some((&opening.target().connection, self.inquiry.fence()));
        let shot = Shot { endpoint, route, headers, body, under };
        match &endpoint.walled {
            // Its own future, on the heap: all other requests are not to carry its size.
            Some(walled) if route.dialect() == Dialect::Anthropic => {
                Box::pin(self.climb(walled, opening, &shot)).await
            }
            _ => send(self.worker, &shot, Instant::now() + opening.limit).await,
        }
    }

    async fn climb(&self, walled: &Walled, opening: &Opening<'_>, shot: &Shot<'_>) -> Result<Hit, Fault> {
        let clock = self.worker.tower.owners.clock;
        let limit = self.time_at_walls(opening);
        let since = Instant::now();
        let mut climb =
            Climb { walled, since, limit, waits: Waits::default(), at_once: 0, asked_reset: false };
        loop {
            let slow = walled.wall.with_lane(|lane| lane.is_active(clock.now()));
            let headers = if slow { slowly(shot.headers) } else { shot.headers.to_vec() };
            let left = opening.limit.min(climb.left());
            let hit = send(self.worker, &Shot { headers: &headers, ..*shot }, Instant::now() + left).await?;
            walled.wall.overhear(&hit.answer.headers);
            let Some(token) = token(&hit, opening).filter(|token| is_of_an_account(token)) else {
                return Ok(hit);
            };
            let Some(wait_ms) = self.step(&mut climb, opening, &hit, (slow, token)).await else {
                return Ok(hit);
            };
            if wait_ms > 0 && !self.sits_out(wait_ms).await {
                return Ok(hit);
            }
        }
    }

    /// The wait before the same account is asked again; `None`: the answer is the answer.
    async fn step(
        &self,
        climb: &mut Climb<'_>,
        opening: &Opening<'_>,
        hit: &Hit,
        (slow, token): (bool, &Secret),
    ) -> Option<Millis> {
        let signs = Signs::read(finder(&hit.answer.headers));
        let (status, now) = (hit.answer.status, self.worker.tower.owners.clock.now());
        let (walled, remaining_ms) = (climb.walled, climb.remaining());
        let act = walled.wall.with_lane(|lane| {
            let mut rng = self.worker.dice.borrow_mut();
            let asked = Asked { slow, status, signs: &signs, remaining_ms, now };
            let active = lane.is_active(now);
            active.then(|| lane.judge(&asked, &mut climb.waits, &mut actors::router::seeded(&mut rng)))
        });
        let connection = &opening.target().connection;
        match act {
            Some(Act::Pass) => None,
            Some(Act::Ended(why)) => {
                tracing::info!(%connection, why = why.as_str(), "the slower lane is left");
                None
            }
            Some(Act::Retry(0, tag)) => climb.at_once(tag.as_str()),
            Some(Act::Retry(wait_ms, tag)) => {
                tracing::debug!(%connection, wait_ms, why = tag.as_str(), "waiting for the slower lane");
                Some(wait_ms)
            }
            None if signs.is_wall(status) => self.first_wall(climb, opening, &signs, token).await,
            None => None,
        }
    }

    /// At the wall, with no lane in use: a reset of the limit, else the lane (rules 5.4.2).
    async fn first_wall(
        &self,
        climb: &mut Climb<'_>,
        opening: &Opening<'_>,
        signs: &Signs,
        token: &Secret,
    ) -> Option<Millis> {
        let clock = self.worker.tower.owners.clock;
        let (walled, connection) = (climb.walled, &opening.target().connection);
        // One that was granted and did not help is not asked for again.
        if walled.auto_reset && signs.may_reset() && !std::mem::replace(&mut climb.asked_reset, true) {
            let (endpoint, dialler) = (&opening.endpoint, &self.worker.dialler);
            let asked = walled.wall.reset(endpoint, token, dialler, move || clock.now());
            let outcome = tokio::time::timeout(climb.left(), asked).await.ok()?;
            tracing::info!(%connection, outcome = outcome.as_str(), "asked for a reset of the session limit");
            if outcome.retries() {
                return climb.at_once(outcome.as_str());
            }
        }
        let accepted = walled.low_priority
            && walled.wall.with_lane(|lane| {
                let now = clock.now();
                lane.is_active(now) || lane.accept(signs, now)
            });
        if !accepted {
            return None;
        }
        tracing::info!(%connection, why = Tag::Accepted.as_str(), "at the usage wall: the slower lane is taken");
        climb.at_once(Tag::Accepted.as_str())
    }

    /// True when the wait is over; false when the process is going down.
    async fn sits_out(&self, wait_ms: Millis) -> bool {
        tokio::select! {
            () = tokio::time::sleep(Duration::from_millis(wait_ms)) => true,
            () = self.worker.tower.closing.begun() => false,
        }
    }

    /// What an attempt may take with all its waits: the smaller of what its upstream has for a head
    /// and what is left of its target's time (decision 30). The built-in limit to the head of a stream
    /// is about one call, so it bounds each call and not the waits between them.
    fn time_at_walls(&self, opening: &Opening<'_>) -> Duration {
        let timeouts = &opening.timeouts;
        let own = if opening.holds_on { opening.limit } else { Duration::MAX };
        let attempt = Some(timeouts.attempt).filter(|limit| self.inquiry.stream && !limit.is_zero());
        let limits = [attempt, opening.endpoint.execution].into_iter().flatten();
        let first_byte = timeouts.first_byte.min(self.total_left(timeouts));
        limits.fold(own.min(first_byte), Duration::min)
    }
}

impl Climb<'_> {
    fn left(&self) -> Duration {
        self.limit.saturating_sub(self.since.elapsed())
    }

    /// Time left for waits, ms.
    fn remaining(&self) -> Option<Millis> {
        let ms = |span: Duration| Millis::try_from(span.as_millis()).unwrap_or(Millis::MAX);
        remaining(Some(ms(self.limit)), ms(self.since.elapsed()))
    }

    /// Once more without a wait, as often as that may be.
    fn at_once(&mut self, why: &'static str) -> Option<Millis> {
        self.at_once += 1;
        let may = self.at_once <= AT_ONCE && !self.left().is_zero();
        tracing::debug!(why, may, "the same account once more");
        may.then_some(0)
    }
}

/// What a request was sent with.
fn token<'a>(hit: &'a Hit, opening: &'a Opening<'_>) -> Option<&'a Secret> {
    hit.pass.as_ref().map(|pass| &pass.secret).or(opening.endpoint.credential.as_ref())
}

fn is_of_an_account(token: &Secret) -> bool {
    token.expose().starts_with(TOKEN_PREFIX)
}

/// The client's headers, and that of the lane.
fn slowly(headers: &[(HeaderName, HeaderValue)]) -> Vec<(HeaderName, HeaderValue)> {
    let (name, value) = SLOW_HEADER;
    let slow = (HeaderName::from_static(name), HeaderValue::from_static(value));
    headers.iter().cloned().chain([slow]).collect()
}
