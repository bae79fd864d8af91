//! Who may manage: the admin token, or a key with scope `manage` (contract 4).

use actix_web::{HttpRequest, web};
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

/// Refuses whoever is no operator: 401 and nothing else.
pub(super) fn require(request: &HttpRequest) -> Result<(), Refusal> {
    match is_operator(request) {
        true => Ok(()),
        false => Err(Refusal::Unauthorised),
    }
}
