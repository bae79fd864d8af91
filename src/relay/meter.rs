//! Counts what a request takes, once, however it ends (FC-098): whole, cut, refused, or left by
//! its client; whoever drops it last tells.
//!
//! Until an answer is committed the request runs on a `Bill`; from then on a `Meter` rides on the
//! answer and looks at its bytes. Both end in one entry of the book. What an account's share has
//! taken (flow 2.15) is told to the router too, but only numbers that the provider said: what is
//! not known allows.

use std::cell::Cell;
use std::sync::Arc;

use actors::router::share::Used;
use policy::plan::Planned;
use policy::usage::{End, Entry, Source, Tokens, Who};

use super::cascade::Run;
use super::{Chosen, Inquiry, Outcome, Tower, Worker};
use crate::formats::usage::Usage;
use crate::upstream::Route;

/// Bytes of text for each token, where nobody counts.
const BYTES_PER_TOKEN: u64 = 4;
/// Longer requests hold pictures or files, whose bytes say nothing of tokens.
const PLAIN_TEXT: usize = 64 * 1024;

/// A request that nobody has answered yet.
pub(super) struct Bill<'a> {
    worker: &'a Worker,
    inquiry: &'a Inquiry,
    /// Who was asked last.
    last: Option<Chosen>,
    attempts: u32,
    /// Nothing is counted for it yet.
    open: Cell<bool>,
}

impl<'a> Bill<'a> {
    /// A request has come.
    pub(super) fn new(worker: &'a Worker, inquiry: &'a Inquiry) -> Self {
        Self { worker, inquiry, last: None, attempts: 0, open: Cell::new(true) }
    }

    /// It is sent upstream.
    pub(super) fn sent(&mut self, to: &Chosen) {
        self.attempts += 1;
        self.last = Some(to.clone());
    }

    /// It is over. Counts it as failed, unless an answer was committed: that one counts itself.
    pub(super) fn unanswered(&self, outcome: &Outcome) {
        let status = match outcome {
            Outcome::Upstream(reply) => Some(reply.status),
            Outcome::Ours(_) => None,
        };
        self.close(End::Failed, Source::Reported, status);
    }

    /// Nobody has been answered.
    pub(super) fn is_open(&self) -> bool {
        self.open.get()
    }

    /// It is counted elsewhere.
    pub(super) fn hand_over(&self) {
        self.open.set(false);
    }

    fn close(&self, end: End, source: Source, status: Option<u16>) {
        if !self.open.replace(false) {
            return;
        }
        let entry = Entry { end, attempts: self.attempts, source, tokens: Tokens::default() };
        self.worker.tower.count(self.inquiry.key.clone(), self.last.as_ref(), &entry, status);
    }
}

impl Drop for Bill<'_> {
    /// The client has left before it was answered. What was sent may have cost something.
    fn drop(&mut self) {
        let source = if self.attempts > 0 { Source::Unknown } else { Source::Reported };
        self.close(End::Partial, source, None);
    }
}

impl Run<'_> {
    /// An answer of this status is committed: from now on it counts itself.
    pub(super) fn meter(&self, target: &Planned, status: u16) -> Meter {
        self.bill.open.set(false);
        Meter {
            tower: self.worker.tower.clone(),
            key: self.inquiry.key.clone(),
            shared: self.plan.shared,
            from: Chosen::of(target),
            status,
            attempts: self.bill.attempts,
            count: Count {
                // It says how many tokens something else would take.
                free: self.inquiry.route == Route::CountTokens,
                ..Count::of(self.asks_of(target))
            },
        }
    }
}

/// What is known of an answer's tokens so far.
#[derive(Default)]
pub(super) struct Count {
    usage: Usage,
    /// Bytes of the request.
    asked: usize,
    /// Bytes of text that the model wrote.
    wrote: u64,
    free: bool,
    complete: bool,
    /// Of another request that went on with it.
    more: Option<Box<Count>>,
}

impl Count {
    /// A request of so many bytes was sent.
    pub(super) fn of(asked: usize) -> Self {
        Self { asked, ..Self::default() }
    }

    /// Looks at the next bytes of its answer.
    pub(super) fn see(&mut self, bytes: &[u8]) {
        self.usage.see(bytes);
    }

    /// The model has written so many bytes of text.
    pub(super) fn wrote(&mut self, bytes: usize) {
        self.wrote = self.wrote.saturating_add(bytes as u64);
    }

    /// What the provider said.
    fn said(&self) -> Tokens {
        let mut said = self.usage.tokens();
        if let Some(more) = &self.more {
            said.add(&more.said());
        }
        said
    }

    /// All of it: each request was paid for.
    fn taken(&self) -> (Source, Tokens) {
        let (source, mut tokens) = self.own();
        let Some(more) = &self.more else { return (source, tokens) };
        let (other, added) = more.taken();
        tokens.add(&added);
        (if source == other { source } else { Source::Estimated }, tokens)
    }

    fn own(&self) -> (Source, Tokens) {
        let said = self.usage.tokens();
        let written = self.wrote.div_ceil(BYTES_PER_TOKEN);
        if self.free {
            return (Source::Reported, Tokens::default());
        }
        if said != Tokens::default() {
            // An answer that was cut may have said its output only as it began.
            return match !self.complete && written > said.output {
                true => (Source::Estimated, Tokens { output: written, ..said }),
                false => (Source::Reported, said),
            };
        }
        if written == 0 || self.asked > PLAIN_TEXT {
            return (Source::Unknown, said);
        }
        let input = (self.asked as u64).div_ceil(BYTES_PER_TOKEN);
        (Source::Estimated, Tokens { input, output: written, ..said })
    }
}

