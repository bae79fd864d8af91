//! Rows of what combos begin with (routing 1.4): `[settings.combo_defaults]` has the keys of
//! `[combos.config]`, and `[settings.provider_overrides.NAME]` those that are asked of one target at
//! a time. They are made of the rows of combos, so that bounds and meanings are written once.

use super::{Row, combos};

/// Where the keys of a combo's config begin.
pub(in crate::settings) const CONFIG: &str = "combos[].config.";
/// Where those of all combos begin.
pub(in crate::settings) const DEFAULTS: &str = "settings.combo_defaults.";
/// The tables of providers.
pub(in crate::settings) const OVERRIDES: &str = "settings.provider_overrides.*";

/// What is asked of one target at a time, and so can be said of a provider's.
pub(in crate::settings) const PER_TARGET: [&str; 8] = [
    "max_retries",
    "retry_delay_ms",
    "fallback_delay_ms",
    "target_timeout_ms",
    "failover_before_retry",
    "slow_start_ms",
    "hedge_delay_ms",
    "predictive_ttft_ms",
];

/// Keys of a combo's config that all combos may begin with: but for those that name its own
/// targets, and lists of tables, which no PATCH can name.
fn shared() -> impl Iterator<Item = (&'static str, &'static Row)> {
    let names = combos::ROWS.iter().filter_map(|row| Some((row.key.strip_prefix(CONFIG)?, row)));
    names.filter(|(name, _)| !name.starts_with("composite_tiers.") && !name.contains("[]"))
}

/// The rows of both, each without a default: what is not given is not said.
pub(super) fn rows() -> Vec<Row> {
    let copy = |key: String, row: &Row| Row { key: key.leak(), default: "", ..*row };
    let defaults = shared().map(|(name, row)| copy(format!("{DEFAULTS}{name}"), row));
    let own = shared().filter(|(name, _)| PER_TARGET.contains(name));
    let own = own.map(|(name, row)| copy(format!("{OVERRIDES}.{name}"), row));
    defaults.chain(own).collect()
}
