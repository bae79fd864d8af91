//! Bytes that are kept back for a while.

use bytes::{Bytes, BytesMut};

/// Parts in a row: one stays as it is, several are copied together.
#[derive(Default)]
pub(super) enum Held {
    #[default]
    None,
    One(Bytes),
    Many(BytesMut),
}

impl Held {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::None => 0,
            Self::One(part) => part.len(),
            Self::Many(parts) => parts.len(),
        }
    }

    pub(super) fn push(&mut self, part: Bytes) {
        match self {
            Self::None => *self = Self::One(part),
            Self::One(first) => {
                let mut parts = BytesMut::with_capacity(first.len() + part.len().max(4096));
                parts.extend_from_slice(first);
                parts.extend_from_slice(&part);
                *self = Self::Many(parts);
            }
            Self::Many(parts) => parts.extend_from_slice(&part),
        }
    }

    pub(super) fn join(self) -> Bytes {
        match self {
            Self::None => Bytes::new(),
            Self::One(part) => part,
            Self::Many(parts) => parts.freeze(),
        }
    }
}
