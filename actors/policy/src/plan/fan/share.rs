//! What a member gets of the client's request, and so what it has to be able to do: a panel is handed
//! no tools, a later step of a line sees no pictures (routing 6.1c, 6.2b, 6.2c).

use std::borrow::Cow;

use crate::request::Traits;

/// What a member gets of the client's request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// All of it: a judge, and who is asked alone.
    Whole,
    /// All but tools and stream: a panel, and the first step of a line.
    Words,
    /// The text of the step before it.
    Text,
    /// That text, with the client's tools and stream: the last step.
    TextAndTools,
}

impl Share {
    /// What such a request is like. How long a text will be nobody knows.
    pub fn of(self, whole: &Traits) -> Cow<'_, Traits> {
        let part = match self {
            Self::Whole => return Cow::Borrowed(whole),
            Self::Words if !whole.tools => return Cow::Borrowed(whole),
            Self::Words => Traits { tools: false, ..whole.clone() },
            Self::Text => Traits { tools: false, vision: false, input_tokens: None, ..whole.clone() },
            Self::TextAndTools => Traits { vision: false, input_tokens: None, ..whole.clone() },
        };
        Cow::Owned(part)
    }
}
