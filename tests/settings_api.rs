//! Settings by API (core 6): what PATCH takes and refuses, what GET shows, rows G1–G13 but G12.

#[path = "settings_api/acts.rs"]
mod acts;
#[path = "settings_api/keeps.rs"]
mod keeps;
#[allow(dead_code, reason = "each test file uses its part")]
mod process;
#[allow(dead_code, unused_imports, reason = "each test file uses its part")]
mod support;

use process::{Process, Site, call};
use serde_json::{Value, json};

const RESILIENCE: &str = "/api/resilience";
const SETTINGS: &str = "/api/settings";

fn json_of(body: &str) -> Value {
    let (start, end) = (body.find('{').unwrap(), body.rfind('}').unwrap());
    serde_json::from_str(&body[start..=end]).unwrap_or_else(|error| panic!("{error}: {body}"))
}

fn get(process: &Process, path: &str) -> Value {
    let (status, _, body) = call(&process.address, "GET", path, "");
    assert_eq!(status, 200, "{body}");
    json_of(&body)
}

fn try_patch(process: &Process, path: &str, body: &Value) -> (u16, Value) {
    let (status, _, answer) = call(&process.address, "PATCH", path, &body.to_string());
    (status, json_of(&answer))
}

#[track_caller]
fn patch(process: &Process, path: &str, body: Value) -> Value {
    let (status, answer) = try_patch(process, path, &body);
    assert_eq!((status, &answer["ok"]), (200, &json!(true)), "{body}: {answer}");
    answer
}

/// The fields that a PATCH is refused for.
#[track_caller]
fn refused(process: &Process, path: &str, body: Value) -> Vec<String> {
    let (status, answer) = try_patch(process, path, &body);
    assert_eq!(status, 400, "{body}: {answer}");
    assert_eq!(answer["error"]["code"], "invalid_request");
    assert!(!answer["error"]["message"].as_str().unwrap().is_empty());
    let details = answer["error"]["details"].as_array().unwrap().iter();
    let field = |detail: &Value| {
        assert!(!detail["message"].as_str().unwrap().is_empty(), "{detail}");
        detail["field"].as_str().unwrap().to_owned()
    };
    details.map(field).collect()
}

/// Who gave the value of a key.
fn origin(process: &Process, key: &str) -> String {
    let all = get(process, "/api/settings/effective");
    let entry = all["settings"].as_array().unwrap().iter().find(|entry| entry["key"] == key);
    entry.unwrap_or_else(|| panic!("no key {key}"))["origin"].as_str().unwrap().to_owned()
}

#[test]
fn g1_g2_g9_a_stored_value_beats_a_variable_which_beats_the_built_in() {
    let site = Site::new("settings-env", "5s");
    let variables = [("PROVIDER_COOLDOWN_ENABLED", "true"), ("RATE_LIMIT_MAX_WAIT_MS", "5000")];
    let process = Process::of(site.command().envs(variables));
    let read = || {
        let now = get(&process, RESILIENCE);
        (now["providerCooldown"]["enabled"].clone(), now["requestQueue"]["maxWaitMs"].clone())
    };
    assert_eq!(read(), (json!(true), json!(5_000)), "G1");
    assert_eq!(get(&process, RESILIENCE)["providerQuotaOverrides"], json!({}), "none is a table too");
    let body = json!({"providerCooldown": {"enabled": false}, "requestQueue": {"maxWaitMs": 20_000}});
    patch(&process, RESILIENCE, body);
    assert_eq!(read(), (json!(false), json!(20_000)), "G2, G9");
    let key = "resilience.provider_cooldown.enabled";
    assert_eq!(origin(&process, key), "stored");
    patch(&process, RESILIENCE, json!({"providerCooldown": {"enabled": null}}));
    assert_eq!(read(), (json!(true), json!(20_000)), "decision 12d");
    assert_eq!(origin(&process, key), "env PROVIDER_COOLDOWN_ENABLED");
}

#[test]
fn flow_5_3_one_variable_beats_what_is_stored_and_says_so() {
    let site = Site::new("settings-auto", "5s");
    let process = Process::of(site.command().env("RATE_LIMIT_AUTO_ENABLE", "off"));
    let answer = patch(&process, RESILIENCE, json!({"requestQueue": {"autoEnableApiKeyProviders": true}}));
    assert_eq!(answer["requestQueue"]["autoEnableApiKeyProviders"], false);
    let told = answer["warnings"].to_string();
    assert!(told.contains("RATE_LIMIT_AUTO_ENABLE is stronger"), "{told}");
}

