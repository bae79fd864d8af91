//! What a body tells of its request: the ids of its session, and what a model must be able to do
//! (routing 3.2, 3.5, 3.7; rules 6.2). Only the parts that were kept when the body was read are
//! looked into, each once.

use std::borrow::Cow;

use policy::request::Traits;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::walk::{Walk, Walked};

/// Turns hold parts, and parts of tools hold parts.
const DEEPEST: u32 = 3;

/// A field of a body that routing looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
pub enum Field {
    /// The model.
    Model,
    /// Whether a stream is wanted.
    Stream,
    /// Free facts of the client.
    Metadata,
    /// Names a conversation.
    ConversationId,
    /// Names a session.
    SessionId,
    /// Names what is said again and again.
    PromptCacheKey,
    /// Names the response that it goes on from.
    PreviousResponseId,
    /// Tools.
    Tools,
    /// From here on only where somebody wants to know what a request needs.
    Messages,
    /// Turns, in Responses.
    Input,
    /// Whether it may use them.
    ToolChoice,
    /// The form of the answer.
    ResponseFormat,
    /// The same in Responses.
    Text,
    /// The same in Messages.
    OutputFormat,
    /// The same in Messages, with more.
    OutputConfig,
    /// The longest answer, tokens.
    MaxTokens,
    /// The same, newer.
    MaxCompletionTokens,
    /// The same in Responses.
    MaxOutputTokens,
    /// Nothing that routing looks at.
    #[serde(other)]
    Other,
}

impl Field {
    /// It is looked at only where somebody wants to know what a request needs.
    pub fn is_detail(self) -> bool {
        self as usize >= Self::Messages as usize
    }
}

/// The fields of a body, as they are written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parts<'a>([Option<&'a str>; Field::Other as usize]);

impl<'a> Parts<'a> {
    /// Keeps a field; of two the last counts.
    pub fn keep(&mut self, field: Field, value: Option<&'a RawValue>) {
        self.0[field as usize] = value.map(RawValue::get);
    }

