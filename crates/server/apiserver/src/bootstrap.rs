//! What is there from the first start on: roles that every cluster has, those of our own processes,
//! and the definitions of our kinds.
//!
//! Everything missing is written in one batch, before anybody is served. Definitions are written as
//! established, since nobody could have taken their names; a definition of an older program is
//! brought to what this one has, and so are the roles of our own processes. Other roles that somebody changed stay as
//! they are.

mod renewed;

use netloom_api::{
    Install,
    definition::{BUILT_IN, INSTALLED},
};
use netloom_store::{Change, Key, Store};
use serde_json::{Value, json};

use self::renewed::{AUTOUPDATE, Renewed, renewed};
use crate::{
    builtin::{self, Builtin},
    catalogue::Resource,
    rbac::{GROUP, MASTERS},
    resources::{
        clock::{Source, seconds},
        metadata, owned,
        prepare::Part,
        stored,
    },
    status_error::Status,
};

const READ: [&str; 3] = ["get", "list", "watch"];
const WRITE: [&str; 5] = ["create", "delete", "deletecollection", "patch", "update"];
/// Who writes roles again, in the record of who owns which field.
const MANAGER: &str = "netloom";
/// Paths that tell nothing but that the server is there, and its version.
pub const PUBLIC_PATHS: [&str; 5] = ["/livez", "/readyz", "/healthz", "/version", "/version/"];

/// Why a start failed.
#[derive(Debug, thiserror::Error)]
pub enum BootstrapError {
    /// The store does not answer.
    #[error(transparent)]
    Read(#[from] netloom_store::ReadError),
    /// The store does not take the objects.
    #[error(transparent)]
    Write(#[from] netloom_store::WriteError),
    /// An object that should be there cannot be made.
    #[error("{0}")]
    Object(String),
}

impl BootstrapError {
    /// A stable word for it.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Read(error) => error.reason(),
            Self::Write(error) => error.reason(),
            Self::Object(_) => "BootstrapObject",
        }
    }
}

impl From<Status> for BootstrapError {
    fn from(status: Status) -> Self {
        Self::Object(status.message().to_owned())
    }
}

/// Writes what is missing.
pub async fn install(store: &Store, source: &dyn Source) -> Result<(), BootstrapError> {
    let mut changes = Vec::new();
    for object in roles() {
        changes.extend(missing(store, source, object)?);
    }
    for object in our_roles()? {
        changes.extend(own_object(store, source, object)?);
    }
    for kind in netloom_api::kinds() {
        let mut wanted = kind.crd();
        if kind.install == Install::OnRequest {
            wanted["metadata"]["annotations"][INSTALLED] = json!(BUILT_IN);
        }
        changes.extend(definition(store, source, wanted)?);
    }
    if !changes.is_empty() {
        store.write(changes).await?;
    }
    Ok(())
}

/// The change that makes an object, unless it is there.
fn missing(store: &Store, source: &dyn Source, mut object: Value) -> Result<Option<Change>, BootstrapError> {
    let row = row_of(&object)?;
    let resource = Resource::from_builtin(row);
    let key = key_of(&resource, &object);
    if store.get(&key)?.is_some() {
        return Ok(None);
    }
    (row.default)(&mut object);
    metadata::fill(&mut object, source);
    (row.prepare)(&mut object, None);
    Ok(Some(Change::create(key, stored::encode(&resource, &object))))
}

