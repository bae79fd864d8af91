//! The book of leases: every transition of rules 7.2, 7.4 and 7.6, with `now`.
//!
//! What has run out is written down as ended by whatever looks at it next (rules 7.1.6). A
//! lease does not run out while a request of its generation runs, and its time starts anew at
//! that request's end (decision 30a).

use std::collections::{BTreeSet, HashMap};

use super::{Denied, EndReason, LAST_GENERATION, LeaseState, LeaseView, Managed, OwnerHash, Row};
use super::{TTL_BOUNDS_MS, TTL_MS};
use crate::ids::{ConnectionId, ProviderId};
use crate::time::Millis;

/// Who wants which connection.
#[derive(Clone, Debug)]
pub struct Claim {
    /// The owner.
    pub owner: OwnerHash,
    /// The name of its key.
    pub key: String,
    /// The connection's provider.
    pub provider: ProviderId,
    /// The connection.
    pub connection: ConnectionId,
}

/// What a request says of its lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fence {
    /// The owner.
    pub owner: OwnerHash,
    /// The generation it was given.
    pub generation: u64,
    /// The name of its key.
    pub key: String,
}

#[derive(Clone, Debug)]
struct Entry {
    row: Row,
    /// Requests of this generation that run.
    running: u32,
}

impl Entry {
    fn is_over(&self, now: Millis) -> bool {
        self.running == 0 && self.row.expires_at <= now
    }

    fn end(&mut self, state: LeaseState, reason: EndReason, at: Millis) {
        self.row.state = state;
        self.row.end_reason = Some(reason);
        self.row.ended_at = Some(at);
        self.row.in_use = false;
        self.running = 0;
    }

    fn extend(&mut self, ttl_ms: Millis, now: Millis) {
        self.row.expires_at = self.row.expires_at.max(now.saturating_add(ttl_ms));
    }
}

/// All leases and what is left of those that ended.
#[derive(Clone, Debug)]
pub struct LeaseBook {
    ttl_ms: Millis,
    rows: HashMap<OwnerHash, Entry>,
    held: HashMap<ConnectionId, OwnerHash>,
    news: News,
}

/// What has changed since somebody asked last.
#[derive(Clone, Debug, Default)]
pub struct News {
    /// Owners whose rows are to be written.
    pub changed: BTreeSet<OwnerHash>,
    /// Rows that ended; one that moved has left this connection under the same generation.
    pub ended: Vec<Row>,
    /// Connections that were taken then, behind what ended: when, and until when, epoch ms.
    pub begun: Vec<(ConnectionId, Millis, Millis)>,
}

impl Default for LeaseBook {
    fn default() -> Self {
        Self::new(TTL_MS)
    }
}

impl LeaseBook {
    /// An empty book; the time of a lease is held within its bounds (rules 7.1.4).
    pub fn new(ttl_ms: Millis) -> Self {
        let ttl_ms = ttl_ms.clamp(TTL_BOUNDS_MS.0, TTL_BOUNDS_MS.1);
        Self { ttl_ms, rows: HashMap::new(), held: HashMap::new(), news: News::default() }
    }

    /// Takes in what a store had; what is known here already is newer. A lease of a request that
    /// a crash took along begins its time anew.
    pub fn restore(&mut self, rows: impl IntoIterator<Item = Row>, now: Millis) {
        let mut rows: Vec<Row> = rows.into_iter().collect();
        // Of two that name one connection the later one holds it.
        rows.sort_by(|a, b| (b.acquired_at, &b.owner).cmp(&(a.acquired_at, &a.owner)));
        for mut row in rows {
            if self.rows.contains_key(&row.owner) {
                continue;
            }
            if row.is_active() && std::mem::take(&mut row.in_use) {
                row.expires_at = row.expires_at.max(now.saturating_add(self.ttl_ms));
                self.news.changed.insert(row.owner.clone());
            }
            let (owner, connection) = (row.owner.clone(), row.connection.clone());
            let mut entry = Entry { row, running: 0 };
            if entry.row.is_active() {
                self.expire_at(&connection, now);
                if *self.held.entry(connection).or_insert_with(|| owner.clone()) != owner {
                    entry.end(LeaseState::Invalidated, EndReason::ConnectionIneligible, now);
                    self.news.ended.push(entry.row.clone());
                    self.news.changed.insert(owner.clone());
                }
            }
            self.rows.insert(owner.clone(), entry);
            self.expire(&owner, now);
        }
    }

    /// Connections that are held, or were when somebody looked last.
    pub fn held(&self) -> usize {
        self.held.len()
    }

    /// What has changed since this was asked last.
    pub fn take_news(&mut self) -> News {
        std::mem::take(&mut self.news)
    }

    /// What is written of an owner.
    pub fn row(&self, owner: &OwnerHash) -> Option<&Row> {
        self.rows.get(owner).map(|entry| &entry.row)
    }

    /// An owner's active lease.
    pub fn active(&mut self, owner: &OwnerHash, now: Millis) -> Option<&Row> {
        self.expire(owner, now);
        self.rows.get(owner).map(|entry| &entry.row).filter(|row| row.is_active())
    }

