//! Bodies that are refused, each with its field and what would be right.

use serde_json::json;

use crate::stage::Stage;

#[test]
#[expect(clippy::too_many_lines, reason = "one table")]
fn every_wrong_field_is_told_by_its_name() {
    let stage = Stage::new("fields");
    let good = json!(["demo-a/steady"]);
    for (body, field, told) in [
        (json!({"targets": good}), "name", "is missing"),
        (json!({"name": "a,b", "targets": good}), "name", "1 to 100 characters"),
        (json!({"name": "x".repeat(101), "targets": good}), "name", "1 to 100 characters"),
        (json!({"name": "filed", "targets": good}), "name", "is another combo's name already"),
        (json!({"name": "demo", "targets": good}), "name", "is another combo's name already"),
        (json!({"name": "m", "id": "n", "targets": good}), "id", "cannot change"),
        (json!({"name": "m"}), "targets", "has no target"),
        (json!({"name": "m", "targets": []}), "targets", "has no target"),
        (json!({"name": "m", "targets": "demo-a/steady"}), "targets", "is a string, accepted: a list"),
        (json!({"name": "m", "targets": good, "models": good}), "targets", "two spellings"),
        (json!({"name": "m", "targets": [7]}), "targets[0]", "is a whole number, accepted: an object"),
        (json!({"name": "m", "targets": [{}]}), "targets[0].model", "is missing"),
        (json!({"name": "m", "targets": ["steady"]}), "targets[0].model", "is not provider/model"),
        (
            json!({"name": "m", "targets": ["q/x"]}),
            "targets[0].model",
            "names the provider `q`, which does not exist",
        ),
        (
            json!({"name": "m", "targets": ["p/x"]}),
            "targets[0].model",
            "does not list, accepted: listed, other",
        ),
        (json!({"name": "m", "targets": ["p/x*"]}), "targets[0].model", "stands for no model"),
        (
            json!({"name": "m", "targets": [{"model": "m".repeat(301)}]}),
            "targets[0].model",
            "1 to 300 characters",
        ),
        (
            json!({"name": "m", "targets": [{"model": "demo-a/x", "weight": 101}]}),
            "targets[0].weight",
            "from 0 to 100",
        ),
        (
            json!({"name": "m", "targets": [{"model": "demo-a/x", "weight": "7"}]}),
            "targets[0].weight",
            "is a string",
        ),
        (
            json!({"name": "m", "targets": [{"model": "demo-a/x", "connectionId": "demo-b-1"}]}),
            "targets[0].connectionId",
            "belongs to `demo-b`",
        ),
        (
            json!({"name": "m", "targets": [{"model": "demo-a/x", "allowedConnectionIds": ["nobody"]}]}),
            "targets[0].allowedConnectionIds",
            "does not exist",
        ),
        (
            json!({"name": "m", "targets": [{"model": "demo-a/x", "tags": vec!["t"; 21]}]}),
            "targets[0].tags",
            "at most 20",
        ),
        (
            json!({"name": "m", "targets": [{"model": "demo-a/x", "prompt": "p".repeat(20_001)}]}),
            "targets[0].prompt",
            "1 to 20000",
        ),
        (
            json!({"name": "m", "targets": [{"model": "demo-a/x", "colour": 1}]}),
            "targets[0].colour",
            "unknown field, accepted: model, comboName, kind",
        ),
        (
            json!({"name": "m", "targets": [{"comboName": "nobody"}]}),
            "targets[0].comboName",
            "names the combo `nobody`, which does not exist",
        ),
        (
            json!({"name": "m", "targets": [{"kind": "combo-ref", "model": "nobody"}]}),
            "targets[0].model",
            "which does not exist",
        ),
        (
            json!({"name": "m", "targets": [{"kind": "model", "model": "filed"}]}),
            "targets[0].model",
            "is not provider/model",
        ),
        (
            json!({"name": "m", "targets": [{"comboName": "filed", "model": "demo-a/x"}]}),
            "targets[0].comboName",
            "stands beside `model`",
        ),
        (
            json!({"name": "m", "targets": [{"comboName": "filed", "connectionId": "demo-a-1"}]}),
            "targets[0].connectionId",
            "is not looked at",
        ),
        (
            json!({"name": "m", "targets": good, "strategy": "fastest"}),
            "strategy",
            "is no strategy that is built, accepted: priority",
        ),
        (json!({"name": "m", "targets": good, "description": "d".repeat(2_001)}), "description", "1 to 2000"),
        (
            json!({"name": "m", "targets": good, "allowedProviders": ["nobody"]}),
            "allowedProviders",
            "does not exist",
        ),
        (
            json!({"name": "m", "targets": good, "system_message": "be kind"}),
            "system_message",
            "unknown field",
        ),
        (json!({"name": "m", "targets": good, "config": []}), "config", "is a list, accepted: an object"),
        (
            json!({"name": "m", "targets": good, "config": {"shadowRouting": {}}}),
            "config.shadowRouting",
            "unknown field",
        ),
        (
            json!({"name": "m", "targets": good, "config": {"max_retries": 1}}),
            "config.max_retries",
            "unknown field",
        ),
        (
            json!({"name": "m", "targets": good, "config": {"responseValidation": {"jsonPathPredicates": [{"path": "$.a"}]}}}),
            "config.responseValidation.jsonPathPredicates[0].op",
            "is missing",
        ),
        (
            json!({"name": "m", "targets": good, "config": {"responseValidation": {"jsonPathPredicates": [{"path": "$.a", "op": "equals"}]}}}),
            "config.responseValidation.jsonPathPredicates[0].value",
            "is missing",
        ),
        (
            json!({"name": "m", "targets": good, "config": {"compositeTiers": {"tiers": {"a": {"stepId": "x"}}}}}),
            "config.compositeTiers.defaultTier",
            "is missing",
        ),
    ] {
        let found = stage.refused("POST", "/api/combos", body.clone());
        let hit = found.iter().any(|(of, message)| of == field && message.contains(told));
        assert!(hit, "no {field}: {told}\nin {body}\nbut {found:#?}");
    }
    assert_eq!(stage.get("/api/combos")["combos"].as_array().unwrap().len(), 7, "nothing was stored");
}

/// The bounds of routing 1.3: the least and the most pass, and one beyond each is refused.
#[test]
fn routing_1_3_bounds() {
    let stage = Stage::new("bounds");
    for (field, least, most) in [
        ("maxRetries", 0_i64, 10_i64),
        ("retryDelayMs", 0, 60_000),
        ("fallbackDelayMs", 0, 60_000),
        ("maxSetRetries", 0, 10),
        ("setRetryDelayMs", 0, 60_000),
        ("targetTimeoutMs", 0, 2_147_483_647),
        ("maxComboDepth", 1, 10),
        ("concurrencyPerModel", 1, 20),
        ("queueTimeoutMs", 1_000, 120_000),
        ("queueDepth", 0, 100),
        ("stickyRoundRobinLimit", 0, 1_000),
        ("stickyWeightedLimit", 0, 1_000),
        ("maxMessagesForSummary", 5, 100),
        ("resetAwareTieBandPercent", 0, 100),
        ("resetWindowTieBandMs", 0, 86_400_000),
        ("quotaWeightedFloorPercent", 0, 100),
    ] {
        for (value, fits) in [(least, true), (most, true), (least - 1, false), (most + 1, false)] {
            let body = json!({"targets": ["demo-a/steady"], "config": {field: value}});
            let (status, answer) = stage.api("PUT", "/api/combos/filed", &body);
            assert_eq!(status == 200, fits, "{field} = {value}: {answer}");
        }
    }
}
