//! What a request is like, as far as routing cares: its size, what it needs, whose conversation
//! it continues. Read from body and headers once, before a plan is made.

use std::borrow::Cow;
use std::sync::Arc;

/// Bytes of text for each token, about.
const BYTES_PER_TOKEN: u64 = 4;

/// About so many tokens are so many bytes of text.
pub fn tokens_of(bytes: usize) -> u64 {
    bytes as u64 / BYTES_PER_TOKEN
}

/// The traits of a request; what is not known is absent, and then nothing is left out for it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Traits {
    /// Input, estimated in tokens (four bytes each); `None`: not estimated.
    pub input_tokens: Option<u64>,
    /// The most that it lets the model say, tokens.
    pub max_output: Option<u64>,
    /// It hands tools over, and does not forbid their use.
    pub tools: bool,
    /// It holds pictures.
    pub vision: bool,
    /// It wants an answer after a schema.
    pub structured: bool,
    /// Key of the prompt cache it would profit from (routing 3.7).
    pub cache_key: Option<Arc<str>>,
    /// That key was made of its messages: the first turn of the conversation had none.
    pub keyed_by_prompt: bool,
    /// Key of its session (rules 6.2), already without anything secret in it.
    pub session: Option<Arc<str>>,
    /// Key of the response that it goes on from (FC-101).
    pub response: Option<Arc<str>>,
    /// Key of its first user text (routing 3.2); only where session stickiness asks for it.
    pub first_text: Option<Arc<str>>,
    /// What its headers ask of `auto` (routing 5.7).
    pub wish: Wish,
}

impl Traits {
    /// The same of a request that is so many tokens longer, as far as its length is known.
    pub fn with_more(&self, tokens: u64) -> Cow<'_, Self> {
        match self.input_tokens {
            Some(own) if tokens > 0 => {
                Cow::Owned(Self { input_tokens: Some(own.saturating_add(tokens)), ..self.clone() })
            }
            _ => Cow::Borrowed(self),
        }
    }
}

/// What headers ask of `auto` (routing 5.7).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Wish {
    /// `X-OmniRoute-Mode`, as it was written.
    pub mode: Option<Arc<str>>,
    /// `X-OmniRoute-Budget`, USD.
    pub budget_usd: Option<f64>,
    /// `X-OmniRoute-Budget-Fallback`, as it was written.
    pub budget_fallback: Option<Arc<str>>,
}
