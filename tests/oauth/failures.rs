//! A token endpoint that fails: what is terminal, what passes, and what is our own fault.

use crate::process::{call, order};
use crate::refresh::jiff_minutes;
use crate::stage::{
    FAR_AHEAD, LONG_AGO, Stage, chat, chat_with, connection, connection_of, connection_state,
    connection_test, eventually, hash, page, provider, retries, token_state, tokens,
};

#[test]
fn fc_038_whatever_fails_the_token_that_is_still_good_is_used() {
    let rows = [
        ("status-500", "good"),
        ("status-503", "good"),
        ("status-429-retry-7", "good"),
        ("status-408", "good"),
        ("status-403", "good"),
        ("status-404", "good"),
        ("reset", "good"),
        ("garbage", "good"),
        ("hang", "good"),
        ("redirect-307", "good"),
        ("invalid-client", "good"),
        ("unauthorized-client", "good"),
        ("invalid-grant", "expired"),
        ("refresh-token-reused", "expired"),
    ];
    let soon = jiff_minutes(3);
    // Each at a provider of its own: the breaker of the endpoint is another test's.
    let stage = Stage::of("oauth-fc-038", |address| {
        let rows = rows.iter().enumerate().map(|(n, (script, _))| {
            let (id, access, refresh) = (format!("p{n}"), format!("sk-{n}"), format!("rt-{script}_{n}"));
            provider(&id, address) + &connection_of(&id, &id, (&access, &refresh, &soon))
        });
        rows.collect()
    });
    let process = stage.site.start();
    eventually("each was tried", || stage.posts().len() == rows.len());
    for (n, (script, state)) in rows.iter().enumerate() {
        let id = format!("p{n}");
        eventually(script, || token_state(&process, &id) == *state);
        eventually(script, || {
            connection_state(&process, &id) == if *state == "good" { "ready" } else { "expired" }
        });
        let wanted = if *state == "good" { 200 } else { 503 };
        assert_eq!(chat_with(&process, &id).0, wanted, "{script}");
    }
    let dead = rows.iter().filter(|(_, state)| *state == "expired").count();
    assert!(stage.posts().len() <= rows.len() + dead, "no request tries again what is not needed");
}

#[test]
fn fc_038_without_a_good_token_another_account_answers_and_the_first_comes_back() {
    let stage = Stage::new(
        "oauth-blip",
        &[
            connection("o-1", "at-stale", "rt-first-1-status-503", LONG_AGO),
            connection("o-2", "sk-other", "rt-b", "2100-01-01T00:00:00Z"),
        ],
    );
    let process = stage.site.start();
    assert_eq!(chat(&process).0, 200);
    assert_eq!(stage.asked(), [(200, hash("sk-other"))]);
    assert_eq!(connection_state(&process, "o-1"), "ready", "the token endpoint's fault cools no account");
    eventually("the flat wait is over and the account is back", || {
        assert_eq!(chat(&process).0, 200);
        stage.asked().last() == Some(&(200, hash("at-first-1-status-503.1")))
    });
    assert_eq!(stage.posts(), [503, 200]);
}

#[test]
fn fc_038_the_only_account_tells_the_short_wait() {
    let stage = Stage::new("oauth-wait", &[connection("o-1", "", "rt-status-503", LONG_AGO)]);
    let process = stage.site.start();
    let (status, head, body) = chat(&process);
    assert_eq!(status, 429, "{body}");
    assert!(body.contains("model_cooldown"), "{body}");
    let wait = head.lines().find_map(|line| line.strip_prefix("retry-after: ")).expect("a wait");
    assert!((1..=6).contains(&wait.parse::<u32>().unwrap()), "{wait}");
    assert!(stage.asked().is_empty(), "a token that is over is not sent");
}

#[test]
fn fc_038_a_wrong_client_is_an_alarm_until_it_is_corrected() {
    let stage = Stage::new(
        "oauth-alarm",
        &[connection("o-1", "", "rt-a", LONG_AGO), connection("o-2", "", "rt-b", LONG_AGO)],
    );
    stage.site.edit(|config| config.replace("client_id = \"me\"", "client_id = \"invalid-client\""));
    let process = stage.site.start();
    eventually("the alarm is raised", || tokens(&process)["alarms"]["o"]["code"] == "invalid_client");
    let health = page(&process.address, "/api/monitoring/health");
    assert_eq!(health["status"], "degraded");
    for connection in ["o-1", "o-2"] {
        assert_eq!(health["tokens"]["connections"][connection]["state"], "due", "{connection} is not lost");
    }
    let log = stage.site.log();
    assert_eq!(log.matches("CONFIGURATION ALARM").count(), 1, "{log}");
    assert!(log.contains("ERROR") && log.contains("invalid_client"), "{log}");
    stage.site.edit(|config| config.replace("invalid-client", "me"));
    process.signal("HUP");
    eventually("it works", || chat(&process).0 == 200);
    let health = page(&process.address, "/api/monitoring/health");
    assert_eq!((&health["status"], &health["tokens"]["alarms"]), (&"healthy".into(), &serde_json::json!({})));
}

#[test]
fn a_dead_account_comes_back_by_a_reset() {
    let stage = Stage::new("oauth-reset", &[connection("o-1", "", "rt-first-2-invalid-grant", LONG_AGO)]);
    let process = stage.site.start();
    eventually("the first retry has failed, too", || retries(&process, "o-1") == Some(1));
    let (status, _, body) = chat(&process);
    assert_eq!((status, body.contains("no_usable_connection")), (503, true), "{body}");
    order(&process.address, "connection/o-1", r#"{"message":"reset"}"#);
    assert_eq!(connection_state(&process, "o-1"), "ready");
    assert_eq!(chat(&process).0, 200);
    assert_eq!(stage.posts(), [400, 400, 200]);
    let (_, _, metrics) = call(&process.address, "GET", "/metrics", "");
    for line in [r#"outcome="expired"} 2"#, r#"outcome="renewed"} 1"#] {
        assert!(metrics.contains(&format!(r#"token_refreshes_total{{connection="o-1",{line}"#)), "{metrics}");
    }
}

#[test]
fn a_dead_account_comes_back_by_a_test() {
    let stage = Stage::new("oauth-test", &[connection("o-1", "", "rt-first-3-invalid-grant", LONG_AGO)]);
    let process = stage.site.start();
    eventually("the first retry has failed, too", || retries(&process, "o-1") == Some(1));
    let failed = connection_test(&process, "o-1");
    assert_eq!((&failed["ok"], &failed["state"]), (&false.into(), &"expired".into()), "{failed}");
    let passed = connection_test(&process, "o-1");
    assert_eq!((&passed["ok"], &passed["state"]), (&true.into(), &"ready".into()), "{passed}");
    assert_eq!(chat(&process).0, 200);
    assert_eq!(stage.posts(), [400, 400, 400, 200]);
}

#[test]
fn core_6_an_open_breaker_of_the_endpoint_benches_no_other_account() {
    let stage = Stage::new(
        "oauth-breaker",
        &[connection("o-1", "", "rt-status-503", LONG_AGO), connection("o-2", "at-stale", "rt-b", FAR_AHEAD)],
    );
    let numbers = "[resilience.token_refresh_breaker]\nfailure_threshold = 1\n";
    stage.site.edit(|config| config + numbers);
    let process = stage.site.start();
    eventually("the endpoint has failed once", || tokens(&process)["connections"]["o-1"]["failures"] == 1);
    let (status, _, body) = chat(&process);
    assert_eq!(status, 200, "{body}");
    assert_eq!(stage.posts(), [503, 200], "the other account's 401 has a turn of its own");
}
