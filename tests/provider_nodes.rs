//! `/api/provider-nodes` (contract 2, 4, 7, 8): providers that operators make, change and delete
//! while the process runs, with the real process.

#[path = "provider_nodes/bodies.rs"]
mod bodies;
#[path = "provider_nodes/changes.rs"]
mod changes;
#[allow(dead_code, reason = "each test file uses its part")]
mod process;
#[path = "provider_nodes/rest.rs"]
mod rest;
#[path = "provider_nodes/stage.rs"]
mod stage;
#[allow(dead_code, unused_imports, reason = "each test file uses its part")]
mod support;
