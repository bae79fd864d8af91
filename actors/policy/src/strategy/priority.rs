//! `priority`: declared order, top to bottom (routing 4.1).

use crate::dice::Dice;
use crate::strategy::{Candidate, Strategy};

/// The declared order.
pub struct Priority;

impl Strategy for Priority {
    fn name(&self) -> &'static str {
        "priority"
    }

    fn doc_short(&self) -> &'static str {
        "the declared order, top to bottom"
    }

    fn doc_long(&self) -> &'static str {
        "Targets are tried as they are written. The next one is asked when the one before is \
         excluded or has failed."
    }

    fn rank(
        &self,
        count: usize,
        _candidate: &dyn Fn(usize) -> Candidate,
        _dice: &mut dyn Dice,
    ) -> Vec<usize> {
        (0..count).collect()
    }
}
