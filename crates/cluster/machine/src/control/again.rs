//! When an instance that ended is made again: one that ends at once must not be made again and again without a pause.
//!
//! What is needed for that is in the status of the machine, so that a controller that has just begun knows it too.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::{
    json::{is_going, text},
    status::has_ended,
};

/// Where a machine says when its instance may be made again, as times that can be compared as text.
pub(super) const AFTER: &str = "/status/startFailure/retryAfterTimestamp";
const COUNT: &str = "/status/startFailure/consecutiveFailCount";
const LAST: &str = "/status/startFailure/lastFailedVMIUID";

/// The longest wait, in seconds. An instance that lived longer has not ended at once.
const LONGEST: i64 = 60;

/// Whether the instance of a machine may not be made yet.
pub(super) fn waits(machine: &Value, now: &str) -> bool {
    text(machine, AFTER) > now
}

/// Whether a machine knows that this instance has ended.
pub(super) fn is_noted(machine: &Value, instance: &Value) -> bool {
    text(machine, LAST) == text(instance, "/metadata/uid")
}

/// Notes in the status of a machine that its instance has ended. One that is off begins from nothing.
pub(super) fn note(machine: &Value, own: Option<&Value>, status: &mut Value, (wanted, now): (bool, &str)) {
    if !wanted {
        drop(status.as_object_mut().map(|fields| fields.remove("startFailure")));
        return;
    }
    // One that somebody deleted has not ended by itself.
    let ended = own.filter(|own| has_ended(own) && !is_going(own) && !is_noted(machine, own));
    let Some(ended) = ended else { return };
    let lived = |since: Timestamp, now: Timestamp| now.duration_since(since).as_secs() > LONGEST;
    let times = (text(ended, "/metadata/creationTimestamp").parse().ok(), now.parse().ok());
    let at_once = !times.0.zip(times.1).is_some_and(|(since, now)| lived(since, now));
    let before = machine.pointer(COUNT).and_then(Value::as_u64).filter(|_| at_once).unwrap_or_default();
    // The time has no fractions of a second: one more, so that it is never less.
    let wait = (1_i64 << before.min(6)).min(LONGEST) + 1;
    let after = times.1.and_then(|now: Timestamp| now.checked_add(SignedDuration::from_secs(wait)).ok());
    status["startFailure"] = json!({
        "consecutiveFailCount": before + 1,
        "lastFailedVMIUID": text(ended, "/metadata/uid"),
        "retryAfterTimestamp": after.map_or_else(|| now.to_owned(), |after| after.to_string()),
    });
}
