//! One rule of a role: what it allows, and whether it covers another rule. Pure.

use std::fmt;

use serde_json::{Value, json};

const ALL: &str = "*";

/// What somebody asks to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asked {
    /// Something with a resource.
    Resource {
        /// The verb.
        verb: String,
        /// The group; empty for the core one.
        group: String,
        /// The plural name.
        resource: String,
        /// What follows the object's name; empty for nothing.
        subresource: String,
        /// The namespace; empty for none or all.
        namespace: String,
        /// The object's name; empty when there is none.
        name: String,
    },
    /// Something with another path.
    Path {
        /// The method in lower case.
        verb: String,
        /// The path.
        path: String,
    },
}

impl Asked {
    /// The namespace whose bindings count; empty for none.
    pub fn namespace(&self) -> &str {
        match self {
            Self::Resource { namespace, .. } => namespace,
            Self::Path { .. } => "",
        }
    }
}

/// A rule: verbs on resources (maybe of some names only), or verbs on paths.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rule {
    /// Groups.
    pub groups: Vec<String>,
    /// Resources, with subresources after a slash.
    pub resources: Vec<String>,
    /// Paths.
    pub paths: Vec<String>,
    /// Names; empty for all.
    pub names: Vec<String>,
    /// Verbs.
    pub verbs: Vec<String>,
}

impl Rule {
    /// The rule that a role has at one place.
    pub fn parse(rule: &Value) -> Self {
        let texts = |field: &str| {
            let list = rule.get(field).and_then(Value::as_array).into_iter().flatten();
            list.filter_map(Value::as_str).map(str::to_owned).collect()
        };
        Self {
            groups: texts("apiGroups"),
            resources: texts("resources"),
            paths: texts("nonResourceURLs"),
            names: texts("resourceNames"),
            verbs: texts("verbs"),
        }
    }

    /// The rule as a role has it.
    pub fn to_json(&self) -> Value {
        let fields = [
            ("apiGroups", &self.groups),
            ("nonResourceURLs", &self.paths),
            ("resourceNames", &self.names),
            ("resources", &self.resources),
            ("verbs", &self.verbs),
        ];
        let given = fields.into_iter().filter(|(_, list)| !list.is_empty());
        Value::Object(given.map(|(field, list)| (field.to_owned(), json!(list))).collect())
    }

    /// Whether it allows this.
    pub fn allows(&self, asked: &Asked) -> bool {
        match asked {
            Asked::Resource { verb, group, resource, subresource, name, .. } => {
                has(&self.verbs, verb)
                    && has(&self.groups, group)
                    && self.resources.iter().any(|rule| names_resource(rule, resource, subresource))
                    && (self.names.is_empty() || self.names.contains(name))
            }
            Asked::Path { verb, path } => {
                has(&self.verbs, verb) && self.paths.iter().any(|rule| covers_path(rule, path))
            }
        }
    }

    /// Rules of one group, one resource, one verb and at most one name (or one path and one verb)
    /// that together allow the same.
    pub fn atoms(&self) -> Vec<Self> {
        let one = |text: &String| vec![text.clone()];
        let mut atoms = Vec::new();
        for verb in &self.verbs {
            for group in &self.groups {
                for resource in &self.resources {
                    let atom =
                        Self { groups: one(group), resources: one(resource), verbs: one(verb), ..Self::default() };
                    match self.names.as_slice() {
                        [] => atoms.push(atom),
                        names => {
                            atoms.extend(names.iter().map(|name| Self { names: one(name), ..atom.clone() }));
                        }
                    }
                }
            }
            atoms.extend(self.paths.iter().map(|path| Self { paths: one(path), verbs: one(verb), ..Self::default() }));
        }
        atoms
    }

    /// Whether it allows everything that an atom allows.
    pub fn covers(&self, atom: &Self) -> bool {
        let every = |own: &[String], wanted: &[String]| wanted.iter().all(|one| has(own, one));
        let resources = atom.resources.iter().all(|resource| {
            let (_, sub) = resource.split_once('/').unwrap_or((resource, ""));
            has(&self.resources, resource) || (!sub.is_empty() && self.resources.contains(&format!("*/{sub}")))
        });
        let names = self.names.is_empty()
            || (!atom.names.is_empty() && atom.names.iter().all(|name| self.names.contains(name)));
        let paths = atom.paths.iter().all(|path| self.paths.iter().any(|own| covers_path(own, path)));
        every(&self.verbs, &atom.verbs) && every(&self.groups, &atom.groups) && resources && names && paths
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            ("APIGroups", &self.groups),
            ("Resources", &self.resources),
            ("NonResourceURLs", &self.paths),
            ("ResourceNames", &self.names),
            ("Verbs", &self.verbs),
        ];
        let shown = parts.iter().filter(|(_, list)| !list.is_empty());
        let texts: Vec<String> = shown.map(|(word, list)| format!("{word}:{}", quoted(list))).collect();
        write!(f, "{{{}}}", texts.join(", "))
    }
}

