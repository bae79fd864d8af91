//! What was answered is on disk: it survives a kill -9, a reload and a restart, and no change
//! is lost to another one.

use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::process::{Process, Site, eventually};
use super::{RESILIENCE, SETTINGS, get, origin, patch, refused, try_patch};

fn weight(process: &Process) -> Value {
    get(process, RESILIENCE)["p2cLatency"]["weight"].clone()
}

#[test]
fn what_was_answered_survives_a_kill_and_a_reload() {
    let site = Site::with("settings-kill", "[resilience.p2c_latency]\nweight = 3\n");
    let process = site.start();
    assert_eq!(weight(&process), 3);
    patch(&process, RESILIENCE, json!({"p2cLatency": {"weight": 10}}));
    patch(&process, SETTINGS, json!({"providerErrorRules": {"acme": [{"status": 429}]}}));
    process.signal("KILL");
    drop(process);
    let process = site.start();
    assert_eq!(weight(&process), 10);
    assert_eq!(origin(&process, "resilience.p2c_latency.weight"), "stored");
    assert_eq!(get(&process, SETTINGS)["providerErrorRules"], json!({"acme": [{"status": 429}]}));
    site.edit(|text| text.replace("weight = 3", "weight = 4"));
    process.signal("HUP");
    eventually("the reload", || site.log().contains("the config was read again"));
    assert_eq!(weight(&process), 10, "what is stored beats the file");
    patch(&process, RESILIENCE, json!({"p2cLatency": {"weight": null}}));
    assert_eq!(weight(&process), 4, "the file as it was read last");
    process.signal("KILL");
    drop(process);
    assert_eq!(weight(&site.start()), 4, "and taking it back survives, too");
}

#[test]
fn a_file_that_is_being_edited_waits_for_its_sighup() {
    let site = Site::with("settings-edit", "[resilience.p2c_latency]\nweight = 3\n");
    let process = site.start();
    site.edit(|text| text.replace("weight = 3", "weight = 999\nbroken"));
    patch(&process, RESILIENCE, json!({"streamStallCooldown": {"enabled": true}}));
    assert_eq!(weight(&process), 3);
    assert_eq!(super::process::ask(&process.address, "demo-b/steady").0, 200);
}

#[test]
fn parallel_changes_all_land() {
    let site = Site::new("settings-parallel", "5s");
    let process = site.start();
    let codes: Vec<u16> = (0..8).collect();
    std::thread::scope(|scope| {
        for code in &codes {
            let process = &process;
            scope.spawn(move || {
                let provider = ["demo-a", "demo-b", "claude-a", "claude-b"][usize::from(code % 4)];
                let field = if *code < 4 { "rateLimitCooldownSeconds" } else { "rpm" };
                let body = json!({"providerQuotaOverrides": {provider: {field: code + 1}}});
                assert_eq!(try_patch(process, RESILIENCE, &body).0, 200);
            });
        }
    });
    let wanted = json!({
        "demo-a": {"rateLimitCooldownSeconds": 1, "rpm": 5}, "demo-b": {"rateLimitCooldownSeconds": 2, "rpm": 6},
        "claude-a": {"rateLimitCooldownSeconds": 3, "rpm": 7}, "claude-b": {"rateLimitCooldownSeconds": 4, "rpm": 8},
    });
    assert_eq!(get(&process, RESILIENCE)["providerQuotaOverrides"], wanted);
    patch(&process, RESILIENCE, json!({"providerQuotaOverrides": {"demo-a": null}}));
    process.signal("KILL");
    drop(process);
    let mut wanted = wanted;
    wanted.as_object_mut().unwrap().remove("demo-a");
    assert_eq!(get(&site.start(), RESILIENCE)["providerQuotaOverrides"], wanted);
}

