//! A judge that cannot be had, after the panel was asked and paid: the client gets the first answer of
//! the panel in place of an error, and is told so. An answer that the judge gave and the combo does not
//! accept (routing 7.9) is another matter: that stays a failure.

use bytes::Bytes;
use policy::plan::Share;

use super::answer::Said;
use super::{Outcome, Trouble, Whole};
use crate::formats::quality::predicates::breach;
use crate::relay::fault::Lack;
use crate::relay::{Reply, ReplyBody};

/// What the client is told of it.
const REASON: &str = "judge_unavailable";

/// The judge has given no answer.
pub(super) fn is_lost(outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Upstream(reply) => !(200..300).contains(&reply.status),
        Outcome::Ours(Trouble::AllFailed { lack, .. }) => *lack != Some(Lack::Expected),
        Outcome::Ours(Trouble::Lease(_)) => false,
        Outcome::Ours(_) => true,
    }
}

impl Whole<'_> {
    /// The answer of the first member that has one; `lost`: how the judge has ended, which is told when
    /// there is none.
    pub(super) async fn spare(
        &mut self,
        lost: Outcome,
        (sources, said): (Vec<usize>, Vec<Said>),
        own: Bytes,
    ) -> Outcome {
        let spare = match self.inquiry.stream {
            true => self.again(&sources, own).await,
            false => self.first(&sources, said),
        };
        match spare {
            Some(reply) => {
                self.story.terminal = Some(REASON);
                Outcome::Upstream(reply)
            }
            None => lost,
        }
    }

    /// What they have said is no stream: whoever wants one has it asked for again (routing 6.1f).
    async fn again(&mut self, sources: &[usize], own: Bytes) -> Option<Reply> {
        for member in sources {
            let who = self.fan.members[*member].who.clone();
            match self.last((who, Share::Whole), own.clone()).await {
                Outcome::Upstream(reply) if (200..300).contains(&reply.status) => return Some(reply),
                _ => {}
            }
        }
        None
    }

    fn first(&self, sources: &[usize], said: Vec<Said>) -> Option<Reply> {
        let answers = said.into_iter().enumerate().filter(|(member, _)| sources.contains(member));
        answers.filter_map(|(_, said)| said.into_reply()).find(|reply| self.is_accepted(reply))
    }

    /// Routing 7.9.
    fn is_accepted(&self, reply: &Reply) -> bool {
        match (&self.plan.validation, self.inquiry.route.answers(), &reply.body) {
            (Some(rules), Some(dialect), ReplyBody::Whole(body)) => breach(dialect, body, rules).is_none(),
            _ => true,
        }
    }
}
