//! What a part of a fan has said, read to its end: a text, or why there is none.

use std::cell::RefCell;
use std::rc::Rc;

use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use policy::blocked::Blocked;
use policy::fusion::{self, Miss};
use policy::pipeline;
use policy::plan::NoPlan;
use policy::time::Millis;

use super::super::fault::Lack;
use super::super::{Inquiry, Outcome, Reply, ReplyBody, Served, Story, Trouble, Worker};
use crate::formats::fan::{NoText, text};

/// The longest answer that is passed on to another model.
const LONGEST: usize = 8 * 1024 * 1024;

/// What a part has said.
pub(in crate::relay) struct Said {
    heard: Heard,
    wait_ms: Option<Millis>,
    story: RefCell<Story>,
}

enum Heard {
    /// The text, and the answer that it is of.
    Text(String, Box<Reply>),
    Nothing(Miss, Option<Outcome>),
}

/// Asks, and reads the whole answer; without an inquiry nobody is asked.
pub(in crate::relay) async fn hear(worker: &Rc<Worker>, inquiry: Option<&Inquiry>) -> Said {
    let Some(inquiry) = inquiry else { return Said::nothing() };
    let Served { outcome, story, .. } = Box::pin(super::super::serve(worker, inquiry)).await;
    let wait_ms = wait_of(&outcome);
    let heard = match outcome {
        Outcome::Upstream(reply) if (200..300).contains(&reply.status) => words(inquiry, reply).await,
        Outcome::Upstream(reply) => {
            Heard::Nothing(Miss::Status(reply.status), Some(Outcome::Upstream(reply)))
        }
        Outcome::Ours(trouble) => Heard::Nothing(miss(&trouble), Some(Outcome::Ours(trouble))),
    };
    Said { heard, wait_ms, story: RefCell::new(story) }
}

async fn words(inquiry: &Inquiry, reply: Reply) -> Heard {
    let Reply { status, headers, from, body, retry_after_ms } = reply;
    let (Some(dialect), Some(body)) = (inquiry.route.answers(), read(body).await) else {
        return Heard::Nothing(Miss::Unparseable, None);
    };
    match text(dialect, &body) {
        Ok(text) => {
            let body = ReplyBody::Whole(body);
            Heard::Text(text, Box::new(Reply { status, headers, from, body, retry_after_ms }))
        }
        Err(NoText::Empty) => Heard::Nothing(Miss::EmptyContent, None),
        Err(NoText::Foreign) => Heard::Nothing(Miss::Unparseable, None),
    }
}

/// `None`: it was cut, or is too long.
async fn read(body: ReplyBody) -> Option<Bytes> {
    let mut flowing = match body {
        ReplyBody::Whole(whole) => return Some(whole),
        ReplyBody::Flowing(flowing) => flowing,
    };
    let mut whole = BytesMut::new();
    while let Some(bytes) = flowing.next().await {
        whole.extend_from_slice(&bytes.ok()?);
        if whole.len() > LONGEST {
            return None;
        }
    }
    Some(whole.freeze())
}

impl Said {
    /// It has not ended, or could not be asked.
    pub(super) fn nothing() -> Self {
        Self { heard: Heard::Nothing(Miss::Threw, None), wait_ms: None, story: RefCell::default() }
    }

    pub(in crate::relay) fn text(&self) -> Option<&str> {
        match &self.heard {
            Heard::Text(text, _) => Some(text),
            Heard::Nothing(..) => None,
        }
    }

    pub(super) fn into_text(self) -> Option<String> {
        match self.heard {
            Heard::Text(text, _) => Some(text),
            Heard::Nothing(..) => None,
        }
    }

    /// The answer as it came, if it had a text.
    pub(super) fn into_reply(self) -> Option<Reply> {
        match self.heard {
            Heard::Text(_, reply) => Some(*reply),
            Heard::Nothing(..) => None,
        }
    }

    /// Its story, once.
    pub(super) fn story(&self) -> Story {
        self.story.take()
    }

    pub(super) fn wait_ms(&self) -> Option<Millis> {
        self.wait_ms
    }

    /// How it ended, for a panel.
    pub(super) fn ended(&self) -> fusion::Ended {
        match &self.heard {
            Heard::Text(..) => fusion::Ended::Answered,
            Heard::Nothing(miss, _) => fusion::Ended::Missed(*miss),
        }
    }

    /// How it ended, for a pipeline.
    pub(super) fn step(&self) -> pipeline::Ended {
        match &self.heard {
            Heard::Text(..) => pipeline::Ended::Text,
            Heard::Nothing(Miss::Status(status), _) => pipeline::Ended::Failed(*status, self.wait_ms),
            Heard::Nothing(Miss::Threw, _) => pipeline::Ended::Failed(503, self.wait_ms),
            Heard::Nothing(..) => pipeline::Ended::NoText,
        }
    }

    /// It may be asked again after this time, ms, at the earliest.
    pub(super) fn rests(&mut self, wait_ms: Option<Millis>) {
        self.wait_ms = self.wait_ms.max(wait_ms);
    }

    /// Its failure in its own words if it has any, else with this status.
    pub(super) fn into_failure(self, status: u16) -> Outcome {
        let lack = Some(Lack::Content).filter(|_| status == 502);
        match self.heard {
            Heard::Nothing(_, Some(outcome)) => outcome,
            _ => Outcome::Ours(Trouble::AllFailed { status, lack, retry_after_ms: self.wait_ms }),
        }
    }
}

fn wait_of(outcome: &Outcome) -> Option<Millis> {
    match outcome {
        Outcome::Upstream(reply) => reply.retry_after_ms,
        Outcome::Ours(
            Trouble::AllFailed { retry_after_ms, .. } | Trouble::PanelFailed { retry_after_ms, .. },
        ) => *retry_after_ms,
        Outcome::Ours(Trouble::Blocked(blocked, _)) => blocked.wait_ms(),
        Outcome::Ours(_) => None,
    }
}

fn status_of(no_plan: &NoPlan) -> u16 {
    match no_plan {
        NoPlan::UnknownModel | NoPlan::ContextRequirements { .. } => 404,
        NoPlan::NotForKey => 403,
        NoPlan::Judge(_, why) => status_of(why),
        _ => 400,
    }
}

/// Routing 6.1e. The status is the one that a client would get for it (contract 5, decision 9b).
fn miss(trouble: &Trouble) -> Miss {
    match trouble {
        Trouble::RouterGone | Trouble::NoMembers => Miss::Threw,
        Trouble::AllFailed { lack: Some(Lack::Content), .. } => Miss::EmptyContent,
        Trouble::AllFailed { status, .. } => Miss::Status(*status),
        Trouble::RouterFull | Trouble::TooManyAttempts | Trouble::PanelFailed { .. } => Miss::Status(503),
        // What the client is told as a 502 is no fault that passes.
        Trouble::UpstreamAuth => Miss::Status(401),
        Trouble::UpstreamCredits => Miss::Status(402),
        Trouble::ComboTimeout => Miss::Status(504),
        Trouble::Lease(_) => Miss::Status(409),
        Trouble::NoPlan(no_plan) => Miss::Status(status_of(no_plan)),
        Trouble::Blocked(blocked, _) => Miss::Status(match blocked {
            Blocked::KeyNotAllowed => 403,
            Blocked::NoExecutableTargets => 404,
            Blocked::QuotaShareExceeded(_) | Blocked::ModelCooldown(_) | Blocked::SkippedUntil(_) => 429,
            _ => 503,
        }),
    }
}
