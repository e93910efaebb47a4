//! Roles and bindings: the group of a reference is filled in, a rule must say what it is about.
//!
//! What a rule allows is decided elsewhere; this is about the form only.

use jiff::Timestamp;
use netloom_schema::{FieldError, names};
use serde_json::{Map, Value, json};

use super::{
    columns::{made, name},
    json::{items, items_mut, object, set_default, text},
};

const GROUP: &str = "rbac.authorization.k8s.io";

pub(super) fn default_binding(binding: &mut Value) {
    if let Some(role) = object(binding, "roleRef") {
        set_default(role, "apiGroup", GROUP);
    }
    for subject in items_mut(binding, &["subjects"]) {
        let group = match text(subject, &["kind"]) {
            "User" | "Group" => GROUP,
            _ => continue,
        };
        if let Some(map) = subject.as_object_mut() {
            set_default(map, "apiGroup", group);
        }
    }
}

/// A role always has rules, if only none.
/// Of its secrets an account keeps only the names: they are in its own namespace.
pub(super) fn prepare_account(account: &mut Value, _old: Option<&Value>) {
    for secret in items_mut(account, &["secrets"]).iter_mut().filter_map(Value::as_object_mut) {
        secret.retain(|field, _| field == "name");
    }
}

pub(super) fn default_role(role: &mut Value) {
    if let Some(map) = role.as_object_mut() {
        map.entry("rules").or_insert(Value::Null);
    }
}

pub(super) fn validate_role(role: &Value, _old: Option<&Value>) -> Vec<FieldError> {
    rules(role, true)
}

pub(super) fn validate_cluster_role(role: &Value, _old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = rules(role, false);
    let aggregates = role.get("aggregationRule").is_some_and(|rule| !rule.is_null());
    if aggregates && items(role, &["aggregationRule", "clusterRoleSelectors"]).is_empty() {
        let why = "at least one clusterRoleSelector required if aggregationRule is non-nil";
        errors.push(FieldError::required("aggregationRule.clusterRoleSelectors", why));
    }
    errors
}

pub(super) fn validate_binding(binding: &Value, old: Option<&Value>) -> Vec<FieldError> {
    bindings(binding, old, true)
}

pub(super) fn validate_cluster_binding(binding: &Value, old: Option<&Value>) -> Vec<FieldError> {
    bindings(binding, old, false)
}

pub(super) fn binding_cells(binding: &Value, now: Timestamp) -> Vec<Value> {
    let role = format!("{}/{}", text(binding, &["roleRef", "kind"]), text(binding, &["roleRef", "name"]));
    let of = |kind: &str| {
        let chosen = items(binding, &["subjects"]).iter().filter(|subject| subject["kind"] == kind);
        let names = chosen.map(|subject| match (kind, text(subject, &["namespace"])) {
            ("ServiceAccount", namespace) => format!("{namespace}/{}", text(subject, &["name"])),
            _ => text(subject, &["name"]).to_owned(),
        });
        names.collect::<Vec<_>>().join(", ")
    };
    vec![
        name(binding),
        role.into(),
        made(binding, now),
        of("User").into(),
        of("Group").into(),
        of("ServiceAccount").into(),
    ]
}

fn rules(role: &Value, namespaced: bool) -> Vec<FieldError> {
    let rules = items(role, &["rules"]).iter().enumerate();
    rules.flat_map(|(index, found)| rule(found, namespaced, &format!("rules[{index}]"))).collect()
}

fn rule(rule: &Value, namespaced: bool, path: &str) -> Vec<FieldError> {
    let has = |field: &str| !items(rule, &[field]).is_empty();
    let mut errors = Vec::new();
    if !has("verbs") {
        errors.push(FieldError::required(format!("{path}.verbs"), "verbs must contain at least one value"));
    }
    if has("nonResourceURLs") {
        let path = format!("{path}.nonResourceURLs");
        let mut complain = |why: &str| errors.push(FieldError::invalid(path.clone(), &rule["nonResourceURLs"], why));
        if namespaced {
            complain("namespaced rules cannot apply to non-resource URLs");
        }
        if has("apiGroups") || has("resources") || has("resourceNames") {
            complain("rules cannot apply to both regular resources and non-resource URLs");
        }
        return errors;
    }
    if !has("apiGroups") {
        let why = "resource rules must supply at least one api group";
        errors.push(FieldError::required(format!("{path}.apiGroups"), why));
    }
    if !has("resources") {
        let why = "resource rules must supply at least one resource";
        errors.push(FieldError::required(format!("{path}.resources"), why));
    }
    errors
}

