//! `/api/provider-nodes`: providers (contract 8: the keys of `[[providers]]` in camel case). What is
//! made or changed here is stored, with headers and client secret sealed, wins over the file's
//! provider of the same id, and applies at once: owners appear, and those of a deleted one drain.

mod edit;

use serde_json::{Map, Value};

use super::entities::{Edit, Entity, Made, Mode, Seen, describe_whole};
use super::errors::Refusal;
use super::providers::secrets::{GAP, mask};
use crate::settings::{
    Kept, Provider, ProviderSecrets, Secret, Settings, Source, Stored, connections_of, show_provider,
};

/// Providers, by id.
pub(super) struct Nodes;

impl Entity for Nodes {
    const KIND: &'static str = "provider";
    const LIST: &'static str = "nodes";
    const READ_ONLY: &'static [&'static str] =
        &["connections", "source", "overrides", "createdAt", "updatedAt"];

    fn rows(seen: &Seen<'_>) -> Vec<Value> {
        let settings = &seen.loaded.settings;
        let mut providers: Vec<&Provider> = settings.providers.iter().collect();
        providers.sort_by(|a, b| a.id.cmp(&b.id));
        providers.into_iter().map(|provider| show(provider, settings, &seen.stored)).collect()
    }

    fn show(seen: &Seen<'_>, id: &str) -> Result<Value, Refusal> {
        let settings = &seen.loaded.settings;
        Ok(show(find(settings, id)?, settings, &seen.stored))
    }

    fn veiled(before: &Stored, after: &Stored, id: &str) -> Vec<&'static str> {
        let own = |stored: &Stored| match stored.providers.get(id).map(|record| &record.secrets) {
            Some(Kept::Open(own, _)) => own.clone(),
            _ => ProviderSecrets::default(),
        };
        let (before, after) = (own(before), own(after));
        let fields = [
            ("headers", before.headers != after.headers),
            ("oauth", before.client_secret != after.client_secret),
        ];
        fields.into_iter().filter_map(|(field, differs)| differs.then_some(field)).collect()
    }

    fn create(edit: &Edit, stored: &mut Stored, body: Map<String, Value>) -> Result<Made, Refusal> {
        edit::create(edit, stored, body).map(Made::plain)
    }

    /// Headers and a client secret that are not given stay.
    fn update(
        edit: &Edit,
        stored: &mut Stored,
        id: &str,
        (body, mode): (Map<String, Value>, Mode),
    ) -> Result<Vec<String>, Refusal> {
        edit::update(edit, stored, id, body, mode).map(|()| Vec::new())
    }

    /// One that only the store has goes when no connection names it any more.
    fn remove(edit: &Edit, stored: &mut Stored, id: String) -> Result<(), Refusal> {
        let loaded = edit.live.current();
        let known = find(&loaded.settings, &id)?;
        if known.source != Source::Stored {
            return Err(Refusal::Fixed(id));
        }
        let named = connections_of(&loaded.settings, &id);
        if known.replaces.is_none() && !named.is_empty() {
            return Err(Refusal::InUse(id, named.join(", ")));
        }
        stored.providers.remove(&id);
        Ok(())
    }
}

fn find<'a>(settings: &'a Settings, id: &str) -> Result<&'a Provider, Refusal> {
    let found = settings.providers.iter().find(|provider| provider.id.as_str() == id);
    found.ok_or_else(|| Refusal::NotFound("provider".into(), id.into()))
}

fn show(provider: &Provider, settings: &Settings, stored: &Stored) -> Value {
    let id = provider.id.as_str();
    let mut shown = Map::new();
    shown.insert("id".into(), id.into());
    shown.extend(show_provider(provider));
    let headers = provider.headers.iter();
    let headers = headers.map(|(name, value)| (name.clone(), mask(&Secret::from(value.as_str())).into()));
    shown.insert("headers".into(), Value::Object(headers.collect()));
    if let Some(Value::Object(oauth)) = shown.get_mut("oauth") {
        let secret = provider.oauth.as_ref().and_then(|oauth| oauth.client_secret.as_ref());
        oauth.insert("clientSecret".into(), secret.map(mask).into());
    }
    let record = stored.providers.get(id);
    if record.is_some_and(|record| matches!(record.secrets, Kept::Sealed(_))) {
        // They are there and cannot be read.
        shown.insert("headers".into(), GAP.to_string().into());
    }
    shown.insert("connections".into(), connections_of(settings, id).into());
    let dates = record.map(|record| (record.created_at, record.updated_at));
    describe_whole(&mut shown, (provider.source, provider.replaces), dates);
    shown.into()
}
