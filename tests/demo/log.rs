//! The log: what it shows, what it must not show, and whether it notices a client that leaves.
//!
//! An entry grows while its request runs, so these tests wait for what they want to see.

use serde_json::{Value, json};

use crate::client::World;

const CHAT: &str = "/v1/chat/completions";

#[actix_web::test]
async fn the_log_shows_requests_without_their_secrets() {
    let world = World::start().await;
    let headers = "Authorization: Bearer abc\r\nX-Api-Key: other\r\ncookie: c=1\r\nx-two: 1\r\nx-two: 2\r\n";
    let body = r#"{"model":"status-503"}"#;
    world.post_with(CHAT, headers, body).await;
    let log = world.log("").await;
    let entry = &log[0];
    assert_eq!(log.len(), 1, "the log does not log itself");
    let expected = json!({
        "n": 1, "method": "POST", "path": CHAT, "credential": "ba7816bf8f01cfea", "behaviour": "status-503",
        "bodySha256": "f0a708c33cb72b2a5df461cc968bcdf8dc9727acc969ccc2ee77a7c3f677ff45", "status": 503, "cut": false,
    });
    for key in ["n", "method", "path", "credential", "behaviour", "bodySha256", "status", "cut"] {
        assert_eq!(entry[key], expected[key], "{key}");
    }
    assert!(entry["at"].as_u64().unwrap() > 1_700_000_000_000);
    assert_eq!(entry["headers"]["authorization"], "ba7816bf8f01cfea");
    assert_eq!(entry["headers"]["x-two"], "1, 2");
    let shown = entry.to_string();
    assert!(!shown.contains("Bearer") && !shown.contains("c=1") && !shown.contains("other"), "{shown}");
    assert_eq!(entry.as_object().unwrap().len(), 10, "exactly the fields of the contract");
}

#[actix_web::test]
async fn the_log_is_in_order_and_can_be_read_from_a_number_on() {
    let world = World::start().await;
    for model in ["steady", "empty", "gpt-5"] {
        world.post(CHAT, &json!({ "model": model }).to_string()).await;
    }
    let log = world.log("?since=1").await;
    let shown: Vec<_> = log.iter().map(|entry| (entry["n"].clone(), entry["behaviour"].clone())).collect();
    assert_eq!(shown, [(json!(2), json!("empty")), (json!(3), json!("steady"))]);
    assert_eq!(log[0]["credential"], Value::Null);
    assert_eq!(world.call("DELETE", "/demo/log").await.status, 204);
    assert_eq!(world.log("").await, [] as [Value; 0]);
    world.post(CHAT, r#"{"model":"steady"}"#).await;
    assert_eq!(world.log("").await[0]["n"], 4, "numbers go on");
}

#[actix_web::test]
async fn a_client_that_leaves_is_noticed_before_the_head_and_within_the_body() {
    for (model, streamed, status) in [
        ("hang", false, json!(null)),
        ("slow-9999ms", true, json!(null)),
        ("stall-after-2", true, json!(200)),
        ("stall-after-2", false, json!(200)),
        ("chunks-9x9999", true, json!(200)),
        ("trickle-1", false, json!(200)),
    ] {
        let world = World::start().await;
        let body = json!({ "model": model, "stream": streamed }).to_string();
        let stream = world.open(CHAT, "", &body).await;
        let entry = world.log_entry(|entry| entry["behaviour"] == model && entry["status"] == status).await;
        assert_eq!(entry["cut"], Value::Null, "{model} still runs");
        drop(stream);
        let entry = world.log_entry(|entry| entry["cut"] == true).await;
        assert_eq!(entry["status"], status, "{model}");
    }
}

#[actix_web::test]
async fn a_request_is_in_the_log_before_its_body_came() {
    let world = World::start().await;
    let stream = world.raw("POST /v1/messages HTTP/1.1\r\nhost: demo\r\ncontent-length: 99\r\n\r\n{").await;
    let entry = world.log_entry(|entry| entry["path"] == "/v1/messages").await;
    assert_eq!(
        (&entry["behaviour"], &entry["status"], &entry["cut"]),
        (&Value::Null, &Value::Null, &Value::Null)
    );
    drop(stream);
    world.log_entry(|entry| entry["cut"] == true).await;
}

#[actix_web::test]
async fn what_the_script_itself_cuts_is_no_cut_of_the_client() {
    let world = World::start().await;
    for (model, status) in [("cut-after-1", json!(200)), ("reset", json!(null)), ("garbage", json!(null))] {
        world.post(CHAT, &json!({ "model": model, "stream": true }).to_string()).await;
        let entry = world.log_entry(|entry| entry["behaviour"] == model && entry["cut"] != Value::Null).await;
        assert_eq!((&entry["cut"], &entry["status"]), (&json!(false), &status), "{model}");
    }
}

#[actix_web::test]
async fn switched_off_nothing_is_recorded_and_everything_works() {
    let world = World::with_log(false).await;
    for model in ["steady", "empty", "error-in-200", "cut-after-3"] {
        for stream in [false, true] {
            let body = json!({ "model": model, "stream": stream }).to_string();
            assert_eq!(world.post(CHAT, &body).await.status, 200, "{model}");
        }
    }
    assert_eq!(world.log("").await, [] as [Value; 0]);
}
