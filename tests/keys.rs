//! `/api/keys` and what keys are held to (routing 10.5, contract 2, 7, 8), with the real process.

#[path = "keys/hours.rs"]
mod hours;
#[path = "keys/limits.rs"]
mod limits;
#[path = "keys/manage.rs"]
mod manage;
#[allow(dead_code, reason = "each test file uses its part")]
mod process;
#[path = "keys/rest.rs"]
mod rest;
#[path = "keys/stage.rs"]
mod stage;
#[allow(dead_code, unused_imports, reason = "each test file uses its part")]
mod support;
