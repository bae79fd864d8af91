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
            json!({"name": "m", "targets": good, "system_message": "s".repeat(50_001)}),
            "system_message",
            "1 to 50000",
        ),
        (
            json!({"name": "m", "targets": good, "tool_filter_regex": "read("}),
            "tool_filter_regex",
            "cannot be read: ",
        ),
        (
            json!({"name": "m", "targets": good, "toolFilterRegex": "r".repeat(1_001)}),
            "toolFilterRegex",
            "1 to 1000",
        ),
        (
            json!({"name": "m", "targets": good, "context_length": 999}),
            "context_length",
            "from 1000 to 2000000",
        ),
        (
            json!({"name": "m", "targets": good, "context_length": 2_000_001}),
            "context_length",
            "from 1000 to 2000000",
        ),
        (
            json!({"name": "m", "targets": good, "system_message": "a", "systemMessage": "b"}),
            "system_message",
            "two spellings",
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

/// Null clears a field, so there must be one: a slip in its name would clear nothing.
#[test]
fn a_field_that_does_not_exist_is_refused_also_as_null_and_one_that_does_is_cleared() {
    let stage = Stage::new("nulls");
    let mapping = json!({"id": "m", "pattern": "claude-*", "comboId": "filed", "description": "d"});
    assert_eq!(stage.api("POST", "/api/model-combo-mappings", &mapping).0, 201);
    assert_eq!(stage.api("POST", "/api/keys", &json!({"name": "k", "maxSessions": 3})).0, 201);
    for (list, one, made) in [
        ("/api/combos", "filed", json!({"name": "n", "targets": ["demo-a/steady"]})),
        ("/api/model-combo-mappings", "m", json!({"id": "n", "pattern": "*", "comboId": "filed"})),
        ("/api/keys", "k", json!({"name": "n"})),
        ("/api/provider-nodes", "p", json!({"id": "n", "format": "openai", "baseUrl": "http://h"})),
        ("/api/quota-pools", "n", json!({"id": "n", "name": "n", "connections": ["demo-a-1"]})),
    ] {
        let mut body = made.clone();
        body["descripton"] = json!(null);
        let found = stage.refused("POST", list, body);
        assert!(
            found.iter().any(|(field, told)| field == "descripton" && told.starts_with("unknown field")),
            "{list}: {found:?}"
        );
        assert_eq!(stage.api("POST", list, &made).0, 201, "{list}");
        let found = stage.refused("PATCH", &format!("{list}/{one}"), json!({"descripton": null}));
        assert_eq!(found[0].0, "descripton", "{list}: {found:?}");
    }
    let found = stage.refused("PATCH", "/api/combos/filed", json!({"config": {"maxRetrys": null}}));
    assert_eq!(found[0].0, "config.maxRetrys", "{found:?}");
    for (one, field, cleared) in [
        ("/api/combos/filed", "description", json!(null)),
        ("/api/model-combo-mappings/m", "description", json!(null)),
        ("/api/keys/k", "maxSessions", json!(0)),
        ("/api/provider-nodes/p", "models", json!(null)),
    ] {
        let (status, answer) = stage.api("PATCH", one, &json!({ field: null }));
        assert_eq!((status, &answer[field]), (200, &cleared), "{one}: {answer}");
    }
}

/// The answer is the management API's own, also where a body comes in pieces; nobody else's is read.
#[test]
fn a_body_that_is_too_long_is_told_the_limit() {
    let stage = Stage::new("long");
    let address = &stage.process.address;
    let long = json!({"name": "m", "description": "x".repeat(256 * 1024)});
    for (method, path) in [
        ("POST", "/api/combos"),
        ("PATCH", "/api/keys/k"),
        ("PUT", "/api/provider-nodes/p"),
        ("PATCH", "/api/settings"),
        ("POST", "/api/route/explain"),
        ("POST", "/api/actors/router/router/messages"),
    ] {
        let (status, answer) = stage.api(method, path, &long);
        assert_eq!(
            (status, &answer["error"]["code"]),
            (413, &json!("request_too_large")),
            "{path}: {answer}"
        );
        assert_eq!(answer["error"]["message"], "the body is larger than the 262144 bytes that are accepted");
    }
    let fits = json!({"name": "m", "description": "x".repeat(255 * 1024)});
    assert_eq!(stage.refused("POST", "/api/combos", fits)[0].0, "description", "it is read, and judged");
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    let head = "POST /api/combos HTTP/1.1\r\nhost: h\r\ncontent-length: 999999\r\nconnection: close\r\n\r\n{";
    std::io::Write::write_all(&mut stream, head.as_bytes()).unwrap();
    let (status, _, body) = crate::process::read(stream);
    assert!(status == 401 && body.contains("unauthorized"), "before anything is read: {body}");
}
