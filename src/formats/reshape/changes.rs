//! Changes of a body, collected first and made from its end, so that the places before stay right.

use std::ops::Range;

use bytes::Bytes;

use crate::formats::edit::{field_of, replaced};

/// One change.
pub(super) enum Change {
    /// This takes the place of what stands there.
    Put(Range<usize>, String),
    /// The field whose value stands there goes, with its name.
    Drop(Range<usize>),
}

impl Change {
    fn start(&self) -> usize {
        match self {
            Self::Put(span, _) | Self::Drop(span) => span.start,
        }
    }
}

/// Changes of different places.
#[derive(Default)]
pub(super) struct Changes(Vec<Change>);

impl Changes {
    pub(super) fn add(&mut self, change: Change) {
        self.0.push(change);
    }

    /// Makes them, and says where `kept` stands then; `None`: there are none.
    pub(super) fn make(mut self, body: &Bytes, kept: &Range<usize>) -> Option<(Bytes, Range<usize>)> {
        if self.0.is_empty() {
            return None;
        }
        self.0.sort_by_key(|change| std::cmp::Reverse(change.start()));
        let (mut body, mut kept) = (body.clone(), kept.clone());
        for change in self.0 {
            let (span, text) = match change {
                Change::Put(span, text) => (span, text),
                Change::Drop(value) => (field_of(&body, &value), String::new()),
            };
            body = replaced(&body, span.clone(), text.as_bytes());
            if kept.start >= span.end {
                let moved = |at: usize| at - span.len() + text.len();
                kept = moved(kept.start)..moved(kept.end);
            }
        }
        Some((body, kept))
    }
}
