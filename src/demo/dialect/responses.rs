//! OpenAI responses.
//!
//! Sequence numbers count the frames of one stream without a gap, so every frame's number follows
//! from its place: the opening has a fixed length, each word is one frame.

use super::super::answer::Answer;
use super::super::json::Quoted;
use super::openai;
use super::{Dialect, Frames};

/// Frames before the first word, where there are words.
const OPENING: usize = 4;
/// Frames before the end, where there are none.
const BARE_OPENING: usize = 2;

/// `POST /v1/responses`.
pub(crate) struct Responses;

impl Dialect for Responses {
    fn whole(&self, answer: &Answer) -> String {
        completed(answer)
    }

    fn error(&self, status: u16, message: &str, _retry_after: Option<u64>) -> String {
        openai::error(status, message)
    }

    fn frames(&self) -> Option<&'static dyn Frames> {
        Some(&Self)
    }
}

impl Frames for Responses {
    fn opening(&self, answer: &Answer) -> Vec<String> {
        let begun = format!(r#""response":{}"#, response(answer, "in_progress", "[]", "null"));
        let mut frames = vec![event("response.created", 0, &begun), event("response.in_progress", 1, &begun)];
        if answer.words > 0 {
            let item = format!(r#""output_index":0,"item":{}"#, item(answer, "in_progress", "[]"));
            frames.push(event("response.output_item.added", 2, &item));
            let fields = format!(r#"{},"part":{}"#, place(answer), part(""));
            frames.push(event("response.content_part.added", 3, &fields));
        }
        frames
    }

    fn delta(&self, answer: &Answer, index: usize) -> String {
        let fields = format!(r#"{},"delta":{},"logprobs":[]"#, place(answer), Quoted(&answer.part(index)));
        event("response.output_text.delta", OPENING + index, &fields)
    }

    fn closing(&self, answer: &Answer) -> Vec<String> {
        let end = format!(r#""response":{}"#, completed(answer));
        if answer.words == 0 {
            return vec![event("response.completed", BARE_OPENING, &end)];
        }
        let first = OPENING + answer.words;
        let text = answer.text();
        let done = format!(r#"{},"text":{},"logprobs":[]"#, place(answer), Quoted(&text));
        let part = part(&text);
        let part_done = format!(r#"{},"part":{part}"#, place(answer));
        let item = item(answer, "completed", &format!("[{part}]"));
        let item_done = format!(r#""output_index":0,"item":{item}"#);
        vec![
            event("response.output_text.done", first, &done),
            event("response.content_part.done", first + 1, &part_done),
            event("response.output_item.done", first + 2, &item_done),
            event("response.completed", first + 3, &end),
        ]
    }

    fn broken(&self, answer: &Answer) -> Vec<String> {
        let begun = format!(r#""response":{}"#, response(answer, "in_progress", "[]", "null"));
        let failure = r#""code":"server_error","message":"scripted error in a stream","param":null"#;
        vec![event("response.created", 0, &begun), event("error", 1, failure)]
    }
}

fn completed(answer: &Answer) -> String {
    let output = match answer.words {
        0 => "[]".to_owned(),
        _ => format!("[{}]", item(answer, "completed", &format!("[{}]", part(&answer.text())))),
    };
    response(answer, "completed", &output, &usage(answer))
}

fn response(answer: &Answer, status: &str, output: &str, usage: &str) -> String {
    format!(
        concat!(
            r#"{{"id":"resp_demo_{}","object":"response","created_at":{},"status":"{}","error":null,"#,
            r#""incomplete_details":null,"instructions":null,"max_output_tokens":null,"model":{},"#,
            r#""output":{},"parallel_tool_calls":true,"previous_response_id":null,"#,
            r#""reasoning":{{"effort":null,"summary":null}},"store":false,"temperature":1.0,"#,
            r#""text":{{"format":{{"type":"text"}}}},"tool_choice":"auto","tools":[],"top_p":1.0,"#,
            r#""truncation":"disabled","usage":{},"user":null,"metadata":{{}}}}"#
        ),
        answer.number,
        answer.created,
        status,
        Quoted(&answer.model),
        output,
        usage,
    )
}

fn item(answer: &Answer, status: &str, content: &str) -> String {
    format!(
        r#"{{"id":"{}","type":"message","status":"{status}","role":"assistant","content":{content}}}"#,
        item_id(answer)
    )
}

fn part(text: &str) -> String {
    format!(r#"{{"type":"output_text","text":{},"annotations":[],"logprobs":[]}}"#, Quoted(text))
}

fn place(answer: &Answer) -> String {
    format!(r#""item_id":"{}","output_index":0,"content_index":0"#, item_id(answer))
}

fn item_id(answer: &Answer) -> String {
    format!("msg_demo_{}", answer.number)
}

fn usage(answer: &Answer) -> String {
    format!(
        concat!(
            r#"{{"input_tokens":{},"input_tokens_details":{{"cached_tokens":0,"cache_write_tokens":0}},"output_tokens":{},"#,
            r#""output_tokens_details":{{"reasoning_tokens":0}},"total_tokens":{}}}"#
        ),
        answer.prompt_tokens,
        answer.completion_tokens(),
        answer.total_tokens(),
    )
}

fn event(name: &str, sequence_number: usize, fields: &str) -> String {
    format!("event: {name}\ndata: {{\"type\":\"{name}\",\"sequence_number\":{sequence_number},{fields}}}\n\n")
}
