//! How much each factor of `auto` counts (routing 5.4, 5.6): one number for each, in the order of
//! the table of factors.

use super::factors::FACTORS;

/// How many factors there are.
pub const COUNT: usize = 16;

/// A weight for each factor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weights([f64; COUNT]);

impl Default for Weights {
    fn default() -> Self {
        Self(std::array::from_fn(|place| FACTORS[place].weight))
    }
}

impl Weights {
    /// Weights as a person writes them: what is negative or no number counts as 0, and all are
    /// divided by their sum. Without a positive one it is the default (routing 5.5). A name that
    /// is no factor's says nothing.
    pub fn of<'a>(stated: impl IntoIterator<Item = (&'a str, f64)>) -> Self {
        let mut weights = [0.0; COUNT];
        for (name, weight) in stated {
            if let Some(place) = place(name).filter(|_| weight.is_finite() && weight > 0.0) {
                weights[place] = weight;
            }
        }
        let sum: f64 = weights.iter().sum();
        if sum > 0.0 && sum.is_finite() { Self(weights.map(|weight| weight / sum)) } else { Self::default() }
    }

    /// Whether a factor has any weight.
    pub(super) fn counts(&self, name: &str) -> bool {
        place(name).is_some_and(|place| self.0[place] > 0.0)
    }

    /// The weight of a factor by its place in the table.
    pub(super) fn at(&self, place: usize) -> f64 {
        self.0[place]
    }
}

/// The place of a factor in the table, in either spelling of its name.
fn place(name: &str) -> Option<usize> {
    FACTORS.iter().position(|factor| factor.name == name || factor.alias == name)
}

/// A map of weights with a name.
#[derive(Clone, Copy, Debug)]
pub struct Pack {
    /// Its name.
    pub name: &'static str,
    /// Its weights; a factor that is not here has none.
    weights: &'static [(&'static str, f64)],
}

impl Pack {
    /// The pack of a name, whatever its case.
    pub fn find(name: &str) -> Option<&'static Self> {
        let name = name.trim();
        PACKS.iter().find(|pack| pack.name.eq_ignore_ascii_case(name))
    }

    /// Its weights, as they are written.
    pub fn weights(&self) -> Weights {
        let mut weights = [0.0; COUNT];
        for (name, weight) in self.weights {
            let place = place(name).expect("packs name factors: tested");
            weights[place] = *weight;
        }
        Weights(weights)
    }
}

impl PartialEq for Pack {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// Every pack (routing 5.6).
#[rustfmt::skip] // one factor, one line
pub static PACKS: &[Pack] = &[
    Pack { name: "ship-fast", weights: &[
        ("quota", 0.1133), ("health", 0.2667), ("cost_inv", 0.0276), ("latency_inv", 0.3048),
        ("task_fit", 0.0952), ("tier_priority", 0.0376), ("context_affinity", 0.0095),
        ("session_availability", 0.0476), ("connection_density", 0.0476), ("quality", 0.02), ("reliability", 0.03),
    ] },
    Pack { name: "cost-saver", weights: &[
        ("quota", 0.1133), ("health", 0.1810), ("cost_inv", 0.3324), ("latency_inv", 0.0476),
        ("task_fit", 0.0952), ("stability", 0.0476), ("tier_priority", 0.0376),
        ("session_availability", 0.0476), ("connection_density", 0.0476), ("quality", 0.02), ("reliability", 0.03),
    ] },
    Pack { name: "quality-first", weights: &[
        ("quota", 0.0752), ("health", 0.1714), ("cost_inv", 0.0276), ("latency_inv", 0.0476),
        ("task_fit", 0.3524), ("stability", 0.1429), ("tier_priority", 0.0276),
        ("session_availability", 0.0476), ("connection_density", 0.0476), ("quality", 0.03), ("reliability", 0.03),
    ] },
    Pack { name: "offline-friendly", weights: &[
        ("quota", 0.3324), ("health", 0.2667), ("cost_inv", 0.0752), ("latency_inv", 0.0476),
        ("stability", 0.0952), ("tier_priority", 0.0376),
        ("session_availability", 0.0476), ("connection_density", 0.0476), ("quality", 0.02), ("reliability", 0.03),
    ] },
    Pack { name: "reliability-first", weights: &[
        ("quota", 0.1133), ("health", 0.3524), ("cost_inv", 0.0181), ("latency_inv", 0.0476),
        ("task_fit", 0.0952), ("stability", 0.1905), ("tier_priority", 0.0276),
        ("session_availability", 0.0476), ("connection_density", 0.0476), ("quality", 0.02), ("reliability", 0.04),
    ] },
    Pack { name: "chaos-mode", weights: &[
        ("quota", 0.0376), ("health", 0.4000), ("cost_inv", 0.0140), ("latency_inv", 0.0186),
        ("task_fit", 0.1905), ("stability", 0.1714), ("tier_priority", 0.0040), ("context_affinity", 0.0186),
        ("session_availability", 0.0476), ("connection_density", 0.0476), ("quality", 0.02), ("reliability", 0.03),
    ] },
];

#[cfg(test)]
mod tests {
    use super::{COUNT, FACTORS, PACKS, Pack, Weights, place};

    fn sum(weights: &Weights) -> f64 {
        ((0..COUNT).map(|place| weights.at(place)).sum::<f64>() * 1e4).round() / 1e4
    }

    #[test]
    fn every_map_sums_to_one() {
        assert_eq!(FACTORS.len(), COUNT);
        assert_eq!(sum(&Weights::default()), 1.0);
        assert_eq!(PACKS.len(), 6);
        for pack in PACKS {
            assert!(
                (sum(&pack.weights()) - 1.0).abs() <= 1e-4,
                "{} sums to {}",
                pack.name,
                sum(&pack.weights())
            );
        }
        assert_eq!(Pack::find(" Ship-Fast ").map(|pack| pack.name), Some("ship-fast"));
        assert!(Pack::find("turbo").is_none());
    }

    #[test]
    fn stated_weights_are_shares_of_their_sum() {
        let weights = Weights::of([
            ("quota", 3.0),
            ("latencyInv", 1.0),
            ("health", -1.0),
            ("cost_inv", f64::NAN),
            ("luck", 9.0),
        ]);
        let at = |name| weights.at(place(name).unwrap());
        assert_eq!([at("quota"), at("latency_inv"), at("health"), at("cost_inv")], [0.75, 0.25, 0.0, 0.0]);
        assert_eq!(Weights::of([("health", -1.0)]), Weights::default());
        assert_eq!(Weights::of([("health", f64::INFINITY)]), Weights::default());
    }
}
