//! Folding what owners publish into the board, and sharing the board with readers.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use actix::{Handler, Message};
use policy::board::Board;
use policy::ids::ProviderId;
use policy::lockout::LockoutView;
use policy::window::WindowView;

use super::Router;
use crate::messages::{Owner, Publish, View};

/// Shares the board; goes behind everything that waits, so news is shared once per drained mailbox.
#[derive(Message)]
#[rtype(result = "()")]
pub(super) struct Fold;

impl Handler<Fold> for Router {
    type Result = ();

    fn handle(&mut self, _: Fold, _: &mut Self::Context) {
        self.fold_due = false;
        self.share();
    }
}

impl Handler<Publish> for Router {
    type Result = ();

    fn handle(&mut self, news: Publish, ctx: &mut Self::Context) {
        // An owner that was removed meanwhile may still have spoken.
        if !self.remembers(&news.owner, news.snapshot) {
            return;
        }
        match (news.owner, news.view) {
            (Owner::Provider(id), View::Breaker(view, window)) => {
                put_window(&mut self.board, &id, window);
                self.board.providers.insert(id, view);
            }
            (Owner::Connection(id), View::Connection(view)) => {
                self.board.connections.insert(id, view);
            }
            (Owner::Lockout(connection, _), View::Lockout(view)) => {
                put_lock(self.board.lockouts.entry(connection).or_default(), view);
            }
            (owner, _) => {
                tracing::error!(kind = owner.kind(), id = %owner.id(), "published a view of another kind")
            }
        }
        self.fold(ctx);
    }
}

/// The board holds only what may matter: the layer is off for most.
pub(super) fn put_window(board: &mut Board, id: &ProviderId, window: WindowView) {
    match window.until {
        Some(_) => board.windows.insert(id.clone(), window),
        None => board.windows.remove(id),
    };
}

fn put_lock(locks: &mut Vec<Arc<LockoutView>>, view: Arc<LockoutView>) {
    match locks.iter_mut().find(|lock| lock.key == view.key) {
        Some(lock) => *lock = view,
        None => locks.push(view),
    }
}

impl Router {
    /// Shows readers the board as it is.
    pub(super) fn share(&self) {
        self.seed.links.router.shares.fetch_add(1, Ordering::Relaxed);
        self.seed.links.router.board.store(Arc::new(self.board.clone()));
    }

    /// Takes an owner off the board.
    pub(super) fn forget(&mut self, owner: &Owner) {
        match owner {
            Owner::Provider(id) => {
                self.board.providers.remove(id);
                self.board.windows.remove(id);
            }
            Owner::Connection(id) => {
                self.board.connections.remove(id);
                self.memory.forget(id);
                self.sharing.forget(id);
                self.sessions.forget(id, &self.seed.links.store);
            }
            Owner::Lockout(connection, key) => {
                if let Some(locks) = self.board.lockouts.get_mut(connection) {
                    locks.retain(|lock| lock.key != *key);
                    if locks.is_empty() {
                        self.board.lockouts.remove(connection);
                    }
                }
            }
            Owner::Router
            | Owner::Store
            | Owner::Usage(_)
            | Owner::Lease(_)
            | Owner::Pin(_)
            | Owner::LastGood(_)
            | Owner::Handoff(_) => {}
        }
    }
}
