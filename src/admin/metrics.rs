//! `GET /metrics`: Prometheus text, or OpenMetrics for whoever accepts that.

use std::collections::HashSet;
use std::sync::atomic::Ordering;

use actix_web::http::header::ACCEPT;
use actix_web::{HttpRequest, HttpResponse, web};

use super::errors::Refusal;
use super::gates::Gates;
use super::{Admin, access};
use crate::telemetry::{GateGauge, Gauges};

/// What Prometheus expects of an OpenMetrics answer.
const OPEN: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// And of its own text.
const PLAIN: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Everything that is counted.
pub(super) async fn show(request: HttpRequest, admin: web::Data<Admin>) -> Result<HttpResponse, Refusal> {
    if !admin.metrics_public.load(Ordering::Relaxed) && !access::is_operator(&request) {
        return Err(Refusal::Unauthorised);
    }
    admin.refresh();
    let text = admin.metrics.text();
    Ok(match wants_open(&request) {
        true => HttpResponse::Ok().content_type(OPEN).body(text),
        false => HttpResponse::Ok().content_type(PLAIN).body(plain(&text)),
    })
}

fn wants_open(request: &HttpRequest) -> bool {
    let mut accepted = request.headers().get_all(ACCEPT).filter_map(|value| value.to_str().ok());
    accepted.any(|value| value.contains("application/openmetrics-text"))
}

/// OpenMetrics text as Prometheus text: a counter's comments have its whole name, and there are
/// neither units nor an end.
fn plain(text: &str) -> String {
    let kinds = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    let counters: HashSet<&str> = kinds.filter_map(|line| line.strip_suffix(" counter")).collect();
    let mut plain = String::with_capacity(text.len() + 64 * counters.len());
    for line in text.lines() {
        let comment = line.strip_prefix("# ").and_then(|rest| rest.split_once(' '));
        match comment {
            Some(("HELP" | "TYPE", rest)) => {
                let (name, rest) = rest.split_once(' ').unwrap_or((rest, ""));
                let total = if counters.contains(name) { "_total" } else { "" };
                let word = &line[..6];
                plain.extend([word, " ", name, total, " ", rest, "\n"]);
            }
            Some(("UNIT", _)) => {}
            _ if line == "# EOF" => {}
            _ => plain.extend([line, "\n"]),
        }
    }
    plain
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

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn a_counter_has_one_name_in_prometheus_text() {
        let open = "# HELP a_b Requests, by kind.\n# TYPE a_b counter\n# UNIT a_b seconds\n\
                    a_b_total{kind=\"# EOF\"} 1\n# HELP a A gauge.\n# TYPE a gauge\na 2\n# EOF\n";
        let wanted = "# HELP a_b_total Requests, by kind.\n# TYPE a_b_total counter\n\
                      a_b_total{kind=\"# EOF\"} 1\n# HELP a A gauge.\n# TYPE a gauge\na 2\n";
        assert_eq!(plain(open), wanted);
    }
}