/// The change that makes an object of our own, or brings a role or binding to what this program has.
fn own_object(store: &Store, source: &dyn Source, mut wanted: Value) -> Result<Option<Change>, BootstrapError> {
    let row = row_of(&wanted)?;
    let resource = Resource::from_builtin(row);
    let key = key_of(&resource, &wanted);
    let found = store.get(&key)?.filter(|_| row.group == GROUP);
    let Some(found) = found else { return missing(store, source, wanted) };
    (row.default)(&mut wanted);
    let before = stored::decode(&resource, &found)?;
    let name = key.name();
    let new = match renewed(&before, &wanted) {
        Renewed::Same => return Ok(None),
        Renewed::Kept => {
            tracing::warn!(kind = row.kind, name, "an annotation keeps rights that are not those of this version");
            return Ok(None);
        }
        Renewed::Changed(mut new) => {
            let now = seconds(source.now());
            owned::by_server(&resource, Part::Main, MANAGER, &now, &before, &mut new);
            new
        }
        Renewed::Replaced => {
            metadata::fill(&mut wanted, source);
            wanted
        }
    };
    tracing::info!(kind = row.kind, name, "brought to the rights of this version");
    Ok(Some(Change::update(key.clone(), found.revision, stored::encode(&resource, &new))))
}

/// The change that makes a definition, or brings it to what this program has.
fn definition(store: &Store, source: &dyn Source, mut wanted: Value) -> Result<Option<Change>, BootstrapError> {
    let row = row_of(&wanted)?;
    let resource = Resource::from_builtin(row);
    let key = key_of(&resource, &wanted);
    (row.default)(&mut wanted);
    let Some(found) = store.get(&key)? else {
        metadata::fill(&mut wanted, source);
        metadata::set(&mut wanted, "generation", Some(json!(1)));
        wanted["status"] = established(&wanted, &seconds(source.now()));
        return Ok(Some(Change::create(key, stored::encode(&resource, &wanted))));
    };
    let mut current = stored::decode(&resource, &found)?;
    let before = current.clone();
    // An older program has left no mark.
    if let Some(mark) = metadata::value(&wanted, "annotations").and_then(|all| all.get(INSTALLED)) {
        current["metadata"]["annotations"][INSTALLED] = mark.clone();
    }
    if current["spec"] != wanted["spec"] {
        let generation = metadata::generation(&current) + 1;
        metadata::set(&mut current, "generation", Some(json!(generation)));
        remember_versions(&mut current, &wanted);
        current["spec"] = wanted["spec"].take();
    }
    if current == before {
        return Ok(None);
    }
    Ok(Some(Change::update(key, found.revision, stored::encode(&resource, &current))))
}

/// A version that objects may be stored in from now on joins those of before.
fn remember_versions(current: &mut Value, wanted: &Value) {
    let storage = storage_version(wanted);
    let versions = current["status"]["storedVersions"].as_array_mut();
    if let (Some(versions), Some(storage)) = (versions, storage)
        && !versions.contains(&storage)
    {
        versions.push(storage);
    }
}

/// The status of a definition whose names nobody disputes.
fn established(definition: &Value, now: &str) -> Value {
    let condition = |kind: &str, reason: &str, message: &str| {
        json!({
            "type": kind, "status": "True", "reason": reason, "message": message, "lastTransitionTime": now,
        })
    };
    json!({
        "conditions": [
            condition("NamesAccepted", "NoConflicts", "no conflicts found"),
            condition("Established", "InitialNamesAccepted", "the initial names have been accepted"),
        ],
        "acceptedNames": definition["spec"]["names"],
        "storedVersions": storage_version(definition).into_iter().collect::<Vec<_>>(),
    })
}

fn storage_version(definition: &Value) -> Option<Value> {
    let versions = definition["spec"]["versions"].as_array()?;
    versions.iter().find(|version| version["storage"] == true).map(|version| version["name"].clone())
}

fn row_of(object: &Value) -> Result<&'static Builtin, BootstrapError> {
    let text = |field: &str| object[field].as_str().unwrap_or_default();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    let found = builtin::all().iter().find(|row| row.api_version() == api_version && row.kind == kind);
    found.ok_or_else(|| BootstrapError::Object(format!("there is no kind {kind} in {api_version}")))
}

fn key_of(resource: &Resource, object: &Value) -> Key {
    Key::new(&resource.store_name(), metadata::text(object, "namespace"), metadata::text(object, "name"))
}

