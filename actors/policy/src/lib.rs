//! What is right: the rules of routing and resilience as pure functions.
//!
//! Values and `now` go in, values come out. Nothing here reads a clock, draws a
//! random number, waits, locks or logs; `clippy.toml` beside this crate forbids it.
//! Owners (the `actors` crate) hold these values and call them; the edge (`src`)
//! only obeys what they say.
#![cfg_attr(not(test), warn(clippy::unwrap_used))]

pub mod account;
pub mod affinity;
pub mod attempts;
pub mod backoff;
pub mod blocked;
pub mod board;
pub mod breaker;
pub mod catalogue;
pub mod change;
pub mod combo;
pub mod cooldown;
pub mod cooldown_wait;
pub mod dice;
pub mod egress;
pub mod emergency;
pub mod fusion;
pub mod gate;
pub mod handoff;
pub mod hint;
pub mod ids;
pub mod keys;
pub mod latency;
pub mod lease;
pub mod limiter;
pub mod lockout;
pub mod login;
pub mod pipeline;
pub mod plan;
pub mod preflight;
pub mod protection;
pub mod quota;
pub mod reading;
pub mod recording;
pub mod request;
pub mod rotation;
pub mod rules;
pub mod session_model;
pub mod strategy;
pub mod stream;
pub mod thoughts;
pub mod time;
pub mod token;
pub mod tools;
pub mod usage;
pub mod validation;
pub mod verdict;
pub mod wall;
pub mod window;