/// A list of texts as messages of the API have it.
pub(super) fn quoted(list: &[String]) -> String {
    let all: Vec<String> = list.iter().map(|text| format!("{text:?}")).collect();
    format!("[{}]", all.join(" "))
}

/// What nobody holds, in as few rules as possible, one on each line.
pub(super) fn describe(missing: Vec<Rule>) -> String {
    let mut merged: Vec<Rule> = Vec::new();
    for atom in missing {
        let same = merged.iter_mut().find(|rule| {
            rule.paths.is_empty()
                && rule.groups == atom.groups
                && rule.resources == atom.resources
                && rule.names == atom.names
                && rule.paths == atom.paths
        });
        match same {
            Some(rule) if rule.verbs.contains(&atom.verbs[0]) => (),
            Some(rule) => rule.verbs.extend(atom.verbs),
            None => merged.push(atom),
        }
    }
    let mut lines: Vec<String> = merged.iter().map(Rule::to_string).collect();
    lines.sort();
    lines.dedup();
    lines.join("\n")
}

fn has(list: &[String], wanted: &str) -> bool {
    list.iter().any(|one| one == ALL || one == wanted)
}

fn names_resource(rule: &str, resource: &str, subresource: &str) -> bool {
    if rule == ALL {
        return true;
    }
    match rule.split_once('/') {
        None => subresource.is_empty() && rule == resource,
        Some((ALL, sub)) => !subresource.is_empty() && sub == subresource,
        Some((name, sub)) => name == resource && sub == subresource,
    }
}

fn covers_path(rule: &str, path: &str) -> bool {
    rule == path || rule.strip_suffix(ALL).is_some_and(|start| path.starts_with(start.trim_end_matches('*')))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(groups: &[&str], resources: &[&str], verbs: &[&str], names: &[&str]) -> Rule {
        Rule::parse(&json!({"apiGroups": groups, "resources": resources, "verbs": verbs, "resourceNames": names}))
    }

    fn ask(verb: &str, group: &str, path: &str, name: &str) -> Asked {
        let (resource, subresource) = path.split_once('/').unwrap_or((path, ""));
        let own = str::to_owned;
        Asked::Resource {
            verb: own(verb),
            group: own(group),
            resource: own(resource),
            subresource: own(subresource),
            namespace: String::new(),
            name: own(name),
        }
    }

    #[test]
    fn rules_allow_what_they_name() {
        let table = [
            (rule(&["*"], &["*"], &["*"], &[]), ask("get", "g", "pods/log", "x"), true),
            (rule(&[""], &["pods"], &["get"], &[]), ask("get", "", "pods", "x"), true),
            (rule(&[""], &["pods"], &["get"], &[]), ask("list", "", "pods", ""), false),
            (rule(&[""], &["pods"], &["get"], &[]), ask("get", "apps", "pods", "x"), false),
            (rule(&[""], &["pods"], &["get"], &[]), ask("get", "", "pods/status", "x"), false),
            (rule(&[""], &["*/status"], &["get"], &[]), ask("get", "", "pods/status", "x"), true),
            (rule(&[""], &["*/status"], &["get"], &[]), ask("get", "", "pods", "x"), false),
            (rule(&[""], &["pods"], &["get"], &["a"]), ask("get", "", "pods", "a"), true),
            (rule(&[""], &["pods"], &["get"], &["a"]), ask("get", "", "pods", "b"), false),
            (rule(&[""], &["pods"], &["list"], &["a"]), ask("list", "", "pods", ""), false),
        ];
        for (rule, asked, expected) in table {
            assert_eq!(rule.allows(&asked), expected, "{rule} {asked:?}");
        }
    }

    #[test]
    fn paths_may_end_in_a_star() {
        let rule = Rule::parse(&json!({"nonResourceURLs": ["/api/*", "/version"], "verbs": ["get"]}));
        for (path, expected) in [("/api/v1", true), ("/api", false), ("/version", true), ("/version/x", false)] {
            let asked = Asked::Path { verb: "get".into(), path: path.into() };
            assert_eq!(rule.allows(&asked), expected, "{path}");
        }
    }

    #[test]
    fn covering_is_allowing_everything() {
        let owner = rule(&[""], &["pods", "*/scale"], &["get", "list"], &[]);
        let within = [rule(&[""], &["pods"], &["get"], &["x"]), rule(&[""], &["deployments/scale"], &["list"], &[])];
        for atom in within.iter().flat_map(Rule::atoms) {
            assert!(owner.covers(&atom), "{atom}");
        }
        let beyond = [rule(&["*"], &["pods"], &["get"], &[]), rule(&[""], &["pods"], &["watch"], &[])];
        for atom in beyond.iter().flat_map(Rule::atoms) {
            assert!(!owner.covers(&atom), "{atom}");
        }
        let named = rule(&[""], &["pods"], &["get"], &["a"]);
        assert!(!named.covers(&rule(&[""], &["pods"], &["get"], &[])));
    }

    #[test]
    fn what_is_missing_is_reported_in_few_lines() {
        let missing = rule(&[""], &["pods"], &["get", "list"], &[]).atoms();
        assert_eq!(describe(missing), r#"{APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}"#);
    }
}
