//! Nobody hands out more than they have: what is asked when roles and bindings are written. Pure.

use netloom_admission::User;
use serde_json::Value;

use super::{
    GROUP,
    book::{Book, Decision, MASTERS, RoleRef, Sort, everything, rules},
    rule::{Asked, Rule, describe, quoted},
};

/// A write of a role or a binding.
#[derive(Debug, Clone, Copy)]
pub struct Grant<'a> {
    /// Who writes.
    pub user: &'a User,
    /// What.
    pub sort: Sort,
    /// The namespace of the request; empty for none.
    pub namespace: &'a str,
    /// What is stored, if anything.
    pub old: Option<&'a Value>,
    /// What is to be stored.
    pub new: &'a Value,
}

impl Grant<'_> {
    /// Why it is refused, or nothing.
    pub fn refusal(&self, book: &Book) -> Option<String> {
        if self.user.groups.iter().any(|group| group == MASTERS) || self.changes_only_bookkeeping() {
            return None;
        }
        match self.sort {
            Sort::Role | Sort::ClusterRole => self.role(book),
            Sort::RoleBinding | Sort::ClusterRoleBinding => self.binding(book),
        }
    }

    fn role(&self, book: &Book) -> Option<String> {
        let name = self.new["metadata"]["name"].as_str().unwrap_or_default();
        if self.may(book, "escalate", self.sort.plural(), name) {
            return None;
        }
        let beyond = self.beyond(book, &rules(self.new));
        let gathers = |role: &Value| {
            role["aggregationRule"]["clusterRoleSelectors"].as_array().is_some_and(|list| !list.is_empty())
        };
        beyond.or_else(|| {
            let gathering = gathers(self.new) || self.old.is_some_and(gathers);
            let power = gathering && self.beyond(book, &everything()).is_some();
            power.then(|| "must have cluster-admin privileges to use the aggregationRule".to_owned())
        })
    }

    fn binding(&self, book: &Book) -> Option<String> {
        let role = RoleRef::of(self.new);
        let plural = if role.kind == "Role" { "roles" } else { "clusterroles" };
        if self.may(book, "bind", plural, &role.name) {
            return None;
        }
        match book.role_rules(&role, self.namespace) {
            Ok(rules) => self.beyond(book, rules),
            Err(why) => Some(why),
        }
    }

    fn may(&self, book: &Book, verb: &str, resource: &str, name: &str) -> bool {
        let asked = Asked::Resource {
            verb: verb.to_owned(),
            group: GROUP.to_owned(),
            resource: resource.to_owned(),
            subresource: String::new(),
            namespace: self.namespace.to_owned(),
            name: name.to_owned(),
        };
        matches!(book.decide(self.user, &asked), Decision::Allowed(_))
    }

    /// What goes beyond what the user has, in words.
    fn beyond(&self, book: &Book, wanted: &[Rule]) -> Option<String> {
        let held = book.rules_for(self.user, self.namespace);
        let atoms = wanted.iter().flat_map(Rule::atoms);
        let missing: Vec<Rule> = atoms.filter(|atom| !held.iter().any(|rule| rule.covers(atom))).collect();
        (!missing.is_empty()).then(|| {
            format!(
                "user {:?} (groups={}) is attempting to grant RBAC permissions not currently held:\n{}",
                self.user.name,
                quoted(&self.user.groups),
                describe(missing)
            )
        })
    }

    /// Whether nothing changes but what the removal of objects needs.
    fn changes_only_bookkeeping(&self) -> bool {
        let rest = |object: &Value| {
            let mut object = object.clone();
            if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
                for field in ["finalizers", "ownerReferences", "managedFields", "resourceVersion"] {
                    metadata.remove(field);
                }
            }
            object
        };
        self.old.is_some_and(|old| rest(old) == rest(self.new))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn role(name: &str, resource: &str, verbs: &[&str]) -> Value {
        json!({"metadata": {"name": name}, "rules": [{"apiGroups": [""], "resources": [resource], "verbs": verbs}]})
    }

    fn book() -> Book {
        let mut book = Book::default();
        book.put(Sort::ClusterRole, &role("reader", "pods", &["get"]));
        book.put(Sort::ClusterRole, &role("writer", "pods", &["update"]));
        for (name, role) in [("ann", "reader"), ("binder", "binder")] {
            let binding = json!({
                "metadata": {"name": name}, "roleRef": {"kind": "ClusterRole", "name": role},
                "subjects": [{"kind": "User", "name": name}],
            });
            book.put(Sort::ClusterRoleBinding, &binding);
        }
        let binder = json!({"metadata": {"name": "binder"}, "rules": [
            {"apiGroups": [GROUP], "resources": ["clusterroles"], "resourceNames": ["writer"], "verbs": ["bind"]},
        ]});
        book.put(Sort::ClusterRole, &binder);
        book
    }

    fn refusal(name: &str, sort: Sort, old: Option<&Value>, new: &Value) -> Option<String> {
        let user = User { name: name.into(), groups: vec!["system:authenticated".into()], ..User::default() };
        Grant { user: &user, sort, namespace: "", old, new }.refusal(&book())
    }

    fn binding(role: &str) -> Value {
        json!({"metadata": {"name": "b"}, "roleRef": {"kind": "ClusterRole", "name": role}})
    }

    #[test]
    fn what_one_has_may_be_given() {
        assert_eq!(refusal("ann", Sort::ClusterRole, None, &role("new", "pods", &["get"])), None);
        assert_eq!(refusal("ann", Sort::ClusterRoleBinding, None, &binding("reader")), None);
        assert_eq!(refusal("binder", Sort::ClusterRoleBinding, None, &binding("writer")), None);
    }

    #[test]
    fn more_may_not() {
        let why = refusal("ann", Sort::ClusterRole, None, &role("new", "pods", &["get", "list", "watch"])).unwrap();
        let expected = "user \"ann\" (groups=[\"system:authenticated\"]) is attempting to grant RBAC permissions not \
                        currently held:\n{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"list\" \"watch\"]}";
        assert_eq!(why, expected);
        assert!(refusal("ann", Sort::ClusterRoleBinding, None, &binding("writer")).is_some());
        assert!(refusal("binder", Sort::ClusterRoleBinding, None, &binding("reader")).is_some());
        let missing = refusal("ann", Sort::ClusterRoleBinding, None, &binding("none")).unwrap();
        assert!(missing.contains("not found"), "{missing}");
    }

    #[test]
    fn bookkeeping_needs_nothing() {
        let old = role("x", "pods", &["*"]);
        let mut new = old.clone();
        new["metadata"]["finalizers"] = json!([]);
        assert_eq!(refusal("ann", Sort::ClusterRole, Some(&old), &new), None);
        new["metadata"]["labels"] = json!({"a": "b"});
        assert!(refusal("ann", Sort::ClusterRole, Some(&old), &new).is_some());
    }

    #[test]
    fn gathering_needs_everything() {
        let gathering = json!({"metadata": {"name": "g"}, "aggregationRule": {"clusterRoleSelectors": [{}]}});
        let why = refusal("ann", Sort::ClusterRole, None, &gathering).unwrap();
        assert_eq!(why, "must have cluster-admin privileges to use the aggregationRule");
    }
}
