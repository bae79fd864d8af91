//! `[stream]`, `[resilience.stream_recovery]`, `timeouts` and `watchdog`: numbers, variables, and which
//! level wins (flow 6.1, 6.4, contract 8).

use std::time::Duration;

use policy::stream::PaceSettings;
use serde_json::{Value, json};
use switchtower::app::endpoints;
use switchtower::settings::{
    Builtin, Kept, Loaded, Patch, Section, Settings, Stored, StoredConnection, StreamRecovery,
    StreamSettings, ThroughputWatchdog, load_with,
};
use switchtower::upstream::StreamTimeouts;

use crate::support::{Folder, STRATEGIES, Variables, check, load_text, lookup, settings};

const RECOVERY: &str = "resilience.stream_recovery";

fn load(text: &str, variables: Variables<'_>, stored: &[(&str, Value)]) -> Loaded {
    let folder = Folder::with(text);
    let settings = stored.iter().map(|(name, value)| (format!("{RECOVERY}.{name}"), value.clone()));
    let stored = Stored { settings: settings.collect(), ..Stored::default() };
    let loaded = load_with(&folder.config(), &lookup(variables), STRATEGIES, &Builtin::default(), &stored);
    loaded.unwrap_or_else(|findings| panic!("{findings:#?}"))
}

fn seconds(number: u64) -> Duration {
    Duration::from_secs(number)
}

#[test]
fn the_defaults_of_streams_are_those_of_contract_8() {
    let settings = Settings::default();
    let wanted = StreamSettings {
        first_content: seconds(120),
        content_stall: seconds(300),
        idle: seconds(600),
        total: Duration::ZERO,
        attempt: Duration::ZERO,
        early_commit: Duration::ZERO,
        early_commit_json: Duration::ZERO,
        heartbeat: seconds(15),
        max_event: 32 << 20,
    };
    assert_eq!(settings.stream, wanted);
    let watchdog = ThroughputWatchdog {
        enabled: false,
        warmup_ms: 30_000,
        window_ms: 30_000,
        min_bytes_per_second: 4,
        min_bytes: 1,
    };
    let recovery = StreamRecovery { enabled: false, continue_mid_stream: false, watchdog };
    assert_eq!(settings.resilience.stream_recovery, recovery, "flow 6.4");
    let streaming = settings.streaming();
    assert_eq!((streaming.stream, streaming.recovery, streaming.stall_cools), (wanted, recovery, false));
}

#[test]
fn each_key_of_streams_is_read_into_its_own_place() {
    let text = "[stream]\nfirst_content_timeout = \"1s\"\ncontent_stall_timeout = \"2s\"\n\
        idle_timeout = \"3s\"\ntotal_timeout = \"4s\"\nattempt_deadline = \"5s\"\nearly_commit = \"6s\"\n\
        early_commit_json = \"8s\"\n\
        heartbeat = \"7s\"\nmax_event = \"64KiB\"\n[resilience.stream_stall_cooldown]\nenabled = true\n\
        [resilience.stream_recovery]\nenabled = true\n[resilience.stream_recovery.throughput_watchdog]\n\
        enabled = true\nwarmup_ms = \"1s\"\nwindow_ms = 2000\nmin_useful_bytes_per_second = 3\n\
        min_useful_bytes = 4\n";
    let streaming = settings(text).streaming();
    let wanted = StreamSettings {
        first_content: seconds(1),
        content_stall: seconds(2),
        idle: seconds(3),
        total: seconds(4),
        attempt: seconds(5),
        early_commit: seconds(6),
        early_commit_json: seconds(8),
        heartbeat: seconds(7),
        max_event: 64 << 10,
    };
    assert_eq!(streaming.stream, wanted);
    let watchdog = ThroughputWatchdog {
        enabled: true,
        warmup_ms: 1_000,
        window_ms: 2_000,
        min_bytes_per_second: 3,
        min_bytes: 4,
    };
    assert_eq!(streaming.recovery, StreamRecovery { enabled: true, continue_mid_stream: false, watchdog });
    assert!(streaming.stall_cools);
    let other = settings("[resilience.stream_recovery]\ncontinue_mid_stream = true");
    assert!(other.streaming().recovery.continue_mid_stream);
    check(&[
        ("[stream]\nmax_event = \"1KiB\"", 2, "stream.max_event", "from 64KiB to 1GiB"),
        ("[stream]\ntotal_timeout = 5", 2, "stream.total_timeout", "a duration such as"),
        ("[stream]\nheartbeat = \"2h\"", 2, "stream.heartbeat", "to 1h"),
    ]);
}

