//! The shipped config equals the defaults; every mistake is found, with its line.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use policy::ids::Class;
use switchtower::settings::{
    AuthHeader, Builtin, Finding, Format, Loaded, Origin, Scope, Settings, Source, load, load_with, table,
};

const STRATEGIES: &[&str] = &["priority", "weighted", "p2c"];
const SHIPPED: &str = include_str!("../config.toml");

/// A file in a folder of its own, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn with(text: &str) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("settings-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("config.toml"), text).unwrap();
        Self(folder)
    }

    fn config(&self) -> PathBuf {
        self.0.join("config.toml")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

type Variables<'a> = &'a [(&'a str, &'a str)];

fn load_text(text: &str, variables: Variables<'_>) -> Result<Loaded, Vec<Finding>> {
    let folder = Folder::with(text);
    load(&folder.config(), &lookup(variables), STRATEGIES)
}

fn lookup<'a>(variables: Variables<'a>) -> impl Fn(&str) -> Option<String> + 'a {
    move |name| variables.iter().find(|(own, _)| *own == name).map(|(_, text)| text.to_string())
}

fn settings(text: &str) -> Settings {
    load_text(text, &[]).unwrap_or_else(|findings| panic!("{findings:#?}")).settings
}

fn findings(text: &str) -> Vec<Finding> {
    load_text(text, &[]).expect_err("the config is accepted")
}

/// The one finding of a config, as (line, key, problem and what is accepted).
#[track_caller]
fn only_finding(text: &str) -> (usize, String, String) {
    let found = findings(text);
    assert_eq!(found.len(), 1, "{found:#?}");
    let told = format!("{}, accepted: {}", found[0].problem, found[0].accepted);
    (found[0].line, found[0].key.clone(), told)
}

