//! Runs: a strategy stays with one entry for some turns before it goes on (routing 4.2d, 8.2-8.4).
//!
//! A turn counts when it is picked, not when it is answered. Counted by answers, the late ones of
//! a burst would start the run again that they have just ended, and one entry would keep it.

use std::sync::Arc;

use crate::strategy::{ComboState, Field, News, Sticky};

/// Longest run (routing 4.2d, 8.2).
const LONGEST: u32 = 1000;

/// The number of turns that is meant: 1 to 1000.
pub(super) fn length(limit: u32) -> u32 {
    limit.clamp(1, LONGEST)
}

/// The entry whose run goes on; one that cannot be asked now has lost it.
pub(super) fn goes_on(field: &Field<'_>, length: u32) -> Option<usize> {
    let run = field.state.sticky.as_ref().filter(|run| run.count < length)?;
    let index = (0..field.pool.count()).find(|index| *field.pool.key(*index) == *run.key)?;
    field.pool.eligible(index).then_some(index)
}

/// The run once this entry has had its turn; `None`: it is over.
pub(super) fn after(field: &Field<'_>, entry: usize, length: u32) -> Option<Sticky> {
    let key = field.pool.key(entry);
    let before = field.state.sticky.as_ref().filter(|run| run.count < length && *run.key == *key);
    let (key, count) = before.map_or((Arc::from(key), 1), |run| (run.key.clone(), run.count + 1));
    (count < length).then_some(Sticky { key, count })
}

/// A failed first choice ends its run. Who served in its place begins one, unless another has
/// begun meanwhile; then `true`.
pub(super) fn heard(state: &mut ComboState, news: &News<'_>, length: u32) -> bool {
    let own = state.sticky.as_ref().is_some_and(|run| run.key == *news.key);
    if own && news.first && !news.good {
        state.sticky = None;
    }
    let begins = state.sticky.is_none() && !news.first && news.good && length > 1;
    if begins {
        state.sticky = Some(Sticky { key: news.key.clone(), count: 1 });
    }
    begins
}
