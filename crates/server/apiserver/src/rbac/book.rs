//! All roles and bindings, and what they add up to for one user. Pure.
//!
//! A cluster role that gathers others by their labels has the rules of all of them, now and not only
//! when somebody wrote them into it.

use std::collections::BTreeMap;

use netloom_admission::User;
use serde_json::Value;

use super::rule::{Asked, Rule};

/// Members of this group may do everything.
pub const MASTERS: &str = "system:masters";

/// Which of the four kinds an object is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Sort {
    /// A role of a namespace.
    Role,
    /// A role of the cluster.
    ClusterRole,
    /// A binding in a namespace.
    RoleBinding,
    /// A binding in the cluster.
    ClusterRoleBinding,
}

impl Sort {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Role, Self::ClusterRole, Self::RoleBinding, Self::ClusterRoleBinding];

    /// The name in paths.
    pub fn plural(self) -> &'static str {
        match self {
            Self::Role => "roles",
            Self::ClusterRole => "clusterroles",
            Self::RoleBinding => "rolebindings",
            Self::ClusterRoleBinding => "clusterrolebindings",
        }
    }
}

/// Who a binding is for.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Subject {
    kind: String,
    name: String,
    namespace: String,
}

impl Subject {
    fn is(&self, user: &User, binding_namespace: &str) -> bool {
        match self.kind.as_str() {
            "User" => user.name == self.name,
            "Group" => user.groups.contains(&self.name),
            "ServiceAccount" => {
                let namespace = if self.namespace.is_empty() { binding_namespace } else { &self.namespace };
                let account = user.name.strip_prefix("system:serviceaccount:").and_then(|rest| rest.split_once(':'));
                !namespace.is_empty() && account == Some((namespace, &self.name))
            }
            _ => false,
        }
    }

    fn describe(&self, binding_namespace: &str) -> String {
        let namespace = if self.namespace.is_empty() { binding_namespace } else { &self.namespace };
        match self.kind.as_str() {
            "ServiceAccount" => format!("{} {:?}", self.kind, format!("{}/{namespace}", self.name)),
            _ => format!("{} {:?}", self.kind, self.name),
        }
    }
}

/// A binding: a role for somebody.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Binding {
    role: RoleRef,
    subjects: Vec<Subject>,
}

/// The role that a binding names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoleRef {
    /// `Role` or `ClusterRole`.
    pub kind: String,
    /// Its name.
    pub name: String,
}

impl RoleRef {
    /// The role that a binding object names.
    pub fn of(binding: &Value) -> Self {
        let text = |field: &str| binding["roleRef"][field].as_str().unwrap_or_default().to_owned();
        Self { kind: text("kind"), name: text("name") }
    }
}

/// A role of the cluster.
#[derive(Debug, Clone, Default)]
struct ClusterRole {
    rules: Vec<Rule>,
    labels: BTreeMap<String, String>,
    /// Gathers the roles that one of these selects.
    gathers: Vec<Value>,
}

/// The answer to a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// Allowed, and by what.
    Allowed(String),
    /// Nothing allows it; what could not be looked at, if anything.
    NotAllowed(String),
}

/// All roles and bindings.
#[derive(Debug, Clone, Default)]
pub struct Book {
    roles: BTreeMap<(String, String), Vec<Rule>>,
    cluster_roles: BTreeMap<String, ClusterRole>,
    /// What roles that gather others have in all, renewed whenever a cluster role changes.
    gathered: BTreeMap<String, Vec<Rule>>,
    bindings: BTreeMap<String, BTreeMap<String, Binding>>,
    cluster_bindings: BTreeMap<String, Binding>,
}

impl Book {
    /// Writes an object down, in place of what was there under its name.
    pub fn put(&mut self, sort: Sort, object: &Value) {
        let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default().to_owned();
        let (namespace, name) = (text("namespace"), text("name"));
        match sort {
            Sort::Role => {
                self.roles.insert((namespace, name), rules(object));
            }
            Sort::ClusterRole => {
                self.cluster_roles.insert(name, cluster_role(object));
                self.gather();
            }
            Sort::RoleBinding => {
                self.bindings.entry(namespace).or_default().insert(name, binding(object));
            }
            Sort::ClusterRoleBinding => {
                self.cluster_bindings.insert(name, binding(object));
            }
        }
    }

