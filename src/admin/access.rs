//! Who may manage: the admin token, or a key with scope `manage` (contract 4).

use std::future::{Ready, ready};
use std::ops::Deref;

use actix_web::dev::Payload;
use actix_web::{FromRequest, HttpRequest, HttpResponse, ResponseError, web};
use arc_swap::ArcSwap;
use subtle::ConstantTimeEq;

use super::Admin;
use super::errors::Refusal;
use crate::http::auth::{bearer, hash};
use crate::http::not_found;
use crate::http::state::HttpSettings;

/// The request comes from an operator.
pub(super) fn is_operator(request: &HttpRequest) -> bool {
    let Some(token) = bearer(request.headers()) else { return false };
    let admin = request.app_data::<web::Data<Admin>>();
    if admin.is_some_and(|admin| hash(token).ct_eq(&**admin.token.load()).into()) {
        return true;
    }
    let settings = request.app_data::<web::Data<ArcSwap<HttpSettings>>>();
    let now = admin.map_or(0, |admin| admin.owners.clock.now());
    settings.is_some_and(|settings| settings.load().keys.manages(token, now))
}

/// An operator's way to the control plane. The first argument of a handler: whoever is no operator
/// is refused before a body is read, with 401 and nothing else.
pub(super) struct Operator(web::Data<Admin>);

impl FromRequest for Operator {
    type Error = Refusal;
    type Future = Ready<Result<Self, Refusal>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let admin = request.app_data::<web::Data<Admin>>().filter(|_| is_operator(request));
        ready(admin.map(|admin| Self(admin.clone())).ok_or(Refusal::Unauthorised))
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
        &self.0
    }
}
