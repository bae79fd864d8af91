//! Samples of the texts that any status may carry.

use super::super::super::Detector;
use super::super::super::lists::{
    CAPACITY, IMPROPERLY_FORMED, MOVED, NO_CREDENTIALS, NOT_ALLOWED, OVERLOADED, QUOTA_WORDS, RATE_LIMIT,
    THROTTLING,
};
use super::Samples;
use crate::ids::Class::{Apikey, Oauth};

pub(super) const SAMPLES: &[Samples] = &[
    Samples {
        list: &MOVED,
        hits: &[
            &["The endpoint has moved"],
            &["this address no longer works"],
            &["update your base_url", "update your base url", "updateyourbaseurl"],
        ],
        vetoed: &[r#"{"loc":[],"input":"it no longer works"}"#],
        misses: &["it works", "update your client"],
        row: Some((404, Apikey, Detector::EndpointMoved)),
    },
    Samples {
        list: &THROTTLING,
        hits: &[
            &["high-frequency", "high frequency"],
            &["non-compliant"],
            &["too many requests"],
            &["rate limit", "rate_limit", "ratelimit"],
            &["请求过于频繁"],
            &["频率"],
        ],
        vetoed: &["Request too large: rate limit", r#"{"loc":[],"input":"what is a rate limit"}"#],
        misses: &["could not generate limits", "frequency"],
        row: Some((413, Apikey, Detector::ContentThrottled)),
    },
    Samples {
        list: &NO_CREDENTIALS,
        hits: &[&["No credentials for provider x"]],
        vetoed: &[],
        misses: &["credentials"],
        row: Some((500, Apikey, Detector::NoCredentials)),
    },
    Samples {
        list: &NOT_ALLOWED,
        hits: &[&["Request not allowed"]],
        vetoed: &[],
        misses: &["not allowed"],
        row: Some((403, Oauth, Detector::RequestRejected)),
    },
    Samples {
        list: &IMPROPERLY_FORMED,
        hits: &[&["Improperly formed request"]],
        vetoed: &[],
        misses: &["malformed"],
        row: Some((409, Apikey, Detector::MalformedRequest)),
    },
    Samples {
        list: &RATE_LIMIT,
        hits: &[&["rate limit"], &["too many requests"]],
        vetoed: &[],
        misses: &["generate limits", "many requests"],
        row: Some((503, Apikey, Detector::RateLimitText)),
    },
    Samples {
        list: &QUOTA_WORDS,
        hits: &[
            &["hour quota"],
            &["quota has been exceeded"],
            &["quota exceeded"],
            &["quota will reset"],
            &["you have exhausted your capacity"],
            &["quota exhausted"],
            &["free tier of the model has been exhausted"],
        ],
        vetoed: &[],
        misses: &["quota"],
        row: None,
    },
    Samples {
        list: &CAPACITY,
        hits: &[&["at capacity"], &["Overloaded"], &["high demand"]],
        vetoed: &[],
        misses: &["the model high-capacity2", "demand"],
        row: Some((503, Apikey, Detector::CapacityText)),
    },
    Samples {
        list: &OVERLOADED,
        hits: &[&["the server is overloaded", "overloaded_error"]],
        vetoed: &[],
        misses: &["overload"],
        row: None,
    },
];
