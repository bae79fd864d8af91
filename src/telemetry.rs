//! What is counted and logged. Log lines go to stderr; metrics are read at `/metrics`.

mod audit;
mod book;
mod combo_book;
mod decisions;
mod metrics;

pub use audit::{AuditLog, AuditRow, AuditRows, MOST_ROWS, Unwritten};
pub use book::{Book, Taken};
pub use combo_book::{ComboBook, ComboFared, Fared, Over, Try};
pub use decisions::{Attempted, Decision, Decisions};
mod key_book;
pub use key_book::KeyBook;
pub use metrics::{GateGauge, Gauges, Metrics};

use tracing_subscriber::EnvFilter;

/// What is logged unless `RUST_LOG` says otherwise. The server reports each answer that we end
/// abnormally as an error of its own; `relay` has said by then which upstream did what.
const LOGGED: &str = "info,actix_server=warn,actix_http::h1::dispatcher=off";

/// Sends log events to stderr; `RUST_LOG` chooses which.
pub fn start_log() {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(LOGGED));
    // A second start in one process (tests) keeps the first log.
    let _ = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).try_init();
}
