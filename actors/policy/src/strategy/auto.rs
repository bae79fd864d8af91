//! `auto`: sixteen factors weigh every account, and one of the best goes first (routing 5).
//!
//! Order of thought: who could serve at all, who is not left alone for a while, what each is
//! worth, who is cheap enough, then the choice. All others follow by score: nobody who could
//! serve is lost (5.11). Two things differ from the pages it follows. A candidate below the quota
//! cutoff is left out altogether (rules 8.4.6) and does not come back as a last resort, because
//! the cutoff is opt-in. Per-model adaptation is not built (decision 28a).

mod budget;
mod factors;
mod health;
mod names;
mod select;
mod settings;
#[cfg(test)]
mod tests;
mod weights;

pub use factors::{FACTORS, Factor};
pub use health::{Rest, Rests};
pub use names::{combo, is_name, names, settings};
pub use settings::{AutoRouter, AutoSettings, BudgetFallback, Sla, Taste};
pub use weights::{PACKS, Pack, Weights};

use budget::Budget;
use factors::{Book, Extremes, Wanted};
use select::Candidates;

use crate::breaker::BreakerState;
use crate::change::{Exclusion, Refusal};
use crate::dice::Dice;
use crate::strategy::quota::circle_after;
use crate::strategy::{ComboState, Field, Grain, LastGood, News, Note, Ranked, Strategy, StrategySettings};
use crate::strategy::{affinity, sort};

/// Accounts by sixteen factors.
pub struct Auto;

impl Strategy for Auto {
    fn name(&self) -> &'static str {
        "auto"
    }

    fn doc_short(&self) -> &'static str {
        "accounts by sixteen factors: health, quota, price, speed and more"
    }

    fn doc_long(&self) -> &'static str {
        "Each account gets a score: the weighted sum of sixteen factors, each from 0 to 1. Weights \
         are built in, set by `weights`, or a `mode_pack` (ship-fast, cost-saver, quality-first, \
         offline-friendly, reliability-first, chaos-mode). When one is clearly better it goes \
         first, and equals take turns; when all are nearly alike one of three tiers is drawn. Now \
         and then (`exploration_rate`) any of them goes first, so that what is known stays true. A \
         provider that scores below 0.2 is left alone for 5 minutes, growing to 30. `budget_cap` \
         bounds the estimated price of a request. `router_strategy` chooses another way: score, \
         cost, latency, lkgp or sla-aware. `auto`, `auto/fast`, `auto/cheap` and the like need no \
         combo: each usable account is a candidate."
    }

    fn example(&self) -> &'static str {
        r#"name = "smart"
strategy = "auto"
targets = [{ model = "openai/gpt-5" }, { model = "google/gemini-pro" }]"#
    }

    fn grain(&self) -> Grain {
        Grain::Accounts
    }

    fn reads_quota(&self) -> bool {
        true
    }

    fn yields_to_cache(&self) -> bool {
        true
    }

    fn follows_prompts(&self, settings: &StrategySettings) -> bool {
        settings.auto.weights(None).counts("cache_affinity")
    }

    fn rank(&self, field: &Field<'_>, dice: &mut dyn Dice) -> Ranked {
        let (mut able, unable) = field.pool.able();
        if able.is_empty() {
            return Ranked::of(unable);
        }
        let settings = &field.settings.auto;
        let weights = settings.weights(field.request.wish.mode.as_deref());
        let mut known = Book::of(field, Wanted::of(&weights, settings.router));
        let most = Extremes::of(&known, &able);
        if let Some(home) = home(field, &able, &weights) {
            known.cached_at(home);
        }
        let scores = factors::scores(&known, &most, &weights);
        sort::by(&mut able, |index| sort::descending(scores[index]));
        let rests = health::judged(&field.state.auto, field.pool, (&able, &scores), field.now);
        let resting = rests.as_ref().unwrap_or(&field.state.auto);
        let preferred = preferred(field, (&able, &known), resting);
        let mut notes: Vec<Note> = rests.map(Note::Auto).into_iter().collect();
        let (mut candidates, left_out) = within_budget(field, &mut able, &known, preferred);
        let mut order = Vec::with_capacity(field.pool.count());
        if !candidates.is_empty() {
            let choice = Candidates {
                pool: field.pool,
                sorted: &candidates,
                scores: &scores,
                known: &known,
                settings,
                cursor: field.state.cursor,
                last_good: field.state.last_good.as_ref(),
                incident: health::is_incident(field.pool, &known),
            };
            let (chosen, note) = choice.choose(dice);
            notes.extend(note);
            order.push(chosen);
            circle_after(chosen, &mut candidates, &scores);
            if candidates.len() == able.len() {
                // All of them: they are listed already, but for the chosen one.
                order.extend(candidates.into_iter().filter(|index| *index != chosen).chain(unable));
                return Ranked { notes, scores, left_out, ..Ranked::of(order) };
            }
            circle_after(chosen, &mut able, &scores);
        }
        let mut listed = vec![false; field.pool.count()];
        order.extend(candidates.into_iter().chain(able).chain(unable));
        order.retain(|index| !std::mem::replace(&mut listed[*index], true));
        Ranked { notes, scores, left_out, ..Ranked::of(order) }
    }

    fn heard(&self, state: &mut ComboState, news: &News<'_>, settings: &StrategySettings) {
        if news.good && settings.auto.router == AutoRouter::Lkgp {
            let connection = Some(news.connection.clone());
            state.last_good = Some(LastGood { provider: news.provider.clone(), connection });
        }
    }
}

