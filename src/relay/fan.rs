//! A request that several models work on (routing 6): a panel with a judge, or a line of steps.
//!
//! `policy::fusion` and `policy::pipeline` say who is asked and when enough is enough; this room
//! asks. Each part is an ordinary request for its model, with its own pick, permits and verdicts:
//! nothing here knows of accounts or breakers. Whoever stops waiting drops a part, and its permits
//! return with it.

mod answer;
mod spare;

use std::borrow::Cow;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use actors::router::pick::Look;
use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use policy::attempts::AttemptSettings;
use policy::blocked::{Asked, blocked};
use policy::fusion::{Collect, Opening, Panel, Then, opening};
use policy::pipeline::{Line, Next};
use policy::plan::{Fan, FanKind, Plan, Share, Who};
use policy::request::{Traits, tokens_of};
use policy::strategy::FusionSettings;
use policy::time::Millis;

use super::noted::left;
use super::part::Part;
use super::sets::asking;
use super::{Inquiry, Outcome, Served, Story, Trouble, Worker};
use crate::formats::body::peek;
use crate::formats::fan::{brings_tools, handed, judged, plain, prompted};
use answer::Said;
pub(super) use answer::hear;

/// Serves one request to the commit of its last part.
pub(super) async fn serve(worker: &Rc<Worker>, inquiry: &Inquiry, plan: Plan) -> Served {
    let asked_at = worker.tower.owners.clock.now();
    let limit = Duration::from_millis(plan.attempts.whole_ms());
    let mut whole = Whole::new(worker, inquiry, plan);
    let until = whole.came + limit;
    let run = tokio::time::timeout_at(until.into(), whole.run(until));
    let outcome = run.await.unwrap_or(Outcome::Ours(Trouble::ComboTimeout));
    whole.collect();
    Served { outcome, story: std::mem::take(&mut whole.story), asked_at }
}

/// A request and its parts.
struct Whole<'a> {
    worker: &'a Rc<Worker>,
    inquiry: &'a Inquiry,
    plan: Plan,
    fan: Arc<Fan>,
    /// What its parts have in common; `None`: it is nested too deep to have any.
    part: Option<Part>,
    /// Parts that were asked, and when.
    asked: Vec<(Part, Instant)>,
    came: Instant,
    story: Story,
}

impl<'a> Whole<'a> {
    fn new(worker: &'a Rc<Worker>, inquiry: &'a Inquiry, mut plan: Plan) -> Self {
        let fan = plan.fan.clone().expect("only a plan with a fan comes here");
        let story = Story {
            strategy: plan.strategy,
            combo: true,
            counted: plan.counted(),
            fan: true,
            pool_size: plan.pool_size,
            // Who rests is told by the part that was asked for it.
            unfit: std::mem::take(&mut plan.unfit),
            ..Story::default()
        };
        let part = Part::of(inquiry);
        Self { worker, inquiry, plan, fan, part, asked: Vec::new(), came: Instant::now(), story }
    }

    /// `until` is when the combo's time is over.
    async fn run(&mut self, until: Instant) -> Outcome {
        let fan = self.fan.clone();
        match &fan.kind {
            FanKind::Fusion(settings) => self.fusion(settings, until).await,
            FanKind::Pipeline => self.pipeline().await,
        }
    }

    /// Routing 6.1.
    async fn fusion(&mut self, settings: &FusionSettings, until: Instant) -> Outcome {
        let first = self.fan.members.first().map(|member| member.who.clone());
        let Some(judge) = self.fan.judge.clone().or_else(|| first.clone()) else {
            return Outcome::Ours(Trouble::NoMembers);
        };
        let own = self.inquiry.body.clone();
        // Token counts and embeddings are no words: one voice is all they need.
        let brings = brings_tools(self.reshaped(&own).as_ref().unwrap_or(&own));
        let words = self.inquiry.route.answers().filter(|_| !brings);
        let members = self.fan.members.len();
        let (dialect, body) = match (opening(members, words.is_some()), words, plain(&own)) {
            (Opening::Empty, ..) => return Outcome::Ours(Trouble::NoMembers),
            (Opening::Only, ..) => return self.last((first.unwrap_or(judge), Share::Whole), own).await,
            (Opening::Panel, Some(dialect), Some(body)) => (dialect, body),
            _ => return self.last((judge, Share::Whole), own).await,
        };
        let (panel, said) = self.panel(settings, &body).await;
        match panel.then() {
            Then::Nobody(misses) => self.nobody(misses, &said),
            Then::Alone(survivor) => {
                self.last((self.fan.members[survivor].who.clone(), Share::Whole), own).await
            }
            Then::Judge(sources) => {
                let texts: Vec<&str> = sources.iter().filter_map(|member| said[*member].text()).collect();
                let body = judged(dialect, &own, &texts).unwrap_or_else(|| own.clone());
                // At that instant what the panel has said can still be given (`spare`).
                let asked = tokio::time::timeout_at(until.into(), self.last((judge, Share::Whole), body));
                match asked.await.unwrap_or(Outcome::Ours(Trouble::ComboTimeout)) {
                    outcome if spare::is_lost(&outcome) => self.spare(outcome, (sources, said), own).await,
                    outcome => outcome,
                }
            }
        }
    }

