//! The command line (contract 1): exit codes 0, 1 and 2, what is said, and where.

mod process;
#[path = "cli/remote.rs"]
mod remote;

use std::net::TcpListener;
use std::process::{Command, Stdio};

use process::{Process, Scripted, Site, order};
use sha2::{Digest, Sha256};

/// What a command that ends has said.
#[derive(Debug)]
struct Said {
    code: i32,
    out: String,
    err: String,
}

fn run(command: &mut Command) -> Said {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).env_remove("SWITCHTOWER_ADMIN_TOKEN");
    let output = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let code = output.status.code().expect("it exits by itself");
    let said = Said { code, out: text(&output.stdout), err: text(&output.stderr) };
    assert!(!said.err.contains("panicked"), "{said:?}");
    said
}

fn switchtower() -> Command {
    Command::new(env!("CARGO_BIN_EXE_switchtower"))
}

/// A command on the config of a site.
fn on(site: &Site, arguments: &[&str]) -> Said {
    run(switchtower().args(arguments).arg("--config").arg(site.path("config.toml")))
}

/// Three mistakes: a unit, an unknown key, a reference. With the line each stands on.
fn mistakes(site: &Site) -> [(usize, &'static str); 3] {
    site.edit(|text| {
        text.replace("workers = 2", "max_body = \"lots\"").replace("[store]", "[store]\nspeed = 11")
            + "[[connections]]\nid = \"c\"\nprovider = \"nobody\"\ncredential = \"hidden-credential\"\n"
    });
    let text = std::fs::read_to_string(site.path("config.toml")).unwrap();
    let line = |of: &str| 1 + text.lines().position(|line| line.contains(of)).unwrap();
    [
        (line("lots"), "server.max_body"),
        (line("speed"), "store.speed"),
        (line("nobody"), "connections[].provider"),
    ]
}

#[track_caller]
fn assert_findings(text: &str, site: &Site, wanted: [(usize, &str); 3]) {
    let file = site.path("config.toml").display().to_string();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), wanted.len(), "one line for each: {text}");
    for (line, (number, key)) in lines.iter().zip(wanted) {
        assert!(line.starts_with(&format!("{file}:{number}: {key}: ")), "{number} {key}: {line}");
        assert!(line.contains("accepted: "), "{line}");
    }
    assert!(!text.contains("hidden-credential"), "{text}");
}

#[test]
fn a_refused_config_exits_2_and_every_finding_is_told() {
    let site = Site::new("cli-refused", "5s");
    let wanted = mistakes(&site);
    let check = on(&site, &["check"]);
    assert_eq!((check.code, check.err.as_str()), (2, ""), "{check:?}");
    assert_findings(&check.out, &site, wanted);
    for arguments in [
        ["serve"].as_slice(),
        &[],
        &["settings"],
        &["store", "dump"],
        &["store", "verify"],
        &["store", "compact"],
    ] {
        let said = on(&site, arguments);
        assert_eq!((said.code, said.out.as_str()), (2, ""), "{arguments:?}: {said:?}");
        assert_findings(&said.err, &site, wanted);
    }
    assert!(!site.path("store").exists(), "nothing was started");
    let missing = run(switchtower().args(["check", "--config"]).arg(site.path("missing.toml")));
    assert_eq!(missing.code, 2, "{missing:?}");
    assert!(missing.out.contains("missing.toml: "), "{missing:?}");
}

#[test]
fn check_says_ok_or_what_is_doubtful_and_starts_nothing() {
    let site = Site::with(
        "cli-check",
        "[[connections]]\nid = \"c\"\nprovider = \"demo-a\"\ncredential = \"env:SWITCHTOWER_TEST_UNSET\"\n",
    );
    let said = on(&site, &["check"]);
    let file = site.path("config.toml").display().to_string();
    assert_eq!((said.code, said.err.as_str()), (0, ""), "{said:?}");
    let lines: Vec<&str> = said.out.lines().collect();
    assert_eq!(lines.len(), 2, "{said:?}");
    assert!(
        lines[0].starts_with(&file) && lines[0].contains("connections[].credential: warning: "),
        "{said:?}"
    );
    assert!(lines[0].contains("SWITCHTOWER_TEST_UNSET"), "{said:?}");
    assert_eq!(lines[1], format!("{file}: ok"));
    assert!(!site.path("store").exists());
}

