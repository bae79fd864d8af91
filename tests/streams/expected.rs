//! What a combo expects of an answer (routing 7.9, `response_validation`), over sockets.

use crate::support::{Answer, Setup, World};
use crate::{ALL, CHAT, Dialect, events, got, open_events};

/// `a` before `b`, in a combo that expects this.
fn expecting(rules: &str, section: &str, dialect: &Dialect) -> World {
    let config = format!("max_retries = 0, response_validation = {{ {rules} }}");
    let world = Setup::new().section(section).provider("a", 1).provider("b", 1);
    let world = world.combo_with("m", &["a", "b"], &config).start();
    world.upstream("b").answers(events(&[&dialect.complete()]));
    world
}

#[test]
fn routing_7_9_a_forbidden_text_in_the_opening_of_a_stream_fails_over() {
    for dialect in ALL {
        let world = expecting(r#"forbidden_substrings = ["XYZ"]"#, "", dialect);
        let bad = dialect.complete().replace("北京", "XYZ");
        world.upstream("a").answers(events(&[&bad]));
        got(&dialect.ask(&world, "m"), &dialect.complete());
        assert_eq!((world.upstream("a").asked(), world.failures("a")), (1, 0));
    }
}

/// A stream that was opened again is looked at like the first.
#[test]
fn routing_7_9_a_stream_that_is_opened_again_is_held_to_it_too() {
    let section = "[resilience.stream_recovery]\nenabled = true";
    let world = expecting(r#"forbidden_substrings = ["XYZ"]"#, section, &CHAT);
    world.upstream("a").answers(events(&[&CHAT.complete().replace("北京", "XYZ")]));
    world.upstream("a").answers_first([open_events(&[CHAT.text]).resets()]);
    got(&CHAT.ask(&world, "m"), &CHAT.complete());
    assert_eq!(world.upstream("a").asked(), 2);
}

#[test]
fn routing_7_9_a_whole_answer_is_held_to_all_of_it() {
    let good = Answer::json(200, r#"{"choices":[{"message":{"content":"a long answer"}}]}"#);
    for rules in [
        r#"forbidden_substrings = ["short"]"#,
        r#"required_substrings = ["long"]"#,
        "min_content_length = 10",
        r#"json_path_predicates = [{ path = "$.choices[0].message.content", op = "equals", value = "a long answer" }]"#,
    ] {
        let world = expecting(rules, "", &CHAT);
        world.upstream("a").answers(Answer::json(200, r#"{"choices":[{"message":{"content":"short"}}]}"#));
        world.upstream("b").answers(good.clone());
        let reply = world.ask("m");
        assert!(reply.status == 200 && reply.text().contains("a long answer"), "{rules}: {}", reply.text());
        world.upstream("b").answers(Answer::json(200, r#"{"choices":[{"message":{"content":"short"}}]}"#));
        world.ask("m").is_error(502, "response_validation_failed");
    }
}
