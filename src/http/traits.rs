//! What a request is like, from its headers and its body, before a plan is made.
//!
//! A session is told apart from others and never known: its key is a hash of what the client sent
//! (rules 6.2, FC-100).

use std::sync::Arc;

use actix_web::http::header::HeaderMap;
use bytes::Bytes;
use policy::affinity::{self, HEADERS, Told};
use policy::request::{Traits, Wish, tokens_of};
use policy::strategy::auto;

use super::auth::hash;
use crate::formats::body::{BadBody, Peeked, peek};
use crate::formats::response;
use crate::formats::traits::{Field, Parts};
use crate::upstream::header;

/// Which traits somebody wants to know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Sessions keep their accounts.
    pub sessions: bool,
    /// A session is also known by its first text.
    pub first_text: bool,
    /// What a model must be able to do.
    pub needs: bool,
    /// Which prompt it is, also where its client does not name it.
    pub prompts: bool,
}

impl Wanted {
    /// More of the body than names must be kept.
    pub fn details(self) -> bool {
        self.first_text || self.needs || self.prompts
    }
}

/// Bytes of a session's hash that are kept.
const KEPT: usize = 16;

/// Reads a body, and says what of it counts: who asks for `auto` by name asks a combo that nobody
/// has written, so its needs count also where those of no other request do.
pub fn look(body: &Bytes, wanted: Wanted) -> Result<(Peeked<'_>, Wanted), BadBody> {
    let peeked = peek(body, wanted.details())?;
    let wider = Wanted { needs: wanted.needs || auto::is_name(&peeked.model), ..wanted };
    match wider.details() == wanted.details() {
        true => Ok((peeked, wider)),
        false => Ok((peek(body, true)?, wider)),
    }
}

/// Reads what is wanted.
pub fn traits(headers: &HeaderMap, parts: &Parts<'_>, length: usize, wanted: Wanted) -> Arc<Traits> {
    let previous = parts.text(Field::PreviousResponseId);
    let mut traits = Traits { response: previous.and_then(|id| response::key(&id)), ..Traits::default() };
    if wanted.sessions {
        traits.session = session(headers, parts, wanted.first_text).map(Into::into);
    }
    if wanted.needs {
        let weighty = parts.fill(&mut traits);
        // The bytes of pictures and files say nothing of tokens.
        traits.input_tokens = (!weighty).then_some(tokens_of(length));
        traits.wish = wish(headers);
    }
    if wanted.prompts && traits.cache_key.is_none() {
        traits.cache_key = parts.prefix().map(|prefix| kept(prefix).into());
        traits.keyed_by_prompt = traits.cache_key.is_some();
    }
    Arc::new(traits)
}

/// What the request asks of `auto` (routing 5.7); what makes no sense is not said.
fn wish(headers: &HeaderMap) -> Wish {
    let header = |name| header(headers, name)?.to_str().ok().map(str::trim).filter(|value| !value.is_empty());
    let budget = header("x-omniroute-budget").and_then(|usd| usd.parse::<f64>().ok());
    Wish {
        mode: header("x-omniroute-mode").map(Into::into),
        budget_usd: budget.filter(|usd| usd.is_finite() && *usd > 0.0),
        budget_fallback: header("x-omniroute-budget-fallback").map(Into::into),
    }
}

/// The key of the session that a client names by its first header.
pub fn named(session: &str) -> Option<Arc<str>> {
    let told = Told { headers: [Some(session), None, None], ..Told::default() };
    affinity::key(&told, &|text| hex(&hash(text))).map(|key| kept(&key).into())
}

fn kept(key: &str) -> String {
    hex(&hash(key)[..KEPT])
}

