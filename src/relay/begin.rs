//! The beginning of a stream (decision 18): nothing goes out before its first meaningful frame, so
//! that an error, an empty end or a stall can still be another target's turn.
//!
//! Where the operator wants it, the opening is held a little longer, and a stream that breaks
//! meanwhile is opened again on the same account (flow 6.5). All of it is one attempt: one permit,
//! one verdict, one count.

use std::future::poll_fn;
use std::time::Duration;

use actors::clock::Clock;
use actors::permit::Permit;
use bytes::Bytes;
use policy::catalogue::Dialect;
use policy::stream::{CEILING_MS, HELD_MOST, Limit, Recovery, Step, Stop, budget_ms};
use policy::time::Millis;
use policy::verdict::{End, Transport};

use super::cascade::Run;
use super::close::{Close, Read};
use super::commit::Committed;
use super::dial::{Head, Opened, Opening};
use super::fault::Fault;
use super::held::Held;
use super::source::Source;
use crate::formats::body::shape;
use crate::formats::quality::predicates::opening_text;

/// The built-in limit to the first content, ms.
const FIRST_CONTENT_MS: Millis = 120_000;

/// What became of an opening that was held.
enum Beginning {
    /// It goes to the client.
    Goes(Committed),
    /// It broke, and may be opened again; what it leaves.
    Broke(Bytes, Box<Source>, Close),
}

impl Run<'_> {
    /// Holds a stream until it may go to the client, and looks at its opening part as the combo wants
    /// it (routing 7.9), whichever stream that is by then.
    pub(super) async fn begin(
        &self,
        head: Head,
        source: Box<Source>,
        opening: &Opening<'_>,
        permit: &mut Permit,
    ) -> Result<(Head, Committed), Fault> {
        let (head, committed) = self.stands(head, source, opening, permit).await?;
        if let Committed::Stream(first, _) | Committed::Whole(first) = &committed
            && let Some(rules) = self.plan.validation.as_deref()
            && let Some(breach) = rules.forbids(&opening_text(self.inquiry.route.dialect(), first))
        {
            return Err(Fault::breaks(breach));
        }
        Ok((head, committed))
    }

    async fn stands(
        &self,
        head: Head,
        source: Box<Source>,
        opening: &Opening<'_>,
        permit: &mut Permit,
    ) -> Result<(Head, Committed), Fault> {
        let clock = self.worker.tower.owners.clock;
        let told = |close, head: &Head| {
            Fault::of_stream(close, self.inquiry.route.dialect(), head.key.secret(), clock.now())
        };
        let enabled = self.worker.tower.streaming.load().recovery.enabled;
        let mut more = self.extension(opening);
        let begun = meaningful(source, &mut more).await;
        let (first, source) = match begun {
            Ok(Committed::Stream(first, source)) if enabled => (first, source),
            Ok(committed) => return Ok((head, committed)),
            Err(close) => return Err(told(close, &head)),
        };
        let mut recovery = Recovery::new(enabled);
        match held(&mut recovery, first, source, clock).await {
            Beginning::Goes(committed) => Ok((head, committed)),
            Beginning::Broke(first, source, close) => {
                // Boxed: a stream that breaks in its opening is rare.
                let again = Box::pin(self.again_until_it_stands(&mut recovery, opening, permit)).await;
                Ok(again.unwrap_or_else(|| (head, source.closed(first, close))))
            }
        }
    }

    /// What a heavy request's first content may take beyond the configured limit, told once. It is
    /// looked for only when that limit is reached: a request that begins in time pays nothing.
    fn extension<'a>(&'a self, opening: &'a Opening<'_>) -> impl FnMut() -> Option<Millis> + 'a {
        let mut asked = false;
        move || {
            if std::mem::replace(&mut asked, true) {
                return None;
            }
            let base = opening.first_content_ms()?;
            let target = opening.target();
            let served = policy::stream::Served {
                provider: target.provider.as_str(),
                model: target.model.as_str(),
                // What says nothing of the request itself lengthens no limit that somebody has set.
                claude: self.inquiry.route.dialect() == Dialect::Anthropic && base == FIRST_CONTENT_MS,
            };
            let budget = budget_ms(base, CEILING_MS, &shape(&self.inquiry.body), served);
            Some(budget - base).filter(|more_ms| *more_ms > 0)
        }
    }

    /// The same request once more, as often as it may be; `None`: there is no stream that stands, so
    /// what is left of the first goes out and is told as cut (flow 6.5.23, decision 20).
    async fn again_until_it_stands(
        &self,
        recovery: &mut Recovery,
        opening: &Opening<'_>,
        permit: &mut Permit,
    ) -> Option<(Head, Committed)> {
        let clock = self.worker.tower.owners.clock;
        let mut left = None;
        loop {
            self.worker.tower.metrics.reopened();
            let Ok(Opened::Stream(head, source)) = self.open(opening, permit).await else {
                let _ = recovery.refused();
                return left;
            };
            let stop = match meaningful(source, &mut self.extension(opening)).await {
                Ok(Committed::Stream(first, source)) => {
                    recovery.reopened();
                    match held(recovery, first, source, clock).await {
                        Beginning::Goes(committed) => return Some((head, committed)),
                        Beginning::Broke(first, source, close) => {
                            left = Some((head, source.closed(first, close)));
                            continue;
                        }
                    }
                }
                Ok(whole) => return Some((head, whole)),
                Err(close) => stop_of(&close),
            };
            recovery.reopened();
            if recovery.stopped(stop, clock.now()) != Step::Reopen {
                return left;
            }
        }
    }
}

