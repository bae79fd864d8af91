//! The entities that `[demo]` adds (contract 6).

use policy::ids::Class;

use crate::settings::{
    Builtin, Combo, Connection, Format, Provider, Settings, Source, WallOptions, demo_credential,
};

const PROVIDERS: [(&str, Format, &[&str]); 6] = [
    ("demo-a", Format::Openai, &["demo-a-1", "demo-a-2"]),
    ("demo-b", Format::Openai, &["demo-b-1"]),
    ("claude-a", Format::Anthropic, &["claude-a-1", "claude-a-2"]),
    ("claude-b", Format::Anthropic, &["claude-b-1"]),
    ("responses-a", Format::Responses, &["responses-a-1"]),
    ("gemini-a", Format::Gemini, &["gemini-a-1"]),
];

const COMBOS: [(&str, &str, &[&str]); 5] = [
    ("demo", "priority", &["demo-a/flaky-30", "demo-b/steady"]),
    ("demo-down", "priority", &["demo-a/status-503", "demo-b/steady"]),
    ("demo-fast", "p2c", &["demo-a/steady", "demo-b/steady"]),
    ("demo-claude", "priority", &["claude-a/flaky-30", "claude-b/steady"]),
    ("demo-responses", "priority", &["responses-a/steady"]),
];

/// What the config may refer to while the demo is on.
pub fn builtin() -> Builtin {
    let text = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect();
    Builtin {
        providers: PROVIDERS
            .iter()
            .map(|(id, _, connections)| ((*id).to_owned(), text(connections)))
            .collect(),
        combos: COMBOS.iter().map(|(name, _, _)| (*name).to_owned()).collect(),
    }
}

/// Adds them; `base_url` is where the scripted upstream listens.
pub(super) fn add(settings: &mut Settings, base_url: &str) {
    for (id, format, connections) in PROVIDERS {
        settings.providers.push(Provider {
            id: id.into(),
            class: Class::Apikey,
            formats: vec![format],
            base_url: base_url.to_owned(),
            per_model_quota: false,
            passthrough_models: true,
            models: None,
            max_benched_percent: 100,
            headers: Vec::new(),
            auth_header: None,
            oauth: None,
            timeouts: Default::default(),
            watchdog: Default::default(),
            lost: false,
            given: given(format, base_url),
            source: Source::Demo,
            replaces: None,
        });
        for (index, connection) in connections.iter().enumerate() {
            // The management API may have put its own in the place.
            if settings.connections.iter().any(|known| known.id.as_str() == *connection) {
                continue;
            }
            settings.connections.push(self::connection(connection, id, index as u32 + 1));
        }
    }
    for (name, strategy, targets) in COMBOS {
        // So may it with these.
        if !settings.combos.iter().any(|known| known.name == name) {
            let combo = Combo::of_models(name, strategy, targets, Source::Demo);
            settings.combos.push(Combo { config: settings.combo_base.clone(), ..combo });
        }
    }
}

/// As a body would say it.
fn given(format: Format, base_url: &str) -> serde_json::Map<String, serde_json::Value> {
    let known = Format::ALL.iter().find(|(known, _)| *known == format);
    let fields = [
        ("format", known.map(|(_, name)| *name).into()),
        ("baseUrl", base_url.into()),
        ("passthroughModels", true.into()),
    ];
    fields.map(|(name, value)| (name.to_owned(), value)).into_iter().collect()
}

fn connection(id: &str, provider: &str, priority: u32) -> Connection {
    Connection {
        id: id.into(),
        name: id.into(),
        provider: provider.into(),
        credential: Some(demo_credential(id)),
        tokens: None,
        priority,
        active: true,
        max_concurrent: 0,
        rate_limit: Default::default(),
        models: vec!["steady".into(), "*".into()],
        headers: Vec::new(),
        proxy: None,
        proxy_lost: false,
        timeouts: Default::default(),
        watchdog: Default::default(),
        rate_limit_delay_ms: None,
        cutoff: policy::preflight::AccountCutoff::default(),
        disable_cooling: false,
        wall: WallOptions::default(),
        rotation: Default::default(),
        passthrough_models: None,
        kept: Default::default(),
        source: Source::Demo,
        replaces: None,
    }
}
