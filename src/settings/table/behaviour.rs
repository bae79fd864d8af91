//! Rows of `[settings]`: what the guide keeps beside `resilienceSettings` (contract 5).

use policy::time::DAY;

use super::{FLAG, Row, row};
use crate::settings::kind::{Data, Items, Kind, Shape};

#[rustfmt::skip] // one row, one line
pub(super) const ROWS: &[Row] = &[
    // [settings]
    row("settings.provider_error_rules", Kind::Data(Data::Rules), "", "", "what an error of a provider means: lists of { status, match, scope, reason, cooldown_ms } by provider, first match wins, at most 50"),
    row("settings.provider_error_defaults", Kind::Data(Data::Defaults), "", "", "what any other error of a provider means: { cooldown_ms, scope, reason } by provider"),
    row("settings.custom_banned_signals", Kind::List(Items::Signals), "", "", "texts that say that an account is banned, besides the built-in ones"),
    row("settings.auto_disable_banned_accounts", FLAG, "false", "", "a banned account is switched off"),
    row("settings.auto_disable_banned_scope", Kind::Choice(&["all", "subscription"]), "all", "", "all | subscription: which accounts that is for"),
    row("settings.quota_reset_hour", Kind::Whole(0, 23), "", "h, UTC", "when daily quotas return; absent: midnight"),
    row("settings.fallback_strategy", Kind::Choice(&["fill-first", "round-robin", "p2c", "random", "least-used", "cost-optimized", "strict-random", "weighted"]), "fill-first", "", "fill-first | round-robin | p2c | random | least-used | cost-optimized | strict-random | weighted: how an account of a provider is chosen"),
    row("settings.session_affinity_ttl_ms", Kind::Millis(0, 30 * DAY), "1800000", "ms", "how long a client's session stays with its account; 0 = not at all"),
    row("settings.session_affinity_from_text", FLAG, "false", "", "a session is also known by its first text"),
    row("settings.sticky_round_robin_limit", Kind::Whole(1, 1_000), "3", "requests", "requests in a row for one account under round-robin"),
    row("settings.prompt_cache_affinity_enabled", FLAG, "true", "", "requests with one prompt prefix go to one target, under random, least-used, round-robin and auto"),
    row("settings.emergency_fallback.enabled", FLAG, "false", "", "one last attempt when the money is out, for requests without stream and tools; it sends prompts to a provider that is in no combo").env("OMNIROUTE_EMERGENCY_FALLBACK"),
    row("settings.emergency_fallback.target", Kind::Text(Shape::Plain), "nvidia/openai/gpt-oss-120b", "", "where to: provider/model, configured like any other"),
];
