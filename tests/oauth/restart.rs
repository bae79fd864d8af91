//! What survives the end of the process, and what no file, log or page may show.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::process::{Process, call};
use crate::stage::{
    CLIENT_SECRET, FAR_AHEAD, LONG_AGO, Stage, chat, connection, eventually, hash, page, retries, token_state,
};

fn rotating(name: &str, refresh: &str) -> Stage {
    Stage::new(name, &[connection("o-1", "at-stale", refresh, LONG_AGO)])
}

/// It goes on with the pair that came last, without asking anybody.
fn goes_on(stage: &Stage, process: &Process, token: &str) {
    let (posts, asked) = (stage.posts(), stage.asked().len());
    assert_eq!(chat(process).0, 200);
    assert_eq!(stage.asked()[asked..], [(200, hash(token))]);
    assert_eq!(stage.posts(), posts);
}

#[test]
fn a_restart_keeps_the_new_pair() {
    let stage = rotating("oauth-restart", "rt-a");
    let process = stage.site.start();
    assert_eq!(chat(&process).0, 200);
    process.end();
    goes_on(&stage, &stage.site.start(), "at-a.1");
}

#[test]
fn a_connection_made_by_the_api_is_renewed_and_kept_like_others() {
    let stage = Stage::new("oauth-api", &[]);
    let process = stage.site.start();
    let made = r#"{"id":"o-1","provider":"o","name":"mine","authType":"oauth","refreshToken":"rt-a"}"#;
    let (status, _, body) = call(&process.address, "POST", "/api/providers", made);
    assert_eq!(status, 201, "{body}");
    assert_eq!(chat(&process).0, 200);
    assert_eq!(stage.posts(), [200]);
    process.end();
    goes_on(&stage, &stage.site.start(), "at-a.1");
}

#[test]
fn fc_036_a_kill_behind_the_answer_loses_nothing() {
    for round in 0..5 {
        let stage = rotating(&format!("oauth-kill-{round}"), "rt-a");
        let mut process = stage.site.start();
        assert_eq!(chat(&process).0, 200);
        process.child.kill().unwrap();
        process.child.wait().unwrap();
        goes_on(&stage, &stage.site.start(), "at-a.1");
    }
}

#[test]
fn a_stop_hears_a_refresh_out() {
    let stage = rotating("oauth-stop", "rt-slow-500ms");
    let process = stage.site.start();
    eventually("the sweep has asked", || stage.posts() == [0]);
    process.end();
    assert_eq!(stage.posts(), [200]);
    goes_on(&stage, &stage.site.start(), "at-slow-500ms.1");
}

#[test]
fn other_tokens_in_the_config_begin_anew() {
    let stage = rotating("oauth-anew", "rt-invalid-grant");
    let process = stage.site.start();
    eventually("it is dead", || token_state(&process, "o-1") == "expired");
    stage.site.edit(|config| config.replace("rt-invalid-grant", "rt-fresh"));
    process.signal("HUP");
    eventually("the new login works", || chat(&process).0 == 200);
    process.end();
    goes_on(&stage, &stage.site.start(), "at-fresh.1");
}

#[test]
fn f21_retries_of_an_expired_connection_are_counted_over_a_restart() {
    let stage = rotating("oauth-expired", "rt-invalid-grant");
    let process = stage.site.start();
    eventually("the first retry was made at once", || retries(&process, "o-1") == Some(1));
    process.end();
    let posts = stage.posts();
    let process = stage.site.start();
    assert_eq!(retries(&process, "o-1"), Some(1));
    chat(&process);
    assert_eq!(stage.posts(), posts, "neither the start nor a request asks again");
}

#[test]
fn without_the_key_no_used_up_token_is_used_again() {
    let stage = rotating("oauth-key", "rt-a");
    let process = stage.site.start();
    assert_eq!(chat(&process).0, 200);
    process.end();
    let process = Process::of(stage.site.command().env("SWITCHTOWER_STORE_KEY", "ab".repeat(32)));
    let (status, _, body) = chat(&process);
    assert_eq!(status, 503, "{body}");
    assert!(body.contains("no_usable_connection"), "{body}");
    assert_eq!(stage.posts(), [200], "the configured token is used up");
    process.end();
    goes_on(&stage, &stage.site.start(), "at-a.1");
}

#[test]
fn no_token_is_shown_anywhere() {
    let stage = Stage::new(
        "oauth-canary",
        &[
            connection("o-1", "at-canary-one", "rt-canary-two", FAR_AHEAD),
            connection("o-2", "", "rt-status-503_canary-three", LONG_AGO),
            connection("o-3", "", "rt-invalid-grant_canary-four", LONG_AGO),
        ],
    );
    let mut command = stage.site.command();
    let process = Process::of(command.env("RUST_LOG", "trace"));
    for _ in 0..4 {
        chat(&process);
    }
    eventually("all have been asked", || stage.posts().len() >= 3);
    let mut shown = vec![stage.site.log()];
    for path in ["/api/monitoring/health", "/api/actors", "/api/actors/connection/o-1"] {
        shown.push(page(&process.address, path).to_string());
    }
    shown.push(crate::process::read(crate::process::open(&process.address, "GET", "/metrics", "")).2);
    process.end();
    let dump = Command::new(env!("CARGO_BIN_EXE_switchtower"))
        .args(["store", "dump", "--config"])
        .arg(stage.site.path("config.toml"))
        .stderr(Stdio::null())
        .output()
        .unwrap();
    let dump = String::from_utf8_lossy(&dump.stdout).into_owned();
    assert!(dump.contains("oauth_tokens"), "{dump}");
    shown.push(dump);
    shown.push(files(&stage.site.path("store")));
    for secret in ["canary-one", "canary-two", "canary-three", "canary-four", CLIENT_SECRET] {
        for text in &shown {
            assert!(!text.contains(secret), "{secret}: {}", &text[..text.len().min(400)]);
        }
    }
}

/// Everything in a folder.
fn files(folder: &Path) -> String {
    let mut text = String::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => text.push_str(&files(&path)),
            false => text.push_str(&String::from_utf8_lossy(&fs::read(&path).unwrap())),
        }
    }
    text
}
