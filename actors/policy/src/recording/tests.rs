//! Rows F16–F18 of core 3.11, C1–C6, C13, C30 of rules 9.2, E1–E9 of rules 9.4, M16, M17, M20
//! of core 5.8, as far as they say who writes.

use super::{RecordCase, Recording, recording};
use crate::cooldown::{Cooldown, CooldownSettings};
use crate::hint::{Hint, HintSource};
use crate::ids::{Class, ModelId, ProviderId};
use crate::limiter::{LimiterScope, LimiterSettings};
use crate::lockout::{LockCase, LockKey, LockReason, LockoutSettings};
use crate::time::Millis;
use crate::verdict::{
    Case, CooldownRule, End, Failure, Level, Reason, RuleId, RuleMatch, RuleScope, Signal, TerminalRule,
    Verdict, judge,
};

const T0: Millis = 1_768_478_400_000;

/// Where a failure is recorded.
struct Place {
    provider: ProviderId,
    cooldown: CooldownSettings,
    lockout: LockoutSettings,
    shares_egress: bool,
    breaker_blocks: bool,
    locks_full: bool,
    limiter: Option<LimiterSettings>,
}

fn place(provider: &str) -> Place {
    Place {
        provider: provider.into(),
        cooldown: CooldownSettings::for_class(Class::Apikey),
        lockout: LockoutSettings::for_class(Class::Apikey),
        shares_egress: false,
        breaker_blocks: false,
        locks_full: false,
        limiter: None,
    }
}

/// A provider with a quota per model.
fn gateway(provider: &str) -> Place {
    let mut gateway = place(provider);
    gateway.lockout.per_model_quota = true;
    gateway
}

impl Place {
    fn record(&self, failure: &Failure) -> Recording {
        let model = ModelId::from("m");
        let use_hints = self.cooldown.use_hints;
        recording(
            failure,
            &RecordCase {
                target: LockCase { provider: &self.provider, model: &model, use_hints },
                cooldown: &self.cooldown,
                lockout: &self.lockout,
                shares_egress: self.shares_egress,
                breaker_blocks: self.breaker_blocks,
                locks_full: self.locks_full,
                limiter: self.limiter,
            },
        )
    }

    /// How long a fresh connection rests after it, and its level.
    fn rest(&self, failure: &Failure) -> (Option<Millis>, u32) {
        let mut cooldown = Cooldown::new(self.cooldown);
        let trial = cooldown.admit(false, T0).expect("clean");
        cooldown.record(trial, &Verdict::Failure(self.record(failure).connection), T0, T0);
        (cooldown.cooling_until(T0).map(|until| until - T0), cooldown.view().level)
    }

    /// Why the model is locked.
    fn lock(&self, failure: &Failure) -> Option<LockReason> {
        self.record(failure).lock.map(|(_, order)| order.reason)
    }
}

fn status(code: u16) -> Failure {
    match judge(
        &Signal::new(End::Status(code), None),
        &Case { per_model_quota: true, ..Case::of(Class::Apikey) },
    ) {
        Verdict::Failure(failure) => Failure { terminal: None, ..failure },
        other => panic!("{code} is {other:?}"),
    }
}

fn quota(code: u16, scope: RuleScope) -> Failure {
    let rule = Some(RuleMatch { id: RuleId::BuiltIn(0), scope, honoured: true });
    Failure { reason: Reason::QuotaExhausted, cooldown: CooldownRule::Scaled, rule, ..status(code) }
}

fn hint(ms: Millis) -> Option<Hint> {
    Some(Hint::new(ms, HintSource::Header))
}

