//! Banned accounts are switched off for good, if the operator wants it (core 3.7, P18).
//!
//! A ban takes a connection out of use by itself; with this a reset alone does not bring it
//! back, because somebody has to look at it first.

use std::sync::Arc;

use policy::ids::{Class, ConnectionId};
use tokio::sync::mpsc::UnboundedReceiver;

use crate::admin::{Admin, switch_off};
use crate::settings::{AutoDisable, Settings};

/// Switches off whom the owners report, for as long as the process runs.
pub(super) async fn watch(admin: Arc<Admin>, mut banned: UnboundedReceiver<ConnectionId>) {
    while let Some(connection) = banned.recv().await {
        if is_meant(&admin.live.current().settings, &connection) {
            switch_off(&admin, &connection).await;
        }
    }
}

fn is_meant(settings: &Settings, connection: &ConnectionId) -> bool {
    let class = || {
        let known = settings.connections.iter().find(|known| known.id == *connection)?;
        settings.providers.iter().find(|provider| provider.id == known.provider).map(|found| found.class)
    };
    match settings.behaviour.auto_disable_banned {
        AutoDisable::Off => false,
        AutoDisable::All => true,
        AutoDisable::Subscription => class() == Some(Class::Oauth),
    }
}
