//! What a config means: entities, secrets, derived numbers, variables.

use std::time::Duration;

use policy::combo::TargetSpec;
use policy::ids::Class;
use switchtower::settings::{AuthHeader, Format, Kind, Origin, Scope, Source, table};

use crate::support::{load_text, settings};

pub(crate) const ENTITIES: &str = r#"
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
config = { retry_delay_ms = "3s", slow_start_ms = 5, combo_cooldown_wait_enabled = false }
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
    assert_eq!(local.timeouts.connect, Some(Duration::from_secs(1)));
    assert_eq!(local.timeouts.first_byte, Some(Duration::from_secs(2)));
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
    let TargetSpec::Model(second) = &combo.targets[1].target else { panic!("it is a model") };
    assert_eq!(second.connection.as_ref().unwrap().as_str(), "three");
    assert_eq!((combo.config.retry_delay_ms, combo.config.slow_start_ms), (3_000, 5));
    assert!(!combo.config.combo_cooldown_wait_enabled);
    assert!(combo.config.failover_before_retry);
    assert_eq!(settings.keys[0].scopes, [Scope::Inference, Scope::Manage]);
}

#[test]
fn secrets_hide_themselves() {
    let settings = settings(ENTITIES);
    let text = format!("{settings:?} {:?}", settings.keys[0].key);
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
fn a_proxy_that_cannot_be_had_leaves_its_connection_inactive() {
    let text = "[[providers]]\nid = \"p\"\nformat = \"openai\"\nbase_url = \"http://h\"\n[[connections]]\nid = \"c\"\nprovider = \"p\"\ncredential = \"k\"\nproxy = \"env:EGRESS\"";
    let loaded = load_text(text, &[]).unwrap();
    let connection = &loaded.settings.connections[0];
    assert!(connection.proxy_lost && connection.proxy.is_none(), "it would leave by another way");
    assert!(connection.active, "what was typed stays");
    assert_eq!((loaded.warnings.len(), loaded.warnings[0].line), (1, 9));
    let loaded = load_text(text, &[("EGRESS", "http://u:secret@h:3128")]).unwrap();
    let connection = &loaded.settings.connections[0];
    assert!(connection.active && !connection.proxy_lost);
    let shown = format!("{connection:?}");
    assert!(shown.contains("http://h:3128") && !shown.contains("secret"), "{shown}");
    // What it holds is not quoted when it is wrong.
    let found = load_text(text, &[("EGRESS", "socks5://u:secret@h:1")]).unwrap_err();
    assert!(found.len() == 1 && found[0].line == 9 && !format!("{found:?}").contains("secret"), "{found:?}");
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
        if row.default.is_empty() && (row.is_repeated() || !matches!(row.kind, Kind::Text(_))) {
            continue; // absent unless somebody sets it
        }
        let loaded = load_text("", &[(name.as_str(), row.default)]);
        let loaded = loaded.unwrap_or_else(|found| panic!("{found:?}"));
        let entry = loaded.effective.iter().find(|entry| entry.key == row.key).unwrap();
        assert_eq!(entry.origin, Origin::Env(name), "{}", row.key);
    }
}

// === findings ===
