//! `GET /metrics` in OpenMetrics text.

use std::sync::atomic::Ordering;

use actix_web::{HttpRequest, HttpResponse, web};

use super::errors::Refusal;
use super::gates::Gates;
use super::{Admin, access};
use crate::telemetry::{GateGauge, Gauges};

/// What Prometheus expects of an OpenMetrics answer.
const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Everything that is counted.
pub(super) async fn show(request: HttpRequest, admin: web::Data<Admin>) -> Result<HttpResponse, Refusal> {
    if !admin.metrics_public.load(Ordering::Relaxed) && !access::is_operator(&request) {
        return Err(Refusal::Unauthorised);
    }
    admin.refresh();
    Ok(HttpResponse::Ok().content_type(CONTENT_TYPE).body(admin.metrics.text()))
}

impl Admin {
    /// Sets the gauges of what the owners are now.
    fn refresh(&self) {
        let now = self.owners.clock.now();
        let metrics = &self.metrics;
        metrics.clear_owners();
        metrics.store(self.health.bytes(), self.health.is_failing());
        for shared in self.owners.directory.providers() {
            metrics.breaker(shared.id.as_str(), shared.view.load().label(now));
        }
        for shared in self.owners.directory.connections() {
            metrics.in_flight(shared.id.as_str(), shared.in_flight());
        }
        for row in Gates::of(self).rows(self) {
            metrics.gate(GateGauge {
                level: row.level,
                id: row.id,
                model: row.model,
                running: row.running,
                waiting: row.waiting,
                cap: row.cap,
                oldest_ms: row.oldest_holder_ms.unwrap_or(0),
            });
        }
        for gauges in self.gauges() {
            metrics.actor(&gauges);
        }
    }

    fn gauges(&self) -> Vec<Gauges> {
        let of = |kind, id: String, gauge: &::actors::mailbox::Gauge, restarts: u64| Gauges {
            kind,
            id,
            waiting: gauge.waiting(),
            refused: gauge.refused(),
            restarts,
        };
        let router = &self.owners.router;
        let mut gauges = vec![
            of("router", "router".into(), router.mailbox.gauge(), router.restarts.load(Ordering::Relaxed)),
            of("store", "store".into(), self.store_link.gauge(), self.health.restarts()),
        ];
        let directory = &self.owners.directory;
        for shared in directory.providers() {
            gauges.push(of(
                "provider",
                shared.id.to_string(),
                shared.mailbox.gauge(),
                shared.restarts.load(Ordering::Relaxed),
            ));
        }
        for shared in directory.connections() {
            gauges.push(of(
                "connection",
                shared.id.to_string(),
                shared.mailbox.gauge(),
                shared.restarts.load(Ordering::Relaxed),
            ));
        }
        for shared in directory.lockouts() {
            let id = shared.key.id(&shared.connection);
            gauges.push(of("lockout", id, shared.mailbox.gauge(), shared.restarts.load(Ordering::Relaxed)));
        }
        gauges
    }
}