#[test]
fn settings_shows_each_value_and_who_set_it() {
    let site = Site::new("cli-settings", "5s");
    let mut command = switchtower();
    command.args(["settings", "--config"]).arg(site.path("config.toml"));
    command.env("SWITCHTOWER__SERVER__WORKERS", "7").env("SWITCHTOWER__MAILBOX__ROUTER", "99");
    let said = run(&mut command);
    assert_eq!((said.code, said.err.as_str()), (0, ""), "{said:?}");
    let row = |key: &str| {
        let line = said.out.lines().find(|line| line.split(' ').next() == Some(key));
        let line = line.unwrap_or_else(|| panic!("{key}: {}", said.out));
        line.split_whitespace().skip(1).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(row("server.workers"), "7 (env SWITCHTOWER__SERVER__WORKERS)", "it wins over the file");
    assert_eq!(row("mailbox.router"), "99 (env SWITCHTOWER__MAILBOX__ROUTER)", "and over the default");
    assert_eq!(row("server.shutdown_grace"), "5s (config)");
    assert_eq!(row("mailbox.provider"), "512 (built-in)");
    assert!(row("admin.token").ends_with("(config)"), "{}", row("admin.token"));
    assert!(!said.out.contains("process-test"), "a secret is never printed: {}", said.out);
    command.env("SWITCHTOWER__SERVER__WORKERS", "many");
    let said = run(&mut command);
    assert_eq!(said.code, 2, "{said:?}");
    assert!(said.err.starts_with("env SWITCHTOWER__SERVER__WORKERS: server.workers: "), "{said:?}");
}

#[test]
fn wrong_usage_exits_2_and_says_what_is_right() {
    let wrong: [(&[&str], &str); 8] = [
        (&["fly"], "unrecognized subcommand 'fly'"),
        (&["serve", "--fast"], "unexpected argument '--fast'"),
        (&["check", "--config"], "a value is required for '--config <FILE>'"),
        (&["reset", "--model", "m"], "--connection <ID>"),
        (&["reset", "--provider", "p", "--connection", "c"], "cannot be used with"),
        (&["store"], "Print every record"),
        (&["store", "burn"], "unrecognized subcommand 'burn'"),
        (&["demo-upstream", "--listen", "nowhere"], "invalid value 'nowhere'"),
    ];
    for (arguments, text) in wrong {
        let said = run(switchtower().args(arguments));
        assert_eq!((said.code, said.out.as_str()), (2, ""), "{arguments:?}: {said:?}");
        assert!(said.err.contains(text) && said.err.contains("--help"), "{arguments:?}: {said:?}");
    }
    for arguments in ["--help", "--version"] {
        assert_eq!(run(switchtower().arg(arguments)).code, 0, "{arguments}");
    }
}

#[test]
fn an_address_in_use_exits_1_and_names_it() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let wanted = format!("error: cannot listen on {address}: ");
    let site = Site::new("cli-taken", "5s");
    for (from, to) in [
        ("listen = \"127.0.0.1:0\"", format!("listen = \"{address}\"")),
        ("[store]", format!("listen = \"{address}\"\n[store]")),
        ("enabled = true", format!("enabled = true\nlisten = \"{address}\"")),
    ] {
        let before = std::fs::read_to_string(site.path("config.toml")).unwrap();
        site.edit(|text| text.replace(from, &to));
        let said = on(&site, &["serve"]);
        assert_eq!((said.code, said.out.as_str()), (1, ""), "{to}: {said:?}");
        assert!(said.err.lines().any(|line| line.starts_with(&wanted)), "{to}: {said:?}");
        site.edit(|_| before);
    }
    let said = run(switchtower().args(["demo-upstream", "--listen", &address]));
    assert_eq!((said.code, said.out.as_str()), (1, ""), "{said:?}");
    assert!(said.err.contains(&wanted), "{said:?}");
}

#[test]
fn demo_upstream_says_where_it_listens_and_ends_with_0() {
    let Scripted(mut upstream) = Scripted::start();
    let (status, _, body) = process::ask(&upstream.address, "steady");
    assert_eq!(status, 200, "{body}");
    upstream.signal("TERM");
    assert_eq!(upstream.child.wait().unwrap().code(), Some(0));
}

#[test]
fn store_dump_prints_a_json_line_for_each_record_and_no_hash() {
    let site = Site::new("cli-dump", "5s");
    let none = on(&site, &["store", "dump"]);
    assert_eq!(none.code, 1, "{none:?}");
    let path = site.path("store").display().to_string();
    assert_eq!(none.err, format!("error: there is no store at {path}\n"));

    let process = site.start();
    order(&process.address, "connection/demo-a-1", r#"{"message":"cool","for":"1h"}"#);
    order(&process.address, "provider/demo-b", r#"{"message":"isolate"}"#);
    process.end();
    // A second life without a configured token: one is made, and only its hash is kept.
    site.edit(|text| text.replace("token = \"process-test\"\n", ""));
    let mut command = site.command();
    Process::of(command.env_remove("SWITCHTOWER_ADMIN_TOKEN")).end();
    let log = site.log();
    let token = log.split("shown this once: ").nth(1).and_then(|rest| rest.split_whitespace().next());
    let token = token.unwrap_or_else(|| panic!("{log}"));

    let said = on(&site, &["store", "dump"]);
    assert_eq!((said.code, said.err.as_str()), (0, ""), "{said:?}");
    let parse = |line: &str| -> serde_json::Value {
        serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
    };
    let records: Vec<serde_json::Value> = said.out.lines().map(parse).collect();
    let find = |tree: &str, key: &str| {
        let found = records.iter().find(|record| record["tree"] == tree && record["key"] == key);
        &found.unwrap_or_else(|| panic!("{tree} {key}: {}", said.out))["value"]
    };
    assert!(find("connections", "demo-a-1")["data"]["cooldown"]["until"].is_u64());
    assert_eq!(find("connections", "demo-a-1")["v"], 1);
    assert!(find("domain_circuit_breakers", "demo-b")["data"]["operator"].as_str().is_some());
    for key in ["admin_token", "salt"] {
        assert_eq!(*find("meta", key), "[redacted]", "{key}");
    }
    let hash: String = Sha256::digest(token).iter().map(|byte| format!("{byte:02x}")).collect();
    assert!(!said.out.contains(token) && !said.out.contains(&hash), "{}", said.out);
}
