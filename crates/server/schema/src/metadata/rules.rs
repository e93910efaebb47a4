//! What metadata must say on create and may change on update.

use serde_json::Value;

use crate::{field_error::FieldError, go_text, names};

/// The most bytes that all annotations of an object may have together.
const MAX_ANNOTATIONS: usize = 256 << 10;

/// Finalizers that need no domain in front.
const STANDARD_FINALIZERS: [&str; 3] = ["kubernetes", "orphan", "foregroundDeletion"];

/// Which names a kind allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameRule {
    /// Labels with dots between: most kinds.
    Subdomain,
    /// One label: Namespaces.
    Label,
    /// One label that starts with a letter: Services.
    Label1035,
    /// Whatever fits into a path: roles and bindings.
    PathSegment,
}

impl NameRule {
    /// All that is wrong with a name; a prefix may end in a dash.
    pub fn check(self, name: &str, is_prefix: bool) -> Vec<String> {
        let masked;
        let name = if is_prefix && name.len() > 1 && name.ends_with('-') && self != Self::PathSegment {
            // The two last characters become one harmless one: what follows the prefix comes later.
            let kept = name.len() - 2;
            masked = format!("{}a", name.get(..kept).unwrap_or_default());
            masked.as_str()
        } else {
            name
        };
        match self {
            Self::Subdomain => names::dns_subdomain(name),
            Self::Label => names::dns_label(name),
            Self::Label1035 => names::dns_1035_label(name),
            Self::PathSegment if is_prefix => names::path_segment_prefix(name),
            Self::PathSegment => names::path_segment(name),
        }
    }
}

fn text<'a>(metadata: &'a Value, name: &str) -> &'a str {
    metadata.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Checks the metadata of a new object, whose name has been generated already.
pub fn check_create(metadata: &Value, namespaced: bool, rule: NameRule) -> Vec<FieldError> {
    create(metadata, namespaced, rule, "metadata")
}

/// Checks the metadata of an embedded object: names only have to fit into a path, and a namespace is
/// welcome.
pub fn check_embedded(metadata: &Value, path: &str) -> Vec<FieldError> {
    let namespaced = !text(metadata, "namespace").is_empty();
    let errors = create(metadata, namespaced, NameRule::PathSegment, path);
    if text(metadata, "name").is_empty() {
        return errors.into_iter().filter(|e| e.path != format!("{path}.name")).collect();
    }
    errors
}

fn create(metadata: &Value, namespaced: bool, rule: NameRule, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let at = |name: &str| format!("{path}.{name}");
    errors.extend(name_prefix(metadata, rule, path));
    match text(metadata, "name") {
        "" => errors.push(FieldError::required(at("name"), "name or generateName is required")),
        name => {
            errors.extend(rule.check(name, false).into_iter().map(|e| FieldError::invalid_text(at("name"), name, e)));
        }
    }
    let namespace = text(metadata, "namespace");
    match (namespaced, namespace.is_empty()) {
        (true, true) => errors.push(FieldError::required(at("namespace"), "")),
        (true, false) => {
            let wrong = names::dns_label(namespace);
            errors.extend(wrong.into_iter().map(|e| FieldError::invalid_text(at("namespace"), namespace, e)));
        }
        (false, true) => {}
        (false, false) => errors.push(FieldError::forbidden(at("namespace"), "not allowed on this type")),
    }
    if let Some(generation) = metadata.get("generation").filter(|g| g.as_i64().is_some_and(|g| g < 0)) {
        errors.push(FieldError::invalid(at("generation"), generation, "must be greater than or equal to 0"));
    }
    errors.extend(labels(metadata, path));
    errors.extend(annotations(metadata, path));
    errors.extend(owners(metadata, path));
    errors.extend(finalizers(metadata, path));
    errors.extend(managed_fields(metadata, path));
    errors
}

fn name_prefix(metadata: &Value, rule: NameRule, path: &str) -> Vec<FieldError> {
    let prefix = text(metadata, "generateName");
    if prefix.is_empty() {
        return Vec::new();
    }
    let wrong = rule.check(prefix, true).into_iter();
    wrong.map(|e| FieldError::invalid_text(format!("{path}.generateName"), prefix, e)).collect()
}

