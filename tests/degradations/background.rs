//! A response that is wanted later is made now (rules 8.1).

use crate::support::{Setup, post};

const PATH: &str = "/v1/responses";

#[test]
fn d1_d2_the_field_goes_and_only_a_true_one_is_told() {
    let mut child = Setup::new().provider("p", 1).spawn();
    let rows = [
        (r#"{"background":true,"model":"p/x","input":"a"}"#, r#"{"model":"x","input":"a"}"#),
        (r#"{"input":"b","model":"p/x","background":false}"#, r#"{"input":"b","model":"x"}"#),
        (r#"{"input":"c","background":null,"model":"p/x"}"#, r#"{"input":"c","model":"x"}"#),
        (r#"{"input":"d","background":1,"model":"p/x"}"#, r#"{"input":"d","model":"x"}"#),
    ];
    for (sent, _) in rows {
        let reply = post(child.address, PATH, "", sent.as_bytes());
        assert_eq!(reply.status, 200, "the ordinary completed reply: {}", reply.text());
    }
    let got: Vec<String> =
        child.upstream("p").requests().iter().map(|got| String::from_utf8_lossy(&got.body).into()).collect();
    assert_eq!(got, rows.map(|(_, got)| got));
    let (log, _) = child.end();
    let lines: Vec<&str> = log.lines().filter(|line| line.contains("BACKGROUND_DEGRADE")).collect();
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(
        lines[0].contains('p') && lines[0].contains("model") && lines[0].contains("provider"),
        "{lines:?}"
    );
}

#[test]
fn a_field_of_that_name_in_another_dialect_is_the_providers_affair() {
    let world = Setup::new().provider("p", 1).start();
    let body = r#"{"model":"x","background":true,"messages":[]}"#;
    let sent = body.replace("\"x\"", "\"p/x\"");
    assert_eq!(post(world.address, "/v1/chat/completions", "", sent.as_bytes()).status, 200);
    assert_eq!(world.upstream("p").only_request().body, body.as_bytes());
}
