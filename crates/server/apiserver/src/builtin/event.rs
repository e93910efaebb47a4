//! `Event`, in both of its spellings: the older of the core group, the newer of its own.

use jiff::Timestamp;
use netloom_schema::{FieldError, names};
use serde_json::{Value, json};

use super::{
    columns::{name, since},
    json::{at, number, text},
};

/// What a field holds while nobody has reported anything.
type Empty = fn() -> Value;

/// Fields of the older spelling that are always there, if only empty.
const ALWAYS: [(&str, Empty); 7] = [
    ("involvedObject", || json!({})),
    ("source", || json!({})),
    ("firstTimestamp", || Value::Null),
    ("lastTimestamp", || Value::Null),
    ("eventTime", || Value::Null),
    ("reportingComponent", || json!("")),
    ("reportingInstance", || json!("")),
];

pub(super) fn default_core(event: &mut Value) {
    if let Some(map) = event.as_object_mut() {
        for (field, value) in ALWAYS {
            map.entry(field).or_insert_with(value);
        }
    }
}

pub(super) fn validate_core(event: &Value, _old: Option<&Value>) -> Vec<FieldError> {
    let subject = text(event, &["involvedObject", "namespace"]);
    let mut errors = namespaces(event, subject);
    if at(event, &["eventTime"]).is_some() {
        errors.extend(reported(event, "reportingComponent"));
    }
    errors
}

pub(super) fn validate_new(event: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = namespaces(event, text(event, &["regarding", "namespace"]));
    errors.extend(reported(event, "reportingController"));
    if old.is_none() && at(event, &["eventTime"]).is_none() {
        errors.push(FieldError::required("eventTime", ""));
    }
    if old.is_none() && !matches!(text(event, &["type"]), "Normal" | "Warning") {
        errors.push(FieldError::invalid("type", &json!(""), "has invalid value: "));
    }
    if at(event, &["series"]).is_some() && number(event, &["series", "count"]) < 2 {
        errors.push(FieldError::invalid("series.count", &json!(""), "should be at least 2"));
    }
    errors
}

/// An event is in the namespace of what it is about; what has none is reported in `default`.
fn namespaces(event: &Value, subject: &str) -> Vec<FieldError> {
    let own = text(event, &["metadata", "namespace"]);
    let timed = at(event, &["eventTime"]).is_some();
    let fits = match (subject, own) {
        ("", "default") => true,
        ("", "kube-system") => timed,
        ("", own) => own.is_empty() && !timed,
        (subject, own) => timed || subject == own,
    };
    let why = "does not match event.namespace";
    (!fits).then(|| FieldError::invalid("involvedObject.namespace", &json!(subject), why)).into_iter().collect()
}

/// Who reports, and what was done about it.
fn reported(event: &Value, reporter: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let component = text(event, &[reporter]);
    if component.is_empty() {
        errors.push(FieldError::required(reporter, ""));
    }
    errors.extend(
        names::qualified(component).into_iter().map(|why| FieldError::invalid(reporter, &json!(component), why)),
    );
    for field in ["reportingInstance", "action", "reason"] {
        let value = text(event, &[field]);
        if value.is_empty() {
            errors.push(FieldError::required(field, ""));
        }
        if value.len() > 128 {
            errors.push(FieldError::invalid(field, &json!(""), "can have at most 128 characters"));
        }
    }
    let note = text(event, &["note"]).len().max(text(event, &["message"]).len());
    if note > 1024 {
        errors.push(FieldError::invalid("message", &json!(""), "can have at most 1024 characters"));
    }
    errors
}