    /// A connection's active lease.
    pub fn of_connection(&mut self, connection: &ConnectionId, now: Millis) -> Option<&Row> {
        self.expire_at(connection, now);
        self.rows.get(self.held.get(connection)?).map(|entry| &entry.row)
    }

    /// Of the leases that hold, the one that was taken last with this key.
    pub fn latest_of(&self, key: &str, now: Millis) -> Option<&Row> {
        let held = self.held.values().filter_map(|owner| self.rows.get(owner));
        let own = held.filter(|entry| entry.row.key == key && !entry.is_over(now)).map(|entry| &entry.row);
        own.max_by_key(|row| (row.acquired_at, &row.owner))
    }

    /// What others may see of a connection's lease.
    pub fn view(&mut self, connection: &ConnectionId, now: Millis) -> Option<LeaseView> {
        self.expire_at(connection, now);
        let entry = self.rows.get(self.held.get(connection)?)?;
        let until = (entry.running == 0).then_some(entry.row.expires_at);
        Some(LeaseView { owner: entry.row.owner.clone(), until })
    }
}

// === impl LeaseBook: what owners ask for ===

impl LeaseBook {
    /// Binds an owner to a connection, or extends the lease that it has of it (rules 7.4.1, 7.4.2).
    pub fn claim(&mut self, claim: &Claim, now: Millis) -> Result<Row, Denied> {
        self.expire(&claim.owner, now);
        self.expire_at(&claim.connection, now);
        let ttl_ms = self.ttl_ms;
        let before = self.rows.get_mut(&claim.owner);
        let last = before.as_ref().map_or(0, |entry| entry.row.generation);
        if let Some(entry) = before.filter(|entry| entry.row.is_active()) {
            if entry.row.key != claim.key {
                return Err(Denied::Stale);
            }
            if entry.row.connection != claim.connection {
                return Err(Denied::Elsewhere(entry.row.connection.clone()));
            }
            entry.row.renewed_at = now;
            entry.extend(ttl_ms, now);
            self.news.changed.insert(claim.owner.clone());
            return Ok(entry.row.clone());
        }
        self.free(&claim.connection)?;
        if last >= LAST_GENERATION {
            return Err(Denied::Gone);
        }
        let row = Row {
            owner: claim.owner.clone(),
            key: claim.key.clone(),
            provider: claim.provider.clone(),
            connection: claim.connection.clone(),
            generation: last + 1,
            state: LeaseState::Active,
            acquired_at: now,
            renewed_at: now,
            expires_at: now.saturating_add(ttl_ms),
            ended_at: None,
            end_reason: None,
            in_use: false,
        };
        self.held.insert(claim.connection.clone(), claim.owner.clone());
        self.rows.insert(claim.owner.clone(), Entry { row: row.clone(), running: 0 });
        self.news.begun.push((row.connection.clone(), now, row.expires_at));
        self.news.changed.insert(claim.owner.clone());
        Ok(row)
    }

    /// Binds an owner's lease to another connection under the same generation (rules 7.2.2). Its
    /// time goes on: only its owner extends it.
    pub fn relocate(
        &mut self,
        claim: &Claim,
        generation: u64,
        why: EndReason,
        now: Millis,
    ) -> Result<Row, Denied> {
        let fence = Fence { owner: claim.owner.clone(), generation, key: claim.key.clone() };
        let from = self.check(&fence, now)?.connection.clone();
        if from != claim.connection {
            self.expire_at(&claim.connection, now);
            self.free(&claim.connection)?;
            self.held.remove(&from);
            self.held.insert(claim.connection.clone(), claim.owner.clone());
        }
        let entry = self.rows.get_mut(&claim.owner).expect("it was just checked");
        if from != claim.connection {
            let mut old = entry.clone();
            old.end(LeaseState::Invalidated, why, now);
            self.news.ended.push(old.row);
            self.news.changed.insert(claim.owner.clone());
            entry.row.provider = claim.provider.clone();
            entry.row.connection = claim.connection.clone();
            self.news.begun.push((claim.connection.clone(), now, entry.row.expires_at));
        }
        Ok(entry.row.clone())
    }

    /// Extends a lease (rules 7.4.3).
    pub fn renew(&mut self, fence: &Fence, now: Millis) -> Result<Row, Denied> {
        self.check(fence, now).map_err(|_| Denied::Stale)?;
        let ttl_ms = self.ttl_ms;
        let entry = self.rows.get_mut(&fence.owner).expect("it was just checked");
        entry.row.renewed_at = now;
        entry.extend(ttl_ms, now);
        self.news.changed.insert(fence.owner.clone());
        Ok(entry.row.clone())
    }

    /// Gives a lease back; a second time it says the same (rules 7.4.4).
    pub fn release(&mut self, fence: &Fence, why: EndReason, now: Millis) -> Result<Row, Denied> {
        self.expire(&fence.owner, now);
        let entry = self.rows.get(&fence.owner).ok_or(Denied::Stale)?;
        if entry.row.generation != fence.generation || entry.row.key != fence.key {
            return Err(Denied::Stale);
        }
        match entry.row.state {
            LeaseState::Released => Ok(entry.row.clone()),
            LeaseState::Active => {
                let row = self.finish(&fence.owner, LeaseState::Released, why, now);
                row.ok_or(Denied::Stale)
            }
            LeaseState::Expired | LeaseState::Invalidated => Err(Denied::Stale),
        }
    }