fn labels(metadata: &Value, path: &str) -> Vec<FieldError> {
    let at = format!("{path}.labels");
    let mut errors = Vec::new();
    for (key, value) in metadata.get("labels").and_then(Value::as_object).into_iter().flatten() {
        errors.extend(names::qualified(key).into_iter().map(|e| FieldError::invalid_text(&at, key, e)));
        let value = value.as_str().unwrap_or_default();
        errors.extend(names::label_value(value).into_iter().map(|e| FieldError::invalid_text(&at, value, e)));
    }
    errors
}

fn annotations(metadata: &Value, path: &str) -> Vec<FieldError> {
    let at = format!("{path}.annotations");
    let mut errors = Vec::new();
    let mut size = 0;
    for (key, value) in metadata.get("annotations").and_then(Value::as_object).into_iter().flatten() {
        let wrong = names::qualified(&key.to_lowercase());
        errors.extend(wrong.into_iter().map(|e| FieldError::invalid_text(&at, key, e)));
        size += key.len() + value.as_str().map_or(0, str::len);
    }
    if size > MAX_ANNOTATIONS {
        errors.push(FieldError::too_long(&at, MAX_ANNOTATIONS));
    }
    errors
}

fn owners(metadata: &Value, path: &str) -> Vec<FieldError> {
    let at = format!("{path}.ownerReferences");
    let mut errors = Vec::new();
    let Some(list) = metadata.get("ownerReferences").filter(|l| l.is_array()) else { return errors };
    let mut controller: Option<String> = None;
    for owner in list.as_array().into_iter().flatten() {
        let (api_version, kind) = (text(owner, "apiVersion"), text(owner, "kind"));
        let version = api_version.rsplit('/').next().unwrap_or_default();
        if version.is_empty() {
            errors.push(FieldError::invalid_text(format!("{at}.apiVersion"), api_version, "version must not be empty"));
        }
        for name in ["kind", "name", "uid"] {
            if text(owner, name).is_empty() {
                errors.push(FieldError::invalid_text(format!("{at}.{name}"), "", "must not be empty"));
            }
        }
        if api_version == "v1" && kind == "Event" {
            errors.push(FieldError::invalid(&at, owner, "/v1, Kind=Event is disallowed from being an owner"));
        }
        if owner.get("controller") == Some(&Value::Bool(true)) {
            let this = format!("{kind}/{}", text(owner, "name"));
            match &controller {
                Some(first) => {
                    let why = format!(
                        "Only one reference can have Controller set to true. Found \"true\" in references for {first} and {this}"
                    );
                    let value = Some(printed_owners(list));
                    errors.push(FieldError { value, ..FieldError::invalid(&at, &Value::Null, why) });
                }
                None => controller = Some(this),
            }
        }
    }
    errors
}

/// Owner references with their fields in the order of the server's own type.
fn printed_owners(list: &Value) -> String {
    let order = ["apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion"];
    let one = |owner: &Value| {
        let fields = order
            .iter()
            .filter_map(|name| owner.get(*name).map(|value| format!("\"{name}\":{}", go_text::json(value))));
        format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
    };
    let all = list.as_array().into_iter().flatten().map(one);
    format!("[{}]", all.collect::<Vec<_>>().join(","))
}

fn finalizer_names(metadata: &Value) -> Vec<&str> {
    let list = metadata.get("finalizers").and_then(Value::as_array).into_iter().flatten();
    list.filter_map(Value::as_str).collect()
}

fn finalizers(metadata: &Value, path: &str) -> Vec<FieldError> {
    let at = format!("{path}.finalizers");
    let names = finalizer_names(metadata);
    let mut errors: Vec<FieldError> = names
        .iter()
        .flat_map(|name| {
            names::qualified(name).into_iter().map(|e| FieldError::invalid_text(&at, name, e)).collect::<Vec<_>>()
        })
        .collect();
    if names.contains(&"orphan") && names.contains(&"foregroundDeletion") {
        let why = "finalizer orphan and foregroundDeletion cannot be both set";
        errors.push(FieldError::invalid(&at, &Value::from(names), why));
    }
    errors
}

/// Checks the finalizers of a built-in kind: what has no domain is one that Kubernetes itself knows.
pub fn check_standard_finalizers(metadata: &Value) -> Vec<FieldError> {
    let odd = |name: &&str| !name.contains('/') && !STANDARD_FINALIZERS.contains(name);
    let wrong = finalizer_names(metadata).into_iter().enumerate().filter(|(_, name)| odd(name)).map(|(i, name)| {
        let why = "name is neither a standard finalizer name nor is it fully qualified";
        FieldError::invalid_text(format!("metadata.finalizers[{i}]"), name, why)
    });
    wrong.collect()
}

