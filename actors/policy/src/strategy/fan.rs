//! `fusion`, `pipeline` and `context-relay` (routing 4.4, 6). They rank in declared order; what they
//! are about happens beside the order, and the relay does it: a panel, a line of steps, a hand-off.

use crate::dice::Dice;
use crate::plan::FanKind;
use crate::strategy::{Field, Ranked, Strategy, StrategySettings};

/// A panel and a judge.
pub struct Fusion;

/// One step after the other.
pub struct Pipeline;

/// The declared order, with a summary for the next account.
pub struct ContextRelay;

fn declared(field: &Field<'_>) -> Ranked {
    Ranked::of((0..field.pool.count()).collect())
}

impl Strategy for Fusion {
    fn name(&self) -> &'static str {
        "fusion"
    }

    fn doc_short(&self) -> &'static str {
        "asks all targets at once and lets a judge make one answer of theirs"
    }

    fn doc_long(&self) -> &'static str {
        "Each target answers the request without tools; a nested combo is one voice. When enough have \
         answered, the others have `straggler_grace_ms` left, and `panel_hard_timeout_ms` in all. The \
         judge (`judge_model`, else the first target) then gets the request together with the answers. \
         If only one has answered and no judge is named, that one is asked again and its answer is \
         given as it is. Where the judge fails or rests, the first answer of the panel is given. A request that brings tools goes to the judge alone. Each call is paid for."
    }

    fn example(&self) -> &'static str {
        r#"name = "council"
strategy = "fusion"
targets = [{ model = "openai/gpt-5" }, { model = "google/gemini-pro" }]"#
    }

    fn fan(&self, settings: &StrategySettings) -> Option<FanKind> {
        Some(FanKind::Fusion(settings.fusion.clone()))
    }

    fn rank(&self, field: &Field<'_>, _: &mut dyn Dice) -> Ranked {
        declared(field)
    }
}

impl Strategy for Pipeline {
    fn name(&self) -> &'static str {
        "pipeline"
    }

    fn doc_short(&self) -> &'static str {
        "each target works on what the one before it has written"
    }

    fn doc_long(&self) -> &'static str {
        "The first target gets the client's conversation, each later one only the text of the one \
         before, each with its `prompt` if it has one. The last one keeps the client's tools and \
         stream, and its answer is given as it is. A step that fails with 429, 502, 503 or 504 is \
         asked again up to `max_retries` times; otherwise its failure ends the request."
    }

    fn example(&self) -> &'static str {
        r#"name = "draft-then-polish"
strategy = "pipeline"
targets = [{ model = "openai/gpt-5-mini" }, { model = "openai/gpt-5" }]"#
    }

    fn fan(&self, _: &StrategySettings) -> Option<FanKind> {
        Some(FanKind::Pipeline)
    }

    fn rank(&self, field: &Field<'_>, _: &mut dyn Dice) -> Ranked {
        declared(field)
    }
}

impl Strategy for ContextRelay {
    fn name(&self) -> &'static str {
        "context-relay"
    }

    fn doc_short(&self) -> &'static str {
        "the declared order; a conversation is summed up before its account runs out of quota"
    }

    fn doc_long(&self) -> &'static str {
        "Targets are tried as they are written. When an account that tells its quota has used more than \
         `handoff_threshold` of it, the session is summed up in the background, and the next account \
         that goes on with it is shown the summary. Needs a session id of the client."
    }

    fn example(&self) -> &'static str {
        r#"name = "long-talks"
strategy = "context-relay"
targets = [{ model = "claude/claude-sonnet-5" }, { model = "anthropic/claude-sonnet-5" }]"#
    }

    fn reads_quota(&self) -> bool {
        true
    }

    fn rank(&self, field: &Field<'_>, _: &mut dyn Dice) -> Ranked {
        declared(field)
    }
}

#[cfg(test)]
mod tests {
    use super::{ContextRelay, Fusion, Pipeline};
    use crate::dice::Scripted;
    use crate::strategy::Strategy;
    use crate::strategy::table::{Facts, Table};

    /// Routing 4.4, 6; the order of row 18 is the declared one.
    #[test]
    fn row_18_the_order_is_the_declared_one() {
        let rules: [&dyn Strategy; 3] = [&Fusion, &Pipeline, &ContextRelay];
        for rule in rules {
            let mut table = Table::of(["A", "B", "C"].map(Facts::named).to_vec());
            table.hear(rule, 2, false, true);
            assert_eq!(table.take(rule, &mut Scripted::default()), ["A", "B", "C"], "{}", rule.name());
        }
    }
}
