//! Rows of core 6 as a list: their numbers, what follows from what, and the guide's variables.

use std::collections::BTreeMap;

use switchtower::settings::{Loaded, Origin, table};

use crate::support::load_text;

fn value(loaded: &Loaded, key: &str) -> String {
    let entry = loaded.effective.iter().find(|entry| entry.key == key);
    entry.unwrap_or_else(|| panic!("no key {key}")).value.clone()
}

#[test]
fn core_6_the_defaults_are_those_of_the_table_as_the_decisions_change_them() {
    let loaded = load_text("", &[]).unwrap();
    for (section, names) in [
        (
            "request_queue",
            "auto_enable_api_key_providers=true requests_per_minute=0 min_time_between_requests_ms=0 concurrent_requests=0 max_wait_ms=30000 execution_max_wait_ms=600000 max_queue_depth=0 max_queued_total=10000",
        ),
        ("concurrency", "global_max=0 queue_size=20 timeout_ms=30000"),
        ("connection_cooldown.oauth", "use_upstream_retry_hints=true use_upstream_429_breaker_hints="),
        ("token_refresh_breaker", "scope=provider failure_threshold=5 cooldown_ms=1800000"),
        ("wait_for_cooldown", "enabled=false max_retries=5 max_retry_wait_sec=90 budget_ms=300000"),
        ("combo_cooldown_wait", "enabled=true max_wait_ms=90000 max_attempts=5 budget_ms=300000"),
        ("quota_share_concurrency_limit", "enabled=true"),
        ("stream_stall_cooldown", "enabled=false"),
        ("p2c_latency", "weight=0"),
        ("provider_cooldown", "enabled=false min_retry_cooldown_ms=5000 max_retry_cooldown_ms=300000"),
        ("provider_cooldown.oauth", "failure_threshold=10 failure_window_ms=900000 cooldown_ms=300000"),
        ("provider_cooldown.apikey", "failure_threshold=15 failure_window_ms=1800000 cooldown_ms=600000"),
        ("provider_cooldown.local", "failure_threshold=2 failure_window_ms=300000 cooldown_ms=60000"),
        ("quota_preflight", "enabled=false default_threshold_percent=2 warn_threshold_percent=20"),
        ("stream_recovery", "enabled=false continue_mid_stream=false"),
        (
            "stream_recovery.throughput_watchdog",
            "enabled=false warmup_ms=30000 window_ms=30000 min_useful_bytes_per_second=4 min_useful_bytes=1",
        ),
        ("credential_health_check", "interval_minutes=60"),
        (
            "rotation",
            "enabled=true rate_limit_reset_seconds= rotate_on_429=true rotate_on_500=true rotate_on_502=true rotate_on_400=false error_429_threshold=1 error_400_window_seconds=120",
        ),
    ] {
        for (name, wanted) in names.split(' ').filter_map(|pair| pair.split_once('=')) {
            assert_eq!(value(&loaded, &format!("resilience.{section}.{name}")), wanted, "{section}.{name}");
        }
    }
    assert_eq!(value(&loaded, "settings.session_affinity_ttl_ms"), "1800000", "decision 23");
    assert_eq!(value(&loaded, "settings.emergency_fallback.enabled"), "false", "decision 31b");
}

#[test]
fn core_6_a_wait_of_nothing_is_off_and_a_budget_holds_one_wait() {
    let combo = "resilience.combo_cooldown_wait";
    for (lines, wanted) in [
        ("max_wait_ms = 0", ["false", "300000"]),
        ("max_attempts = 0", ["false", "300000"]),
        ("max_wait_ms = 100000\nbudget_ms = 5", ["true", "100000"]),
    ] {
        let loaded = load_text(&format!("[{combo}]\n{lines}"), &[]).unwrap();
        let found = ["enabled", "budget_ms"].map(|name| value(&loaded, &format!("{combo}.{name}")));
        assert_eq!(found, wanted, "{lines}");
    }
    let loaded = load_text(&format!("[{combo}]\nmax_wait_ms = 100000\nbudget_ms = 5"), &[]).unwrap();
    let waits = loaded.settings.resilience.combo_cooldown_wait;
    assert_eq!((waits.enabled, waits.max_wait_ms, waits.max_attempts), (true, 100_000, 5));
    assert_eq!(waits.budget_ms, 100_000, "E55");
    let single = "resilience.wait_for_cooldown";
    let text = format!("[{single}]\nenabled = true\nmax_retry_wait_sec = 100\nbudget_ms = 0");
    let loaded = load_text(&text, &[]).unwrap();
    assert_eq!(value(&loaded, &format!("{single}.enabled")), "true");
    assert_eq!(value(&loaded, &format!("{single}.budget_ms")), "100000");
    let waits = loaded.settings.resilience.wait_for_cooldown;
    assert_eq!((waits.enabled, waits.max_wait_ms, waits.budget_ms), (true, 100_000, 100_000), "seconds");
    let text = "[resilience.quota_preflight]\ndefault_threshold_percent = 30";
    let loaded = load_text(text, &[]).unwrap();
    assert_eq!(value(&loaded, "resilience.quota_preflight.warn_threshold_percent"), "31");
    let text = "[resilience.provider_cooldown]\nmin_retry_cooldown_ms = 400000";
    assert_eq!(
        load_text(text, &[]).unwrap().settings.resilience.provider_cooldown.max_retry_cooldown_ms,
        400_000
    );
}

