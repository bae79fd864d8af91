//! Routing 6.1c, g, 6.2b, c in each dialect: what changes, and that nothing else does.

use policy::catalogue::Dialect::{Anthropic, Openai, Responses};
use serde_json::{Value, json};

use super::{NoText, brings_tools, handed, judged, plain, prompted, text};

fn read(body: bytes::Bytes) -> Value {
    serde_json::from_slice(&body).unwrap()
}

#[test]
fn routing_6_1_b_tools_are_brought_unless_their_use_is_forbidden() {
    for (body, expected) in [
        (r#"{"tools":[{}]}"#, true),
        (r#"{"tools":[{}],"tool_choice":"auto"}"#, true),
        (r#"{"tools":[{}],"tool_choice":{"type":"any"}}"#, true),
        (r#"{"tools":[{}],"tool_choice":"none"}"#, false),
        (r#"{"tools":[{}],"tool_choice":{"type":"none"}}"#, false),
        (r#"{"tools":[]}"#, false),
        (r#"{"tools":null}"#, false),
        (r#"{"functions":[{}]}"#, true),
        (r#"{"functions":[{}],"function_call":"none"}"#, false),
        (r#"{"tool_choice":"auto"}"#, false),
        ("[]", false),
    ] {
        assert_eq!(brings_tools(body.as_bytes()), expected, "{body}");
    }
}

#[test]
fn routing_6_1_c_a_member_gets_the_rest_byte_for_byte() {
    let body = br#"{ "z": 1.50, "stream":true,"tools":[{"a":1}],"tool_choice":"none", "stream_options":{},
        "parallel_tool_calls":true, "messages" : [ {"role":"user", "content":"\u0061"} ], "model":"m" }"#;
    let made = plain(body).unwrap();
    assert_eq!(
        std::str::from_utf8(&made).unwrap(),
        r#"{"z":1.50,"stream":false,"messages":[ {"role":"user", "content":"\u0061"} ],"model":"m"}"#
    );
    assert_eq!(plain(br#"{"model":"m"}"#).unwrap(), &br#"{"model":"m"}"#[..]);
    assert_eq!(plain(b"{}").unwrap(), &b"{}"[..]);
    assert_eq!(plain(b"[1]"), None);
}

#[test]
fn routing_6_1_g_the_judge_sees_the_answers_by_number() {
    let chat = br#"{"model":"m","messages":[{"role":"user","content":"q"}],"stream":true,"tools":[]}"#;
    let made = read(judged(Openai, chat, &["one", "two \"2\""]).unwrap());
    let turns = made["messages"].as_array().unwrap();
    assert_eq!((turns.len(), &turns[1]["role"]), (2, &json!("user")));
    let said = turns[1]["content"].as_str().unwrap();
    assert!(said.ends_with("\n\nSource 1:\none\n\nSource 2:\ntwo \"2\""), "{said}");
    assert_eq!((&made["stream"], &made["tools"]), (&json!(true), &json!([])));
    let empty = read(judged(Anthropic, br#"{"messages":[ ]}"#, &["x"]).unwrap());
    assert_eq!(empty["messages"].as_array().unwrap().len(), 1);
    let bare = read(judged(Responses, br#"{"input":"q \"r\""}"#, &["x"]).unwrap());
    assert_eq!(bare["input"][0], json!({"role": "user", "content": "q \"r\""}));
    assert_eq!(bare["input"][1]["role"], "user");
    let parts = read(judged(Responses, br#"{"input":[{"type":"reasoning"}]}"#, &["x"]).unwrap());
    assert_eq!(parts["input"][0], json!({"type": "reasoning"}));
    assert_eq!(
        judged(Openai, br#"{"messages":"no list"}"#, &["x"]).map(read).unwrap()["messages"][0]["content"],
        "no list"
    );
    assert_eq!(judged(Openai, br#"{"messages":7}"#, &["x"]), None);
    assert_eq!(judged(Openai, br#"{"input":"q"}"#, &["x"]), None);
}

#[test]
fn routing_6_2_b_a_prompt_goes_before_the_conversation() {
    let chat = read(prompted(Openai, br#"{"messages":[{"role":"system","content":"own"}]}"#, "p").unwrap());
    assert_eq!(
        chat["messages"],
        json!([{"role": "system", "content": "p"}, {"role": "system", "content": "own"}])
    );
    for (body, expected) in [
        (r#"{"messages":[]}"#, json!("p")),
        (r#"{"messages":[],"system":null}"#, json!("p")),
        (r#"{"messages":[],"system":"own"}"#, json!("p\n\nown")),
        (
            r#"{"messages":[],"system":[{"type":"text","text":"own","cache_control":{"type":"ephemeral"}}]}"#,
            json!([
                {"type": "text", "text": "p"},
                {"type": "text", "text": "own", "cache_control": {"type": "ephemeral"}},
            ]),
        ),
    ] {
        assert_eq!(read(prompted(Anthropic, body.as_bytes(), "p").unwrap())["system"], expected, "{body}");
    }
    for (body, expected) in [(r#"{"input":"q"}"#, "p"), (r#"{"input":"q","instructions":"own"}"#, "p\n\nown")]
    {
        let made = read(prompted(Responses, body.as_bytes(), "p").unwrap());
        assert_eq!((&made["instructions"], &made["input"]), (&json!(expected), &json!("q")), "{body}");
    }
}

#[test]
fn routing_6_2_b_a_later_step_sees_only_what_the_one_before_wrote() {
    let chat = br#"{"model":"m","messages":[{"role":"system","content":"s"},{"role":"user","content":"q"}],
        "stream":true,"tools":[1],"temperature":0.5}"#;
    assert_eq!(
        read(handed(Openai, chat, (Some("p"), "t"), false).unwrap()),
        json!({"model": "m", "temperature": 0.5, "stream": false, "messages": [
            {"role": "system", "content": "p"}, {"role": "user", "content": "t"}]})
    );
    assert_eq!(
        read(handed(Openai, chat, (None, "t"), true).unwrap()),
        json!({"model": "m", "temperature": 0.5, "stream": true, "tools": [1], "messages": [
            {"role": "user", "content": "t"}]})
    );
    let messages = br#"{"model":"m","system":"s","messages":[{"role":"user","content":"q"}],"max_tokens":9}"#;
    assert_eq!(
        read(handed(Anthropic, messages, (None, "t"), false).unwrap()),
        json!({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "t"}]})
    );
    assert_eq!(read(handed(Anthropic, messages, (Some("p"), "t"), true).unwrap())["system"], "p");
    let input = br#"{"model":"m","input":"q","instructions":"i","previous_response_id":"r"}"#;
    assert_eq!(
        read(handed(Responses, input, (Some("p"), "t"), false).unwrap()),
        json!({"model": "m", "input": [{"role": "user", "content": "t"}], "instructions": "p"})
    );
}

#[test]
fn routing_6_1_e_the_words_of_an_answer_are_found_or_missed() {
    let said = |words: &str| Ok(words.to_owned());
    for (dialect, body, expected) in [
        (Openai, r#"{"choices":[{"message":{"content":"a"}},{"message":{"content":"b"}}]}"#, said("a")),
        (
            Openai,
            r#"{"choices":[{"message":{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}}]}"#,
            said("ab"),
        ),
        (Openai, r#"{"choices":[{"message":{"content":" \n"}}]}"#, Err(NoText::Empty)),
        (Openai, r#"{"choices":[{"message":{"content":null,"reasoning":"r"}}]}"#, Err(NoText::Empty)),
        (Openai, r#"{"choices":[]}"#, Err(NoText::Empty)),
        (Openai, r#"{"content":[{"type":"text","text":"a"}]}"#, Err(NoText::Foreign)),
        (Openai, "data: {}", Err(NoText::Foreign)),
        (
            Anthropic,
            r#"{"content":[{"type":"thinking","thinking":"t"},{"type":"text","text":"a"},{"type":"text","text":"b"}]}"#,
            said("ab"),
        ),
        (Anthropic, r#"{"content":[]}"#, Err(NoText::Empty)),
        (
            Responses,
            r#"{"output":[{"type":"reasoning","content":[{"type":"text","text":"r"}]},
                {"type":"message","content":[{"type":"output_text","text":"a"}]},
                {"type":"message","content":[{"type":"output_text","text":"b"}]}]}"#,
            said("ab"),
        ),
        (Responses, r#"{"output":[]}"#, Err(NoText::Empty)),
        (Responses, r#"{"output":null}"#, Err(NoText::Foreign)),
    ] {
        assert_eq!(text(dialect, body.as_bytes()), expected, "{body}");
    }
}