fn managed_fields(metadata: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let entries = metadata.get("managedFields").and_then(Value::as_array).into_iter().flatten();
    for (i, entry) in entries.enumerate() {
        let at = |name: &str| format!("{path}.managedFields[{i}].{name}");
        let operation = text(entry, "operation");
        if !matches!(operation, "Apply" | "Update") {
            errors.push(FieldError::invalid_text(at("operation"), operation, "must be `Apply` or `Update`"));
        }
        let kind = text(entry, "fieldsType");
        if !kind.is_empty() && kind != "FieldsV1" {
            errors.push(FieldError::invalid_text(at("fieldsType"), kind, "must be `FieldsV1`"));
        }
        errors.extend(check_field_manager(text(entry, "manager"), &at("manager")));
        if text(entry, "subresource").len() > 256 {
            errors.push(FieldError::too_long(at("subresource"), 256));
        }
    }
    errors
}

/// Checks the name of a field manager.
pub fn check_field_manager(manager: &str, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if manager.len() > 128 {
        errors.push(FieldError::too_long(path, 128));
    }
    for (at, c) in manager.char_indices() {
        let printable = c == ' ' || (!c.is_control() && !c.is_whitespace() && go_text::is_printable(c));
        if !printable {
            let why = format!("invalid character U+{:04X} (at position {at})", u32::from(c));
            errors.push(FieldError::invalid_text(path, manager, why));
        }
    }
    errors
}

/// Fields of metadata that never change, with the value of a field that is not there.
const FIXED: [(&str, &str); 6] = [
    ("name", "\"\""),
    ("namespace", "\"\""),
    ("uid", "\"\""),
    ("creationTimestamp", "null"),
    ("deletionTimestamp", "null"),
    ("deletionGracePeriodSeconds", "null"),
];