#[test]
fn core_6_4_each_flag_of_the_guide_understands_its_own_words() {
    let flag =
        |name: &str, key: &str, text: &str| value(&load_text("", &[(name, text)]).unwrap(), key) == "true";
    let cooldown = |text| flag("PROVIDER_COOLDOWN_ENABLED", "resilience.provider_cooldown.enabled", text);
    assert_eq!([" TRUE ", "1", "on", "yes", "0", ""].map(cooldown), [true, true, true, false, false, false]);
    let recovery = |text| flag("STREAM_RECOVERY_ENABLED", "resilience.stream_recovery.enabled", text);
    assert_eq!(
        ["true", "1", "Yes", "on", "no", "what"].map(recovery),
        [true, true, true, true, false, false]
    );
    let auto_key = "resilience.request_queue.auto_enable_api_key_providers";
    let auto = |text| flag("RATE_LIMIT_AUTO_ENABLE", auto_key, text);
    assert_eq!(["off", "0", "FALSE", "no", "on"].map(auto), [false, false, false, true, true]);
    let loaded =
        load_text("[resilience.provider_cooldown]\nenabled = true", &[("PROVIDER_COOLDOWN_ENABLED", "off")]);
    assert_eq!(
        value(&loaded.unwrap(), "resilience.provider_cooldown.enabled"),
        "false",
        "env beats the file"
    );
}

#[test]
fn nothing_that_does_not_act_yet_is_ignored_silently() {
    let text = "[resilience.credential_health_check]\ninterval_minutes = 5";
    let variables = [("SWITCHTOWER__RESILIENCE__CREDENTIAL_HEALTH_CHECK__INTERVAL_MINUTES", "6")];
    let in_file = load_text(text, &[]).unwrap().warnings;
    assert_eq!((in_file.len(), in_file[0].line), (1, 2));
    let warnings = load_text(text, &variables).unwrap().warnings;
    let told: Vec<String> =
        warnings.iter().map(|each| format!("{}:{}", each.file.replace('\\', "/"), each.key)).collect();
    assert_eq!(told.len(), 1, "{told:?}");
    let mut all = warnings.iter().chain(&in_file);
    assert!(all.all(|warning| warning.problem == "is kept, but not acted on yet"));
}

#[test]
fn connections_with_a_value_of_their_own_are_listed_once_more() {
    let text = crate::meaning::ENTITIES;
    let loaded = load_text(text, &[]).unwrap();
    let key = "resilience.rotation.rate_limit_reset_seconds";
    let found: Vec<(&str, &Origin)> = loaded
        .effective
        .iter()
        .filter(|entry| entry.key == key)
        .map(|entry| (entry.value.as_str(), &entry.origin))
        .collect();
    assert_eq!(found, [("", &Origin::BuiltIn), ("7", &Origin::Connection("one".to_owned()))]);
}

#[test]
fn a_provider_s_exception_is_listed_under_its_name() {
    let text = crate::support::provider("")
        + "[resilience.provider_quota_overrides.p]\nrate_limit_cooldown_seconds = 60";
    let loaded = load_text(&text, &[]).unwrap();
    let key = "resilience.provider_quota_overrides.p.rate_limit_cooldown_seconds";
    let entry = loaded.effective.iter().find(|entry| entry.key == key).unwrap();
    assert_eq!((entry.value.as_str(), &entry.origin), ("60", &Origin::Config));
}

#[test]
fn keys_and_variables_are_unique_and_documented() {
    let mut seen = BTreeMap::new();
    for row in table() {
        assert!(seen.insert(row.key, ()).is_none(), "{} stands twice", row.key);
        assert!(!row.doc.is_empty() && !row.doc.contains('|') || row.doc.contains(" | "), "{}", row.key);
        if let Some(name) = row.env {
            assert!(seen.insert(name, ()).is_none(), "{name} stands twice");
        }
    }
}