#[test]
fn flow_6_1_the_variables_are_milliseconds_and_none_that_is_wrong_counts() {
    let names = [
        "FETCH_TIMEOUT_MS",
        "FETCH_CONNECT_TIMEOUT_MS",
        "STREAM_READINESS_TIMEOUT_MS",
        "STREAM_IDLE_TIMEOUT_MS",
        "STREAM_CONTENT_STALL_TIMEOUT_MS",
        "STREAM_ACTIVE_TIMEOUT_MS",
        "SSE_HEARTBEAT_INTERVAL_MS",
    ];
    let read = |loaded: &Loaded| {
        let (upstream, stream) = (&loaded.settings.upstream, &loaded.settings.stream);
        [
            upstream.first_byte_timeout,
            upstream.connect_timeout,
            stream.first_content,
            stream.idle,
            stream.content_stall,
            stream.attempt,
            stream.heartbeat,
        ]
    };
    let built_in = read(&load_text("", &[]).unwrap());
    for (index, name) in names.into_iter().enumerate() {
        let with = |text: &str| {
            let loaded = load_text("", &[(name, text)]).unwrap();
            (read(&loaded), loaded.warnings.len())
        };
        let mut wanted = built_in;
        wanted[index] = Duration::from_millis(7_500);
        assert_eq!(with("7500"), (wanted, 0), "{name}");
        assert_eq!(with(" 7500.9 "), (wanted, 0), "{name}: fractions floor");
        for wrong in ["-1", "soon", "nan", "inf", "1e300", "7s"] {
            assert_eq!(with(wrong), (built_in, 1), "{name}={wrong}: the default, with a warning");
        }
        let (off, warnings) = with("0");
        match name.starts_with("FETCH_") {
            // Nothing may wait without end for a provider that says nothing at all.
            true => assert_eq!((off, warnings), (built_in, 1), "{name}"),
            false => assert_eq!((off[index], warnings), (Duration::ZERO, 0), "{name}: 0 disables"),
        }
    }
}

#[test]
fn flow_6_1_three_limits_follow_that_of_the_whole_request() {
    let all = ("REQUEST_TIMEOUT_MS", "90000");
    let read = |text: &str, variables: Variables<'_>| {
        let settings = load_text(text, variables).unwrap().settings;
        let (upstream, stream) = (&settings.upstream, &settings.stream);
        let followers = [upstream.first_byte_timeout, stream.first_content, stream.idle];
        (
            followers.map(|limit| limit.as_secs()),
            upstream.connect_timeout.as_secs(),
            stream.content_stall.as_secs(),
        )
    };
    assert_eq!(read("", &[all]), ([90, 90, 90], 10, 300), "the others do not");
    assert_eq!(read("", &[all, ("STREAM_IDLE_TIMEOUT_MS", "5000")]).0, [90, 90, 5]);
    let own = ("SWITCHTOWER__STREAM__IDLE_TIMEOUT", "4s");
    assert_eq!(read("[stream]\nidle_timeout = \"3s\"", &[all, own]).0, [90, 90, 4]);
}

#[test]
fn e122_stored_numbers_out_of_bounds_are_clamped_and_patch_refuses_them() {
    let sent = [
        ("warmup_ms", "warmupMs", json!(-1)),
        ("window_ms", "windowMs", json!(10)),
        ("min_useful_bytes_per_second", "minUsefulBytesPerSecond", json!(0)),
        ("min_useful_bytes", "minUsefulBytes", json!(0)),
    ];
    let stored = sent.clone().map(|(name, _, value)| (format!("throughput_watchdog.{name}"), value));
    let stored: Vec<(&str, Value)> =
        stored.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
    let watchdog = load("", &[], &stored).settings.resilience.stream_recovery.watchdog;
    let numbers = (watchdog.warmup_ms, watchdog.window_ms, watchdog.min_bytes_per_second, watchdog.min_bytes);
    assert_eq!(numbers, (0, 1_000, 1, 1));
    let fields: serde_json::Map<String, Value> =
        sent.into_iter().map(|(_, field, value)| (field.to_owned(), value)).collect();
    let patch = |fields: Value| {
        let body = json!({"streamRecovery": {"throughputWatchdog": fields}});
        Patch::read(Section::Resilience, &body, &[], &|_| None)
    };
    let refused: Vec<String> = patch(fields.into()).unwrap_err().into_iter().map(|each| each.field).collect();
    let mut wanted = ["warmupMs", "windowMs", "minUsefulBytesPerSecond", "minUsefulBytes"]
        .map(|name| format!("streamRecovery.throughputWatchdog.{name}"));
    wanted.sort();
    assert_eq!(refused, wanted);
    assert!(patch(json!({"speed": 1})).is_err(), "unknown keys");
    assert_eq!(patch(json!({"warmupMs": 0})).unwrap().idle, [""; 0], "it acts");
}

