//! What a request is told when nothing is left to try (decision 9b).

use policy::attempts::LastAnswer;
use policy::blocked::{Asked, Blocked, blocked};
use policy::plan::Excluded;
use policy::time::Millis;
use policy::verdict::Reason;

use super::cascade::Run;
use super::fault::Lack;
use super::{Chosen, Outcome, Reply, ReplyBody, Trouble};

impl Run<'_> {
    /// What to tell when nothing is left to try.
    pub(super) fn exhausted(&mut self) -> Outcome {
        if self.attempts.failures().is_empty() {
            return Outcome::Ours(self.blocked());
        }
        let mut failures = self.attempts.failures().iter();
        let quota = failures.all(|failed| failed.failure.reason == Reason::QuotaExhausted);
        self.story.terminal = Some(if quota { "quota_exhausted" } else { "all_models_failed" });
        match self.attempts.last_answer() {
            LastAnswer::Upstream(failure) => self.as_it_failed(failure),
            LastAnswer::AuthFailed => Outcome::Ours(Trouble::UpstreamAuth),
            LastAnswer::CreditsExhausted => Outcome::Ours(Trouble::UpstreamCredits),
            LastAnswer::Ours(status) => {
                let lack = self.kept.first().and_then(|(_, lack)| *lack);
                let lack = lack.filter(|lack| self.kept.iter().all(|(_, other)| *other == Some(*lack)));
                self.unanswered(status, lack)
            }
        }
    }

    fn blocked(&self) -> Trouble {
        let now = self.worker.tower.owners.clock.now();
        let asked = Asked::of(self.story.combo, self.story.strategy);
        let why = blocked(asked, &self.story.excluded, now);
        if matches!(why, Blocked::AllCoolingDown(_)) {
            self.warn_of_rest(now);
        }
        let provider = match why {
            Blocked::CircuitOpen(_) => self.story.excluded.first().map(|excluded| {
                let handle = self.worker.tower.owners.directory.provider(&excluded.provider);
                (excluded.provider.clone(), handle.and_then(|handle| handle.view.load().last_kind))
            }),
            Blocked::QuotaShareExceeded(_) => self.whose_share(),
            _ => None,
        };
        Trouble::Blocked(why, provider)
    }

    /// Decision 26d: one line says who of the combo is out, why, and for how long.
    fn warn_of_rest(&self, now: Millis) {
        let target = |target: &Excluded| {
            let left = target.until.map(|until| until.saturating_sub(now).div_ceil(1_000));
            let left = left.map_or_else(|| "?".into(), |seconds| seconds.to_string());
            format!("{}/{}: {} {left} s", target.provider, target.model, target.reason.as_str())
        };
        let targets: Vec<String> = self.story.excluded.iter().map(target).collect();
        let combo = self.plan.combo.as_deref().unwrap_or_default();
        tracing::warn!(combo, targets = targets.join(", "), "every target of the combo rests");
    }

    fn smallest_wait(&self) -> Option<u64> {
        self.attempts
            .failures()
            .iter()
            .filter_map(|failed| {
                let stated = failed.failure.hint.map(|hint| hint.wait_ms);
                stated.or(failed.failure.client_wait_ms)
            })
            .min()
    }

    fn unanswered(&self, status: u16, lack: Option<Lack>) -> Outcome {
        Outcome::Ours(Trouble::AllFailed { status, lack, retry_after_ms: self.smallest_wait() })
    }

    /// Decision 9b: the upstream's own status and body; a misstated status as it should have been
    /// (rules 2).
    pub(super) fn as_it_failed(&mut self, failure: usize) -> Outcome {
        let target = self.attempts.failures()[failure].target;
        let judged = &self.attempts.failures()[failure].failure;
        let (status, restated) = (judged.status, judged.restated_from.is_some());
        let (kept, lack) = std::mem::take(&mut self.kept[failure]);
        let Some(kept) = kept else { return self.unanswered(status, lack) };
        Outcome::Upstream(Reply {
            status: if restated { status } else { kept.status },
            headers: kept.headers,
            from: Chosen::of(&self.plan.targets[target]),
            body: ReplyBody::Whole(kept.body),
            retry_after_ms: self.smallest_wait(),
        })
    }
}
