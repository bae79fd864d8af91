//! Other names that clients may write: aliases of models and combos, and patterns that lead to
//! combos (routing 2.1, 12.3).

use std::collections::HashMap;
use std::sync::Arc;

use super::matches;

/// Aliases: a name, or a pattern with `*`, and what it stands for.
///
/// The target is a combo, `provider/model`, or a bare model. It is never looked up as an alias
/// again, so aliases cannot form a loop.
#[derive(Clone, Debug, Default)]
pub struct Aliases {
    exact: HashMap<Arc<str>, Arc<str>>,
    /// The one that says most stands first.
    patterns: Vec<(Arc<str>, Arc<str>)>,
}

impl Aliases {
    /// What the name stands for, where it is an alias as it is written.
    pub fn exact(&self, name: &str) -> Option<&str> {
        self.exact.get(name).map(|target| &**target)
    }

    /// All that they stand for.
    pub fn targets(&self) -> impl Iterator<Item = &str> {
        self.exact.values().chain(self.patterns.iter().map(|(_, target)| target)).map(|target| &**target)
    }

    /// What the name stands for by a pattern: the one with the most letters decides.
    pub fn by_pattern(&self, name: &str) -> Option<&str> {
        let (_, target) = self.patterns.iter().find(|(pattern, _)| matches(pattern, name))?;
        Some(target)
    }
}

impl FromIterator<(Arc<str>, Arc<str>)> for Aliases {
    fn from_iter<I: IntoIterator<Item = (Arc<str>, Arc<str>)>>(all: I) -> Self {
        let (mut patterns, exact): (Vec<_>, _) = all.into_iter().partition(|(from, _)| from.contains('*'));
        let letters = |pattern: &str| pattern.bytes().filter(|byte| *byte != b'*').count();
        patterns
            .sort_by(|(one, _), (other, _)| letters(other).cmp(&letters(one)).then_with(|| one.cmp(other)));
        Self { exact: exact.into_iter().collect(), patterns }
    }
}

/// Names that fit a pattern ask for a combo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// The pattern; `*` stands for any run of characters.
    pub pattern: Arc<str>,
    /// Name of the combo.
    pub combo: Arc<str>,
    /// The smaller one decides where several fit; of equal ones the first.
    pub priority: i64,
}
