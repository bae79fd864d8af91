//! Every mistake of a section is found at its line.

use std::fs;
use std::path::Path;

use switchtower::settings::{Builtin, Stored, load, load_with};

use crate::support::{Folder, STRATEGIES, check, findings};

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn each_mistake_is_found_at_its_line() {
    let cases: &[(&str, usize, &str, &str)] = &[
        ("[server]\n\nlisten = ", 3, "syntax", "TOML"),
        ("[server]\nworkers = 1\nworkers = 2", 3, "syntax", "duplicate"),
        ("[server]\nlisten2 = \"x\"", 2, "server.listen2", "did you mean `listen`?"),
        ("[server]\nshutdowngrace = \"x\"", 2, "server.shutdowngrace", "did you mean `shutdown_grace`?"),
        ("[server]\nzzz = 1", 2, "server.zzz", "accepted: listen, workers, max_body"),
        ("[streams]\nheartbeat = \"15s\"", 1, "streams", "did you mean `stream`?"),
        (
            "[settings]\nsession_affinity_ttl = 1",
            2,
            "settings.session_affinity_ttl",
            "did you mean `session_affinity_ttl_ms`?",
        ),
        (
            "[settings]\nfallback_strategy = \"best\"",
            2,
            "settings.fallback_strategy",
            "fill-first | round-robin | p2c",
        ),
        (
            "[resilience.request_queue]\nmax_wait_ms = 0",
            2,
            "resilience.request_queue.max_wait_ms",
            "from 1 to",
        ),
        // FC-105
        (
            "[resilience.request_queue]\nmax_wiat_ms = 1000",
            2,
            "resilience.request_queue.max_wiat_ms",
            "did you mean `max_wait_ms`?",
        ),
        ("[resilience.gates]\nglobal_max = 1", 1, "resilience.gates", "provider_breaker"),
        ("server = 1", 1, "server", "is a whole number, accepted: a table"),
        ("[providers]\nid = \"x\"", 1, "providers[]", "is a table, accepted: a list of tables"),
        ("providers = [1]", 1, "providers[]", "a table for each entry"),
        ("[server]\nworkers = \"2\"", 2, "server.workers", "is a string, accepted: a whole number"),
        (
            "[server]\nworkers = -1",
            2,
            "server.workers",
            "out of bounds, accepted: a whole number from 0 to 1024",
        ),
        (
            "[server]\nworkers = 99999999999999999999999999999999999999999999",
            2,
            "server.workers",
            "whole number",
        ),
        ("[server]\nrequire_api_key = \"yes\"", 2, "server.require_api_key", "true or false"),
        (
            "[server]\nheader_timeout = 10",
            2,
            "server.header_timeout",
            "is a whole number, accepted: a duration such as \"30s\"",
        ),
        ("[server]\nheader_timeout = \"soon\"", 2, "server.header_timeout", "is not a duration"),
        ("[server]\nheader_timeout = \"0s\"", 2, "server.header_timeout", "out of bounds"),
        (
            "[server]\nmax_body = \"32 potatoes\"",
            2,
            "server.max_body",
            "is not a size, accepted: a size such as \"32MiB\"",
        ),
        ("[server]\nmax_body = \"9GiB\"", 2, "server.max_body", "out of bounds"),
        ("[server]\nlisten = \"localhost\"", 2, "server.listen", "an address such as"),
        ("[admin]\nlisten = \"127.0.0.1:20128\"", 2, "admin.listen", "address of server.listen"),
        ("[admin]\ntoken = \"\"", 2, "admin.token", "is empty"),
        ("[store]\npath = \"\"", 2, "store.path", "is empty"),
        ("[upstream]\nca_file = \"nothing.pem\"", 2, "upstream.ca_file", "cannot be read"),
        (
            "[resilience.model_lockout]\nerror_codes = [\n429,\n42]",
            4,
            "resilience.model_lockout.error_codes",
            "from 100 to 599",
        ),
        (
            "[resilience.model_lockout]\nbase_cooldown_ms = \"1s\"",
            2,
            "resilience.model_lockout.base_cooldown_ms",
            "from 5000 to 600000",
        ),
        (
            "[resilience.provider_breaker.apikey]\nfailure_threshold = 5\ndegradation_threshold = 5",
            3,
            "resilience.provider_breaker.apikey.degradation_threshold",
            "a whole number from 1 to 4",
        ),
        (
            "[resilience.provider_breaker.oauth]\ndegradation_threshold = 9",
            2,
            "resilience.provider_breaker.oauth.degradation_threshold",
            "failure_threshold (8)",
        ),
        (
            "[resilience.provider_quota_overrides.acme]\nrate_limit_cooldown_seconds = 5",
            1,
            "resilience.provider_quota_overrides.*",
            "does not exist",
        ),
        (
            "[resilience.provider_quota_overrides.acme]\nrpd = 5",
            2,
            "resilience.provider_quota_overrides.*.rpd",
            "did you mean `rpm`?",
        ),
    ];
    check(cases);
}

