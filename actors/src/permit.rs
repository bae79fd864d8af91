//! The right to one call: a slot of the connection and a word about the provider.
//!
//! Taken in the order provider, connection; a later refusal drops the earlier part. A request
//! that waits for a slot holds nothing: the provider's word is asked for when the slot is there.
//! Dropping a permit gives everything back, whatever ended the request. Settling is
//! posted, so that a client that leaves cannot take the verdict along; bad news is
//! then awaited, so that the same request never picks again what it just saw fail.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use policy::breaker::{Admission, Grant};
use policy::change::{Exclusion, Refusal};
use policy::gate::{Patience, Stumble};
use policy::ids::ConnectionId;
use policy::lease::{Denied, Fence};
use policy::limiter::RateHeaders;
use policy::plan::{Forced, Planned};
use policy::time::Millis;
use policy::verdict::{BreakerMark, Failure, Verdict};

use crate::berths::Berth;
use crate::clock::Clock;
use crate::connection::{Acquire, Admitted, ConnectionShared, Settle, Slot};
use crate::directory::{Directory, RouterShared};
use crate::lease::Stay;
use crate::mailbox::Unanswered;
use crate::messages::{Barrier, StoreLink};
use crate::provider::{Admit, Probe, ProviderShared};

/// What a request needs to ask the owners of a target.
#[derive(Clone)]
pub struct Owners {
    /// Handles by id.
    pub directory: Arc<Directory>,
    /// The router.
    pub router: Arc<RouterShared>,
    /// The clock.
    pub clock: Clock,
    /// The way to the store.
    pub store: StoreLink,
}

/// The right to one call.
pub struct Permit {
    slot: Slot,
    probe: Option<Probe>,
    grant: Grant,
    connection: Arc<ConnectionShared>,
    provider: Arc<ProviderShared>,
    target: Planned,
    sent_at: Millis,
    egress: Option<Arc<str>>,
    limits: Option<RateHeaders>,
    stay: Option<Stay>,
    berths: Vec<Berth>,
}

/// Owners of one connection that a request waits at, one after the other.
const MOST_LIVES: usize = 10;

fn refusal(unanswered: Unanswered) -> Refusal {
    let why = match unanswered {
        Unanswered::Full => Exclusion::MailboxFull,
        Unanswered::Gone => Exclusion::Unavailable,
    };
    Refusal { why, retry_at: None }
}

impl Owners {
    /// The look at leases before everything that is sent, however long after the request was let in:
    /// its own lease stands, or nobody has leased the connection (rules 7.6.3, 7.4.6).
    pub fn may_send(&self, fence: Option<&Fence>, connection: &ConnectionId) -> Result<(), Denied> {
        match fence {
            Some(fence) => self.tenancies().with(|book| book.fence(fence, connection, self.clock.now())),
            None if self.router.leases.is_empty() => Ok(()),
            None => self.tenancies().keeps_away(connection, self.clock.now()),
        }
    }

    /// Asks the target's owners: the provider if its breaker is half-open, then the connection.
    /// A connection without room refuses at once. `others`: the plan holds another target (decision 3a).
    pub async fn acquire(&self, target: &Planned, others: bool) -> Result<Permit, Refusal> {
        self.ask(target, others, false).await
    }

    /// The same for a request that has sat out a rest with others: it follows those who try the
    /// connection first (FC-108).
    pub async fn acquire_behind(&self, target: &Planned) -> Result<Permit, Refusal> {
        self.ask(target, true, true).await
    }

    async fn ask(&self, target: &Planned, others: bool, behind: bool) -> Result<Permit, Refusal> {
        let gone = Refusal { why: Exclusion::Unavailable, retry_at: None };
        let provider = self.directory.provider(&target.provider).ok_or(gone)?;
        let connection = self.directory.connection(&target.connection).ok_or(gone)?;
        let probe = match target.grant {
            Some(_) => None,
            None => Some(provider.mailbox.ask(Admit).await.map_err(refusal)??),
        };
        let (model, forced) = (target.model.clone(), target.forced != Forced::Not);
        let acquire = Acquire { model, others, patience: Patience::None, behind, forced };
        match connection.mailbox.ask(acquire).await.map_err(refusal)?? {
            Admitted::In(slot) => self.permit(target, slot, probe, (connection, provider)),
            // Nobody is put in line who did not ask for it.
            Admitted::Waits(_) => Err(Refusal { why: Exclusion::ConcurrencyCap, retry_at: None }),
        }
    }

    /// Joins the line of a target, and awaits the slot or the end of the owner's patience. Dropped
    /// meanwhile, the place in line is given up. When the owner is replaced, the next one is asked. `behind`: it
    /// also waits behind the lone trial of a connection that has come back.
    pub async fn queue(&self, target: &Planned, patience: Patience, behind: bool) -> Result<Permit, Refusal> {
        let gone = Refusal { why: Exclusion::Unavailable, retry_at: None };
        let provider = self.directory.provider(&target.provider).ok_or(gone)?;
        let connection = self.directory.connection(&target.connection).ok_or(gone)?;
        let (model, forced) = (target.model.clone(), target.forced != Forced::Not);
        let acquire = Acquire { model, others: false, patience, behind, forced };
        for _ in 0..MOST_LIVES {
            let slot = match connection.mailbox.ask(acquire.clone()).await.map_err(refusal)?? {
                Admitted::In(slot) => slot,
                Admitted::Waits(mut waiting) => match waiting.turn().await {
                    Some(turn) => turn?,
                    None => continue,
                },
            };
            let probe = match target.grant {
                Some(_) => None,
                None => Some(provider.mailbox.ask(Admit).await.map_err(refusal)??),
            };
            return self.permit(target, slot, probe, (connection, provider));
        }
        Err(gone)
    }