/// The roles of our own processes. This server has every kind.
fn our_roles() -> Result<Vec<Value>, BootstrapError> {
    let limits = netloom_schema::decode::Limits::default();
    let mut all = Vec::new();
    for text in [netloom_generate::rbac(), netloom_generate::rbac_on_request()] {
        let read = netloom_schema::decode::yaml_stream(text.as_bytes(), limits);
        let documents = read.map_err(|error| BootstrapError::Object(error.to_string()))?;
        all.extend(documents.into_iter().map(|document| document.value));
    }
    Ok(all)
}

/// Roles and bindings that every cluster has, as far as they are about what is served here.
fn roles() -> Vec<Value> {
    let everything = [
        json!({ "apiGroups": ["*"], "resources": ["*"], "verbs": ["*"] }),
        json!({ "nonResourceURLs": ["*"], "verbs": ["*"] }),
    ];
    let discovery = ["/api", "/api/*", "/apis", "/apis/*", "/openapi", "/openapi/*"];
    let discovery: Vec<&str> = PUBLIC_PATHS.into_iter().chain(discovery).collect();
    let monitoring = ["/metrics", "/livez", "/livez/*", "/readyz", "/readyz/*", "/healthz", "/healthz/*"];
    let paths = |paths: &[&str]| json!({ "nonResourceURLs": paths, "verbs": ["get"] });
    let about_oneself = [
        json!({
            "apiGroups": ["authorization.k8s.io"], "verbs": ["create"],
            "resources": ["selfsubjectaccessreviews", "selfsubjectrulesreviews"],
        }),
        json!({ "apiGroups": ["authentication.k8s.io"], "resources": ["selfsubjectreviews"], "verbs": ["create"] }),
    ];
    let everybody = ["system:authenticated", "system:unauthenticated"];
    let mut all = vec![
        role("cluster-admin", &everything),
        role("system:discovery", &[paths(&discovery)]),
        role("system:monitoring", &[paths(&monitoring)]),
        role("system:basic-user", &about_oneself),
        role("system:public-info-viewer", &[paths(&PUBLIC_PATHS)]),
        binding("cluster-admin", &[MASTERS]),
        binding("system:discovery", &["system:authenticated"]),
        binding("system:monitoring", &["system:monitoring"]),
        binding("system:basic-user", &["system:authenticated"]),
        binding("system:public-info-viewer", &everybody),
    ];
    all.extend(gathering_roles());
    all
}

/// The three roles for people in namespaces, each gathered from parts that others can add to.
fn gathering_roles() -> Vec<Value> {
    let objects = json!(["configmaps", "endpoints", "events", "pods", "services", "serviceaccounts"]);
    let rule = |group: &str, resources: &Value, verbs: &[&str]| json!({ "apiGroups": [group], "resources": resources, "verbs": verbs });
    let view = [
        rule("", &objects, &READ),
        rule("", &json!(["namespaces", "pods/status", "services/status"]), &READ),
        rule("discovery.k8s.io", &json!(["endpointslices"]), &READ),
        rule("coordination.k8s.io", &json!(["leases"]), &READ),
        rule("events.k8s.io", &json!(["events"]), &READ),
    ];
    let edit = [
        rule("", &objects, &WRITE),
        rule("", &json!(["secrets"]), &[&READ[..], &WRITE[..]].concat()),
        rule("", &json!(["serviceaccounts"]), &["impersonate"]),
        rule("", &json!(["serviceaccounts/token"]), &["create"]),
        rule("coordination.k8s.io", &json!(["leases"]), &WRITE),
        rule("events.k8s.io", &json!(["events"]), &WRITE),
    ];
    let admin = [
        rule("authorization.k8s.io", &json!(["localsubjectaccessreviews"]), &["create"]),
        rule(GROUP, &json!(["rolebindings", "roles"]), &[&READ[..], &WRITE[..]].concat()),
    ];
    let label = |to: &str| format!("{GROUP}/aggregate-to-{to}");
    let part = |to: &str, rules: &[Value]| {
        let mut part = role(&format!("system:aggregate-to-{to}"), rules);
        part["metadata"]["labels"][label(to)] = json!("true");
        part
    };
    let whole = |name: &str, joins: Option<&str>| {
        let mut whole = role(name, &[]);
        whole["aggregationRule"] = json!({ "clusterRoleSelectors": [{ "matchLabels": { label(name): "true" } }] });
        if let Some(joins) = joins {
            whole["metadata"]["labels"][label(joins)] = json!("true");
        }
        whole
    };
    vec![
        whole("admin", None),
        whole("edit", Some("admin")),
        whole("view", Some("edit")),
        part("admin", &admin),
        part("edit", &edit),
        part("view", &view),
    ]
}

