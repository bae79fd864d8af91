//! How long a stream may take to begin (flow 6.2).
//!
//! A long history, many tools or a model that thinks before it speaks need more time than the
//! configured one; a plain request does not get it, so its failover stays quick. What is added
//! comes on top of `first_content_timeout` (decision 18a).

use crate::time::{Millis, SECOND};

/// Up to here the additions may go, unless the base is higher (flow 6.1), ms.
pub const CEILING_MS: Millis = 180 * SECOND;

/// What a model that thinks before it speaks gets, once (flow 6.2.8), ms.
const THINKS_MS: Millis = 30 * SECOND;
/// Tools from which on a request is heavy.
const MANY_TOOLS: usize = 15;
/// Items from which on a history is long.
const MANY_ITEMS: usize = 150;

/// The size of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// Turns, as they are sent upstream.
    pub items: usize,
    /// Turns, as the client sent them.
    pub source_items: usize,
    /// Tools the model may use.
    pub tools: usize,
    /// Characters of the body.
    pub characters: usize,
    /// The client asks for high effort, or the most.
    pub effort_high: bool,
}

/// Who serves it.
#[derive(Clone, Copy, Debug)]
pub struct Served<'a> {
    /// The provider's id.
    pub provider: &'a str,
    /// The model, as it is sent upstream.
    pub model: &'a str,
    /// The provider is spoken to in Claude's format.
    pub claude: bool,
}

/// How long the first content may take, ms; a base of 0 is no limit and stays one (flow 6.2.7).
pub fn budget_ms(base: Millis, ceiling: Millis, shape: &Shape, by: Served<'_>) -> Millis {
    let most = base.max(ceiling);
    let provider = by.provider.to_ascii_lowercase();
    if base == 0 {
        return 0;
    }
    if matches!(provider.as_str(), "cursor" | "cursor-api") && shape.source_items > MANY_ITEMS {
        return most;
    }
    let thinks = if thinks_first(&provider, shape, by) { THINKS_MS } else { 0 };
    base.saturating_add(size_ms(shape) + thinks).min(most)
}

/// What the size of a request adds.
fn size_ms(shape: &Shape) -> Millis {
    let items = match shape.items {
        401.. => 45 * SECOND,
        151.. => 20 * SECOND,
        _ => 0,
    };
    let characters = match shape.characters {
        750_001.. => 45 * SECOND,
        250_001.. => 20 * SECOND,
        _ => 0,
    };
    let tools = if shape.tools >= MANY_TOOLS { 15 * SECOND } else { 0 };
    items + characters + tools
}

/// Whether the model is likely to think before it speaks. However many signs there are, they are
/// one reason (flow 6.2.8).
fn thinks_first(provider: &str, shape: &Shape, by: Served<'_>) -> bool {
    let model = by.model.to_ascii_lowercase();
    let name = model.rsplit('/').next().unwrap_or(&model);
    let heavy = shape.items > MANY_ITEMS || shape.tools >= MANY_TOOLS;
    shape.effort_high
        || model.contains("-high")
        || (provider == "codex" && name.starts_with("gpt-5") && heavy)
        || is_thinking(&model)
        || (by.claude && !matches!(provider, "claude" | "anthropic"))
}

/// `-thinking` closes the id or one of its parts.
fn is_thinking(model: &str) -> bool {
    model.match_indices("-thinking").any(|(at, sign)| {
        let rest = &model[at + sign.len()..];
        rest.is_empty() || rest.starts_with('-')
    })
}

/// The deadline of the first content (flow 6.2.4).
///
/// With a ceiling every byte moves it, up to that. Without one none does: whoever sends pings for
/// ever must not hold a request for ever (FC-030).
#[derive(Clone, Copy, Debug)]
pub struct Readiness {
    start: Millis,
    budget_ms: Millis,
    ceiling_ms: Option<Millis>,
    deadline: Millis,
}

impl Readiness {
    /// `budget_ms` 0: no limit.
    pub fn new(start: Millis, budget_ms: Millis, ceiling_ms: Option<Millis>) -> Self {
        Self { start, budget_ms, ceiling_ms, deadline: start.saturating_add(budget_ms) }
    }

