//! Rows M4, M5 and M18, the three keys of a model, the numbers of rules, and bursts (core
//! 5.1.4, 5.1.5, 5.3, 8.3; rules 3.10.9).

use super::super::{LockKey, LockReason, Lockout, LockoutSettings, LockoutSnapshot};
use super::{T0, claim, claim_at, failure, left, listed, mild, status};
use crate::hint::HintSource;
use crate::ids::Class;
use crate::time::Millis;
use crate::verdict::{CooldownRule, End, Failure, Level, LockRule, Reason, RuleId, RuleMatch, RuleScope};

fn gateway() -> LockoutSettings {
    LockoutSettings { per_model_quota: true, ..LockoutSettings::for_class(Class::Apikey) }
}

fn covers(key: &LockKey, provider: &str, model: &str) -> bool {
    key.covers(&provider.into(), &model.into())
}

#[test]
fn m4_m5_p16_a_429_of_codex_locks_a_family() {
    // Also with the list off and without a quota per model: never the whole account.
    let settings = LockoutSettings::for_class(Class::Oauth);
    for (row, model, id) in
        [("M4", "gpt-5.5", "c1:family:codex"), ("M5", "gpt-5.3-codex-spark", "c1:family:spark")]
    {
        for settings in [settings.clone(), listed(Class::Oauth)] {
            let (key, order) = claim_at("codex", model, &status(429), &settings).expect(row);
            assert_eq!((key.id(&"c1".into()).as_str(), order.reason), (id, LockReason::RateLimited), "{row}");
            let spark = row == "M5";
            let rows = [("gpt-5", !spark), ("gpt-5.6-luna", !spark), ("GPT-5.3-Codex-Spark", spark)];
            for (sibling, barred) in rows {
                assert_eq!(covers(&key, "codex", sibling), barred, "{row} {sibling}");
            }
            assert!(covers(&key, "codex", "bengalfox-mini") == spark, "{row}");
            assert!(!covers(&key, "openai", model), "{row}: another provider has no families");
        }
    }
    // P16 speaks of 429 only.
    assert_eq!(claim_at("codex", "gpt-5.5", &status(503), &settings), None);
    let exact = claim_at("codex", "gpt-5.6-luna", &status(502), &listed(Class::Oauth)).expect("M1");
    assert_eq!(exact.0.id(&"c1".into()), "c1:exact:gpt-5.6-luna", "M1");
    assert!(!covers(&exact.0, "codex", "gpt-5.5"), "M1: still routable");
    let base = claim_at("codex", "gpt-5.5", &status(404), &settings).expect("M6").0;
    assert!(covers(&base, "codex", "gpt-5.5") && !covers(&base, "codex", "gpt-5"), "a base, no family");
}

#[test]
fn m18_the_callers_scope_wins() {
    let (key, _) = claim_at("antigravity", "Gemini-3-Pro", &status(429), &gateway()).expect("M18");
    assert_eq!(key.id(&"c1".into()), "c1:exact:gemini-3-pro", "M18");
    assert!(!covers(&key, "antigravity", "gemini-2.5-pro"), "M18: the family is free");
    let rule = LockRule { exact_key: true, exact_ms: None, authoritative: false, keep_count: false };
    let scoped = Failure { lock: Some(rule), ..status(429) };
    let (key, _) = claim_at("codex", "gpt-5.5", &scoped, &gateway()).expect("M18");
    assert_eq!(key, LockKey::exact(&"gpt-5.5".into()), "M18");
}

#[test]
fn families_are_data_by_provider() {
    let rows = [
        ("antigravity", "claude-opus-4-5-thinking", "claude"),
        ("antigravity", "gpt-oss-120b", "claude"),
        ("antigravity", "gemini-3-flash", "gemini-flash"),
        ("antigravity", "Gemini-3-Pro-High", "gemini-pro"),
        ("antigravity", "other", "other"),
        ("codex", "codex-bengalfox", "spark"),
        ("codex", "anything", "codex"),
        ("openai", "gpt-5.3-codex-spark", "gpt-5.3-codex-spark"),
    ];
    for (provider, model, family) in rows {
        let key = LockKey::family(&provider.into(), &model.into());
        assert_eq!(key.model.as_str(), family, "{provider} {model}");
        assert!(covers(&key, provider, model));
    }
}