/// Flow 6.11.51, E124, FC-028, routing 7.3 and 7.5: by itself an empty answer writes nothing,
/// anywhere; where the operator locks by 502 it bars the exact model, for the list's time.
#[test]
fn e124_an_empty_answer_bars_the_exact_model_at_most() {
    for end in [End::Empty, End::EarlyEof] {
        let Verdict::Failure(empty) = judge(&Signal::new(end, None), &Case::of(Class::Apikey)) else {
            panic!("{end:?} is a failure")
        };
        for quiet in [place("openai"), gateway("openai"), place("antigravity"), place("codex")] {
            let recording = quiet.record(&empty);
            assert_eq!((recording.lock, recording.siblings, recording.pause_ms), (None, false, None));
            assert_eq!(recording.connection.cooldown, CooldownRule::Nothing, "{end:?}");
            assert_eq!(quiet.rest(&empty), (None, 0));
        }
        for mut listed in [place("openai"), gateway("openai"), place("antigravity"), place("codex")] {
            listed.lockout.enabled = true;
            let recording = listed.record(&empty);
            let (key, order) = recording.lock.expect("502 is on the list");
            assert_eq!(key, LockKey::exact(&"m".into()));
            assert_eq!((order.reason, order.exact_ms, order.by_list), (LockReason::ServerError, None, true));
            assert_eq!(listed.rest(&empty), (None, 0), "the account goes on");
            listed.locks_full = true;
            assert_eq!(
                (listed.lock(&empty), listed.rest(&empty)),
                (None, (None, 0)),
                "contract 8 benches nobody"
            );
            listed.lockout.error_codes = vec![503];
            listed.locks_full = false;
            assert_eq!(listed.lock(&empty), None);
        }
    }
}

#[test]
fn p10_c1_to_c4_an_honoured_quota_of_the_connection() {
    let agentrouter = gateway("agentrouter");
    for scope in [RuleScope::Connection, RuleScope::Provider] {
        let gone = quota(429, scope);
        assert_eq!((agentrouter.rest(&gone), agentrouter.lock(&gone)), ((Some(3_000), 1), None), "C1");
        let stated = Failure { hint: hint(120_000), ..gone.clone() };
        assert_eq!(agentrouter.rest(&stated), (Some(120_000), 0), "C3");
        // C13: the rule's own time is exact, whatever is stated.
        let exact = CooldownRule::Exact { ms: 60_000, level: Level::Zero, stated: false };
        let declared = Failure { cooldown: exact, hint: hint(900_000), ..gone.clone() };
        assert_eq!(agentrouter.rest(&declared), (Some(60_000), 0), "C13");
        for nothing in [CooldownRule::Nothing, CooldownRule::Record] {
            let bare = Failure { cooldown: nothing, ..gone.clone() };
            assert_eq!(agentrouter.rest(&bare), (Some(120_000), 0), "P10: 120 s if it is 0");
        }
        let mut opted_out = gateway("agentrouter");
        opted_out.cooldown.disable_cooling = true;
        assert_eq!(opted_out.rest(&gone), (None, 0), "C4");
        assert_eq!(opted_out.lock(&gone), Some(LockReason::QuotaExhausted), "C4, 3.10.6");
        // It goes before the list, too.
        let mut listed = place("agentrouter");
        listed.lockout.enabled = true;
        assert_eq!((listed.rest(&gone).0, listed.lock(&gone)), (Some(3_000), None));
    }
}

#[test]
fn c5_a_rule_of_a_model_leaves_the_connection_in_use() {
    let denied = Failure {
        reason: Reason::AuthError,
        cooldown: CooldownRule::Exact { ms: 21_600_000, level: Level::Zero, stated: false },
        ..quota(403, RuleScope::Model)
    };
    let agentrouter = gateway("agentrouter");
    assert_eq!(agentrouter.lock(&denied), Some(LockReason::Forbidden), "C5");
    assert_eq!(agentrouter.rest(&denied), (None, 0), "C5");
}

#[test]
fn c30_a_rate_limit_of_the_connection_still_locks_a_model_of_a_gateway() {
    let limited = Failure { reason: Reason::RateLimitExceeded, ..quota(429, RuleScope::Connection) };
    assert_eq!(gateway("acme").lock(&limited), Some(LockReason::RateLimited), "C30");
    assert_eq!(place("acme").rest(&limited), (Some(3_000), 1), "3.10.8 elsewhere: as usual");
    let label = RuleMatch { id: RuleId::BuiltIn(0), scope: RuleScope::Connection, honoured: false };
    let labelled = Failure { rule: Some(label), ..quota(402, RuleScope::Connection) };
    assert_eq!(gateway("openrouter").lock(&labelled), Some(LockReason::Credits), "C10: a label");
}

