//! What a definition must say, and what of it may change.

use serde_json::Value;

use super::{text, versions};
use crate::{
    Rules,
    field_error::{Cause, FieldError},
    go_text,
    metadata::{NameRule, check_create as check_metadata, check_update as check_metadata_update},
    names,
};

/// Checks a new definition, in which defaults have been filled in.
pub fn check_create(crd: &Value, rules: &dyn Rules) -> Vec<FieldError> {
    let metadata = crd.get("metadata").unwrap_or(&Value::Null);
    let spec = crd.get("spec").unwrap_or(&Value::Null);
    let mut errors = check_metadata(metadata, false, NameRule::Subdomain);
    let name = text(metadata, "name");
    let wanted = format!("{}.{}", text(spec.get("names").unwrap_or(&Value::Null), "plural"), text(spec, "group"));
    if !name.is_empty() && name != wanted {
        errors.push(FieldError::invalid_text("metadata.name", name, "must be spec.names.plural+\".\"+spec.group"));
    }
    errors.extend(check_spec(spec, rules));
    errors.extend(around(crd, None));
    errors
}

/// Checks a definition that replaces another one.
pub fn check_update(new: &Value, old: &Value, rules: &dyn Rules) -> Vec<FieldError> {
    let nothing = &Value::Null;
    let metadata = |crd: &Value| crd.get("metadata").cloned().unwrap_or(Value::Null);
    let (spec, old_spec) = (new.get("spec").unwrap_or(nothing), old.get("spec").unwrap_or(nothing));
    let mut errors = check_metadata_update(&metadata(new), &metadata(old));
    errors.extend(check_spec(spec, rules));
    let mut fixed = vec![("/group", "group"), ("/names/plural", "names.plural")];
    if is_established(old) {
        fixed.splice(0..0, [("/scope", "scope"), ("/names/kind", "names.kind")]);
    }
    for (pointer, path) in fixed {
        let value = |spec: &Value| spec.pointer(pointer).cloned().unwrap_or_else(|| Value::from(""));
        if value(spec) != value(old_spec) {
            errors.push(FieldError::invalid(format!("spec.{path}"), &value(spec), "field is immutable"));
        }
    }
    errors.extend(around(new, Some(old)));
    errors
}

fn is_established(crd: &Value) -> bool {
    let conditions = crd.pointer("/status/conditions").and_then(Value::as_array).into_iter().flatten();
    conditions.into_iter().any(|c| text(c, "type") == "Established" && text(c, "status") == "True")
}

fn joined(path: &str, value: &str, wrong: &[String], before: &str) -> Option<FieldError> {
    (!wrong.is_empty()).then(|| FieldError::invalid_text(path, value, format!("{before}{}", wrong.join(","))))
}

fn check_spec(spec: &Value, rules: &dyn Rules) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let group = text(spec, "group");
    if group.is_empty() {
        errors.push(FieldError::required("spec.group", ""));
    } else if let Some(error) = joined("spec.group", group, &names::dns_subdomain(group), "") {
        errors.push(error);
    } else if !group.contains('.') {
        errors.push(FieldError::invalid_text("spec.group", group, "should be a domain with at least one dot"));
    }
    let scopes = ["Cluster", "Namespaced"];
    match text(spec, "scope") {
        "" => errors.push(FieldError::required("spec.scope", "")),
        scope if scopes.contains(&scope) => {}
        scope => errors.push(FieldError::not_supported("spec.scope", &Value::from(scope), &scopes)),
    }
    let listed = spec.get("versions").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let printed = if spec.get("versions").is_some() { versions::printed(listed) } else { "null".to_owned() };
    errors.extend(version_names(listed, &printed));
    errors.extend(versions::check(listed, rules));
    errors.extend(check_names(spec.get("names").unwrap_or(&Value::Null)));
    errors.extend(conversion(spec.get("conversion").unwrap_or(&Value::Null)));
    errors
}

