//! Rows of `[resilience]` whose mechanism came last or is not built yet: quota preflight and tests
//! of credentials. An idle one is checked and kept, and every reader is told that it does not act.
//! A row that begins to act moves to `resilience.rs`, or loses its `idle()`.

use super::{FLAG, Row, row};
use crate::settings::kind::{Data, Kind};

#[rustfmt::skip] // one row, one line
pub(super) const ROWS: &[Row] = &[
    // [resilience.credential_health_check]
    row("resilience.credential_health_check.interval_minutes", Kind::Whole(0, 1_440), "60", "min", "how often credentials are tested; 0 = off").idle(),
    // [resilience.quota_preflight]
    row("resilience.quota_preflight.enabled", FLAG, "false", "", "accounts that are nearly out of quota are left out").env("QUOTA_PREFLIGHT_CUTOFF_ENABLED"),
    row("resilience.quota_preflight.default_threshold_percent", Kind::Whole(0, 99), "2", "% left", "from where on"),
    row("resilience.quota_preflight.warn_threshold_percent", Kind::Whole(0, 100), "20", "% left", "from where on it is told; above default_threshold_percent"),
    row("resilience.quota_preflight.provider_window_defaults", Kind::Data(Data::Windows), "", "% left", "the same by provider and window: { codex = { weekly = 10 } }"),
];