    /// Strikes an object out.
    pub fn remove(&mut self, sort: Sort, namespace: &str, name: &str) {
        match sort {
            Sort::Role => {
                self.roles.remove(&(namespace.to_owned(), name.to_owned()));
            }
            Sort::ClusterRole => {
                self.cluster_roles.remove(name);
                self.gather();
            }
            Sort::RoleBinding => {
                self.bindings.get_mut(namespace).map(|all| all.remove(name));
            }
            Sort::ClusterRoleBinding => {
                self.cluster_bindings.remove(name);
            }
        }
    }

    /// Whether a user may do something.
    pub fn decide(&self, user: &User, asked: &Asked) -> Decision {
        if user.groups.iter().any(|group| group == MASTERS) {
            return Decision::Allowed(String::new());
        }
        let mut lost = Vec::new();
        for grant in self.grants(user, asked.namespace()) {
            match grant {
                Ok((rules, source)) if rules.iter().any(|rule| rule.allows(asked)) => {
                    return Decision::Allowed(format!("RBAC: allowed by {source}"));
                }
                Ok(_) => (),
                Err(why) => lost.push(why),
            }
        }
        Decision::NotAllowed(match lost.as_slice() {
            [] => String::new(),
            [only] => format!("RBAC: {only}"),
            several => format!("RBAC: [{}]", several.join(", ")),
        })
    }

    /// Every rule that a user has in a namespace, or in the cluster if that is empty.
    pub fn rules_for(&self, user: &User, namespace: &str) -> Vec<Rule> {
        if user.groups.iter().any(|group| group == MASTERS) {
            return everything();
        }
        self.grants(user, namespace).filter_map(Result::ok).flat_map(|(rules, _)| rules).cloned().collect()
    }

    /// The rules of a role, or why they are not there.
    pub fn role_rules(&self, role: &RoleRef, namespace: &str) -> Result<&[Rule], String> {
        let (found, plural) = if role.kind == "Role" {
            (self.roles.get(&(namespace.to_owned(), role.name.clone())), "role")
        } else {
            let own = self.cluster_roles.get(&role.name).map(|role| &role.rules);
            (self.gathered.get(&role.name).or(own), "clusterrole")
        };
        let missing = || format!("{plural}.rbac.authorization.k8s.io {:?} not found", role.name);
        found.map(Vec::as_slice).ok_or_else(missing)
    }

    /// Everything that bindings give to a user: rules and where they come from, or what is missing.
    fn grants<'a>(
        &'a self,
        user: &'a User,
        namespace: &'a str,
    ) -> impl Iterator<Item = Result<(&'a [Rule], String), String>> {
        let cluster = self.cluster_bindings.iter().map(|(name, binding)| (name, binding, ""));
        let local = self.bindings.get(namespace).filter(|_| !namespace.is_empty());
        let local = local.into_iter().flatten().map(move |(name, binding)| (name, binding, namespace));
        cluster.chain(local).filter_map(move |(name, binding, place)| {
            let subject = binding.subjects.iter().find(|subject| subject.is(user, place))?;
            let (sort, name) = if place.is_empty() {
                ("ClusterRoleBinding", name.clone())
            } else {
                ("RoleBinding", format!("{name}/{place}"))
            };
            let role = &binding.role;
            let source = || format!("{sort} {name:?} of {} {:?} to {}", role.kind, role.name, subject.describe(place));
            Some(self.role_rules(role, place).map(|rules| (rules, source())))
        })
    }

    fn gather(&mut self) {
        let gathering = self.cluster_roles.iter().filter(|(_, role)| !role.gathers.is_empty());
        self.gathered = gathering.map(|(name, _)| (name.clone(), self.gathered_rules(name, &mut Vec::new()))).collect();
    }

    /// Every role that gathers others, with the rules that it has by that.
    pub fn gathered(&self) -> impl Iterator<Item = (&str, &[Rule])> {
        self.gathered.iter().map(|(name, rules)| (name.as_str(), rules.as_slice()))
    }

    /// The rules of a role, or of all that it gathers, which may gather others themselves. What a
    /// gathering role lists itself is what it had gathered before.
    fn gathered_rules(&self, name: &str, inside: &mut Vec<String>) -> Vec<Rule> {
        let Some(role) = self.cluster_roles.get(name).filter(|_| !inside.iter().any(|outer| outer == name)) else {
            return Vec::new();
        };
        inside.push(name.to_owned());
        let mut all = if role.gathers.is_empty() { role.rules.clone() } else { Vec::new() };
        for (other, found) in &self.cluster_roles {
            if role.gathers.iter().any(|selector| selects(selector, &found.labels)) {
                for rule in self.gathered_rules(other, inside) {
                    if !all.contains(&rule) {
                        all.push(rule);
                    }
                }
            }
        }
        inside.pop();
        all
    }
}