/// Where the prompt is likely to be cached (routing 3.7), where that counts.
fn home(field: &Field<'_>, able: &[usize], weights: &Weights) -> Option<usize> {
    let key = field.request.cache_key.as_ref().filter(|_| weights.counts("cache_affinity"))?;
    let mut order = able.to_vec();
    affinity::sort(&mut order, field.pool, key);
    order.first().copied()
}

/// Those it chooses from first; if that leaves nobody, all (routing 5.8).
fn preferred(field: &Field<'_>, (able, known): (&[usize], &Book), rests: &Rests) -> Vec<usize> {
    let (pool, first) = (field.pool, &field.settings.auto.candidate_pool);
    let is_open = |index: &usize| known[*index].breaker == BreakerState::Open;
    // As it is nearly always.
    if first.is_empty() && rests.is_empty() && !known.any(|known| known.breaker == BreakerState::Open) {
        return able.to_vec();
    }
    let fits = |index: &usize| {
        (first.is_empty() || first.contains(pool.provider(*index)))
            && !is_open(index)
            && !health::rests(rests, pool.provider(*index), field.now)
    };
    let fitting: Vec<usize> = able.iter().copied().filter(fits).collect();
    if fitting.is_empty() { able.to_vec() } else { fitting }
}

/// Routing 5.9: of the preferred those that are cheap enough, else of all, else the cheapest. A
/// strict budget leaves the others out, also as a fallback.
fn within_budget(
    field: &Field<'_>,
    able: &mut Vec<usize>,
    known: &Book,
    preferred: Vec<usize>,
) -> (Vec<usize>, Vec<(usize, Refusal)>) {
    let budget = Budget::of(field.request, &field.settings.auto);
    let covered = |index: &usize| budget.covers(&known[*index]);
    if able.iter().all(covered) {
        return (preferred, Vec::new());
    }
    let mut left_out = Vec::new();
    let (cheap, dear): (Vec<usize>, Vec<usize>) = able.iter().copied().partition(covered);
    if budget.fallback == BudgetFallback::Strict {
        let refusal = Refusal { why: Exclusion::OverBudget, retry_at: None };
        left_out.extend(dear.iter().map(|index| (*index, refusal)));
        able.clone_from(&cheap);
    }
    let first: Vec<usize> = preferred.iter().copied().filter(covered).collect();
    if !first.is_empty() {
        return (first, left_out);
    }
    if !cheap.is_empty() || budget.fallback == BudgetFallback::Strict {
        return (cheap, left_out);
    }
    let least = preferred.iter().map(|index| known[*index].cost).fold(f64::INFINITY, f64::min);
    (preferred.into_iter().filter(|index| known[*index].cost <= least).collect(), left_out)
}
