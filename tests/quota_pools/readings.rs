//! What answers say of their account's quota, and what requests make of it (routing 4.12, rules
//! 8.4): nothing is shared here, so no pool is made.

use serde_json::json;

use crate::stage::{PLAIN, Stage};
use crate::support::Answer;

const USED: &str = "content-type: application/json\r\nanthropic-ratelimit-unified-5h-utilization: 0.99\r\n\
                    anthropic-ratelimit-unified-5h-reset: 4102444800\r\n";

fn combo(strategy: &str) -> String {
    format!("[[combos]]\nname = \"mine\"\nstrategy = \"{strategy}\"\ntargets = [{{ model = \"p/m\" }}]\n")
}

#[test]
fn routing_4_12_an_account_that_says_it_is_nearly_used_up_goes_last() {
    let stage = Stage::new("headroom", 0, &combo("headroom"));
    stage.vendor.answers_first([Answer::sized(200, USED, r#"{"ok":1}"#)]);
    for _ in 0..5 {
        assert_eq!(stage.ask(PLAIN, "mine").status, 200);
    }
    let seen = stage.seen();
    assert_eq!(seen[0], "p-1");
    assert!(!seen[1..].contains(&"p-1".to_owned()), "{seen:?}");
    assert!(seen.contains(&"p-2".to_owned()) && seen.contains(&"p-3".to_owned()), "{seen:?}");
}

#[test]
fn rules_8_4_the_cutoff_leaves_out_who_is_nearly_used_up_on_every_path() {
    let lines = format!("[resilience.quota_preflight]\nenabled = true\n{}", combo("priority"));
    let stage = Stage::new("cutoff", 0, &lines);
    stage.vendor.answers(Answer::sized(200, USED, r#"{"ok":1}"#));
    for model in ["mine", "p/m", "mine"] {
        assert_eq!(stage.ask(PLAIN, model).status, 200);
    }
    assert_eq!(stage.seen(), ["p-1", "p-2", "p-3"]);
    for (model, code) in [("mine", "ALL_TARGETS_SKIPPED"), ("p/m", "model_cooldown")] {
        let refused = stage.ask(PLAIN, model);
        assert_eq!((refused.status, refused.code()), (429, code), "{refused:?}");
        assert!(refused.header("retry-after").is_some(), "{refused:?}");
    }
    assert_eq!(stage.vendor.asked(), 3, "nobody was asked");
    assert!(stage.site.log().contains("left out until its quota starts anew"), "{}", stage.site.log());
    let (status, body) =
        stage.api("PATCH", "/api/resilience", &json!({"quotaPreflight": {"enabled": false}}));
    assert_eq!(status, 200, "{body}");
    assert_eq!(stage.ask(PLAIN, "mine").status, 200, "nothing was benched: the number is read anew");
}

#[test]
fn rules_8_4_3_an_account_has_its_own_number_by_api() {
    let stage = Stage::new("own-cutoff", 0, &combo("priority"));
    let body = json!({"quotaWindowThresholds": {"session": 50}});
    let (status, told) = stage.api("PATCH", "/api/providers/p-1", &body);
    assert_eq!(status, 200, "{told}");
    let half = USED.replace("0.99", "0.5");
    stage.vendor.answers(Answer::sized(200, &half, r#"{"ok":1}"#));
    for _ in 0..3 {
        assert_eq!(stage.ask(PLAIN, "mine").status, 200);
    }
    assert_eq!(stage.seen(), ["p-1", "p-2", "p-2"]);
}

#[test]
fn routing_5_1_auto_needs_no_combo() {
    let stage = Stage::new("auto", 0, "");
    let answer = stage.ask(PLAIN, "auto/cheap");
    assert_eq!(answer.status, 200, "{answer:?}");
    assert!(answer.header("x-omniroute-decision").unwrap().starts_with("strategy=auto; provider="));
    assert_eq!(stage.ask(PLAIN, "auto/turbo").code(), "model_not_found");
}
