//! The token endpoint: pairs that rotate, a family that is revoked, and its scripted failures.

use serde_json::{Value, json};

use crate::CHAT;
use crate::client::{End, Reply, World};

const TOKEN: &str = "/demo/oauth/token";
const FORM: &str = "content-type: application/x-www-form-urlencoded\r\n";

async fn renew(world: &World, token: &str) -> Reply {
    let form = format!("grant_type=refresh_token&refresh_token={token}&client_id=me&client_secret=hush");
    world.post_with(TOKEN, FORM, &form).await
}

async fn chat_status(world: &World, credential: &str) -> u16 {
    let headers = format!("authorization: Bearer {credential}\r\n");
    world.post_with(CHAT, &headers, r#"{"model":"steady"}"#).await.status
}

async fn oauth_log(world: &World) -> Vec<Value> {
    let page = world.call("GET", "/demo/oauth/log").await.json();
    page["requests"].as_array().unwrap().clone()
}

#[actix_web::test]
async fn tokens_rotate_and_a_second_use_revokes_them_all() {
    let world = World::start().await;
    let pair = |n| {
        json!({"access_token": format!("at-a.{n}"), "token_type": "Bearer", "expires_in": 3600,
               "refresh_token": format!("rt-a.{n}")})
    };
    assert_eq!(renew(&world, "rt-a").await.json(), pair(1));
    assert_eq!(renew(&world, "rt-a.1").await.json(), pair(2));
    assert_eq!(chat_status(&world, "at-a.1").await, 200);
    let again = renew(&world, "rt-a").await;
    assert_eq!((again.status, again.json()["error"].clone()), (400, json!("invalid_grant")));
    for token in ["at-a.1", "at-a.2", "at-never"] {
        assert_eq!(chat_status(&world, token).await, 401, "{token}");
    }
    assert_eq!(chat_status(&world, "sk-anything").await, 200, "what it did not issue is not checked");
}

#[actix_web::test]
async fn failures_are_asked_for_by_name() {
    let world = World::start().await;
    for (token, status, error) in [
        ("rt-status-503", 503, Value::Null),
        ("rt-first-1-status-429-retry-7", 429, Value::Null),
        ("rt-first-1-status-429-retry-7", 200, Value::Null),
        ("rt-invalid-grant", 400, json!("invalid_grant")),
        ("rt-refresh-token-reused", 401, json!("refresh_token_reused")),
        ("rt-invalid-client_b", 401, json!("invalid_client")),
        ("sk-live", 400, json!("invalid_grant")),
    ] {
        let reply = renew(&world, token).await;
        assert_eq!(reply.status, status, "{token}");
        let found = serde_json::from_slice::<Value>(&reply.body).unwrap_or_default()["error"].clone();
        assert_eq!(found, error, "{token}");
    }
    assert_eq!(renew(&world, "rt-reset").await.end, End::Reset);
    let expiring = renew(&world, "rt-expires-7").await.json();
    assert_eq!(expiring["expires_in"], 7);
}

#[actix_web::test]
async fn every_post_is_counted_and_no_token_is_shown() {
    let world = World::start().await;
    renew(&world, "rt-a").await;
    renew(&world, "sk-live").await;
    world.post_with(TOKEN, FORM, "grant_type=password&refresh_token=rt-a.1").await;
    let log = oauth_log(&world).await;
    let shown: Vec<_> = log.iter().map(|entry| (entry["status"].clone(), entry["error"].clone())).collect();
    assert_eq!(
        shown,
        [
            (json!(200), Value::Null),
            (json!(400), json!("invalid_grant")),
            (json!(400), json!("unsupported_grant_type"))
        ]
    );
    assert_eq!(log[0]["client"], "me");
    let text = Value::from(log).to_string();
    for secret in ["rt-a", "sk-live", "hush"] {
        assert!(!text.contains(secret), "{secret}");
    }
    world.call("DELETE", "/demo/oauth/log").await;
    assert!(oauth_log(&world).await.is_empty());
}
