//! One POST to a token endpoint. Never twice: the second use of a refresh token revokes an
//! account, so nothing here is repeated, and no pooled connection is used that might have
//! swallowed the first.

use std::time::Duration;

use bytes::BytesMut;
use futures_util::StreamExt;
use policy::hint;
use policy::time::Millis;
use policy::token::{Meaning, Reply, meaning};
use serde::Serialize;
use serde_json::Value;

use super::Client;
use crate::settings::Secret;
use crate::upstream::body::AnswerBody;
use crate::upstream::call::{Answer, Dialler};
use crate::upstream::headers::finder;

/// How long all of it may take.
const LIMIT: Duration = Duration::from_secs(15);
/// Most that is read of an answer.
const LONGEST: usize = 64 * 1024;

/// What the token endpoint said.
pub(super) enum Answered {
    /// New tokens.
    Pair { access: Secret, refresh: Option<Secret>, lives_ms: Option<Millis> },
    /// None. `wait_ms`: the wait it stated; `status` 0: there was no answer.
    Nothing { meaning: Meaning, status: u16, wait_ms: Option<Millis> },
}

#[derive(Serialize)]
struct Form<'a> {
    grant_type: &'static str,
    refresh_token: &'a str,
    client_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_secret: Option<&'a str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    scope: &'a str,
}

/// Asks for new tokens.
pub(super) async fn ask(dialler: &Dialler, client: &Client, refresh: &Secret, now: Millis) -> Answered {
    let form = Form {
        grant_type: "refresh_token",
        refresh_token: refresh.expose(),
        client_id: &client.client_id,
        client_secret: client.client_secret.as_ref().map(Secret::expose),
        scope: &client.scope,
    };
    let asked = async {
        let answer = dialler.post_form(&client.token_url, client.proxy.as_ref(), &form).await.ok()?;
        let Answer { status, headers, body } = answer;
        let wait = hint::from_headers(finder(&headers), status, now);
        Some((status, wait.map(|hint| hint.wait_ms), read(body).await))
    };
    match tokio::time::timeout(LIMIT, asked).await {
        Ok(Some((status, wait_ms, body))) => judge(status, wait_ms, &body),
        Ok(None) | Err(_) => Answered::Nothing { meaning: Meaning::Retry, status: 0, wait_ms: None },
    }
}

async fn read(mut body: AnswerBody) -> BytesMut {
    let mut read = BytesMut::new();
    while let Some(Ok(part)) = body.next().await {
        read.extend_from_slice(&part);
        if read.len() > LONGEST {
            break;
        }
    }
    read
}

fn judge(status: u16, wait_ms: Option<Millis>, body: &[u8]) -> Answered {
    let said: Value = serde_json::from_slice(body).unwrap_or_default();
    let texts = |places: &[&str]| -> Vec<String> {
        places.iter().filter_map(|place| Some(said.pointer(place)?.as_str()?.to_owned())).collect()
    };
    let codes = texts(&["/error", "/error/code", "/error/type", "/code"]);
    let sentences = texts(&["/error_description", "/error/message", "/message"]);
    let access = secret(&said["access_token"]);
    let meaning = meaning(Reply {
        status,
        granted: access.is_some(),
        codes: &codes.iter().map(String::as_str).collect::<Vec<_>>(),
        texts: &sentences.iter().map(String::as_str).collect::<Vec<_>>(),
    });
    match (meaning, access) {
        (Meaning::Granted, Some(access)) => Answered::Pair {
            access,
            refresh: secret(&said["refresh_token"]),
            lives_ms: lives_ms(&said["expires_in"]),
        },
        (meaning, _) => Answered::Nothing { meaning, status, wait_ms },
    }
}

/// A token that a header can carry.
fn secret(value: &Value) -> Option<Secret> {
    let text = value.as_str().filter(|text| !text.is_empty() && !text.chars().any(char::is_control))?;
    Some(Secret::from(text))
}

/// Seconds, as a number or, of some vendors, as a text. One that is over already lives for nothing.
fn lives_ms(value: &Value) -> Option<Millis> {
    let seconds = match value {
        Value::String(text) => text.trim().parse::<f64>().ok()?,
        value => value.as_f64()?,
    };
    seconds.is_finite().then_some((seconds.max(0.0) * 1_000.0) as Millis)
}

#[cfg(test)]
mod tests {
    use policy::token::Meaning;
    use serde_json::json;

    use super::{Answered, judge, lives_ms};

    fn means(status: u16, body: &str) -> Meaning {
        match judge(status, None, body.as_bytes()) {
            Answered::Pair { .. } => Meaning::Granted,
            Answered::Nothing { meaning, .. } => meaning,
        }
    }

    #[test]
    fn fc_038_every_shape_of_a_dead_token_is_read() {
        for body in [
            r#"{"error":"invalid_grant","error_description":"x"}"#,
            r#"{"error":{"code":"refresh_token_reused","message":"x","type":"invalid_request_error"}}"#,
            r#"{"error":{"type":"invalid_grant","message":"x"}}"#,
            r#"{"code":"invalid_refresh_token"}"#,
            r#"{"error":"oops","error_description":"This refresh token has been revoked"}"#,
        ] {
            assert!(matches!(means(400, body), Meaning::Expired(_)), "{body}");
            assert_eq!(means(503, body), Meaning::Retry, "{body}");
        }
    }

    #[test]
    fn fc_038_what_is_no_pair_is_no_success() {
        for body in [
            "",
            "<html>login</html>",
            "[]",
            "null",
            r#"{"access_token":""}"#,
            r#"{"access_token":7}"#,
            "{\"access_token\":\"a\\nb\"}",
            r#"{"refresh_token":"r"}"#,
        ] {
            assert_eq!(means(200, body), Meaning::Retry, "{body}");
        }
        assert_eq!(means(200, r#"{"access_token":"a"}"#), Meaning::Granted);
        assert!(matches!(means(200, r#"{"error":"bad_refresh_token"}"#), Meaning::Expired(_)));
    }

    #[test]
    fn fc_122_a_lifetime_is_seconds_from_now_and_never_negative() {
        for (value, want) in [
            (json!(3600), Some(3_600_000)),
            (json!("3600"), Some(3_600_000)),
            (json!(1.5), Some(1_500)),
            (json!(-60), Some(0)),
            (json!(1e300), Some(u64::MAX)),
            (json!(null), None),
            (json!("soon"), None),
        ] {
            assert_eq!(lives_ms(&value), want, "{value}");
        }
    }
}
