//! The example of every strategy is a combo that config.toml may hold.

use std::collections::BTreeSet;

use policy::strategy::{STRATEGIES, names};
use switchtower::settings::load;

use crate::support::{Folder, lookup};

/// The example below its header, with the providers that it names.
fn config(example: &str) -> String {
    let combo: toml::Table = example.parse().expect("the example is TOML");
    let targets = combo["targets"].as_array().expect("it has targets");
    let models = targets.iter().filter_map(|target| target.get("model")?.as_str());
    let ids: BTreeSet<&str> = models.filter_map(|model| Some(model.split_once('/')?.0)).collect();
    let provider = |id: &&str| {
        format!("[[providers]]\nid = \"{id}\"\nformat = \"openai\"\nbase_url = \"https://h/v1\"\n")
            + &format!("[[connections]]\nid = \"{id}-main\"\nprovider = \"{id}\"\ncredential = \"sk\"\n")
    };
    let providers: String = ids.iter().map(provider).collect();
    format!("{providers}[[combos]]\n{example}\n")
}

#[test]
fn the_example_of_every_strategy_loads() {
    for strategy in STRATEGIES {
        let folder = Folder::with(&config(strategy.example()));
        let loaded = load(&folder.config(), &lookup(&[]), &names());
        let loaded = loaded.unwrap_or_else(|findings| panic!("{}: {findings:#?}", strategy.name()));
        assert_eq!(loaded.warnings, [], "{}", strategy.name());
        assert_eq!(loaded.settings.combos[0].strategy, strategy.name());
    }
}
