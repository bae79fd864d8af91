//! Combos that ask combos (routing 2.3 to 2.9).

use serde_json::{Value, json};

use crate::stage::Stage;

#[test]
fn a_combo_asks_a_combo_whatever_the_spelling_of_the_step() {
    let stage = Stage::new("nested");
    for (name, step) in [
        ("bare", json!("filed")),
        ("object", json!({"model": "filed", "weight": 5})),
        ("named", json!({"comboName": "filed"})),
        ("kind", json!({"kind": "combo-ref", "comboName": "filed", "id": "s"})),
        ("kind-model", json!({"kind": "combo-ref", "model": "filed"})),
    ] {
        let made = stage.make(name, json!([step]));
        let target = &made["targets"][0];
        assert_eq!((&target["kind"], &target["comboName"]), (&"combo-ref".into(), &"filed".into()), "{made}");
        assert_eq!(target.get("model"), None, "{made}");
        assert_eq!(stage.served(name), "demo-a/steady", "{name}");
        let (status, again) = stage.api("PUT", &format!("/api/combos/{name}"), &made);
        assert_eq!((status, &again["targets"]), (200, &made["targets"]), "what was shown can be sent back");
    }
    // A combo that is not there when one asks for it is not guessed.
    stage.make("p/other", json!(["demo-b/steady"]));
    let made = stage.make("slash", json!(["p/other", {"comboName": "p/other"}]));
    assert_eq!(
        (&made["targets"][0]["kind"], &made["targets"][1]["kind"]),
        (&"model".into(), &"combo-ref".into())
    );
}

#[test]
fn row_72_combos_in_a_circle_are_refused() {
    let stage = Stage::new("circle");
    let found = stage.refused("PUT", "/api/combos/filed", json!({"targets": ["filed"]}));
    assert!(found[0].0.starts_with("targets[0]") && found[0].1.contains("filed -> filed"), "{found:?}");
    let found =
        stage.refused("PUT", "/api/combos/filed", json!({"targets": ["demo-a/x", {"comboName": "over"}]}));
    assert!(found.iter().any(|(field, _)| field == "targets[1].comboName"), "{found:?}");
    assert!(found.iter().any(|(_, told)| told.contains("filed -> over -> filed")), "{found:?}");
    let found = stage.refused("POST", "/api/combos", json!({"name": "own", "targets": ["own"]}));
    assert!(found[0].1.contains("own -> own"), "{found:?}");
    assert_eq!(stage.served("over"), "demo-a/steady");
}

/// Routing 2.9, 6.1g: whom a judge asks is asked as any target is.
#[test]
fn a_judge_that_leads_back_is_a_circle() {
    let stage = Stage::new("judge-circle");
    let panel = |name: &str, judge: &str| {
        json!({
            "name": name, "strategy": "fusion", "targets": ["demo-a/steady", "demo-b/steady"],
            "config": {"judgeModel": judge},
        })
    };
    let found = stage.refused("POST", "/api/combos", panel("own", "own"));
    assert_eq!(
        (found[0].0.as_str(), found[0].1.contains("own -> own")),
        ("config.judgeModel", true),
        "{found:?}"
    );
    stage.post(panel("first", "demo-a/steady"));
    stage.post(panel("second", "combo/first"));
    let found = stage.refused("PATCH", "/api/combos/first", json!({"config": {"judgeModel": "second"}}));
    assert!(found.iter().any(|(_, told)| told.contains("first -> second -> first")), "{found:?}");
    let own = json!({"comboDefaults": {"judgeModel": "third"}});
    assert_eq!(stage.api("PATCH", "/api/settings", &own).0, 200, "nobody is called so");
    let own = json!({"name": "third", "strategy": "fusion", "targets": ["demo-a/steady", "demo-b/steady"]});
    let found = stage.refused("POST", "/api/combos", own);
    assert!(found[0].1.contains("third -> third"), "{found:?}");
}