#[test]
fn every_finding_comes_at_once_in_file_order() {
    let text = "[server]\nlisten = 5\nworkres = 1\n[store]\nflush_interval = \"x\"\n[broken\n[[combos]]\nname = \"m\"\nstrategy = \"none\"\n[[keys]]\nname = \"k\"\nkey = \"\"\n";
    let lines: Vec<usize> = findings(text).iter().map(|each| each.line).collect();
    assert_eq!(lines, [2, 3, 5, 6, 9, 12]);
    assert_eq!(
        findings(text)[1].to_string().rsplit('/').next().unwrap(),
        "config.toml:3: server.workres: unknown key; did you mean `workers`?"
    );
}

#[test]
fn a_missing_file_and_a_binary_one_are_findings() {
    let found = load(Path::new("/nowhere/config.toml"), &|_| None, STRATEGIES).unwrap_err();
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].line, found[0].file.as_str()), (0, "/nowhere/config.toml"));
    assert!(found[0].to_string().starts_with("/nowhere/config.toml: file: cannot be read"));
    let folder = Folder::with("");
    fs::write(folder.config(), [0xff, 0xfe]).unwrap();
    let found = load(&folder.config(), &|_| None, STRATEGIES).unwrap_err();
    assert!(found[0].problem.contains("UTF-8"));
}

#[test]
fn what_the_demo_adds_can_be_named_but_not_taken() {
    let builtin = Builtin {
        providers: vec![("demo-a".to_owned(), vec!["demo-a-1".to_owned()])],
        combos: vec!["demo".to_owned()],
    };
    let text = |enabled: bool| {
        format!(
            "[demo]\nenabled = {enabled}\n[[combos]]\nname = \"m\"\ntargets = [{{ model = \"demo-a/steady\", connection = \"demo-a-1\" }}]\n[[keys]]\nname = \"k\"\nkey = \"x\"\nallowed_connections = [\"demo-a-1\"]"
        )
    };
    let folder = Folder::with(&text(true));
    let loaded = load_with(&folder.config(), &|_| None, STRATEGIES, &builtin, &Stored::default()).unwrap();
    assert!(loaded.settings.providers.is_empty());
    let folder = Folder::with(&text(false));
    let found = load_with(&folder.config(), &|_| None, STRATEGIES, &builtin, &Stored::default()).unwrap_err();
    assert_eq!(found.len(), 3, "{found:#?}");
    let taken = "[demo]\nenabled = true\n[[providers]]\nid = \"demo-a\"\nformat = \"openai\"\nbase_url = \"http://h\"\n[[connections]]\nid = \"demo-a-1\"\nprovider = \"demo-a\"\ncredential = \"x\"\n[[combos]]\nname = \"demo\"\ntargets = [\"demo-a/x\"]";
    let folder = Folder::with(taken);
    let found = load_with(&folder.config(), &|_| None, STRATEGIES, &builtin, &Stored::default()).unwrap_err();
    let lines: Vec<usize> = found.iter().map(|each| each.line).collect();
    assert_eq!(lines, [4, 8, 12]);
}

// === whatever is typed ===
