//! Texts about quotas: whose window is used up, and for how long.

use super::super::phrase::{FAR, List, Phrase};
use super::ECHO;
use Phrase::{All, Near, Order, Text};

/// S7.
pub(in crate::verdict) const DAILY: List = List {
    id: "S7",
    about: "the quota of the day",
    any: &[Text("today's quota"), Text("daily quota"), Text("try again tomorrow")],
    unless: &[ECHO],
};

/// S7, where only a known clock or a reset header makes it daily (core 3.2.3).
pub(in crate::verdict) const TOKENS_PER_DAY: List =
    List { id: "S7t", about: "tokens per day", any: &[Text("tpd rate limit")], unless: &[ECHO] };

/// S8, and the wording of FC-022.
pub(in crate::verdict) const SUBSCRIPTION: List = List {
    id: "S8",
    about: "the limit of a subscription",
    any: &[
        Text("usage limit reached"),
        Text("usage limit has been"),
        Text("claude pro usage limit"),
        Text("you've reached your usage limit"),
        Text("you have reached your usage limit"),
        Text("subscription quota exceeded"),
    ],
    unless: &[ECHO],
};

/// S8, for the provider `claude` alone.
pub(in crate::verdict) const CLAUDE_LIMIT: List = List {
    id: "S8c",
    about: "Claude's account limit",
    any: &[Text("this request would exceed your account's rate limit")],
    unless: &[],
};

/// S9.
pub(in crate::verdict) const WEEKLY: List = List {
    id: "S9",
    about: "the limit of the week",
    any: &[
        Text("weekly usage limit"),
        Text("weekly limit reached"),
        Text("reached your weekly"),
        Text("1-week quota"),
        Text("|week quota"),
        Text("weekly/monthly limit"),
        All(&[Text("weekly"), Text("quota"), Text("exhaust")]),
    ],
    unless: &[ECHO],
};

/// S10.
pub(in crate::verdict) const SESSION: List = List {
    id: "S10",
    about: "the limit of the session",
    any: &[
        Text("session usage limit"),
        Text("session limit reached"),
        All(&[Text("reached your session"), Text("usage limit")]),
    ],
    unless: &[ECHO],
};

/// S11.
pub(in crate::verdict) const CONCURRENCY: List = List {
    id: "S11",
    about: "too many at once",
    any: &[
        Text("too many concurrent requests"),
        Text("concurrency limit"),
        Text("parallel request limit"),
        Text("并发数过高"),
    ],
    unless: &[],
};

/// Q1: a 429 that says so is about a quota, whoever sent it.
pub(in crate::verdict) const QUOTA: List = List {
    id: "Q1",
    about: "a quota",
    any: &[
        Order(FAR, &[&["daily"], &["|limit", "|quota"]]),
        Order(FAR, &[&["per-day", "per day"], &["|limit"]]),
        Order(FAR, &[&["monthly"], &["|limit", "|quota"]]),
        Order(FAR, &[&["per-month", "per month"], &["|limit"]]),
        Near(FAR, &["quota"], &["exceed"]),
        Order(FAR, &[&["insufficient"], &["quota"]]),
        Order(FAR, &[&["billing"], &["|cap|"]]),
        Order(FAR, &[&["|credit"], &["exhaust"]]),
        Text("out of credits"),
        Order(1, &[&["|hard"], &["limit"]]),
        Order(FAR, &[&["|plan|"], &["|limit"]]),
        Text("individual quota reached"),
        Text("enable overages"),
        Text("insufficient_g1_credits_balance"),
        Order(FAR, &[&["resource has been exhausted"], &["reset after"]]),
        Text("daily free allocation"),
        Text("have exhausted their quota"),
        // As the whole value of a JSON key, give or take dots and blanks.
        Order(3, &[&["\"error\""], &["\"usage limit reached"], &["\""]]),
        Text("tpd rate limit"),
        Text("insufficient balance"),
        Order(FAR, &[&["限额将在"], &["重置"]]),
        Text("使用上限"),
        Text("调用上限"),
        Text("额度已用尽"),
        Text("额度已用完"),
    ],
    unless: &[ECHO],
};

/// 3.2.4: what makes a text with a stated wait a quota, beside Q1, S8 and S2.
pub(in crate::verdict) const QUOTA_CLASS: List = List {
    id: "3.2.4",
    about: "quota words",
    any: &[
        Text("quota exceeded"),
        Text("quota depleted"),
        Text("quota will reset"),
        Text("quota has been exceeded"),
        Text("hour quota"),
        Text("billing"),
    ],
    unless: &[ECHO],
};

const GOOGLE: Phrase = Text("generativelanguage.googleapis.com");

/// 3.2.2: a metric per day, whatever wait stands beside it (FC-076).
pub(in crate::verdict) const GOOGLE_PER_DAY: List = List {
    id: "3.2.2d",
    about: "Google's metric per day",
    any: &[All(&[GOOGLE, Text("perday")]), All(&[GOOGLE, Text("_per_day")]), All(&[GOOGLE, Text("per day")])],
    unless: &[],
};

/// 3.2.2: a metric per minute.
pub(in crate::verdict) const GOOGLE_PER_MINUTE: List = List {
    id: "3.2.2m",
    about: "Google's metric per minute",
    any: &[All(&[GOOGLE, Text("token_count")]), All(&[GOOGLE, Text("_requests")])],
    unless: &[],
};
