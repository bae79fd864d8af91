//! Which limiter a request falls under (flow 4.2), and how they come and go.

use super::{FREE, T0, told};
use crate::ids::ModelId;
use crate::limiter::{Learnt, LimiterKey, LimiterScope, LimiterSettings, Limiters, Pace};
use crate::time::{DAY, MINUTE};

fn at(provider: &str) -> Limiters {
    Limiters::new(LimiterSettings { parallel: 1, scope: LimiterScope::of(provider), ..FREE })
}

fn key(name: &str) -> LimiterKey {
    Some(ModelId::from(name))
}

/// Flow 4.5, 4.29.
#[test]
fn a_provider_narrows_its_limiters_or_not() {
    let rows = [
        ("openai", "gpt-5", None),
        ("codex", "gpt-5-codex-spark", None),
        ("gemini", "gemini-2.5-flash", key("gemini-2.5-flash")),
        ("github", "gpt-5", key("gpt-5")),
        ("antigravity", "claude-opus-4", key("claude")),
        ("antigravity", "gpt-oss-120b", key("claude")),
        ("antigravity", "gemini-3-flash", key("gemini-flash")),
        ("agy", "gemini-3-pro", key("gemini-pro")),
        ("agy", "Other-Model", key("Other-Model")),
        ("Gemini", "gemini-2.5-flash", None),
    ];
    for (provider, model, want) in rows {
        assert_eq!(at(provider).key(&model.into()), want, "{provider} {model}");
    }
}

#[test]
fn models_of_a_narrowed_provider_do_not_hold_each_other_back() {
    let mut limiters = at("gemini");
    let (flash, pro) = (limiters.key(&"flash".into()), limiters.key(&"pro".into()));
    limiters.of(&flash, T0).start(T0);
    limiters.of(&flash, T0).pause(5_000, T0);
    assert_eq!(limiters.of(&flash, T0).pace(T0), Pace::Busy);
    assert_eq!(limiters.of(&pro, T0).pace(T0), Pace::Go);
    assert!(limiters.finish(&flash, T0) && !limiters.finish(&key("gone"), T0));
    assert_eq!(limiters.of(&flash, T0).pace(T0), Pace::Until(T0 + 5_000));
}

/// A permit gives back to the limiter that it was taken from.
#[test]
fn a_new_scope_forgets_nobody_who_runs() {
    let mut limiters = at("gemini");
    limiters.of(&key("pro"), T0).start(T0);
    limiters.configure(LimiterSettings { scope: LimiterScope::Connection, ..FREE }, T0);
    assert_eq!(limiters.key(&"pro".into()), None);
    limiters.sweep(T0 + DAY, |_| false);
    assert_eq!(limiters.get(&key("pro")).map(|limiter| limiter.running()), Some(1));
    assert!(limiters.finish(&key("pro"), T0 + DAY));
    limiters.sweep(T0 + DAY + 10 * MINUTE, |_| false);
    assert!(limiters.get(&key("pro")).is_none());
}

/// Flow 4.21.
#[test]
fn a_sweep_drops_what_is_idle_and_not_awaited() {
    let mut limiters = at("gemini");
    for model in ["a", "b", "c"] {
        limiters.of(&key(model), T0);
    }
    limiters.of(&key("a"), T0).start(T0);
    limiters.sweep(T0 + 10 * MINUTE, |waited| *waited == key("b"));
    let left: Vec<_> = limiters.iter().map(|(key, _)| key.clone()).collect();
    assert_eq!(left, [key("a"), key("b")]);
}

/// Flow 4.17: all forget, and those that run count on.
#[test]
fn forgetting_is_for_all_of_them() {
    let mut limiters = at("gemini");
    for model in ["a", "b"] {
        limiters.of(&key(model), T0).start(T0);
        assert!(limiters.learn(&key(model), &told(60, 5, 20_000), T0));
    }
    limiters.forget();
    assert_eq!(limiters.learnt(), []);
    assert!(limiters.views(T0).iter().all(|(_, view)| view.running == 1 && view.reservoir.is_none()));
}

/// Flow 4.21: a fresh one with the same numbers.
#[test]
fn a_stuck_limiter_is_replaced_by_a_fresh_one() {
    let mut limiters = at("openai");
    limiters.of(&None, T0);
    assert!(limiters.of(&None, T0).is_stuck(1, T0 + 10_000));
    limiters.replace(&None, T0 + 10_000);
    assert!(!limiters.of(&None, T0).is_stuck(1, T0 + 10_000));
    assert_eq!(limiters.get(&None).map(|limiter| limiter.settings().parallel), Some(1));
}

/// Flow 4.20.
#[test]
fn what_was_learnt_comes_back_to_its_key() {
    let mut limiters = at("gemini");
    limiters.learn(&key("a"), &told(60, 10, 1), T0);
    limiters.of(&key("b"), T0);
    let saved = limiters.learnt();
    assert_eq!(saved, [(key("a"), Learnt { min_time_ms: 990, at: T0 })]);
    let mut again = at("gemini");
    let old = (key("old"), Learnt { min_time_ms: 990, at: T0 - 1 });
    again.restore(saved.into_iter().chain([old]), T0 + DAY);
    let gaps: Vec<_> = again.views(T0 + DAY).into_iter().map(|(key, view)| (key, view.min_time_ms)).collect();
    assert_eq!(gaps, [(key("a"), 990)]);
}
