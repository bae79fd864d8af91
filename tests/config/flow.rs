//! From settings to gates, limiters and execution limits (flow 1.1, 1.9, 4.1, 5): who wins, and
//! what is no limit at all.

use std::time::Duration;

use actors::ceiling::CeilingSettings;
use policy::gate::GateSettings;
use policy::limiter::{LimiterScope, LimiterSettings};
use serde_json::{Value, json};
use switchtower::app::{blueprint, execution_limit, gate_settings, is_protected};
use switchtower::settings::{
    Builtin, ExecutionLimit, Kept, Loaded, Settings, Stored, StoredConnection, load_with,
};

use crate::support::{Folder, STRATEGIES, Variables, check, connection, lookup, settings};

const QUEUE: &str = "resilience.request_queue";

fn load(text: &str, variables: Variables<'_>, stored: Stored) -> Loaded {
    let folder = Folder::with(text);
    let loaded = load_with(&folder.config(), &lookup(variables), STRATEGIES, &Builtin::default(), &stored);
    loaded.unwrap_or_else(|findings| panic!("{findings:#?}"))
}

fn stored(settings: &[(&str, Value)]) -> Stored {
    let settings = settings.iter().map(|(name, value)| (format!("{QUEUE}.{name}"), value.clone()));
    Stored { settings: settings.collect(), ..Stored::default() }
}

/// The gate of the one connection.
fn gate(settings: &Settings) -> GateSettings {
    gate_settings(settings, &settings.providers[0], &settings.connections[0])
}

fn gate_of(lines: &str) -> GateSettings {
    gate(&settings(&connection(lines)))
}

fn execution(settings: &Settings, first_byte_s: u64) -> Option<u64> {
    let limit = execution_limit(
        settings,
        &settings.providers[0],
        &settings.connections[0],
        Duration::from_secs(first_byte_s),
    );
    limit.map(|limit| limit.as_millis() as u64)
}

#[test]
fn decision_15a_built_in_numbers_protect_and_throttle_nobody() {
    let limiter = LimiterSettings {
        rpm: 0,
        min_time_ms: 0,
        parallel: 0,
        max_wait_ms: 30_000,
        max_depth: 0,
        scope: LimiterScope::Connection,
    };
    let wanted = GateSettings {
        queue_size: 20,
        timeout_ms: 30_000,
        limiter: Some(limiter),
        ..GateSettings::default()
    };
    assert_eq!(gate_of(""), wanted);
    let built_in = settings("").resilience;
    assert_eq!(built_in.request_queue.max_queued_total, 10_000, "decision 14");
    assert_eq!(built_in.concurrency.global_max, 0, "decision 17a");
}

#[test]
fn e1_a_cap_that_is_no_cap_makes_no_gate() {
    for lines in ["", "max_concurrent = 0", "rate_limit_overrides = { max_concurrent = 0 }"] {
        assert_eq!(gate_of(lines).account_cap, 0, "{lines}");
    }
    // What is no whole number never comes as far as a gate: not from the file, ...
    for number in ["-1", "nan", "0.5", "inf"] {
        let text = connection(&format!("max_concurrent = {number}"));
        check(&[(&text, 10, "connections[].max_concurrent", "accepted: a whole number from 0 to 100000")]);
    }
    // ... and not from a record of the store.
    for number in [json!(null), json!(0), json!(-1), json!(0.5), json!("nan")] {
        let fields = json!({"provider": "p", "maxConcurrent": number});
        assert_eq!(gate(&with_stored_connection(fields).settings).account_cap, 0, "{number}");
    }
}

/// The connection `c` with these fields stored over the file's.
fn with_stored_connection(fields: Value) -> Loaded {
    let mut stored = Stored::default();
    let connection_fields = switchtower::settings::StoredConnection {
        fields: fields.as_object().unwrap().clone(),
        secrets: switchtower::settings::Kept::default(),
        proxy: switchtower::settings::Kept::default(),
        created_at: 0,
        updated_at: 0,
    };
    stored.connections.insert("c".into(), connection_fields);
    load(&connection(""), &[], stored)
}

#[test]
fn flow_1_5_of_two_caps_of_an_account_the_smaller_positive_one_counts() {
    for (own, over, wanted) in [(4, 2, 2), (2, 4, 2), (0, 3, 3), (3, 0, 3), (0, 0, 0), (5, 5, 5)] {
        let lines = format!("max_concurrent = {own}\nrate_limit_overrides = {{ max_concurrent = {over} }}");
        assert_eq!(gate_of(&lines).account_cap, wanted, "{own} and {over}");
    }
}