#[test]
fn g3_g4_g5_g7_g8_g13_what_patch_takes_and_what_it_refuses() {
    let site = Site::new("settings-rows", "5s");
    let process = site.start();
    assert_eq!(refused(&process, RESILIENCE, json!({})), ["body"], "G3");
    assert_eq!(
        patch(&process, RESILIENCE, json!({"p2cLatency": {"weight": 10}}))["p2cLatency"]["weight"],
        10
    );
    let both = json!({"providerBreaker": {"apikey": {"failureThreshold": 5, "degradationThreshold": 5}}});
    assert_eq!(refused(&process, RESILIENCE, both), ["providerBreaker.apikey.degradationThreshold"], "G5");
    let one = patch(&process, RESILIENCE, json!({"providerBreaker": {"apikey": {"failureThreshold": 5}}}));
    assert_eq!(one["providerBreaker"]["apikey"]["degradationThreshold"], 4, "G5: the other is lowered");
    for enabled in [json!("yes"), json!(1), json!([])] {
        let body = json!({"streamStallCooldown": {"enabled": enabled}});
        assert_eq!(refused(&process, RESILIENCE, body), ["streamStallCooldown.enabled"], "G7");
    }
    let unknown = json!({"streamStallCooldown": {"enabled": true, "x": 1}});
    assert_eq!(refused(&process, RESILIENCE, unknown), ["streamStallCooldown.x"], "G7");
    assert_eq!(get(&process, RESILIENCE)["streamStallCooldown"]["enabled"], false, "refused whole");
    let hints =
        |value: Value| json!({"connectionCooldown": {"apikey": {"useUpstream429BreakerHints": value}}});
    let read =
        |answer: &Value| answer["connectionCooldown"]["apikey"].get("useUpstream429BreakerHints").cloned();
    assert_eq!(read(&patch(&process, RESILIENCE, hints(json!(true)))), Some(json!(true)));
    assert_eq!(read(&patch(&process, RESILIENCE, hints(Value::Null))), None, "G8: the key is gone");
    for seconds in [0, 21_601] {
        let body = json!({"providerQuotaOverrides": {"demo-a": {"rateLimitCooldownSeconds": seconds}}});
        assert_eq!(
            refused(&process, RESILIENCE, body),
            ["providerQuotaOverrides.demo-a.rateLimitCooldownSeconds"],
            "G13"
        );
    }
}

#[test]
fn core_6_2_everything_that_is_wrong_is_named_at_once_and_nothing_is_changed() {
    let site = Site::new("settings-wrong", "5s");
    let process = site.start();
    let before = get(&process, RESILIENCE);
    let body = json!({
        "p2cLatency": {"weight": 21},
        "requestQueue": {"maxWaitMs": 0, "maxQueueDepth": 100_001, "requestsPerMinute": 0},
        "waitForCooldown": {"budgetMs": 5},
        "providerCooldown": {"minRetryCooldownMs": 300_001, "maxRetryCooldownMs": 3_600_001},
        "modelLockout": {"errorCodes": [99], "baseCooldownMs": 4_999.5},
        "providerQuotaOverrides": {"nobody": {"rpm": 5}},
        "quotaPreflight": {"providerWindowDefaults": {"codex": {"weekly": 101}}},
        "tokenRefreshBreaker": {"scope": "all"},
        "combos": 1,
        "providerBreaker": [],
    });
    let mut found = refused(&process, RESILIENCE, body);
    found.sort_unstable();
    let wanted = [
        "combos",
        "modelLockout.baseCooldownMs",
        "modelLockout.errorCodes",
        "p2cLatency.weight",
        "providerBreaker",
        "providerCooldown.maxRetryCooldownMs",
        "providerCooldown.minRetryCooldownMs",
        "providerQuotaOverrides.nobody",
        "quotaPreflight.providerWindowDefaults.codex.weekly",
        "requestQueue.maxQueueDepth",
        "requestQueue.maxWaitMs",
        "tokenRefreshBreaker.scope",
        "waitForCooldown.budgetMs",
    ];
    assert_eq!(found, wanted, "0 requests per minute is no limit (decision 15a)");
    assert_eq!(get(&process, RESILIENCE), before);
    let below = json!({"providerCooldown": {"maxRetryCooldownMs": 4_999}});
    assert_eq!(refused(&process, RESILIENCE, below), ["providerCooldown.maxRetryCooldownMs"]);
    let number = patch(&process, RESILIENCE, json!({"p2cLatency": {"weight": "7"}}));
    assert_eq!(number["p2cLatency"]["weight"], 7, "the text of a whole number is one");
    for body in ["", "[]", "{", "null", "7"] {
        let (status, _, answer) = call(&process.address, "PATCH", RESILIENCE, body);
        assert_eq!(
            (status, &json_of(&answer)["error"]["details"][0]["field"]),
            (400, &json!("body")),
            "{body}"
        );
    }
    let (status, head, _) = call(&process.address, "DELETE", RESILIENCE, "");
    assert!(status == 405 && head.contains("allow: get, patch"), "{status} {head}");
}

