//! What the tests of the config share: a folder, an environment, findings as tuples.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use switchtower::settings::{Finding, Loaded, Settings, load};

pub(crate) const STRATEGIES: &[&str] = &["priority", "weighted", "p2c"];
pub(crate) const SHIPPED: &str = include_str!("../../config.toml");

/// A file in a folder of its own, removed at the end.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn with(text: &str) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("settings-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("config.toml"), text).unwrap();
        Self(folder)
    }

    pub(crate) fn config(&self) -> PathBuf {
        self.0.join("config.toml")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub(crate) type Variables<'a> = &'a [(&'a str, &'a str)];

pub(crate) fn load_text(text: &str, variables: Variables<'_>) -> Result<Loaded, Vec<Finding>> {
    let folder = Folder::with(text);
    load(&folder.config(), &lookup(variables), STRATEGIES)
}

pub(crate) fn lookup<'a>(variables: Variables<'a>) -> impl Fn(&str) -> Option<String> + 'a {
    move |name| variables.iter().find(|(own, _)| *own == name).map(|(_, text)| text.to_string())
}

pub(crate) fn settings(text: &str) -> Settings {
    load_text(text, &[]).unwrap_or_else(|findings| panic!("{findings:#?}")).settings
}

pub(crate) fn findings(text: &str) -> Vec<Finding> {
    load_text(text, &[]).expect_err("the config is accepted")
}

/// The one finding of a config, as (line, key, problem and what is accepted).
#[track_caller]
pub(crate) fn only_finding(text: &str) -> (usize, String, String) {
    let found = findings(text);
    assert_eq!(found.len(), 1, "{found:#?}");
    let told = format!("{}, accepted: {}", found[0].problem, found[0].accepted);
    (found[0].line, found[0].key.clone(), told)
}

pub(crate) fn provider(extra: &str) -> String {
    format!("[[providers]]\nid = \"p\"\nformat = \"openai\"\nbase_url = \"https://h/v1\"\n{extra}\n")
}

pub(crate) fn connection(extra: &str) -> String {
    format!(
        "{}[[connections]]\nid = \"c\"\nprovider = \"p\"\ncredential = \"sk-c\"\n{extra}\n",
        provider("# none")
    )
}

pub(crate) fn combo(targets: &str) -> String {
    format!("{}[[combos]]\nname = \"m\"\ntargets = {targets}\n", connection("# none"))
}

#[track_caller]
pub(crate) fn check(cases: &[(&str, usize, &str, &str)]) {
    for (text, line, key, told) in cases {
        let found = findings(text);
        let hit = found.iter().any(|each| {
            let text = format!("{}, accepted: {}", each.problem, each.accepted);
            each.line == *line && each.key == *key && text.contains(told) && !each.warning
        });
        assert!(hit, "no {line}: {key}: {told}\nin {text}\nbut {found:#?}");
    }
}
