//! What errors say, as data: the text lists of core 3.2 with what speaks against each
//! (style.md 6.5: a text rule without a veto finds its word in any sentence).
//!
//! Every entry and every veto has a test row in `tests/lists.rs`, which fails when one is
//! added without. A list that ends an account's use never holds general words.

mod account;
mod quota;
mod request;

use super::phrase::{FAR, List, Phrase};
use Phrase::{Order, Text};

pub(super) use account::{BAN, BILLING_SUSPENSION, CREDITS, EDGE_REFUSAL, GOOGLE_BILLING, REFRESHABLE};
pub(super) use quota::{
    CLAUDE_LIMIT, CONCURRENCY, DAILY, GOOGLE_PER_DAY, GOOGLE_PER_MINUTE, QUOTA, QUOTA_CLASS, SESSION,
    SUBSCRIPTION, TOKENS_PER_DAY, WEEKLY,
};
pub(super) use request::{
    ACCESS_FORM, BAD_CREDENTIAL, MODEL_ACCESS, MODEL_NOT_FOR_KEY, MODEL_UNAVAILABLE, MODEL_UNKNOWN, OVERFLOW,
    PARAMETER, RESOURCE, RESPONSE_BINDING, RETIRED, RETIRED_IN_CONTENT,
};

/// Servers that check requests against a schema repeat the request in their answer: whatever
/// stands there, the user may have written.
const ECHO: Phrase = Order(FAR, &[&["\"loc\""], &["\"input\""]]);

/// S5.
pub(super) const MOVED: List = List {
    id: "S5",
    about: "the endpoint has moved",
    any: &[
        Text("endpoint has moved"),
        Text("no longer works"),
        Order(1, &[&["update"], &["your"], &["base"], &["url"]]),
    ],
    unless: &[ECHO],
};

/// S13.
pub(super) const THROTTLING: List = List {
    id: "S13",
    about: "throttling, by a status of content",
    any: &[
        Order(1, &[&["high"], &["frequency"]]),
        Text("non-compliant"),
        Text("too many requests"),
        Order(1, &[&["|rate"], &["limit"]]),
        Text("频繁"),
        Text("频率"),
    ],
    // The request alone is larger than what the account may send per minute.
    unless: &[Text("request too large"), ECHO],
};

// === R1: texts of any status that says no more than they do ===

pub(super) const NO_CREDENTIALS: List =
    List { id: "R1a", about: "no credentials", any: &[Text("no credentials")], unless: &[] };

pub(super) const NOT_ALLOWED: List =
    List { id: "R1b", about: "request not allowed", any: &[Text("request not allowed")], unless: &[] };

pub(super) const IMPROPERLY_FORMED: List = List {
    id: "R1c",
    about: "improperly formed request",
    any: &[Text("improperly formed request")],
    unless: &[],
};

pub(super) const RATE_LIMIT: List = List {
    id: "R1d",
    about: "rate limit",
    any: &[Text("|rate limit"), Text("too many requests")],
    unless: &[],
};

pub(super) const QUOTA_WORDS: List = List {
    id: "R1e",
    about: "quota",
    any: &[
        Text("hour quota"),
        Text("quota has been exceeded"),
        Text("quota exceeded"),
        Text("quota will reset"),
        Text("exhausted your capacity"),
        Text("quota exhausted"),
        Text("free tier of the model has been exhausted"),
    ],
    unless: &[],
};

pub(super) const CAPACITY: List = List {
    id: "R1f",
    about: "no capacity",
    any: &[Text("|capacity|"), Text("overloaded"), Text("high demand")],
    unless: &[],
};

/// The word that keeps a failure off the breaker (core 1.6.2, B22).
pub(super) const OVERLOADED: List =
    List { id: "1.6.2", about: "overloaded", any: &[Text("overloaded")], unless: &[] };

/// Every list, for documentation and tests.
pub(super) const ALL: &[&List] = &[
    &BAN,
    &CREDITS,
    &GOOGLE_BILLING,
    &REFRESHABLE,
    &RETIRED,
    &RETIRED_IN_CONTENT,
    &MOVED,
    &BILLING_SUSPENSION,
    &DAILY,
    &TOKENS_PER_DAY,
    &SUBSCRIPTION,
    &CLAUDE_LIMIT,
    &WEEKLY,
    &SESSION,
    &CONCURRENCY,
    &EDGE_REFUSAL,
    &THROTTLING,
    &QUOTA,
    &QUOTA_CLASS,
    &GOOGLE_PER_DAY,
    &GOOGLE_PER_MINUTE,
    &RESPONSE_BINDING,
    &RESOURCE,
    &OVERFLOW,
    &PARAMETER,
    &MODEL_ACCESS,
    &ACCESS_FORM,
    &MODEL_UNKNOWN,
    &MODEL_UNAVAILABLE,
    &MODEL_NOT_FOR_KEY,
    &BAD_CREDENTIAL,
    &NO_CREDENTIALS,
    &NOT_ALLOWED,
    &IMPROPERLY_FORMED,
    &RATE_LIMIT,
    &QUOTA_WORDS,
    &CAPACITY,
    &OVERLOADED,
];
