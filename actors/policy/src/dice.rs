//! Chance, handed in: policy has no random source of its own, so a test can
//! throw the numbers a worked example names (routing 0.1).

/// A source of chance.
pub trait Dice {
    /// A number in [0, 1).
    fn unit(&mut self) -> f64;
    /// A whole number in `0..bound`; 0 when `bound` is 0.
    fn below(&mut self, bound: usize) -> usize;
}

/// Shuffles from the last place down (routing 0.3).
pub fn shuffle<T>(items: &mut [T], dice: &mut dyn Dice) {
    for last in (1..items.len()).rev() {
        items.swap(last, dice.below(last + 1));
    }
}

/// Dice that throw a written list, then zeros: for worked examples.
#[derive(Clone, Debug, Default)]
pub struct Scripted {
    numbers: std::collections::VecDeque<f64>,
}

impl Scripted {
    /// Dice that throw `numbers` in order; whole numbers answer `below`.
    pub fn new(numbers: &[f64]) -> Self {
        Self { numbers: numbers.iter().copied().collect() }
    }
}

impl Dice for Scripted {
    fn unit(&mut self) -> f64 {
        self.numbers.pop_front().unwrap_or(0.0)
    }

    fn below(&mut self, bound: usize) -> usize {
        let number = self.numbers.pop_front().unwrap_or(0.0) as usize;
        number.min(bound.saturating_sub(1))
    }
}
