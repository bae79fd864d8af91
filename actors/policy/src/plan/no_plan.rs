//! Why a request has no plan: nobody knows its name, or nobody could serve it. Told to the client
//! before anything is sent.

use std::sync::Arc;

use super::Lack;
use crate::catalogue::Dialect;

/// Why there is no plan at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoPlan {
    /// The name cannot be a model's (routing 12.2).
    BadName,
    /// Nobody knows the name.
    UnknownModel,
    /// The key may only ask for the models of its pools, and this is none of them (flow 2.6).
    NotForKey,
    /// Several providers list the bare name; the ways to write it.
    Ambiguous(Vec<String>),
    /// Every target speaks another dialect than the client.
    FormatNotSupported(Vec<Dialect>),
    /// Every window is known, and the input fits into none (routing 3.1).
    ContextTooLong {
        /// Steps the combo has.
        pool_size: usize,
        /// The largest window, tokens.
        largest: u64,
        /// The input, tokens.
        input: u64,
    },
    /// No target can do what the request needs (routing 3.5).
    CapabilityMismatch {
        /// Steps the combo has.
        pool_size: usize,
        /// What they lack.
        lacks: Vec<Lack>,
    },
    /// No target has the window that the combo asks for (routing 3.6).
    ContextRequirements {
        /// Steps the combo has.
        pool_size: usize,
    },
    /// It asks for itself: the combos on the way, the last one is there already (routing 2.6).
    Circle(Vec<Arc<str>>),
    /// Its judge, as it is named, could not be asked (routing 6.1g).
    Judge(Arc<str>, Box<NoPlan>),
}