    /// All members at once, until enough is enough (routing 6.1c, d).
    async fn panel(&mut self, settings: &FusionSettings, body: &Bytes) -> (Panel, Vec<Said>) {
        let worker = self.worker;
        let clock = &worker.tower.owners.clock;
        let began = Instant::now();
        let members: Vec<Who> = self.fan.members.iter().map(|member| member.who.clone()).collect();
        let inquiries: Vec<Option<Inquiry>> =
            members.into_iter().map(|who| self.of((who, Share::Words), body.clone())).collect();
        let mut panel = Panel::new(settings, inquiries.len(), clock.now());
        let mut said: Vec<Said> = inquiries.iter().map(|_| Said::nothing()).collect();
        let ask = |(member, inquiry)| async move { (member, hear(worker, inquiry).await) };
        let mut asked: FuturesUnordered<_> =
            inquiries.iter().map(Option::as_ref).enumerate().map(ask).collect();
        while let Collect::Wait(until) = panel.next(clock.now()) {
            let left = Duration::from_millis(until.saturating_sub(clock.now()).max(1));
            match tokio::time::timeout(left, asked.next()).await {
                Ok(Some((member, heard))) => {
                    panel.ended(member, heard.ended(), clock.now());
                    self.tell(member, &heard);
                    said[member] = heard;
                }
                Ok(None) => break,
                // It is over, as the panel will say.
                Err(_) => {}
            }
        }
        drop(asked);
        self.story.waited += began.elapsed();
        (panel, said)
    }

    /// A member has ended: its story is told now, that of one that is dropped later.
    fn tell(&mut self, member: usize, said: &Said) {
        let since = self.asked.get(member).map_or(self.came, |(_, since)| *since);
        self.story.add(said.story(), since.duration_since(self.came));
    }

    fn nobody(&self, misses: Vec<policy::fusion::Miss>, said: &[Said]) -> Outcome {
        let names = self.fan.members.iter().map(|member| member.who.name());
        let members = names.zip(misses.iter().map(ToString::to_string)).collect();
        let retry_after_ms = said.iter().filter_map(Said::wait_ms).min();
        Outcome::Ours(Trouble::PanelFailed { members, retry_after_ms })
    }

    /// Routing 6.2.
    async fn pipeline(&mut self) -> Outcome {
        let fan = self.fan.clone();
        let mut line = Line::default();
        let (mut step, mut text) = (0, None::<String>);
        loop {
            let Some(member) = fan.members.get(step) else { return Outcome::Ours(Trouble::NoMembers) };
            let last = step + 1 == fan.members.len();
            let body = self.body(member.prompt.as_deref(), text.as_deref(), last);
            let Some(body) = body.filter(|_| !last) else {
                let body = self.body(member.prompt.as_deref(), text.as_deref(), true);
                let own = || self.inquiry.body.clone();
                let share = if last { member.share } else { Share::Whole };
                return self.last((member.who.clone(), share), body.unwrap_or_else(own)).await;
            };
            let said = self.step((member.who.clone(), member.share), body).await;
            match line.ended(said.step(), self.settings_of(&member.who)) {
                Next::Ask { step: next, wait_ms } => {
                    self.pause(wait_ms).await;
                    if next > step {
                        (step, text) = (next, said.into_text());
                    }
                }
                Next::Stop(status) => return said.into_failure(status),
            }
        }
    }

    /// What a step is sent; `None`: the client's request cannot be taken apart, or wants no words.
    fn body(&self, prompt: Option<&str>, text: Option<&str>, last: bool) -> Option<Bytes> {
        let own = &self.inquiry.body;
        let dialect = self.inquiry.route.answers()?;
        if let Some(text) = text {
            return handed(dialect, own, (prompt, text), last);
        }
        let said = match prompt {
            Some(prompt) => prompted(dialect, own, prompt)?,
            None => own.clone(),
        };
        if last { Some(said) } else { plain(&said) }
    }

    /// What is said of a member's provider, else of all (routing 1.4).
    fn settings_of(&self, who: &Who) -> &AttemptSettings {
        match who {
            Who::Step(step) => self.plan.own.attempts(&step.provider, &self.plan.attempts),
            Who::Named(_) => &self.plan.attempts,
        }
    }

