//! What combos make of a request before one of their targets is asked (routing 1.1).
//!
//! A combo that another one asks as a whole is handed what that one has made of it: so the words of
//! the inner one stand before those of the outer one, and both before the client's. Most
//! configurations have none of this, and then nothing is looked for.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use policy::catalogue::Dialect;
use policy::plan::{Place, Planned};

use super::cascade::Run;
use crate::formats::reshape::Reshape;
use crate::upstream::Route;

/// A body, and where its model stands.
pub(super) type Written = (Bytes, Range<usize>);

/// What each combo changes, by its name; most change nothing.
#[derive(Debug, Default)]
pub struct Reshapes(HashMap<Arc<str>, Reshape>);

impl FromIterator<(Arc<str>, Reshape)> for Reshapes {
    fn from_iter<I: IntoIterator<Item = (Arc<str>, Reshape)>>(all: I) -> Self {
        Self(all.into_iter().collect())
    }
}

impl Reshapes {
    /// Those of the combos that a target was planned by, the outermost first.
    fn of(&self, place: Option<&Place>) -> Vec<&Reshape> {
        let mut found = Vec::new();
        let mut next = place.filter(|_| !self.0.is_empty());
        while let Some(place) = next {
            found.extend(self.0.get(&place.combo));
            next = place.within.as_deref();
        }
        found.reverse();
        found
    }

    /// What one combo makes of a body; `None`: it stays as it is.
    pub(super) fn of_combo(
        &self,
        combo: &str,
        route: Route,
        (body, span): (&Bytes, &Range<usize>),
    ) -> Option<Written> {
        self.0.get(combo)?.apply(dialect(route)?, body, span)
    }

    /// Bytes of text that one combo adds.
    pub(super) fn added_by(&self, combo: &str) -> usize {
        self.0.get(combo).map_or(0, Reshape::adds)
    }
}

/// The dialect of a route that takes words: tokens are counted of what would be sent.
fn dialect(route: Route) -> Option<Dialect> {
    (route != Route::Embeddings).then(|| route.dialect())
}

impl Run<'_> {
    /// What the combos of a target make of a body; `None`: it stays as it is.
    pub(super) fn reshaped(&self, target: &Planned, body: &Bytes, span: &Range<usize>) -> Option<Written> {
        let reshapes = self.worker.tower.reshapes.load();
        let dialect = dialect(self.inquiry.route)?;
        let each = reshapes.of(target.place.as_deref()).into_iter();
        each.fold(None, |made, reshape| {
            let (body, span) = made.as_ref().map_or((body, span), |(body, span)| (body, span));
            reshape.apply(dialect, body, span).or(made)
        })
    }

    /// Bytes that are asked of a target: the client's, and what its combos add.
    pub(super) fn asks_of(&self, target: &Planned) -> usize {
        let reshapes = self.worker.tower.reshapes.load();
        let added: usize = reshapes.of(target.place.as_deref()).into_iter().map(Reshape::adds).sum();
        self.inquiry.body.len() + if dialect(self.inquiry.route).is_some() { added } else { 0 }
    }
}
