//! Gates that are changed and looked at while requests run and wait (flow 1.22, 1.25, FC-010).

use serde_json::{Value, json};

use crate::process::{call, read};
use crate::stage::Stage;
use crate::support::{Answer, eventually};

fn queued(stage: &Stage) -> u64 {
    stage.limits("s-1")["queued"].as_u64().unwrap()
}

/// A gate of `/metrics`: running, waiting, cap, oldest.
fn metrics(stage: &Stage, labels: &str) -> [f64; 4] {
    let (status, _, text) = call(&stage.process.address, "GET", "/metrics", "");
    assert_eq!(status, 200);
    ["running", "waiting", "cap", "oldest_holder_seconds"].map(|name| {
        let start = format!("switchtower_gate_{name}{{{labels}}} ");
        let value = text.lines().find_map(|line| line.strip_prefix(&start));
        value.unwrap_or_else(|| panic!("no {start} in {text}")).trim().parse().unwrap()
    })
}

#[test]
fn e11_a_lowered_cap_drops_nobody_and_the_next_waits_for_all_above_it() {
    let stage = Stage::new("lowered");
    stage.patch("s-1", json!({"maxConcurrent": 3}));
    let mut held = stage.hold("s/m", 3);
    stage.patch("s-1", json!({"maxConcurrent": 1}));
    let next = stage.send("s/m");
    eventually("it waits", || queued(&stage) == 1);
    for left in [2, 1] {
        let (gate, stream) = held.remove(0);
        gate.open();
        assert_eq!(read(stream).0, 200, "it was not dropped");
        eventually("it is out", || stage.limits("s-1")["running"] == left);
        assert_eq!((queued(&stage), stage.vendor.asked()), (1, 3), "{left} are in, one may be");
    }
    let (gate, stream) = held.remove(0);
    gate.open();
    assert_eq!((read(stream).0, read(next).0), (200, 200));
    assert_eq!(stage.vendor.asked(), 4);
}

#[test]
fn a_raised_cap_lets_in_who_waits_at_once() {
    for (lowered, raised) in [
        (json!({"maxConcurrent": 1}), json!({"maxConcurrent": 4})),
        (json!({"maxConcurrent": 1}), json!({"maxConcurrent": null})),
        (
            json!({"rateLimitOverrides": {"maxConcurrent": 1}}),
            json!({"rateLimitOverrides": {"maxConcurrent": null}}),
        ),
        (
            json!({"rateLimitOverrides": {"modelConcurrency": {"m": 1}}}),
            json!({"rateLimitOverrides": {"modelConcurrency": {"m": 0}}}),
        ),
    ] {
        let stage = Stage::new("raised");
        let held = stage.hold("s/m", 3);
        stage.patch("s-1", lowered.clone());
        let next = stage.send("s/m");
        eventually("it waits", || queued(&stage) == 1);
        assert_eq!(stage.vendor.asked(), 3, "{lowered}");
        stage.patch("s-1", raised);
        assert_eq!(read(next).0, 200, "{lowered}");
        assert_eq!((stage.vendor.asked(), stage.limits("s-1")["running"].clone()), (4, json!(3)));
        for (gate, stream) in held {
            gate.open();
            assert_eq!(read(stream).0, 200, "it was not dropped");
        }
    }
}

#[test]
fn a_settings_patch_reaches_the_gates_of_process_and_provider_at_once() {
    for (lowered, raised) in [
        (json!({"concurrency": {"globalMax": 1}}), json!({"concurrency": {"globalMax": null}})),
        (
            json!({"providerQuotaOverrides": {"s": {"providerConcurrency": 1, "concurrency": 2}}}),
            json!({"providerQuotaOverrides": {"s": {"providerConcurrency": 0, "concurrency": null}}}),
        ),
        (
            json!({"requestQueue": {"concurrentRequests": 1}}),
            json!({"requestQueue": {"concurrentRequests": 0}}),
        ),
    ] {
        let stage = Stage::new("settings");
        let set = |body: &Value| assert_eq!(stage.api("PATCH", "/api/resilience", body).0, 200, "{body}");
        let held = stage.hold("s/m", 2);
        set(&lowered);
        let next = stage.send("s/m");
        eventually("it waits", || queued(&stage) == 1);
        assert_eq!(stage.vendor.asked(), 2, "{lowered}");
        set(&raised);
        assert_eq!(read(next).0, 200, "{lowered}");
        for (gate, stream) in held {
            gate.open();
            assert_eq!(read(stream).0, 200, "it was not dropped");
        }
    }
}