/// The count of one committed answer; told when it is dropped.
pub(super) struct Meter {
    tower: Arc<Tower>,
    key: Option<Arc<str>>,
    shared: bool,
    from: Chosen,
    status: u16,
    attempts: u32,
    count: Count,
}

impl Meter {
    /// Looks at the next bytes of the answer.
    pub(super) fn see(&mut self, bytes: &[u8]) {
        self.count.see(bytes);
    }

    /// The model has written so many bytes of text: an estimate, if the provider does not count.
    pub(super) fn wrote(&mut self, bytes: usize) {
        self.count.wrote(bytes);
    }

    /// Another request went on with it: both are this one's (flow 6.8.42).
    pub(super) fn also(&mut self, mut more: Count) {
        more.more = self.count.more.take();
        self.count.more = Some(Box::new(more));
    }

    /// The answer is complete. Without this word it was cut, or its client left.
    pub(super) fn complete(mut self) {
        self.count.complete = true;
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        let (source, tokens) = self.count.taken();
        let end = if self.count.complete { End::Complete } else { End::Partial };
        let entry = Entry { end, attempts: self.attempts, source, tokens };
        self.tower.count(self.key.clone(), Some(&self.from), &entry, Some(self.status));
        self.tower.metrics.tokens(&self.from.provider, &self.from.connection, &tokens);
        let said = self.count.said();
        let Some(key) = self.key.take().filter(|_| self.shared) else { return };
        if said.input == 0 && said.output == 0 {
            return;
        }
        self.tower.owners.router.mailbox.post(Used {
            key,
            provider: self.from.provider.clone(),
            connection: self.from.connection.clone(),
            model: self.from.model.clone(),
            input: said.input,
            output: said.output,
        });
    }
}

impl Tower {
    /// One entry, for one request.
    fn count(&self, key: Option<Arc<str>>, from: Option<&Chosen>, entry: &Entry, status: Option<u16>) {
        let who = Who {
            key,
            provider: from.map(|from| from.provider.clone()),
            connection: from.map(|from| from.connection.clone()),
            model: from.map(|from| from.model.clone()),
        };
        tracing::debug!(
            ?who, status, end = ?entry.end, attempts = entry.attempts, source = entry.source.as_str(),
            tokens = ?entry.tokens, "a request was counted"
        );
        let now = self.owners.clock.now();
        if let (Some(key), Some(from)) = (&who.key, from) {
            let tokens = (entry.tokens.input, entry.tokens.output);
            let usd = self.plan.load().catalogue.pools.cost((&from.provider, &from.model), tokens);
            self.keys.spend(key, usd, now);
        }
        self.usage.record(who, entry, now);
    }
}

#[cfg(test)]
mod tests {
    use policy::usage::{Source, Tokens};

    use super::{Count, PLAIN_TEXT};

    /// Bytes asked, bytes written, complete, what the provider said; what counts.
    type Row = (usize, u64, bool, &'static str, (Source, u64, u64));

    #[test]
    fn fc_098_what_the_provider_did_not_say_is_estimated_or_unknown_and_never_zero() {
        let said = r#"{"usage":{"input_tokens":27,"output_tokens":5}}"#;
        let zero = r#"{"usage":{"prompt_tokens":0,"completion_tokens":0}}"#;
        let rows: [Row; 9] = [
            (100, 0, true, said, (Source::Reported, 27, 5)),
            (100, 400, true, said, (Source::Reported, 27, 5)),
            (100, 400, false, said, (Source::Estimated, 27, 100)),
            (100, 20, false, said, (Source::Reported, 27, 5)),
            (101, 401, true, "", (Source::Estimated, 26, 101)),
            (101, 401, false, zero, (Source::Estimated, 26, 101)),
            (100, 0, true, "", (Source::Unknown, 0, 0)),
            (100, 0, true, zero, (Source::Unknown, 0, 0)),
            (PLAIN_TEXT + 1, 400, true, "", (Source::Unknown, 0, 0)),
        ];
        for (asked, wrote, complete, text, (source, input, output)) in rows {
            let mut count = Count { asked, wrote, complete, ..Count::default() };
            count.usage.see(text.as_bytes());
            let tokens = Tokens { input, output, ..Tokens::default() };
            assert_eq!(count.taken(), (source, tokens), "{asked} {wrote} {complete} {text}");
        }
    }

    /// Flow 6.8.42: an answer that was gone on with is one request, and both of its calls were paid.
    #[test]
    fn what_went_on_with_an_answer_is_added_to_it() {
        let said = |text: &str| {
            let mut count = Count::of(100);
            count.see(text.as_bytes());
            Some(Box::new(count))
        };
        let reported = r#"{"usage":{"prompt_tokens":30,"completion_tokens":5}}"#;
        let rows = [
            (reported, reported, (Source::Reported, 60, 10)),
            ("", reported, (Source::Estimated, 30 + 25, 5 + 10)),
            ("", "", (Source::Estimated, 25, 10)),
        ];
        for (first, second, (source, input, output)) in rows {
            let mut count = Count { asked: 100, wrote: 40, more: said(second), ..Count::default() };
            count.complete = true;
            count.see(first.as_bytes());
            let tokens = Tokens { input, output, ..Tokens::default() };
            assert_eq!(count.taken(), (source, tokens), "{first} {second}");
        }
    }

    #[test]
    fn counting_tokens_takes_none() {
        let mut count = Count { free: true, complete: true, asked: 9, wrote: 9, ..Count::default() };
        count.usage.see(br#"{"input_tokens":12,"usage":{"input_tokens":12}}"#);
        assert_eq!(count.taken(), (Source::Reported, Tokens::default()));
    }
}
