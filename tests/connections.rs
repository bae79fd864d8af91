//! `/api/providers` (contract 2, 4, 7, 8): connections that operators make, change and delete
//! while the process runs, over real HTTP and with the real process.

#[path = "connections/bans.rs"]
mod bans;
#[path = "connections/bodies.rs"]
mod bodies;
#[path = "connections/changes.rs"]
mod changes;
#[path = "connections/many.rs"]
mod many;
#[path = "connections/overrides.rs"]
mod overrides;
mod process;
#[path = "connections/proxies.rs"]
mod proxies;
#[path = "connections/rest.rs"]
mod rest;
#[path = "connections/stage.rs"]
mod stage;
#[allow(dead_code, unused_imports, reason = "each test file uses its part")]
mod support;
