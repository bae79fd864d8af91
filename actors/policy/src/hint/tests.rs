//! What a provider wrote and what we wait, as literal rows, by where it stood.

mod headers;
