//! `/api/combos`, `/api/model-combo-mappings` and `/api/models/alias` (routing 1, 2.9, 14): made,
//! changed and deleted while the process runs, over real HTTP and with the real process.

#[path = "combos_api/bodies.rs"]
mod bodies;
#[path = "combos_api/changes.rs"]
mod changes;
#[path = "combos_api/names.rs"]
mod names;
#[path = "combos_api/nesting.rs"]
mod nesting;
#[allow(dead_code, reason = "each test file uses its part")]
mod process;
#[path = "combos_api/stage.rs"]
mod stage;