// === the shipped file ===

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
    let values = |loaded: &Loaded| -> BTreeMap<&str, String> {
        loaded.effective.iter().map(|entry| (entry.key, entry.value.clone())).collect()
    };
    let (defaults, mut shipped) = (values(&defaults), values(&shipped));
    assert_eq!(shipped.insert("demo.enabled", "false".to_owned()).as_deref(), Some("true"));
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
            table = name.replace("connections.", "connections[].").replace("combos.", "combos[].");
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
    for row in table() {
        let key = row.key.replace(".*.", ".openai.");
        let inline = |name: &str| text.iter().any(|line| line.contains(&format!(" {name} = ")));
        let last = key.rsplit('.').next().unwrap();
        let nested = key.contains("models[].") || key.contains("targets[].") || key.contains("timeouts.");
        assert!(keys.contains(&key) || nested && inline(last), "{key} is not in config.toml");
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
    let variables =
        [("OPENAI_API_KEY", "sk-openai"), ("LAPTOP_KEY", "laptop-key"), ("SWITCHTOWER_ADMIN_TOKEN", "t")];
    let loaded = load(&folder.config(), &lookup(&variables), STRATEGIES)
        .unwrap_or_else(|findings| panic!("{findings:#?}"));
    assert_eq!(loaded.warnings, []);
    let settings = loaded.settings;
    assert_eq!(settings.providers.len(), 2);
    assert_eq!(settings.connections[1].credential.as_ref().unwrap().expose(), "sk-ant-file");
    assert_eq!(settings.combos[0].targets.len(), 2);
    assert_eq!(settings.keys[0].key.expose(), "laptop-key");
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

const ENTITIES: &str = r#"
[[providers]]
id = "openai"
format = "openai"
base_url = "https://api.openai.com/v1/"
models = ["gpt-5", { id = "gpt-5-mini", input_price = 1 }]
[[providers]]
id = "box"
auth = "local"
format = ["openai", "anthropic"]
base_url = "http://[::1]:8080"
auth_header = "x-api-key"
timeouts = { connect = "1s", first_byte = "2s" }
headers = { b = "2", a = "1" }
[[connections]]
id = "one"
provider = "openai"
credential = "sk-literal"
priority = 5
provider_specific = { disableCooling = true, rotationOverrides = { rateLimitResetSeconds = 7 } }
[[connections]]
id = "two"
provider = "openai"
credential = "sk-other"
[[connections]]
id = "three"
provider = "box"
[[combos]]
name = "a b/c.[d]"
strategy = " P2C "
targets = ["openai/gpt-5[1m]", { model = "box/any", weight = 2.5, connection = "three" }]
config = { retry_delay_ms = "3s", slow_start_ms = 5 }
[[keys]]
name = "laptop"
key = "literal-key"
scopes = ["inference", "manage"]
allowed_connections = ["one"]
"#;

#[test]
fn entities_mean_what_they_say() {
    let settings = settings(ENTITIES);
    let [openai, local] = &settings.providers[..] else { panic!() };
    assert_eq!((openai.class, local.class), (Class::Apikey, Class::Local));
    assert_eq!(openai.base_url, "https://api.openai.com/v1");
    assert_eq!(openai.models.as_ref().unwrap()[1].input_price, Some(1.0));
    assert_eq!(local.formats, [Format::Openai, Format::Anthropic]);
    assert_eq!(local.auth_header, Some(AuthHeader::XApiKey));
    assert_eq!(local.connect_timeout, Some(Duration::from_secs(1)));
    assert_eq!(local.first_byte_timeout, Some(Duration::from_secs(2)));
    assert_eq!(local.headers, [("b".to_owned(), "2".to_owned()), ("a".to_owned(), "1".to_owned())]);
    assert_eq!(local.models, None);
    let priorities: Vec<u32> = settings.connections.iter().map(|each| each.priority).collect();
    assert_eq!(priorities, [5, 6, 1]);
    let [one, two, three] = &settings.connections[..] else { panic!() };
    assert!(one.disable_cooling && one.active && one.source == Source::File);
    assert_eq!((one.rate_limit_delay_ms, two.rate_limit_delay_ms), (Some(7_000), None));
    assert_eq!((two.models.clone(), two.max_concurrent), (vec!["*".to_owned()], 0));
    assert_eq!(three.credential.as_ref().unwrap().expose(), "");
    let combo = &settings.combos[0];
    assert_eq!((combo.strategy.as_str(), combo.targets[1].weight), ("p2c", 2.5));
    assert_eq!(combo.targets[1].connection.as_ref().unwrap().as_str(), "three");
    assert_eq!((combo.config.retry_delay_ms, combo.config.slow_start_ms), (3_000, 5));
    assert!(combo.config.failover_before_retry);
    assert_eq!(settings.keys[0].scopes, [Scope::Inference, Scope::Manage]);
}

#[test]
fn secrets_hide_themselves() {
    let settings = settings(ENTITIES);
    let text = format!("{settings:?} {}", settings.keys[0].key);
    assert!(!text.contains("sk-") && !text.contains("literal-key"), "{text}");
    assert!(text.contains("[redacted]"));
}

#[test]
fn a_missing_credential_is_a_warning() {
    let text = "[[providers]]\nid = \"p\"\nformat = \"openai\"\nbase_url = \"http://h\"\n[[connections]]\nid = \"c\"\nprovider = \"p\"\ncredential = \"env:NOT_THERE\"\n[[connections]]\nid = \"d\"\nprovider = \"p\"\ncredential = \"file:nothing\"";
    let loaded = load_text(text, &[]).unwrap();
    assert!(loaded.settings.connections.iter().all(|each| each.credential.is_none() && each.active));
    let lines: Vec<usize> = loaded.warnings.iter().map(|each| each.line).collect();
    assert_eq!(lines, [8, 12]);
    assert!(loaded.warnings.iter().all(|each| each.warning));
    let loaded = load_text(text, &[("NOT_THERE", " sk-there ")]).unwrap();
    assert_eq!(loaded.settings.connections[0].credential.as_ref().unwrap().expose(), "sk-there");
}

#[test]
fn a_degradation_threshold_gives_way_unless_typed() {
    let text = "[resilience.provider_breaker.apikey]\nfailure_threshold = 5";
    assert_eq!(settings(text).resilience.provider_breaker.apikey.degradation_threshold, 4);
    let text = "[resilience.provider_breaker.local]\nfailure_threshold = 10";
    assert_eq!(settings(text).resilience.provider_breaker.local.degradation_threshold, 6);
    let text = "[resilience.provider_breaker.oauth]\nfailure_threshold = 1\ndegradation_threshold = 1";
    assert_eq!(settings(text).resilience.provider_breaker.oauth.degradation_threshold, 1);
}

#[test]
fn local_cooldowns_follow_apikey_and_the_longest_lock_follows_the_first() {
    let settings = settings(
        "[resilience]\nconnection_cooldown.apikey.base_cooldown_ms = \"1m\"\nmodel_lockout = { base_cooldown_ms = 600000, max_cooldown_ms = 5000 }",
    );
    assert_eq!(settings.resilience.connection_cooldown.local.base_cooldown_ms, 60_000);
    assert_eq!(settings.resilience.model_lockout.max_cooldown_ms, 600_000);
}

// === environment ===

#[test]
fn variables_win_over_the_file_and_the_guides_names_stand_between() {
    let text = "[server]\nworkers = 2\n[resilience.provider_breaker.apikey]\nfailure_threshold = 30\nreset_timeout_ms = 2000";
    let variables = [
        ("SWITCHTOWER__SERVER__WORKERS", "3"),
        ("SWITCHTOWER__RESILIENCE__PROVIDER_BREAKER__APIKEY__RESET_TIMEOUT_MS", "4s"),
        ("OMNIROUTE_CIRCUIT_BREAKER_API_KEY_RESET_MS", "5000"),
        ("OMNIROUTE_CIRCUIT_BREAKER_API_KEY_THRESHOLD", "20.9"),
        ("OMNIROUTE_CIRCUIT_BREAKER_LOCAL_RESET_MS", ""),
    ];
    let loaded = load_text(text, &variables).unwrap();
    assert_eq!(loaded.settings.server.workers, 3);
    let apikey = &loaded.settings.resilience.provider_breaker.apikey;
    assert_eq!((apikey.reset_timeout_ms, apikey.failure_threshold), (4_000, 20));
    assert_eq!(loaded.warnings, []);
    let origin = |key: &str| &loaded.effective.iter().find(|entry| entry.key == key).unwrap().origin;
    assert_eq!(*origin("server.workers"), Origin::Env("SWITCHTOWER__SERVER__WORKERS".to_owned()));
    assert_eq!(*origin("server.listen"), Origin::BuiltIn);
}

#[test]
fn a_bad_variable_is_a_finding_and_a_bad_one_of_the_guide_is_ignored() {
    let variables =
        [("SWITCHTOWER__SERVER__WORKERS", "many"), ("OMNIROUTE_CIRCUIT_BREAKER_OAUTH_THRESHOLD", "-1")];
    let found = load_text("", &variables).unwrap_err();
    assert_eq!(
        found[0].to_string(),
        "env SWITCHTOWER__SERVER__WORKERS: server.workers: is not a whole number, accepted: a whole number from 0 to 1024"
    );
    let loaded = load_text("", &variables[1..]).unwrap();
    assert_eq!(loaded.settings, {
        let mut other = load_text("", &[]).unwrap().settings;
        other.store = loaded.settings.store.clone();
        other
    });
    assert!(loaded.warnings.iter().all(|each| each.warning));
}

#[test]
fn every_scalar_row_has_a_variable_and_an_accepted_default() {
    for row in table().iter().filter(|row| row.is_scalar()) {
        let name = row.variable().unwrap();
        let loaded = load_text("", &[(name.as_str(), row.default)]);
        let loaded = loaded.unwrap_or_else(|found| panic!("{found:?}"));
        let entry = loaded.effective.iter().find(|entry| entry.key == row.key).unwrap();
        assert_eq!(entry.origin, Origin::Env(name), "{}", row.key);
    }
}

// === findings ===

fn provider(extra: &str) -> String {
    format!("[[providers]]\nid = \"p\"\nformat = \"openai\"\nbase_url = \"https://h/v1\"\n{extra}\n")
}

fn connection(extra: &str) -> String {
    format!(
        "{}[[connections]]\nid = \"c\"\nprovider = \"p\"\ncredential = \"sk-c\"\n{extra}\n",
        provider("# none")
    )
}

fn combo(targets: &str) -> String {
    format!("{}[[combos]]\nname = \"m\"\ntargets = {targets}\n", connection("# none"))
}

#[test]
fn each_mistake_is_found_at_its_line() {
    let cases: &[(&str, usize, &str, &str)] = &[
        ("[server]\n\nlisten = ", 3, "syntax", "TOML"),
        ("[server]\nworkers = 1\nworkers = 2", 3, "syntax", "duplicate"),
        ("[server]\nlisten2 = \"x\"", 2, "server.listen2", "did you mean `listen`?"),
        ("[server]\nshutdowngrace = \"x\"", 2, "server.shutdowngrace", "did you mean `shutdown_grace`?"),
        ("[server]\nzzz = 1", 2, "server.zzz", "accepted: listen, workers, max_body"),
        ("[stream]\nheartbeat = \"15s\"", 1, "stream", "unknown key"),
        ("[settings]\nsession_affinity_ttl_ms = 1", 2, "settings.session_affinity_ttl_ms", "no key yet"),
        ("[resilience.concurrency]\nglobal_max = 1", 1, "resilience.concurrency", "provider_breaker"),
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
            "[resilience.provider_quota_overrides.acme]\nrpm = 5",
            2,
            "resilience.provider_quota_overrides.*.rpm",
            "unknown key",
        ),
    ];
    check(cases);
}