/// Reads until the first meaningful frame; how the stream ended, if it did before. `more`: what the
/// limit to it is lengthened by when it is reached.
async fn meaningful(
    mut source: Box<Source>,
    more: &mut dyn FnMut() -> Option<Millis>,
) -> Result<Committed, Close> {
    let mut held = Held::default();
    loop {
        match poll_fn(|cx| source.poll_read(cx)).await {
            Read::Bytes(bytes) => {
                held.push(bytes);
                if held.len() >= HELD_MOST {
                    source.begin();
                }
                if source.has_begun() {
                    source.flow();
                    return Ok(Committed::Stream(held.join(), source));
                }
            }
            // It says itself why there is nothing in it (FC-085).
            Read::End(Close::Complete) => {
                source.park();
                return Ok(Committed::Whole(held.join()));
            }
            Read::End(Close::Limit(Limit::FirstContent)) => match more() {
                Some(more_ms) => source.extend(more_ms),
                None => return Err(Close::Limit(Limit::FirstContent)),
            },
            Read::End(close) => return Err(close),
        }
    }
}

/// Holds an opening on, until it may go or breaks (flow 6.5.20).
async fn held(recovery: &mut Recovery, first: Bytes, mut source: Box<Source>, clock: Clock) -> Beginning {
    let mut step = recovery.chunk(first.len(), clock.now());
    let mut held = Held::One(first);
    loop {
        if step != Step::Hold {
            return Beginning::Goes(Committed::Stream(held.join(), source));
        }
        let now = clock.now();
        let left = recovery.deadline().map_or(0, |deadline| deadline.saturating_sub(now));
        let read = poll_fn(|cx| source.poll_read(cx));
        let Ok(read) = tokio::time::timeout(Duration::from_millis(left), read).await else {
            step = recovery.tick(clock.now());
            continue;
        };
        match read {
            Read::Bytes(bytes) => {
                step = recovery.chunk(bytes.len(), clock.now());
                held.push(bytes);
            }
            Read::End(close) => {
                if is_told(&close) {
                    recovery.marked();
                }
                return match recovery.stopped(stop_of(&close), clock.now()) {
                    Step::Reopen => {
                        // The next call is not to run beside this one: it may be slow, and not dead.
                        source.hang_up();
                        Beginning::Broke(held.join(), source, close)
                    }
                    _ => Beginning::Goes(source.closed(held.join(), close)),
                };
            }
        }
    }
}

/// The upstream has told the end itself: that is an answer, whatever it is worth.
fn is_told(close: &Close) -> bool {
    matches!(close, Close::Complete | Close::Failed { .. } | Close::Empty { .. })
}

fn stop_of(close: &Close) -> Stop {
    match close {
        Close::Complete | Close::Failed { .. } | Close::Empty { .. } => Stop::Over,
        Close::TooSlow => Stop::TooSlow,
        Close::Truncated => Stop::Broke(End::CutAfterCommit),
        Close::TooLong => Stop::Broke(End::Transport(Transport::BadAnswer)),
        // No time is left for another one.
        Close::Limit(Limit::Total | Limit::Attempt) => Stop::Broke(End::StallBeforeCommit),
        Close::Limit(_) => Stop::Broke(End::StallAfterCommit),
    }
}