#[test]
fn core_5_1_5_each_of_the_three_keys_bars() {
    let (provider, model) = ("codex".into(), "gpt-5.5".into());
    for key in [LockKey::family(&provider, &model), LockKey::base(&model), LockKey::exact(&model)] {
        assert!(key.covers(&provider, &model), "{key:?}");
    }
}

fn ruled(code: u16, reason: Reason, scope: RuleScope, ms: Option<Millis>) -> Failure {
    let cooldown = match ms {
        Some(ms) => CooldownRule::Exact { ms, level: Level::Zero, stated: false },
        None => CooldownRule::Scaled,
    };
    let rule = Some(RuleMatch { id: RuleId::Operator(0), scope, honoured: true });
    Failure { reason, cooldown, rule, ..mild(code) }
}

#[test]
fn c5_c6_a_rule_about_a_model_locks_it_for_the_declared_time() {
    let six_hours = 21_600_000;
    let wide = LockoutSettings { max_ms: 86_400_000, ..gateway() };
    let plain = LockoutSettings::for_class(Class::Apikey);
    for (row, settings, want) in
        [("C5", gateway(), 1_800_000), ("C6", wide, six_hours), ("3.10.9", plain, 1_800_000)]
    {
        let denied = ruled(403, Reason::AuthError, RuleScope::Model, Some(six_hours));
        let (key, order) = claim_at("agentrouter", "m1", &denied, &settings).expect(row);
        assert_eq!(order.reason, LockReason::Forbidden, "{row}");
        assert!(!covers(&key, "agentrouter", "m2"), "{row}: siblings are usable");
        let mut lockout = Lockout::new(key, settings);
        lockout.record(&order, T0, T0);
        assert_eq!(left(&lockout, T0), want, "{row}");
    }
    let unpaid = ruled(402, Reason::QuotaExhausted, RuleScope::Model, Some(60_000));
    let (_, order) = claim(&unpaid, &LockoutSettings::for_class(Class::Apikey)).expect("5.3.8");
    assert_eq!((order.reason, order.exact_ms), (LockReason::Credits, Some(60_000)));
    let hinted =
        Failure { hint: failure(End::Status(429), Some((900_000, HintSource::Header))).hint, ..unpaid };
    let (_, order) = claim(&hinted, &gateway()).expect("5.3.8");
    assert_eq!((order.exact_ms, order.authoritative), (Some(60_000), false), "declared is exact");
    let without = Failure { cooldown: CooldownRule::Scaled, ..hinted };
    let (_, order) = claim(&without, &gateway()).expect("rules 3.6.5");
    assert_eq!((order.exact_ms, order.authoritative), (Some(900_000), true), "3.6.5: the hint, if none is");
    let label = Failure { rule: denied_label(), ..mild(403) };
    assert_eq!(claim(&label, &LockoutSettings::for_class(Class::Apikey)), None, "a label locks nothing");
}

fn denied_label() -> Option<RuleMatch> {
    Some(RuleMatch { id: RuleId::BuiltIn(1), scope: RuleScope::Model, honoured: false })
}

