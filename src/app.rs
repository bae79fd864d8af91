//! Joins the rooms: start, reload, shutdown. No rule of its own lives here.

mod banned;
mod base;
mod descriptors;
mod live;
mod plans;
mod reload;
mod roots;
mod scripted;
mod sealing;
mod secrets;
mod serve;
mod shutdown;
mod spending;
mod tokens;

pub use descriptors::make_room;
pub use live::{ChangeError, Live, State, Turn};
pub use plans::{
    blueprint, endpoints, execution_limit, gate_settings, http_settings, is_protected, offered_models,
};
pub use scripted::builtin;
pub use serve::{Running, ServeError, start};
pub use shutdown::{Signals, run, stop};
