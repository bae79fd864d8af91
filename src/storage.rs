//! The store: sled behind one actor on a thread of its own.
//!
//! Owners post their newest snapshots; here they are kept one per owner, and written in
//! one batch with one flush every `store.flush_interval`. A kill -9 costs at most that
//! interval. When the disk fails, routing goes on from memory and the news waits.

mod actor;
mod audit;
mod codec;
mod database;
mod history;
mod kept;
mod kept_connections;
mod kept_entities;
mod kept_keys;
mod kept_providers;
mod meta;
mod rewrite;
mod sealed;
mod tokens;
mod tree;
mod vault;
mod verify;

pub use actor::{Dirty, Flush, Health, Keep, Store, Waiting};
pub use audit::ReadAudit;
pub use codec::{Record, Unreadable};
pub use database::{Database, OpenError};
pub use history::{ReadUsage, Unread};
pub use kept_connections::{proxy_record, unlock};
pub use kept_providers::{provider_record, unlock_providers};
pub use meta::{ADMIN_TOKEN, CLIENT_KEY, SALT};
pub use tokens::{SaveTokens, StoredTokens, token_record};
pub use tree::Tree;
pub use vault::{Closed, KEY_VARIABLE, Vault, VaultError, key_path};
pub use verify::{Count, Found, Standing};
