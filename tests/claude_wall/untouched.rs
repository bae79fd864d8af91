//! Whom the wall is none of the business of: accounts that opted into nothing, other credentials,
//! other dialects.

use serde_json::json;

use crate::process::call;
use crate::stage::{BOTH, Stage};

#[test]
fn l2_off_by_default() {
    let stage = Stage::new("l2", ("sk-ant-oat-a", ""), "");
    assert_eq!(stage.ask("c/wall-3600"), 429);
    assert_eq!(stage.messages(), [(false, 429)]);
    assert_eq!(stage.state(), "cooling");
}

#[test]
fn l3_l4_an_ordinary_429_and_the_control_group_cool_down() {
    for (name, model) in [("l3", "c/status-429-retry-3"), ("l4", "c/wall-3600-control"), ("l5", "c/wall-0")] {
        let stage = Stage::new(name, ("sk-ant-oat-a", "low_priority_mode = true"), "");
        assert_eq!(stage.ask(model), 429, "{name}");
        assert_eq!(stage.messages(), [(false, 429)], "{name}");
        assert_eq!(stage.state(), "cooling", "{name}");
    }
}

#[test]
fn decision_31_only_tokens_of_accounts_and_their_dialect() {
    let stage = Stage::new("key", ("sk-ant-api03-a", BOTH), "");
    assert_eq!(stage.ask("c/wall-3600"), 429, "no token of an account");
    assert_eq!((stage.messages(), stage.resets().len()), (vec![(false, 429)], 0));

    let stage = Stage::new("dialect", ("sk-ant-oat-a", BOTH), "");
    let body = json!({"model": "c/wall-3600", "messages": [{"role": "user", "content": "hi"}]});
    let status = call(&stage.process.address, "POST", "/v1/chat/completions", &body.to_string()).0;
    assert_eq!(status, 429, "another dialect");
    assert!(stage.seen().iter().all(|seen| !seen.slow && seen.path == "/v1/chat/completions"));
}

#[test]
fn decision_31_only_providers_whose_accounts_they_are() {
    let stage = Stage::of("class", |address| {
        format!(
            "[[providers]]\nid = \"c\"\nauth = \"apikey\"\nformat = \"anthropic\"\nbase_url = \"http://{address}\"\n\
             [[connections]]\nid = \"c-1\"\nprovider = \"c\"\ncredential = \"sk-ant-oat-a\"\n\
             provider_specific = {{ {BOTH} }}\n"
        )
    });
    assert_eq!(stage.ask("c/wall-3600"), 429);
    assert_eq!((stage.messages(), stage.resets().len()), (vec![(false, 429)], 0));
}

#[test]
fn what_is_learnt_outlives_a_change_of_the_config_and_opting_out_ends_it() {
    let stage = Stage::new("reload", ("sk-ant-oat-a", "low_priority_mode = true"), "");
    assert_eq!(stage.ask("c/wall-3600"), 200);
    let patch = |body: &str| {
        let (status, _, said) = call(&stage.process.address, "PATCH", "/api/providers/c-1", body);
        assert_eq!(status, 200, "{said}");
    };
    patch(r#"{"name":"other"}"#);
    assert_eq!(stage.ask("c/wall-3600"), 200);
    assert_eq!(stage.messages().last(), Some(&(true, 200)), "no second wall");
    assert_eq!(stage.messages().len(), 3);
    patch(r#"{"providerSpecificData":{"lowPriorityMode":false}}"#);
    assert_eq!(stage.ask("c/steady"), 200);
    assert_eq!(stage.messages().last(), Some(&(false, 200)));
}