    /// Takes a lease away.
    pub fn invalidate(&mut self, owner: &OwnerHash, why: EndReason, now: Millis) -> Option<Row> {
        self.active(owner, now)?;
        self.finish(owner, LeaseState::Invalidated, why, now)
    }

    /// Takes away what a connection's holder has: the connection is gone.
    pub fn vacate(&mut self, connection: &ConnectionId, now: Millis) -> Option<Row> {
        let owner = self.held.get(connection).cloned()?;
        self.invalidate(&owner, EndReason::ConnectionIneligible, now)
    }

    /// Takes away what its key may not lease any more (rules 7.6.9); `lives`: the connection is there.
    pub fn authorise(&mut self, managed: &Managed, lives: impl Fn(&ConnectionId) -> bool, now: Millis) {
        let held: Vec<OwnerHash> = self.held.values().cloned().collect();
        for owner in held {
            let Some(row) = self.active(&owner, now) else { continue };
            let gone = (!lives(&row.connection)).then_some(EndReason::ConnectionIneligible);
            let why = managed.revokes(&row.key, &row.connection).or(gone);
            if let Some(why) = why {
                self.finish(&owner, LeaseState::Invalidated, why, now);
            }
        }
    }
}

// === impl LeaseBook: what requests ask ===

impl LeaseBook {
    /// The lease that a request speaks of, where its target is chosen (rules 7.6.2).
    pub fn check(&mut self, fence: &Fence, now: Millis) -> Result<&Row, Denied> {
        let row = self.active(&fence.owner, now).ok_or(Denied::Required)?;
        match row.generation == fence.generation && row.key == fence.key {
            true => Ok(row),
            false => Err(Denied::Stale),
        }
    }

    /// The last look before a request is sent (rules 7.6.3).
    pub fn fence(&mut self, fence: &Fence, connection: &ConnectionId, now: Millis) -> Result<(), Denied> {
        let row = self.active(&fence.owner, now).ok_or(Denied::Required)?;
        if row.generation != fence.generation {
            return Err(Denied::Stale);
        }
        if row.key != fence.key {
            return Err(Denied::AuthorizationMismatch);
        }
        if row.connection != *connection {
            return Err(Denied::ConnectionMismatch);
        }
        Ok(())
    }

    /// The same for one that goes now: its lease does not run out until it `leave`s.
    pub fn enter(&mut self, fence: &Fence, connection: &ConnectionId, now: Millis) -> Result<(), Denied> {
        self.fence(fence, connection, now)?;
        let entry = self.rows.get_mut(&fence.owner).expect("it was just looked at");
        entry.running += 1;
        if !std::mem::replace(&mut entry.row.in_use, true) {
            self.news.changed.insert(fence.owner.clone());
        }
        Ok(())
    }

    /// A request has ended; its lease's time starts anew.
    pub fn leave(&mut self, owner: &OwnerHash, generation: u64, now: Millis) {
        let ttl_ms = self.ttl_ms;
        let Some(entry) = self.rows.get_mut(owner) else { return };
        // One of an earlier generation, or of a lease that ended, has nothing to say.
        if entry.row.generation != generation || entry.running == 0 {
            return;
        }
        entry.running -= 1;
        entry.extend(ttl_ms, now);
        if entry.running == 0 {
            entry.row.in_use = false;
            self.news.changed.insert(owner.clone());
        }
    }
}

// === impl LeaseBook: ends ===

impl LeaseBook {
    fn free(&self, connection: &ConnectionId) -> Result<(), Denied> {
        let holder = self.held.get(connection).and_then(|owner| self.rows.get(owner));
        match holder {
            Some(entry) => Err(Denied::Taken((entry.running == 0).then_some(entry.row.expires_at))),
            None => Ok(()),
        }
    }

    fn expire(&mut self, owner: &OwnerHash, now: Millis) {
        let over = self.rows.get(owner).filter(|entry| entry.row.is_active() && entry.is_over(now));
        if let Some(at) = over.map(|entry| entry.row.expires_at) {
            self.finish(owner, LeaseState::Expired, EndReason::TtlExpired, at);
        }
    }

    fn expire_at(&mut self, connection: &ConnectionId, now: Millis) {
        if let Some(owner) = self.held.get(connection).cloned() {
            self.expire(&owner, now);
        }
    }

    fn finish(&mut self, owner: &OwnerHash, state: LeaseState, why: EndReason, at: Millis) -> Option<Row> {
        let entry = self.rows.get_mut(owner)?;
        entry.end(state, why, at);
        self.held.remove(&entry.row.connection);
        self.news.ended.push(entry.row.clone());
        self.news.changed.insert(owner.clone());
        Some(entry.row.clone())
    }
}