#[test]
fn e13_e14_models_are_named_exactly_and_a_cap_of_nothing_is_none() {
    let caps = |counts: &str| {
        gate_of(&format!("rate_limit_overrides = {{ model_concurrency = {counts} }}")).model_caps
    };
    let of = |model: &str| caps("{ \"glm-5\" = 1, \"glm-4.7\" = 3 }").get(model).copied();
    assert_eq!([of("glm-5"), of("glm-4.7")], [Some(1), Some(3)]);
    assert_eq!([of("zai/glm-5"), of("GLM-5"), of("glm-5 ")], [None; 3], "E13, flow 1.3");
    assert!(caps("{ \"glm-5\" = 0 }").is_empty(), "E14");
    let line = "rate_limit_overrides = { model_concurrency = { x = -2 } }";
    let key = "connections[].rate_limit_overrides.model_concurrency";
    check(&[(&connection(line), 10, key, "from 0 to 10000")]);
    let fields = json!({"provider": "p", "rateLimitOverrides": {"modelConcurrency": {"x": -2}}});
    assert!(gate(&with_stored_connection(fields).settings).model_caps.is_empty(), "E14, from the store");
}

#[test]
fn e68_an_override_beats_what_is_stored_which_beats_a_variable() {
    let wait = |lines: &str, persisted: &[(&str, Value)]| {
        let env = [("RATE_LIMIT_MAX_WAIT_MS", "15000")];
        let loaded = load(&connection(lines), &env, stored(persisted));
        gate(&loaded.settings).limiter.unwrap().max_wait_ms
    };
    let persisted = [("max_wait_ms", json!(30_000))];
    assert_eq!(wait("rate_limit_overrides = { max_wait_ms = 60000 }", &persisted), 60_000);
    assert_eq!(wait("rate_limit_overrides = { max_wait_ms = 0 }", &persisted), 30_000, "flow 4.1.3");
    assert_eq!(wait("", &[]), 15_000);
}

#[test]
fn e69_stored_limits_are_clamped_and_no_number_changes_nothing() {
    for (value, wanted) in [
        (json!(-5), ExecutionLimit::Exact(1)),
        (json!(90_000_000), ExecutionLimit::Exact(86_400_000)),
        (json!("7000.9"), ExecutionLimit::Exact(7_000)),
        (json!("soon"), ExecutionLimit::BuiltIn(600_000)),
        (json!(null), ExecutionLimit::BuiltIn(600_000)),
    ] {
        let loaded = load("", &[], stored(&[("execution_max_wait_ms", value.clone())]));
        assert_eq!(loaded.settings.resilience.request_queue.execution, wanted, "{value}");
    }
}

#[test]
fn flow_4_1_2_variables_are_finite_positive_truncated_and_clamped_or_nothing() {
    let [wait, execution, depth] =
        ["RATE_LIMIT_MAX_WAIT_MS", "RATE_LIMIT_EXECUTION_MAX_WAIT_MS", "RATE_LIMIT_MAX_QUEUE_DEPTH"];
    for (text, wanted) in [
        ("5000", (5_000, ExecutionLimit::Exact(5_000), 5_000)),
        (" 5000.9 ", (5_000, ExecutionLimit::Exact(5_000), 5_000)),
        ("1e300", (86_400_000, ExecutionLimit::Exact(86_400_000), 100_000)),
        ("0", (30_000, ExecutionLimit::BuiltIn(600_000), 0)),
        ("-1", (30_000, ExecutionLimit::BuiltIn(600_000), 0)),
        ("NaN", (30_000, ExecutionLimit::BuiltIn(600_000), 0)),
        ("inf", (30_000, ExecutionLimit::BuiltIn(600_000), 0)),
        ("soon", (30_000, ExecutionLimit::BuiltIn(600_000), 0)),
    ] {
        let variables = [(wait, text), (execution, text), (depth, text)];
        let queue = load("", &variables, Stored::default()).settings.resilience.request_queue;
        assert_eq!((queue.max_wait_ms, queue.execution, queue.max_queue_depth), wanted, "{text}");
    }
}

