//! What must hold of every verdict: random statuses, headers and texts, made of the words that
//! the lists know and of what stands in no list. `PROPTEST_CASES=1000000 cargo test --release
//! -p policy --test verdicts` runs a million of them.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use policy::hint::{self, Hint};
use policy::ids::Class;
use policy::rules::{ErrorDefault, ErrorRule, RuleBook};
use policy::time::{DAY, Millis};
use policy::verdict::{
    BreakerMark, Case, CooldownRule, DailyReset, Detector, End, Failure, Rotation, RuleScope, Signal,
    TerminalRule, Then, Verdict, judge, lists,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::{
    Just, ProptestConfig, Strategy, any, prop_assert, prop_assert_eq, prop_oneof, proptest,
};
use proptest::sample::select;
use proptest::test_runner::TestCaseError;

type Checked = Result<(), TestCaseError>;

const SIGNAL: &str = "our own ban signal";

/// As many as the knob says; unoptimised, a tenth of the usual number keeps the suite quick.
fn config() -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    ProptestConfig {
        cases: cases.unwrap_or(if cfg!(debug_assertions) { 2_000 } else { 20_000 }),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

// === what is tried ===

/// Every entry of every list, and some words beside them.
static WORDS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let beside = [
        "the model m",
        "resets in 3 days",
        "retry after 20 s",
        "try again at 2026-01-21 12:00:00",
        "额度不足",
        "无权访问模型",
        "\"code\":\"usage_limit_reached\"",
        "\"type\":\"overloaded_error\"",
        "\"loc\"",
        "\"input\"",
        "429",
        "x",
        "\u{130}",
        "🙂",
        "\\u989d",
        "{",
        "}",
        "\"",
        SIGNAL,
    ];
    let listed = lists().flat_map(|list| list.any.into_iter().chain(list.unless));
    listed.chain(beside.map(str::to_owned)).collect()
});

/// A text in plain letters, and as it comes: plain, in capitals, in JSON, or in escapes.
fn text() -> impl Strategy<Value = (String, String)> {
    let words = vec(prop_oneof![9 => select(WORDS.clone()), 1 => ".{0,12}"], 0..6);
    (words, 0_u8..5).prop_map(|(words, dress)| {
        let plain = words.join(" ");
        let dressed = match dress {
            0 => plain.to_uppercase(),
            1 => serde_json::json!({ "error": { "message": &plain, "type": "error" } }).to_string(),
            2 => plain.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect(),
            3 => format!("[{{\"error\":{{{plain}"),
            _ => plain.clone(),
        };
        (plain.to_lowercase(), dressed)
    })
}

fn status() -> impl Strategy<Value = u16> {
    let known =
        [400, 401, 402, 403, 404, 406, 408, 409, 410, 413, 415, 422, 429, 432, 500, 502, 503, 504, 529];
    prop_oneof![8 => select(known.to_vec()), 1 => 0_u16..1_000, 1 => any::<u16>()]
}

fn headers() -> impl Strategy<Value = Vec<(String, String)>> {
    let names = [
        "retry-after",
        "retry-after-ms",
        "x-ratelimit-reset",
        "x-ratelimit-remaining-requests",
        "x-model-quota-remaining",
        "x-omni-fallback-hint",
        "date",
    ];
    let values = [
        "5",
        "0",
        "-1",
        "99999999999999999999",
        "1768478490",
        "Thu, 15 Jan 2026 12:02:00 GMT",
        "m=0,n=4",
        "connection_cooldown",
        "NaN",
        "1h",
        "",
    ];
    vec((select(names.to_vec()), select(values.to_vec())), 0..3)
        .prop_map(|pairs| pairs.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
}

#[derive(Clone, Debug)]
struct Place {
    provider: &'static str,
    model: Option<&'static str>,
    class: Class,
    flags: [bool; 4],
    token_expires_at: Option<Millis>,
    rotation: Rotation,
    daily_reset: Option<DailyReset>,
    now: Millis,
}

fn place() -> impl Strategy<Value = Place> {
    let providers = ["", "acme", "agentrouter", "opencode", "minimax", "openrouter", "claude", "gemini"];
    let rotation = prop_oneof![
        8 => Just(Rotation::Rotates),
        1 => Just(Rotation::Holds),
        1 => (1_u64..30 * DAY).prop_map(Rotation::Forces),
    ];
    let reset =
        (any::<u8>(), any::<i32>()).prop_map(|(hour, offset_minutes)| DailyReset { hour, offset_minutes });
    let class = prop_oneof![Just(Class::Oauth), Just(Class::Apikey), Just(Class::Local)];
    let now = prop_oneof![4 => Just(1_768_478_400_000), 1 => any::<u64>()];
    (
        select(providers.to_vec()),
        option::of(Just("m")),
        class,
        any::<[bool; 4]>(),
        option::of(any::<u64>()),
        rotation,
        option::of(reset),
        now,
    )
        .prop_map(|(provider, model, class, flags, token_expires_at, rotation, daily_reset, now)| {
            Place { provider, model, class, flags, token_expires_at, rotation, daily_reset, now }
        })
}

static RULES: LazyLock<RuleBook> = LazyLock::new(|| {
    let rule = |status, text: Option<&str>, scope, cooldown_ms| ErrorRule {
        status,
        text: text.map(str::to_owned),
        scope: Some(scope),
        cooldown_ms,
        ..ErrorRule::default()
    };
    let rules = vec![
        rule(Some(400), Some("x"), RuleScope::Connection, Some(30 * DAY)),
        rule(Some(503), None, RuleScope::Model, Some(1)),
        rule(None, Some("quota"), RuleScope::Provider, None),
    ];
    let default = ErrorDefault { cooldown_ms: 60_000, ..ErrorDefault::default() };
    RuleBook::new(
        BTreeMap::from([("acme".to_owned(), rules)]),
        BTreeMap::from([("gemini".to_owned(), default)]),
        vec![SIGNAL.to_owned()],
    )
    .expect("within bounds")
});

impl Place {
    fn case(&self) -> Case<'static> {
        let [per_model_quota, passthrough, use_hints, ruled] = self.flags;
        Case {
            request: None,
            provider: self.provider,
            model: self.model,
            class: self.class,
            per_model_quota,
            passthrough,
            use_hints,
            token_expires_at: self.token_expires_at,
            rotation: self.rotation,
            daily_reset: self.daily_reset,
            rules: if ruled { &RULES } else { RuleBook::empty() },
            now: self.now,
        }
    }
}

