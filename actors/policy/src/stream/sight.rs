//! What one frame of a stream says, whatever its dialect.

/// What a frame is about: the most telling thing in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Comments, pings, no data at all: the connection lives, nothing more.
    #[default]
    Idle,
    /// A typed keep-alive that no client's dialect knows: it reaches the client as a comment.
    KeepAlive,
    /// Announces or closes something and carries none of it: created, in progress, a role, an
    /// empty block, a finish reason, token counts.
    Lifecycle,
    /// The model thinks. `readable`: there is text to read, not only a signature or encrypted data.
    Reasoning {
        /// It holds text.
        readable: bool,
    },
    /// A tool call or a piece of its arguments.
    Tool,
    /// Something the model says to its reader: text, a refusal, a picture, a result.
    Output,
    /// Data that is no JSON, or JSON of no known shape: whoever sent it meant something.
    Opaque,
    /// The upstream failed and says so.
    Error,
}

/// Why the model stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Finish {
    /// It had nothing more to say.
    Stop,
    /// Its tokens were used up.
    Length,
    /// It waits for tools.
    Tools,
    /// What it said, or would have said, was filtered or refused.
    Filter,
    /// Any other word.
    Other,
}

/// How a frame ends the answer: nothing behind it belongs to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ending {
    /// `[DONE]`, `message_stop`, `response.completed`.
    Complete,
    /// `response.incomplete`: the answer is what it is, and says so itself.
    Incomplete,
    /// `response.failed`, an error event.
    Failed,
}

/// What one frame says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sight {
    /// What it is about.
    pub kind: Kind,
    /// Bytes of the model's text in it (flow 6.7.36); 0 in everything but `Output`.
    pub text: usize,
    /// It carries token counts.
    pub usage: bool,
    /// The model has stopped, and why.
    pub finish: Option<Finish>,
    /// The choices that it speaks of, a bit each; 0 in dialects that have one answer only.
    pub choices: u32,
    /// Of these, those that stop with it.
    pub stopped: u32,
    /// The answer ends with it.
    pub end: Option<Ending>,
}

impl Sight {
    /// A frame of one kind and nothing else.
    pub fn of(kind: Kind) -> Self {
        Self { kind, ..Self::default() }
    }

    /// The first such frame is the answer's beginning: from then on the client gets this one and no
    /// other (decision 18).
    pub fn is_meaningful(&self) -> bool {
        matches!(self.kind, Kind::Reasoning { readable: true }) || self.is_output()
    }

    /// The model is at work, be it unseen: thoughts that nobody can read are progress, too (flow
    /// 6.3.12), but no answer has begun with them.
    pub fn is_progress(&self) -> bool {
        matches!(self.kind, Kind::Reasoning { .. }) || self.is_output()
    }

    /// The model gave something that its reader can use; reasoning alone is not it (decision 21).
    pub fn is_output(&self) -> bool {
        matches!(self.kind, Kind::Tool | Kind::Output | Kind::Opaque)
    }
}