#[test]
fn flow_4_1_a_limiter_has_the_connection_s_numbers_else_those_of_all() {
    let section = format!(
        "[{QUEUE}]\nrequests_per_minute = 60\nmin_time_between_requests_ms = 350\nconcurrent_requests = 6\n\
         max_wait_ms = \"20s\"\nmax_queue_depth = 7\n"
    );
    let limiter = |lines: &str| gate(&settings(&(connection(lines) + &section))).limiter.unwrap();
    let all = LimiterSettings {
        rpm: 60,
        min_time_ms: 350,
        parallel: 6,
        max_wait_ms: 20_000,
        max_depth: 7,
        scope: LimiterScope::Connection,
    };
    let own = "rpm = 5, min_time_ms = 40, max_concurrent = 3, max_wait_ms = 2";
    let wanted = LimiterSettings { rpm: 5, min_time_ms: 40, parallel: 3, max_wait_ms: 2, ..all };
    assert_eq!(limiter(""), all);
    assert_eq!(limiter(&format!("rate_limit_overrides = {{ {own} }}")), wanted);
    let zeros = "rpm = 0, min_time_ms = 0, max_concurrent = 0, max_wait_ms = 0, rpd = 9, tpm = 9, tpd = 9";
    assert_eq!(limiter(&format!("rate_limit_overrides = {{ {zeros} }}")), all, "flow 4.1.3");
}

#[test]
fn flow_4_2_5_some_providers_pace_each_model_or_family() {
    for (provider, scope) in [
        ("gemini", LimiterScope::Model),
        ("github", LimiterScope::Model),
        ("antigravity", LimiterScope::Family),
        ("agy", LimiterScope::Family),
        ("codex", LimiterScope::Connection),
        ("openai", LimiterScope::Connection),
        ("gemini-2", LimiterScope::Connection),
    ] {
        let text = connection("").replace("\"p\"", &format!("\"{provider}\""));
        assert_eq!(gate(&settings(&text)).limiter.unwrap().scope, scope, "{provider}");
    }
}

#[test]
fn decision_16a_only_the_built_in_execution_limit_gives_way_to_the_first_byte_limit() {
    let section = format!("[{QUEUE}]\nexecution_max_wait_ms = 5000\n");
    let own = "rate_limit_overrides = { execution_max_wait_ms = 7000 }";
    for (lines, section, first_byte_s, wanted) in [
        ("", "", 600, 600_000),
        ("", "", 900, 900_000),
        ("", "", 30, 600_000),
        ("", section.as_str(), 600, 5_000),
        (own, "", 600, 7_000),
        (own, section.as_str(), 600, 7_000),
    ] {
        let settings = settings(&(connection(lines) + section));
        assert_eq!(execution(&settings, first_byte_s), Some(wanted), "{lines} {section} {first_byte_s}");
    }
    let typed = format!("[{QUEUE}]\nexecution_max_wait_ms = 600000\n");
    assert_eq!(execution(&settings(&(connection("") + &typed)), 900), Some(600_000), "typed is exact");
}

#[test]
fn flow_1_9_the_cap_of_a_provider_is_the_smaller_positive_one() {
    let quota = |lines: &str| {
        let section = format!("[resilience.provider_quota_overrides.p]\n{lines}\n");
        settings(&(connection("") + &section)).resilience.provider_quota_overrides["p"].clone()
    };
    for (lines, cap) in [
        ("rpm = 3", 0),
        ("concurrency = 8", 8),
        ("provider_concurrency = 5", 5),
        ("provider_concurrency = 0", 0),
        ("concurrency = 8\nprovider_concurrency = 0", 8),
        ("concurrency = 8\nprovider_concurrency = 5", 5),
        ("concurrency = 4\nprovider_concurrency = 5", 4),
    ] {
        assert_eq!(quota(lines).cap(), cap, "{lines}");
    }
    assert_eq!((quota("rpm = 3").rpm, quota("concurrency = 1").rpm), (Some(3), None), "flow 4.4");
}

#[test]
fn what_is_typed_is_what_the_owners_are_built_from() {
    let sections = "[resilience.concurrency]\nglobal_max = 9\nqueue_size = 3\ntimeout_ms = 40\n\
        [resilience.request_queue]\nmax_queued_total = 70\n\
        [resilience.provider_quota_overrides.p]\nrpm = 5\nconcurrency = 6\nprovider_concurrency = 4\n";
    let lines = "max_concurrent = 2\nrate_limit_overrides = { model_concurrency = { m = 1 } }";
    let settings = settings(&(connection(lines) + sections));
    let made = blueprint(&settings, "salt");
    assert_eq!((made.global_max, made.max_queued_total), (9, 70));
    assert_eq!(made.ceilings["p"], CeilingSettings { cap: 4, rpm: 5 });
    let numbers = &made.connections["c"].gate;
    assert_eq!(*numbers, gate(&settings));
    assert_eq!((numbers.account_cap, numbers.queue_size, numbers.timeout_ms), (2, 3, 40));
    assert_eq!(numbers.model_caps.get("m"), Some(&1));
}

