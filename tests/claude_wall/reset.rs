//! The reset of the session limit (rules 9.6).

use crate::stage::{BOTH, RESET, Stage};

const STATUS: &str = "/api/oauth/usage";

fn claim(organization: &str) -> String {
    format!("/api/organizations/{organization}/reset_rate_limits")
}

#[test]
fn r1_a_granted_reset_goes_on_at_full_speed() {
    let stage = Stage::new("r1", ("sk-ant-oat-a", BOTH), "");
    assert_eq!(stage.ask("c/wall-3600"), 200);
    assert_eq!(stage.messages(), [(false, 429), (false, 200)], "no slow header");
    let claim = claim("org-of-the-demo");
    assert_eq!(stage.resets(), [(STATUS.into(), 200), (claim, 200)], "the name is learnt (decision 31)");
    assert_eq!(stage.last_error(), serde_json::Value::Null, "5.5.2");
}

#[test]
fn r10_parallel_walls_share_one_round() {
    let options = format!("{RESET}, organization_uuid = \"slow-300ms\"");
    let stage = Stage::new("r10", ("sk-ant-oat-a", &options), "");
    assert_eq!(stage.ask_at_once("c/wall-3600", 8), [200; 8]);
    assert_eq!(stage.resets(), [(STATUS.into(), 200), (claim("slow-300ms"), 200)]);
    assert!(stage.messages().iter().all(|(slow, _)| !slow));
}

#[test]
fn r5_to_r8_a_reset_that_is_not_had_leaves_the_lane_to_be_tried() {
    for (name, token, organization, asked) in [
        ("r5", "sk-ant-oat-status-500", "o", 1),
        ("r6", "sk-ant-oat-control", "o", 1),
        ("r7", "sk-ant-oat-spent", "o", 1),
        ("r8", "sk-ant-oat-a", "status-403", 2),
        ("r4", "sk-ant-oat-a", "already-used", 2),
    ] {
        let options = format!("{BOTH}, organization_uuid = \"{organization}\"");
        let stage = Stage::new(name, (token, &options), "");
        assert_eq!(stage.ask("c/wall-3600"), 200, "{name}");
        assert_eq!(stage.messages(), [(false, 429), (true, 200)], "{name}");
        assert_eq!(stage.resets().len(), asked, "{name}: {:?}", stage.resets());
    }
}

#[test]
fn r3_what_is_remembered_is_not_asked_for_again() {
    let options = format!("{RESET}, organization_uuid = \"already-used\"");
    let stage = Stage::new("r3", ("sk-ant-oat-a", &options), "");
    assert_eq!(stage.ask("c/wall-3600"), 429, "no lane was opted into");
    assert_eq!(stage.state(), "cooling");
    crate::process::order(&stage.process.address, "connection/c-1", r#"{"message":"reset"}"#);
    assert_eq!(stage.ask("c/wall-3600"), 429);
    assert_eq!(stage.messages(), [(false, 429); 2]);
    assert_eq!(stage.resets().len(), 2, "one round: {:?}", stage.resets());
}
