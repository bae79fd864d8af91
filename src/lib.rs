//! switchtower: one process between AI clients and LLM providers.
//!
//! | room | what belongs there |
//! |---|---|
//! | `settings` | what was typed, checked |
//! | `api` | every address in one table, and the document made of it |
//! | `http` | the data plane: our addresses, statuses and headers |
//! | `admin` | the control plane |
//! | `relay` | the life of one request |
//! | `upstream` | clients towards vendors |
//! | `formats` | dialects: bytes in, values out |
//! | `storage` | the store on disk |
//! | `telemetry` | logs and metrics |
//! | `demo` | the scripted upstream |
//! | `app` | the only place where rooms are joined |
//!
//! Owners live in the crate `actors`, rules in `policy` below it.
#![cfg_attr(not(test), warn(clippy::unwrap_used))]

pub mod admin;
pub mod api;
pub mod app;
pub mod cli;
pub mod demo;
pub mod formats;
pub mod http;
pub mod relay;
pub mod settings;
pub mod storage;
pub mod telemetry;
pub mod upstream;