#[test]
fn e83_to_e87_the_net_holds_active_api_keys_and_the_flag_anybody() {
    let flagged = Stored { protected: ["c".to_owned()].into(), ..Stored::default() };
    let off = stored(&[("auto_enable_api_key_providers", json!(false))]);
    let on = stored(&[("auto_enable_api_key_providers", json!(true))]);
    let variable = |text: &'static str| vec![("RATE_LIMIT_AUTO_ENABLE", text)];
    for (auth, active, variables, stored, wanted, row) in [
        ("oauth", false, vec![], &flagged, true, "E83"),
        ("apikey", true, vec![], &on, true, "E84"),
        ("apikey", true, variable("off"), &on, false, "E85"),
        ("apikey", true, variable("ON "), &off, true, "E86"),
        ("apikey", true, variable("yes"), &off, false, "E87"),
        ("apikey", true, variable("yes"), &on, true, "flow 5.3"),
        ("apikey", false, vec![], &on, false, "flow 5.1"),
        ("oauth", true, vec![], &on, false, "flow 5.1"),
    ] {
        let text = connection(&format!("active = {active}"));
        let text = text.replace("format = ", &format!("auth = \"{auth}\"\nformat = "));
        let settings = load(&text, &variables, stored.clone()).settings;
        let (provider, connection) = (&settings.providers[0], &settings.connections[0]);
        assert_eq!(is_protected(&settings, provider, connection), wanted, "{row}");
        assert_eq!(gate(&settings).limiter.is_some(), wanted, "flow 4.2.6, {row}");
        assert_eq!(execution(&settings, 1).is_some(), wanted, "flow 4.4.10, {row}");
    }
}

#[test]
fn flow_4_1_1_the_one_variable_that_beats_what_is_stored_beats_our_own_too() {
    let own = "SWITCHTOWER__RESILIENCE__REQUEST_QUEUE__AUTO_ENABLE_API_KEY_PROVIDERS";
    let persisted = stored(&[("auto_enable_api_key_providers", json!(true))]);
    for (variables, stored, wanted) in [
        (vec![(own, "true"), ("RATE_LIMIT_AUTO_ENABLE", "off")], Stored::default(), false),
        (vec![(own, "true"), ("RATE_LIMIT_AUTO_ENABLE", "off")], persisted.clone(), false),
        (vec![(own, "false"), ("RATE_LIMIT_AUTO_ENABLE", "yes")], persisted.clone(), true),
        (vec![(own, "false"), ("RATE_LIMIT_AUTO_ENABLE", "yes")], Stored::default(), false),
        (vec![(own, "false")], persisted.clone(), true),
    ] {
        let queue = load("", &variables, stored).settings.resilience.request_queue;
        assert_eq!(queue.auto_enable_api_key_providers, wanted, "{variables:?}");
    }
}

#[test]
fn connections_with_limits_of_their_own_are_listed_once_more() {
    let lines = "rate_limit_overrides = { rpm = 5, max_wait_ms = 0 }";
    let loaded = load(&connection(lines), &[], Stored::default());
    let listed: Vec<String> = loaded
        .effective
        .iter()
        .filter(|entry| entry.origin.to_string() == "connection c")
        .map(|entry| format!("{} {}", entry.key, entry.value))
        .collect();
    assert_eq!(listed, [format!("{QUEUE}.requests_per_minute 5")], "0 is no override");
}

/// Contract 1: the file's connections and those that only an operator has made.
#[test]
fn limits_that_operators_gave_are_listed_by_connection() {
    let fields = |rpm: u64| json!({"provider": "p", "name": "n", "rateLimitOverrides": {"rpm": rpm}});
    let stored = |rpm: u64| StoredConnection {
        fields: fields(rpm).as_object().cloned().unwrap(),
        secrets: Kept::Sealed("x".into()),
        proxy: Kept::Inherited,
        created_at: 0,
        updated_at: 0,
    };
    let connections = [("c".to_owned(), stored(7)), ("made".to_owned(), stored(8))].into();
    let loaded = load(&connection(""), &[], Stored { connections, ..Stored::default() });
    let own = loaded.effective.iter().filter(|entry| entry.origin.to_string().starts_with("connection "));
    let listed: Vec<String> =
        own.map(|entry| format!("{}: {} {}", entry.origin, entry.key, entry.value)).collect();
    let wanted = [("c", 7), ("made", 8)]
        .map(|(id, rpm)| format!("connection {id}: {QUEUE}.requests_per_minute {rpm}"));
    assert_eq!(listed, wanted);
}