#[test]
fn f16_f17_f18_m16_m17_m20_who_writes() {
    let gone = Failure { terminal: Some(TerminalRule::CreditsExhausted), ..status(402) };
    let missing = status(404);
    assert_eq!(gateway("g").lock(&status(402)), Some(LockReason::Credits), "F16");
    assert_eq!(gateway("g").rest(&status(402)), (None, 0), "F16: active");
    assert_eq!((place("p").lock(&gone), place("p").record(&gone).connection), (None, gone), "F17");
    assert_eq!(place("p").lock(&missing), Some(LockReason::NotFound), "F18");
    assert_eq!(place("p").rest(&missing), (None, 0), "F18");
    assert_eq!(
        (place("p").lock(&status(503)), place("p").rest(&status(503))),
        (None, (Some(3_000), 1)),
        "M16"
    );
    assert_eq!(gateway("g").lock(&status(429)), Some(LockReason::RateLimited), "M17");
    assert_eq!((gateway("g").lock(&status(500)), gateway("g").rest(&status(500))), (None, (None, 0)), "M20");
}

#[test]
fn f23_concurrency_cools_the_connection_of_a_gateway_too() {
    let busy = Failure { reason: Reason::ConcurrencyLimited, ..status(429) };
    assert_eq!((gateway("g").lock(&busy), gateway("g").rest(&busy)), (None, (Some(1_000), 0)), "F23");
}

#[test]
fn p9_f13_a_refusal_locks_the_model_and_leaves_the_connection() {
    let mut blocked = place("claude");
    blocked.breaker_blocks = true;
    let rejected =
        Failure { reason: Reason::RequestRejected, cooldown: CooldownRule::Rejected, ..status(403) };
    for place in [place("claude"), blocked] {
        assert_eq!(place.lock(&rejected), Some(LockReason::RequestRejected), "F13");
        assert_eq!(place.rest(&rejected), (None, 0), "F13: active");
    }
    let mut full = place("claude");
    full.locks_full = true;
    assert_eq!((full.lock(&rejected), full.rest(&rejected).0), (None, Some(300_000)), "as F15");
}

#[test]
fn core_5_4_no_bare_lock_while_the_breaker_blocks() {
    let mut blocked = gateway("g");
    blocked.breaker_blocks = true;
    for code in [404, 429, 503] {
        assert_eq!((blocked.lock(&status(code)), blocked.rest(&status(code)).0), (None, None), "{code}");
    }
    let stated = Failure { hint: hint(60_000), ..status(429) };
    assert!(blocked.lock(&stated).is_some(), "a stated wait is not bare");
    assert!(blocked.lock(&status(529)).is_some(), "nor are ten seconds");
    blocked.lockout.enabled = true;
    assert!(blocked.lock(&status(503)).is_some(), "nor is the list's");
}

#[test]
fn contract_8_a_thousand_locks_are_enough() {
    let mut full = gateway("g");
    full.locks_full = true;
    assert_eq!((full.lock(&status(429)), full.rest(&status(429))), (None, (Some(3_000), 1)));
    assert_eq!((full.lock(&status(404)), full.rest(&status(404)).0), (None, Some(3_000)));
}

#[test]
fn p11_e1_e2_e5_e7_e8_an_egress_rests_as_a_whole() {
    let mut opencode = gateway("opencode");
    opencode.shares_egress = true;
    let limited = status(429);
    let got = opencode.record(&limited);
    assert_eq!((got.siblings, got.lock, opencode.rest(&limited)), (true, None, (Some(3_000), 1)), "E1");
    let gone = Failure {
        reason: Reason::QuotaExhausted,
        cooldown: CooldownRule::Exact { ms: 3_600_000, level: Level::Zero, stated: false },
        ..status(429)
    };
    assert_eq!((opencode.record(&gone).siblings, opencode.rest(&gone).0), (true, Some(3_600_000)), "E2");
    let bare = Failure { cooldown: CooldownRule::Nothing, ..status(429) };
    assert_eq!(opencode.rest(&bare).0, Some(120_000), "4.5");
    // 4.13: an honoured quota of the connection takes the siblings along.
    assert!(opencode.record(&quota(429, RuleScope::Connection)).siblings, "4.13");
    assert!(!opencode.record(&quota(402, RuleScope::Connection)).siblings, "E7");
    let banned = Failure { terminal: Some(TerminalRule::Banned), ..status(429) };
    assert!(!opencode.record(&banned).siblings, "4.3");
    let mut opted_out = gateway("opencode");
    opted_out.shares_egress = true;
    opted_out.cooldown.disable_cooling = true;
    let got = opted_out.record(&gone);
    assert!(!got.siblings && got.lock.is_some(), "E5: a lock of the model");
    assert!(!gateway("opencode").record(&gone).siblings, "E8");
}