#[track_caller]
fn check(cases: &[(&str, usize, &str, &str)]) {
    for (text, line, key, told) in cases {
        let found = findings(text);
        let hit = found.iter().any(|each| {
            let text = format!("{}, accepted: {}", each.problem, each.accepted);
            each.line == *line && each.key == *key && text.contains(told) && !each.warning
        });
        assert!(hit, "no {line}: {key}: {told}\nin {text}\nbut {found:#?}");
    }
}

#[test]
fn each_mistake_of_a_provider_is_found_at_its_line() {
    let long =
        format!("[[providers]]\nid = \"{}\"\nformat = \"openai\"\nbase_url = \"http://h\"", "x".repeat(65));
    assert_eq!(only_finding(&long).1, "providers[].id");
    let url = |text: &str| format!("[[providers]]\nid = \"p\"\nformat = \"openai\"\nbase_url = \"{text}\"");
    for text in [
        "ftp://h",
        "h/v1",
        "https://u:pw@h/v1",
        "https://h/v1?key=1",
        "https://h#x",
        "https://",
        "http://h:0",
        "http://h y",
    ] {
        let (line, key, told) = only_finding(&url(text));
        assert_eq!((line, key.as_str()), (4, "providers[].base_url"), "{text}");
        assert!(told.contains("http:// or https://") && !told.contains("pw"), "{told}");
    }
    let cases: &[(&str, usize, &str, &str)] = &[
        ("\n[[providers]]\nid = \"p\"", 2, "providers[].base_url", "is missing"),
        ("\n[[providers]]\nid = \"p\"", 2, "providers[].format", "is missing"),
        (&provider("auth = \"magic\""), 5, "providers[].auth", "oauth | apikey | local"),
        (
            &provider("auth_header = \"x-magic\""),
            5,
            "providers[].auth_header",
            "authorization: Bearer | x-api-key",
        ),
        (&provider("http2 = false"), 5, "providers[].http2", "unknown key"),
        (&provider("oauth = { token_url = \"x\" }"), 5, "providers[].oauth", "unknown key"),
        (
            &provider("timeouts = { total = \"1s\" }"),
            5,
            "providers[].timeouts.total",
            "accepted: connect, first_byte",
        ),
        (&provider("models = []"), 4 - 3, "providers[].models[]", "is an empty list"),
        (&provider("models = [\n\"a\",\n\"a\"]"), 7, "providers[].models[].id", "listed twice"),
        (&provider("models = [{ id = \"a\", price = 1 }]"), 5, "providers[].models[].price", "unknown key"),
        (
            &provider("models = [{ id = \"a\", input_price = -1 }]"),
            5,
            "providers[].models[].input_price",
            "from 0 to",
        ),
        (&provider("models = [7]"), 5, "providers[].models[]", "is a whole number"),
        (
            &provider("headers = { Authorization = \"Bearer x\" }"),
            5,
            "providers[].headers",
            "carries credentials",
        ),
        (&provider("headers = { Connection = \"close\" }"), 5, "providers[].headers", "belongs to one hop"),
        (&provider("headers = { x = \"a\\nb\" }"), 5, "providers[].headers", "control"),
        (&provider("headers = { x = 1 }"), 5, "providers[].headers", "whole number"),
        (&provider("headers = { x = \"1\", X = \"2\" }"), 5, "providers[].headers", "twice"),
        (&provider("headers = { \"x y\" = \"2\" }"), 5, "providers[].headers", "no header can have"),
        (
            &format!("{}{}", provider("# none"), provider("# none")),
            7,
            "providers[].id",
            "another provider's id",
        ),
        (
            "[[providers]]\nid = \"p\"\nformat = [\"openai\", \"klingon\"]\nbase_url = \"http://h\"",
            3,
            "providers[].format",
            "openai | anthropic | responses | gemini",
        ),
        (
            "[[providers]]\nid = \"p\"\nformat = \"klingon\"\nbase_url = \"http://h\"",
            3,
            "providers[].format",
            "gemini",
        ),
        ("[[providers]]\nid = \"p\"\nformat = []\nbase_url = \"http://h\"", 3, "providers[].format", "empty"),
    ];
    check(cases);
}