fn found(headers: &[(String, String)], text: &str, status: u16, now: Millis) -> Option<Hint> {
    let get = |name: &str| {
        let named = headers.iter().find(|(known, _)| known == name);
        named.map(|(_, value)| value.as_bytes())
    };
    hint::find(get, text, status, now)
}

// === what must hold ===

/// Whether the plain text holds one of the words of a list, literally.
fn says(plain: &str, id: &str) -> bool {
    let list = lists().find(|list| list.id == id).expect("a known list");
    list.any.iter().any(|word| plain.contains(word.as_str()))
}

fn check_waits(failure: &Failure) -> Checked {
    let banned = failure.terminal == Some(TerminalRule::Banned);
    let longest = if banned { 365 * DAY } else { 30 * DAY };
    if let CooldownRule::Exact { ms, .. } = failure.cooldown {
        prop_assert!((1..=longest).contains(&ms), "{ms}");
    }
    if let Some(ms) = failure.lock.and_then(|lock| lock.exact_ms) {
        prop_assert!((1..=30 * DAY).contains(&ms), "{ms}");
    }
    if let Some(wait) = failure.hint {
        prop_assert!((Hint::MIN_MS..=Hint::MAX_MS).contains(&wait.wait_ms));
    }
    Ok(())
}

/// Nothing ends an account's use but its own words, a 401 or a 402.
fn check_terminal(failure: &Failure, plain: &str, status: u16) -> Checked {
    let unpaid = says(plain, "S2")
        || plain.contains("suspended")
        || plain.contains("failed_precondition")
        || plain.contains("billing_disabled");
    match failure.terminal {
        None => {}
        Some(TerminalRule::Banned) => prop_assert!(says(plain, "S1") || plain.contains(SIGNAL)),
        Some(TerminalRule::CreditsExhausted) => prop_assert!(unpaid || status == 402),
        Some(TerminalRule::ExpiredIfConfirmed) => prop_assert_eq!(status, 401),
        Some(TerminalRule::Expired) => prop_assert!(false, "a verdict never knows that"),
    }
    Ok(())
}

fn check_sense(failure: &Failure, status: u16) -> Checked {
    // A lock takes the cooldown's place (decision 3b).
    prop_assert!(failure.lock.is_none() || failure.cooldown == CooldownRule::Nothing);
    // What stops with its own answer is nobody's fault but the request's.
    let silent =
        failure.cooldown == CooldownRule::Nothing && failure.lock.is_none() && failure.terminal.is_none();
    prop_assert!(failure.then != Then::Stop || silent);
    let trips = matches!(status, 408 | 500 | 502..=504) || failure.detector == Detector::Transport;
    prop_assert!(trips || !matches!(failure.breaker, BreakerMark::Counts(_)));
    prop_assert_eq!(
        failure.restated_from.is_some(),
        failure.status == 429 && failure.restated_from == Some(status)
    );
    prop_assert!(
        failure.client_wait_ms.is_none() || failure.restated_from.is_some() && failure.hint.is_none()
    );
    Ok(())
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn every_verdict((plain, text) in text(), status in status(), headers in headers(), place in place()) {
        let case = place.case();
        let hint = found(&headers, &text, status, case.now);
        let signal = Signal { end: End::Status(status), hint, headers, text };
        let verdict = judge(&signal, &case);
        prop_assert_eq!(&verdict, &judge(&signal, &case));
        match verdict {
            Verdict::Success => prop_assert!((200..300).contains(&status)),
            Verdict::Neutral => prop_assert!(false, "an answer is never nobody's"),
            Verdict::Failure(failure) => {
                check_waits(&failure)?;
                check_terminal(&failure, &plain, status)?;
                check_sense(&failure, status)?;
            }
        }
    }

    #[test]
    fn any_bytes_have_a_verdict(bytes in vec(any::<u8>(), 0..400), status in status()) {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let place = Case { provider: "agentrouter", ..Case::of(Class::Oauth) };
        let signal = Signal { text, ..Signal::new(End::Status(status), None) };
        if let Verdict::Failure(failure) = judge(&signal, &place) {
            check_waits(&failure)?;
            check_sense(&failure, status)?;
        }
    }
}