#[test]
fn flow_4_1_2_a_patch_of_queues_and_gates_is_in_bounds_or_refused() {
    let site = Site::new("settings-flow", "5s");
    let process = site.start();
    let body = json!({
        "requestQueue": {"executionMaxWaitMs": 0, "maxWaitMs": 86_400_001, "requestsPerMinute": 1_000_001,
            "minTimeBetweenRequestsMs": 3_600_001, "concurrentRequests": -1, "maxQueuedTotal": 0,
            "autoEnableApiKeyProviders": "on"},
        "concurrency": {"globalMax": 100_001, "queueSize": 0.5, "timeoutMs": "30s"},
        "providerQuotaOverrides": {"demo-a": {"rpm": 0, "concurrency": 0, "providerConcurrency": 100_001}},
    });
    let mut found = refused(&process, RESILIENCE, body);
    found.sort_unstable();
    let wanted = [
        "concurrency.globalMax",
        "concurrency.queueSize",
        "concurrency.timeoutMs",
        "providerQuotaOverrides.demo-a.concurrency",
        "providerQuotaOverrides.demo-a.providerConcurrency",
        "providerQuotaOverrides.demo-a.rpm",
        "requestQueue.autoEnableApiKeyProviders",
        "requestQueue.concurrentRequests",
        "requestQueue.executionMaxWaitMs",
        "requestQueue.maxQueuedTotal",
        "requestQueue.maxWaitMs",
        "requestQueue.minTimeBetweenRequestsMs",
        "requestQueue.requestsPerMinute",
    ];
    assert_eq!(found, wanted);
    let queue = json!({"executionMaxWaitMs": 1, "requestsPerMinute": 0, "maxQueueDepth": 100_000});
    let gates = json!({"globalMax": 100_000, "queueSize": 0, "timeoutMs": 0});
    let answer = patch(&process, RESILIENCE, json!({"requestQueue": queue, "concurrency": gates}));
    assert!(answer.get("warnings").is_none(), "all of them act: {answer}");
    assert_eq!(answer["concurrency"], gates);
    let back = json!({"requestQueue": {"executionMaxWaitMs": null, "maxQueueDepth": null}});
    let answer = patch(&process, RESILIENCE, back);
    assert_eq!(answer["requestQueue"]["executionMaxWaitMs"], 600_000, "decision 12d");
    assert_eq!(answer["requestQueue"]["maxQueueDepth"], 0);
}

#[test]
fn core_6_6_the_older_form_is_read_and_shown() {
    let site = Site::new("settings-legacy", "5s");
    let process = site.start();
    let profile = json!({"transientCooldown": 4_000, "rateLimitCooldown": 0, "maxBackoffLevel": 6,
        "circuitBreakerThreshold": 9, "circuitBreakerReset": 20_000});
    let defaults = json!({"requestsPerMinute": 5, "minTimeBetweenRequests": 10, "concurrentRequests": 2});
    let answer = patch(&process, RESILIENCE, json!({"profiles": {"oauth": profile}, "defaults": defaults}));
    assert_eq!(answer["legacy"]["profiles"]["oauth"], profile);
    assert_eq!(answer["legacy"]["defaults"], defaults);
    assert_eq!(answer["providerBreaker"]["oauth"]["failureThreshold"], 9);
    assert_eq!(answer["requestQueue"]["minTimeBetweenRequestsMs"], 10);
    let body = json!({"profiles": {"apikey": {"rateLimitCooldown": 5_000}}});
    let answer = patch(&process, RESILIENCE, body);
    assert_eq!(answer["connectionCooldown"]["apikey"]["useUpstreamRetryHints"], false);
    assert_eq!(answer["legacy"]["profiles"]["apikey"]["rateLimitCooldown"], 3_000);
    for (body, field) in [
        (json!({"profiles": {"local": {}}}), "profiles"),
        (json!({"profiles": {"oauth": {"x": 1}}}), "profiles.oauth.x"),
        (json!({"defaults": {"x": 1}}), "defaults.x"),
        (
            json!({"profiles": {"oauth": {"circuitBreakerThreshold": 0}}}),
            "providerBreaker.oauth.failureThreshold",
        ),
    ] {
        assert_eq!(refused(&process, RESILIENCE, body), [field]);
    }
}

