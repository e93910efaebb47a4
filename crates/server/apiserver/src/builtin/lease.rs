//! `Lease`: who holds it, and two numbers that must make sense.

use jiff::Timestamp;
use netloom_schema::FieldError;
use serde_json::Value;

use super::{
    columns::{made, name},
    json::{at, object, text},
};

pub(super) fn default(lease: &mut Value) {
    object(lease, "spec");
}

pub(super) fn validate(lease: &Value, _old: Option<&Value>) -> Vec<FieldError> {
    let check = |field: &str, least: i64, why: &str| {
        let value = at(lease, &["spec", field])?;
        let bad = value.as_i64().is_some_and(|number| number < least);
        bad.then(|| FieldError::invalid(format!("spec.{field}"), value, why))
    };
    let orphan = !text(lease, &["spec", "preferredHolder"]).is_empty() && text(lease, &["spec", "strategy"]).is_empty();
    let preferred =
        orphan.then(|| FieldError::forbidden("spec.preferredHolder", "may only be specified if `strategy` is defined"));
    let numbers = [
        check("leaseDurationSeconds", 1, "must be greater than 0"),
        check("leaseTransitions", 0, "must be greater than or equal to 0"),
    ];
    numbers.into_iter().flatten().chain(preferred).collect()
}

pub(super) fn cells(lease: &Value, now: Timestamp) -> Vec<Value> {
    vec![name(lease), text(lease, &["spec", "holderIdentity"]).into(), made(lease, now)]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_make_sense() {
        let bad = json!({"spec": {"leaseDurationSeconds": 0, "leaseTransitions": -1, "preferredHolder": "a"}});
        let texts: Vec<_> = validate(&bad, None).iter().map(ToString::to_string).collect();
        assert_eq!(texts[0], "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0");
        assert_eq!(texts.len(), 3);
        assert!(validate(&json!({"spec": {"leaseDurationSeconds": 1, "leaseTransitions": 0}}), None).is_empty());
    }
}