#[test]
fn e123_a_persisted_flag_beats_the_variable_and_what_is_none_does_not() {
    let enabled = |persisted: Value| {
        let variables = [("STREAM_THROUGHPUT_WATCHDOG_ENABLED", "true")];
        let stored = [("throughput_watchdog.enabled", persisted)];
        load("", &variables, &stored).settings.resilience.stream_recovery.watchdog.enabled
    };
    assert!(!enabled(json!(false)), "E123");
    for no_flag in [json!("false"), json!(0), json!(null)] {
        assert!(enabled(no_flag.clone()), "flow 6.4.18: {no_flag}");
    }
}

const LEVELS: &str = r#"
[[providers]]
id = "p"
format = "openai"
base_url = "https://h"
models = [
  { id = "slow", timeouts = { first_byte = "2s", first_content = "20s", content_stall = "200s", idle = "0s" } },
  "plain",
]
timeouts = { first_byte = "1s", content_stall = "100s", idle = "60s", total = "1000s" }
[[connections]]
id = "own"
provider = "p"
credential = "sk-1"
timeouts = { connect = "3s", first_byte = "3s", idle = "7s", total = "0s", attempt = "9s" }
[[connections]]
id = "none"
provider = "p"
credential = "sk-2"
"#;

#[test]
fn a_connection_beats_its_model_which_beats_the_provider_which_beats_the_section() {
    let settings = settings(LEVELS);
    let endpoints = endpoints(&settings, &Default::default(), &Default::default(), &Default::default());
    let limits = |connection: &str, model: &str| *endpoints[connection].limits(&model.into());
    let of = |[first_byte, first_content, content_stall, idle, total, attempt]: [u64; 6]| StreamTimeouts {
        first_byte: seconds(first_byte),
        body: seconds(first_byte),
        first_content: seconds(first_content),
        content_stall: seconds(content_stall),
        idle: seconds(idle),
        total: seconds(total),
        attempt: seconds(attempt),
        pace: PaceSettings::default(),
    };
    assert_eq!(limits("none", "plain"), of([1, 120, 100, 60, 1000, 0]));
    assert_eq!(limits("none", "slow"), of([2, 20, 200, 0, 1000, 0]));
    assert_eq!(limits("own", "plain"), of([3, 120, 100, 7, 0, 9]), "zero is no limit, and it is said");
    assert_eq!(limits("own", "slow"), of([3, 20, 200, 7, 0, 9]));
    assert_eq!(endpoints["own"].connect_timeout, seconds(3));
    assert_eq!(endpoints["none"].connect_timeout, seconds(10));
    assert_eq!(limits("none", "unheard-of"), limits("none", "plain"));
}

#[test]
fn a_level_that_says_no_limit_of_silence_is_asked_no_further() {
    let text = "[stream]\nidle_timeout = \"0s\"\n".to_owned() + &LEVELS.replace(", idle = \"60s\"", "");
    let endpoints =
        endpoints(&settings(&text), &Default::default(), &Default::default(), &Default::default());
    let idle = |connection: &str, model: &str| endpoints[connection].limits(&model.into()).idle;
    assert_eq!(idle("none", "plain"), Duration::ZERO, "the section's");
    assert_eq!(idle("own", "slow"), seconds(7));
}

/// Flow 6.1: the whole body has what the first byte has, unless somebody says otherwise.
#[test]
fn the_body_may_take_what_the_first_byte_may() {
    let body = |text: &str, variables: Variables<'_>| {
        let settings = load_text(&(text.to_owned() + LEVELS), variables).unwrap().settings;
        let endpoints = endpoints(&settings, &Default::default(), &Default::default(), &Default::default());
        ["own", "none"].map(|connection| endpoints[connection].limits(&"plain".into()).body.as_secs())
    };
    assert_eq!(body("", &[]), [3, 1]);
    assert_eq!(body("[upstream]\nbody_timeout = \"5s\"", &[]), [5, 5]);
    assert_eq!(body("", &[("FETCH_BODY_TIMEOUT_MS", "0")]), [0, 0], "no limit");
    let own = LEVELS.replace("first_byte = \"3s\"", "first_byte = \"3s\", body = \"4s\"");
    let endpoints = endpoints(&settings(&own), &Default::default(), &Default::default(), &Default::default());
    assert_eq!(endpoints["own"].limits(&"plain".into()).body, seconds(4));
}

const WATCHDOGS: &str = r#"
[resilience.stream_recovery.throughput_watchdog]
warmup_ms = 1000
window_ms = 2000
min_useful_bytes_per_second = 3
min_useful_bytes = 4
[[providers]]
id = "p"
format = "openai"
base_url = "https://h"
models = [
  { id = "slow", watchdog = { enabled = false, window = "20s", min_bytes = 40 } },
  { id = "still", watchdog = { min_bytes_per_second = 33 } },
  "plain",
]
watchdog = { enabled = true, window = "30s", min_bytes_per_second = 30 }
[[connections]]
id = "own"
provider = "p"
credential = "sk-1"
watchdog = { warmup = "0s", min_bytes = 50 }
[[connections]]
id = "off"
provider = "p"
credential = "sk-2"
watchdog = { enabled = false }
[[connections]]
id = "none"
provider = "p"
credential = "sk-3"
"#;

