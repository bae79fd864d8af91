//! OAuth connections over real sockets: a switchtower as a process, the scripted upstream as
//! another, and what is left of both when one is killed.

mod failures;
#[allow(dead_code, reason = "each test file uses its part")]
#[path = "../process/mod.rs"]
mod process;
mod refresh;
mod restart;
mod stage;
