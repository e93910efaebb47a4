//! What the store counts, read when somebody asks.

use std::fmt;

use netloom_store::{Stats, Store};
use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeMetric},
    metrics::{counter::ConstCounter, gauge::ConstGauge},
    registry::Unit,
};

/// The store of the server.
pub(super) struct Storage {
    store: Store,
}

impl Storage {
    pub(super) fn new(store: Store) -> Self {
        Self { store }
    }
}

impl fmt::Debug for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Storage").finish_non_exhaustive()
    }
}

impl Collector for Storage {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let stats = match self.store.stats() {
            Ok(stats) => stats,
            // The rest of the text still helps, and `up` of the store is what readiness tells.
            Err(error) => {
                tracing::error!(%error, "the store does not say how it is");
                return Ok(());
            }
        };
        gauges(&mut encoder, &stats)?;
        counters(&mut encoder, &stats)?;
        let mut family = encoder.encode_descriptor(
            "apiserver_storage_objects",
            "Objects that are stored",
            None,
            prometheus_client::metrics::MetricType::Gauge,
        )?;
        for found in &stats.resources {
            let labels = [("resource", found.resource.as_str())];
            let objects = i64::try_from(found.objects).unwrap_or(i64::MAX);
            ConstGauge::new(objects).encode(family.encode_family(&labels)?)?;
        }
        Ok(())
    }
}

fn gauges(encoder: &mut DescriptorEncoder<'_>, stats: &Stats) -> Result<(), fmt::Error> {
    let whole = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let many = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
    let rows = [
        ("netloom_store_revision", "The newest revision", None, whole(stats.revision.0)),
        ("netloom_store_oldest_revision", "The oldest revision that can be read", None, whole(stats.oldest.0)),
        ("netloom_store_file", "Length of the file", Some(&Unit::Bytes), whole(stats.file_bytes)),
        ("netloom_store_history", "What outdated versions take", Some(&Unit::Bytes), whole(stats.history_bytes)),
        ("netloom_store_recent_events", "Changes that are kept in memory", None, many(stats.recent_events)),
        ("netloom_store_watches", "Watches of the store", None, many(stats.watches)),
    ];
    for (name, help, unit, value) in rows {
        let gauge = ConstGauge::new(value);
        gauge.encode(encoder.encode_descriptor(name, help, unit, prometheus_client::metrics::MetricType::Gauge)?)?;
    }
    Ok(())
}

fn counters(encoder: &mut DescriptorEncoder<'_>, stats: &Stats) -> Result<(), fmt::Error> {
    let rows = [
        ("netloom_store_syncs", "Transactions that were made durable", stats.commits),
        ("netloom_store_failures", "Transactions that failed", stats.failures),
        ("netloom_store_writes", "Writes that were taken", stats.writes),
        ("netloom_store_conflicts", "Writes to an object that was not as expected", stats.conflicts),
        ("netloom_store_watches_behind", "Times that a watch fell behind", stats.watches_behind),
    ];
    let kind = prometheus_client::metrics::MetricType::Counter;
    for (name, help, value) in rows {
        ConstCounter::new(value).encode(encoder.encode_descriptor(name, help, None, kind)?)?;
    }
    let seconds = ConstCounter::new(stats.commit_time.as_secs_f64());
    let name = "netloom_store_sync";
    seconds.encode(encoder.encode_descriptor(name, "Time that transactions took", Some(&Unit::Seconds), kind)?)
}
