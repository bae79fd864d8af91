//! The store of a world: a list of what it was told, on disk at once.

use std::sync::{Arc, Mutex, PoisonError};

use actix::{Actor, Context, Handler};

use crate::mailbox::Letter;
use crate::messages::{Flush, Owner, Save, Snapshot};

/// A store that keeps only what it was told, in order.
pub(super) struct Recorder(pub(super) Told<(Owner, Option<Snapshot>)>);

pub(super) type Told<T> = Arc<Mutex<Vec<T>>>;

pub(super) fn told<T: Clone>(list: &Told<T>) -> Vec<T> {
    list.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

impl Actor for Recorder {
    type Context = Context<Self>;
}

impl Handler<Letter<Save>> for Recorder {
    type Result = ();

    fn handle(&mut self, letter: Letter<Save>, _: &mut Self::Context) {
        let save = letter.open();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((save.owner, save.snapshot));
    }
}

impl Handler<Flush> for Recorder {
    type Result = Result<(), String>;

    fn handle(&mut self, _: Flush, _: &mut Self::Context) -> Self::Result {
        Ok(())
    }
}
