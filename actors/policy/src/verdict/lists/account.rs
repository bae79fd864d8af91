//! Texts about the account itself: disabled, unpaid, refused at the edge.

use super::super::phrase::{FAR, List, Phrase};
use super::ECHO;
use Phrase::{All, Near, Order, Text};

/// S1; an operator's own signals stand beside it. Ends the account's use on any status.
pub(in crate::verdict) const BAN: List = List {
    id: "S1",
    about: "the account is disabled",
    any: &[
        Text("account_deactivated"),
        Text("account has been deactivated"),
        Text("account has been disabled"),
        Text("your account has been suspended"),
        Text("this account is deactivated"),
        Text("verify your account to continue"),
        Text("this service has been disabled in this account"),
    ],
    unless: &[ECHO],
};

/// S2. Google's compatible endpoints say "exceeded your current quota" of one minute too.
pub(in crate::verdict) const CREDITS: List = List {
    id: "S2",
    about: "out of credit",
    any: &[
        Text("insufficient_quota"),
        Text("billing_hard_limit_reached"),
        Text("exceeded your current quota"),
        Text("exceeded your current usage quota"),
        Text("credit_balance_too_low"),
        Text("credit balance is too low"),
        Text("credits exhausted"),
        Text("out of credits"),
        Text("payment required"),
        Text("free tier of the model has been exhausted"),
        Text("tier has been exhausted"),
        Text("insufficient balance"),
        Text("insufficient_balance"),
        Text("insufficient account balance"),
        Text("insufficient credit balance"),
        Text("insufficient credit"),
    ],
    unless: &[Text("generativelanguage.googleapis.com"), Text("ai.google.dev"), ECHO],
};

/// FC-023 (v): Google asks for billing with 400 FAILED_PRECONDITION.
pub(in crate::verdict) const GOOGLE_BILLING: List = List {
    id: "S2g",
    about: "Google asks for billing",
    any: &[Near(FAR * 4, &["failed_precondition"], &["billing"]), Text("billing_disabled")],
    unless: &[ECHO],
};

/// S3: a fresh token helps, so it is never the end.
pub(in crate::verdict) const REFRESHABLE: List = List {
    id: "S3",
    about: "the token wants a refresh",
    any: &[
        Text("invalid authentication credentials"),
        Text("oauth 2"),
        Text("login cookie"),
        Text("valid authentication credential"),
        Text("invalid credentials"),
    ],
    unless: &[],
};

/// S6.
pub(in crate::verdict) const BILLING_SUSPENSION: List = List {
    id: "S6",
    about: "suspended for its bills",
    any: &[Near(120, &["|suspended"], &["spending limit", "billing", "invoice", "payment"])],
    unless: &[ECHO],
};

/// S12: the edge in front of the provider dislikes how we look; no account is at fault.
pub(in crate::verdict) const EDGE_REFUSAL: List = List {
    id: "S12",
    about: "refused by the edge before the provider",
    any: &[
        Text("browser_signature_banned"),
        Order(4, &[&["error_code", "error code"], &["1010|"]]),
        All(&[NOT_RETRYABLE, Order(3, &[&["cloudflare_error"], &["true"]])]),
        All(&[NOT_RETRYABLE, Order(3, &[&["owner_action_required"], &["true"]])]),
        All(&[NOT_RETRYABLE, Text("|cloudflare|")]),
    ],
    unless: &[],
};

const NOT_RETRYABLE: Phrase = Order(3, &[&["\"retryable\""], &["false"]]);
