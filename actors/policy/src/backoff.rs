//! Growing waits.
//!
//! Two curves double: the scaled backoff of a connection or a lock, which has a step
//! limit and a ceiling, and the ladder of 401, which only has a cap. Both saturate instead
//! of overflowing, and never yield 0 for a base of 0. The third is the list of rests after
//! refusals.

use crate::time::{DAY, MINUTE, Millis, SECOND};

/// Rests of an account that refuses a request's content, in a row (core 3.8.3).
const REFUSALS_MS: [Millis; 4] = [5 * MINUTE, 15 * MINUTE, 45 * MINUTE, 60 * MINUTE];
/// A refusal that is older than this cannot continue a row, ms (core 3.8.2).
pub const REFUSAL_MEMORY_MS: Millis = DAY;

/// `base_ms × 2^min(step, max_steps)`, at most `ceiling_ms` (core 3.1.5).
/// A base of 0 is read as one second.
pub fn scaled(base_ms: Millis, step: u32, max_steps: u32, ceiling_ms: Millis) -> Millis {
    let base = if base_ms == 0 { SECOND } else { base_ms };
    let factor = 2_u64.saturating_pow(step.min(max_steps));
    base.saturating_mul(factor).min(ceiling_ms)
}

/// `base_ms × 2^(n−1)`, at most `cap_ms`, for the `n`-th failure in a row, counted
/// from 1 (core P13, decision 12a). A base of 0 is read as one second.
pub fn ladder(base_ms: Millis, n: u32, cap_ms: Millis) -> Millis {
    scaled(base_ms, n.saturating_sub(1), u32::MAX, cap_ms)
}

/// The rest after the `n`-th refusal in a row, counted from 1 (core 3.8.3).
pub fn refusal(n: u32) -> Millis {
    REFUSALS_MS[(n.saturating_sub(1) as usize).min(REFUSALS_MS.len() - 1)]
}

#[cfg(test)]
mod tests {
    use super::{ladder, refusal, scaled};

    #[test]
    fn core_3_8_3_the_rests_after_refusals() {
        let rests = [0, 1, 2, 3, 4, 5, u32::MAX].map(refusal);
        assert_eq!(rests, [300_000, 300_000, 900_000, 2_700_000, 3_600_000, 3_600_000, 3_600_000]);
    }

    #[test]
    fn doubles_up_to_the_step_limit_and_the_ceiling() {
        for (base, step, steps, ceiling, want) in [
            (3_000, 0, 5, 1_800_000, 3_000),
            (3_000, 3, 5, 1_800_000, 24_000),
            (3_000, 9, 5, 1_800_000, 96_000),
            (5_000, 10, 12, 1_800_000, 1_800_000),
            (0, 2, 5, 1_800_000, 4_000),
            (u64::MAX, u32::MAX, u32::MAX, u64::MAX, u64::MAX),
        ] {
            assert_eq!(scaled(base, step, steps, ceiling), want, "{base} at {step}");
        }
    }

    #[test]
    fn a_ladder_starts_at_its_base() {
        let waits = [0, 1, 2, 3, 4, 5, 6, u32::MAX].map(|n| ladder(5_000, n, 120_000));
        assert_eq!(waits, [5_000, 5_000, 10_000, 20_000, 40_000, 80_000, 120_000, 120_000]);
    }
}
