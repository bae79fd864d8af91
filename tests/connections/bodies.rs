//! Bodies and answers: what is accepted, what is told about the rest, how secrets are shown.

use serde_json::{Value, json};

use crate::process::call;
use crate::stage::{FILE_KEY, KEY, OTHER_KEY, Stage};

#[test]
fn a_connection_is_made_shown_masked_and_serves_at_once() {
    let stage = Stage::new("made");
    let made = stage.make(json!({
        "provider": "p", "name": "Team Account", "authType": "apikey", "apiKey": KEY, "priority": 0,
        "maxConcurrent": 7, "models": ["x*"], "rateLimitOverrides": {"rpm": 60, "modelConcurrency": {"x": 2}},
        "providerSpecificData": {"disableCooling": true, "rotationOverrides": {"rotateOn429": false}},
    }));
    assert_eq!(made["id"], "p-team-account");
    assert_eq!(stage.shown("p-team-account"), made);
    let mut expected = made.clone();
    let fields = json!({
        "id": "p-team-account", "provider": "p", "name": "Team Account", "authType": "apikey",
        "apiKey": "sk-…ABCD", "accessToken": null, "refreshToken": null, "expiresAt": null, "proxy": null, "priority": 0,
        "isActive": true, "maxConcurrent": 7, "models": ["x*"],
        "rateLimitOverrides": {"rpm": 60, "modelConcurrency": {"x": 2}},
        "providerSpecificData": {"disableCooling": true, "rotationOverrides": {"rotateOn429": false}},
        "rateLimitProtection": false, "source": "stored", "overrides": null, "status": "ready",
        "rateLimitedUntil": null, "remainingMs": 0, "backoffLevel": 0, "lastErrorType": null, "lastErrorAt": null, "errorCode": null,
    });
    expected.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    assert_eq!(made, expected, "all of it");
    assert!(made["createdAt"].as_str().unwrap().ends_with('Z') && made["createdAt"] == made["updatedAt"]);
    assert_eq!(made.as_object().unwrap().len(), 27);
    assert_eq!(stage.ask("p/x1"), (200, Some(KEY.into())));
    assert_eq!(stage.ask("p/y"), (200, Some(FILE_KEY.into())), "a model that it may not serve");
}

