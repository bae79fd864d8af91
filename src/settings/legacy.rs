//! The older form of `/api/resilience`: `{profiles, defaults}` (core 6.6). It is read as the
//! fields that took its place, and shown beside them.

use serde_json::{Value as Json, json};

/// Where a field stands today, and its value there.
type Field = (Vec<&'static str>, Json);

const PROFILE: [(&str, &str, &str); 5] = [
    ("transientCooldown", "connectionCooldown", "baseCooldownMs"),
    ("rateLimitCooldown", "connectionCooldown", "useUpstreamRetryHints"),
    ("maxBackoffLevel", "connectionCooldown", "maxBackoffSteps"),
    ("circuitBreakerThreshold", "providerBreaker", "failureThreshold"),
    ("circuitBreakerReset", "providerBreaker", "resetTimeoutMs"),
];
const DEFAULTS: [(&str, &str); 3] = [
    ("requestsPerMinute", "requestsPerMinute"),
    ("minTimeBetweenRequests", "minTimeBetweenRequestsMs"),
    ("concurrentRequests", "concurrentRequests"),
];

/// Reads `profiles` or `defaults`; a refusal is a field and what it must be.
pub(super) fn read(name: &str, value: &Json) -> Result<Vec<Field>, (String, String)> {
    let object = |field: &str, value: &Json| {
        value.as_object().cloned().ok_or_else(|| (field.to_owned(), "must be an object".to_owned()))
    };
    let mut fields = Vec::new();
    let entries = object(name, value)?;
    if name == "defaults" {
        for (old, value) in entries {
            let known = DEFAULTS.iter().find(|(name, _)| *name == old);
            let (_, new) = known
                .ok_or_else(|| unknown(format!("defaults.{old}"), DEFAULTS.map(|(old, _)| old).as_slice()))?;
            fields.push((vec!["requestQueue", *new], value));
        }
        return Ok(fields);
    }
    for (class, profile) in entries {
        let class = ["oauth", "apikey"].into_iter().find(|known| *known == class);
        let class = class.ok_or_else(|| unknown("profiles".to_owned(), &["oauth", "apikey"]))?;
        for (old, value) in object(&format!("profiles.{class}"), &profile)? {
            let known = PROFILE.iter().find(|(name, _, _)| *name == old);
            let field = format!("profiles.{class}.{old}");
            let (_, section, new) =
                known.ok_or_else(|| unknown(field.clone(), &PROFILE.map(|(old, _, _)| old)))?;
            fields.push((vec![*section, class, *new], today(&old, value, &field)?));
        }
    }
    Ok(fields)
}

/// A cooldown of 0 after a 429 meant: as long as the provider says.
fn today(old: &str, value: Json, field: &str) -> Result<Json, (String, String)> {
    match (old, value.as_f64()) {
        ("rateLimitCooldown", Some(ms)) if ms >= 0.0 => Ok(json!(ms == 0.0)),
        ("rateLimitCooldown", _) if !value.is_null() => {
            Err((field.to_owned(), "must be a number of milliseconds".to_owned()))
        }
        _ => Ok(value),
    }
}

fn unknown(field: String, accepted: &[&str]) -> (String, String) {
    (field, format!("unknown field; accepted: {}", accepted.join(", ")))
}

/// What is in force (`sections` of `/api/resilience`), in the older form.
pub fn legacy(sections: &Json) -> Json {
    let profile = |class: &str| {
        let of = |section: &str, field: &str| sections[section][class][field].clone();
        let base = of("connectionCooldown", "baseCooldownMs");
        let hinted = of("connectionCooldown", "useUpstreamRetryHints") == Json::Bool(true);
        json!({
            "transientCooldown": base, "rateLimitCooldown": if hinted { json!(0) } else { base },
            "maxBackoffLevel": of("connectionCooldown", "maxBackoffSteps"),
            "circuitBreakerThreshold": of("providerBreaker", "failureThreshold"),
            "circuitBreakerReset": of("providerBreaker", "resetTimeoutMs"),
        })
    };
    let queue = &sections["requestQueue"];
    let defaults = DEFAULTS.iter().map(|(old, new)| ((*old).to_owned(), queue[*new].clone()));
    json!({
        "profiles": {"oauth": profile("oauth"), "apikey": profile("apikey")},
        "defaults": Json::Object(defaults.collect()),
    })
}
