//! Who may manage: the admin token, a key with scope `manage`, or a session that one of them has
//! opened (contract 4).
//!
//! A header decides alone where there is one. A browser sends the cookie by itself, so what changes
//! something and has nothing but the cookie must come from a page of ours.

use std::fmt;
use std::future::{Ready, ready};
use std::ops::Deref;
use std::sync::Arc;

use actix_web::dev::Payload;
use actix_web::http::header::{COOKIE, HOST, HeaderMap, ORIGIN};
use actix_web::{FromRequest, HttpRequest, HttpResponse, ResponseError, web};
use arc_swap::ArcSwap;
use policy::login::Digest;
use serde_json::Value;
use subtle::ConstantTimeEq;

use super::Admin;
use super::errors::Refusal;
use super::logins::SESSION;
use super::trail::Trail;
use crate::http::auth::{bearer, hash};
use crate::http::not_found;
use crate::http::state::HttpSettings;

/// Who manages, as logs and the audit call them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Who {
    Admin,
    Key(Arc<str>),
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Admin => f.write_str("admin"),
            Self::Key(name) => write!(f, "key {name}"),
        }
    }
}

/// What credentials are held against.
pub(super) struct Door<'a> {
    admin: &'a web::Data<Admin>,
    settings: &'a web::Data<ArcSwap<HttpSettings>>,
}

impl<'a> Door<'a> {
    /// `None`: management is not here.
    pub(super) fn of(request: &'a HttpRequest) -> Option<Self> {
        Some(Self { admin: request.app_data()?, settings: request.app_data()? })
    }

    /// Whom a token or key lets in now. Both are looked at whatever the first one says: how long it
    /// takes tells nothing.
    pub(super) fn opens_to(&self, credential: &Digest) -> Option<Who> {
        let is_admin = bool::from(credential.ct_eq(&**self.admin.token.load()));
        let settings = self.settings.load();
        let key = settings.keys.manager(credential, self.admin.owners.clock.now());
        if is_admin { Some(Who::Admin) } else { key.map(|key| Who::Key(key.name.clone())) }
    }

    /// Whom a session lets in: who opened it, for as long as that opens. A session whose credential
    /// does not ends here.
    fn opens_to_session(&self, headers: &HeaderMap) -> Option<Who> {
        sessions(headers).find_map(|id| {
            let credential = self.admin.logins.credential(&hash(id), self.admin.owners.clock.now())?;
            let who = self.opens_to(&credential);
            if who.is_none() {
                self.admin.logins.forget(&credential);
            }
            who
        })
    }
}

/// The ids of the sessions that a request names.
pub(super) fn sessions(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let cookies = headers.get_all(COOKIE).filter_map(|value| value.to_str().ok());
    cookies.flat_map(|text| text.split(';')).filter_map(|cookie| {
        let (name, value) = cookie.trim().split_once('=')?;
        (name == SESSION).then_some(value)
    })
}

/// Who sends a request, if that is an operator.
pub(super) fn manager(request: &HttpRequest) -> Result<Who, Refusal> {
    let door = Door::of(request).ok_or(Refusal::Unauthorised)?;
    if let Some(token) = bearer(request.headers()) {
        return door.opens_to(&hash(token)).ok_or(Refusal::Unauthorised);
    }
    let who = door.opens_to_session(request.headers()).ok_or(Refusal::Unauthorised)?;
    if !request.method().is_safe() {
        own_page(request)?;
    }
    Ok(who)
}

/// The request comes from an operator.
pub(super) fn is_operator(request: &HttpRequest) -> bool {
    manager(request).is_ok()
}

/// Refuses what a page of another site has a browser send. A program says neither of these headers.
pub(super) fn own_page(request: &HttpRequest) -> Result<(), Refusal> {
    let all = |name: &str| {
        let values = request.headers().get_all(name);
        values.map(|value| value.to_str().unwrap_or("?").trim().to_lowercase()).collect::<Vec<_>>()
    };
    let host = all(HOST.as_str()).pop();
    let host = host.or_else(|| request.uri().authority().map(|host| host.as_str().to_lowercase()));
    let host = host.unwrap_or_default();
    // `none`: the person has typed it in.
    let same_site = all("sec-fetch-site").iter().all(|site| matches!(site.as_str(), "same-origin" | "none"));
    let same_origin = all(ORIGIN.as_str()).iter().all(|origin| is_of(origin, &host));
    if same_site && same_origin { Ok(()) } else { Err(Refusal::Foreign) }
}