    async fn step(&mut self, asked: (Who, Share), body: Bytes) -> Said {
        let (since, inquiry) = (Instant::now(), self.of(asked, body));
        let mut said = hear(self.worker, inquiry.as_ref()).await;
        self.story.add(said.story(), since.duration_since(self.came));
        self.story.waited += since.elapsed();
        if let (None, Some(inquiry)) = (said.text(), &inquiry) {
            said.rests(self.rest(inquiry).await);
        }
        said
    }

    /// How long nobody could be asked for a part, ms: its failure may have put all accounts to rest.
    async fn rest(&self, inquiry: &Inquiry) -> Option<Millis> {
        let owners = &self.worker.tower.owners;
        let looked = owners.router.mailbox.ask(Look(asking(inquiry))).await.ok()?.ok()?;
        match looked.targets.is_empty() {
            true => blocked(Asked::Direct, &looked.excluded, owners.clock.now()).wait_ms(),
            false => None,
        }
    }

    async fn pause(&mut self, wait_ms: Millis) {
        if wait_ms > 0 {
            let wait = Duration::from_millis(wait_ms);
            tokio::time::sleep(wait).await;
            self.story.waited += wait;
        }
    }

    /// The part whose answer is the client's.
    async fn last(&mut self, asked: (Who, Share), body: Bytes) -> Outcome {
        let since = Instant::now();
        let Some(mut inquiry) = self.of(asked, body) else { return Outcome::Ours(Trouble::NoMembers) };
        if let Some(part) = &mut inquiry.part {
            part.validation = self.plan.validation.clone();
        }
        let Served { outcome, story, .. } = Box::pin(super::serve(self.worker, &inquiry)).await;
        self.story.waited += story.waited;
        self.story.add(story, since.duration_since(self.came));
        outcome
    }

    /// A part, asked from now on.
    fn of(&mut self, (who, share): (Who, Share), body: Bytes) -> Option<Inquiry> {
        let mut part = self.part.as_ref()?.another();
        let model = who.name();
        if let Who::Step(step) = &who {
            part.target_timeout_ms = self.settings_of(&who).target_timeout_ms;
            part.step = Some(step.clone());
        }
        self.asked.push((part.clone(), Instant::now()));
        let body = self.reshaped(&body).unwrap_or(body);
        let peeked = peek(&body, true).ok()?;
        let (span, stream, tools) = (peeked.span, peeked.stream, peeked.parts.tools());
        let whole = self.inquiry;
        Some(Inquiry {
            id: None,
            route: whole.route,
            model,
            span,
            stream,
            tools,
            body,
            headers: whole.headers.clone(),
            allowed: whole.allowed.clone(),
            preferred: whole.preferred.clone(),
            key: whole.key.clone(),
            held: Duration::ZERO,
            confined: whole.confined,
            // The whole was let through: what it consists of is its own business (flow 2.6).
            limited: false,
            traits: self.traits(share),
            lease: whole.lease.clone(),
            part: Some(part),
        })
    }

    /// What the combo makes of a body that it hands to a part (routing 1.1); `None`: it stays as it is.
    fn reshaped(&self, body: &Bytes) -> Option<Bytes> {
        let reshapes = self.worker.tower.reshapes.load();
        let combo = self.plan.combo.as_deref()?;
        reshapes.of_combo(combo, self.inquiry.route, (body, &(0..0))).map(|(body, _)| body)
    }

    /// What a part is like: the combo's words make it longer.
    fn traits(&self, share: Share) -> Arc<Traits> {
        let own = &self.inquiry.traits;
        let combo = self.plan.combo.as_deref().unwrap_or_default();
        let added = self.worker.tower.reshapes.load().added_by(combo);
        let longer = own.with_more(tokens_of(added));
        match (share.of(&longer), &longer) {
            (Cow::Borrowed(_), Cow::Borrowed(_)) => own.clone(),
            (part, _) => Arc::new(part.into_owned()),
        }
    }

    /// What the parts that were dropped have left.
    fn collect(&mut self) {
        for (part, since) in std::mem::take(&mut self.asked) {
            if let Some(story) = part.journal.take() {
                self.story.add(story, since.duration_since(self.came));
            }
        }
    }
}

impl Drop for Whole<'_> {
    /// Nobody waits for it any longer, or its story was taken: then it names no strategy.
    fn drop(&mut self) {
        self.collect();
        let story = std::mem::take(&mut self.story);
        match &self.inquiry.part {
            Some(part) => part.leave(story),
            None if !story.strategy.is_empty() => left(self.worker, self.inquiry, story, self.came),
            None => {}
        }
    }
}
