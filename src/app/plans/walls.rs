//! Which accounts may do something at their usage wall (rules 5, decision 31).
//!
//! The rules speak of one vendor's subscriptions; what a config says of them is `auth = "oauth"`
//! and the format `anthropic`. Whether the token is one of theirs is seen when it is sent.

use std::sync::Arc;

use policy::ids::Class;
use policy::wall::End;

use crate::settings::{self, Format};
use crate::upstream::{Endpoint, Wall, Walled};

/// What a connection may do, with what is known of its account; `None`: nothing. Another credential
/// may be another account.
pub(super) fn of(
    provider: &settings::Provider,
    connection: &settings::Connection,
    before: Option<&Arc<Endpoint>>,
) -> Option<Walled> {
    let may = provider.class == Class::Oauth && provider.formats.contains(&Format::Anthropic);
    let options = &connection.wall;
    if !may || !(options.low_priority_mode || options.auto_limit_reset) {
        return None;
    }
    let same = before.filter(|endpoint| endpoint.credential == connection.credential);
    let known = same.and_then(|endpoint| endpoint.walled.as_ref()).map(|walled| walled.wall.clone());
    let wall: Arc<Wall> = known.unwrap_or_default();
    if !options.low_priority_mode {
        wall.with_lane(|lane| lane.end(End::Operator));
    }
    Some(Walled {
        low_priority: options.low_priority_mode,
        auto_reset: options.auto_limit_reset,
        organization: options.organization.clone(),
        wall,
    })
}
