//! Accounts with tokens: what a provider and a connection of `auth = "oauth"` may say,
//! and which combinations cannot work (contract 8, "Config").

use crate::support::{check, connection, load_text, provider, settings};

const CLIENT: &str = "oauth = { token_url = \"https://h/token\", client_id = \"id\" }";

/// A connection of a provider with these extra lines; its own lines start at 8.
fn account(provider_extra: &str, lines: &str) -> String {
    let provider = provider(&format!("auth = \"oauth\"\n{provider_extra}"));
    format!("{provider}[[connections]]\nid = \"c\"\nprovider = \"p\"\n{lines}\n")
}

#[test]
fn tokens_and_their_client_are_read() {
    let client = "oauth = { token_url = \"https://h/token\", client_id = \"id\", client_secret = \"shh\", \
                  scopes = [\"user:inference\", \"https://h/auth/all\"] }";
    let lines = "access_token = \"at\"\nrefresh_token = \"rt\"\nexpires_at = \"2026-01-01T00:00:00.5Z\"";
    let read = settings(&account(client, lines));
    let client = read.providers[0].oauth.as_ref().unwrap();
    assert_eq!((client.token_url.as_str(), client.client_id.as_str()), ("https://h/token", "id"));
    assert_eq!(client.client_secret.as_ref().unwrap().expose(), "shh");
    assert_eq!(client.scopes, ["user:inference", "https://h/auth/all"]);
    let connection = &read.connections[0];
    let tokens = connection.tokens.as_ref().unwrap();
    assert_eq!(tokens.access.as_ref().unwrap().expose(), "at");
    assert_eq!(tokens.refresh.as_ref().unwrap().expose(), "rt");
    assert_eq!(tokens.expires_at, Some(1_767_225_600_500));
    assert_eq!(connection.credential.as_ref().unwrap().expose(), "at", "the access token is sent");
}

#[test]
fn a_date_without_quotes_is_read_too() {
    let read = settings(&account("", "access_token = \"at\"\nexpires_at = 2026-01-01T02:00:00+02:00"));
    assert_eq!(read.connections[0].tokens.as_ref().unwrap().expires_at, Some(1_767_225_600_000));
}

#[test]
fn an_account_may_have_one_token_or_a_plain_credential() {
    let refresh_only = settings(&account(CLIENT, "refresh_token = \"rt\""));
    assert_eq!(refresh_only.connections[0].credential, None);
    assert_eq!(refresh_only.connections[0].tokens.as_ref().unwrap().access, None);
    let access_only = settings(&account("", "access_token = \"at\""));
    assert_eq!(access_only.providers[0].oauth, None);
    assert_eq!(access_only.connections[0].tokens.as_ref().unwrap().refresh, None);
    assert_eq!(settings(&account("", "credential = \"at\"")).connections[0].tokens, None);
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn what_cannot_work_is_refused_at_its_line() {
    let cases: &[(&str, usize, &str, &str)] = &[
        (&account("", ""), 7, "connections[].credential", "access_token or refresh_token"),
        (
            &account(CLIENT, "expires_at = \"2026-01-01T00:00:00Z\""),
            10,
            "connections[].expires_at",
            "no token",
        ),
        (
            &account(CLIENT, "credential = \"x\"\naccess_token = \"at\""),
            11,
            "connections[].access_token",
            "beside `credential`",
        ),
        (
            &account("", "refresh_token = \"rt\""),
            10,
            "connections[].refresh_token",
            "provider has no `oauth`",
        ),
        (
            &account("", "access_token = \"at\"\nexpires_at = \"soon\""),
            11,
            "connections[].expires_at",
            "RFC 3339",
        ),
        (&account("", "access_token = \"\""), 10, "connections[].access_token", "is empty"),
        (
            &connection("# none").replace("credential = \"sk-c\"", "access_token = \"at\""),
            9,
            "connections[].access_token",
            "auth = \"oauth\"",
        ),
        (&provider(CLIENT), 5, "providers[].oauth.token_url", "only for auth = \"oauth\""),
        (
            &provider("auth = \"oauth\"\noauth = { token_url = \"https://h\" }"),
            1,
            "providers[].oauth.client_id",
            "is missing",
        ),
        (
            &provider("auth = \"oauth\"\noauth = { client_id = \"id\", token_url = \"h\" }"),
            6,
            "providers[].oauth.token_url",
            "http:// or https://",
        ),
        (
            &provider(&format!("auth = \"oauth\"\n{}", CLIENT.replace(" }", ", scopes = [\"a b\"] }"))),
            6,
            "providers[].oauth.scopes",
            "without blanks",
        ),
        (
            &provider(&format!(
                "auth = \"oauth\"\n{}",
                CLIENT.replace(" }", ", client_secret = \"env:NO\" }")
            )),
            6,
            "providers[].oauth.client_secret",
            "NO is not set",
        ),
    ];
    check(cases);
}

#[test]
fn a_missing_token_is_a_warning() {
    let text = account(CLIENT, "access_token = \"env:NO\"\nrefresh_token = \"env:NEITHER\"");
    let loaded = load_text(&text, &[]).unwrap();
    let told: Vec<String> = loaded.warnings.iter().map(|warning| warning.problem.clone()).collect();
    assert!(told.iter().any(|text| text.contains("NO is not set; the connection is inactive")), "{told:?}");
    assert!(told.iter().any(|text| text.contains("NEITHER is not set; the access token")), "{told:?}");
    assert_eq!(loaded.settings.connections[0].credential, None);
}

#[test]
fn a_refresh_token_without_an_endpoint_is_a_warning() {
    let loaded = load_text(&account("", "access_token = \"at\"\nrefresh_token = \"rt\""), &[]).unwrap();
    assert_eq!(loaded.warnings.len(), 1);
    assert_eq!(loaded.warnings[0].key, "connections[].refresh_token");
}
