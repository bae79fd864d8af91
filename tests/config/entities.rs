//! Every mistake of an entity is found at its line.

use crate::support::{check, combo, connection, findings, only_finding, provider, settings};

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn each_mistake_of_a_provider_is_found_at_its_line() {
    let long =
        format!("[[providers]]\nid = \"{}\"\nformat = \"openai\"\nbase_url = \"http://h\"", "x".repeat(65));
    assert_eq!(only_finding(&long).1, "providers[].id");
    let url = |text: &str| format!("[[providers]]\nid = \"p\"\nformat = \"openai\"\nbase_url = \"{text}\"");
    for text in [
        "ftp://h",
        "h/v1",
        "https://u:pw@h/v1",
        "https://h/v1?key=1",
        "https://h#x",
        "https://",
        "http://h:0",
        "http://h y",
    ] {
        let (line, key, told) = only_finding(&url(text));
        assert_eq!((line, key.as_str()), (4, "providers[].base_url"), "{text}");
        assert!(told.contains("http:// or https://") && !told.contains("pw"), "{told}");
    }
    let cases: &[(&str, usize, &str, &str)] = &[
        ("\n[[providers]]\nid = \"p\"", 2, "providers[].base_url", "is missing"),
        ("\n[[providers]]\nid = \"p\"", 2, "providers[].format", "is missing"),
        (&provider("auth = \"magic\""), 5, "providers[].auth", "oauth | apikey | local"),
        (
            &provider("auth_header = \"x-magic\""),
            5,
            "providers[].auth_header",
            "authorization: Bearer | x-api-key",
        ),
        (&provider("http2 = false"), 5, "providers[].http2", "unknown key"),
        (
            &provider("timeouts = { answer = \"1s\" }"),
            5,
            "providers[].timeouts.answer",
            "accepted: connect, first_byte, body, first_content, content_stall, idle, total, attempt",
        ),
        (
            &provider("models = [{ id = \"a\", timeouts = { connect = \"1s\" } }]"),
            5,
            "providers[].models[].timeouts.connect",
            "accepted: first_byte, body, first_content, content_stall, idle, total, attempt",
        ),
        (
            &provider("watchdog = { warmup_ms = 1 }"),
            5,
            "providers[].watchdog.warmup_ms",
            "accepted: enabled, warmup, window, min_bytes_per_second, min_bytes",
        ),
        (&provider("watchdog = { window = \"999ms\" }"), 5, "providers[].watchdog.window", "from 1s to 10m"),
        (&provider("models = []"), 4 - 3, "providers[].models[]", "is an empty list"),
        (&provider("models = [\n\"a\",\n\"a\"]"), 7, "providers[].models[].id", "listed twice"),
        (&provider("models = [{ id = \"a\", price = 1 }]"), 5, "providers[].models[].price", "unknown key"),
        (
            &provider("models = [{ id = \"a\", input_price = -1 }]"),
            5,
            "providers[].models[].input_price",
            "from 0 to",
        ),
        (&provider("models = [7]"), 5, "providers[].models[]", "is a whole number"),
        (
            &provider("headers = { Authorization = \"Bearer x\" }"),
            5,
            "providers[].headers",
            "carries credentials",
        ),
        (&provider("headers = { Connection = \"close\" }"), 5, "providers[].headers", "belongs to one hop"),
        (&provider("headers = { x = \"a\\nb\" }"), 5, "providers[].headers", "control"),
        (&provider("headers = { x = 1 }"), 5, "providers[].headers", "whole number"),
        (&provider("headers = { x = \"1\", X = \"2\" }"), 5, "providers[].headers", "twice"),
        (&provider("headers = { \"x y\" = \"2\" }"), 5, "providers[].headers", "no header can have"),
        (
            &format!("{}{}", provider("# none"), provider("# none")),
            7,
            "providers[].id",
            "another provider's id",
        ),
        (
            "[[providers]]\nid = \"p\"\nformat = [\"openai\", \"klingon\"]\nbase_url = \"http://h\"",
            3,
            "providers[].format",
            "openai | anthropic | responses | gemini",
        ),
        (
            "[[providers]]\nid = \"p\"\nformat = \"klingon\"\nbase_url = \"http://h\"",
            3,
            "providers[].format",
            "gemini",
        ),
        ("[[providers]]\nid = \"p\"\nformat = []\nbase_url = \"http://h\"", 3, "providers[].format", "empty"),
    ];
    check(cases);
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn each_mistake_of_a_connection_is_found_at_its_line() {
    let cases: &[(&str, usize, &str, &str)] = &[
        (&connection("id2 = \"x\""), 10, "connections[].id2", "did you mean `id`?"),
        (&connection("proxy = \"socks5://u:p@h:1\""), 10, "connections[].proxy", "is not an http:// address"),
        (&connection("proxy = \"http://u:p@h:0\""), 10, "connections[].proxy", "HOST:PORT"),
        (&connection("proxy = 3128"), 10, "connections[].proxy", "whole number"),
        (
            &connection("rate_limit_overrides = { rps = 1 }"),
            10,
            "connections[].rate_limit_overrides.rps",
            "did you mean `rpd`?",
        ),
        (
            &connection("rate_limit_overrides = { min_time_ms = \"61s\" }"),
            10,
            "connections[].rate_limit_overrides.min_time_ms",
            "from 0 to 60000",
        ),
        (
            &connection("rate_limit_overrides = { model_concurrency = { m = 10001 } }"),
            10,
            "connections[].rate_limit_overrides.model_concurrency",
            "from 0 to 10000",
        ),
        (
            &connection("rate_limit_overrides = { model_concurrency = 3 }"),
            10,
            "connections[].rate_limit_overrides.model_concurrency",
            "is a whole number",
        ),
        (&connection("models = []"), 10, "connections[].models", "empty"),
        (&connection("models = \"*\""), 10, "connections[].models", "is a string, accepted: a list"),
        (
            &connection("provider_specific = { baseUrl = \"x\" }"),
            10,
            "connections[].provider_specific.baseUrl",
            "unknown key",
        ),
        (
            &connection("provider_specific = { rotationOverrides = { error429Threshold = 0 } }"),
            10,
            "connections[].provider_specific.rotation_overrides.error_429_threshold",
            "from 1 to 1000",
        ),
        (
            &connection("provider_specific = { disable_cooling = true, disableCooling = true }"),
            10,
            "connections[].provider_specific.disable_cooling",
            "twice",
        ),
        (
            &format!(
                "{}[[connections]]\nid = \"c\"\nprovider = \"p\"\ncredential = \"x\"",
                connection("# none")
            ),
            12,
            "connections[].id",
            "another connection's id",
        ),
        (
            "[[connections]]\nid = \"c\"\nprovider = \"nobody\"\ncredential = \"x\"",
            3,
            "connections[].provider",
            "does not exist",
        ),
        (
            &format!("{}[[connections]]\nid = \"c\"\nprovider = \"p\"", provider("# none")),
            6,
            "connections[].credential",
            "is missing",
        ),
        (
            &format!(
                "{}[[connections]]\nid = \"c\"\nprovider = \"p\"\ncredential = \"\"",
                provider("# none")
            ),
            9,
            "connections[].credential",
            "is empty",
        ),
        (
            &format!(
                "{}[[connections]]\nid = \"c\"\nprovider = \"p\"\ncredential = \"a\\nb\"",
                provider("# none")
            ),
            9,
            "connections[].credential",
            "which no header can carry",
        ),
        (
            &format!(
                "{}[[connections]]\nid = \"c\"\nprovider = \"p\"\ncredential = \"sk-\u{e9}\"",
                provider("# none")
            ),
            9,
            "connections[].credential",
            "which no header can carry",
        ),
        (
            &format!(
                "{}[[connections]]\nid = \"c\"\nprovider = \"p\"\ncredential = 12345678",
                provider("# none")
            ),
            9,
            "connections[].credential",
            "is a whole number",
        ),
    ];
    check(cases);
}

#[test]
fn each_mistake_of_a_combo_is_found_at_its_line() {
    let listed = provider("models = [\"a\"]");
    let name =
        |text: &str| format!("{}[[combos]]\nname = \"{text}\"\ntargets = [\"p/a\"]", provider("# none"));
    let cases: &[(&str, usize, &str, &str)] = &[
        (&combo("[]"), 11, "combos[].targets", "has no target"),
        ("[[combos]]\nname = \"m\"", 1, "combos[].targets", "has no target"),
        (&combo("[\"a\"]"), 13, "combos[].targets[].model", "is not provider/model"),
        (&combo("[\"p/\"]"), 13, "combos[].targets[].model", "is not provider/model"),
        (&combo("[\"q/a\"]"), 13, "combos[].targets[].model", "`q`, which does not exist, accepted: p"),
        (&combo("[{ model = \"p/a\", weight = 101 }]"), 13, "combos[].targets[].weight", "from 0 to 100"),
        (
            &combo("[{ model = \"p/a\", connection = \"d\" }]"),
            13,
            "combos[].targets[].connection",
            "does not exist, accepted: c",
        ),
        (
            &combo("[\"p/a\"]\nstrategy = \"best\""),
            14,
            "combos[].strategy",
            "accepted: priority, weighted, p2c",
        ),
        (
            &combo("[\"p/a\"]\nconfig = { max_retries = 11 }"),
            14,
            "combos[].config.max_retries",
            "from 0 to 10",
        ),
        (
            &combo("[\"p/a\"]\nconfig = { manifest_routing = true }"),
            14,
            "combos[].config.manifest_routing",
            "unknown key",
        ),
        (
            &format!("{}[[combos]]\nname = \"m\"\ntargets = [\"p/a\"]", combo("[\"p/a\"]")),
            15,
            "combos[].name",
            "another combo's name",
        ),
        (
            &format!("{listed}[[combos]]\nname = \"m\"\ntargets = [\"p/b\"]"),
            8,
            "combos[].targets[].model",
            "`p` does not list, accepted: a",
        ),
        (&name(""), 7, "combos[].name", "is empty"),
        (&name("a,b"), 7, "combos[].name", "1 to 100 characters"),
        (&name(&"x".repeat(101)), 7, "combos[].name", "1 to 100 characters"),
    ];
    check(cases);
    let foreign = format!(
        "{}[[providers]]\nid = \"q\"\nformat = \"openai\"\nbase_url = \"http://q\"\n[[combos]]\nname = \"m\"\ntargets = [{{ model = \"q/a\", connection = \"c\" }}]",
        connection("# none")
    );
    let (line, key, told) = only_finding(&foreign);
    assert_eq!((line, key.as_str()), (17, "combos[].targets[].connection"));
    assert!(told.contains("belongs to `p`"), "{told}");
    let open = provider("models = [\"a\"]\npassthrough_models = true");
    settings(&format!("{open}[[combos]]\nname = \"m\"\ntargets = [\"p/b\"]"));
}

#[test]
fn each_mistake_of_a_key_is_found_at_its_line() {
    let key = |extra: &str| format!("[[keys]]\nname = \"k\"\nkey = \"secret-1\"\n{extra}\n");
    let cases: &[(&str, usize, &str, &str)] = &[
        ("[[keys]]\nname = \"k\"", 1, "keys[].key", "is missing"),
        ("[[keys]]\nname = \"k\"\nkey = \" \"", 3, "keys[].key", "is empty"),
        ("[[keys]]\nname = \"k\"\nkey = \"env:NOT_THERE\"", 3, "keys[].key", "NOT_THERE is not set"),
        ("[[keys]]\nname = \"k\"\nkey = \"file:nothing\"", 3, "keys[].key", "cannot be read"),
        (&key("scopes = [\"lease:exclusive\"]"), 1, "keys[].allowed_connections", "must name"),
        (&key("scopes = [\"root\"]"), 4, "keys[].scopes", "inference | manage"),
        (&key("scopes = []"), 4, "keys[].scopes", "empty"),
        (&key("allowed_connections = [\"c\"]"), 4, "keys[].allowed_connections", "does not exist"),
        (
            &format!("{}{}", key("# none"), key("# none").replace("secret-1", "secret-2")),
            6,
            "keys[].name",
            "another key's name",
        ),
        (
            &format!("{}{}", key("# none"), key("# none").replace("\"k\"", "\"l\"")),
            7,
            "keys[].key",
            "same secret as the key `k`",
        ),
    ];
    check(cases);
    for (text, ..) in cases {
        assert!(findings(text).iter().all(|each| !each.to_string().contains("secret-")));
    }
}

#[test]
fn a_secret_in_the_wrong_place_is_not_repeated() {
    let secret = "sk-ant-0123456789-0123456789-0123456789";
    let places = [
        connection("# none").replace("provider = \"p\"", &format!("provider = \"{secret}\"")),
        connection("# none").replace("\"sk-c\"", secret),
        connection(&format!("{secret} = 1")),
        combo(&format!("[{{ model = \"{secret}/x\", connection = \"{secret}\" }}]")),
        provider(&format!("auth_header = \"{secret}\"\nheaders = {{ x-api-key = \"{secret}\" }}")),
        format!("[admin]\ntoken = {{ key = \"{secret}\" }}\nlisten = \"{secret}\""),
        format!("[[keys]]\nname = \"k\"\nkey = \"env:{secret}\"\nallowed_connections = [\"{secret}\"]"),
        format!("[[keys]]\nname = \"k\"\nkey = \"{secret}"),
    ];
    for text in places {
        for found in findings(&text) {
            assert!(!found.to_string().contains("0123456789"), "{found}");
        }
    }
}
