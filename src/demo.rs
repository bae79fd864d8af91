//! The scripted upstream: an HTTP server that imitates four LLM dialects and, asked by the model
//! name, every way in which a provider fails.
//!
//! It exists so that a router can be seen failing over without an account anywhere, and so that
//! tests and benchmarks have an upstream whose every answer is known beforehand. Nothing in it is
//! random: the same requests in the same order get the same answers.
//!
//! One request goes through `exchange` (read, recognise, behave), which asks a `dialect` for the
//! words, and hands them to a `playback`, the body that can be slow, silent or cut.

mod answer;
pub mod behaviour;
mod capacity;
mod credential;
mod dialect;
mod exchange;
mod journal;
mod json;
mod oauth;
mod playback;
mod request;
mod script;
mod server;
mod wall;
mod wire;

pub use behaviour::behaviours;
pub use server::{Demo, DemoSettings, bind};
