//! Metrics in OpenMetrics text. Labels are configured names and closed lists only:
//! never a key, a client's text or a request's id.

use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use policy::ids::{ConnectionId, ProviderId};
use policy::plan::Planned;
use policy::usage::Tokens;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue, LabelValueEncoder};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

/// Bounds of the overhead histogram, seconds (decision 36: from 10 µs).
const OVERHEAD: [f64; 12] = [1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 1e-1, 1.0];

/// Bounds of the histogram of waits in line, seconds.
const WAITS: [f64; 9] = [1e-3, 1e-2, 1e-1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0];

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    route: &'static str,
    status: u16,
}

/// An id as a label: looked up for every attempt, so it is shared and never copied.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Id<T>(T);

impl EncodeLabelValue for Id<ProviderId> {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> Result<(), std::fmt::Error> {
        encoder.write_str(self.0.as_str())
    }
}

impl EncodeLabelValue for Id<ConnectionId> {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> Result<(), std::fmt::Error> {
        encoder.write_str(self.0.as_str())
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct AttemptLabels {
    provider: Id<ProviderId>,
    connection: Id<ConnectionId>,
    verdict: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct TokenLabels {
    kind: &'static str,
    provider: Id<ProviderId>,
    connection: Id<ConnectionId>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RefreshLabels {
    connection: Id<ConnectionId>,
    outcome: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ChangeLabels {
    kind: &'static str,
    id: String,
    to: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StateLabels {
    provider: String,
    state: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ActorLabels {
    kind: &'static str,
    id: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ConnectionLabels {
    connection: String,
}

/// Models are those that an operator gave a cap: clients' names never become a label.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct GateLabels {
    level: &'static str,
    id: String,
    model: String,
}

/// Counts of the process.
pub struct Metrics {
    registry: Registry,
    requests: Family<RequestLabels, Counter>,
    attempts: Family<AttemptLabels, Counter>,
    tokens: Family<TokenLabels, Counter>,
    refreshes: Family<RefreshLabels, Counter>,
    changes: Family<ChangeLabels, Counter>,
    overhead: Histogram,
    waits: Histogram,
    states: Family<StateLabels, Gauge>,
    in_flight: Family<ConnectionLabels, Gauge>,
    gates: GateGauges,
    waiting: Family<ActorLabels, Gauge>,
    refused: Family<ActorLabels, Counter<u64, AtomicU64>>,
    restarts: Family<ActorLabels, Counter<u64, AtomicU64>>,
    store_bytes: Gauge,
    store_failing: Gauge,
    early_commits: Counter<u64, AtomicU64>,
    reopens: Counter<u64, AtomicU64>,
    continuations: Counter<u64, AtomicU64>,
}

/// What is set of every gate.
#[derive(Default)]
struct GateGauges {
    running: Family<GateLabels, Gauge>,
    waiting: Family<GateLabels, Gauge>,
    cap: Family<GateLabels, Gauge>,
    oldest: Family<GateLabels, Gauge<f64, AtomicU64>>,
}

/// One gate as the metrics show it.
pub struct GateGauge {
    /// `global`, `provider`, `account` or `model`.
    pub level: &'static str,
    /// The provider or connection; empty: the process.
    pub id: String,
    /// The capped model; empty: not of one model.
    pub model: String,
    /// Requests that are in.
    pub running: u32,
    /// Who waits for it.
    pub waiting: usize,
    /// Requests at once; 0: no cap.
    pub cap: u32,
    /// How long the oldest has been in, ms; 0: nobody is.
    pub oldest_ms: u64,
}

/// One actor as the metrics show it.
pub struct Gauges {
    /// Its kind.
    pub kind: &'static str,
    /// Its id.
    pub id: String,
    /// Messages that wait.
    pub waiting: usize,
    /// Messages refused so far.
    pub refused: u64,
    /// Replacements so far.
    pub restarts: u64,
}

impl Metrics {
    /// All metrics at zero.
    pub fn new() -> Arc<Self> {
        let mut metrics = Self {
            registry: Registry::with_prefix("switchtower"),
            requests: Family::default(),
            attempts: Family::default(),
            tokens: Family::default(),
            refreshes: Family::default(),
            changes: Family::default(),
            overhead: Histogram::new(OVERHEAD),
            waits: Histogram::new(WAITS),
            states: Family::default(),
            in_flight: Family::default(),
            gates: GateGauges::default(),
            waiting: Family::default(),
            refused: Family::default(),
            restarts: Family::default(),
            store_bytes: Gauge::default(),
            store_failing: Gauge::default(),
            early_commits: Counter::default(),
            reopens: Counter::default(),
            continuations: Counter::default(),
        };
        metrics.register();
        Arc::new(metrics)
    }

    fn register(&mut self) {
        let registry = &mut self.registry;
        registry.register("requests", "Requests of clients by route and status", self.requests.clone());
        registry.register("attempts", "Requests sent upstream by target and verdict", self.attempts.clone());
        registry.register("tokens", "Tokens that answers took, by kind", self.tokens.clone());
        registry.register("token_refreshes", "Refreshes of OAuth tokens", self.refreshes.clone());
        registry.register("changes", "State changes of owners", self.changes.clone());
        let overhead = "Own time until the first byte to the client, upstream time excluded";
        registry.register("overhead_seconds", overhead, self.overhead.clone());
        let waits = "Time that a request stood in line for a slot or a limiter, if it did";
        registry.register("queue_wait_seconds", waits, self.waits.clone());
        registry.register("breaker_state", "1 for the state a provider's breaker is in", self.states.clone());
        registry.register("permits_in_flight", "Permits in flight by connection", self.in_flight.clone());
        let gates = &self.gates;
        registry.register("gate_running", "Requests that are in, by gate", gates.running.clone());
        registry.register(
            "gate_waiting",
            "Requests that wait for a gate; of global and provider: connections",
            gates.waiting.clone(),
        );
        registry.register("gate_cap", "Requests at once, by gate; 0 is no cap", gates.cap.clone());
        let oldest = "How long the oldest request has been in, by gate";
        registry.register("gate_oldest_holder_seconds", oldest, gates.oldest.clone());
        registry.register("mailbox_depth", "Messages that wait in a mailbox", self.waiting.clone());
        registry.register("mailbox_refused", "Messages that a full mailbox refused", self.refused.clone());
        registry.register("actor_restarts", "Replacements of an owner", self.restarts.clone());
        let early = "Streams whose head went out before any upstream had answered";
        registry.register("early_commits", early, self.early_commits.clone());
        let reopens = "Streams that broke in their opening and were opened again";
        registry.register("stream_reopens", reopens, self.reopens.clone());
        let continued = "Requests that asked for the rest of a stream that was cut";
        registry.register("stream_continuations", continued, self.continuations.clone());
        registry.register("store_bytes", "Size of the store on disk", self.store_bytes.clone());
        registry.register("store_failing", "1 while the store cannot write", self.store_failing.clone());
    }

    /// A request has stood in line, whatever became of it (FC-106).
    pub fn stood_in_line(&self, waited: Duration) {
        self.waits.observe(waited.as_secs_f64());
    }

    /// A stream's head went out before any upstream had answered (FC-033).
    pub fn committed_early(&self) {
        self.early_commits.inc();
    }

    /// A stream broke in its opening and is opened again (flow 6.5).
    pub fn reopened(&self) {
        self.reopens.inc();
    }

    /// The rest of a stream that was cut is asked for (flow 6.6).
    pub fn continued(&self) {
        self.continuations.inc();
    }

    /// One request of a client ended with this status.
    pub fn request(&self, route: &'static str, status: u16, overhead: Duration) {
        self.requests.get_or_create(&RequestLabels { route, status }).inc();
        self.overhead.observe(overhead.as_secs_f64());
    }

    /// One attempt ended.
    pub fn attempt(&self, target: &Planned, verdict: &'static str) {
        let labels = AttemptLabels {
            provider: Id(target.provider.clone()),
            connection: Id(target.connection.clone()),
            verdict,
        };
        self.attempts.get_or_create(&labels).inc();
    }

    /// What one answer took. `cached` and `cache_write` are parts of `input`, `reasoning` of `output`.
    pub fn tokens(&self, provider: &ProviderId, connection: &ConnectionId, taken: &Tokens) {
        let kinds = [
            ("input", taken.input),
            ("cached", taken.cached),
            ("cache_write", taken.cache_write),
            ("output", taken.output),
            ("reasoning", taken.reasoning),
        ];
        for (kind, count) in kinds.into_iter().filter(|(_, count)| *count > 0) {
            let (provider, connection) = (Id(provider.clone()), Id(connection.clone()));
            self.tokens.get_or_create(&TokenLabels { kind, provider, connection }).inc_by(count);
        }
    }

    /// One refresh of a connection's OAuth token ended.
    pub fn refresh(&self, connection: &ConnectionId, outcome: &'static str) {
        let labels = RefreshLabels { connection: Id(connection.clone()), outcome };
        self.refreshes.get_or_create(&labels).inc();
    }

    /// One owner changed its state.
    pub fn change(&self, kind: &'static str, id: String, to: &str) {
        self.changes.get_or_create(&ChangeLabels { kind, id, to: to.to_owned() }).inc();
    }

    /// Sets the state of a provider's breaker.
    pub fn breaker(&self, provider: &str, state: &'static str) {
        for name in ["closed", "degraded", "open", "half_open", "isolated", "observe"] {
            let labels = StateLabels { provider: provider.to_owned(), state: name };
            self.states.get_or_create(&labels).set(i64::from(name == state));
        }
    }

    /// Sets the permits in flight of a connection.
    pub fn in_flight(&self, connection: &str, permits: u32) {
        self.in_flight
            .get_or_create(&ConnectionLabels { connection: connection.to_owned() })
            .set(i64::from(permits));
    }

    /// Sets what is known of a gate.
    pub fn gate(&self, gate: GateGauge) {
        let labels = GateLabels { level: gate.level, id: gate.id, model: gate.model };
        self.gates.running.get_or_create(&labels).set(i64::from(gate.running));
        self.gates.waiting.get_or_create(&labels).set(gate.waiting as i64);
        self.gates.cap.get_or_create(&labels).set(i64::from(gate.cap));
        self.gates.oldest.get_or_create(&labels).set(gate.oldest_ms as f64 / 1_000.0);
    }

    /// Sets what is known of an actor.
    pub fn actor(&self, actor: &Gauges) {
        let labels = ActorLabels { kind: actor.kind, id: actor.id.clone() };
        self.waiting.get_or_create(&labels).set(actor.waiting as i64);
        raise(&self.refused.get_or_create(&labels), actor.refused);
        raise(&self.restarts.get_or_create(&labels), actor.restarts);
    }

    /// Sets the store's size and whether it fails.
    pub fn store(&self, bytes: u64, failing: bool) {
        self.store_bytes.set(bytes as i64);
        self.store_failing.set(i64::from(failing));
    }

    /// Forgets gauges of owners that are gone; they are set anew at every read.
    pub fn clear_owners(&self) {
        self.states.clear();
        self.in_flight.clear();
        self.gates.running.clear();
        self.gates.waiting.clear();
        self.gates.cap.clear();
        self.gates.oldest.clear();
        self.waiting.clear();
        self.refused.clear();
        self.restarts.clear();
    }

    /// The text of `/metrics`.
    pub fn text(&self) -> String {
        let mut text = String::new();
        if let Err(error) = encode(&mut text, &self.registry) {
            // Writing to a string cannot fail; a label that cannot be encoded can.
            let _ = writeln!(text, "# {error}");
        }
        text
    }
}

/// A counter that follows one kept elsewhere.
fn raise(counter: &Counter<u64, AtomicU64>, to: u64) {
    counter.inc_by(to.saturating_sub(counter.get()));
}
