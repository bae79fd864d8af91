//! What requests took, as operators read it (contract 8): over real HTTP, with a real process, its
//! signals and its store.

#[path = "usage/ends.rs"]
mod ends;
#[path = "usage/history.rs"]
mod history;
#[allow(dead_code, reason = "each test file uses its part")]
mod process;
#[path = "usage/stage.rs"]
mod stage;
#[allow(dead_code, unused_imports, reason = "each test file uses its part")]
mod support;
