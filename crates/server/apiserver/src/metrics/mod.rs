//! What the server counts about itself, for those who watch over it.
//!
//! Names and labels are those of a real server where the meaning is the same, so that dashboards for
//! it work here. Labels come from what is served and from fixed words, never from what a client
//! makes up: the number of series is bounded by the number of kinds.

mod storage;

use std::{fmt, time::Duration};

use netloom_store::Store;
use prometheus_client::{
    encoding::{EncodeLabelSet, text},
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
    registry::Registry,
};

use self::storage::Storage;

/// The content type of the text.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Bounds of the classes of times, in seconds: a read takes less than a millisecond, a write as long
/// as the disk.
const SECONDS: [f64; 12] = [0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 60.0];

/// What a request was about.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, EncodeLabelSet)]
pub struct About {
    /// What was done, in capitals as a real server has it.
    pub verb: &'static str,
    /// The group of the resource; empty for the core one and for paths.
    pub group: String,
    /// The resource; empty for paths.
    pub resource: String,
    /// The subresource, or a path that the server has.
    pub subresource: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Answered {
    verb: &'static str,
    group: String,
    resource: String,
    subresource: &'static str,
    code: u32,
}

/// A write that admission did not let through.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct Refused {
    /// The group of the resource.
    pub group: String,
    /// The resource.
    pub resource: String,
    /// `Forbidden` for who asks, `Invalid` for what it says.
    pub reason: &'static str,
}

/// Writes that admission did not let through, by what they were about.
pub type Refusals = Family<Refused, Counter>;

type Times = Family<About, Histogram, fn() -> Histogram>;

/// Everything that is counted.
pub struct Metrics {
    registry: Registry,
    requests: Family<Answered, Counter>,
    times: Times,
    running: Gauge,
    watches: Gauge,
    unknown: Counter,
}

impl Metrics {
    /// Nothing counted yet; the store and the rules count for themselves.
    pub fn new(store: Store, refusals: &Refusals) -> Self {
        let mut registry = Registry::default();
        let requests = Family::default();
        let times: Times = Family::new_with_constructor(|| Histogram::new(SECONDS));
        let (running, watches) = (Gauge::default(), Gauge::default());
        let unknown = Counter::default();
        registry.register("apiserver_request", "Requests that were answered", requests.clone());
        registry.register(
            "apiserver_request_duration_seconds",
            "Times from the head of a request to that of its answer, watches left out",
            times.clone(),
        );
        registry.register("apiserver_current_inflight_requests", "Requests that are being answered", running.clone());
        registry.register("apiserver_longrunning_requests", "Watches that are open", watches.clone());
        registry.register("netloom_authentication_refusals", "Requests of strangers", unknown.clone());
        registry.register("netloom_admission_refusals", "Writes that the rules did not let through", refusals.clone());
        registry.register_collector(Box::new(Storage::new(store)));
        Self { registry, requests, times, running, watches, unknown }
    }

    /// A request begins; it ends with the value.
    pub fn begin(&self) -> Running {
        self.running.inc();
        Running::of(&self.running)
    }

    /// A watch begins; it ends with the value.
    pub fn watch(&self) -> Running {
        self.watches.inc();
        Running::of(&self.watches)
    }

    /// A request of somebody of whom nothing is known was refused.
    pub fn stranger(&self) {
        self.unknown.inc();
    }

    /// A request was answered; a watch has no time that means anything.
    pub fn answered(&self, about: About, code: u16, took: Option<Duration>) {
        if let Some(took) = took {
            self.times.get_or_create(&about).observe(took.as_secs_f64());
        }
        let About { verb, group, resource, subresource } = about;
        self.requests.get_or_create(&Answered { verb, group, resource, subresource, code: code.into() }).inc();
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

/// Something that is counted while it lasts.
#[derive(Debug)]
pub struct Running(Gauge);

impl Running {
    /// One that was counted in `gauge` when it began.
    pub(crate) fn of(gauge: &Gauge) -> Self {
        Self(gauge.clone())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.dec();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn everything_is_in_the_text_and_its_form_is_kept() {
        let folder = std::env::temp_dir().join(format!("netloom-metrics-{}", std::process::id()));
        drop(std::fs::remove_dir_all(&folder));
        std::fs::create_dir_all(&folder).unwrap();
        let store = Store::open(&folder.join("store"), netloom_store::Options::default()).unwrap();
        let refusals = Refusals::default();
        let metrics = Metrics::new(store, &refusals);
        let about = About { verb: "GET", group: "g.io".into(), resource: "things".into(), subresource: "" };
        metrics.answered(about.clone(), 200, Some(Duration::from_millis(3)));
        metrics.answered(about, 404, Some(Duration::from_millis(3)));
        refusals.get_or_create(&Refused { group: "g.io".into(), resource: "things".into(), reason: "Invalid" }).inc();
        metrics.stranger();
        let watch = metrics.watch();
        let text = metrics.text().unwrap();
        for line in [
            "apiserver_request_total{verb=\"GET\",group=\"g.io\",resource=\"things\",subresource=\"\",code=\"404\"} 1",
            "apiserver_request_duration_seconds_count{verb=\"GET\",group=\"g.io\",resource=\"things\",subresource=\"\"} 2",
            "apiserver_request_duration_seconds_bucket{le=\"0.005\",verb=\"GET\",group=\"g.io\",resource=\"things\",subresource=\"\"} 2",
            "apiserver_longrunning_requests 1",
            "netloom_admission_refusals_total{group=\"g.io\",resource=\"things\",reason=\"Invalid\"} 1",
            "netloom_authentication_refusals_total 1",
            "netloom_store_revision ",
            "netloom_store_file_bytes ",
            "netloom_store_syncs_total ",
            "netloom_store_sync_seconds_total ",
        ] {
            assert!(text.lines().any(|found| found.starts_with(line)), "{line} is not in\n{text}");
        }
        assert!(text.ends_with("# EOF\n"));
        drop(watch);
        assert!(metrics.text().unwrap().contains("apiserver_longrunning_requests 0"));
        drop(std::fs::remove_dir_all(&folder));
    }
}
