//! Where owners of leases are served (rules 7.3 to 7.6): the router says who may be had, the
//! connection's owner decides, and nothing is answered before it is on disk.

use std::sync::Arc;

use policy::ids::{ConnectionId, ProviderId};
use policy::lease::{Claim, Contention, Denied, EndReason, Fence, Lack, Row};
use policy::lease::{lack, move_reason};
use policy::plan::{NoPlan, Plan};
use policy::time::Millis;

use super::Tenancies;
use crate::connection::Tenant;
use crate::mailbox::Unanswered;
use crate::permit::Owners;
use crate::router::offer::{Offer, Offered, is_unsupported};

/// How often somebody who lost every race asks for another offer.
const ROUNDS: usize = 4;

/// Why somebody gets no lease, or a request does not go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoLease {
    /// The lease does not allow it.
    Denied(Denied),
    /// Nobody knows the model.
    NoPlan(NoPlan),
    /// None of the key's connections could serve the model.
    NoneEligible,
    /// Those that could rest; when the first is back, epoch ms, if that is known.
    Unavailable(Option<Millis>),
    /// Those that could are leased by others.
    Contended(Contention),
    /// The model asks several accounts for one answer.
    Unsupported,
    /// A mailbox was full, or nobody answered.
    Unanswered(Unanswered),
    /// It could not be stored.
    Unkept(String),
}

impl From<Denied> for NoLease {
    fn from(denied: Denied) -> Self {
        Self::Denied(denied)
    }
}

impl From<Unanswered> for NoLease {
    fn from(unanswered: Unanswered) -> Self {
        Self::Unanswered(unanswered)
    }
}

impl From<Lack> for NoLease {
    fn from(lack: Lack) -> Self {
        match lack {
            Lack::NoneEligible => Self::NoneEligible,
            Lack::Contended(contention) => Self::Contended(contention),
            Lack::Unavailable(until) => Self::Unavailable(until),
        }
    }
}

impl Owners {
    /// The way to the book.
    pub fn tenancies(&self) -> Tenancies {
        Tenancies::new(&self.router, &self.store)
    }

    /// Gives an owner a connection for itself, or the one that it has for longer (rules 7.4.1, 7.4.2).
    /// On disk when this returns.
    pub async fn lease(&self, offer: Offer) -> Result<Row, NoLease> {
        let mut rounds = 0;
        let row = loop {
            let offered = self.router.mailbox.ask(offer.clone()).await?.map_err(NoLease::NoPlan)?;
            rounds += 1;
            match self.settle(&offer, &offered).await? {
                Some(row) => break row,
                // Between offer and claim others were faster.
                None if rounds < ROUNDS => {}
                None => {
                    let contention = Contention { eligible: offered.targets.len(), until: None };
                    return Err(NoLease::Contended(contention));
                }
            }
        };
        if let Err(error) = self.store.flush().await {
            if row.acquired_at == row.renewed_at {
                // Nobody was told of it.
                self.tenancies().ends(&row.owner, EndReason::ClientCancelled, self.clock.now());
            }
            return Err(NoLease::Unkept(error));
        }
        Ok(row)
    }

    /// Claims what was offered; `None`: somebody else was faster everywhere.
    async fn settle(&self, offer: &Offer, offered: &Offered) -> Result<Option<Row>, NoLease> {
        if offered.targets.is_empty() && offered.lack == Lack::NoneEligible {
            return Err(NoLease::NoneEligible);
        }
        if offered.bound.as_ref().is_some_and(|row| *row.key != *offer.key) {
            return Err(Denied::Stale.into());
        }
        if offered.unsupported {
            return Err(NoLease::Unsupported);
        }
        if offered.targets.is_empty() {
            return Err(offered.lack.into());
        }
        for target in &offered.targets {
            let claim = claim(offer, target);
            let leaves = offered.bound.as_ref().filter(|row| row.connection != target.1);
            if let Some(row) = leaves {
                let moves = Tenant::Move(claim.clone(), row.generation, offered.moves);
                match self.tenant(&target.1, moves).await {
                    Ok(_) => {}
                    Err(NoLease::Denied(Denied::Taken(_) | Denied::Gone)) => continue,
                    // It ended meanwhile.
                    Err(NoLease::Denied(Denied::Required)) => return Ok(None),
                    Err(no_lease) => return Err(no_lease),
                }
            }
            match self.tenant(&target.1, Tenant::Claim(claim)).await {
                Ok(row) => return Ok(Some(row)),
                Err(NoLease::Denied(Denied::Taken(_) | Denied::Gone)) => {}
                Err(NoLease::Denied(Denied::Elsewhere(_))) => return Ok(None),
                Err(no_lease) => return Err(no_lease),
            }
        }
        Ok(None)
    }

