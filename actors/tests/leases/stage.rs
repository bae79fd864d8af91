//! A world of managed keys, and what owners of leases do in it.

use std::sync::Arc;
use std::time::Duration;

use actors::blueprint::Blueprint;
use actors::lease::desk::NoLease;
use actors::messages::Snapshot;
use actors::permit::Permit;
use actors::router::offer::Offer;
use actors::router::pick::Pick;
use actors::testing::{World, blueprint};
use policy::catalogue::Catalogue;
use policy::ids::ConnectionId;
use policy::lease::{Fence, Managed, OwnerHash, Row};
use policy::plan::Plan;

/// The accounts of `lines`, and keys that lease some of them.
pub fn managed(lines: &str, keys: &[(&str, &[&str])]) -> Blueprint {
    let mut blueprint = blueprint(lines);
    let keys = keys.iter().map(|(key, list)| ((*key).into(), Some(ids(list))));
    let catalogue = Catalogue { managed: Managed::new(keys), ..Catalogue::clone(&blueprint.catalogue) };
    blueprint.catalogue = Arc::new(catalogue);
    blueprint
}

fn ids(list: &[&str]) -> Arc<[ConnectionId]> {
    list.iter().map(|id| ConnectionId::from(*id)).collect()
}

pub fn owner(index: usize) -> OwnerHash {
    OwnerHash::from_hex(&format!("{index:064x}")).unwrap()
}

pub fn fence(index: usize, generation: u64, key: &str) -> Fence {
    Fence { owner: owner(index), generation, key: key.into() }
}

pub fn offer(index: usize, key: &str, allowed: &[&str]) -> Offer {
    let allowed = ids(allowed);
    let (owner, key) = (owner(index), key.into());
    Offer { owner, key, allowed, preferred: None, model: "p/m".into(), limited: false }
}

/// What a request under a lease may be sent to.
pub async fn plan(
    world: &World,
    index: usize,
    generation: u64,
    key: &str,
    allowed: &[&str],
) -> Result<Plan, NoLease> {
    let fence = fence(index, generation, key);
    world.owners.check_lease(&fence, None)?;
    let allowed = ids(allowed);
    let pick = Pick {
        lease: Some(fence.clone()),
        allowed: Some(allowed.clone()),
        ..World::pick_of("p/m", Some(key))
    };
    let mut picked = world.owners.router.mailbox.ask(pick).await?.expect("a plan");
    world.owners.bind(&mut picked.plan, &fence, &allowed).await?;
    Ok(picked.plan)
}

/// A request under a lease that has been sent.
pub async fn ask(
    world: &World,
    index: usize,
    generation: u64,
    key: &str,
    allowed: &[&str],
) -> Result<Permit, NoLease> {
    let plan = plan(world, index, generation, key, allowed).await?;
    // All of the key's connections rest.
    let target = plan.targets.first().ok_or(NoLease::Unavailable(None))?;
    let mut permit = world.owners.acquire(target, false).await.expect("it is let through");
    permit.fence(&world.owners, Some(&fence(index, generation, key)))?;
    Ok(permit)
}

/// The leases that the store was told of.
pub fn rows(world: &World) -> Vec<Row> {
    let saved = world.saved().into_values().flatten();
    let lease = |snapshot| if let Snapshot::Lease(row) = snapshot { Some(*row) } else { None };
    saved.filter_map(lease).collect()
}

/// Lets time go by.
pub async fn ms(ms: u64) {
    tokio::time::sleep(Duration::from_millis(ms)).await;
}
