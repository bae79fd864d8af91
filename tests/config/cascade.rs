//! What combos begin with: built in, `[settings.combo_defaults]`, a provider's overrides, their own
//! config (routing 1.4).

use policy::combo::Nesting;
use policy::strategy::auto::Weights;
use switchtower::settings::{ComboConfig, Effective};

use crate::support::{combo, connection, findings, load_text, only_finding, settings};

const COMMON: &str = r#"
[settings.combo_defaults]
max_retries = 3
retry_delay_ms = 100
weights = { quota = 1, health = 2 }
sticky_round_robin_limit = 4
[settings.provider_overrides.p]
max_retries = 5
fallback_delay_ms = 7
"#;

/// The config of a combo called `m` with these lines, below these settings.
fn config(common: &str, lines: &str) -> ComboConfig {
    let text = format!("{common}{}", combo(&format!("[\"p/a\"]\n{lines}")));
    settings(&text).combos.remove(0).config
}

fn of_p(config: &ComboConfig) -> &ComboConfig {
    let [(provider, own)] = &config.by_provider[..] else { panic!("{:?}", config.by_provider) };
    assert_eq!(provider.as_str(), "p");
    own
}

#[test]
fn routing_1_4_the_later_layer_wins_key_by_key() {
    let silent = config(COMMON, "");
    assert_eq!((silent.max_retries, silent.retry_delay_ms, silent.fallback_delay_ms), (3, 100, 0));
    let own = of_p(&silent);
    assert_eq!((own.max_retries, own.retry_delay_ms, own.fallback_delay_ms), (5, 100, 7));
    let spoken = config(COMMON, "config = { max_retries = 0 }");
    assert_eq!((spoken.max_retries, spoken.retry_delay_ms), (0, 100));
    assert_eq!(
        (of_p(&spoken).max_retries, of_p(&spoken).fallback_delay_ms),
        (0, 7),
        "the combo's own is last"
    );
    let all = config(COMMON, "config = { max_retries = 0, fallback_delay_ms = 1 }");
    assert_eq!(all.by_provider, [], "nothing is left for the provider to say");
    assert_eq!(config("", "").by_provider, []);
    assert_eq!(config("", ""), ComboConfig::default());
}

#[test]
fn routing_1_4_tables_are_not_mixed() {
    let weights = |lines: &str| config(COMMON, lines).strategy.auto.weights.unwrap();
    assert_eq!(weights(""), Weights::of([("quota", 1.0), ("health", 2.0)]));
    assert_eq!(weights("config = { weights = { health = 1 } }"), Weights::of([("health", 1.0)]));
    let validation = "[settings.combo_defaults.response_validation]\nmin_content_length = 9\n";
    let rules = |lines: &str| config(validation, lines).response_validation;
    assert!(!rules("").is_empty());
    let predicate =
        "config = { response_validation = { json_path_predicates = [{ path = \"$.a\", op = \"exists\" }] } }";
    assert_eq!(rules(predicate), config("", predicate).response_validation);
}

#[test]
fn routing_1_4_keys_with_a_setting_of_their_own_come_between() {
    let limit = |common: &str, lines: &str| config(common, lines).strategy.rotation.sticky_round_robin_limit;
    let of_all = "[settings]\nsticky_round_robin_limit = 2\n";
    assert_eq!(limit(of_all, ""), 2);
    assert_eq!(limit(&format!("{of_all}{COMMON}"), ""), 4);
    assert_eq!(limit(COMMON, "config = { sticky_round_robin_limit = 6 }"), 6);
}

/// Who cannot ask a combo as a whole goes on as without the default; who says so itself is refused.
#[test]
fn routing_2_6_a_default_of_nesting_is_for_those_who_can() {
    let common = "[settings.combo_defaults]\nnested_combo_mode = \"execute\"\n";
    let text = |strategy: &str, lines: &str| {
        format!(
            "{common}{}[[combos]]\nname = \"in\"\ntargets = [\"p/a\"]\n\
             [[combos]]\nname = \"out\"\nstrategy = \"{strategy}\"\ntargets = [\"in\"]\n{lines}",
            connection("# none")
        )
    };
    let nesting = |strategy: &str| settings(&text(strategy, "")).combos[1].config.nesting;
    assert_eq!((nesting("priority"), nesting("p2c")), (Nesting::Execute, Nesting::Flatten));
    let (_, key, _) = only_finding(&text("p2c", "config = { nested_combo_mode = \"execute\" }"));
    assert_eq!(key, "combos[].config.nested_combo_mode");
}

