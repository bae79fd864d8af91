//! What a verdict needs to know of a target, swapped as a whole when the configuration
//! changes. It is looked up after a failure only, so a request that goes well pays nothing.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use policy::ids::{ConnectionId, ProviderId};
use policy::plan::Planned;
use policy::rotation::{Gate, RotationSettings};
use policy::rules::{RuleBook, restate};
use policy::time::Millis;
use policy::verdict::{self, Case, DailyReset, End, Rotation, Signal, Verdict};

/// What is configured about judging.
#[derive(Debug, Default)]
pub struct Judging {
    /// By connection.
    pub connections: HashMap<ConnectionId, Traits>,
    /// The operator's rules.
    pub rules: RuleBook,
    /// When daily quotas come back; `None`: at midnight UTC.
    pub daily_reset: Option<DailyReset>,
    /// The model that answers when the money is out; `None`: none does (rules 8.3).
    pub emergency: Option<Emergency>,
}

/// The last resort (rules 8.3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Emergency {
    /// Its provider.
    pub provider: ProviderId,
    /// Provider and model, as a client would ask for it.
    pub model: Arc<str>,
}

/// What a verdict asks of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traits {
    /// A quota belongs to one model (core 5.2.3).
    pub per_model_quota: bool,
    /// Stated waits are obeyed (decision 2).
    pub use_hints: bool,
    /// When a failure moves a request on (core 3.5).
    pub rotation: RotationSettings,
}

/// The rotation gates of connections whose operator asks for more than the built-in "always".
/// They outlive a change of the settings.
#[derive(Debug, Default)]
pub struct Gates(Mutex<HashMap<ConnectionId, Gate>>);

impl Gates {
    fn note(
        &self,
        connection: &ConnectionId,
        settings: RotationSettings,
        status: u16,
        now: Millis,
    ) -> Rotation {
        let mut gates = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let gate = gates.entry(connection.clone()).or_insert_with(|| Gate::new(settings));
        gate.configure(settings);
        gate.note(status, now)
    }
}

/// What is known of one attempt besides its signal.
pub struct Known<'a> {
    /// The gates of the process.
    pub gates: &'a Gates,
    /// When the credential is known to expire.
    pub token_expires_at: Option<Millis>,
    /// The body that the client sent.
    pub request: &'a [u8],
}

impl Judging {
    /// Judges an attempt at a target. A failure is counted at the connection's rotation gate.
    pub fn judge(&self, signal: &Signal, target: &Planned, known: &Known<'_>, now: Millis) -> Verdict {
        let mut case = self.case(target, now);
        case.token_expires_at = known.token_expires_at;
        case.request = Some(known.request);
        let rotation = self.connections.get(&target.connection).map(|traits| traits.rotation);
        if let (End::Status(status), Some(settings)) = (signal.end, rotation)
            && settings != RotationSettings::default()
        {
            // The gate stands behind the restatement, like everything that classifies (rules 1.1).
            let texts = [signal.text.to_lowercase()];
            let status = restate(case.provider, status, &texts, None).status;
            case.rotation = known.gates.note(&target.connection, settings, status, now);
        }
        verdict::judge(signal, &case)
    }

    /// The case of an attempt at a target, as far as the configuration knows it.
    pub fn case<'a>(&'a self, target: &'a Planned, now: Millis) -> Case<'a> {
        let traits = self.connections.get(&target.connection);
        Case {
            provider: target.provider.as_str(),
            model: Some(target.model.as_str()),
            request: None,
            class: target.class,
            per_model_quota: traits.is_some_and(|traits| traits.per_model_quota),
            // Whose quota is per model resells the models of others: a vendor's credits are not
            // the account's.
            passthrough: traits.is_some_and(|traits| traits.per_model_quota),
            use_hints: traits.is_none_or(|traits| traits.use_hints),
            token_expires_at: None,
            rotation: Rotation::default(),
            daily_reset: self.daily_reset,
            rules: &self.rules,
            now,
        }
    }
}