    fn permit(
        &self,
        target: &Planned,
        slot: Slot,
        probe: Option<Probe>,
        (connection, provider): (Arc<ConnectionShared>, Arc<ProviderShared>),
    ) -> Result<Permit, Refusal> {
        let grant = self.still_open(target, &provider, probe.as_ref())?;
        let sent_at = self.clock.now();
        let target = target.clone();
        let (egress, limits, stay, berths) = (None, None, None, Vec::new());
        Ok(Permit { slot, probe, grant, connection, provider, target, sent_at, egress, limits, stay, berths })
    }

    /// The last look before dialling: a breaker that tripped since the plan refuses. The last resort
    /// passes it, but no operator's order.
    fn still_open(
        &self,
        target: &Planned,
        provider: &ProviderShared,
        probe: Option<&Probe>,
    ) -> Result<Grant, Refusal> {
        if let Some(probe) = probe {
            return Ok(probe.grant());
        }
        let view = provider.view.load();
        let passes = |why| target.forced == Forced::LastResort && why == Exclusion::CircuitOpen;
        match view.admission(self.clock.now()) {
            // Not the plan's: a router that is just being replaced does not know the generation yet.
            Admission::Free => Ok(view.grant()),
            Admission::Ask if passes(Exclusion::CircuitOpen) => Ok(view.grant()),
            Admission::Refused(refusal) if passes(refusal.why) => Ok(view.grant()),
            Admission::Ask => Err(Refusal { why: Exclusion::CircuitOpen, retry_at: None }),
            Admission::Refused(refusal) => Err(refusal),
        }
    }
}

impl Permit {
    /// It holds the probe of a half-open breaker.
    pub fn is_probe(&self) -> bool {
        self.grant.probe
    }

    /// How long a probe may be silent while another target is left (decision 5a), ms.
    pub fn probe_lease_ms(&self) -> Millis {
        self.provider.view.load().reset_ms
    }

    /// The target it is for.
    pub fn target(&self) -> &Planned {
        &self.target
    }

    /// The last look at leases before something is sent (rules 7.6.3, 7.4.6), after every wait. From
    /// then on the request's own lease does not run out before the permit is dropped.
    pub fn fence(&mut self, owners: &Owners, fence: Option<&Fence>) -> Result<(), Denied> {
        let connection = &self.connection.id;
        match (fence, &self.stay) {
            (Some(fence), None) => {
                self.stay = Some(owners.tenancies().enter(fence, connection, owners.clock)?);
                Ok(())
            }
            (fence, _) => owners.may_send(fence, connection),
        }
    }

    /// Keeps the berths that the request has in its combos (routing 8.7) until it ends.
    pub fn keep(&mut self, berths: Vec<Berth>) {
        self.berths = berths;
    }

    /// Where the attempt comes from: the outbound proxy, else the local address (decision 31a).
    pub fn came_from(&mut self, identity: Arc<str>) {
        self.egress = Some(identity);
    }

    /// What the answer says of the provider's limits (flow 4.5).
    pub fn was_told(&mut self, limits: Option<RateHeaders>) {
        self.limits = limits;
    }

    /// Posts the verdict. The slot stays taken until the permit is dropped.
    /// `counts`: it may count on the breaker; `direct`: no combo was asked for.
    pub fn settle(&mut self, verdict: Verdict, counts: bool, direct: bool) {
        if let Some(probe) = self.probe.take() {
            self.grant = probe.speak();
        }
        self.post(Some(self.grant), verdict, counts, direct);
    }

    fn post(&mut self, grant: Option<Grant>, verdict: Verdict, counts: bool, direct: bool) {
        self.slot.speak();
        self.connection.mailbox.post(Settle {
            trial: self.slot.trial,
            grant,
            model: self.target.model.clone(),
            verdict,
            counts,
            direct,
            sent_at: self.sent_at,
            egress: self.egress.clone(),
            limits: self.limits.take(),
        });
    }

    /// Posts a second verdict of the same request: its answer was good at commit and was cut
    /// later (decision 9a). It speaks about the breaker as it is when it is heard: what the first one
    /// changed may not be published yet.
    pub fn settle_again(&mut self, verdict: Verdict, direct: bool) {
        self.post(None, verdict, true, direct);
    }

    /// It failed and will be tried again: nothing is reported (decision 9c), and those who wait for
    /// the connection follow with more care.
    pub fn stumble(mut self, failure: &Failure) {
        self.slot.stumble(Stumble::of(failure));
    }

    /// Gives everything back and waits until the owners have heard of a failure.
    pub async fn close(self, owners: &Owners, failure: &Failure) {
        let Self { slot, connection, provider, target, berths, .. } = self;
        drop((slot, berths));
        // Each answer means: what was posted there before is handled. An owner that is gone
        // has nothing left to hear.
        let _ = connection.mailbox.ask(Barrier).await;
        if matches!(failure.breaker, BreakerMark::Counts(_) | BreakerMark::Reachable) {
            let _ = provider.mailbox.ask(Barrier).await;
        }
        let _ = owners.router.mailbox.ask(Barrier).await;
        if connection.lockouts.load(Ordering::Relaxed) > 0 {
            let mut lockouts = owners.directory.lockouts_of(&target.connection);
            lockouts.retain(|lockout| lockout.key.covers(&target.provider, &target.model));
            for lockout in lockouts {
                let _ = lockout.mailbox.ask(Barrier).await;
            }
        }
    }
}
