//! What a panel, its judge and the steps of a pipeline are sent, made from the client's own request
//! (routing 6); and the text of what they answer.
//!
//! Fields that nothing is to be done with keep their bytes and their order: a body is taken apart
//! at its first level only, and what is not rewritten is never read.

pub(in crate::formats) mod fields;
mod summary;
#[cfg(test)]
mod tests;

use bytes::Bytes;
use policy::catalogue::Dialect;
use serde_json::{Value, json};

use fields::Fields;
pub use summary::summary;

/// What only a request with tools has, and what only a stream has. A background answer of Responses
/// comes without words, so it is none for a panel.
const STRIPPED: [&str; 7] = [
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "functions",
    "function_call",
    "stream_options",
    "background",
];

/// What ties a request of Responses to a conversation that is kept elsewhere.
const ELSEWHERE: [&str; 3] = ["previous_response_id", "conversation", "prompt"];

/// What the judge is told before the answers (routing 6.1g).
const WEIGH: &str = "Several assistants have answered the conversation above, each on its own. Their \
    answers follow. Weigh where they agree, where they contradict each other, what each leaves out, and \
    what all of them overlook. Then write one direct answer to the last request above, as your own: do \
    not speak of the sources.";

/// Why an answer has no text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoText {
    /// It holds none.
    Empty,
    /// It is no answer of its dialect.
    Foreign,
}

/// Whether the model may call tools: some are given and their use is not forbidden (routing 6.1b).
pub fn brings_tools(body: &[u8]) -> bool {
    let Some(fields) = Fields::read(body) else { return false };
    let some = |list: &str, choice: &str| {
        let given =
            fields.value(list).is_some_and(|list| list.as_array().is_some_and(|list| !list.is_empty()));
        let forbidden =
            fields.value(choice).is_some_and(|choice| choice == "none" || choice["type"] == "none");
        given && !forbidden
    };
    some("tools", "tool_choice") || some("functions", "function_call")
}

/// The request for words alone: no stream, no tools. `None`: it cannot be taken apart.
pub fn plain(body: &[u8]) -> Option<Bytes> {
    let mut fields = Fields::read(body)?;
    strip(&mut fields);
    Some(fields.write())
}

fn strip(fields: &mut Fields<'_>) {
    fields.remove(&STRIPPED);
    if fields.has("stream") {
        fields.set("stream", "false".into());
    }
}

/// The judge's request: one more turn of the user, with what the others have said (routing 6.1g).
pub fn judged(dialect: Dialect, body: &[u8], texts: &[&str]) -> Option<Bytes> {
    let mut turn = WEIGH.to_owned();
    for (index, text) in texts.iter().enumerate() {
        turn.push_str(&format!("\n\nSource {}:\n{text}", index + 1));
    }
    let mut fields = Fields::read(body)?;
    let turns = turns_of(dialect)?;
    let longer = append(fields.raw(turns)?, &user(&turn))?;
    fields.set(turns, longer);
    Some(fields.write())
}

/// The same request with something said before all of it (routing 4.4d, 6.2b).
pub fn prompted(dialect: Dialect, body: &[u8], prompt: &str) -> Option<Bytes> {
    let mut fields = Fields::read(body)?;
    say_first(dialect, &mut fields, prompt)?;
    Some(fields.write())
}

fn say_first(dialect: Dialect, fields: &mut Fields<'_>, prompt: &str) -> Option<()> {
    match dialect {
        Dialect::Openai => {
            let turn = json!({"role": "system", "content": prompt}).to_string();
            let longer = prepend(fields.raw("messages")?, &turn)?;
            fields.set("messages", longer);
        }
        Dialect::Anthropic => {
            let block = json!({"type": "text", "text": prompt}).to_string();
            let system = match fields.value("system") {
                Some(Value::Array(_)) => prepend(fields.raw("system")?, &block)?,
                Some(Value::String(own)) => Value::from(format!("{prompt}\n\n{own}")).to_string(),
                _ => Value::from(prompt).to_string(),
            };
            fields.set("system", system);
        }
        Dialect::Responses => {
            let said = match fields.value("instructions") {
                Some(Value::String(own)) => format!("{prompt}\n\n{own}"),
                _ => prompt.to_owned(),
            };
            fields.set("instructions", Value::from(said).to_string());
        }
        Dialect::Gemini => return None,
    }
    Some(())
}

/// A later step's request: its prompt and the text of the step before, nothing of the conversation
/// (routing 6.2b). The last step keeps stream and tools (6.2c).
pub fn handed(
    dialect: Dialect,
    body: &[u8],
    (prompt, text): (Option<&str>, &str),
    last: bool,
) -> Option<Bytes> {
    let mut fields = Fields::read(body)?;
    fields.set(turns_of(dialect)?, format!("[{}]", user(text)));
    match dialect {
        Dialect::Anthropic => fields.remove(&["system"]),
        Dialect::Responses => {
            fields.remove(&["instructions"]);
            fields.remove(&ELSEWHERE);
        }
        Dialect::Openai | Dialect::Gemini => {}
    }
    if let Some(prompt) = prompt {
        say_first(dialect, &mut fields, prompt)?;
    }
    if !last {
        strip(&mut fields);
    }
    Some(fields.write())
}

fn turns_of(dialect: Dialect) -> Option<&'static str> {
    match dialect {
        Dialect::Openai | Dialect::Anthropic => Some("messages"),
        Dialect::Responses => Some("input"),
        Dialect::Gemini => None,
    }
}

fn user(text: &str) -> String {
    json!({"role": "user", "content": text}).to_string()
}

/// One more value at the end of a list; a bare text, as Responses takes it, becomes the first turn.
fn append(raw: &str, value: &str) -> Option<String> {
    let raw = raw.trim();
    if raw.starts_with('"') {
        return Some(format!(r#"[{{"role":"user","content":{raw}}},{value}]"#));
    }
    let inner = raw.strip_prefix('[')?.strip_suffix(']')?;
    let comma = if inner.trim().is_empty() { "" } else { "," };
    Some(format!("[{inner}{comma}{value}]"))
}

fn prepend(raw: &str, value: &str) -> Option<String> {
    let inner = raw.trim().strip_prefix('[')?.strip_suffix(']')?;
    let comma = if inner.trim().is_empty() { "" } else { "," };
    Some(format!("[{value}{comma}{inner}]"))
}

/// The words of an answer that is not streamed; reasoning is none (decision 21).
pub fn text(dialect: Dialect, body: &[u8]) -> Result<String, NoText> {
    let answer: Value = serde_json::from_slice(body).map_err(|_| NoText::Foreign)?;
    let list = |key: &str| answer[key].as_array().ok_or(NoText::Foreign);
    let text = match dialect {
        Dialect::Openai => match list("choices")?.first() {
            Some(choice) => words(&choice["message"]["content"]),
            None => String::new(),
        },
        Dialect::Anthropic => {
            list("content")?;
            words(&answer["content"])
        }
        Dialect::Responses => {
            let said = list("output")?.iter().filter(|item| item["type"] == "message");
            said.map(|item| words(&item["content"])).collect()
        }
        Dialect::Gemini => return Err(NoText::Foreign),
    };
    if text.trim().is_empty() { Err(NoText::Empty) } else { Ok(text) }
}

/// The text of a turn's content: bare, or in parts.
fn words(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let spoken =
                |part: &&Value| matches!(part["type"].as_str(), Some("text" | "output_text" | "input_text"));
            parts.iter().filter(spoken).filter_map(|part| part["text"].as_str()).collect()
        }
        _ => String::new(),
    }
}
