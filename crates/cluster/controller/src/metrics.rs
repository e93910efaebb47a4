//! What the controller counts about itself.
//!
//! Labels are kinds and fixed words, so the number of series is bounded.

use std::{fmt, time::Duration};

use prometheus_client::{
    encoding::{EncodeLabelSet, text},
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
    registry::Registry,
};

/// The content type of the text.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Bounds of the classes of times, in seconds: a decision in a small cluster takes less than a millisecond, one
/// from nothing in the largest seconds.
const SECONDS: [f64; 10] = [0.000_5, 0.002_5, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 2.5, 10.0];

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfKind {
    kind: &'static str,
}

/// A request that was carried out, or was not.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct Carried {
    /// The kind of the object.
    pub kind: &'static str,
    /// What was asked for.
    pub action: &'static str,
    /// What came of it.
    pub outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Review {
    part: &'static str,
    allowed: &'static str,
}

/// Everything that is counted.
pub struct Metrics {
    registry: Registry,
    leading: Gauge,
    turns: Counter,
    turn_seconds: Histogram,
    requests: Family<Carried, Counter>,
    lists: Family<OfKind, Counter>,
    interruptions: Family<OfKind, Counter>,
    renewals: Counter,
    reviews: Family<Review, Counter>,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("netloom_controller");
        let metrics = Self {
            leading: Gauge::default(),
            turns: Counter::default(),
            turn_seconds: Histogram::new(SECONDS),
            requests: Family::default(),
            lists: Family::default(),
            interruptions: Family::default(),
            renewals: Counter::default(),
            reviews: Family::default(),
            registry: Registry::default(),
        };
        registry.register("leading", "Whether this process writes: 1 for the leader", metrics.leading.clone());
        registry.register("turns", "Decisions that led to requests", metrics.turns.clone());
        registry.register("decision_seconds", "Times that decisions took", metrics.turn_seconds.clone());
        registry.register("requests", "Requests by what came of them, leases left out", metrics.requests.clone());
        registry.register("lists", "Times that all objects of a kind were listed", metrics.lists.clone());
        registry.register("watch_interruptions", "Times that a watch broke", metrics.interruptions.clone());
        registry.register("lease_renewals", "Times that the lease was taken or renewed", metrics.renewals.clone());
        registry.register("reviews", "Questions of API servers that were answered", metrics.reviews.clone());
        Self { registry, ..metrics }
    }
}

impl Metrics {
    /// Whether this process leads from now on.
    pub fn leads(&self, leads: bool) {
        self.leading.set(i64::from(leads));
    }

    /// A decision was made; `requests` says whether something is to be done.
    pub fn decided(&self, took: Duration, requests: bool) {
        self.turn_seconds.observe(took.as_secs_f64());
        if requests {
            self.turns.inc();
        }
    }

    /// A request has ended.
    pub fn carried(&self, carried: &Carried) {
        self.requests.get_or_create(carried).inc();
    }

    /// All objects of a kind were listed.
    pub fn listed(&self, kind: &'static str) {
        self.lists.get_or_create(&OfKind { kind }).inc();
    }

    /// A watch broke.
    pub fn interrupted(&self, kind: &'static str) {
        self.interruptions.get_or_create(&OfKind { kind }).inc();
    }

    /// The lease was taken or renewed.
    pub fn renewed(&self) {
        self.renewals.inc();
    }

    /// A question of an API server was answered.
    pub fn reviewed(&self, part: &'static str, allowed: bool) {
        self.reviews.get_or_create(&Review { part, allowed: if allowed { "true" } else { "false" } }).inc();
    }

    /// Everything, as a text that Prometheus reads.
    pub fn text(&self) -> Result<String, fmt::Error> {
        let mut text = String::new();
        text::encode(&mut text, &self.registry)?;
        Ok(text)
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_in_the_text() {
        let metrics = Metrics::default();
        metrics.leads(true);
        metrics.decided(Duration::from_millis(2), true);
        metrics.carried(&Carried { kind: "NodeNetworkConfig", action: "apply", outcome: "done" });
        metrics.listed("Node");
        metrics.interrupted("Node");
        metrics.renewed();
        metrics.reviewed("validate", false);
        let text = metrics.text().unwrap();
        for line in [
            "netloom_controller_leading 1",
            "netloom_controller_turns_total 1",
            "netloom_controller_decision_seconds_bucket{le=\"0.0025\"} 1",
            "netloom_controller_requests_total{kind=\"NodeNetworkConfig\",action=\"apply\",outcome=\"done\"} 1",
            "netloom_controller_lists_total{kind=\"Node\"} 1",
            "netloom_controller_watch_interruptions_total{kind=\"Node\"} 1",
            "netloom_controller_lease_renewals_total 1",
            "netloom_controller_reviews_total{part=\"validate\",allowed=\"false\"} 1",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
        }
    }
}
