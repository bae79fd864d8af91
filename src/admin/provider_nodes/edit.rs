//! What a body makes of the stored providers. Runs while no other change runs, on a copy: what is
//! refused here has changed nothing.

use serde_json::{Map, Value};

use super::find;
use crate::admin::entities::{Edit, Mode, merge_unchecked, without_nulls};
use crate::admin::errors::Refusal;
use crate::admin::providers::secrets::GAP;
use crate::settings::{
    Detail, Kept, Provider, ProviderSecrets, Source, Stored, StoredProvider, check_provider, is_id,
    read_client_secret, read_header,
};
use crate::storage::provider_record;

/// Makes a provider; its id.
pub(super) fn create(
    edit: &Edit,
    stored: &mut Stored,
    mut body: Map<String, Value>,
) -> Result<String, Refusal> {
    let mut details = Vec::new();
    let id = match body.remove("id") {
        Some(Value::String(id)) if is_id(&id) => id,
        given => {
            let problem = if given.is_none() { "is missing" } else { "is no id" };
            let message = format!("{problem}, accepted: 1 to 64 characters of A-Z a-z 0-9 . _ -");
            details.push(Detail::new("id", message));
            String::new()
        }
    };
    let loaded = edit.live.current();
    if find(&loaded.settings, &id).is_ok() || stored.providers.contains_key(&id) {
        return Err(Refusal::Exists("provider".into(), id));
    }
    let mut own = ProviderSecrets::default();
    take_secrets(&mut body, &mut own, &[], &mut details);
    // An id that is wrong is told once.
    details.extend(check_provider(if id.is_empty() { "new" } else { &id }, &body, &own));
    if !details.is_empty() {
        return Err(Refusal::of(details));
    }
    let secrets = seal(edit, &id, own)?;
    let provider =
        StoredProvider { fields: without_nulls(body), secrets, created_at: edit.now, updated_at: edit.now };
    stored.providers.insert(id.clone(), provider);
    Ok(id)
}

/// Changes a provider; of one that is not stored yet, an override is.
pub(super) fn update(
    edit: &Edit,
    stored: &mut Stored,
    id: &str,
    mut body: Map<String, Value>,
    mode: Mode,
) -> Result<(), Refusal> {
    let loaded = edit.live.current();
    let current = find(&loaded.settings, id)?;
    if current.source == Source::Demo {
        return Err(Refusal::Fixed(id.to_owned()));
    }
    if body.remove("id").is_some_and(|given| !given.is_null() && given.as_str() != Some(id)) {
        return Err(Refusal::invalid("id", "cannot change; delete this provider and make another one"));
    }
    let existing = stored.providers.get(id);
    let kept = existing.map(|existing| existing.secrets.clone()).unwrap_or_default();
    let before = match &kept {
        Kept::Open(own, _) => own.clone(),
        Kept::Inherited | Kept::Sealed(_) => ProviderSecrets::default(),
    };
    let (mut details, mut own) = (Vec::new(), before.clone());
    // A change goes on from what is in force, whoever gave it.
    if let Some(Value::Object(given)) = body.get_mut("headers").filter(|_| mode == Mode::Patch) {
        let named = |name: &str| given.keys().any(|other| other.eq_ignore_ascii_case(name));
        let kept: Vec<&str> =
            current.headers.iter().map(|(name, _)| name.as_str()).filter(|name| !named(name)).collect();
        given.extend(kept.into_iter().map(|name| (name.to_owned(), GAP.to_string().into())));
    }
    take_secrets(&mut body, &mut own, &current.headers, &mut details);
    let mut fields = match (mode, existing) {
        (Mode::Replace, _) => Map::new(),
        (Mode::Patch, Some(existing)) => existing.fields.clone(),
        (Mode::Patch, None) => current.given.clone(),
    };
    fields.remove("id");
    merge_unchecked(&mut fields, body);
    keep_auth(current, &mut fields, &mut details);
    if details.is_empty() {
        details = check_provider(id, &fields, &own);
    }
    if !details.is_empty() {
        return Err(Refusal::of(details));
    }
    let secrets = if own == before { kept } else { seal(edit, id, own)? };
    let created_at = existing.map_or(edit.now, |existing| existing.created_at);
    let fields = without_nulls(fields);
    let provider = StoredProvider { fields, secrets, created_at, updated_at: edit.now };
    stored.providers.insert(id.to_owned(), provider);
    Ok(())
}

/// The file's own connections hang on its class.
fn keep_auth(current: &Provider, fields: &mut Map<String, Value>, details: &mut Vec<Detail>) {
    let of_file = current.source == Source::File || current.replaces.is_some();
    if !of_file {
        return;
    }
    let auth = crate::admin::providers::view::auth_name(current.class);
    if fields.get("auth").is_some_and(|given| !given.is_null() && given.as_str() != Some(auth)) {
        details.push(Detail::new("auth", format!("cannot change, accepted: {auth}")));
    }
    fields.insert("auth".into(), auth.into());
}

fn seal(edit: &Edit, id: &str, own: ProviderSecrets) -> Result<Kept<ProviderSecrets>, Refusal> {
    if own.is_empty() {
        return Ok(Kept::Inherited);
    }
    let sealed = edit.vault.seal(&provider_record(id), &own.to_text()).map_err(|_| Refusal::NoKey)?;
    Ok(Kept::Open(own, sealed))
}

/// Takes headers and client secret out of a body. What we showed comes back masked and stays.
fn take_secrets(
    body: &mut Map<String, Value>,
    own: &mut ProviderSecrets,
    before: &[(String, String)],
    details: &mut Vec<Detail>,
) {
    match body.remove("headers") {
        None => {}
        Some(Value::Null) => own.headers = None,
        // Sealed ones are shown as the gap alone.
        Some(Value::String(text)) if text.contains(GAP) => {}
        Some(Value::Object(given)) => {
            own.headers = Some(headers(given, before, details));
        }
        Some(_) => details.push(Detail::new("headers", "is no object, accepted: an object of texts")),
    }
    let oauth = match body.get_mut("oauth") {
        Some(Value::Object(oauth)) => oauth,
        Some(Value::Null) => {
            own.client_secret = None;
            return;
        }
        _ => return,
    };
    match oauth.remove("clientSecret") {
        None => {}
        Some(Value::Null) => own.client_secret = None,
        Some(Value::String(text)) if text.contains(GAP) => {}
        Some(value) => match read_client_secret(&value) {
            Ok(secret) => own.client_secret = Some(secret),
            Err(detail) => details.push(detail),
        },
    }
}

/// The headers of a body, all of them: one that is not named goes.
fn headers(
    given: Map<String, Value>,
    before: &[(String, String)],
    details: &mut Vec<Detail>,
) -> Vec<(String, String)> {
    let mut headers: Vec<(String, String)> = Vec::new();
    for (name, value) in given.into_iter().filter(|(_, value)| !value.is_null()) {
        if headers.iter().any(|(other, _)| other.eq_ignore_ascii_case(&name)) {
            details.push(Detail::new("headers", "holds a header twice, accepted: each name once"));
            continue;
        }
        if value.as_str().is_some_and(|text| text.contains(GAP)) {
            match before.iter().find(|(other, _)| other.eq_ignore_ascii_case(&name)) {
                Some(kept) => headers.push(kept.clone()),
                None => {
                    details.push(Detail::new("headers", "holds a masked value, accepted: the value itself"))
                }
            }
            continue;
        }
        match read_header(&name, &value) {
            Ok(text) => headers.push((name, text)),
            Err(detail) => details.push(detail),
        }
    }
    headers
}