/// Rules that allow everything.
pub(super) fn everything() -> Vec<Rule> {
    let all = || vec!["*".to_owned()];
    vec![
        Rule { groups: all(), resources: all(), verbs: all(), ..Rule::default() },
        Rule { paths: all(), verbs: all(), ..Rule::default() },
    ]
}

/// The rules that a role object lists.
pub(super) fn rules(role: &Value) -> Vec<Rule> {
    role["rules"].as_array().into_iter().flatten().map(Rule::parse).collect()
}

fn cluster_role(role: &Value) -> ClusterRole {
    let labels = role["metadata"]["labels"].as_object().into_iter().flatten();
    ClusterRole {
        rules: rules(role),
        labels: labels.map(|(key, value)| (key.clone(), value.as_str().unwrap_or_default().to_owned())).collect(),
        gathers: role["aggregationRule"]["clusterRoleSelectors"].as_array().cloned().unwrap_or_default(),
    }
}

fn binding(object: &Value) -> Binding {
    let subjects = object["subjects"].as_array().into_iter().flatten().map(|subject| {
        let text = |field: &str| subject[field].as_str().unwrap_or_default().to_owned();
        Subject { kind: text("kind"), name: text("name"), namespace: text("namespace") }
    });
    Binding { role: RoleRef::of(object), subjects: subjects.collect() }
}

