//! Who may manage: the admin token, or a key with scope `manage` (contract 4).

use std::future::{Ready, ready};
use std::ops::Deref;

use actix_web::dev::Payload;
use actix_web::{FromRequest, HttpRequest, web};
use arc_swap::ArcSwap;
use subtle::ConstantTimeEq;

use super::Admin;
use super::errors::Refusal;
use crate::http::auth::{bearer, hash};
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

impl Deref for Operator {
    type Target = Admin;

    fn deref(&self) -> &Admin {
        &self.0
    }
}