    /// Bytes came, whatever they say. When the time was up before, they come too late.
    pub fn heard(&mut self, now: Millis) {
        if let Some(ceiling) = self.ceiling_ms.filter(|_| now < self.deadline) {
            let last = self.start.saturating_add(self.budget_ms.max(ceiling));
            self.deadline = now.saturating_add(self.budget_ms).min(last).max(self.deadline);
        }
    }

    /// When the attempt has failed, epoch ms; `None`: never.
    pub fn deadline(&self) -> Option<Millis> {
        (self.budget_ms > 0).then_some(self.deadline)
    }

    /// Whether it has failed.
    pub fn is_over(&self, now: Millis) -> bool {
        self.deadline().is_some_and(|deadline| deadline <= now)
    }
}

#[cfg(test)]
mod tests {
    use super::{CEILING_MS, Readiness, Served, Shape, budget_ms};
    use crate::time::Millis;

    const BASE: Millis = 80_000;

    fn shape(items: usize, tools: usize, characters: usize) -> Shape {
        Shape { items, source_items: items, tools, characters, effort_high: false }
    }

    fn high(shape: Shape) -> Shape {
        Shape { effort_high: true, ..shape }
    }

    fn by<'a>(provider: &'a str, model: &'a str) -> Served<'a> {
        Served { provider, model, claude: false }
    }

    fn claude<'a>(provider: &'a str, model: &'a str) -> Served<'a> {
        Served { provider, model, claude: true }
    }

    fn budget(shape: Shape, by: Served<'_>) -> Millis {
        budget_ms(BASE, CEILING_MS, &shape, by)
    }

    #[test]
    fn rows_e95_to_e98_heavy_requests_and_slow_thinkers_get_more_time() {
        let rows = [
            ("E95", shape(10, 0, 0), by("codex", "gpt-5.5-high"), 110_000),
            ("E96", shape(160, 15, 0), by("p", "m"), 115_000),
            ("E97", high(shape(401, 20, 800_000)), by("p", "m"), 180_000),
            ("E98", shape(401, 0, 0), claude("kiro", "claude-sonnet-5-thinking"), 155_000),
        ];
        for (row, shape, by, expected) in rows {
            assert_eq!(budget(shape, by), expected, "{row}");
        }
        let e97 = high(shape(401, 20, 800_000));
        assert_eq!(budget_ms(BASE, 1_000_000, &e97, by("p", "m")), 215_000, "E97 below its ceiling");
    }

    #[test]
    fn decision_18a_the_additions_come_on_top_of_the_configured_limit() {
        let e96 = shape(160, 15, 0);
        assert_eq!(budget_ms(120_000, CEILING_MS, &e96, by("p", "m")), 155_000);
        assert_eq!(budget_ms(150_000, CEILING_MS, &e96, by("p", "m")), 180_000);
        assert_eq!(budget_ms(600_000, CEILING_MS, &e96, by("p", "m")), 600_000, "never below the base");
        assert_eq!(budget_ms(0, CEILING_MS, &e96, by("cursor", "m")), 0, "no limit stays none");
        assert_eq!(budget_ms(Millis::MAX, CEILING_MS, &e96, by("p", "m")), Millis::MAX);
    }