/// Whether a label selector in its object form selects these labels.
fn selects(selector: &Value, labels: &BTreeMap<String, String>) -> bool {
    let exact = selector["matchLabels"].as_object().into_iter().flatten();
    let exact = exact.map(|(key, value)| labels.get(key).map(String::as_str) == value.as_str());
    let expressions = selector["matchExpressions"].as_array().into_iter().flatten().map(|expression| {
        let found = labels.get(expression["key"].as_str().unwrap_or_default());
        let values = || expression["values"].as_array().into_iter().flatten().filter_map(Value::as_str);
        match expression["operator"].as_str().unwrap_or_default() {
            "In" => found.is_some_and(|found| values().any(|value| value == found)),
            "NotIn" => found.is_none_or(|found| values().all(|value| value != found)),
            "Exists" => found.is_some(),
            "DoesNotExist" => found.is_none(),
            _ => false,
        }
    });
    exact.chain(expressions).all(|matches| matches)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn user(name: &str, groups: &[&str]) -> User {
        User { name: name.into(), groups: groups.iter().map(|&group| group.to_owned()).collect(), ..User::default() }
    }

    fn get_pods(namespace: &str) -> Asked {
        Asked::Resource {
            verb: "get".into(),
            group: String::new(),
            resource: "pods".into(),
            subresource: String::new(),
            namespace: namespace.into(),
            name: String::new(),
        }
    }

    fn reader(name: &str) -> Value {
        json!({"metadata": {"name": name}, "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]})
    }

    fn bind(name: &str, namespace: &str, role: [&str; 2], subject: &Value) -> Value {
        json!({
            "metadata": {"name": name, "namespace": namespace},
            "roleRef": {"kind": role[0], "name": role[1]},
            "subjects": [subject],
        })
    }

    #[test]
    fn bindings_count_where_they_are() {
        let mut book = Book::default();
        book.put(Sort::ClusterRole, &reader("reader"));
        let ann = json!({"kind": "User", "name": "ann"});
        let bob = json!({"kind": "Group", "name": "bobs"});
        book.put(Sort::RoleBinding, &bind("b", "a", ["ClusterRole", "reader"], &ann));
        book.put(Sort::ClusterRoleBinding, &bind("c", "", ["ClusterRole", "reader"], &bob));
        let allowed =
            |user: &User, namespace: &str| matches!(book.decide(user, &get_pods(namespace)), Decision::Allowed(_));
        assert!(allowed(&user("ann", &[]), "a"));
        assert!(!allowed(&user("ann", &[]), "b"));
        assert!(!allowed(&user("ann", &[]), ""));
        assert!(allowed(&user("bob", &["bobs"]), "b"));
        assert!(allowed(&user("root", &[MASTERS]), ""));
        let Decision::Allowed(why) = book.decide(&user("ann", &[]), &get_pods("a")) else { panic!() };
        assert_eq!(why, r#"RBAC: allowed by RoleBinding "b/a" of ClusterRole "reader" to User "ann""#);
    }

    #[test]
    fn a_service_account_is_found_by_its_name() {
        let mut book = Book::default();
        book.put(Sort::Role, &json!({"metadata": {"name": "r", "namespace": "a"}, "rules": reader("r")["rules"]}));
        book.put(Sort::RoleBinding, &bind("b", "a", ["Role", "r"], &json!({"kind": "ServiceAccount", "name": "s"})));
        let decide = |name: &str| book.decide(&user(name, &[]), &get_pods("a"));
        assert!(matches!(decide("system:serviceaccount:a:s"), Decision::Allowed(_)));
        assert_eq!(decide("system:serviceaccount:b:s"), Decision::NotAllowed(String::new()));
    }

    #[test]
    fn a_role_that_is_missing_is_reported() {
        let mut book = Book::default();
        book.put(Sort::RoleBinding, &bind("b", "a", ["Role", "r"], &json!({"kind": "User", "name": "ann"})));
        let expected = r#"RBAC: role.rbac.authorization.k8s.io "r" not found"#;
        assert_eq!(book.decide(&user("ann", &[]), &get_pods("a")), Decision::NotAllowed(expected.into()));
        book.remove(Sort::RoleBinding, "a", "b");
        assert_eq!(book.decide(&user("ann", &[]), &get_pods("a")), Decision::NotAllowed(String::new()));
    }

    #[test]
    fn gathering_follows_labels() {
        let mut book = Book::default();
        let gathering = |name: &str, label: &str, own: &str| {
            json!({
                "metadata": {"name": name, "labels": {own: "true"}},
                "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {label: "true"}}]},
            })
        };
        book.put(Sort::ClusterRole, &gathering("admin", "to-admin", "x"));
        book.put(Sort::ClusterRole, &gathering("edit", "to-edit", "to-admin"));
        let mut part = reader("part");
        part["metadata"]["labels"] = json!({"to-edit": "true"});
        book.put(Sort::ClusterRole, &part);
        book.put(
            Sort::ClusterRoleBinding,
            &bind("b", "", ["ClusterRole", "admin"], &json!({"kind": "User", "name": "u"})),
        );
        assert!(matches!(book.decide(&user("u", &[]), &get_pods("")), Decision::Allowed(_)));
        book.remove(Sort::ClusterRole, "", "part");
        assert_eq!(book.decide(&user("u", &[]), &get_pods("")), Decision::NotAllowed(String::new()));
    }

    #[test]
    fn roles_that_gather_each_other_end() {
        let mut book = Book::default();
        for name in ["a", "b"] {
            let role = json!({
                "metadata": {"name": name, "labels": {"l": "1"}},
                "aggregationRule": {"clusterRoleSelectors": [{"matchExpressions": [{"key": "l", "operator": "Exists"}]}]},
            });
            book.put(Sort::ClusterRole, &role);
        }
        assert_eq!(book.role_rules(&RoleRef { kind: "ClusterRole".into(), name: "a".into() }, ""), Ok(&[][..]));
    }
}