/// The same by a name that is no combo's own: an alias, a mapping, or both; whichever of the three comes
/// last closes the circle, and it alone is refused (routing 2.9, 14.4).
#[test]
fn a_circle_by_another_name_is_refused_where_it_is_closed() {
    let stage = Stage::new("renamed-circle");
    let panel = |name: &str, judge: &str| {
        json!({
            "name": name, "strategy": "fusion", "targets": ["demo-a/steady", "demo-b/steady"],
            "config": {"judgeModel": judge},
        })
    };
    stage.post(panel("first", "best"));
    let alias = |to: &str| json!({"from": "best", "to": to});
    let found = stage.refused("POST", "/api/models/alias", alias("first"));
    assert!(found[0].0 == "to" && found[0].1.contains("first -> first"), "{found:?}");
    let found = stage.refused("POST", "/api/models/alias", alias("combo/first"));
    assert!(found[0].1.contains("first -> first"), "{found:?}");
    let mapping = json!({"pattern": "be*", "comboId": "first"});
    let found = stage.refused("POST", "/api/model-combo-mappings", mapping);
    assert!(found[0].0 == "comboId" && found[0].1.contains("first -> first"), "{found:?}");

    stage.post(panel("second", "demo-a/steady"));
    assert_eq!(stage.api("POST", "/api/models/alias", &alias("second")).0, 200);
    let found = stage.refused("PATCH", "/api/combos/second", json!({"config": {"judgeModel": "first"}}));
    assert!(found[0].0 == "config.judgeModel" && found[0].1.contains(" -> second"), "{found:?}");
    // By its targets, too: a panel asks them all.
    let member = json!({"targets": ["demo-a/steady", {"comboName": "first"}]});
    let found = stage.refused("PATCH", "/api/combos/second", member);
    assert!(found.iter().any(|(_, told)| told.contains("first -> second -> first")), "{found:?}");
    // Two that are right alone.
    stage.post(panel("third", "a3"));
    stage.post(panel("fourth", "a4"));
    let both = json!({"aliases": {"a3": "fourth", "a4": "third"}});
    let found = stage.refused("POST", "/api/models/alias", both);
    assert!(found[0].1.contains("fourth -> third -> fourth"), "{found:?}");
    assert_eq!(stage.api("POST", "/api/models/alias", &json!({"from": "a3", "to": "fourth"})).0, 200);
    // A lone one, and one that is no panel, ask no judge.
    stage.make("beside", json!(["first"]));
    assert_eq!(stage.api("POST", "/api/models/alias", &alias("beside")).0, 200);
}

/// What was wrong in the file before is in no other change's way.
#[test]
fn a_circle_of_the_file_is_told_and_stands_in_no_other_changes_way() {
    let stage = Stage::with(
        "filed-circle",
        "[aliases]\nback = \"round\"\n[[combos]]\nname = \"round\"\nstrategy = \"fusion\"\n\
         targets = [\"demo-a/steady\", \"demo-b/steady\"]\nconfig = { judge_model = \"back\" }\n",
    );
    assert!(stage.site.log().contains("round -> round"), "{}", stage.site.log());
    stage.make("other", json!(["demo-a/steady"]));
    assert_eq!(stage.api("POST", "/api/models/alias", &json!({"from": "x", "to": "other"})).0, 200);
    let found = stage.refused("PUT", "/api/combos/other", json!({
        "strategy": "fusion", "targets": ["demo-a/steady", "demo-b/steady"], "config": {"judgeModel": "x"},
    }));
    assert!(found[0].1.contains("other -> other"), "{found:?}");
}

/// Routing 1.4: what all combos begin with counts for those that come by API, too.
#[test]
fn a_default_depth_holds_for_combos_made_by_api() {
    let stage = Stage::new("depth-default");
    let default = |most: u32| json!({"comboDefaults": {"maxComboDepth": most}});
    assert_eq!(stage.api("PATCH", "/api/settings", &default(1)).0, 200);
    let found = stage.refused("POST", "/api/combos", json!({"name": "two", "targets": ["over"]}));
    assert!(found[0].1.contains("2 deep; at most 1"), "{found:?}");
    assert_eq!(stage.api("PATCH", "/api/settings", &default(5)).0, 200);
    for (name, below) in [("two", "over"), ("three", "two"), ("four", "three")] {
        stage.make(name, json!([below]));
    }
    assert_eq!(stage.served("four"), "demo-a/steady");
    let found = stage.refused("PATCH", "/api/settings", default(3));
    assert!(found.iter().any(|(_, told)| told.contains("`four`")), "{found:?}");
}

/// What is stored never keeps the process from starting.
#[test]
fn a_file_that_nests_deeper_than_a_stored_default_is_taken() {
    let mut stage = Stage::new("depth-file");
    let default = json!({"comboDefaults": {"maxComboDepth": 1}});
    assert_eq!(stage.api("PATCH", "/api/settings", &default).0, 200);
    stage.site.edit(|text| format!("{text}\n[[combos]]\nname = \"above\"\ntargets = [\"over\"]\n"));
    stage.crash();
    assert_eq!(stage.served("filed"), "demo-a/steady");
    assert!(stage.site.log().contains("breaks the combo `above`"), "{}", stage.site.log());
    let other = json!({"comboDefaults": {"maxRetries": 2}});
    assert_eq!(stage.api("PATCH", "/api/settings", &other).0, 200, "it stands in no other change's way");
}

