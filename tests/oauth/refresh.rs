//! Renewing: once for everybody, before it is sent, and once more after a 401.

use crate::stage::{
    FAR_AHEAD, LONG_AGO, Stage, chat, chat_at_once, connection, connection_state, connection_test,
    eventually, hash, page, tokens,
};

#[test]
fn fc_036_twenty_requests_health_a_test_and_the_sweep_cost_one_post() {
    let over = connection("o-1", "at-stale", "rt-slow-300ms", LONG_AGO);
    let stage = Stage::new("oauth-fc-036", &[over]);
    let process = stage.site.start();
    std::thread::scope(|scope| {
        let test = scope.spawn(|| connection_test(&process, "o-1"));
        tokens(&process);
        assert_eq!(chat_at_once(&process, 20), [200; 20]);
        assert_eq!(test.join().unwrap()["ok"], true);
    });
    assert_eq!(stage.posts(), [200], "the sweep of the start is one of the callers");
    let newest = (200, hash("at-slow-300ms.1"));
    assert_eq!(stage.asked(), vec![newest; 21], "nobody went with the old one");
}

#[test]
fn fc_036_a_second_use_would_have_been_noticed() {
    let stage = Stage::new("oauth-rotation", &[connection("o-1", "", "rt-a", LONG_AGO)]);
    let process = stage.site.start();
    assert_eq!(chat(&process).0, 200);
    // Somebody else uses the token that was rotated away: the family is revoked.
    let form = "grant_type=refresh_token&refresh_token=rt-a&client_id=me";
    let head = format!(
        "POST /demo/oauth/token HTTP/1.1\r\nhost: o\r\nconnection: close\r\n\
         content-type: application/x-www-form-urlencoded\r\ncontent-length: {}\r\n\r\n{form}",
        form.len()
    );
    let mut stream = std::net::TcpStream::connect(&stage.upstream.0.address).unwrap();
    std::io::Write::write_all(&mut stream, head.as_bytes()).unwrap();
    assert_eq!(crate::process::read(stream).0, 400);
    // 401, then invalid_grant: our account is at fault, and the client is told so.
    let (status, _, body) = chat(&process);
    assert_eq!(status, 502, "{body}");
    assert!(body.contains("upstream_auth_failed"), "{body}");
    eventually("its owner has heard", || connection_state(&process, "o-1") == "expired");
    assert_eq!(chat(&process).0, 503, "nobody is asked any more");
    assert_eq!(stage.posts()[..3], [200, 400, 400]);
}

#[test]
fn decision_12a_parallel_401s_refresh_once_and_none_of_them_counts() {
    let refused = connection("o-1", "at-stale", "rt-a", FAR_AHEAD);
    let stage = Stage::new("oauth-401", &[refused]);
    let process = stage.site.start();
    assert_eq!(chat_at_once(&process, 20), [200; 20]);
    assert_eq!(stage.posts(), [200]);
    let asked = stage.asked();
    let renewed = asked.iter().filter(|request| **request == (200, hash("at-a.1"))).count();
    assert_eq!(renewed, 20);
    assert!(asked.iter().all(|(status, token)| *status == 200 || *token == hash("at-stale")), "{asked:?}");
    let actor = page(&process.address, "/api/actors/connection/o-1");
    assert_eq!(actor["state"], "ready", "{actor}");
    assert_eq!(actor["snapshot"]["cooldown"]["last_error"], serde_json::Value::Null, "{actor}");
}

#[test]
fn decision_12a_a_401_to_the_renewed_token_is_the_answer() {
    // Each token is over as soon as it comes; the minute's rule has it sent, and the provider knows better.
    let stage = Stage::new("oauth-ends", &[connection("o-1", "", "rt-expires-0", LONG_AGO)]);
    let process = stage.site.start();
    let (status, _, body) = chat(&process);
    assert_eq!(status, 502, "{body}");
    assert!(body.contains("upstream_auth_failed"), "{body}");
    assert_eq!(stage.asked().len(), 2, "once with each token, and not again");
    assert_eq!(stage.posts(), [200, 200]);
    assert_eq!(connection_state(&process, "o-1"), "cooling", "and not expired: its refresh token is good");
}

#[test]
fn an_early_refresh_is_made_in_the_background() {
    let soon = jiff_minutes(4);
    let stage = Stage::new("oauth-early", &[connection("o-1", "sk-good", "rt-a", &soon)]);
    let process = stage.site.start();
    eventually("the sweep has renewed it", || stage.posts() == [200]);
    eventually("it is in use", || tokens(&process)["connections"]["o-1"]["receivedAt"].is_string());
    assert_eq!(chat(&process).0, 200);
    assert_eq!(stage.asked(), [(200, hash("at-a.1"))]);
    assert_eq!(stage.posts(), [200]);
}

/// RFC 3339 of so many minutes from now.
pub fn jiff_minutes(minutes: i64) -> String {
    let now = jiff::Timestamp::now().as_second() + 60 * minutes;
    jiff::Timestamp::from_second(now).unwrap().to_string()
}
