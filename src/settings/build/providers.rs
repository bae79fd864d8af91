//! `[[providers]]`.

use policy::ids::{Class, ModelId, ProviderId};

use super::{Context, KnownProvider, streams};
use crate::settings::Secret;
use crate::settings::bodies::write;
use crate::settings::combos::abilities;
use crate::settings::entities::{AuthHeader, Format, Model, OauthClient, Provider, Source};
use crate::settings::finding::Place;
use crate::settings::sheet::Sheet;
use crate::settings::stored_provider::{ONLY_STORED, is_lost};
use crate::settings::value::Value;

/// Names that begin with these are no provider's: combos, `auto`, shared models (routing 10.2, 12).
const RESERVED: [&str; 3] = ["auto", "combo", "qtSd"];
const MODELS: &str = "providers[].models[]";
const CAPABILITIES: &str = "providers[].models[].capabilities";
const TOKEN_URL: &str = "providers[].oauth.token_url";
const CLIENT_ID: &str = "providers[].oauth.client_id";
const CLIENT_SECRET: &str = "providers[].oauth.client_secret";
const SCOPES: &str = "providers[].oauth.scopes";

/// Reads every provider and makes its id known.
pub(super) fn read(context: &mut Context<'_>) -> Vec<Provider> {
    let mut providers = Vec::new();
    for sheet in context.root.list("providers[]") {
        let below = (sheet.place == Place::Stored).then_some(Source::File);
        let read = provider(context, sheet, false);
        providers.extend(read.map(|read| Provider { replaces: below, ..read }));
    }
    for sheet in context.root.list(ONLY_STORED) {
        providers.extend(provider(context, sheet, true));
    }
    providers
}

/// Only looks for what is wrong.
pub(super) fn check(context: &mut Context<'_>, sheet: &Sheet) {
    provider(context, sheet, false);
}

fn provider(context: &mut Context<'_>, sheet: &Sheet, only_stored: bool) -> Option<Provider> {
    let models = models(context, sheet);
    let id = sheet.text("providers[].id")?;
    let class = class(sheet);
    let passthrough_models = sheet.flag("providers[].passthrough_models");
    check_id(context, sheet, &id);
    let listed = models.iter().flatten().map(|model| model.id.to_string()).collect();
    let passes = models.is_none() || passthrough_models;
    let oauth = oauth(context, sheet, class);
    let stored = sheet.place == Place::Stored;
    // What the file's combos may ask of it was right with the file's own list.
    let passes = stored || passes;
    let (formats, renews) = (formats(sheet), oauth.is_some());
    let known =
        KnownProvider { class, listed, formats: formats.clone(), passes, renews, stored: only_stored };
    context.known.providers.entry(id.clone()).or_insert(known);
    Some(Provider {
        id: ProviderId::from(id),
        class,
        formats,
        base_url: base_url(sheet),
        per_model_quota: sheet.flag("providers[].per_model_quota"),
        passthrough_models,
        models,
        max_benched_percent: sheet.count("providers[].max_benched_percent"),
        headers: sheet.headers("providers[].headers"),
        auth_header: auth_header(sheet),
        oauth,
        timeouts: streams::timeouts(sheet, "providers[]"),
        watchdog: streams::watchdog(sheet, "providers[]"),
        lost: is_lost(sheet),
        given: write(sheet, "providers[]"),
        source: if stored { Source::Stored } else { Source::File },
        replaces: None,
    })
}

fn check_id(context: &mut Context<'_>, sheet: &Sheet, id: &str) {
    let key = "providers[].id";
    if RESERVED.contains(&id) {
        let problem = format!("`{id}` begins other names of models");
        context.refuse(sheet, key, &problem, "another id");
    }
    if context.builtin.providers.iter().any(|(other, _)| other == id) {
        let problem = format!("`{id}` is a provider of [demo]");
        context.refuse(sheet, key, &problem, "another id, or demo.enabled = false");
    } else if context.known.providers.contains_key(id) {
        let problem = format!("`{id}` is another provider's id already");
        context.refuse(sheet, key, &problem, "an id of its own");
    }
}