/// The key of its session (rules 6.2, decision 27); `first_text`: its first text may name one.
pub fn session(headers: &HeaderMap, parts: &Parts<'_>, first_text: bool) -> Option<String> {
    let digest = |text: &str| hex(&hash(text));
    let mut named = [None; HEADERS.len()];
    for (name, value) in headers {
        if let Some(place) = HEADERS.iter().position(|known| *known == name.as_str()) {
            named[place] = named[place].or(value.to_str().ok());
        }
    }
    let by_header = Told { headers: named, ..Told::default() };
    let key = affinity::key(&by_header, &digest).or_else(|| {
        let metadata = ["session_id", "sessionId"].map(|key| parts.metadata(key));
        let [conversation, session, cache] =
            [Field::ConversationId, Field::SessionId, Field::PromptCacheKey].map(|field| parts.text(field));
        let told = Told {
            metadata: [metadata[0].as_deref(), metadata[1].as_deref()],
            conversation: conversation.as_deref(),
            session: session.as_deref(),
            prompt_cache: cache.as_deref(),
            ..Told::default()
        };
        affinity::key(&told, &digest)
    });
    let key = key.or_else(|| {
        let text = if first_text { parts.first_text() } else { None }?;
        affinity::key(&Told { text: Some(&text), ..Told::default() }, &digest)
    })?;
    Some(kept(&key))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use actix_web::http::header::{HeaderMap, HeaderName, HeaderValue};
    use bytes::Bytes;

    use policy::request::Wish;

    use super::{Wanted, look, traits};
    use crate::formats::body::peek;
    use crate::formats::traits::{Field, Parts};

    const SESSIONS: Wanted = Wanted { sessions: true, first_text: false, needs: false, prompts: false };

    fn of(headers: &[(&'static str, &'static str)], body: &'static str, wanted: Wanted) -> Option<String> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        let body = Bytes::from_static(body.as_bytes());
        let peeked = peek(&body, wanted.details()).unwrap();
        traits(&map, &peeked.parts, body.len(), wanted).session.as_ref().map(ToString::to_string)
    }

    /// Decision 27; what is kept says nothing of what was sent.
    #[test]
    fn a_session_is_named_by_headers_then_by_the_body() {
        const BODY: &str = r#"{"model":"m","metadata":{"sessionId":"a"},"session_id":"b"}"#;
        let name = |headers: &[_], body| of(headers, body, SESSIONS);
        let a = name(&[("x-session-id", "a"), ("x-codex-session-id", "b")], BODY).unwrap();
        assert_eq!(name(&[("x-omniroute-session", "a")], BODY).as_ref(), Some(&a));
        assert!(a.len() == 32 && a.bytes().all(|byte| byte.is_ascii_hexdigit()), "{a}");
        assert_eq!(super::named("a").as_deref(), Some(a.as_str()));
        let b = name(&[("x-session-id", " "), ("x-codex-session-id", "b")], BODY).unwrap();
        assert_ne!(a, b);
        let of_body = name(&[], BODY).unwrap();
        assert_ne!(of_body, a, "another source is another session");
        assert_eq!(name(&[], r#"{"model":"m","metadata":{"session_id":"a"}}"#).as_ref(), Some(&of_body));
        assert_ne!(name(&[], r#"{"model":"m","session_id":"a"}"#), Some(of_body));
        assert_eq!(name(&[], r#"{"model":"m","messages":[{"role":"user","content":"hi"}]}"#), None);
    }

    #[test]
    fn a_text_names_a_session_only_where_it_may() {
        const BODY: &str = r#"{"model":"m","messages":[{"role":"user","content":"hi"}]}"#;
        let may = Wanted { first_text: true, ..SESSIONS };
        assert!(of(&[], BODY, may).is_some());
        assert_eq!(of(&[], BODY, Wanted { sessions: false, ..may }), None);
        let later =
            r#"{"model":"m","messages":[{"role":"user","content":"hi"},{"role":"user","content":"x"}]}"#;
        assert_eq!(of(&[], later, may), of(&[], BODY, may));
    }

    /// Routing 16 #64 by decision 23: the hash of a first text is a session's name only where that is
    /// switched on, and is then kept as every name is.
    #[test]
    fn row_64() {
        const BODY: &str = r#"{"model":"m","messages":[{"role":"user","content":"hello"}]}"#;
        let text = super::hex(&super::hash("hello"));
        assert!(text.starts_with("2cf24dba5fb0a30e"), "{text}");
        assert_eq!(of(&[], BODY, SESSIONS), None);
        let told = of(&[], BODY, Wanted { first_text: true, ..SESSIONS });
        assert_eq!(told, Some(super::kept(&format!("input:{text}"))));
        assert_eq!(told.as_deref(), Some("deda94f7a28e17ad1cbb3c26f8574161"));
    }

    /// Routing 5.7: what makes no sense is not said, and nobody listens where `auto` is not asked.
    #[test]
    fn a_wish_is_read_from_headers() {
        let wish = |headers: &[(&'static str, &'static str)], needs| {
            let mut map = HeaderMap::new();
            for (name, value) in headers {
                map.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
            }
            traits(&map, &Parts::default(), 0, Wanted { needs, ..Wanted::default() }).wish.clone()
        };
        let all = [
            ("x-omniroute-mode", " fast "),
            ("x-omniroute-budget", "0.25"),
            ("x-omniroute-budget-fallback", "strict"),
        ];
        let whole = Wish {
            mode: Some("fast".into()),
            budget_usd: Some(0.25),
            budget_fallback: Some("strict".into()),
        };
        assert_eq!(wish(&all, true), whole);
        assert_eq!(wish(&all, false), Wish::default());
        for budget in ["0", "-1", "NaN", "inf", "1 USD", "", "1e999"] {
            assert_eq!(wish(&[("x-omniroute-budget", budget)], true), Wish::default(), "{budget}");
        }
    }

    /// Routing 3.7: what stands before the second turn tells prompts apart, and only where that counts.
    #[test]
    fn row_61_a_prompt_is_known_by_what_stands_before_its_second_turn() {
        let key = |turns: &str, prompts| {
            let body = Bytes::from(format!(r#"{{"model":"m",{turns}}}"#));
            let wanted = Wanted { needs: true, prompts, ..Wanted::default() };
            let peeked = peek(&body, wanted.details()).unwrap();
            let traits = traits(&HeaderMap::new(), &peeked.parts, body.len(), wanted);
            assert_eq!(traits.keyed_by_prompt, traits.cache_key.is_some() && !turns.contains("_key"));
            traits.cache_key.as_ref().map(ToString::to_string)
        };
        let begun = r#"{"role":"user","content":"hi"},{"role":"assistant","content":"hello"}"#;
        let then =
            |list: &str, last: &str| format!(r#""{list}":[{begun},{{"role":"user","content":"{last}"}}]"#);
        let one = key(&then("messages", "and?"), true).unwrap();
        assert_eq!(key(&then("messages", "or?"), true).as_ref(), Some(&one));
        assert_eq!(key(&then("input", "or?"), true).as_ref(), Some(&one));
        let later = r#"and?"},{"role":"assistant","content":"so"},{"role":"user","content":"but?"#;
        assert_eq!(key(&then("messages", later), true).as_ref(), Some(&one), "it stays as the talk grows");
        assert!(one.len() == 32 && one.bytes().all(|byte| byte.is_ascii_hexdigit()), "{one}");
        assert_eq!(key(&then("messages", "and?"), false), None);
        assert_ne!(key(&then("messages", "and?").replace("hello", "hullo"), true), Some(one));
        for first in [
            r#""messages":[{"role":"user","content":"hi"}]"#,
            r#""messages":[{"role":"system","content":"be"},{"role":"user","content":"hi"}]"#,
            r#""input":"hi""#,
            r#""messages":[]"#,
            r#""messages":7"#,
        ] {
            assert_eq!(key(first, true), None, "{first}");
        }
        let named = format!(r#"{},"prompt_cache_key":" k1 ""#, then("messages", "and?"));
        assert_eq!(key(&named, true).as_deref(), Some("k1"));
    }

    /// `auto` needs no combo (routing 5.1), and its budget counts tokens.
    #[test]
    fn the_needs_of_auto_count_also_without_combos() {
        for (model, needs) in [("auto", true), ("auto/cheap", true), ("autopilot", false), ("a/m", false)] {
            let body = Bytes::from(format!(r#"{{"model":"{model}","tools":[{{}}],"messages":[]}}"#));
            let (peeked, wanted) = look(&body, Wanted::default()).unwrap();
            assert_eq!(
                (wanted.needs, peeked.parts.get(Field::Messages).is_some()),
                (needs, needs),
                "{model}"
            );
        }
    }

    #[test]
    fn needs_are_read_only_where_they_are_wanted() {
        let body = Bytes::from_static(br#"{"model":"m","tools":[{}],"max_tokens":5}"#);
        let read = |needs| {
            let wanted = Wanted { needs, ..Wanted::default() };
            let peeked = peek(&body, wanted.details()).unwrap();
            let traits = traits(&HeaderMap::new(), &peeked.parts, body.len(), wanted);
            (traits.tools, traits.max_output, traits.input_tokens)
        };
        assert_eq!(read(false), (false, None, None));
        assert_eq!(read(true), (true, Some(5), Some(10)));
    }
}
