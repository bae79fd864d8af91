//! The owners. Each holds one thing that two requests must not change at once,
//! decides by calling `policy`, and passes the resulting `Change` on.
//!
//! | actor | one per | owns | may be told |
//! |---|---|---|---|
//! | [`router::Router`] | process | board, routing memory, supervision of all others | `Pick`, `Offer`, `Publish`, `Served`, `Lock`, `Decay`, `CoolSiblings`, `Died`, `Apply`, `Restart` |
//! | [`provider::Provider`] | provider | the breaker | `Admit`, `Record`, an `Order` |
//! | [`connection::Connection`] | connection | its rest, its gate and line, its lease, the drain flag | `Acquire`, `Look`, `Settle`, `Tenant`, `CheckFailed`, `CoolWith`, an `Order` |
//! | [`lockout::Lockout`] | barred model of a connection | failure count and deadline | `Fail`, `Succeed`, an `Order` |
//!
//! Handlers read the clock once, never wait, and answer in a few lines. What must
//! survive an owner's death (slots, the directory of handles, what was last
//! published) lives in `Arc`s beside the actors; generations fence stale news.
#![cfg_attr(not(test), warn(clippy::unwrap_used))]

pub mod berths;
pub mod blueprint;
pub mod ceiling;
pub mod clock;
pub mod connection;
pub mod directory;
pub mod events;
pub mod lease;
pub mod lockout;
pub mod mailbox;
pub mod messages;
pub mod permit;
pub mod provider;
pub mod router;
#[cfg(feature = "test-hooks")]
pub mod testing;
pub mod watch;
