//! Commands that ask a running instance: status and reset.

use serde_json::Value;

use super::process::{Process, Site, actors, ask, eventually, order};
use super::{Said, on, run, switchtower};

const TOKEN: &str = "process-test";

/// A command on a running instance, which its config cannot name: it listens on port 0.
fn at(process: &Process, site: &Site, arguments: &[&str]) -> Said {
    let url = format!("http://{}", process.address);
    on(site, &[arguments, &["--url", &url, "--token", TOKEN]].concat())
}

fn state(process: &Process, actor: &str) -> String {
    actors(&process.address)[actor]["state"].as_str().unwrap().to_owned()
}

const COOL: &str = r#"{"message":"cool","for":"1h"}"#;

#[test]
fn status_shows_a_running_instance_as_a_table_or_as_json() {
    let site = Site::new("cli-status", "5s");
    let process = site.start();
    order(&process.address, "connection/demo-a-1", COOL);
    order(&process.address, "provider/claude-a", r#"{"message":"isolate"}"#);
    let _ = ask(&process.address, "demo-b/status-404");
    let table = at(&process, &site, &["status"]);
    assert_eq!((table.code, table.err.as_str()), (0, ""), "{table:?}");
    let row = |name: &str| {
        let line = table.out.lines().find(|line| line.split_whitespace().next() == Some(name));
        let line = line.unwrap_or_else(|| panic!("{name}: {}", table.out));
        line.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    assert!(table.out.starts_with(&format!("switchtower {}  healthy  up ", env!("CARGO_PKG_VERSION"))));
    assert_eq!(row("claude-a")[1], "isolated");
    assert_eq!(row("demo-a-1")[1..3], ["demo-a", "cooling"]);
    assert_eq!(row("demo-a-2")[1..3], ["demo-a", "ready"]);
    assert_eq!(row("demo")[1..], ["priority", "demo-a/flaky-30,", "demo-b/steady"]);
    assert!(table.out.contains("LOCKOUT OF") && table.out.contains("status-404"), "{}", table.out);

    let json = at(&process, &site, &["status", "--json"]);
    assert_eq!((json.code, json.err.as_str()), (0, ""), "{json:?}");
    let json: Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!(json["health"]["connectionHealth"]["demo-a-1"]["state"], "cooling");
    assert!(json["actors"].as_array().unwrap().iter().any(|row| row["kind"] == "store"));
    assert!(json["combos"].as_array().unwrap().iter().any(|combo| combo["name"] == "demo"));

    let url = format!("http://{}", process.address);
    let mut by_env = switchtower();
    by_env.args(["status", "--url", &url, "--config"]).arg(site.path("config.toml"));
    assert_eq!(run(&mut by_env).code, 1, "no token");
    let output = by_env.env("SWITCHTOWER_ADMIN_TOKEN", TOKEN).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "the token of the environment");
}

#[test]
fn a_wrong_token_or_nobody_there_exits_1_and_says_so() {
    let site = Site::new("cli-token", "5s");
    let process = site.start();
    let url = format!("http://{}", process.address);
    for command in ["status", "reset"] {
        for token in [["--token", "wrong"].as_slice(), &[]] {
            let said = on(&site, &[&[command, "--url", &url], token].concat());
            assert_eq!((said.code, said.out.as_str()), (1, ""), "{command}: {said:?}");
            let wanted = "error: the admin token is missing or wrong: --token, or SWITCHTOWER_ADMIN_TOKEN\n";
            assert_eq!(said.err, wanted, "{command}");
        }
    }
    process.end();
    for command in ["status", "reset"] {
        let said = on(&site, &[command, "--url", &url, "--token", TOKEN]);
        assert_eq!((said.code, said.out.as_str()), (1, ""), "{command}: {said:?}");
        assert!(said.err.starts_with(&format!("error: {url} does not answer: ")), "{said:?}");
    }
    let missing = run(switchtower().args(["status", "--config"]).arg(site.path("missing.toml")));
    assert_eq!(missing.code, 1, "{missing:?}");
    assert!(missing.err.contains("no --url, and the config cannot be read"), "{missing:?}");
}

#[test]
fn reset_clears_what_it_names_and_nothing_else() {
    let site = Site::new("cli-reset", "5s");
    let process = site.start();
    let trip = r#"{"message":"trip","for":"1h"}"#;
    order(&process.address, "provider/claude-a", trip);
    order(&process.address, "provider/claude-b", trip);
    let said = at(&process, &site, &["reset", "--provider", "claude-a"]);
    assert_eq!((said.code, said.err.as_str()), (0, ""), "{said:?}");
    assert!(said.out.trim().lines().count() == 1, "{said:?}");
    assert_eq!(
        ["claude-a", "claude-b"].map(|id| state(&process, &format!("provider/{id}"))),
        ["closed", "open"]
    );

    order(&process.address, "connection/demo-a-1", COOL);
    order(&process.address, "connection/demo-a-2", COOL);
    let said = at(&process, &site, &["reset", "--connection", "demo-a-1"]);
    assert_eq!((said.code, said.out.as_str()), (0, "connection demo-a-1: ready\n"), "{said:?}");
    assert_eq!(
        ["demo-a-1", "demo-a-2"].map(|id| state(&process, &format!("connection/{id}"))),
        ["ready", "cooling"]
    );

    let lock = |model: &str| format!("lockout/demo-b-1:family:{model}");
    for model in ["status-404", "status-404-retry-9"] {
        let _ = ask(&process.address, &format!("demo-b/{model}"));
        eventually("a lockout", || actors(&process.address).contains_key(&lock(model)));
    }
    let said = at(&process, &site, &["reset", "--connection", "demo-b-1", "--model", "status-404"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(said.out, "connection demo-b-1: 1 lockout of status-404 removed\n");
    let rows = actors(&process.address);
    assert!(!rows.contains_key(&lock("status-404")) && rows.contains_key(&lock("status-404-retry-9")));

    let said = at(&process, &site, &["reset"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(state(&process, "provider/claude-b"), "closed", "without a name it is every breaker");

    for (arguments, text) in [
        (["--provider", "nobody"].as_slice(), "nobody"),
        (&["--connection", "nobody"], "nobody"),
        (
            &["--connection", "demo-b-1", "--model", "unlocked"],
            "connection demo-b-1 has no lockout of unlocked",
        ),
    ] {
        let said = at(&process, &site, &[&["reset"], arguments].concat());
        assert_eq!((said.code, said.out.as_str()), (1, ""), "{arguments:?}: {said:?}");
        assert!(said.err.starts_with("error: ") && said.err.contains(text), "{arguments:?}: {said:?}");
    }
}
