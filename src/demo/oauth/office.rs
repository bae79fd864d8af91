//! Who has been given which tokens, and what was asked.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Serialize;
use tokio::time::Instant;

use super::script::{self, Script};

/// How many entries are kept; later ones are only counted.
const KEPT: usize = 100_000;

/// One request as it was asked.
pub(in crate::demo) struct Asked<'a> {
    pub(in crate::demo) token: &'a str,
    pub(in crate::demo) refresh_token: String,
    pub(in crate::demo) client: String,
}

/// What a refresh token is worth.
pub(in crate::demo) enum Answer {
    Pair {
        access_token: String,
        refresh_token: Option<String>,
        expires_in: u64,
    },
    /// Unknown, used before, or of a revoked family.
    Dead,
}

/// All that descends from one refresh token.
#[derive(Default)]
struct Family {
    asked: u64,
    /// The number of the refresh token that is good; the first one has none and is 0.
    current: u64,
    known: bool,
    revoked: bool,
    /// Access tokens by number, with their ends.
    access: HashMap<u64, Instant>,
    given: u64,
}

/// One line of the log. `refreshToken` is the first 16 hex of its SHA-256.
#[derive(Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    n: usize,
    at: u64,
    client: String,
    refresh_token: String,
    status: Option<u16>,
    error: Option<&'static str>,
}

#[derive(Serialize)]
pub(in crate::demo) struct Page {
    requests: Vec<Entry>,
}

#[derive(Default)]
struct Inner {
    families: HashMap<String, Family>,
    entries: Vec<Entry>,
    count: usize,
}

/// Everything the token endpoint knows.
#[derive(Default)]
pub(in crate::demo) struct Office(Mutex<Inner>);

impl Office {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a request; its number, and what it gets.
    pub(in crate::demo) fn arrives(&self, asked: &Asked<'_>) -> (usize, Script) {
        let mut inner = self.inner();
        inner.count += 1;
        let n = inner.count;
        if inner.entries.len() < KEPT {
            let entry = Entry {
                n,
                at: now_ms(),
                client: asked.client.clone(),
                refresh_token: asked.refresh_token.clone(),
                status: None,
                error: None,
            };
            inner.entries.push(entry);
        }
        let Some((name, _)) = read(asked.token, "rt-") else {
            return (n, Script::Refuses { status: 400, code: "invalid_grant" });
        };
        let family = inner.families.entry(name.to_owned()).or_default();
        family.asked += 1;
        (n, script::of(name, family.asked))
    }

    /// Records the answer to request `n`.
    pub(in crate::demo) fn answered(&self, n: usize, status: u16, error: Option<&'static str>) {
        if let Some(entry) = self.inner().entries.iter_mut().find(|entry| entry.n == n) {
            (entry.status, entry.error) = (Some(status), error);
        }
    }

    /// Uses up a refresh token. One that was used before revokes all its descendants. Of a family
    /// that is not known yet, any number is good: the upstream may have been started anew.
    pub(in crate::demo) fn renews(&self, token: &str, script: Script) -> Answer {
        let mut inner = self.inner();
        let Some((name, number)) = read(token, "rt-") else { return Answer::Dead };
        let family = inner.families.entry(name.to_owned()).or_default();
        if !family.known {
            (family.known, family.current, family.given) = (true, number, number);
        }
        if family.revoked || number != family.current {
            family.revoked = true;
            return Answer::Dead;
        }
        let (expires_in, rotates) = script.pair();
        family.given += 1;
        let next = family.given;
        family.access.insert(next, Instant::now() + Duration::from_secs(expires_in));
        if rotates {
            family.current = next;
        }
        let refresh_token = rotates.then(|| format!("rt-{name}.{next}"));
        Answer::Pair { access_token: format!("at-{name}.{next}"), refresh_token, expires_in }
    }

    /// Whether a credential is an access token that is not good. Others are nobody's business here.
    pub(in crate::demo) fn refuses(&self, credential: &str) -> bool {
        if !credential.starts_with("at-") {
            return false;
        }
        let inner = self.inner();
        let found = read(credential, "at-").and_then(|(name, number)| {
            let family = inner.families.get(name).filter(|family| !family.revoked)?;
            family.access.get(&number)
        });
        found.is_none_or(|ends| *ends <= Instant::now())
    }

    /// The log.
    pub(in crate::demo) fn show(&self) -> Page {
        Page { requests: self.inner().entries.clone() }
    }

    /// Forgets the log; numbers go on.
    pub(in crate::demo) fn clear(&self) {
        self.inner().entries.clear();
    }
}

/// Family and number of a token.
fn read<'a>(token: &'a str, prefix: &str) -> Option<(&'a str, u64)> {
    let rest = token.strip_prefix(prefix)?;
    match rest.rsplit_once('.') {
        Some((name, number)) => Some((name, number.parse().ok()?)),
        None => Some((rest, 0)),
    }
}

fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_millis() as u64)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::script::of;
    use super::{Answer, Office};

    fn renew(office: &Office, token: &str) -> Option<(String, Option<String>)> {
        let name = token.trim_start_matches("rt-").split('.').next().unwrap_or_default();
        match office.renews(token, of(name, 1)) {
            Answer::Pair { access_token, refresh_token, .. } => Some((access_token, refresh_token)),
            Answer::Dead => None,
        }
    }

    #[test]
    fn a_second_use_revokes_the_family() {
        let office = Office::default();
        assert_eq!(renew(&office, "rt-a"), Some(("at-a.1".into(), Some("rt-a.1".into()))));
        assert_eq!(renew(&office, "rt-a.1"), Some(("at-a.2".into(), Some("rt-a.2".into()))));
        assert!(!office.refuses("at-a.1") && !office.refuses("at-a.2"));
        assert_eq!(renew(&office, "rt-a"), None);
        assert_eq!(renew(&office, "rt-a.2"), None, "the good one is dead, too");
        assert!(office.refuses("at-a.1") && office.refuses("at-a.2"));
        assert!(renew(&office, "rt-b").is_some(), "another family is not touched");
    }

    #[test]
    fn a_kept_token_renews_for_ever() {
        let office = Office::default();
        assert_eq!(renew(&office, "rt-kept"), Some(("at-kept.1".into(), None)));
        assert_eq!(renew(&office, "rt-kept"), Some(("at-kept.2".into(), None)));
    }

    #[tokio::test(start_paused = true)]
    async fn access_tokens_end_and_unknown_ones_are_refused() {
        let office = Office::default();
        renew(&office, "rt-expires-2");
        assert!(!office.refuses("at-expires-2.1"));
        tokio::time::advance(Duration::from_secs(2)).await;
        assert!(office.refuses("at-expires-2.1"));
        assert!(office.refuses("at-never"));
        assert!(!office.refuses("demo-a-1") && !office.refuses("sk-live"));
    }

    #[test]
    fn a_family_from_before_a_restart_goes_on() {
        let office = Office::default();
        assert_eq!(renew(&office, "rt-a.7"), Some(("at-a.8".into(), Some("rt-a.8".into()))));
        assert_eq!(renew(&office, "rt-a.7"), None);
    }
}