/// Contract 4: null deletes what is stored, of a section all of it.
#[test]
fn null_for_a_section_takes_back_all_that_is_stored_below() {
    let site = Site::with("settings-null", "[settings.provider_overrides.demo-b]\nmax_retries = 4\n");
    let process = site.start();
    let overrides = || get(&process, SETTINGS)["providerOverrides"].clone();
    let before = overrides();
    assert_eq!(before["demo-b"]["maxRetries"], 4, "{before}");
    let body = json!({"demo-a": {"maxRetries": 2, "retryDelayMs": 7}, "demo-b": {"maxRetries": 3}});
    patch(&process, SETTINGS, json!({"providerOverrides": body}));
    assert_eq!(overrides(), body);
    patch(&process, SETTINGS, json!({"providerOverrides": null}));
    assert_eq!(overrides(), before, "the file's are in force again");
    patch(&process, SETTINGS, json!({"providerOverrides": null}));
    let breaker = || get(&process, RESILIENCE)["providerBreaker"].clone();
    let before = breaker();
    let body = json!({"apikey": {"failureThreshold": 9}, "oauth": {"failureThreshold": 7}});
    patch(&process, RESILIENCE, json!({"providerBreaker": body, "p2cLatency": {"weight": 2}}));
    assert_ne!(breaker(), before);
    patch(&process, RESILIENCE, json!({"providerBreaker": {"apikey": null}}));
    assert_eq!(
        (&breaker()["apikey"], &breaker()["oauth"]["failureThreshold"]),
        (&before["apikey"], &json!(7))
    );
    patch(&process, RESILIENCE, json!({"providerBreaker": null}));
    assert_eq!((breaker(), weight(&process)), (before, json!(2)), "and nothing else");
    patch(&process, RESILIENCE, json!({"providerQuotaOverrides": {"demo-a": {"rpm": 5}}}));
    patch(&process, RESILIENCE, json!({"providerQuotaOverrides": null}));
    assert_eq!(get(&process, RESILIENCE)["providerQuotaOverrides"], json!({}));
    for wrong in [json!([]), json!(1), json!("none")] {
        assert_eq!(refused(&process, SETTINGS, json!({"providerOverrides": wrong})), ["providerOverrides"]);
    }
}

#[test]
fn a_change_that_would_make_the_config_wrong_is_refused_whole() {
    let lines = "[resilience.provider_breaker.oauth]\nfailure_threshold = 20\ndegradation_threshold = 15\n";
    let site = Site::with("settings-findings", lines);
    let process = site.start();
    // Below what the file says: the file's other number gives way, nobody is refused for it.
    let answer = patch(&process, RESILIENCE, json!({"providerBreaker": {"oauth": {"failureThreshold": 10}}}));
    assert_eq!(answer["providerBreaker"]["oauth"]["degradationThreshold"], 9);
    let body =
        json!({"providerBreaker": {"oauth": {"failureThreshold": 1_001}}, "p2cLatency": {"weight": 1}});
    assert_eq!(refused(&process, RESILIENCE, body), ["providerBreaker.oauth.failureThreshold"]);
    assert_eq!(weight(&process), 0);
}

fn shown(site: &Site, arguments: &[&str]) -> (i32, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_switchtower"));
    command.arg("settings").args(arguments).arg("--config").arg(site.path("config.toml"));
    let output = command.env_remove("SWITCHTOWER_ADMIN_TOKEN").stderr(Stdio::piped()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
    (output.status.code().unwrap(), text)
}

#[track_caller]
fn assert_line(text: &str, key: &str, value: &str) {
    let line = text.lines().find(|line| line.split_whitespace().next() == Some(key));
    let line = line.unwrap_or_else(|| panic!("{key}: {text}"));
    assert_eq!(line[key.len()..].trim(), value);
}

#[test]
fn the_command_line_shows_what_is_stored_while_it_runs_and_afterwards() {
    let weight = "resilience.p2c_latency.weight";
    let site = Site::new("settings-cli", "5s");
    let (code, text) = shown(&site, &[]);
    assert_eq!(code, 0, "{text}");
    assert_line(&text, weight, "0  (built-in)");
    assert_line(
        &text,
        "resilience.credential_health_check.interval_minutes",
        "60  (built-in, not acted on yet)",
    );
    assert!(!site.path("store").exists(), "no store is made by looking");
    let process = site.start();
    let body = json!({"p2cLatency": {"weight": 10}, "providerQuotaOverrides": {"demo-a": {"rpm": 5}}});
    patch(&process, RESILIENCE, body);
    let url = format!("http://{}", process.address);
    let (code, text) = shown(&site, &["--url", &url, "--token", "process-test"]);
    assert_eq!(code, 0, "{text}");
    assert_line(&text, weight, "10  (stored)");
    assert_line(&text, "resilience.provider_quota_overrides.demo-a.rpm", "5  (stored)");
    let running = text;
    // Without --url it finds the store locked and asks where the config says, which is port 0 here.
    let (code, text) = shown(&site, &["--token", "process-test"]);
    assert!(code == 1 && text.contains("does not answer"), "{code} {text}");
    process.end();
    let (code, text) = shown(&site, &[]);
    assert_eq!((code, text), (0, running), "the same afterwards");
}