/// Checks the metadata of an object that replaces another one.
pub fn check_update(new: &Value, old: &Value) -> Vec<FieldError> {
    // A prefix can still change, and then only has to fit into a path.
    let mut errors = name_prefix(new, NameRule::PathSegment, "metadata");
    let at = |name: &str| format!("metadata.{name}");
    if old.get("deletionTimestamp").is_some_and(|d| !d.is_null()) {
        let before = finalizer_names(old);
        let mut added: Vec<&str> = finalizer_names(new).into_iter().filter(|f| !before.contains(f)).collect();
        added.sort_unstable();
        added.dedup();
        if !added.is_empty() {
            let listed: Vec<String> = added.into_iter().map(go_text::quote).collect();
            let why = format!(
                "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
                listed.join(", ")
            );
            errors.push(FieldError::forbidden(at("finalizers"), why));
        }
    }
    if text(new, "resourceVersion").is_empty() {
        errors.push(FieldError::invalid_text(at("resourceVersion"), "", "must be specified for an update"));
    }
    let generation = |metadata: &Value| metadata.get("generation").and_then(Value::as_i64).unwrap_or(0);
    if generation(new) < generation(old) {
        errors.push(FieldError::invalid(at("generation"), &Value::from(generation(new)), "must not be decremented"));
    }
    for (name, absent) in FIXED {
        let absent: Value = serde_json::from_str(absent).unwrap_or(Value::Null);
        let value =
            |metadata: &Value| metadata.get(name).filter(|v| !v.is_null()).cloned().unwrap_or_else(|| absent.clone());
        if value(new) != value(old) {
            errors.push(FieldError::invalid(at(name), &value(new), "field is immutable"));
        }
    }
    errors.extend(labels(new, "metadata"));
    errors.extend(annotations(new, "metadata"));
    errors.extend(owners(new, "metadata"));
    errors.extend(finalizers(new, "metadata"));
    errors.extend(managed_fields(new, "metadata"));
    errors
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn reported(errors: &[FieldError]) -> Vec<String> {
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn good_metadata_has_nothing_to_say() {
        let metadata = json!({
            "name": "a", "namespace": "n", "labels": {"a/b": "c"}, "annotations": {"a/B": "any thing"},
            "finalizers": ["a.b/c"], "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u", "controller": true}],
        });
        assert_eq!(reported(&check_create(&metadata, true, NameRule::Subdomain)), Vec::<String>::new());
    }

    #[test]
    fn refusals_have_the_words_of_kubernetes() {
        let table = [
            (json!({}), false, "metadata.name: Required value: name or generateName is required"),
            (json!({"name": "a"}), true, "metadata.namespace: Required value"),
            (json!({"name": "a", "namespace": "n"}), false, "metadata.namespace: Forbidden: not allowed on this type"),
            (
                json!({"name": "a", "generation": -1}),
                false,
                "metadata.generation: Invalid value: -1: must be greater than or equal to 0",
            ),
            (
                json!({"name": "a", "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p"}]}),
                false,
                "metadata.ownerReferences.uid: Invalid value: \"\": must not be empty",
            ),
            (
                json!({"name": "a", "finalizers": ["orphan", "foregroundDeletion"]}),
                false,
                "metadata.finalizers: Invalid value: [\"orphan\",\"foregroundDeletion\"]: finalizer orphan and foregroundDeletion cannot be both set",
            ),
            (
                json!({"name": "a", "annotations": {"a": "x".repeat(300_000)}}),
                false,
                "metadata.annotations: Too long: may not be more than 262144 bytes",
            ),
        ];
        for (metadata, namespaced, message) in table {
            assert_eq!(reported(&check_create(&metadata, namespaced, NameRule::Subdomain)), [message]);
        }
        let errors = check_create(&json!({"name": "A"}), false, NameRule::Subdomain);
        assert!(
            errors[0]
                .to_string()
                .starts_with("metadata.name: Invalid value: \"A\": a lowercase RFC 1123 subdomain must")
        );
    }

    #[test]
    fn prefixes_may_end_in_a_dash() {
        assert_eq!(NameRule::Subdomain.check("a-", true), Vec::<String>::new());
        assert_ne!(NameRule::Subdomain.check("a-", false), Vec::<String>::new());
        assert_ne!(NameRule::Subdomain.check("-", true), Vec::<String>::new());
    }

    #[test]
    fn updates_keep_what_never_changes() {
        let old = json!({"name": "a", "uid": "1", "resourceVersion": "5", "generation": 2, "deletionTimestamp": "2024-01-01T00:00:00Z", "finalizers": ["a/b"]});
        let mut new = old.clone();
        assert_eq!(reported(&check_update(&new, &old)), Vec::<String>::new());
        new["finalizers"] = json!(["a/b", "a/c"]);
        new["uid"] = json!("2");
        new["generation"] = json!(1);
        new["resourceVersion"] = json!("");
        assert_eq!(
            reported(&check_update(&new, &old)),
            [
                "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{\"a/c\"}",
                "metadata.resourceVersion: Invalid value: \"\": must be specified for an update",
                "metadata.generation: Invalid value: 1: must not be decremented",
                "metadata.uid: Invalid value: \"2\": field is immutable",
            ]
        );
    }

    #[test]
    fn updates_are_held_against_the_rules_of_what_is_new() {
        let old = json!({"name": "a", "uid": "1", "resourceVersion": "5"});
        let mut new = old.clone();
        new["finalizers"] = json!(["orphan", "foregroundDeletion"]);
        new["generateName"] = json!("a/");
        assert_eq!(
            reported(&check_update(&new, &old)),
            [
                "metadata.generateName: Invalid value: \"a/\": may not contain '/'",
                "metadata.finalizers: Invalid value: [\"orphan\",\"foregroundDeletion\"]: finalizer orphan and foregroundDeletion cannot be both set",
            ]
        );
    }

    #[test]
    fn finalizers_without_a_domain_are_few() {
        let metadata = json!({"finalizers": ["orphan", "a.b/c", "plain", "kubernetes", "foregroundDeletion"]});
        assert_eq!(
            reported(&check_standard_finalizers(&metadata)),
            [
                "metadata.finalizers[2]: Invalid value: \"plain\": name is neither a standard finalizer name nor is it fully qualified"
            ]
        );
    }

    #[test]
    fn field_managers_are_short_and_printable() {
        assert_eq!(check_field_manager("kubectl edit", "fieldManager"), []);
        assert_eq!(
            reported(&check_field_manager("a\n", "fieldManager")),
            ["fieldManager: Invalid value: \"a\\n\": invalid character U+000A (at position 1)"]
        );
        assert_eq!(
            reported(&check_field_manager(&"a".repeat(129), "fieldManager")),
            ["fieldManager: Too long: may not be more than 128 bytes"]
        );
    }
}
