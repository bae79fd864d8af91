//! What a request may cost (routing 5.9): an estimate by price and size, and what is done when
//! nothing is cheap enough.

use super::factors::Known;
use super::settings::{AutoSettings, BudgetFallback};
use crate::request::Traits;

/// Tokens of a request whose size nobody knows.
const UNKNOWN_TOKENS: u64 = 1_000;

/// A ceiling that holds for one request.
pub(super) struct Budget {
    cap_usd: Option<f64>,
    pub(super) fallback: BudgetFallback,
    tokens: f64,
}

impl Budget {
    /// Headers beat what is stored (routing 5.7); a ceiling that is not positive is none.
    pub(super) fn of(request: &Traits, settings: &AutoSettings) -> Self {
        let positive = |cap: &f64| cap.is_finite() && *cap > 0.0;
        let wish = &request.wish;
        let stated = wish.budget_fallback.as_deref().and_then(BudgetFallback::find);
        Self {
            cap_usd: wish.budget_usd.filter(positive).or(settings.budget_cap_usd.filter(positive)),
            fallback: stated.unwrap_or(settings.budget_fallback),
            tokens: request.input_tokens.unwrap_or(UNKNOWN_TOKENS) as f64,
        }
    }

    /// Whether a request to such a candidate stays below the ceiling.
    pub(super) fn covers(&self, known: &Known) -> bool {
        self.cap_usd.is_none_or(|cap| known.cost / 1e6 * self.tokens <= cap)
    }
}