#[test]
fn each_mistake_of_a_connection_is_found_at_its_line() {
    let cases: &[(&str, usize, &str, &str)] = &[
        (&connection("id2 = \"x\""), 10, "connections[].id2", "did you mean `id`?"),
        (&connection("proxy = \"http://h:1\""), 10, "connections[].proxy", "unknown key"),
        (
            &connection("rate_limit_overrides = { rpm = 1 }"),
            10,
            "connections[].rate_limit_overrides",
            "unknown key",
        ),
        (&connection("access_token = \"x\""), 10, "connections[].access_token", "unknown key"),
        (&connection("models = []"), 10, "connections[].models", "empty"),
        (&connection("models = \"*\""), 10, "connections[].models", "is a string, accepted: a list"),
        (
            &connection("provider_specific = { lowPriorityMode = true }"),
            10,
            "connections[].provider_specific.lowPriorityMode",
            "unknown key",
        ),
        (
            &connection("provider_specific = { disable_cooling = true, disableCooling = true }"),
            10,
            "connections[].provider_specific.disable_cooling",
            "twice",
        ),
        (
            &format!(
                "{}[[connections]]\nid = \"c\"\nprovider = \"p\"\ncredential = \"x\"",
                connection("# none")
            ),
            12,
            "connections[].id",
            "another connection's id",
        ),
        (
            "[[connections]]\nid = \"c\"\nprovider = \"nobody\"\ncredential = \"x\"",
            3,
            "connections[].provider",
            "does not exist",
        ),
        (
            &format!("{}[[connections]]\nid = \"c\"\nprovider = \"p\"", provider("# none")),
            6,
            "connections[].credential",
            "is missing",
        ),
        (
            &format!(
                "{}[[connections]]\nid = \"c\"\nprovider = \"p\"\ncredential = \"\"",
                provider("# none")
            ),
            9,
            "connections[].credential",
            "is empty",
        ),
        (
            &format!(
                "{}[[connections]]\nid = \"c\"\nprovider = \"p\"\ncredential = 12345678",
                provider("# none")
            ),
            9,
            "connections[].credential",
            "is a whole number",
        ),
    ];
    check(cases);
}