    #[test]
    fn each_condition_of_flow_6_2_8_begins_at_its_edge() {
        let plain = by("p", "m");
        let rows = [
            (shape(150, 14, 250_000), plain, 0),
            (shape(151, 0, 0), plain, 20_000),
            (shape(400, 0, 0), plain, 20_000),
            (shape(401, 0, 0), plain, 45_000),
            (shape(0, 15, 0), plain, 15_000),
            (shape(0, 0, 250_001), plain, 20_000),
            (shape(0, 0, 750_000), plain, 20_000),
            (shape(0, 0, 750_001), plain, 45_000),
            (high(shape(0, 0, 0)), plain, 30_000),
            (shape(0, 0, 0), by("p", "GPT-5-High-fast"), 30_000),
            (shape(0, 0, 0), by("p", "m-xhigh"), 0),
            (shape(0, 0, 0), by("p", "m-thinking"), 30_000),
            (shape(0, 0, 0), by("p", "m-thinking-2507"), 30_000),
            (shape(0, 0, 0), by("p", "m-thinkingly-x"), 0),
            (shape(0, 0, 0), by("p", "thinking-m"), 0),
            (shape(150, 14, 0), by("codex", "gpt-5.5"), 0),
            (shape(151, 0, 0), by("codex", "gpt-5.5"), 50_000),
            (shape(0, 15, 0), by("Codex", "cx/gpt-5.5"), 45_000),
            (shape(0, 15, 0), by("codex", "gpt-4.1"), 15_000),
            (shape(0, 15, 0), by("p", "gpt-5.5"), 15_000),
            (shape(0, 0, 0), claude("p", "m"), 30_000),
            (shape(0, 0, 0), claude("claude", "m"), 0),
            (shape(0, 0, 0), claude("anthropic", "m"), 0),
            (shape(0, 0, 0), claude("anthropic", "m-thinking"), 30_000),
        ];
        for (shape, by, added) in rows {
            assert_eq!(budget(shape, by), BASE + added, "{shape:?} {by:?}");
        }
    }

    #[test]
    fn many_reasons_to_think_are_one() {
        let heavy = high(shape(0, 15, 0));
        assert_eq!(budget(heavy, by("codex", "gpt-5.5-high-thinking")), BASE + 45_000);
        assert_eq!(budget(heavy, claude("p", "m-thinking")), BASE + 45_000);
    }

    #[test]
    fn cursor_takes_all_there_is_for_a_long_history_of_the_client() {
        let long = |source_items| Shape { source_items, ..shape(0, 0, 0) };
        for provider in ["cursor", "cursor-api"] {
            assert_eq!(budget(long(151), by(provider, "m")), 180_000, "{provider}");
            assert_eq!(budget(long(150), by(provider, "m")), 80_000, "{provider}");
        }
        assert_eq!(budget_ms(200_000, CEILING_MS, &long(151), by("cursor", "m")), 200_000);
    }

    /// The deadline after bytes at these times.
    fn deadline(ceiling: Option<Millis>, heard: &[Millis]) -> Option<Millis> {
        let mut readiness = Readiness::new(0, BASE, ceiling);
        heard.iter().for_each(|now| readiness.heard(*now));
        readiness.deadline()
    }

    #[test]
    fn rows_e91_and_e92_bytes_move_the_deadline_up_to_its_ceiling() {
        assert_eq!(deadline(Some(CEILING_MS), &[70_000]), Some(150_000), "E91");
        assert_eq!(deadline(Some(CEILING_MS), &[70_000, 140_000]), Some(180_000), "E91");
        assert_eq!(deadline(Some(CEILING_MS), &[]), Some(80_000), "E92");
        assert_eq!(deadline(Some(50_000), &[70_000]), Some(80_000), "a ceiling below the budget");
        let e92 = Readiness::new(0, BASE, None);
        assert!(!e92.is_over(79_999));
        assert!(e92.is_over(80_000));
    }

    #[test]
    fn fc_030_without_a_ceiling_pings_move_nothing() {
        assert_eq!(deadline(None, &[5_000, 70_000, 79_999]), Some(80_000));
    }

    #[test]
    fn bytes_after_the_deadline_come_too_late() {
        assert_eq!(deadline(Some(CEILING_MS), &[80_000]), Some(80_000));
        assert_eq!(deadline(Some(CEILING_MS), &[79_999]), Some(159_999));
        assert_eq!(deadline(Some(CEILING_MS), &[70_000, 60_000]), Some(150_000), "nor do they shorten it");
    }

    #[test]
    fn no_budget_is_no_limit() {
        let mut readiness = Readiness::new(1_000, 0, Some(CEILING_MS));
        readiness.heard(2_000);
        assert_eq!((readiness.deadline(), readiness.is_over(Millis::MAX)), (None, false));
    }
}