fn version_names(listed: &[Value], printed: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let names: Vec<&str> = listed.iter().map(|v| text(v, "name")).collect();
    for (i, name) in names.iter().enumerate() {
        errors.extend(joined(&format!("spec.versions[{i}].name"), name, &names::dns_1035_label(name), ""));
    }
    // The server keeps the first name in an older field as well.
    if let Some(first) = names.first() {
        errors.extend(joined("spec.version", first, &names::dns_1035_label(first), ""));
    }
    let of_all = |why: &str| FieldError {
        path: "spec.versions".to_owned(),
        cause: Cause::Invalid,
        value: Some(printed.to_owned()),
        detail: why.to_owned(),
    };
    if names.iter().enumerate().any(|(i, name)| names[..i].contains(name)) {
        errors.push(of_all("must contain unique version names"));
    }
    if listed.iter().filter(|v| v.get("storage") == Some(&Value::Bool(true))).count() != 1 {
        errors.push(of_all("must have exactly one version marked as storage version"));
    }
    errors
}

fn check_names(found: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let at = |name: &str| format!("spec.names.{name}");
    for name in ["plural", "singular", "kind", "listKind"] {
        if text(found, name).is_empty() {
            errors.push(FieldError::required(at(name), ""));
        }
    }
    for name in ["plural", "singular"] {
        let value = text(found, name);
        if !value.is_empty() {
            errors.extend(joined(&at(name), value, &names::dns_1035_label(value), ""));
        }
    }
    for name in ["kind", "listKind"] {
        let value = text(found, name);
        if !value.is_empty() {
            let wrong = names::dns_1035_label(&value.to_lowercase());
            errors.extend(joined(&at(name), value, &wrong, "may have mixed case, but should otherwise match: "));
        }
    }
    for name in ["shortNames", "categories"] {
        for (i, value) in super::texts(found, name).iter().enumerate() {
            errors.extend(joined(&format!("{}[{i}]", at(name)), value, &names::dns_1035_label(value), ""));
        }
    }
    let (kind, list_kind) = (text(found, "kind"), text(found, "listKind"));
    if !kind.is_empty() && kind == list_kind {
        errors.push(FieldError::invalid_text(at("listKind"), list_kind, "kind and listKind may not be the same"));
    }
    errors
}

fn conversion(conversion: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let path = "spec.conversion";
    if conversion.is_null() {
        return errors;
    }
    let webhook = conversion.get("webhook").filter(|w| !w.is_null());
    let client = webhook.and_then(|w| w.get("clientConfig")).filter(|c| !c.is_null());
    let review_versions = webhook.map_or_else(Vec::new, |w| super::texts(w, "conversionReviewVersions"));
    match text(conversion, "strategy") {
        "Webhook" => {
            let at = format!("{path}.webhookClientConfig");
            match client {
                None => errors.push(FieldError::required(at, "required when strategy is set to Webhook")),
                Some(client) if client.get("url").is_some() == client.get("service").is_some() => {
                    errors.push(FieldError::required(at, "exactly one of url or service is required"));
                }
                Some(_) => {}
            }
            errors.extend(check_review_versions(&review_versions, &format!("{path}.conversionReviewVersions")));
        }
        strategy => {
            match strategy {
                "" => errors.push(FieldError::required(format!("{path}.strategy"), "")),
                "None" => {}
                other => errors.push(FieldError::not_supported(
                    format!("{path}.strategy"),
                    &Value::from(other),
                    &["None", "Webhook"],
                )),
            }
            let why = "should not be set when strategy is not set to Webhook";
            if client.is_some() {
                errors.push(FieldError::forbidden(format!("{path}.webhookClientConfig"), why));
            }
            if !review_versions.is_empty() {
                errors.push(FieldError::forbidden(format!("{path}.conversionReviewVersions"), why));
            }
        }
    }
    errors
}

fn check_review_versions(versions: &[String], path: &str) -> Vec<FieldError> {
    if versions.is_empty() {
        return vec![FieldError::required(path, "")];
    }
    let mut errors = Vec::new();
    for (i, version) in versions.iter().enumerate() {
        if versions[..i].contains(version) {
            errors.push(FieldError::invalid_text(format!("{path}[{i}]"), version, "duplicate version"));
            continue;
        }
        let wrong = names::dns_1035_label(version);
        errors.extend(wrong.into_iter().map(|e| FieldError::invalid_text(format!("{path}[{i}]"), version, e)));
    }
    if !versions.iter().any(|v| v == "v1" || v == "v1beta1") {
        let listed = Value::from(versions.to_vec());
        errors.push(FieldError::invalid(path, &listed, "must include at least one of v1, v1beta1"));
    }
    errors
}