#[test]
fn fc_078_a_quota_of_the_account_is_the_connections_and_capacity_is_the_models() {
    let gone = Failure {
        reason: Reason::QuotaExhausted,
        cooldown: CooldownRule::Exact { ms: 9_000_000, level: Level::Zero, stated: true },
        ..status(429)
    };
    assert_eq!((place("p").rest(&gone).0, place("p").lock(&gone)), (Some(9_000_000), None));
    assert_eq!(
        (place("p").rest(&status(529)).0, place("p").lock(&status(529))),
        (None, Some(LockReason::ModelCapacity))
    );
    // Codex by name has families: spark stays usable (P16, M4).
    assert_eq!(place("codex").lock(&gone), Some(LockReason::QuotaExhausted), "P16");
}

/// A 429 of a provider whose body states a wait.
fn says_wait(wait_ms: Millis, source: HintSource) -> Failure {
    let signal = Signal::new(End::Status(429), Some(Hint::new(wait_ms, source)));
    match judge(&signal, &Case::of(Class::Apikey)) {
        Verdict::Failure(failure) => failure,
        other => panic!("{other:?}"),
    }
}

/// E74 to E78, E81 and flow 4.25: (row, provider, wait, typed, max wait) -> (pause, lock, rests).
#[test]
fn rows_e74_to_e81_of_flow() {
    use HintSource::{Body, GoogleRpcRetryInfo as Typed, Header};
    type Row = (&'static str, &'static str, Millis, HintSource, Millis, Option<Millis>, Option<Millis>, bool);
    let rows: [Row; 9] = [
        ("E74", "gemini", 20_000, Typed, 30_000, Some(20_000), None, false),
        ("E75", "gemini", 30_000, Typed, 30_000, Some(30_000), None, false),
        ("E76", "gemini", 34_000, Typed, 30_000, None, Some(34_000), false),
        ("E77", "gemini", 86_399_000, Typed, 30_000, None, Some(86_399_000), false),
        ("E77, capped", "gemini", 100_000_000, Typed, 30_000, None, Some(86_400_000), false),
        ("E78", "gemini", 34_000, Typed, 60_000, Some(34_000), None, false),
        ("E79", "a", 45_000, Body, 30_000, Some(45_000), None, true),
        ("E81", "gemini", 45_000, Body, 30_000, Some(45_000), None, true),
        ("a header is the cooldown's", "gemini", 20_000, Header, 30_000, None, None, true),
    ];
    for (row, provider, wait, source, max_wait_ms, pause, lock, rests) in rows {
        let mut place = place(provider);
        let scope = LimiterScope::of(provider);
        place.limiter = Some(LimiterSettings { max_wait_ms, scope, ..LimiterSettings::of_window(0) });
        let recording = place.record(&says_wait(wait, source));
        let locked = recording.lock.as_ref().and_then(|(_, order)| order.exact_ms);
        let cools = recording.connection.cooldown != CooldownRule::Record;
        assert_eq!((recording.pause_ms, locked, cools), (pause, lock, rests), "{row}");
    }
    assert_eq!(place("gemini").record(&says_wait(20_000, Typed)).pause_ms, None, "not protected");
    let mut per_model = gateway("a");
    per_model.limiter = Some(LimiterSettings::of_window(0));
    let recording = per_model.record(&says_wait(20_000, Typed));
    assert!(recording.lock.is_some() && recording.pause_ms.is_none(), "FC-021: its other models go on");
}

/// A stated wait becomes no lock where none may be written, and nothing where waits are not obeyed.
#[test]
fn a_stated_wait_locks_only_where_it_may() {
    let long = says_wait(34_000, HintSource::GoogleRpcRetryInfo);
    let limited = || {
        let mut place = place("gemini");
        let scope = LimiterScope::of("gemini");
        place.limiter = Some(LimiterSettings { scope, ..LimiterSettings::FREE });
        place
    };
    assert!(limited().record(&long).lock.is_some());
    let mut full = limited();
    full.locks_full = true;
    assert_eq!(full.record(&long).lock, None, "contract 8: as many as may be");
    let mut blocked = limited();
    blocked.breaker_blocks = true;
    assert_eq!(blocked.record(&long).lock, None, "nobody is let through anyway");
    let mut deaf = limited();
    deaf.cooldown.use_hints = false;
    let recording = deaf.record(&says_wait(20_000, HintSource::GoogleRpcRetryInfo));
    assert_eq!((recording.lock, recording.pause_ms), (None, None), "hints are not obeyed");
}
