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

/// Sends log events to stderr; `RUST_LOG` chooses which.
pub fn start_log() {
    let filter =
        EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info,actix_server=warn"));
    // A second start in one process (tests) keeps the first log.
    let _ = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).try_init();
}