#[test]
fn the_list_is_ordered_and_can_be_of_one_provider() {
    let stage = Stage::new("list");
    stage.make(json!({"id": "p-b", "provider": "p", "name": "b", "apiKey": KEY}));
    stage.make(json!({"id": "p-a", "provider": "p", "name": "a", "apiKey": KEY, "priority": 1}));
    stage.make(json!({"provider": "l", "name": "box"}));
    let list = stage.get("/api/providers?provider=p");
    let rows = list["connections"].as_array().unwrap();
    let shown: Vec<(&str, u64)> =
        rows.iter().map(|row| (row["id"].as_str().unwrap(), row["priority"].as_u64().unwrap())).collect();
    assert_eq!(shown, [("p-a", 1), ("p-file", 1), ("p-b", 2)], "absent: one after the last");
    assert_eq!(rows[1]["apiKey"], "sk-…file", "also of the file");
    let all = stage.sources();
    assert!(
        all.contains(&("demo-a-1".into(), "demo".into())) && all.contains(&("p-file".into(), "file".into()))
    );
    assert!(all.contains(&("l-box".into(), "stored".into())), "a local one needs no key");
    assert_eq!(stage.get("/api/providers?provider=none")["connections"], json!([]));
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn each_wrong_body_is_refused_and_told_by_field() {
    let stage = Stage::new("wrong");
    let before = stage.sources();
    let with = |extra: Value| {
        let mut body = json!({"provider": "p", "name": "n", "apiKey": KEY});
        body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        body
    };
    let oauth = |extra: Value| {
        let mut body = json!({"provider": "o", "name": "n"});
        body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        body
    };
    let cases: Vec<(Value, &str, &str)> = vec![
        (json!({"name": "n", "apiKey": KEY}), "provider", "is missing"),
        (with(json!({"provider": "nobody"})), "provider", "does not exist"),
        (with(json!({"provider": 1})), "provider", "is a whole number"),
        (json!({"provider": "p", "name": "n"}), "apiKey", "is missing, accepted: the credential itself"),
        (with(json!({"apiKey": ""})), "apiKey", "is empty"),
        (with(json!({"apiKey": 12345})), "apiKey", "is a whole number"),
        (with(json!({"apiKey": "a\nb"})), "apiKey", "no header can carry"),
        (with(json!({"apiKey": "sk-é"})), "apiKey", "no header can carry"),
        (with(json!({"apiKey": "env:HOME"})), "apiKey", "only config.toml"),
        (with(json!({"apiKey": "file:/etc/hostname"})), "apiKey", "only config.toml"),
        (with(json!({"id": "a b"})), "id", "1 to 64 characters"),
        (with(json!({"id": 7})), "id", "1 to 64 characters"),
        (with(json!({"name": ""})), "name", "is empty"),
        (with(json!({"name": "x".repeat(201)})), "name", "1 to 200 characters"),
        (with(json!({"authType": "oauth"})), "authType", "accepted: apikey"),
        (with(json!({"priority": -1})), "priority", "out of bounds"),
        (with(json!({"priority": 1.5})), "priority", "number with a fraction"),
        (with(json!({"isActive": "true"})), "isActive", "is a string, accepted: true or false"),
        (with(json!({"maxConcurrent": 100_001})), "maxConcurrent", "from 0 to 100000"),
        (with(json!({"models": []})), "models", "empty list"),
        (with(json!({"models": [1]})), "models", "holds a whole number"),
        (with(json!({"proxy": 7})), "proxy", "is a whole number, accepted: http://HOST:PORT or"),
        (with(json!({"proxy": ""})), "proxy", "is empty, accepted: http://HOST:PORT or"),
        (with(json!({"proxy": "env:HTTP_PROXY"})), "proxy", "only config.toml"),
        (
            with(json!({"proxy": "socks5://u:canary@h:1"})),
            "proxy",
            "is not an http:// address, accepted: http",
        ),
        (with(json!({"proxy": "http://u:canary@h:0"})), "proxy", "is not an address of a proxy"),
        (with(json!({"proxy": "http://u:canary%zz@h:1"})), "proxy", "has a login that cannot be read"),
        (with(json!({"proxy": "http://u:canary\r\n@h:1"})), "proxy", "no header can carry"),
        (with(json!({"proxy": "…"})), "proxy", "no header can carry"),
        (with(json!({"rateLimitOverrides": {"rps": 1}})), "rateLimitOverrides.rps", "accepted: rpm, rpd"),
        (with(json!({"rateLimitOverrides": 1})), "rateLimitOverrides", "accepted: an object"),
        (
            with(json!({"rateLimitOverrides": {"modelConcurrency": {"m": -2}}})),
            "rateLimitOverrides.modelConcurrency",
            "from 0 to 10000",
        ),
        (
            with(json!({"rateLimitOverrides": {"minTime": 60_001}})),
            "rateLimitOverrides.minTime",
            "from 0 to 60000",
        ),
        (
            with(json!({"providerSpecificData": {"baseUrl": "x"}})),
            "providerSpecificData.baseUrl",
            "unknown field",
        ),
        (
            with(json!({"providerSpecificData": {"rotationOverrides": {"error429Threshold": 0}}})),
            "providerSpecificData.rotationOverrides.error429Threshold",
            "from 1 to 1000",
        ),
        (with(json!({"rateLimitProtection": true})), "rateLimitProtection", "unknown field"),
        (with(json!({"unknown": null})), "unknown", "unknown field"),
        (with(json!({"source": "file"})), "source", "unknown field"),
        (with(json!({"accessToken": "at"})), "accessToken", "only for a provider with auth = \"oauth\""),
        (oauth(json!({})), "apiKey", "accessToken or refreshToken"),
        (oauth(json!({"refreshToken": "rt"})), "refreshToken", "has no `oauth`"),
        (oauth(json!({"accessToken": "at", "expiresAt": "soon"})), "expiresAt", "RFC 3339"),
        (oauth(json!({"apiKey": KEY, "expiresAt": "2030-01-01T00:00:00Z"})), "expiresAt", "beside `apiKey`"),
    ];
    for (body, field, told) in cases {
        let (status, answer) = stage.api("POST", "/api/providers", &body);
        let details = answer["error"]["details"].as_array().unwrap_or_else(|| panic!("{body}: {answer}"));
        let hit = details
            .iter()
            .any(|detail| detail["field"] == field && detail["message"].as_str().unwrap().contains(told));
        assert!(status == 400 && hit, "{body}: no {field}: {told}, but {status} {answer}");
        assert_eq!(answer["error"]["code"], "invalid_request");
        assert!(!answer.to_string().contains("canary"), "{answer}");
    }
    assert_eq!(stage.sources(), before, "nothing was stored");
}

#[test]
fn every_mistake_of_a_body_is_told_at_once() {
    let stage = Stage::new("all");
    let body = json!({"provider": "p", "apiKey": "env:X", "priority": "1", "isActive": 0, "extra": 1});
    let (status, answer) = stage.api("POST", "/api/providers", &body);
    let details = answer["error"]["details"].as_array().unwrap();
    let mut fields: Vec<&str> = details.iter().map(|detail| detail["field"].as_str().unwrap()).collect();
    fields.sort_unstable();
    assert_eq!((status, fields), (400, vec!["apiKey", "extra", "isActive", "priority"]));
}

#[test]
fn a_body_that_is_no_object_is_refused_without_its_text() {
    let stage = Stage::new("garbage");
    for (method, path) in
        [("POST", "/api/providers"), ("PATCH", "/api/providers/p-file"), ("PUT", "/api/providers/p-file")]
    {
        for body in ["", "{}", "[]", "7", "{\"apiKey\": \"sk-canary-in-garbage", "sk-canary-in-garbage"] {
            let (status, _, answer) = call(&stage.process.address, method, path, body);
            assert_eq!(status, 400, "{method} {body}: {answer}");
            assert!(!answer.contains("canary"), "{answer}");
        }
    }
}

#[test]
fn a_missing_or_taken_id_a_wrong_method_and_a_stranger_are_told_apart() {
    let stage = Stage::new("refused");
    stage.make(json!({"id": "mine", "provider": "p", "apiKey": KEY}));
    for (method, body) in [
        ("GET", Value::Null),
        ("PUT", json!({"name": "n"})),
        ("PATCH", json!({"name": "n"})),
        ("DELETE", Value::Null),
    ] {
        let (status, answer) = stage.api(method, "/api/providers/nobody", &body);
        assert_eq!((status, &answer["error"]["code"]), (404, &"not_found".into()), "{method}: {answer}");
    }
    for taken in ["mine", "p-file", "demo-a-1"] {
        let (status, answer) =
            stage.api("POST", "/api/providers", &json!({"id": taken, "provider": "p", "apiKey": KEY}));
        assert_eq!((status, &answer["error"]["code"]), (409, &"already_exists".into()), "{taken}: {answer}");
    }
    assert_eq!(stage.api("PUT", "/api/providers", &json!({"isActive": false})).0, 405);
    assert_eq!(stage.api("POST", "/api/providers/mine", &json!({"isActive": false})).0, 405);
    for (method, path) in [
        ("GET", "/api/providers"),
        ("POST", "/api/providers"),
        ("GET", "/api/providers/mine"),
        ("PUT", "/api/providers/mine"),
        ("PATCH", "/api/providers/mine"),
        ("DELETE", "/api/providers/mine"),
    ] {
        let body = json!({"isActive": false}).to_string();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: h\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        let mut stream = std::net::TcpStream::connect(&stage.process.address).unwrap();
        std::io::Write::write_all(&mut stream, format!("{head}{body}").as_bytes()).unwrap();
        let (status, _, answer) = crate::process::read(stream);
        assert_eq!(status, 401, "{method} {path}: {answer}");
        assert!(!answer.contains("mine"), "{answer}");
    }
    assert_eq!(stage.shown("mine")["isActive"], true);
}

#[test]
fn a_masked_or_absent_secret_stays_and_a_new_one_is_used() {
    let stage = Stage::new("secret");
    stage.make(json!({"id": "mine", "provider": "p", "priority": 0, "apiKey": KEY}));
    for body in [json!({"apiKey": "sk-…ABCD"}), json!({"apiKey": "…", "name": "n"}), json!({"name": "m"})]
    {
        assert_eq!(stage.patch("mine", body)["apiKey"], "sk-…ABCD");
        assert_eq!(stage.ask("p/x"), (200, Some(KEY.into())));
    }
    assert_eq!(stage.patch("mine", json!({"apiKey": OTHER_KEY}))["apiKey"], "sk-…WXYZ");
    assert_eq!(stage.ask("p/x"), (200, Some(OTHER_KEY.into())));
    let (status, answer) = stage.api("PATCH", "/api/providers/mine", &json!({"apiKey": null}));
    assert_eq!((status, &answer["error"]["details"][0]["field"]), (400, &"apiKey".into()), "{answer}");
    assert_eq!(stage.patch("mine", json!({"apiKey": "short"}))["apiKey"], "…", "nothing of a short one");
}

#[test]
fn tokens_of_an_account_are_sent_and_masked() {
    let stage = Stage::new("tokens");
    let made = stage.make(json!({
        "id": "acc", "provider": "o", "authType": "oauth", "accessToken": "at-canary-0123456789",
        "refreshToken": "rt-canary-0123456789", "expiresAt": "2030-01-01T00:00:00Z",
    }));
    let shown = [&made["accessToken"], &made["refreshToken"], &made["apiKey"], &made["expiresAt"]];
    assert_eq!(shown, [&json!("at-…6789"), &json!("rt-…6789"), &Value::Null, &json!("2030-01-01T00:00:00Z")]);
    assert_eq!(stage.ask("o/x"), (200, Some("at-canary-0123456789".into())));
    let changed = stage.patch("acc", json!({"accessToken": "at-canary-new-987654"}));
    assert_eq!([&changed["accessToken"], &changed["refreshToken"]], [&json!("at-…7654"), &json!("rt-…6789")]);
    assert_eq!(stage.ask("o/x"), (200, Some("at-canary-new-987654".into())));
    let changed = stage.patch("acc", json!({"apiKey": KEY}));
    let shown =
        [&changed["apiKey"], &changed["accessToken"], &changed["refreshToken"], &changed["expiresAt"]];
    assert_eq!(shown, [&json!("sk-…ABCD"), &Value::Null, &Value::Null, &Value::Null], "one kind at a time");
}

#[test]
fn what_nothing_acts_on_yet_is_kept_and_told() {
    let stage = Stage::new("idle");
    let body =
        json!({"provider": "p", "name": "n", "apiKey": KEY, "rateLimitOverrides": {"rpm": 5, "tpm": 6}});
    let (status, answer) = stage.api("POST", "/api/providers", &body);
    assert_eq!(status, 201, "{answer}");
    let told = |answer: &Value| -> Vec<String> {
        let warnings = answer["warnings"].as_array().cloned().unwrap_or_default();
        warnings.iter().map(|warning| warning["field"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(told(&answer), ["rateLimitOverrides.tpm"]);
    assert!(answer["warnings"][0]["message"].as_str().unwrap().contains("not acted on yet"), "{answer}");
    assert_eq!(answer["connection"]["rateLimitOverrides"], json!({"rpm": 5, "tpm": 6}));
    let (_, answer) = stage.api("PATCH", "/api/providers/p-n", &json!({"name": "m"}));
    assert_eq!(told(&answer), Vec::<String>::new(), "of what this body names");
}
