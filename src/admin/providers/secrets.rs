//! Secrets in bodies and answers: how they are shown, and what a body does to them.

use serde_json::{Map, Value};

use crate::settings::{Detail, Kept, OwnSecrets, SECRETS, Secret, read_secret};

/// What stands for the part that is not shown. No secret can hold it: no header could carry it.
pub(in crate::admin) const GAP: char = '…';
/// A shorter secret is not shown at all: too little of it would be left.
const SHORTEST_SHOWN: usize = 16;

/// `sk-…last4`, or only the gap.
pub(in crate::admin) fn mask(secret: &Secret) -> String {
    let letters: Vec<char> = secret.expose().chars().collect();
    if letters.len() < SHORTEST_SHOWN {
        return GAP.to_string();
    }
    let end = &letters[letters.len() - 4..];
    letters[..3].iter().chain([&GAP]).chain(end).collect()
}

/// A secret that is there and cannot be read.
pub(super) fn hidden() -> String {
    GAP.to_string()
}

/// What a body does to one secret.
#[derive(Debug, PartialEq)]
pub(super) enum Change {
    Keep,
    Clear,
    Set(Secret),
}

/// What a body does to the secrets, in the order of `SECRETS`.
pub(super) struct Changes([Change; 3]);

impl Changes {
    /// Takes the secret fields out of a body.
    pub(super) fn take(body: &mut Map<String, Value>, details: &mut Vec<Detail>) -> Self {
        Self(SECRETS.map(|(field, _)| match body.remove(field) {
            None => Change::Keep,
            Some(Value::Null) => Change::Clear,
            // What we showed comes back as it was: nobody wants that stored.
            Some(Value::String(text)) if text.contains(GAP) => Change::Keep,
            Some(value) => match read_secret(field, &value) {
                Ok(secret) => Change::Set(secret),
                Err(detail) => {
                    details.push(detail);
                    Change::Keep
                }
            },
        }))
    }

    /// The secrets afterwards; `None`: nothing changes.
    pub(super) fn apply(self, before: &Kept<OwnSecrets>) -> Option<OwnSecrets> {
        let [api_key, access, refresh] = &self.0;
        if [api_key, access, refresh].iter().all(|change| **change == Change::Keep) {
            return None;
        }
        let is_set = |change: &Change| matches!(change, Change::Set(_));
        let mut own = before.own();
        // A key and tokens exclude each other: the new kind takes the place of the old one.
        if is_set(api_key) {
            (own.access_token, own.refresh_token) = (None, None);
        }
        if is_set(access) || is_set(refresh) {
            own.api_key = None;
        }
        for (place, change) in own.by_field_mut().into_iter().zip(self.0) {
            match change {
                Change::Keep => {}
                Change::Clear => *place = None,
                Change::Set(secret) => *place = Some(secret),
            }
        }
        Some(own)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value, json};

    use super::{Changes, mask};
    use crate::settings::{Kept, OwnSecrets, Secret};

    fn own(api_key: Option<&str>, access: Option<&str>, refresh: Option<&str>) -> OwnSecrets {
        let [api_key, access_token, refresh_token] =
            [api_key, access, refresh].map(|text| text.map(Secret::from));
        OwnSecrets { api_key, access_token, refresh_token }
    }

    fn apply(before: &Kept<OwnSecrets>, body: Value) -> Option<OwnSecrets> {
        let Value::Object(mut body): Value = body else { panic!("an object") };
        let mut details = Vec::new();
        let changes = Changes::take(&mut body, &mut details);
        assert_eq!((details, body), (Vec::new(), Map::new()));
        changes.apply(before)
    }

    #[test]
    fn a_mask_shows_the_ends_of_a_long_secret_and_nothing_of_a_short_one() {
        for (secret, shown) in [
            ("sk-0123456789abcdef", "sk-…cdef"),
            ("0123456789abcdef", "012…cdef"),
            ("0123456789abcde", "…"),
            ("x", "…"),
        ] {
            assert_eq!(mask(&Secret::from(secret)), shown);
        }
    }

    #[test]
    fn what_is_absent_or_masked_stays() {
        let before = Kept::Open(own(Some("key"), None, None), "sealed".into());
        assert_eq!(apply(&before, json!({})), None);
        assert_eq!(apply(&before, json!({"apiKey": "sk-…cdef", "accessToken": "…"})), None);
        assert_eq!(apply(&Kept::Sealed("x".into()), json!({"apiKey": "…"})), None);
    }

    #[test]
    fn null_clears_and_a_new_kind_takes_the_place_of_the_old() {
        let key = Kept::Open(own(Some("key"), None, None), "sealed".into());
        assert_eq!(apply(&key, json!({"apiKey": null})), Some(own(None, None, None)));
        assert_eq!(apply(&key, json!({"refreshToken": "rt"})), Some(own(None, None, Some("rt"))));
        let tokens = Kept::Open(own(None, Some("at"), Some("rt")), "sealed".into());
        assert_eq!(apply(&tokens, json!({"accessToken": "at2"})), Some(own(None, Some("at2"), Some("rt"))));
        assert_eq!(apply(&tokens, json!({"apiKey": "key"})), Some(own(Some("key"), None, None)));
        assert_eq!(apply(&tokens, json!({"refreshToken": null})), Some(own(None, Some("at"), None)));
        assert_eq!(
            apply(&Kept::Sealed("x".into()), json!({"apiKey": "k"})),
            Some(own(Some("k"), None, None))
        );
    }
}