#[test]
fn core_5_4_reasons_and_lengths_of_a_quota_per_model() {
    let exact = |ms, stated| CooldownRule::Exact { ms, level: Level::Zero, stated };
    let quota = |code, cooldown| Failure { reason: Reason::QuotaExhausted, cooldown, ..mild(code) };
    let hint = |ms, source| failure(End::Status(429), Some((ms, source))).hint;
    let rows = [
        ("quota on a 429", quota(429, exact(18_000_000, false)), LockReason::QuotaExhausted, 1_800_000),
        ("quota on a 403", quota(403, exact(60_000, false)), LockReason::QuotaExhausted, 60_000),
        ("quota on a 503", quota(503, CooldownRule::Scaled), LockReason::QuotaExhausted, 1_800_000),
        ("402", quota(402, CooldownRule::Scaled), LockReason::Credits, 3_000),
        (
            "throttled on a 400",
            Failure { reason: Reason::RateLimitExceeded, cooldown: CooldownRule::Scaled, ..mild(400) },
            LockReason::RateLimited,
            3_000,
        ),
        (
            "the verdict took a header over",
            Failure { hint: hint(7_200_000, HintSource::Header), ..quota(429, exact(7_200_000, true)) },
            LockReason::QuotaExhausted,
            7_200_000,
        ),
        (
            "the verdict took a text over",
            Failure { hint: hint(7_200_000, HintSource::Body), ..quota(429, exact(7_200_000, true)) },
            LockReason::QuotaExhausted,
            1_800_000,
        ),
    ];
    for (row, failure, reason, want) in rows {
        let (key, order) = claim(&failure, &gateway()).expect(row);
        assert_eq!(order.reason, reason, "{row}");
        let mut lockout = Lockout::new(key, gateway());
        lockout.record(&order, T0, T0);
        assert_eq!(left(&lockout, T0), want, "{row}");
    }
}

#[test]
fn f23_a_busy_account_locks_no_model() {
    let busy = Failure { reason: Reason::ConcurrencyLimited, ..status(429) };
    for settings in [gateway(), listed(Class::Apikey)] {
        assert_eq!(claim(&busy, &settings), None, "F23");
        assert_eq!(claim_at("codex", "gpt-5.5", &busy, &settings), None, "F23");
    }
}

#[test]
fn hints_can_be_switched_off() {
    let hinted = failure(End::Status(429), Some((7_200_000, HintSource::Header)));
    let case = super::LockCase { provider: &"p".into(), model: &"m".into(), use_hints: false };
    let (_, order) = super::lock_for(&hinted, &case, &gateway()).expect("a lock");
    assert_eq!(order.exact_ms, None);
    assert!(order.is_bare(), "core 5.4");
    assert!(!claim(&hinted, &gateway()).expect("a lock").1.is_bare());
    assert!(!claim(&status(502), &listed(Class::Apikey)).expect("a lock").1.is_bare());
}

#[test]
fn core_8_3_a_burst_costs_one_step() {
    let settings = listed(Class::Apikey);
    let (key, order) = claim(&status(502), &settings).expect("a lock");
    let mut lockout = Lockout::new(key, settings.clone());
    for received in [0, 1, 500] {
        lockout.record(&order, T0 - 1_000, T0 + received);
        assert_eq!(lockout.view().failures, 1, "sent before the lock was written");
    }
    // One that outlives the lock repeats its step, it does not take the next.
    lockout.record(&order, T0 - 1_000, T0 + 130_000);
    assert_eq!((left(&lockout, T0 + 130_000), lockout.view().failures), (120_000, 1));
    lockout.record(&order, T0 + 1, T0 + 131_000);
    assert_eq!((left(&lockout, T0 + 131_000), lockout.view().failures), (240_000, 2), "sent after it");
    let restored = Lockout::restore(lockout.snapshot(), settings, T0 + 132_000);
    let mut restored = restored.expect("it lives");
    restored.record(&order, T0 + 131_000, T0 + 132_000);
    assert_eq!(restored.view().failures, 2, "also after a restart");
}

#[test]
fn an_old_record_is_read() {
    use serde::Deserialize;
    use serde::de::value::{Error as TextError, MapDeserializer};
    let fields = [("until", 7_u64), ("last_failure_at", 6)].into_iter();
    #[derive(Deserialize)]
    struct Old {
        #[serde(default)]
        counted_at: Millis,
        #[serde(default)]
        refusals: super::Refusals,
    }
    let old = Old::deserialize(MapDeserializer::<_, TextError>::new(fields)).expect("an old record");
    assert_eq!((old.counted_at, old.refusals), (0, super::Refusals::default()));
    let snapshot = LockoutSnapshot {
        failures: 1,
        until: T0,
        last_failure_at: T0,
        ..Lockout::new(LockKey::base(&"m".into()), gateway()).snapshot()
    };
    assert!(Lockout::restore(snapshot, gateway(), T0).is_some());
}