#[test]
fn flow_6_7_a_watchdog_is_resolved_key_by_key_through_all_levels() {
    let endpoints =
        endpoints(&settings(WATCHDOGS), &Default::default(), &Default::default(), &Default::default());
    for (connection, model, enabled, numbers) in [
        ("none", "plain", true, [1_000, 30_000, 30, 4]),
        ("none", "unheard-of", true, [1_000, 30_000, 30, 4]),
        ("none", "slow", false, [1_000, 20_000, 30, 40]),
        ("none", "still", true, [1_000, 30_000, 33, 4]),
        ("own", "plain", true, [0, 30_000, 30, 50]),
        ("own", "slow", false, [0, 20_000, 30, 50]),
        ("own", "still", true, [0, 30_000, 33, 50]),
        ("off", "plain", false, [1_000, 30_000, 30, 4]),
        ("off", "still", false, [1_000, 30_000, 33, 4]),
    ] {
        let [warmup_ms, window_ms, min_bytes_per_second, min_bytes] = numbers;
        let wanted = PaceSettings { enabled, warmup_ms, window_ms, min_bytes_per_second, min_bytes };
        assert_eq!(endpoints[connection].limits(&model.into()).pace, wanted, "{connection} {model}");
    }
}

/// No body can say them, so what the API changes of a connection leaves them to the file.
#[test]
fn a_stored_connection_keeps_the_clocks_and_the_watchdog_of_the_file() {
    let text = WATCHDOGS.replace("watchdog = { warmup", "timeouts = { idle = \"7s\" }\nwatchdog = { warmup");
    let folder = Folder::with(&text);
    let fields = json!({"provider": "p", "name": "theirs"}).as_object().cloned().unwrap();
    let (secrets, proxy) = (Kept::Inherited, Kept::Inherited);
    let own = StoredConnection { fields, secrets, proxy, created_at: 0, updated_at: 0 };
    let stored = Stored { connections: [("own".to_owned(), own)].into(), ..Stored::default() };
    let loaded = load_with(&folder.config(), &lookup(&[]), STRATEGIES, &Builtin::default(), &stored).unwrap();
    let of = |settings: &Settings| {
        let connection = settings.connections.iter().find(|one| one.id.as_str() == "own").unwrap();
        (connection.name.clone(), connection.timeouts, connection.watchdog)
    };
    let (name, timeouts, watchdog) = of(&loaded.settings);
    let (_, file_timeouts, file_watchdog) = of(&settings(&text));
    assert_eq!((name.as_str(), timeouts, watchdog), ("theirs", file_timeouts, file_watchdog));
    assert_eq!((timeouts.idle, watchdog.min_bytes), (Some(seconds(7)), Some(50)));
}

#[test]
fn a_watchdog_of_a_connection_is_listed_below_that_of_all() {
    let loaded = load_text(WATCHDOGS, &[]).unwrap();
    let own = loaded.effective.iter().filter(|entry| entry.origin.to_string().starts_with("connection "));
    let listed: Vec<String> =
        own.map(|entry| format!("{}: {} {}", entry.origin, entry.key, entry.value)).collect();
    let section = "resilience.stream_recovery.throughput_watchdog";
    let wanted = [
        format!("connection off: {section}.enabled false"),
        format!("connection own: {section}.warmup_ms 0s"),
        format!("connection own: {section}.min_useful_bytes 50"),
    ];
    assert_eq!(listed, wanted);
}

#[test]
fn decision_16a_the_execution_limit_gives_way_to_the_slowest_model() {
    let text = LEVELS.replace("first_byte = \"2s\"", "first_byte = \"2h\"");
    let endpoints =
        endpoints(&settings(&text), &Default::default(), &Default::default(), &Default::default());
    assert_eq!(endpoints["none"].execution, Some(seconds(7_200)));
    assert_eq!(endpoints["own"].execution, Some(seconds(600)), "its own word counts for every model");
}

#[test]
fn connections_with_clocks_of_their_own_are_listed_once_more() {
    let loaded = load_text(LEVELS, &[]).unwrap();
    let listed: Vec<String> = loaded
        .effective
        .iter()
        .filter(|entry| entry.origin.to_string() == "connection own")
        .map(|entry| format!("{} {}", entry.key, entry.value))
        .collect();
    let wanted = [
        "upstream.connect_timeout 3s",
        "upstream.first_byte_timeout 3s",
        "stream.idle_timeout 7s",
        "stream.total_timeout 0s",
        "stream.attempt_deadline 9s",
    ];
    assert_eq!(listed, wanted);
}
