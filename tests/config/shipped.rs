//! The shipped file is the reference: it loads, and equals the defaults.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use policy::ids::Class;
use switchtower::settings::{Finding, KeySecret, Loaded, Settings, load, table};

use crate::support::{Folder, SHIPPED, STRATEGIES, load_text, lookup, settings};

#[test]
fn the_shipped_config_has_no_findings() {
    let loaded = load_text(SHIPPED, &[("SWITCHTOWER_ADMIN_TOKEN", "t0k3n")]).unwrap();
    assert_eq!(loaded.warnings, []);
    assert_eq!(loaded.settings.admin.token.unwrap().expose(), "t0k3n");
}

#[test]
fn the_shipped_config_without_the_token_variable_warns_once() {
    let warnings = load_text(SHIPPED, &[]).unwrap().warnings;
    assert_eq!(warnings.len(), 1);
    assert_eq!(warnings[0].key, "admin.token");
    assert!(warnings[0].to_string().contains(": admin.token: warning: "), "{}", warnings[0]);
}

#[test]
fn the_shipped_config_equals_the_defaults_but_for_the_demo() {
    let defaults = load_text("", &[]).unwrap();
    let shipped = load_text(SHIPPED, &[]).unwrap();
    let values = |loaded: &Loaded| -> BTreeMap<String, String> {
        loaded.effective.iter().map(|entry| (entry.key.clone(), entry.value.clone())).collect()
    };
    let (defaults, mut shipped) = (values(&defaults), values(&shipped));
    assert_eq!(shipped.insert("demo.enabled".to_owned(), "false".to_owned()).as_deref(), Some("true"));
    assert_eq!(shipped, defaults);
}

#[test]
fn an_empty_file_is_the_default() {
    let folder = Folder::with("");
    let mut loaded = load(&folder.config(), &|_| None, STRATEGIES).unwrap().settings;
    assert_eq!(loaded.store.path, folder.0.join("data"));
    loaded.store.path = PathBuf::from("data");
    assert_eq!(loaded, Settings::default());
}

/// The lines of the file with the examples' comment signs removed, and each key with its table.
fn keys_of_the_shipped_file(text: &str) -> Vec<String> {
    let mut keys = Vec::new();
    let mut table = String::new();
    for line in text.lines() {
        let line = line.trim_start_matches("# ").trim();
        if let Some(name) = line.strip_prefix("[[").and_then(|rest| rest.split_once("]]")) {
            table = format!("{}[]", name.0);
        } else if let Some((name, _)) = line.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            table = name
                .replace("connections.", "connections[].")
                .replace("combos.", "combos[].")
                .replace("providers.", "providers[].");
        } else if let Some((name, _)) = line.split_once(" = ") {
            keys.push(format!("{table}.{name}"));
        }
    }
    keys
}

#[test]
fn every_row_appears_in_the_shipped_file() {
    let keys = keys_of_the_shipped_file(SHIPPED);
    let text: Vec<&str> = SHIPPED.lines().collect();
    // What all combos begin with is written once, where combos are.
    for row in table().iter().filter(|row| !row.is_repeated()) {
        let key = row.key.replace(".*.", ".openai.");
        let inline = |name: &str| text.iter().any(|line| line.contains(&format!(" {name} = ")));
        let last = key.rsplit('.').next().unwrap();
        let lists = [
            "models[].",
            "targets[].",
            "predicates[].",
            "timeouts.",
            "].watchdog.",
            "rate_limits[].",
            "budgets[].",
            "tiers.",
        ];
        let nested = lists.iter().any(|list| key.contains(list));
        // A table of names that the operator chooses.
        let header = text.iter().any(|line| line.trim_start_matches("# ").starts_with(&format!("[{key}]")));
        assert!(header || keys.contains(&key) || nested && inline(last), "{key} is not in config.toml");
    }
}

