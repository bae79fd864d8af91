//! The accounts that a key prefers go before the others of the same step (routing 10.5).

use super::Planned;
use crate::ids::ConnectionId;

/// Brings them to the front; steps keep their places, and the others their order.
pub fn prefer(targets: &mut [Planned], preferred: &[ConnectionId]) {
    for step in targets.chunk_by_mut(|a, b| a.step == b.step) {
        step.sort_by_key(|target| !preferred.contains(&target.connection));
    }
}

#[cfg(test)]
mod tests {
    use super::prefer;
    use crate::ids::Class;
    use crate::plan::{Forced, Planned};

    #[test]
    fn preferred_accounts_go_first_within_their_step() {
        let planned = |step: usize, connection: &str| Planned {
            provider: "p".into(),
            class: Class::Apikey,
            connection: connection.into(),
            model: "m".into(),
            step,
            pinned: false,
            only_on_quota: false,
            place: None,
            grant: None,
            forced: Forced::Not,
        };
        let mut targets: Vec<Planned> = [(1, "a"), (1, "b"), (1, "c"), (0, "d"), (0, "b"), (0, "c")]
            .into_iter()
            .map(|(step, id)| planned(step, id))
            .collect();
        prefer(&mut targets, &["c".into(), "b".into(), "gone".into()]);
        let order: Vec<(usize, &str)> =
            targets.iter().map(|target| (target.step, target.connection.as_str())).collect();
        assert_eq!(order, [(1, "b"), (1, "c"), (1, "a"), (0, "b"), (0, "c"), (0, "d")]);
    }
}
