//! From settings to the numbers of the provider cooldown and of the choice among accounts
//! (core 2.3, 2.6, 4.5; routing 11.8).

use policy::account::{self, AccountSettings, AccountStrategy};
use policy::ids::Class;
use policy::window::{RetryCooldown, WindowSettings};
use switchtower::app::blueprint;
use switchtower::settings::table;

use crate::support::settings;

/// A provider of each class with one connection.
const ENTITIES: &str = r#"
[[providers]]
id = "o"
auth = "oauth"
format = "openai"
base_url = "http://localhost:1"
[[providers]]
id = "k"
auth = "apikey"
format = "openai"
base_url = "http://localhost:1"
[[providers]]
id = "l"
auth = "local"
format = "openai"
base_url = "http://localhost:1"
[[connections]]
id = "k-1"
provider = "k"
credential = "a-key"
"#;

#[test]
fn core_2_the_defaults_are_the_built_in_numbers() {
    let made = blueprint(&settings(ENTITIES), "salt");
    for (id, class) in [("o", Class::Oauth), ("k", Class::Apikey), ("l", Class::Local)] {
        assert_eq!(made.windows[id], WindowSettings::for_class(class), "{id}");
    }
    assert_eq!(made.connections["k-1"].retry, RetryCooldown::default());
    let accounts =
        AccountSettings { affinity_ttl_ms: 1_800_000, sticky_limit: 3, ..AccountSettings::default() };
    assert_eq!(made.catalogue.accounts, accounts);
}

#[test]
fn core_2_what_is_typed_is_what_acts() {
    let text = format!(
        "[resilience.provider_cooldown]\nenabled = true\nmin_retry_cooldown_ms = 7\nmax_retry_cooldown_ms = 8000\n\
         [resilience.provider_cooldown.apikey]\nfailure_threshold = 3\nfailure_window_ms = 4000\ncooldown_ms = 5000\n\
         [resilience.p2c_latency]\nweight = 10\n[settings]\nfallback_strategy = \"p2c\"\n{ENTITIES}"
    );
    let made = blueprint(&settings(&text), "salt");
    let typed = WindowSettings { enabled: true, failures: 3, window_ms: 4_000, cooling_ms: 5_000 };
    assert_eq!(made.windows["k"], typed);
    let other = WindowSettings { enabled: true, ..WindowSettings::for_class(Class::Oauth) };
    assert_eq!(made.windows["o"], other);
    let retry = RetryCooldown { enabled: true, min_ms: 7, max_ms: 8_000 };
    assert_eq!(made.connections["k-1"].retry, retry);
    let accounts = AccountSettings {
        strategy: AccountStrategy::P2c,
        latency_weight: 10.0,
        affinity_ttl_ms: 1_800_000,
        sticky_limit: 3,
    };
    assert_eq!(made.catalogue.accounts, accounts);
}

#[test]
fn every_account_strategy_that_is_built_can_be_chosen_and_no_other() {
    let row = table().iter().find(|row| row.key == "settings.fallback_strategy").unwrap();
    assert_eq!(row.kind.accepted(), account::names().join(" | "));
}