    /// A field, as it is written.
    pub fn get(&self, field: Field) -> Option<&'a str> {
        self.0[field as usize]
    }

    /// A field that is a string.
    pub fn text(&self, field: Field) -> Option<Cow<'a, str>> {
        text(self.get(field)?)
    }

    /// How many tools it hands over.
    pub fn tools(&self) -> usize {
        let listed =
            self.get(Field::Tools).and_then(|tools| serde_json::from_str::<Vec<&RawValue>>(tools).ok());
        listed.map_or(0, |tools| tools.len())
    }

    /// A key of `metadata` that is a string.
    pub fn metadata(&self, key: &str) -> Option<Cow<'a, str>> {
        text(member(self.get(Field::Metadata)?, key)?)
    }

    /// The text of the first user message (routing 3.2); its parts are joined.
    pub fn first_text(&self) -> Option<String> {
        let turns = self.get(Field::Messages).or_else(|| self.get(Field::Input))?;
        if let Some(text) = text(turns) {
            return Some(text.into_owned());
        }
        let turns: Vec<&RawValue> = serde_json::from_str(turns).ok()?;
        let is_user = |turn: &&str| member(turn, "role").and_then(text).as_deref() == Some("user");
        let content = member(turns.into_iter().map(RawValue::get).find(is_user)?, "content")?;
        if let Some(text) = text(content) {
            return Some(text.into_owned());
        }
        let parts: Vec<&RawValue> = serde_json::from_str(content).ok()?;
        let texts = parts.into_iter().filter_map(|part| text(member(part.get(), "text")?));
        Some(texts.collect())
    }

    /// Everything before the second turn of the user, as it is written: of what stands before the last one
    /// (routing 3.7) the part that no later turn changes. A first turn has nothing before it that would be
    /// sent again.
    pub fn prefix(&self) -> Option<&'a str> {
        let turns = self.get(Field::Messages).or_else(|| self.get(Field::Input))?;
        let (mut users, mut second) = (0_u32, None);
        let mut walk = Walk::new(turns.as_bytes());
        let walked = walk.array(|walk| {
            let turn = walk.skip()?;
            if second.is_some() {
                return Ok(());
            }
            let start = turn.as_ptr() as usize - turns.as_ptr() as usize;
            let role = member(&turns[start..start + turn.len()], "role");
            if role.and_then(text).as_deref() == Some("user") {
                users += 1;
                second = (users > 1).then_some(start);
            }
            Ok(())
        });
        walked.ok().and(second).map(|second| &turns[..second])
    }

    /// What the request needs, as far as its body says so; whether it holds pictures or files.
    pub fn fill(&self, traits: &mut Traits) -> bool {
        let is_none = |choice: &str| {
            let kind = text(choice).or_else(|| text(member(choice, "type")?));
            kind.as_deref() == Some("none")
        };
        let tools = self
            .get(Field::Tools)
            .is_some_and(|tools| Walk::new(tools.as_bytes()).is_something() == Ok(true));
        traits.tools = tools && !self.get(Field::ToolChoice).is_some_and(is_none);
        let turns = [self.get(Field::Messages), self.get(Field::Input)];
        let mut seen = Seen::default();
        for turns in turns.into_iter().flatten() {
            // What is no JSON holds what was found until there.
            let _ = seen.look(&mut Walk::new(turns.as_bytes()), DEEPEST);
        }
        traits.vision = seen.picture;
        traits.structured = self.is_structured();
        let limits = [Field::MaxCompletionTokens, Field::MaxTokens, Field::MaxOutputTokens];
        traits.max_output = limits.into_iter().find_map(|limit| self.get(limit)?.parse().ok());
        traits.cache_key = self.cache_key().map(Into::into);
        seen.picture || seen.file
    }

    fn is_structured(&self) -> bool {
        let format = |field, key| member(self.get(field)?, key);
        let forms = [
            self.get(Field::ResponseFormat),
            self.get(Field::OutputFormat),
            format(Field::Text, "format"),
            format(Field::OutputConfig, "format"),
        ];
        let is_schema = |form: &str| member(form, "type").and_then(text).as_deref() == Some("json_schema");
        forms.into_iter().flatten().any(is_schema)
    }

    /// Routing 3.7, the explicit keys.
    fn cache_key(&self) -> Option<String> {
        let named = [self.text(Field::PromptCacheKey), self.metadata("prompt_cache_key")];
        let trimmed = named.into_iter().flatten().map(|key| key.trim().to_owned());
        trimmed.into_iter().find(|key| !key.is_empty() && key.chars().count() <= 4096)
    }
}

fn text(raw: &str) -> Option<Cow<'_, str>> {
    #[derive(Deserialize)]
    struct Text<'a>(#[serde(borrow)] Cow<'a, str>);
    raw.starts_with('"').then(|| serde_json::from_str::<Text<'_>>(raw).ok())?.map(|text| text.0)
}

/// The value of a key of an object; the last one, if it is there twice.
fn member<'a>(raw: &'a str, key: &str) -> Option<&'a str> {
    let mut found = None;
    let mut walk = Walk::new(raw.as_bytes());
    let walked = walk.object(|name, walk| {
        let value = walk.skip()?;
        if name == key.as_bytes() {
            found = std::str::from_utf8(value).ok();
        }
        Ok(())
    });
    walked.ok().and(found)
}

/// What is among turns, their parts, and what tools have answered.
#[derive(Default)]
struct Seen {
    picture: bool,
    file: bool,
}

impl Seen {
    fn look(&mut self, walk: &mut Walk<'_>, deeper: u32) -> Walked<()> {
        walk.array(|walk| {
            walk.object(|key, walk| {
                match key {
                    b"type" => self.part(walk.text()?.unwrap_or_default()),
                    b"content" | b"output" if deeper > 0 => self.look(walk, deeper - 1)?,
                    _ => drop(walk.skip()?),
                }
                Ok(())
            })
        })
    }

    fn part(&mut self, kind: &[u8]) {
        self.picture |= matches!(kind, b"image" | b"image_url" | b"input_image");
        self.file |= matches!(kind, b"document" | b"file" | b"input_file" | b"input_audio");
    }
}

#[cfg(test)]
mod tests;
