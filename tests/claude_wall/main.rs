//! The usage wall of Claude accounts over real sockets (rules 5): a switchtower as a process, the
//! scripted upstream as another. The model's name says how the wall stands, the access token and the
//! organisation what a reset of the limit comes to.

mod lane;
#[allow(dead_code, reason = "each test file uses its part")]
#[path = "../process/mod.rs"]
mod process;
mod reset;
mod stage;
mod untouched;