#[test]
fn what_is_about_a_combo_as_a_whole_cannot_be_said_of_a_provider() {
    for (name, value) in [
        ("combo_timeout_ms", "1"),
        ("max_set_retries", "1"),
        ("nested_combo_mode", "\"flatten\""),
        ("weights", "{ quota = 1 }"),
        ("last_resort", "true"),
    ] {
        let text = format!("[settings.provider_overrides.p]\n{name} = {value}\n{}", connection("# none"));
        let (line, key, told) = only_finding(&text);
        assert_eq!((line, key), (2, format!("settings.provider_overrides.*.{name}")));
        assert!(told.starts_with("is about a combo as a whole"), "{told}");
        assert!(told.contains("target_timeout_ms"), "{told}");
    }
    let unknown = format!("[settings.provider_overrides.p]\nshoes = 1\n{}", connection("# none"));
    assert!(only_finding(&unknown).2.starts_with("unknown key"));
    let nobody = format!("[settings.provider_overrides.q]\nmax_retries = 1\n{}", connection("# none"));
    assert!(only_finding(&nobody).2.starts_with("names a provider that does not exist"));
    // Tiers are of a combo's own targets, and predicates a list that no PATCH could name.
    for line in ["composite_tiers = { default_tier = \"a\" }", "max_retries = 11", "shadow_routing = {}"] {
        let text = format!("[settings.combo_defaults]\n{line}\n{}", connection("# none"));
        assert_eq!(findings(&text).len(), 1, "{line}");
    }
    let two = format!("{}[[combos]]\nname = \"n\"\ntargets = [\"p/a\"]\n", combo("[\"p/a\"]"));
    let pool = format!("[settings.combo_defaults]\ncandidate_pool = [\"q\"]\n{two}");
    let (line, _, told) = only_finding(&pool);
    assert_eq!(line, 2, "once, where it stands: {told}");
}

#[test]
fn routing_1_4_keys_of_old_are_dropped_without_a_word() {
    const OLD: &str = "timeout_ms = 5, health_check_enabled = \"yes\", health_check_timeout_ms = {}";
    let common =
        "[settings.combo_defaults]\ntimeout_ms = 5\n[settings.provider_overrides.p]\ntimeout_ms = 5\n";
    let own = combo(&format!("[\"p/a\"]\nconfig = {{ {OLD}, max_retries = 2 }}"));
    let text = format!("{common}{own}");
    let loaded = load_text(&text, &[]).unwrap();
    assert_eq!(loaded.warnings, []);
    let combo = &loaded.settings.combos[0];
    assert_eq!(combo.config, ComboConfig { max_retries: 2, ..ComboConfig::default() });
    assert_eq!(combo.given["config"].as_object().unwrap().len(), 1, "{:?}", combo.given);
    assert_eq!(findings(&text.replace("max_retries", "health_checks")).len(), 1);
}

#[test]
fn defaults_have_variables_and_are_shown_once_they_are_given() {
    let text = format!("{COMMON}{}", connection("# none"));
    let variable = [("SWITCHTOWER__SETTINGS__COMBO_DEFAULTS__MAX_RETRIES", "9")];
    let loaded = load_text(&text, &variable).unwrap();
    assert_eq!(loaded.settings.combo_base.max_retries, 9);
    let shown = |entry: &&Effective| {
        entry.key.starts_with("settings.combo_defaults.")
            || entry.key.starts_with("settings.provider_overrides.")
    };
    let keys = loaded.effective.iter().filter(shown).map(|entry| (entry.key.as_str(), entry.value.as_str()));
    let mut keys: Vec<_> = keys.map(|(key, value)| (key.trim_start_matches("settings."), value)).collect();
    keys.sort_unstable();
    let expected = [
        ("combo_defaults.max_retries", "9"),
        ("combo_defaults.retry_delay_ms", "100"),
        ("combo_defaults.sticky_round_robin_limit", "4"),
        ("combo_defaults.weights.health", "2"),
        ("combo_defaults.weights.quota", "1"),
        ("provider_overrides.p.fallback_delay_ms", "7"),
        ("provider_overrides.p.max_retries", "5"),
    ];
    assert_eq!(keys, expected);
}
