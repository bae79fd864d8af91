//! What verdicts ask of the configuration.

use std::collections::BTreeMap;

use policy::rotation::{PerKind, RotationSettings, Switch};
use policy::rules::{self, RuleBook};
use policy::verdict::{self, DailyReset};

use super::owners::rate_limit_delay;
use crate::relay::{Emergency, Judging, Traits};
use crate::settings::{self, RotationNumbers, RuleScope, Settings};

/// Traits of every connection, and the operator's rules.
pub fn judging(settings: &Settings) -> Judging {
    let rotation = rotation(&settings.resilience.rotation);
    let connections = settings.connections.iter().filter_map(|connection| {
        let provider = settings.providers.iter().find(|provider| provider.id == connection.provider)?;
        let cooling = settings.resilience.connection_cooldown.of(provider.class);
        let traits = Traits {
            per_model_quota: connection.passthrough_models.unwrap_or(provider.per_model_quota),
            use_hints: cooling.use_upstream_retry_hints,
            rotation: RotationSettings {
                forced_ms: rate_limit_delay(settings, connection),
                ..rotation.with(&connection.rotation)
            },
        };
        Some((connection.id.clone(), traits))
    });
    let hour = settings.behaviour.quota_reset_hour.and_then(|hour| u8::try_from(hour).ok());
    Judging {
        connections: connections.collect(),
        rules: rule_book(&settings.behaviour),
        emergency: emergency(&settings.behaviour),
        daily_reset: hour.map(|hour| DailyReset { hour, offset_minutes: 0 }),
    }
}

/// The last resort, if it is switched on and is one target.
fn emergency(behaviour: &settings::Behaviour) -> Option<Emergency> {
    let target = behaviour.emergency_fallback.as_deref()?;
    let (provider, _) = target.split_once('/')?;
    Some(Emergency { provider: provider.into(), model: target.into() })
}

fn rotation(numbers: &settings::Rotation) -> RotationSettings {
    let switch = |numbers: &RotationNumbers| Switch {
        rotates: numbers.rotate,
        threshold: numbers.threshold,
        window_ms: numbers.window_ms,
    };
    RotationSettings {
        enabled: numbers.enabled,
        switches: PerKind {
            on_429: switch(&numbers.on_429),
            on_500: switch(&numbers.on_500),
            on_502: switch(&numbers.on_502),
            on_400: switch(&numbers.on_400),
        },
        forced_ms: None,
    }
}

/// The settings were checked by the same bounds; should the two ever differ, no rule is better
/// than half of them, and it is said aloud.
fn rule_book(behaviour: &settings::Behaviour) -> RuleBook {
    let rules = behaviour.provider_error_rules.iter();
    let rules: BTreeMap<_, _> =
        rules.map(|(id, rules)| (id.clone(), rules.iter().map(rule).collect())).collect();
    let defaults = behaviour.provider_error_defaults.iter();
    let defaults = defaults.map(|(id, typed)| (id.clone(), default(typed))).collect();
    let banned = behaviour.custom_banned_signals.clone();
    RuleBook::new(rules, defaults, banned).unwrap_or_else(|faults| {
        tracing::error!(?faults, "the error rules cannot be used; none is in force");
        RuleBook::default()
    })
}

fn rule(typed: &settings::ErrorRule) -> rules::ErrorRule {
    rules::ErrorRule {
        status: typed.status,
        text: typed.matches.clone(),
        scope: Some(scope(typed.scope)),
        reason: Some(typed.reason),
        cooldown_ms: typed.cooldown_ms,
    }
}

fn default(typed: &settings::ErrorDefault) -> rules::ErrorDefault {
    rules::ErrorDefault {
        cooldown_ms: typed.cooldown_ms,
        scope: Some(scope(typed.scope)),
        reason: typed.reason,
    }
}

fn scope(typed: RuleScope) -> verdict::RuleScope {
    match typed {
        RuleScope::Model => verdict::RuleScope::Model,
        RuleScope::Provider => verdict::RuleScope::Provider,
        RuleScope::Connection => verdict::RuleScope::Connection,
    }
}