#[test]
fn every_example_of_the_shipped_file_loads() {
    let is_example = |line: &str| {
        let line = line.trim_start_matches("# ").trim_start();
        line.starts_with('[') || line.starts_with(['{', ']']) || line.contains(" = ")
    };
    let text: String = SHIPPED
        .lines()
        .map(|line| match line.strip_prefix("# ") {
            Some(rest) if is_example(line) => format!("{rest}\n"),
            _ => format!("{line}\n"),
        })
        .collect();
    let folder = Folder::with(&text);
    fs::write(folder.0.join("anthropic.key"), "  sk-ant-file\n").unwrap();
    let variables = [
        ("OPENAI_API_KEY", "sk-openai"),
        ("LAPTOP_KEY", "laptop-key"),
        ("SWITCHTOWER_ADMIN_TOKEN", "t"),
        ("OAUTH_CLIENT_SECRET", "shh"),
        ("ACCESS_TOKEN", "at-1"),
        ("REFRESH_TOKEN", "rt-1"),
    ];
    let loaded = load(&folder.config(), &lookup(&variables), STRATEGIES)
        .unwrap_or_else(|findings| panic!("{findings:#?}"));
    let idle: Vec<&str> = table().iter().filter(|row| !row.acts).map(|row| row.key).collect();
    // One example has the keys of all strategies (routing 6.1h).
    let of_panel = |warning: &&Finding| warning.problem.starts_with("does nothing under");
    let (panel, others): (Vec<_>, Vec<_>) = loaded.warnings.iter().partition(of_panel);
    assert_eq!(panel.len(), 5, "{panel:?}");
    let told: Vec<&str> = others.iter().map(|warning| warning.key.as_str()).collect();
    assert_eq!(told.len(), idle.len(), "every key that does not act says so, and nothing else is told");
    assert!(others.iter().all(|warning| warning.problem.contains("not acted on yet")));
    assert!(told.iter().all(|key| idle.contains(key)), "{told:?}");
    let settings = loaded.settings;
    assert_eq!(settings.behaviour.provider_error_rules["openai"][0].cooldown_ms, Some(3_600_000));
    assert_eq!(settings.behaviour.provider_error_defaults["openai"].cooldown_ms, 300_000);
    assert_eq!(settings.providers.len(), 3);
    assert_eq!(settings.connections[1].credential.as_ref().unwrap().expose(), "sk-ant-file");
    assert_eq!(settings.combos[0].targets.len(), 2);
    assert_eq!(settings.keys[0].key, KeySecret::Plain("laptop-key".into()));
    assert_eq!(settings.combos[1].targets.len(), 3);
    assert_eq!((settings.mappings.len(), settings.aliases.len()), (1, 2));
    assert_eq!(settings.resilience.provider_quota_overrides["openai"].rate_limit_cooldown_seconds, Some(60));
}

// === defaults and meaning ===

#[test]
fn the_defaults_are_those_of_the_contract() {
    let settings = Settings::default();
    assert_eq!(settings.server.listen.to_string(), "127.0.0.1:20128");
    assert_eq!(settings.server.max_body, 32 << 20);
    assert_eq!(settings.server.header_timeout, Duration::from_secs(10));
    assert_eq!(settings.server.write_stall_timeout, Duration::from_secs(60));
    assert_eq!(settings.server.shutdown_grace, Duration::from_secs(30));
    assert_eq!(settings.server.max_retry_after, Duration::ZERO);
    assert!(!settings.server.require_api_key && !settings.server.keys_required());
    assert_eq!((settings.admin.token, settings.admin.listen), (None, None));
    assert_eq!(settings.store.flush_interval, Duration::from_millis(250));
    let mailbox = &settings.mailbox;
    assert_eq!([mailbox.router, mailbox.provider, mailbox.connection], [4096, 512, 1024]);
    assert_eq!([mailbox.lockout, mailbox.store], [64, 4096]);
    assert_eq!(settings.upstream.first_byte_timeout, Duration::from_secs(600));
    assert_eq!(settings.upstream.pool_idle, Duration::from_secs(15));
    assert!(!settings.demo.enabled && settings.demo.log && !settings.log.access && !settings.metrics.public);
    let breaker = &settings.resilience.provider_breaker;
    let numbers = |class| {
        let of = breaker.of(class);
        (of.degradation_threshold, of.failure_threshold, of.reset_timeout_ms)
    };
    assert_eq!(numbers(Class::Oauth), (5, 8, 60_000));
    assert_eq!(numbers(Class::Apikey), (7, 12, 30_000));
    assert_eq!(numbers(Class::Local), (2, 2, 15_000));
    let cooldown = &settings.resilience.connection_cooldown;
    assert_eq!((cooldown.oauth.base_cooldown_ms, cooldown.oauth.max_backoff_steps), (5_000, 8));
    assert_eq!((cooldown.apikey.base_cooldown_ms, cooldown.apikey.max_backoff_steps), (3_000, 5));
    assert_eq!(cooldown.local, cooldown.apikey);
    assert!(cooldown.oauth.use_upstream_retry_hints && cooldown.apikey.use_upstream_retry_hints);
    let lockout = &settings.resilience.model_lockout;
    assert!(!lockout.enabled && lockout.use_exponential_backoff);
    assert_eq!(lockout.error_codes, [403, 404, 429, 502, 503, 504]);
    assert_eq!(
        (lockout.base_cooldown_ms, lockout.max_cooldown_ms, lockout.max_backoff_steps),
        (120_000, 1_800_000, 10)
    );
}

#[test]
fn keys_are_required_outside_the_loopback() {
    for (listen, required) in
        [("127.0.0.1:1", false), ("[::1]:1", false), ("0.0.0.0:1", true), ("10.0.0.1:1", true)]
    {
        let settings = settings(&format!("[server]\nlisten = \"{listen}\""));
        assert_eq!(settings.server.keys_required(), required, "{listen}");
    }
}
