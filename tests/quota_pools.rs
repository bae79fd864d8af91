//! Quota pools (flow 2, contract 8): made by operators, used by clients, over real HTTP and with
//! the real process.

#[path = "quota_pools/bodies.rs"]
mod bodies;
#[allow(dead_code, reason = "each test file uses its part")]
mod process;
#[path = "quota_pools/readings.rs"]
mod readings;
#[path = "quota_pools/shares.rs"]
mod shares;
#[path = "quota_pools/stage.rs"]
mod stage;
#[allow(dead_code, unused_imports, reason = "each test file uses its part")]
mod support;
#[path = "quota_pools/turns.rs"]
mod turns;
