//! A conversation that moves to another account takes the model's thoughts along, signed for the
//! first one (FC-045). They are sent as they are, because nobody knows whom they are signed for; if
//! they are refused, the same target is asked once more without them, within the same attempt:
//! the request's history is at fault, and nobody rests for it.

use std::ops::Range;

use bytes::Bytes;
use policy::plan::Planned;
use policy::thoughts::are_refused;
use policy::verdict::End;

use super::cascade::Run;
use super::fault::Fault;
use crate::formats::edit::without_thoughts;

impl Run<'_> {
    /// Leaves the thoughts out from now on, if it was refused for them and has them; only once.
    pub(super) fn leaves_thoughts_out(&self, fault: &Fault, target: &Planned) -> bool {
        let End::Status(status) = fault.signal.end else { return false };
        if self.thoughtless.get().is_some() || !are_refused(status, &fault.signal.text) {
            return false;
        }
        let Some(left) = without_thoughts(&self.inquiry.body, &self.inquiry.span) else { return false };
        tracing::warn!(connection = %target.connection, "thoughts of another account: sent again without them");
        self.thoughtless.set(left).is_ok()
    }

    /// The request's body as it is sent now, and where its model stands.
    pub(super) fn body(&self) -> (&Bytes, &Range<usize>) {
        match self.thoughtless.get() {
            Some((body, span)) => (body, span),
            None => (&self.inquiry.body, &self.inquiry.span),
        }
    }
}
