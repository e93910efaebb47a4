//! What an agent counts about itself.

use std::{
    fmt,
    sync::{Mutex, PoisonError},
};

use netloom_agent_core::{Done, Failure};
use netloom_object::Answer;
use prometheus_client::{
    encoding::{EncodeLabelSet, text},
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
    registry::Registry,
};

/// Bounds of the classes of times, in seconds.
const SECONDS: [f64; 10] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0, 120.0];

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Ending {
    result: &'static str,
}

/// Everything that is counted. Labels are fixed words, so the number of series is bounded.
pub(crate) struct Metrics {
    registry: Registry,
    transactions: Family<Ending, Counter>,
    times: Histogram,
    requests: Family<Ending, Counter>,
    observations: Counter,
    drift: Gauge,
    connected: Gauge,
    deaf: Gauge,
    /// Why the API refused last.
    refusal: Mutex<Option<String>>,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let mut registry = Registry::with_prefix("netloom_agent");
        let transactions = Family::default();
        let times = Histogram::new(SECONDS);
        let (requests, observations) = (Family::default(), Counter::default());
        let (drift, connected, deaf) = (Gauge::default(), Gauge::default(), Gauge::default());
        registry.register("transactions", "Transactions, by result", transactions.clone());
        registry.register("transaction_seconds", "How long a transaction took that ended well", times.clone());
        registry.register("requests", "Requests to the API, by their answer", requests.clone());
        registry.register("observations", "Times that the host was read", observations.clone());
        registry.register("drifted_fields", "Fields that are not as they were verified to be", drift.clone());
        registry.register("objects_listed", "Whether the node's objects were read from the API", connected.clone());
        registry.register(
            "deaf",
            "Whether the kernel's notifications cannot be read, so that only the poll finds drift",
            deaf.clone(),
        );
        let refusal = Mutex::new(None);
        Self { registry, transactions, times, requests, observations, drift, connected, deaf, refusal }
    }

    pub(crate) fn transaction(&self, outcome: &Result<Done, Failure>) {
        let result = match outcome {
            Ok(Done { changed: true, took }) => {
                self.times.observe(took.as_secs_f64());
                "Confirmed"
            }
            Ok(Done { changed: false, .. }) => "Nothing",
            Err(failure) => failure.reason(),
        };
        self.transactions.get_or_create(&Ending { result }).inc();
    }

    pub(crate) fn request(&self, answer: &Answer) {
        let result = match answer {
            Answer::Done => "Done",
            Answer::Refused => "Refused",
            Answer::Denied => "Denied",
            Answer::Skipped => "Skipped",
        };
        self.requests.get_or_create(&Ending { result }).inc();
    }

    pub(crate) fn refused(&self, why: &str) {
        *self.refusal.lock().unwrap_or_else(PoisonError::into_inner) = Some(why.to_owned());
    }

    /// Why the API refused last.
    pub(crate) fn refusal(&self) -> Option<String> {
        self.refusal.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn observation(&self) {
        self.observations.inc();
    }

    pub(crate) fn drifted(&self, fields: usize) {
        self.drift.set(i64::try_from(fields).unwrap_or(i64::MAX));
    }

    pub(crate) fn deaf(&self, is: bool) {
        self.deaf.set(i64::from(is));
    }

    pub(crate) fn listed(&self) {
        self.connected.set(1);
    }

    /// All of it as text.
    pub(crate) fn text(&self) -> Result<String, fmt::Error> {
        let mut out = String::new();
        text::encode(&mut out, &self.registry)?;
        Ok(out)
    }
}