/// `scheme://host:port` is this host; a scheme's own port may be left out of either.
fn is_of(origin: &str, host: &str) -> bool {
    let Some((scheme, of)) = origin.split_once("://") else { return false };
    let port = match scheme {
        "https" => ":443",
        "http" => ":80",
        _ => return false,
    };
    let bare = |text: &str| text.strip_suffix(port).unwrap_or(text).to_owned();
    !of.is_empty() && bare(of) == bare(host)
}

/// An operator's way to the control plane. The first argument of a handler: whoever is no operator
/// is refused before a body is read, with 401 and nothing else.
pub(super) struct Operator {
    admin: web::Data<Admin>,
    trail: Trail,
}

impl Operator {
    /// Tells the audit to whom something was done, and what that was like and is like now.
    pub(super) fn tell(&self, target: Option<&str>, states: (Value, Value)) {
        self.trail.tell(target, states);
    }
}

impl FromRequest for Operator {
    type Error = Refusal;
    type Future = Ready<Result<Self, Refusal>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(manager(request).and_then(|who| {
            let admin = request.app_data::<web::Data<Admin>>().ok_or(Refusal::Unauthorised)?.clone();
            let trail = Trail::of(request);
            trail.by(&who);
            Ok(Self { admin, trail })
        }))
    }
}

/// Answers an address that nobody serves: of those below `/api` only an operator hears it, if
/// management is here at all.
pub async fn elsewhere(request: HttpRequest) -> HttpResponse {
    let path = request.path();
    let manages = path.starts_with("/api/") && !path.starts_with("/api/v1/");
    let is_here = request.app_data::<web::Data<Admin>>().is_some();
    if manages && is_here && !is_operator(&request) {
        return Refusal::Unauthorised.error_response();
    }
    not_found().await
}

impl Deref for Operator {
    type Target = Admin;

    fn deref(&self) -> &Admin {
        &self.admin
    }
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;

    use super::{own_page, sessions};

    #[test]
    fn a_session_is_found_among_other_cookies() {
        let of = |cookies: &[&str]| {
            let mut request = TestRequest::default();
            for cookie in cookies {
                request = request.append_header(("cookie", *cookie));
            }
            let request = request.to_http_request();
            sessions(request.headers()).map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(of(&["a=b; switchtower_session=one;c"]), ["one"]);
        assert_eq!(
            of(&["switchtower_session=one; switchtower_session=two", "switchtower_session="]),
            ["one", "two", ""]
        );
        assert!(of(&["xswitchtower_session=a; switchtower_session", "SWITCHTOWER_SESSION=a"]).is_empty());
    }

    /// `Host`, `Origin`, `Sec-Fetch-Site`, and whether it is a page of ours.
    type Row = (&'static str, Option<&'static str>, Option<&'static str>, bool);

    #[test]
    fn fc_043_only_our_own_pages_change_something_with_the_cookie() {
        let rows: [Row; 17] = [
            ("tower:20128", None, None, true),
            ("tower:20128", Some("http://tower:20128"), Some("same-origin"), true),
            ("tower:20128", Some("http://tower:20128"), None, true),
            ("TOWER.example", Some("https://tower.EXAMPLE"), None, true),
            ("tower:443", Some("https://tower"), None, true),
            ("tower", Some("http://tower:80"), None, true),
            ("[::1]:20128", Some("http://[::1]:20128"), None, true),
            ("tower:20128", None, Some("none"), true),
            ("tower:20128", Some("http://tower:20129"), None, false),
            ("tower:20128", Some("http://tower"), None, false),
            ("tower:20128", Some("http://evil.example"), None, false),
            ("tower:20128", Some("http://tower:20128.evil.example"), None, false),
            ("tower:20128", Some("null"), None, false),
            ("tower:20128", Some(""), None, false),
            ("tower:20128", Some("tower:20128"), None, false),
            ("tower:20128", Some("http://tower:20128"), Some("cross-site"), false),
            ("tower:20128", None, Some("same-site"), false),
        ];
        for (host, origin, site, ours) in rows {
            let mut request = TestRequest::post().insert_header(("host", host));
            let given = [("origin", origin), ("sec-fetch-site", site)];
            for (name, value) in given.into_iter().filter_map(|(name, value)| Some((name, value?))) {
                request = request.insert_header((name, value));
            }
            let judged = own_page(&request.to_http_request());
            assert_eq!(judged.is_ok(), ours, "{host} {origin:?} {site:?}");
        }
    }
}
