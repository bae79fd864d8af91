//! What survives a restart of a connection's status (decision 11). Missing fields have
//! their defaults, so that records of older versions can be read.

use serde::{Deserialize, Serialize};

use super::{LastError, Terminal};
use crate::time::Millis;
use crate::verdict::Reason;

/// The stored part of a cooldown. Instants are epoch ms.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CooldownSnapshot {
    /// Generation when it was stored; a restored cooldown has the next one.
    pub generation: u64,
    /// End of the cooldown.
    pub until: Option<Millis>,
    /// Backoff level.
    pub level: u32,
    /// Start of the episode (decision 3).
    pub episode_at: Option<Millis>,
    /// Backoff step that the episode began with.
    pub episode_step: u32,
    /// When the last cooling failure was reported.
    pub failed_at: Option<Millis>,
    /// A lone trial is due or was running.
    pub trial_due: bool,
    /// Length of the last cooldown, ms.
    pub cooled_for_ms: Millis,
    /// When the last cooldown ended, or will end.
    pub ended_at: Option<Millis>,
    /// 401s in a row (core P13).
    pub streak: u32,
    /// End of the cooldown of the last of them.
    pub streak_until: Millis,
    /// A credential was refused once; a refusal of what is sent from then on confirms it
    /// (decision 12a).
    pub unconfirmed_until: Option<Millis>,
    /// Refusals of a request's content in a row (core 3.8, F15).
    pub refusals: u32,
    /// When the last of them was reported.
    pub refused_at: Millis,
    /// It is out of use.
    pub terminal: Option<Terminal>,
    /// The last failure since the last success.
    pub last_error: Option<LastError>,
    /// The failure that set `until`; later ones that only were told are in `last_error`. `None`
    /// for an operator's order.
    pub rest_reason: Option<Reason>,
    /// The length of the rest is ours alone: nobody stated a wait or gave an order since it began.
    pub computed: bool,
}
