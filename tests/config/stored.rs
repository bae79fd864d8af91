//! What the management API has stored: above file and environment, clamped on read, never a
//! reason not to start (core 6.2, contract 5).

use serde_json::{Value, json};
use switchtower::settings::{Builtin, Loaded, Origin, Stored, load_with};

use crate::support::{Folder, STRATEGIES, Variables, lookup, provider};

const APIKEY: &str = "resilience.provider_breaker.apikey";

fn stored(settings: &[(&str, Value)]) -> Stored {
    let settings = settings.iter().map(|(key, value)| ((*key).to_owned(), value.clone()));
    Stored { settings: settings.collect(), ..Stored::default() }
}

fn load_stored(text: &str, variables: Variables<'_>, settings: &[(&str, Value)]) -> Loaded {
    let folder = Folder::with(text);
    let stored = stored(settings);
    let loaded = load_with(&folder.config(), &lookup(variables), STRATEGIES, &Builtin::default(), &stored);
    loaded.unwrap_or_else(|findings| panic!("{findings:#?}"))
}

fn told(loaded: &Loaded) -> Vec<String> {
    loaded.warnings.iter().map(|warning| format!("{}: {}", warning.key, warning.problem)).collect()
}

#[test]
fn core_6_3_stored_beats_env_and_env_beats_the_file() {
    let key = format!("{APIKEY}.failure_threshold");
    let text = format!("[{APIKEY}]\nfailure_threshold = 30");
    let variables = [("OMNIROUTE_CIRCUIT_BREAKER_API_KEY_THRESHOLD", "20")];
    let own = [("SWITCHTOWER__RESILIENCE__PROVIDER_BREAKER__APIKEY__FAILURE_THRESHOLD", "25")];
    for (variables, settings, wanted, origin) in [
        (&[][..], &[][..], 30, Origin::Config),
        (&variables[..], &[], 20, Origin::Env(variables[0].0.to_owned())),
        (&variables[..], &[(key.as_str(), json!(10))], 10, Origin::Stored),
        (&own[..], &[(key.as_str(), json!(10))], 10, Origin::Stored),
    ] {
        let loaded = load_stored(&text, variables, settings);
        assert_eq!(loaded.settings.resilience.provider_breaker.apikey.failure_threshold, wanted);
        let entry = loaded.effective.iter().find(|entry| entry.key == key).unwrap();
        assert_eq!(entry.origin, origin);
        assert_eq!(loaded.warnings, []);
    }
}

#[test]
fn g6_a_stored_degradation_threshold_is_lowered_below_the_failure_threshold() {
    let keys = [APIKEY.to_owned() + ".failure_threshold", APIKEY.to_owned() + ".degradation_threshold"];
    let loaded = load_stored("", &[], &[(&keys[0], json!(5)), (&keys[1], json!(9))]);
    assert_eq!(loaded.settings.resilience.provider_breaker.apikey.degradation_threshold, 4);
    // The file's own number was right before somebody stored the other.
    let text = format!("[{APIKEY}]\nfailure_threshold = 12\ndegradation_threshold = 9");
    let loaded = load_stored(&text, &[], &[(&keys[0], json!(5))]);
    assert_eq!(loaded.settings.resilience.provider_breaker.apikey.degradation_threshold, 4);
}

#[test]
fn g11_a_stored_longest_lock_is_raised_to_the_first() {
    let [base, max] =
        ["base_cooldown_ms", "max_cooldown_ms"].map(|key| format!("resilience.model_lockout.{key}"));
    let loaded = load_stored("", &[], &[(&base, json!(600_000)), (&max, json!(5_000))]);
    assert_eq!(loaded.settings.resilience.model_lockout.max_cooldown_ms, 600_000);
}

#[test]
fn core_6_2_stored_numbers_are_truncated_and_clamped_and_other_types_are_not_used() {
    let key = format!("{APIKEY}.reset_timeout_ms");
    for (value, wanted) in [
        (json!(2_000.9), 2_000),
        (json!("2500"), 2_500),
        (json!("2500.9"), 2_500),
        (json!(1), 1_000),
        (json!(-5), 1_000),
        (json!(1e300), 86_400_000),
    ] {
        let loaded = load_stored("", &[], &[(&key, value)]);
        assert_eq!(loaded.settings.resilience.provider_breaker.apikey.reset_timeout_ms, wanted);
        assert_eq!(loaded.warnings, []);
    }
    let hints = "resilience.connection_cooldown.oauth.use_upstream_retry_hints";
    for value in [json!("no"), json!(0), json!(null), json!([])] {
        let loaded = load_stored("", &[], &[(hints, value.clone()), (&key, json!([value]))]);
        assert!(loaded.settings.resilience.connection_cooldown.oauth.use_upstream_retry_hints);
        assert_eq!(loaded.settings.resilience.provider_breaker.apikey.reset_timeout_ms, 30_000);
        assert_eq!(told(&loaded).len(), 2, "{:?}", told(&loaded));
    }
}

#[test]
fn core_5_2_the_switch_of_lockouts_is_read_generously() {
    let key = "resilience.model_lockout.enabled";
    for (value, wanted) in [("true", true), ("1", true), ("0", false), ("yes", false)] {
        assert_eq!(
            load_stored("", &[], &[(key, json!(value))]).settings.resilience.model_lockout.enabled,
            wanted
        );
    }
    for (value, wanted) in [(json!(true), true), (json!(2), true), (json!(0), false), (json!([1]), false)] {
        assert_eq!(load_stored("", &[], &[(key, value)]).settings.resilience.model_lockout.enabled, wanted);
    }
}

#[test]
fn core_5_2_of_stored_codes_the_usable_ones_stay() {
    let key = "resilience.model_lockout.error_codes";
    let loaded = load_stored("", &[], &[(key, json!([99, 100, "503", 600, -1, true]))]);
    assert_eq!(loaded.settings.resilience.model_lockout.error_codes, [100, 503]);
    let loaded = load_stored("", &[], &[(key, json!([1]))]);
    assert_eq!(loaded.settings.resilience.model_lockout.error_codes, [403, 404, 429, 502, 503, 504]);
}

#[test]
fn a_stored_override_of_one_provider_stands_beside_the_file_and_outlives_the_provider() {
    let key = |provider: &str| {
        format!("resilience.provider_quota_overrides.{provider}.rate_limit_cooldown_seconds")
    };
    let text = provider("") + "[resilience.provider_quota_overrides.p]\nrate_limit_cooldown_seconds = 60";
    let (p, dotted) = (key("p"), key("gone.or.not"));
    let loaded = load_stored(&text, &[], &[(&p, json!(90)), (&dotted, json!(99_999))]);
    let overrides = &loaded.settings.resilience.provider_quota_overrides;
    assert_eq!(overrides["p"].rate_limit_cooldown_seconds, Some(90));
    assert_eq!(overrides["gone.or.not"].rate_limit_cooldown_seconds, Some(21_600));
    let wanted = "resilience.provider_quota_overrides.*: names a provider that does not exist";
    assert_eq!(told(&loaded), [wanted]);
}

#[test]
fn what_has_no_row_or_is_not_for_operators_is_a_warning_and_not_used() {
    let keys = ["resilience.no_such_key", "server.max_body", "providers[].base_url", ""];
    let settings: Vec<(&str, Value)> = keys.map(|key| (key, json!("1KiB"))).to_vec();
    let loaded = load_stored("", &[], &settings);
    assert_eq!(loaded.settings.server.max_body, 32 << 20);
    assert_eq!(loaded.warnings.len(), keys.len());
    assert!(loaded.warnings.iter().all(|warning| warning.file == "stored"));
}