/// Stored versions, approval of protected groups, and the old way to keep unknown fields.
fn around(crd: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = stored_versions(crd);
    errors.extend(approval(crd, old));
    let preserves = |crd: &Value| crd.pointer("/spec/preserveUnknownFields") == Some(&Value::Bool(true));
    if preserves(crd) && !old.is_some_and(preserves) {
        let why =
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead";
        errors.push(FieldError::invalid("spec.preserveUnknownFields", &Value::Bool(true), why));
    }
    errors
}

fn stored_versions(crd: &Value) -> Vec<FieldError> {
    let path = "status.storedVersions";
    let stored = super::texts(crd.get("status").unwrap_or(&Value::Null), "storedVersions");
    let listed = Value::from(stored.clone());
    if stored.is_empty() {
        return vec![FieldError::invalid(path, &Value::Null, "must have at least one stored version")];
    }
    let versions = crd.pointer("/spec/versions").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let mut errors = Vec::new();
    // Each stored version stands for one version of the definition, so that a name that is there twice
    // misses its second one.
    let mut unmatched = stored.clone();
    for version in versions {
        let name = text(version, "name");
        let found = unmatched.iter().position(|s| s == name).map(|at| unmatched.remove(at)).is_some();
        if version.get("storage") == Some(&Value::Bool(true)) && !found {
            errors.push(FieldError::invalid(path, &listed, format!("must have the storage version {name}")));
        }
    }
    for (i, name) in stored.iter().enumerate().filter(|(_, name)| !versions.iter().any(|v| text(v, "name") == *name)) {
        let why = format!(
            "missing from spec.versions; {name} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in {name} and removes {name} from status.storedVersions"
        );
        errors.push(FieldError::invalid_text(format!("{path}[{i}]"), name, why));
    }
    errors
}

const APPROVAL: &str = "api-approved.kubernetes.io";

/// Groups of the Kubernetes community need a note of who approved them.
fn approval(crd: &Value, old: Option<&Value>) -> Option<FieldError> {
    let group = crd.pointer("/spec/group").and_then(Value::as_str).unwrap_or_default();
    let is_protected =
        ["k8s.io", "kubernetes.io"].iter().any(|end| group == *end || group.ends_with(&format!(".{end}")));
    if !is_protected {
        return None;
    }
    let note = |crd: &Value| {
        crd.pointer("/metadata/annotations").and_then(|a| a.get(APPROVAL)).and_then(Value::as_str).map(str::to_owned)
    };
    let given = note(crd);
    if old.is_some_and(|old| approval_state(note(old).as_deref()) == approval_state(given.as_deref())) {
        return None;
    }
    let path = format!("metadata.annotations[{APPROVAL}]");
    let see = "see https://github.com/kubernetes/enhancements/pull/1111";
    match approval_state(given.as_deref()) {
        Approval::Missing => {
            let why = format!("protected groups must have approval annotation {}, {see}", go_text::quote(APPROVAL));
            Some(FieldError::required(path, why))
        }
        Approval::Invalid => {
            let why = format!(
                "protected groups must have approval annotation {} with either a URL or a reason starting with \"unapproved\", {see}",
                go_text::quote(APPROVAL)
            );
            Some(FieldError::invalid_text(path, given.as_deref().unwrap_or_default(), why))
        }
        Approval::Given => None,
    }
}

#[derive(PartialEq, Eq)]
enum Approval {
    Missing,
    Invalid,
    Given,
}

fn approval_state(note: Option<&str>) -> Approval {
    match note {
        None | Some("") => Approval::Missing,
        Some(note) if note.starts_with("unapproved") => Approval::Given,
        Some(note) if note.contains("://") && !note.ends_with("://") => Approval::Given,
        Some(_) => Approval::Invalid,
    }
}
