//! Routing 4.4 and rows 18 to 20.

use super::{Handoff, HandoffKey, Moment, Relay, Summary, is_due, used};
use crate::reading::{AccountReading, WindowReading};
use crate::strategy::RelaySettings;

const NOW: u64 = 1_768_478_400_000;

fn codex() -> RelaySettings {
    RelaySettings { providers: vec!["codex".into()], ..RelaySettings::default() }
}

fn due(settings: &RelaySettings, provider: &str, used: Option<f64>) -> bool {
    is_due(settings, &Moment { provider: &provider.into(), session: true, used, there: false })
}

fn window(used: f64, resets_at: Option<u64>) -> Option<WindowReading> {
    Some(WindowReading { used, resets_at })
}

#[test]
fn row_18() {
    assert!(due(&codex(), "codex", Some(0.86)));
    assert!(due(&codex(), "codex", Some(0.85)));
}

#[test]
fn row_19() {
    assert!(!due(&codex(), "codex", Some(0.96)));
    assert!(!due(&codex(), "codex", Some(0.95)));
    assert!(!due(&codex(), "codex", Some(0.80)));
    let codex_id = "codex".into();
    let there = Moment { provider: &codex_id, session: true, used: Some(0.86), there: true };
    assert!(!is_due(&codex(), &there));
    assert!(!is_due(&codex(), &Moment { there: false, session: false, ..there }));
    assert!(is_due(&codex(), &Moment { there: false, ..there }));
}

#[test]
fn routing_4_4_a_whose_accounts_hand_over() {
    let any = RelaySettings::default();
    for (settings, provider, used, expected) in [
        (codex(), "codex", Some(0.9), true),
        (codex(), "other", Some(0.9), false),
        (codex(), "codex", None, false),
        (any.clone(), "other", Some(0.9), true),
        (any, "other", None, false),
    ] {
        assert_eq!(due(&settings, provider, used), expected, "{provider} {used:?}");
    }
}

#[test]
fn routing_4_4_a_a_threshold_that_cannot_be_one_is_the_built_in_one() {
    for (threshold, used, expected) in [
        (0.5, 0.5, true),
        (0.5, 0.49, false),
        (0.94, 0.93, false),
        (0.0, 0.84, false),
        (0.95, 0.85, true),
        (-1.0, 0.84, false),
        (f64::NAN, 0.85, true),
    ] {
        let settings = RelaySettings { threshold, ..codex() };
        assert_eq!(due(&settings, "codex", Some(used)), expected, "{threshold} {used}");
    }
}

#[test]
fn what_ends_first_decides() {
    let reading = AccountReading {
        session: window(0.2, None),
        weekly: window(0.9, None),
        overall: window(0.5, None),
        ..AccountReading::default()
    };
    let most = |reading: &AccountReading, now| used(reading, now).map(|used| (used * 100.0).round());
    assert_eq!(most(&reading, 0), Some(90.0));
    assert_eq!(most(&reading, 6 * 60_000), None, "nobody said when the windows end: it is too old");
    assert_eq!(most(&AccountReading { limit_reached: true, ..reading }, 0), Some(100.0));
    assert_eq!(most(&AccountReading::default(), 0), None);
}

fn summary() -> Summary {
    Summary { summary: "s".into(), ..Summary::default() }
}

#[test]
fn row_20() {
    let handoff = Handoff::new("c1".into(), "sealed".into(), None, NOW);
    assert!(handoff.is_for(&"c2".into(), NOW));
    assert!(!handoff.is_for(&"c1".into(), NOW));
}

#[test]
fn routing_4_4_c_it_holds_until_the_account_starts_anew() {
    let reading = AccountReading {
        session: window(0.9, Some(NOW + 7_000)),
        weekly: window(0.9, Some(NOW + 90_000)),
        monthly: window(0.9, Some(NOW - 1)),
        ..AccountReading::default()
    };
    let handoff = Handoff::new("c1".into(), "sealed".into(), Some(&reading), NOW);
    assert!(handoff.is_for(&"c2".into(), NOW + 6_999));
    assert!(!handoff.is_for(&"c2".into(), NOW + 7_000));
    for reading in [None, Some(&AccountReading::default())] {
        assert_eq!(Handoff::new("c1".into(), "sealed".into(), reading, NOW).expires_at, NOW + 18_000_000);
    }
}

#[test]
fn routing_4_4_b_a_summary_is_read_within_bounds() {
    let long = "x".repeat(3_000);
    let many: Vec<String> = (0..20).map(|number| format!("\"{number}\"")).collect();
    let many = many.join(",");
    let text = format!(
        "Here it is:\n```json\n{{\"summary\":\" {long}\",\"keyDecisions\":[{many}],\"taskProgress\":\"{long}\",\
         \"activeEntities\":[{many},7]}}\n```"
    );
    let read = Summary::read(&text).unwrap();
    assert_eq!((read.summary.len(), read.key_decisions.len()), (2_000, 8));
    assert_eq!((read.task_progress.len(), read.active_entities.len()), (1_200, 10));
    assert_eq!(Summary::read(r#"{"summary":"s"}"#), Some(summary()));
    for text in ["", "no", "{", r#"{"summary":""}"#, r#"{"summary":7}"#, r#"{"keyDecisions":["a"]}"#, "}{"] {
        assert_eq!(Summary::read(text), None, "{text}");
    }
}

#[test]
fn routing_4_4_d_the_text_cannot_leave_its_elements() {
    let summary = Summary {
        summary: "a </summary> & \"b\" 'c'".into(),
        key_decisions: vec!["<x>".into()],
        task_progress: "half".into(),
        active_entities: Vec::new(),
    };
    let text = summary.text();
    assert!(text.starts_with("<context_handoff>\n") && text.ends_with("\n</context_handoff>"), "{text}");
    assert!(
        text.contains("<summary>a &lt;/summary&gt; &amp; &quot;b&quot; &apos;c&apos;</summary>"),
        "{text}"
    );
    assert!(text.contains("<key_decisions>\n<decision>&lt;x&gt;</decision>\n</key_decisions>"), "{text}");
    assert!(text.contains("<task_progress>half</task_progress>"), "{text}");
    assert!(!text.contains("active_entities"), "{text}");
}

#[test]
fn row_18_the_account_that_served_decides() {
    let reading = AccountReading { session: window(0.86, None), ..AccountReading::default() };
    let relay = Relay {
        key: HandoffKey { session: "s".into(), combo: "m".into() },
        settings: RelaySettings::default(),
        handoff: None,
        making: false,
        readings: vec![("c1".into(), reading)],
    };
    assert!(relay.is_due(&"a".into(), &"c1".into(), 0));
    assert!(!relay.is_due(&"a".into(), &"c2".into(), 0));
    let handoff = Handoff::new("c1".into(), "sealed".into(), None, NOW);
    let there = [Relay { making: true, ..relay.clone() }, Relay { handoff: Some(handoff), ..relay }];
    assert!(there.iter().all(|relay| !relay.is_due(&"a".into(), &"c1".into(), 0)));
}
