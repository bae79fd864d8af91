//! The vault as the relay sees it: what is kept of conversations is sealed like a credential.

use std::sync::Arc;

use crate::relay::Sealing;
use crate::storage::Vault;

/// The store's vault.
pub(super) struct Sealed(pub(super) Arc<Vault>);

impl Sealing for Sealed {
    fn seal(&self, id: &str, plain: &str) -> Option<String> {
        self.0.seal(id, plain).inspect_err(|error| tracing::warn!(%error, "a hand-off is not kept")).ok()
    }

    fn open(&self, id: &str, sealed: &str) -> Option<String> {
        self.0.open(id, sealed).inspect_err(|error| tracing::warn!(%error, "a hand-off is not used")).ok()
    }
}