    async fn tenant(&self, connection: &ConnectionId, tenant: Tenant) -> Result<Row, NoLease> {
        let shared = self.directory.connection(connection).ok_or(Denied::Gone)?;
        Ok(shared.mailbox.ask(tenant).await??)
    }

    /// Extends a lease (rules 7.4.3). On disk when this returns.
    pub async fn renew_lease(&self, fence: Fence) -> Result<Row, NoLease> {
        let row = self.bound(&fence).ok_or(Denied::Stale)?;
        let row = self.tenant(&row.connection, Tenant::Renew(fence)).await.map_err(is_gone)?;
        self.kept(row).await
    }

    /// Gives a lease back (rules 7.4.4). On disk when this returns.
    pub async fn release_lease(&self, fence: Fence, why: EndReason) -> Result<Row, NoLease> {
        let row = match self.bound(&fence) {
            Some(row) => self.tenant(&row.connection, Tenant::Release(fence, why)).await.map_err(is_gone)?,
            // It may have been given back before.
            None => self.tenancies().with(|book| book.release(&fence, why, self.clock.now()))?,
        };
        self.kept(row).await
    }

    /// A lease as it is (rules 7.3.2).
    pub fn lease_status(&self, fence: &Fence) -> Result<Row, NoLease> {
        Ok(self.bound(fence).ok_or(Denied::Stale)?)
    }

    fn bound(&self, fence: &Fence) -> Option<Row> {
        let now = self.clock.now();
        self.tenancies().with(|book| book.check(fence, now).ok().cloned())
    }

    async fn kept(&self, row: Row) -> Result<Row, NoLease> {
        self.store.flush().await.map_err(NoLease::Unkept)?;
        Ok(row)
    }
}

fn is_gone(no_lease: NoLease) -> NoLease {
    match no_lease {
        NoLease::Denied(_) => NoLease::Denied(Denied::Stale),
        other => other,
    }
}

fn claim(offer: &Offer, (provider, connection): &(ProviderId, ConnectionId)) -> Claim {
    Claim {
        owner: offer.owner.clone(),
        key: offer.key.to_string(),
        provider: provider.clone(),
        connection: connection.clone(),
    }
}

// === impl Owners: requests under a lease ===

impl Owners {
    /// Whether a request's lease is what it says (rules 7.6.2); `forced`: the connection that the
    /// client wants.
    pub fn check_lease(&self, fence: &Fence, forced: Option<&str>) -> Result<Row, Denied> {
        let now = self.clock.now();
        let row = self.tenancies().with(|book| book.check(fence, now).cloned())?;
        match forced.is_none_or(|forced| forced == row.connection.as_str()) {
            true => Ok(row),
            false => Err(Denied::ConnectionMismatch),
        }
    }

    /// Limits a plan to the connection of the lease, which moves first if that cannot serve any more
    /// (rules 7.4.2, 7.6.5). A plan without targets stays so and is told as any other.
    pub async fn bind(
        &self,
        plan: &mut Plan,
        fence: &Fence,
        allowed: &Arc<[ConnectionId]>,
    ) -> Result<(), NoLease> {
        if is_unsupported(plan) {
            return Err(NoLease::Unsupported);
        }
        let row = self.check_lease(fence, None)?;
        if plan.targets.iter().any(|target| target.connection == row.connection) {
            plan.targets.retain(|target| target.connection == row.connection);
            return Ok(());
        }
        let why = move_reason(&plan.excluded, &row.connection);
        let mut lost = 0;
        while let Some(target) = plan.targets.first() {
            let to = target.connection.clone();
            let claim = Claim {
                owner: fence.owner.clone(),
                key: fence.key.clone(),
                provider: target.provider.clone(),
                connection: to.clone(),
            };
            match self.tenant(&to, Tenant::Move(claim, fence.generation, why)).await {
                Ok(_) => {
                    plan.targets.retain(|target| target.connection == to);
                    return self.store.flush().await.map_err(NoLease::Unkept);
                }
                Err(NoLease::Denied(Denied::Taken(_) | Denied::Gone)) => {
                    lost += 1;
                    plan.targets.retain(|target| target.connection != to);
                }
                Err(no_lease) => return Err(no_lease),
            }
        }
        let own = |connection: Option<&ConnectionId>| connection.is_none_or(|id| allowed.contains(id));
        let contention = match lack(&plan.excluded, |target| own(target.connection.as_ref())) {
            Lack::Contended(contention) => contention,
            _ if lost > 0 => Contention { eligible: lost, until: None },
            Lack::NoneEligible | Lack::Unavailable(_) => return Ok(()),
        };
        self.tenancies().ends(&fence.owner, EndReason::ConnectionIneligible, self.clock.now());
        self.store.flush().await.map_err(NoLease::Unkept)?;
        Err(NoLease::Contended(contention))
    }
}
