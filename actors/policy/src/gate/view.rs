//! A gate as people see it: how full each cap is, who waits, and for how long (flow 1.25, FC-010).

use serde::Serialize;

use super::{Gate, Holder};
use crate::ids::{ConnectionId, ModelId, ProviderId};
use crate::limiter::{LimiterKey, LimiterView};
use crate::time::Millis;

/// Key of an account's gate (flow 1.8).
pub fn account_key(provider: &ProviderId, connection: &ConnectionId) -> String {
    format!("{provider}:{connection}")
}

/// Key of a model's gate (flow 1.8); the infix keeps the two kinds apart.
pub fn model_key(provider: &ProviderId, connection: &ConnectionId, model: &ModelId) -> String {
    format!("{provider}:{connection}:model:{model}")
}

/// One cap.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LevelView {
    /// The model; `None`: the account.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelId>,
    /// Requests at once; 0: no cap.
    pub max_concurrency: u32,
    /// Requests that are in.
    pub running: u32,
    /// Requests that wait for it.
    pub queued: usize,
    /// How long the oldest has been in, ms.
    pub oldest_holder_ms: Option<Millis>,
}

/// One limiter and what it is for.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LimiterEntry {
    /// The model or family; absent: the whole connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: LimiterKey,
    /// Requests that wait for it.
    pub queued: usize,
    /// Its numbers.
    #[serde(flatten)]
    pub limiter: LimiterView,
}

/// A whole gate.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GateView {
    /// The account, then each model with a cap.
    pub levels: Vec<LevelView>,
    /// How long the oldest has been waiting, ms.
    pub oldest_wait_ms: Option<Millis>,
    /// The limiters; none: the connection is not protected.
    pub limiters: Vec<LimiterEntry>,
}

impl Gate {
    /// The gate at `now`.
    pub fn view(&self, now: Millis) -> GateView {
        let account = LevelView {
            model: None,
            max_concurrency: self.settings.account_cap,
            running: self.running,
            queued: self.line.len(),
            oldest_holder_ms: self.oldest(|_| true, now),
        };
        let models = self.settings.model_caps.iter().map(|(model, cap)| LevelView {
            model: Some(model.clone()),
            max_concurrency: *cap,
            running: self.running_of.get(model).copied().unwrap_or(0),
            queued: self.line.waiting_for(model),
            oldest_holder_ms: self.oldest(|holder| holder.model == *model, now),
        });
        GateView {
            levels: std::iter::once(account).chain(models).collect(),
            oldest_wait_ms: self.line.oldest_wait().map(|since| now.saturating_sub(since)),
            limiters: self.limiter_views(now),
        }
    }

    fn limiter_views(&self, now: Millis) -> Vec<LimiterEntry> {
        let views = self.limiters.as_ref().map(|limiters| limiters.views(now)).unwrap_or_default();
        let entry = |(key, limiter)| LimiterEntry { queued: self.line.waiting_for_key(&key), key, limiter };
        views.into_iter().map(entry).collect()
    }

    fn oldest(&self, of: impl Fn(&Holder) -> bool, now: Millis) -> Option<Millis> {
        let holder = self.holders.values().find(|holder| of(holder))?;
        Some(now.saturating_sub(holder.since))
    }
}