fn role(name: &str, rules: &[Value]) -> Value {
    json!({
        "apiVersion": format!("{GROUP}/v1"),
        "kind": "ClusterRole",
        "metadata": metadata_of(name),
        "rules": rules,
    })
}

fn binding(role: &str, groups: &[&str]) -> Value {
    let subjects = groups.iter().map(|group| json!({ "apiGroup": GROUP, "kind": "Group", "name": group }));
    json!({
        "apiVersion": format!("{GROUP}/v1"),
        "kind": "ClusterRoleBinding",
        "metadata": metadata_of(role),
        "roleRef": { "apiGroup": GROUP, "kind": "ClusterRole", "name": role },
        "subjects": subjects.collect::<Vec<_>>(),
    })
}

fn metadata_of(name: &str) -> Value {
    json!({
        "name": name,
        "labels": { "kubernetes.io/bootstrapping": "rbac-defaults" },
        "annotations": { AUTOUPDATE: "true" },
    })
}

#[cfg(test)]
mod tests {
    use netloom_admission::User;

    use super::*;
    use crate::rbac::{Asked, Book, Decision, Sort};

    fn book() -> Book {
        let mut book = Book::default();
        for object in roles().into_iter().chain(our_roles().unwrap()) {
            let sort = match object["kind"].as_str().unwrap() {
                "Role" => Sort::Role,
                "ClusterRole" => Sort::ClusterRole,
                "RoleBinding" => Sort::RoleBinding,
                "ClusterRoleBinding" => Sort::ClusterRoleBinding,
                _ => continue,
            };
            book.put(sort, &object);
        }
        book
    }

    fn may(groups: &[&str], verb: &str, what: &str) -> bool {
        let user = User { groups: groups.iter().map(|&group| group.to_owned()).collect(), ..User::default() };
        let asked = if what.starts_with('/') {
            Asked::Path { verb: verb.into(), path: what.into() }
        } else {
            let (resource, group) = what.split_once('.').unwrap_or((what, ""));
            Asked::Resource {
                verb: verb.into(),
                group: group.into(),
                resource: resource.into(),
                subresource: String::new(),
                namespace: String::new(),
                name: String::new(),
            }
        };
        matches!(book().decide(&user, &asked), Decision::Allowed(_))
    }

    #[test]
    fn everybody_may_see_that_the_server_lives_and_little_else() {
        assert!(may(&["system:unauthenticated"], "get", "/readyz"));
        assert!(!may(&["system:unauthenticated"], "get", "/api"));
        assert!(may(&["system:authenticated"], "get", "/apis/apps/v1"));
        assert!(!may(&["system:authenticated"], "list", "pods"));
        assert!(may(&["system:authenticated"], "create", "selfsubjectaccessreviews.authorization.k8s.io"));
    }

    #[test]
    fn an_agent_writes_what_nodes_own() {
        let agent = [netloom_admission::agent::GROUP];
        assert!(may(&agent, "update", "nodenetworkstates.nmstate.io"));
        assert!(!may(&agent, "update", "nodenetconfpolicies.nmstate.io"));
        assert!(!may(&agent, "get", "secrets"));
    }

    #[test]
    fn every_object_has_a_kind_that_is_served() {
        for object in roles().into_iter().chain(our_roles().unwrap()) {
            let row = row_of(&object).unwrap();
            let mut object = object;
            (row.default)(&mut object);
            assert_eq!((row.validate)(&object, None), [], "{object}");
        }
    }
}
