//! Samples of the texts about an account.

use super::super::super::Detector;
use super::super::super::lists::{
    BAN, BILLING_SUSPENSION, CREDITS, EDGE_REFUSAL, GOOGLE_BILLING, REFRESHABLE,
};
use super::Samples;
use crate::ids::Class::{Apikey, Oauth};

pub(super) const SAMPLES: &[Samples] = &[
    Samples {
        list: &BAN,
        hits: &[
            &[r#"{"error":{"code":"account_deactivated"}}"#],
            &["This account has been deactivated."],
            &["Your account has been disabled after an automatic review"],
            &["your account has been suspended"],
            &["this account is deactivated"],
            &["Please verify your account to continue."],
            &[
                "This service has been disabled in this account",
                "This service has been disabled in this account for violation of our terms",
            ],
        ],
        vetoed: &[r#"{"detail":[{"loc":["body"],"input":"why: your account has been suspended"}]}"#],
        misses: &["account deactivated", "your account is fine", "the service has been disabled"],
        row: Some((403, Apikey, Detector::BanText)),
    },
    Samples {
        list: &CREDITS,
        hits: &[
            &[r#"{"error":{"code":"insufficient_quota"}}"#],
            &["billing_hard_limit_reached"],
            &["You exceeded your current quota, please check your plan"],
            &["you exceeded your current usage quota"],
            &["credit_balance_too_low"],
            &["Your credit balance is too low to access the API", "credit balance is too low"],
            &["credits exhausted"],
            &["you are out of credits"],
            &["Payment Required"],
            &["The free tier of the model has been exhausted."],
            &["your tier has been exhausted"],
            &["Insufficient Balance"],
            &["insufficient_balance"],
            &["insufficient account balance"],
            &["insufficient credit balance"],
            &["Insufficient credits", "insufficient credit"],
        ],
        vetoed: &[
            "exceeded your current quota, metric: generativelanguage.googleapis.com/input",
            "exceeded your current quota, see https://ai.google.dev/gemini-api/docs/rate-limits",
            r#"{"detail":[{"loc":["body"],"input":"we are out of credits, write a letter"}]}"#,
        ],
        misses: &["insufficient permissions", "credit where it is due", "quota exceeded"],
        row: Some((402, Apikey, Detector::Credits)),
    },
    Samples {
        list: &GOOGLE_BILLING,
        hits: &[
            &[
                r#"{"error":{"code":400,"message":"Please enable billing on your project","status":"FAILED_PRECONDITION"}}"#,
                r#"{"error":{"status":"FAILED_PRECONDITION","message":"billing is off"}}"#,
            ],
            &[r#"{"error":{"details":[{"reason":"BILLING_DISABLED"}]}}"#],
        ],
        vetoed: &[r#"{"loc":[],"input":"FAILED_PRECONDITION and billing"}"#],
        misses: &[r#"{"error":{"message":"User location is not supported","status":"FAILED_PRECONDITION"}}"#],
        row: Some((400, Apikey, Detector::Credits)),
    },
    Samples {
        list: &REFRESHABLE,
        hits: &[
            &["Request had invalid authentication credentials."],
            &["Expected OAuth 2 access token"],
            &["login cookie or other"],
            &["other valid authentication credential"],
            &["Invalid credentials"],
        ],
        vetoed: &[],
        misses: &["invalid api key", "oauth"],
        row: Some((401, Oauth, Detector::Unauthorized)),
    },
    Samples {
        list: &BILLING_SUSPENSION,
        hits: &[&[
            "Account x is suspended, monthly spending limit",
            "suspended for billing reasons",
            "an unpaid invoice: the project is suspended",
            "payment failed, access suspended",
        ]],
        vetoed: &[r#"{"loc":[],"input":"suspended for a missing payment"}"#],
        misses: &[
            "the train is suspended",
            "unsuspended billing",
            "suspended ------------------------------------------------------------------------------------------ \
             ---------------------------------- billing",
        ],
        row: Some((412, Apikey, Detector::BillingSuspended)),
    },
    Samples {
        list: &EDGE_REFUSAL,
        hits: &[
            &[r#"{"error":"browser_signature_banned"}"#],
            &[r#"{"error_code": 1010}"#, r#"{"error_code":1010}"#, "<h1>Error code: 1010</h1>"],
            &[r#"{"retryable": false, "cloudflare_error": true}"#],
            &[r#"{"owner_action_required":true,"retryable":false}"#],
            &[r#"{"retryable":false,"served by":"Cloudflare"}"#],
        ],
        vetoed: &[],
        misses: &[
            r#"{"error_code": 10100}"#,
            r#"{"retryable": true, "cloudflare_error": true}"#,
            r#"{"retryable": false}"#,
            "cloudflare",
        ],
        row: Some((403, Apikey, Detector::EdgeRefusal)),
    },
];