/// The row is the same for both spellings.
pub(super) fn cells(event: &Value, now: Timestamp) -> Vec<Value> {
    let either = |old: &[&str], new: &[&str]| match text(event, old) {
        "" => text(event, new).to_owned(),
        found => found.to_owned(),
    };
    let timed = text(event, &["eventTime"]).to_owned();
    let or_timed = |time: String| if time.is_empty() { timed.clone() } else { time };
    let first = or_timed(either(&["firstTimestamp"], &["deprecatedFirstTimestamp"]));
    let last = match either(&["lastTimestamp"], &["deprecatedLastTimestamp"]) {
        time if time.is_empty() => first.clone(),
        time => time,
    };
    let series = at(event, &["series"]);
    let last = series.map_or(last, |series| text(series, &["lastObservedTime"]).to_owned());
    let counted = number(event, &["count"]).max(number(event, &["deprecatedCount"])).max(1);
    let count = series.map_or(counted, |series| number(series, &["count"]));
    let kind = either(&["involvedObject", "kind"], &["regarding", "kind"]).to_lowercase();
    let target = match either(&["involvedObject", "name"], &["regarding", "name"]).as_str() {
        "" => kind,
        name => format!("{kind}/{name}"),
    };
    vec![
        since(&last, now).into(),
        text(event, &["type"]).into(),
        text(event, &["reason"]).into(),
        target.into(),
        either(&["involvedObject", "fieldPath"], &["regarding", "fieldPath"]).into(),
        source(event).into(),
        either(&["message"], &["note"]).trim().into(),
        since(&first, now).into(),
        count.into(),
        name(event),
    ]
}

fn source(event: &Value) -> String {
    let pick = |paths: [&[&str]; 3]| paths.into_iter().map(|path| text(event, path)).find(|text| !text.is_empty());
    let component = pick([&["source", "component"], &["reportingComponent"], &["reportingController"]]);
    let host = pick([&["source", "host"], &["deprecatedSource", "host"], &["reportingInstance"]]);
    match (component.unwrap_or_default(), host) {
        (component, None) => component.to_owned(),
        (component, Some(host)) => format!("{component}, {host}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_where_its_subject_is() {
        let event = |own: &str, subject: &str| json!({"metadata": {"namespace": own}, "involvedObject": {"namespace": subject}});
        assert!(validate_core(&event("a", "a"), None).is_empty());
        assert!(validate_core(&event("default", ""), None).is_empty());
        for bad in [event("a", "b"), event("a", "")] {
            assert_eq!(validate_core(&bad, None)[0].path, "involvedObject.namespace");
        }
    }

    #[test]
    fn the_newer_spelling_says_who_reports() {
        let good = json!({
            "metadata": {"namespace": "a"}, "regarding": {"namespace": "a"}, "eventTime": "2026-01-01T00:00:00.000000Z",
            "reportingController": "netloom.dev/agent", "reportingInstance": "i", "action": "a", "reason": "r",
            "type": "Normal",
        });
        assert!(validate_new(&good, None).is_empty(), "{:?}", validate_new(&good, None));
        assert!(!validate_new(&json!({"metadata": {"namespace": "default"}}), None).is_empty());
    }

    #[test]
    fn both_spellings_have_one_row() {
        let now = "2026-01-01T00:02:00Z".parse().unwrap();
        let old = json!({
            "metadata": {"name": "e"}, "involvedObject": {"kind": "Pod", "name": "p"}, "reason": "r", "type": "Normal",
            "message": " m ", "lastTimestamp": "2026-01-01T00:01:00Z", "firstTimestamp": "2026-01-01T00:00:30Z",
            "count": 3, "source": {"component": "c", "host": "h"},
        });
        let new = json!({
            "metadata": {"name": "e"}, "regarding": {"kind": "Pod", "name": "p"}, "reason": "r", "type": "Normal",
            "note": "m", "deprecatedLastTimestamp": "2026-01-01T00:01:00Z",
            "deprecatedFirstTimestamp": "2026-01-01T00:00:30Z", "deprecatedCount": 3,
            "reportingController": "c", "reportingInstance": "h",
        });
        assert_eq!(cells(&old, now), cells(&new, now));
        let shown = [json!("60s"), json!("Normal"), json!("r"), json!("pod/p"), json!(""), json!("c, h"), json!("m")];
        assert_eq!(cells(&old, now)[..7], shown);
    }
}