fn bindings(binding: &Value, old: Option<&Value>, namespaced: bool) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let empty = Value::Object(Map::new());
    let role = binding.get("roleRef").unwrap_or(&empty);
    let group = text(role, &["apiGroup"]);
    if group != GROUP {
        errors.push(FieldError::not_supported("roleRef.apiGroup", &json!(group), &[GROUP]));
    }
    let kinds: &[&str] = if namespaced { &["Role", "ClusterRole"] } else { &["ClusterRole"] };
    let kind = text(role, &["kind"]);
    if !kinds.contains(&kind) {
        errors.push(FieldError::not_supported("roleRef.kind", &json!(kind), kinds));
    }
    match text(role, &["name"]) {
        "" => errors.push(FieldError::required("roleRef.name", "")),
        name => {
            let reasons = names::path_segment(name).into_iter();
            errors.extend(reasons.map(|why| FieldError::invalid("roleRef.name", &json!(name), why)));
        }
    }
    for (index, found) in items(binding, &["subjects"]).iter().enumerate() {
        errors.extend(subject(found, namespaced, &format!("subjects[{index}]")));
    }
    if old.is_some_and(|old| old.get("roleRef") != binding.get("roleRef")) {
        // Written with the names that the fields have inside of a real server.
        let shown = json!({ "APIGroup": group, "Kind": kind, "Name": text(role, &["name"]) });
        errors.push(FieldError::invalid("roleRef", &shown, "cannot change roleRef"));
    }
    errors
}

fn subject(subject: &Value, namespaced: bool, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let (subject_name, group) = (text(subject, &["name"]), text(subject, &["apiGroup"]));
    if subject_name.is_empty() {
        errors.push(FieldError::required(format!("{path}.name"), ""));
    }
    match text(subject, &["kind"]) {
        "ServiceAccount" => {
            if !subject_name.is_empty() {
                let reasons = names::dns_subdomain(subject_name).into_iter();
                errors
                    .extend(reasons.map(|why| FieldError::invalid(format!("{path}.name"), &json!(subject_name), why)));
            }
            if !group.is_empty() {
                errors.push(FieldError::not_supported(format!("{path}.apiGroup"), &json!(group), &[""]));
            }
            if !namespaced && text(subject, &["namespace"]).is_empty() {
                errors.push(FieldError::required(format!("{path}.namespace"), ""));
            }
        }
        "User" | "Group" => {
            if group != GROUP {
                errors.push(FieldError::not_supported(format!("{path}.apiGroup"), &json!(group), &[GROUP]));
            }
        }
        kind => {
            let kinds = ["ServiceAccount", "User", "Group"];
            errors.push(FieldError::not_supported(format!("{path}.kind"), &json!(kind), &kinds));
        }
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_keeps_the_names_of_its_secrets() {
        let mut account = json!({"secrets": [{"name": "s", "kind": "Secret", "namespace": "n"}, {"name": "t"}]});
        prepare_account(&mut account, None);
        assert_eq!(account, json!({"secrets": [{"name": "s"}, {"name": "t"}]}));
    }

    fn paths(errors: &[FieldError]) -> Vec<&str> {
        errors.iter().map(|error| error.path.as_str()).collect()
    }

    #[test]
    fn groups_are_filled_in() {
        let mut binding = json!({
            "roleRef": {"kind": "Role", "name": "r"},
            "subjects": [{"kind": "User", "name": "u"}, {"kind": "ServiceAccount", "name": "s", "namespace": "n"}],
        });
        default_binding(&mut binding);
        assert_eq!(binding["roleRef"]["apiGroup"], GROUP);
        assert_eq!(binding["subjects"][0]["apiGroup"], GROUP);
        assert_eq!(binding["subjects"][1].get("apiGroup"), None);
        assert!(validate_binding(&binding, None).is_empty());
        assert_eq!(paths(&validate_cluster_binding(&binding, None)), ["roleRef.kind"]);
    }

    #[test]
    fn a_binding_keeps_its_role() {
        let one = json!({"roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": "a"}});
        let two = json!({"roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": "b"}});
        assert!(validate_cluster_binding(&one, Some(&one)).is_empty());
        assert_eq!(paths(&validate_cluster_binding(&two, Some(&one))), ["roleRef"]);
    }

    #[test]
    fn a_rule_is_about_something() {
        let role = json!({"rules": [{"verbs": ["get"], "nonResourceURLs": ["/x"]}, {}]});
        assert_eq!(
            paths(&validate_role(&role, None)),
            ["rules[0].nonResourceURLs", "rules[1].verbs", "rules[1].apiGroups", "rules[1].resources"]
        );
        assert_eq!(validate_cluster_role(&role, None).len(), 3);
        assert_eq!(validate_cluster_role(&json!({"aggregationRule": {}}), None).len(), 1);
    }

    #[test]
    fn subjects_are_sorted_into_columns() {
        let binding = json!({
            "roleRef": {"kind": "Role", "name": "r"},
            "subjects": [
                {"kind": "Group", "name": "g"},
                {"kind": "User", "name": "u"},
                {"kind": "User", "name": "v"},
                {"kind": "ServiceAccount", "name": "s", "namespace": "n"},
            ],
        });
        let cells = binding_cells(&binding, Timestamp::UNIX_EPOCH);
        assert_eq!(cells[1], "Role/r");
        assert_eq!(cells[3], "u, v");
        assert_eq!(cells[5], "n/s");
    }
}