#[test]
fn each_mistake_of_a_combo_is_found_at_its_line() {
    let listed = provider("models = [\"a\"]");
    let name =
        |text: &str| format!("{}[[combos]]\nname = \"{text}\"\ntargets = [\"p/a\"]", provider("# none"));
    let cases: &[(&str, usize, &str, &str)] = &[
        (&combo("[]"), 11, "combos[].targets", "has no target"),
        ("[[combos]]\nname = \"m\"", 1, "combos[].targets", "has no target"),
        (&combo("[\"a\"]"), 13, "combos[].targets[].model", "is not provider/model"),
        (&combo("[\"p/\"]"), 13, "combos[].targets[].model", "is not provider/model"),
        (&combo("[\"q/a\"]"), 13, "combos[].targets[].model", "`q`, which does not exist, accepted: p"),
        (&combo("[{ model = \"p/a\", weight = 101 }]"), 13, "combos[].targets[].weight", "from 0 to 100"),
        (
            &combo("[{ model = \"p/a\", connection = \"d\" }]"),
            13,
            "combos[].targets[].connection",
            "does not exist, accepted: c",
        ),
        (
            &combo("[\"p/a\"]\nstrategy = \"best\""),
            14,
            "combos[].strategy",
            "accepted: priority, weighted, p2c",
        ),
        (
            &combo("[\"p/a\"]\nconfig = { max_retries = 11 }"),
            14,
            "combos[].config.max_retries",
            "from 0 to 10",
        ),
        (
            &combo("[\"p/a\"]\nconfig = { last_resort = true }"),
            14,
            "combos[].config.last_resort",
            "unknown key",
        ),
        (
            &format!("{}[[combos]]\nname = \"m\"\ntargets = [\"p/a\"]", combo("[\"p/a\"]")),
            15,
            "combos[].name",
            "another combo's name",
        ),
        (
            &format!("{listed}[[combos]]\nname = \"m\"\ntargets = [\"p/b\"]"),
            8,
            "combos[].targets[].model",
            "`p` does not list, accepted: a",
        ),
        (&name(""), 7, "combos[].name", "is empty"),
        (&name("a,b"), 7, "combos[].name", "1 to 100 characters"),
        (&name(&"x".repeat(101)), 7, "combos[].name", "1 to 100 characters"),
    ];
    check(cases);
    let foreign = format!(
        "{}[[providers]]\nid = \"q\"\nformat = \"openai\"\nbase_url = \"http://q\"\n[[combos]]\nname = \"m\"\ntargets = [{{ model = \"q/a\", connection = \"c\" }}]",
        connection("# none")
    );
    let (line, key, told) = only_finding(&foreign);
    assert_eq!((line, key.as_str()), (17, "combos[].targets[].connection"));
    assert!(told.contains("belongs to `p`"), "{told}");
    let open = provider("models = [\"a\"]\npassthrough_models = true");
    settings(&format!("{open}[[combos]]\nname = \"m\"\ntargets = [\"p/b\"]"));
}

