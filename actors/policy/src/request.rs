//! What a request is like, as far as routing cares: its size, what it needs, whose conversation
//! it continues. Read from body and headers once, before a plan is made.

use std::sync::Arc;

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