#[test]
fn row_71_what_nests_too_deep_is_refused_and_so_is_what_makes_another_too_deep() {
    let stage = Stage::new("deep");
    stage.make("r4", json!(["demo-b/steady"]));
    for (name, below) in [("r3", "r4"), ("r2", "r3"), ("r1", "r2")] {
        stage.make(name, json!([below]));
    }
    let found = stage.refused("POST", "/api/combos", json!({"name": "r0", "targets": ["r1"]}));
    assert!(found[0].1.contains("4 deep; at most 3"), "{found:?}");
    let deeper = json!({"name": "r0", "targets": ["r1"], "config": {"maxComboDepth": 4}});
    assert_eq!(stage.post(deeper)["config"]["maxComboDepth"], 4);
    assert_eq!(stage.served("r0"), "demo-b/steady");
    // `over` of the file allows two and has one: filed.
    stage.make("mid", json!(["r4"]));
    let found = stage.refused("PUT", "/api/combos/filed", json!({"targets": ["mid"]}));
    assert!(found[0].1.contains("breaks the combo `over`"), "{found:?}");
    assert_eq!(found[0].0, "targets");
}

#[test]
fn routing_14_4_refs_to_a_deleted_combo_lead_nowhere() {
    let mut stage = Stage::new("deleted");
    stage.make("below", json!(["demo-b/steady"]));
    stage.make("above", json!(["below", "demo-a/steady"]));
    stage.make("only", json!(["below"]));
    stage.api("POST", "/api/model-combo-mappings", &json!({"pattern": "alpha-*", "comboId": "below"}));
    assert_eq!(
        (stage.served("above"), stage.served("alpha-1")),
        ("demo-b/steady".into(), "demo-b/steady".into())
    );
    assert_eq!(stage.api("DELETE", "/api/combos/below", &Value::Null).0, 200);
    for _ in 0..2 {
        assert_eq!(stage.served("above"), "demo-a/steady");
        assert_eq!((stage.status("only"), stage.status("alpha-1")), (404, 404));
        stage.crash();
    }
    let found = stage.refused("PATCH", "/api/combos/above", json!({"description": "d"}));
    assert!(
        found[0].1.contains("`below`, which does not exist"),
        "a change must be right as a whole: {found:?}"
    );
    stage.make("below", json!(["demo-b/steady"]));
    assert_eq!(
        (stage.served("above"), stage.served("alpha-1")),
        ("demo-b/steady".into(), "demo-b/steady".into())
    );
}

#[test]
fn routing_2_6_an_executed_combo_orders_its_own_and_needs_a_strategy_that_can() {
    let stage = Stage::new("execute");
    let pair = json!(["demo-a/steady", "demo-b/steady"]);
    stage.post(json!({"name": "pair", "strategy": "round-robin", "targets": pair}));
    let body = |strategy: &str| json!({"name": "outer", "strategy": strategy, "targets": ["pair"], "config": {"nestedComboMode": "execute"}});
    let found = stage.refused("POST", "/api/combos", body("p2c"));
    assert_eq!(found[0].0, "config.nestedComboMode", "{found:?}");
    stage.post(body("priority"));
    let mut served: Vec<String> = (0..4).map(|_| stage.served("outer")).collect();
    served.sort();
    assert_eq!(served, ["demo-a/steady", "demo-a/steady", "demo-b/steady", "demo-b/steady"]);
}

#[test]
fn routing_2_5_tiers_go_before_the_declared_order() {
    let stage = Stage::new("tiers");
    let targets = json!([{"model": "demo-a/steady", "id": "one"}, {"model": "demo-b/steady", "id": "two"}]);
    let body = |first: &str, step: &str| {
        let tiers = json!({"gold": {"stepId": step, "fallbackTier": "rest"}, "rest": {"stepId": "one"}});
        json!({"targets": targets, "config": {"compositeTiers": {"defaultTier": first, "tiers": tiers}}})
    };
    assert_eq!(stage.api("PUT", "/api/combos/filed", &body("gold", "two")).0, 200);
    assert_eq!(stage.served("filed"), "demo-b/steady");
    for (body, field) in [
        (body("silver", "two"), "config.compositeTiers.defaultTier"),
        (body("gold", "three"), "config.compositeTiers.tiers.gold.stepId"),
    ] {
        let found = stage.refused("PUT", "/api/combos/filed", body);
        assert_eq!(found[0].0, field, "{found:?}");
    }
}

#[test]
fn routing_2_2_a_wildcard_stands_for_what_is_listed_and_providers_can_be_left_out() {
    let stage = Stage::new("wild");
    // `p` refuses connections: what is tried and fails is told in the answer.
    stage.post(json!({"name": "wild", "targets": ["p/*", "demo-b/steady"], "allowedProviders": ["demo-b"]}));
    assert_eq!(stage.served("wild"), "demo-b/steady");
    stage.post(json!({"name": "dup", "targets": [{"model": "demo-a/steady", "id": "x"}]}));
    let twice = json!([{"model": "demo-a/steady", "id": "x"}, {"model": "demo-b/steady", "id": "x"}]);
    let found = stage.refused("PUT", "/api/combos/dup", json!({"targets": twice}));
    assert!(found[0].0.starts_with("targets[1]") && found[0].1.contains("has the id"), "{found:?}");
}
