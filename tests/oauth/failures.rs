//! A token endpoint that fails: what is terminal, what passes, and what is our own fault.

use crate::refresh::jiff_minutes;
use crate::stage::{
    LONG_AGO, Stage, chat, chat_with, connection, connection_of, eventually, hash, page, provider,
    token_state, tokens,
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
        let wanted = if *state == "good" { 200 } else { 502 };
        assert_eq!(chat_with(&process, &id).0, wanted, "{script}");
    }
    assert_eq!(stage.posts().len(), rows.len(), "no request tries again what is not needed");
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
    let actor = page(&process.address, "/api/actors/connection/o-1");
    assert_eq!(actor["state"], "ready", "the token endpoint's fault cools no account: {actor}");
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
