//! Roles and bindings of our own processes, brought to what this program has.
//!
//! A store outlives the program that filled it. Rights that a newer program takes from its processes would stay with them, so
//! their roles are written again where they differ. Who wants to keep a role as it is annotates it, as on every
//! cluster.

use serde_json::{Map, Value};

use crate::{rbac::GROUP, resources::metadata};

/// The annotation that keeps a role or binding as it is, when it says `false`.
pub(super) const AUTOUPDATE: &str = "rbac.authorization.kubernetes.io/autoupdate";

/// What becomes of a stored role or binding.
#[derive(Debug, PartialEq)]
pub(super) enum Renewed {
    /// It is what this program has.
    Same,
    /// It is not, and says that it stays so.
    Kept,
    /// It becomes this.
    Changed(Value),
    /// It binds another role, which cannot be changed: a new one takes its place.
    Replaced,
}

/// Compares what is stored with what this program has. Labels and annotations that others added stay, except those by which
/// a role joins another.
pub(super) fn renewed(current: &Value, wanted: &Value) -> Renewed {
    let mut new = current.clone();
    bring(&mut new, wanted);
    if new == *current {
        return Renewed::Same;
    }
    if metadata::value(current, "annotations").is_some_and(|all| all[AUTOUPDATE] == "false") {
        return Renewed::Kept;
    }
    if current.get("roleRef") == wanted.get("roleRef") { Renewed::Changed(new) } else { Renewed::Replaced }
}

/// Gives an object the content of another.
fn bring(object: &mut Value, wanted: &Value) {
    for field in ["labels", "annotations"] {
        let found = map_of(object, field);
        let mut all: Map<String, Value> = found.clone().into_iter().filter(|(key, _)| !joins(key)).collect();
        for (key, value) in map_of(wanted, field) {
            all.entry(key).or_insert(value);
        }
        if all != found {
            metadata::set(object, field, (!all.is_empty()).then_some(Value::Object(all)));
        }
    }
    if let (Some(object), Some(wanted)) = (object.as_object_mut(), wanted.as_object()) {
        object.retain(|key, _| is_head(key) || wanted.contains_key(key));
        object.extend(wanted.iter().filter(|(key, _)| !is_head(key)).map(|(key, value)| (key.clone(), value.clone())));
    }
}

fn is_head(key: &str) -> bool {
    ["apiVersion", "kind", "metadata"].contains(&key)
}

/// Whether a label makes a role part of another one.
fn joins(label: &str) -> bool {
    label.strip_prefix(GROUP).is_some_and(|rest| rest.starts_with("/aggregate-to-"))
}

fn map_of(object: &Value, field: &str) -> Map<String, Value> {
    metadata::value(object, field).and_then(Value::as_object).cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn role(resources: &[&str]) -> Value {
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "ours"},
            "rules": [{"apiGroups": [""], "resources": resources, "verbs": ["get"]}],
        })
    }

    #[test]
    fn a_role_loses_what_it_has_too_much_and_keeps_who_it_is() {
        let wanted = role(&["pods"]);
        assert_eq!(renewed(&wanted, &wanted), Renewed::Same);
        let mut broad = role(&["pods", "secrets"]);
        broad["metadata"] = json!({"name": "ours", "uid": "1", "labels": {"site": "a"}, "annotations": {"note": "b"}});
        broad["aggregationRule"] = json!({"clusterRoleSelectors": [{}]});
        let mut expected = role(&["pods"]);
        expected["metadata"] = broad["metadata"].clone();
        assert_eq!(renewed(&broad, &wanted), Renewed::Changed(expected.clone()));
        assert_eq!(renewed(&expected, &wanted), Renewed::Same);
    }

    #[test]
    fn labels_by_which_a_role_joins_others_are_ours() {
        let labelled = |labels: Value| {
            let mut role = role(&["pods"]);
            role["metadata"]["labels"] = labels;
            role
        };
        let wanted = labelled(json!({"rbac.authorization.k8s.io/aggregate-to-view": "true", "ours": "1"}));
        let found = labelled(json!({"rbac.authorization.k8s.io/aggregate-to-admin": "true", "ours": "2"}));
        let expected = labelled(json!({"rbac.authorization.k8s.io/aggregate-to-view": "true", "ours": "2"}));
        assert_eq!(renewed(&found, &wanted), Renewed::Changed(expected));
    }

    #[test]
    fn a_role_that_says_so_stays() {
        let mut broad = role(&["pods", "secrets"]);
        broad["metadata"]["annotations"] = json!({AUTOUPDATE: "false"});
        assert_eq!(renewed(&broad, &role(&["pods"])), Renewed::Kept);
        broad["metadata"]["annotations"] = json!({AUTOUPDATE: "true"});
        assert!(matches!(renewed(&broad, &role(&["pods"])), Renewed::Changed(_)));
    }

    #[test]
    fn a_binding_to_another_role_is_recreated() {
        let binding = |role: &str, subjects: Value| json!({"kind": "ClusterRoleBinding", "metadata": {"name": "ours"}, "roleRef": {"name": role}, "subjects": subjects});
        let wanted = binding("ours", json!([{"name": "a"}]));
        assert_eq!(renewed(&binding("cluster-admin", json!([{"name": "a"}])), &wanted), Renewed::Replaced);
        let more = binding("ours", json!([{"name": "a"}, {"name": "b"}]));
        assert_eq!(renewed(&more, &wanted), Renewed::Changed(wanted));
    }
}
