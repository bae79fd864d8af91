//! Exclusive leases of connections (rules 7) over real HTTP and with the real process.

#[path = "leases/checks.rs"]
mod checks;
#[path = "leases/life.rs"]
mod life;
#[allow(dead_code, reason = "each test file uses its part")]
mod process;
#[path = "leases/requests.rs"]
mod requests;
#[path = "leases/stage.rs"]
mod stage;
#[allow(dead_code, unused_imports, reason = "each test file uses its part")]
mod support;