fn class(sheet: &Sheet) -> Class {
    match sheet.text("providers[].auth").as_deref() {
        Some("oauth") => Class::Oauth,
        Some("local") => Class::Local,
        _ => Class::Apikey,
    }
}

fn formats(sheet: &Sheet) -> Vec<Format> {
    let texts = sheet.texts("providers[].format");
    let format = |text: &String| Format::ALL.iter().find(|(_, name)| name == text);
    texts.iter().filter_map(format).map(|(format, _)| *format).collect()
}

fn base_url(sheet: &Sheet) -> String {
    let text = sheet.text("providers[].base_url").unwrap_or_default();
    text.trim_end_matches('/').to_owned()
}

fn auth_header(sheet: &Sheet) -> Option<AuthHeader> {
    let text = sheet.text("providers[].auth_header")?;
    let found = AuthHeader::ALL.iter().find(|(_, name)| *name == text)?;
    Some(found.0)
}

/// Either whole or absent, and only where tokens are used.
fn oauth(context: &mut Context<'_>, sheet: &Sheet, class: Class) -> Option<OauthClient> {
    let keys = [TOKEN_URL, CLIENT_ID, CLIENT_SECRET, SCOPES];
    let given = keys.into_iter().find(|key| sheet.is_given(key))?;
    if class != Class::Oauth {
        context.refuse(sheet, given, "is only for auth = \"oauth\"", "auth = \"oauth\", or no `oauth`");
        return None;
    }
    for key in [TOKEN_URL, CLIENT_ID] {
        if !sheet.is_given(key) {
            context.refuse(sheet, key, "is missing", "token_url and client_id together");
        }
    }
    let client_secret = client_secret(context, sheet);
    Some(OauthClient {
        token_url: sheet.text(TOKEN_URL)?,
        client_id: sheet.text(CLIENT_ID)?,
        client_secret,
        scopes: sheet.texts(SCOPES),
    })
}

fn client_secret(context: &mut Context<'_>, sheet: &Sheet) -> Option<Secret> {
    let Some(Value::Secret(reference)) = sheet.value(CLIENT_SECRET) else { return None };
    let found = reference.resolve(context.env, context.folder);
    let accepted = "\"env:NAME\", \"file:PATH\" or the secret itself";
    found.map_err(|missing| context.refuse(sheet, CLIENT_SECRET, &missing.to_string(), accepted)).ok()
}

fn models(context: &mut Context<'_>, sheet: &Sheet) -> Option<Vec<Model>> {
    let sheets = sheet.lists.get(MODELS)?;
    if sheets.is_empty() && !sheet.flag("providers[].passthrough_models") {
        let accepted = "at least one model, or no `models` at all: then any model passes";
        context.refuse(sheet, MODELS, "is an empty list", accepted);
    }
    let mut models: Vec<Model> = Vec::new();
    for entry in sheets {
        let Some(id) = entry.text("providers[].models[].id") else {
            continue;
        };
        if models.iter().any(|other| other.id.as_str() == id) {
            let problem = format!("`{id}` is listed twice");
            context.refuse(entry, "providers[].models[].id", &problem, "each model once");
        }
        models.push(Model {
            id: ModelId::from(id),
            context_window: entry.whole("providers[].models[].context_window"),
            input_price: entry.number("providers[].models[].input_price"),
            output_price: entry.number("providers[].models[].output_price"),
            max_output: entry.whole("providers[].models[].max_output"),
            abilities: entry.is_given(CAPABILITIES).then(|| abilities(&entry.texts(CAPABILITIES))),
            timeouts: streams::timeouts(entry, MODELS),
            watchdog: streams::watchdog(entry, MODELS),
        });
    }
    Some(models)
}
