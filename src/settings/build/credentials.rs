//! What a connection authenticates with: one credential, or the tokens of an OAuth account.
//!
//! A variable or file that is missing makes the connection inactive and is a warning;
//! a combination that cannot work refuses the config.

use policy::ids::Class;
use policy::time::Millis;

use super::Context;
use crate::settings::Secret;
use crate::settings::entities::OauthTokens;
use crate::settings::finding::Problem;
use crate::settings::sheet::Sheet;
use crate::settings::value::Value;

pub(super) const CREDENTIAL: &str = "connections[].credential";
const ACCESS: &str = "connections[].access_token";
const REFRESH: &str = "connections[].refresh_token";
const EXPIRES: &str = "connections[].expires_at";
pub(super) const INACTIVE: &str = "the connection is inactive";

/// What to send, and the tokens if it has any.
pub(super) fn read(
    context: &mut Context<'_>,
    sheet: &Sheet,
    provider: &str,
) -> (Option<Secret>, Option<OauthTokens>) {
    if !check_tokens(context, sheet, provider) {
        return (credential(context, sheet, provider), None);
    }
    let tokens = OauthTokens {
        access: look_up(context, sheet, ACCESS, INACTIVE),
        refresh: look_up(context, sheet, REFRESH, "the access token is not renewed"),
        expires_at: sheet.text(EXPIRES).and_then(|text| instant(&text)),
    };
    (tokens.access.clone(), Some(tokens))
}

fn instant(text: &str) -> Option<Millis> {
    let at: jiff::Timestamp = text.parse().ok()?;
    Millis::try_from(at.as_millisecond()).ok()
}

/// Whether the connection has tokens; what cannot work is refused.
fn check_tokens(context: &mut Context<'_>, sheet: &Sheet, provider: &str) -> bool {
    let has_token = [ACCESS, REFRESH].iter().any(|key| sheet.is_given(key));
    let Some(given) = [ACCESS, REFRESH, EXPIRES].into_iter().find(|key| sheet.is_given(key)) else {
        return false;
    };
    let known = context.known.providers.get(provider);
    let (class, renews) = known.map_or((Class::Oauth, true), |known| (known.class, known.renews));
    if class != Class::Oauth {
        let accepted = "`credential`, or a provider with auth = \"oauth\"";
        context.refuse(sheet, given, "is only for a provider with auth = \"oauth\"", accepted);
    } else if sheet.is_given(CREDENTIAL) {
        context.refuse(sheet, given, "stands beside `credential`", "either of them");
    } else if !has_token {
        context.refuse(sheet, given, "has no token", "access_token or refresh_token as well");
    } else if !renews && !sheet.is_given(ACCESS) {
        let accepted = "access_token as well, or [[providers]].oauth";
        context.refuse(sheet, given, "cannot be used: its provider has no `oauth`", accepted);
    } else if !renews && sheet.is_given(REFRESH) {
        let problem = Problem::new("is not used: its provider has no `oauth`", "");
        context.findings.warn(sheet.place_of(REFRESH), REFRESH, problem);
    }
    has_token
}

fn credential(context: &mut Context<'_>, sheet: &Sheet, provider: &str) -> Option<Secret> {
    match sheet.value(CREDENTIAL) {
        Some(_) => look_up(context, sheet, CREDENTIAL, INACTIVE),
        None => without_credential(context, sheet, provider),
    }
}

pub(super) fn look_up(context: &mut Context<'_>, sheet: &Sheet, key: &str, outcome: &str) -> Option<Secret> {
    let Some(Value::Secret(reference)) = sheet.value(key) else { return None };
    match reference.resolve(context.env, context.folder) {
        Ok(secret) => Some(secret),
        Err(missing) => {
            let problem = Problem::new(format!("{missing}; {outcome}"), "");
            context.findings.warn(sheet.place_of(key), key, problem);
            None
        }
    }
}

/// A local back end may want none; everybody else does.
fn without_credential(context: &mut Context<'_>, sheet: &Sheet, provider: &str) -> Option<Secret> {
    let wrong = [CREDENTIAL, ACCESS, REFRESH, EXPIRES].iter().any(|key| sheet.is_given(key));
    let class = context.known.providers.get(provider)?.class;
    if class == Class::Local && !wrong {
        return Some(Secret::from(""));
    }
    if !wrong && context.checks_references() {
        let accepted = match class {
            Class::Oauth => "access_token or refresh_token, or a credential",
            _ => "\"env:NAME\", \"file:PATH\" or the credential itself",
        };
        context.refuse(sheet, CREDENTIAL, "is missing", accepted);
    }
    None
}
