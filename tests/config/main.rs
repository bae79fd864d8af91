//! The shipped config equals the defaults; every mistake is found, with its line.

mod accounts;
mod cascade;
mod combos;
mod entities;
mod flow;
mod garbled;
mod meaning;
mod mistakes;
mod oauth;
mod owners;
mod rows;
mod rules;
mod shipped;
mod stored;
mod strategies;
mod stream;
mod support;
mod validation;
