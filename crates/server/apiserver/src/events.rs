//! Events: one stored object, two spellings.
//!
//! The core group and `events.k8s.io` show the same events under different field names. They are
//! stored in the core spelling. Nobody deletes events, so they live for an hour after their last
//! write.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::catalogue::Resource;

/// How long an event is kept after its last write.
pub const LIFE: Duration = Duration::from_hours(1);

/// How often old events are looked for.
pub(crate) const SWEEP: Duration = Duration::from_mins(1);

/// The field in the core spelling, and in the other.
const NAMES: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
];

/// Who reports: always there in the core spelling, if only as empty texts.
const REPORTER: [&str; 2] = ["reportingComponent", "reportingInstance"];

/// The same in the other spelling, which leaves them out.
const OPTIONAL: [&str; 2] = ["reportingController", "reportingInstance"];

/// Turns an event as the resource spells it into the stored spelling.
pub(crate) fn to_stored(resource: &Resource, event: &mut Value) {
    if !resource.group.is_empty() {
        respell(event, "v1", |(core, other)| (other, core));
        if let Some(map) = event.as_object_mut() {
            for name in REPORTER {
                map.entry(name).or_insert_with(|| json!(""));
            }
        }
    }
}

/// Turns a stored event into the spelling of the resource.
pub(crate) fn from_stored(resource: &Resource, event: &mut Value) {
    if !resource.group.is_empty() {
        respell(event, &resource.api_version(), |(core, other)| (core, other));
        if let Some(map) = event.as_object_mut() {
            map.retain(|name, value| value != "" || !OPTIONAL.contains(&name.as_str()));
        }
    }
}

fn respell(
    event: &mut Value,
    api_version: &str,
    order: impl Fn((&'static str, &'static str)) -> (&'static str, &'static str),
) {
    let Some(map) = event.as_object_mut() else { return };
    map.insert("apiVersion".into(), json!(api_version));
    let moved: Vec<(&str, Value)> =
        NAMES.into_iter().map(order).filter_map(|(from, to)| Some((to, map.remove(from)?))).collect();
    map.extend(moved.into_iter().map(|(name, value)| (name.to_owned(), value)));
}

/// Fills in the fields that events always show.
pub(crate) fn fill(resource: &Resource, event: &mut Value) {
    let Some(map) = event.as_object_mut().filter(|_| resource.is_event()) else { return };
    let core = resource.group.is_empty();
    let (source, first, last) = if core {
        ("source", "firstTimestamp", "lastTimestamp")
    } else {
        ("deprecatedSource", "deprecatedFirstTimestamp", "deprecatedLastTimestamp")
    };
    let about = if core { "involvedObject" } else { "regarding" };
    for (name, value) in
        [(source, json!({})), (about, json!({})), (first, Value::Null), (last, Value::Null), ("eventTime", Value::Null)]
    {
        map.entry(name).or_insert(value);
    }
    if core {
        for name in REPORTER {
            map.entry(name).or_insert_with(|| json!(""));
        }
    }
}

/// Whether a stored event has outlived its use. One without any readable time never does.
pub(crate) fn is_over(event: &Value, now: Timestamp) -> bool {
    let metadata = event.get("metadata");
    let created = metadata.and_then(|metadata| metadata.get("creationTimestamp"));
    let fields = metadata.and_then(|metadata| metadata.get("managedFields")).and_then(Value::as_array);
    let written = fields.into_iter().flatten().filter_map(Value::as_object).filter_map(time_of);
    let last = created.into_iter().chain(written).filter_map(Value::as_str).filter_map(|text| text.parse().ok()).max();
    last.is_some_and(|last: Timestamp| now.duration_since(last).unsigned_abs() > LIFE && now > last)
}

fn time_of(entry: &Map<String, Value>) -> Option<&Value> {
    entry.get("time")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings_say_the_same() {
        let core = json!({"apiVersion": "v1", "kind": "Event", "reason": "Made", "message": "text", "count": 2,
            "involvedObject": {"name": "a"}, "source": {"component": "c"}, "reportingComponent": "c"});
        let mut event = core.clone();
        respell(&mut event, "events.k8s.io/v1", |(core, other)| (core, other));
        assert_eq!(
            event,
            json!({"apiVersion": "events.k8s.io/v1", "kind": "Event", "reason": "Made", "note": "text",
                "deprecatedCount": 2, "regarding": {"name": "a"}, "deprecatedSource": {"component": "c"},
                "reportingController": "c"})
        );
        respell(&mut event, "v1", |(core, other)| (other, core));
        assert_eq!(event, core);
    }

    #[test]
    fn an_event_lives_an_hour_from_its_last_write() {
        let event = json!({"metadata": {"creationTimestamp": "2026-01-01T00:00:00Z",
            "managedFields": [{"time": "2026-01-01T00:30:00Z"}]}});
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        assert!(!is_over(&event, at("2026-01-01T01:20:00Z")));
        assert!(is_over(&event, at("2026-01-01T01:30:01Z")));
        assert!(!is_over(&json!({}), at("2026-01-01T01:30:01Z")));
    }
}