#[test]
fn the_general_route_has_its_own_fields_and_the_lockouts() {
    let site = Site::new("settings-general", "5s");
    let process = site.start();
    let before = get(&process, SETTINGS);
    assert_eq!(before["providerErrorRules"], json!({}));
    assert_eq!(before["customBannedSignals"], json!([]));
    assert_eq!(before["emergencyFallback"]["enabled"], false);
    let rules = json!({"ACME": [{"status": 429, "match": "Drained", "cooldownMs": 60_000, "reason": null}]});
    let body = json!({"providerErrorRules": rules, "customBannedSignals": ["closed"], "modelLockout": {"enabled": true}});
    let answer = patch(&process, SETTINGS, body);
    let wanted = json!({"acme": [{"status": 429, "match": "Drained", "cooldownMs": 60_000}]});
    assert_eq!(answer["providerErrorRules"], wanted);
    assert_eq!(answer["customBannedSignals"], json!(["closed"]));
    assert_eq!(answer["modelLockout"]["enabled"], true);
    assert_eq!(get(&process, RESILIENCE)["modelLockout"]["enabled"], true, "core 5.2.2");
    // C26: refused whole, the old ones stay, the place is named.
    let bad = json!({"acme": [{"status": 429}, {"scope": "model"}], "b": [{"status": 1}]});
    let found = refused(&process, SETTINGS, json!({"providerErrorRules": bad, "fallbackStrategy": "p2c"}));
    assert_eq!(found, ["providerErrorRules.acme[1]", "providerErrorRules.b[0].status"]);
    assert_eq!(get(&process, SETTINGS)["providerErrorRules"], wanted);
    assert_eq!(get(&process, SETTINGS)["fallbackStrategy"], "fill-first");
    assert_eq!(refused(&process, SETTINGS, json!({"p2cLatency": {"weight": 1}})), ["p2cLatency"]);
    assert_eq!(
        refused(&process, SETTINGS, json!({"customBannedSignals": ["x".repeat(201)]})),
        ["customBannedSignals"]
    );
    let idle = patch(&process, RESILIENCE, json!({"credentialHealthCheck": {"intervalMinutes": 5}}));
    assert_eq!(idle["warnings"][0]["field"], "credentialHealthCheck.intervalMinutes", "{idle}");
    patch(&process, SETTINGS, json!({"providerErrorRules": null}));
    assert_eq!(get(&process, SETTINGS)["providerErrorRules"], json!({}));
}

#[test]
fn settings_are_for_operators_only() {
    let site = Site::new("settings-auth", "5s");
    let process = site.start();
    for (method, path) in [
        ("GET", RESILIENCE),
        ("PATCH", RESILIENCE),
        ("GET", SETTINGS),
        ("PATCH", SETTINGS),
        ("GET", "/api/settings/effective"),
    ] {
        let address = process.address.parse().unwrap();
        let mut wire = support::Wire::open(address);
        wire.send(&support::request_bytes(method, path, "", br#"{"p2cLatency":{"weight":1}}"#));
        let reply = wire.reply();
        assert_eq!((reply.status, reply.code()), (401, "unauthorized".to_owned()), "{method} {path}");
    }
    assert_eq!(get(&process, RESILIENCE)["p2cLatency"]["weight"], 0);
    let all = get(&process, "/api/settings/effective").to_string();
    assert!(all.contains("admin.token") && !all.contains("process-test"), "not even they see a secret");
}