#[test]
fn fc_010_health_metrics_and_the_connection_show_who_is_in_who_waits_and_since_when() {
    let stage = Stage::new("shown");
    let overrides = json!({"modelConcurrency": {"m": 2}});
    stage.patch("s-1", json!({"maxConcurrent": 1, "rateLimitOverrides": overrides}));
    let mut held = stage.hold("s/m", 1);
    let waiting = stage.send("s/m");
    eventually("it waits", || queued(&stage) == 1);
    let account = r#"level="account",id="s-1",model="""#;
    eventually("the oldest is a while in", || metrics(&stage, account)[3] >= 0.05);
    let [running, queued_now, cap, _] = metrics(&stage, account);
    assert_eq!([running, queued_now, cap], [1.0, 1.0, 1.0]);
    let model = metrics(&stage, r#"level="model",id="s-1",model="m""#);
    assert_eq!(model[..3], [1.0, 1.0, 2.0]);
    assert_eq!(metrics(&stage, r#"level="global",id="",model="""#)[..3], [1.0, 0.0, 0.0]);

    let health = stage.get("/api/monitoring/health")["gates"].clone();
    assert_eq!((&health["queued"], &health["maxQueuedTotal"]), (&json!(1), &json!(10_000)), "decision 14");
    let keys: Vec<&String> = health["byKey"].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["global", "provider:s", "s:s-1", "s:s-1:model:m"], "flow 1.8, and none that is idle");
    let gate = &health["byKey"]["s:s-1"];
    assert_eq!([&gate["running"], &gate["queued"], &gate["maxConcurrency"]], [1, 1, 1], "{gate}");
    assert!(gate["oldestHolderMs"].as_u64().unwrap() >= 50 && gate["blockedUntil"].is_null(), "{gate}");

    let derived = stage.get("/api/actors/connection/s-1")["derived"]["gate"].clone();
    assert_eq!(derived["levels"][0]["queued"], 1, "{derived}");
    assert_eq!(derived["levels"][1]["model"], "m", "{derived}");
    assert_eq!(derived["limiters"][0]["running"], 1, "{derived}");
    assert!(derived["oldestWaitMs"].as_u64().is_some(), "{derived}");

    let later = stage.hold("p/m", 1);
    let age = metrics(&stage, account)[3];
    let global = metrics(&stage, r#"level="global",id="",model="""#);
    assert!(global[0] == 2.0 && global[3] >= age, "the oldest of all: {global:?}, {age}");

    for (gate, stream) in held.drain(..).chain(later) {
        gate.open();
        assert_eq!(read(stream).0, 200);
    }
    assert_eq!(read(waiting).0, 200);
    eventually("all are out", || metrics(&stage, account)[..2] == [0.0, 0.0]);
    assert_eq!(metrics(&stage, account)[3], 0.0, "nobody is in");
}

#[test]
fn flow_5_7_limiters_are_listed_with_what_they_pace_by() {
    let stage = Stage::new("limiters");
    assert_eq!(stage.limits("s-1")["active"], false, "nobody has asked");
    stage.patch("s-1", json!({"rateLimitOverrides": {"rpm": 600, "minTime": 7, "maxWaitMs": 9_000}}));
    assert_eq!(read(stage.send("s/m")).0, 200);
    let row = stage.limits("s-1");
    let limits =
        json!({"rpm": 600, "minTimeMs": 7, "concurrentRequests": 0, "maxWaitMs": 9_000, "maxQueueDepth": 0});
    assert_eq!((&row["limits"], &row["active"]), (&limits, &json!(true)), "{row}");
    let all = stage.get("/api/rate-limits");
    let overview = all["overview"].as_array().unwrap();
    assert_eq!(overview.len(), 1, "one that nobody used is not there: {all}");
    let limiter = &overview[0];
    assert_eq!([&limiter["key"], &limiter["connectionId"], &limiter["provider"]], ["s:s-1", "s-1", "s"]);
    assert_eq!(
        [&limiter["reservoir"], &limiter["refill"], &limiter["minTimeMs"]],
        [599, 600, 7],
        "{limiter}"
    );
    assert_eq!(all["cacheStats"], json!({"limiters": 1, "learnt": 0}));
    assert_eq!(all["lockouts"], json!([]));
    assert_eq!(stage.api("PATCH", "/api/providers/s-1", &json!({"isActive": false})).0, 200);
    let row = stage.limits("s-1");
    assert_eq!((&row["enabled"], &row["limits"]), (&json!(false), &Value::Null), "flow 5.4: {row}");
    eventually("its limiter is gone", || stage.limits("s-1")["active"] == false);
}

#[test]
fn flow_5_6_the_flag_gives_a_limiter_and_takes_it_before_the_answer() {
    let stage = Stage::new("reconcile");
    stage.vendor.answers(Answer::good("vendor"));
    let net = json!({"requestQueue": {"autoEnableApiKeyProviders": false, "minTimeBetweenRequestsMs": 1}});
    assert_eq!(stage.api("PATCH", "/api/resilience", &net).0, 200);
    let active = |stage: &Stage| {
        assert_eq!(read(stage.send("s/m")).0, 200);
        stage.limits("s-1")["active"] == true
    };
    assert!(!active(&stage), "flow 4.2.6: nobody protects it");
    let set = |enabled: bool| {
        let body = json!({"connectionId": "s-1", "enabled": enabled});
        assert_eq!(stage.api("POST", "/api/rate-limits", &body).0, 200);
    };
    set(true);
    assert!(active(&stage));
    let held = stage.hold("s/m", 1);
    set(false);
    assert_eq!(stage.limits("s-1")["active"], false);
    for (gate, stream) in held {
        gate.open();
        assert_eq!(read(stream).0, 200, "flow 5.4: who runs finishes");
    }
}

/// Flow 1.23, 1.25: while a connection rests nobody passes its gate, and that is shown.
#[test]
fn flow_1_25_a_gate_tells_until_when_it_is_blocked() {
    let stage = Stage::new("blocked");
    let order = json!({"message": "cool", "for": "5m"});
    let (status, _) = stage.api("POST", "/api/actors/connection/s-1/messages", &order);
    assert_eq!(status, 200);
    let rest = stage.get("/api/resilience/cooldowns")["connections"][0]["rateLimitedUntil"].clone();
    assert!(rest.is_string(), "{rest}");
    let health = stage.get("/api/monitoring/health")["gates"]["byKey"]["s:s-1"].clone();
    let derived = stage.get("/api/actors/connection/s-1")["derived"]["gate"].clone();
    assert_eq!([&health["blockedUntil"], &derived["blockedUntil"]], [&rest, &rest]);
}