#[test]
fn each_mistake_of_a_key_is_found_at_its_line() {
    let key = |extra: &str| format!("[[keys]]\nname = \"k\"\nkey = \"secret-1\"\n{extra}\n");
    let cases: &[(&str, usize, &str, &str)] = &[
        ("[[keys]]\nname = \"k\"", 1, "keys[].key", "is missing"),
        ("[[keys]]\nname = \"k\"\nkey = \" \"", 3, "keys[].key", "is empty"),
        ("[[keys]]\nname = \"k\"\nkey = \"env:NOT_THERE\"", 3, "keys[].key", "NOT_THERE is not set"),
        ("[[keys]]\nname = \"k\"\nkey = \"file:nothing\"", 3, "keys[].key", "cannot be read"),
        (&key("scopes = [\"lease:exclusive\"]"), 4, "keys[].scopes", "not built yet"),
        (&key("scopes = [\"root\"]"), 4, "keys[].scopes", "inference | manage"),
        (&key("scopes = []"), 4, "keys[].scopes", "empty"),
        (&key("allowed_connections = [\"c\"]"), 4, "keys[].allowed_connections", "does not exist"),
        (
            &format!("{}{}", key("# none"), key("# none").replace("secret-1", "secret-2")),
            6,
            "keys[].name",
            "another key's name",
        ),
        (
            &format!("{}{}", key("# none"), key("# none").replace("\"k\"", "\"l\"")),
            7,
            "keys[].key",
            "same secret as the key `k`",
        ),
    ];
    check(cases);
    for (text, ..) in cases {
        assert!(findings(text).iter().all(|each| !each.to_string().contains("secret-")));
    }
}

