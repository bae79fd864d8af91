//! An answer may repeat the request: what the client wrote is no word of the provider, and no
//! account is benched for it (decision 8). A structured code is the provider's own.

use super::super::{Case, End, Failure, Signal, TerminalRule, Verdict, judge};
use crate::ids::Class;

fn judged(status: u16, text: &str, request: &str) -> Failure {
    let signal = Signal { text: text.to_owned(), ..Signal::new(End::Status(status), None) };
    let case = Case { provider: "acme", request: Some(request.as_bytes()), ..Case::of(Class::Apikey) };
    match judge(&signal, &case) {
        Verdict::Failure(failure) => failure,
        other => panic!("{status} is {other:?}"),
    }
}

#[test]
fn words_of_the_request_end_and_rest_nobody() {
    let asked =
        |words: &str| format!(r#"{{"model":"p/x","messages":[{{"role":"user","content":"{words}"}}]}}"#);
    let rows = [
        (404, "account_deactivated", "The model `account_deactivated` does not exist"),
        (400, "account_deactivated", "Unrecognized request argument supplied: account_deactivated"),
        (403, "Your account has been suspended", "flagged: \\\"your account has been suspended\\\""),
        (500, "insufficient_quota", "cannot parse: insufficient_quota"),
        (429, "credits exhausted", "slow down (credits exhausted)"),
        (422, "weekly usage limit", "bad input: weekly usage limit"),
        (400, "no longer works", "prompt refused: no longer works"),
    ];
    for (status, words, said) in rows {
        let text = format!(r#"{{"error":{{"message":"{said}"}}}}"#);
        let (own, echo) = (judged(status, &text, "{}"), judged(status, &text, &asked(words)));
        assert!(own.terminal.is_some() || own != echo, "the row shows something: {status} {words}");
        assert_eq!(echo.terminal, None, "{status} {words}");
        assert_eq!(
            echo.detector,
            judged(status, r#"{"error":{"message":"x"}}"#, "{}").detector,
            "{status} {words}"
        );
        let escaped = asked(words).replace('_', "\\u005f").replace(" has", "\\u0020has");
        assert_eq!(judged(status, &text, &escaped), echo, "escapes: {status} {words}");
    }
}

#[test]
fn a_code_is_the_provider_s_own_word() {
    let text = r#"{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}"#;
    let asked =
        r#"{"messages":[{"content":"why do I get insufficient_quota? exceeded your current quota"}]}"#;
    assert_eq!(judged(402, text, asked).terminal, Some(TerminalRule::CreditsExhausted));
    assert_eq!(judged(429, text, asked).terminal, Some(TerminalRule::CreditsExhausted));
}

#[test]
fn a_request_too_long_to_search_is_not_believed_either() {
    let text = r#"{"error":{"message":"account_deactivated"}}"#;
    let long = "x".repeat(3 << 20);
    assert_eq!(judged(400, text, &long).terminal, None);
    assert_eq!(judged(400, text, "x").terminal, Some(TerminalRule::Banned));
}