#[test]
fn a_secret_in_the_wrong_place_is_not_repeated() {
    let secret = "sk-ant-0123456789-0123456789-0123456789";
    let places = [
        connection("# none").replace("provider = \"p\"", &format!("provider = \"{secret}\"")),
        connection("# none").replace("\"sk-c\"", secret),
        connection(&format!("{secret} = 1")),
        combo(&format!("[{{ model = \"{secret}/x\", connection = \"{secret}\" }}]")),
        provider(&format!("auth_header = \"{secret}\"\nheaders = {{ x-api-key = \"{secret}\" }}")),
        format!("[admin]\ntoken = {{ key = \"{secret}\" }}\nlisten = \"{secret}\""),
        format!("[[keys]]\nname = \"k\"\nkey = \"env:{secret}\"\nallowed_connections = [\"{secret}\"]"),
        format!("[[keys]]\nname = \"k\"\nkey = \"{secret}"),
    ];
    for text in places {
        for found in findings(&text) {
            assert!(!found.to_string().contains("0123456789"), "{found}");
        }
    }
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
    let loaded = load_with(&folder.config(), &|_| None, STRATEGIES, &builtin).unwrap();
    assert!(loaded.settings.providers.is_empty());
    let folder = Folder::with(&text(false));
    let found = load_with(&folder.config(), &|_| None, STRATEGIES, &builtin).unwrap_err();
    assert_eq!(found.len(), 3, "{found:#?}");
    let taken = "[demo]\nenabled = true\n[[providers]]\nid = \"demo-a\"\nformat = \"openai\"\nbase_url = \"http://h\"\n[[connections]]\nid = \"demo-a-1\"\nprovider = \"demo-a\"\ncredential = \"x\"\n[[combos]]\nname = \"demo\"\ntargets = [\"demo-a/x\"]";
    let folder = Folder::with(taken);
    let found = load_with(&folder.config(), &|_| None, STRATEGIES, &builtin).unwrap_err();
    let lines: Vec<usize> = found.iter().map(|each| each.line).collect();
    assert_eq!(lines, [4, 8, 12]);
}

// === whatever is typed ===

/// A small deterministic generator (xorshift).
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % most as u64).unwrap()
    }
}

const GARBAGE: &[&str] = &[
    "=",
    "[",
    "]]",
    "\"",
    "'''",
    "{",
    "}",
    "#",
    "\u{0}",
    "é",
    "\n",
    "= 1e999",
    "= -9223372036854775808",
    "= 0xFFFFFFFFFFFFFFFFFFFF",
    "= 1979-05-27",
    "= nan",
    "= [[[]]]",
    ".",
    "[[providers]]",
    "*",
    "= {a={b={}}}",
];

fn mutate(text: &str, dice: &mut Dice) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for _ in 0..=dice.below(6) {
        let at = dice.below(lines.len());
        match dice.below(5) {
            0 => drop(lines.remove(at)),
            1 => lines.insert(at, lines[at].clone()),
            2 => lines.swap(at, 0),
            3 => {
                let line: Vec<char> = lines[at].chars().collect();
                let cut = dice.below(line.len() + 1);
                let garbage = GARBAGE[dice.below(GARBAGE.len())];
                lines[at] = line[..cut].iter().collect::<String>()
                    + garbage
                    + &line[cut..].iter().collect::<String>();
            }
            _ => lines[at] = lines[at].chars().rev().collect(),
        }
    }
    lines.join("\n")
}

#[test]
fn mutated_configs_never_panic() {
    let uncommented = SHIPPED
        .lines()
        .map(|line| line.strip_prefix("# ").unwrap_or(line).to_owned() + "\n")
        .collect::<String>();
    let folder = Folder::with("");
    let mut dice = Dice(0x5eed_cafe);
    let mut refused = 0;
    for round in 0..600 {
        let text = match round % 3 {
            0 => mutate(SHIPPED, &mut dice),
            1 => mutate(ENTITIES, &mut dice),
            _ => mutate(&uncommented, &mut dice),
        };
        fs::write(folder.config(), &text).unwrap();
        let last = text.lines().count().max(1) + 1;
        if let Err(found) = load(&folder.config(), &|_| None, STRATEGIES) {
            refused += 1;
            assert!(found.iter().any(|each| !each.warning));
            for each in &found {
                assert!(each.line <= last, "{each} in {last} lines");
                assert!(!each.to_string().contains("sk-literal"), "{each}");
            }
        }
    }
    assert!(refused > 200, "{refused}");
}
