//! Everything that is served now: one [`Resource`] for each group, version and plural name.
//!
//! A catalogue never changes. When a definition comes or goes the next one is built and put in its
//! place, so a request sees one picture from its beginning to its end.

use std::{
    cmp::Ordering,
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, OnceLock},
};

use netloom_patch::MergeKeys;
use netloom_schema::{
    Additional, Schema,
    crd::{Definition, ScalePaths, Scope, Version},
    table::Column,
};
use netloom_store::Revision;
use serde_json::Value;

use crate::{
    builtin::{Builtin, FieldLabels},
    status_error::Qualified,
};

/// Verbs of kinds that come from definitions, in the order that discovery shows them.
const CUSTOM_VERBS: &[&str] = &["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];

/// The warning for users of the kind that slices have replaced.
const ENDPOINTS: &str = "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice";

/// One resource in one version.
#[derive(Debug)]
pub struct Resource {
    /// The group; empty for the core one.
    pub group: String,
    /// The version.
    pub version: String,
    /// The kind.
    pub kind: String,
    /// The kind of lists of it.
    pub list_kind: String,
    /// The name in paths.
    pub plural: String,
    /// The name of one.
    pub singular: String,
    /// Short names for people.
    pub short_names: Vec<String>,
    /// Groups of resources, such as `all`.
    pub categories: Vec<String>,
    /// Whether objects are in namespaces.
    pub namespaced: bool,
    /// What can be done with it.
    pub verbs: &'static [&'static str],
    /// Whether `/status` is a subresource.
    pub status: bool,
    /// Where `/scale` finds its numbers.
    pub scale: Option<ScalePaths>,
    /// Columns of tables beside the name; built-in kinds have theirs in their row.
    pub columns: Vec<Column>,
    /// The shapes of a kind from a definition; those of built-in kinds are made when first asked for.
    custom: Option<Shapes>,
    merge_keys: OnceLock<MergeKeys>,
    /// What field selectors may name beyond name and namespace, as dotted paths; built-in kinds have
    /// theirs in their row.
    pub selectable: Vec<String>,
    /// The version that objects are stored in.
    pub storage_version: String,
    /// The row of a built-in kind; none for kinds from definitions.
    pub builtin: Option<&'static Builtin>,
    /// The warning that each use of a deprecated version gets.
    pub deprecated: Option<String>,
    /// Whether the definition is being removed: nothing new is taken.
    pub terminating: bool,
    /// What was stored before this revision may have been written under another schema.
    pub since: Revision,
}

/// The shapes of a kind from a definition.
#[derive(Debug)]
struct Shapes {
    served: Arc<Schema>,
    stored: Arc<Schema>,
    json: Arc<Value>,
    /// Whether reading fills in nothing and takes nothing out.
    plain: bool,
}

impl Resource {
    /// A built-in kind.
    pub fn from_builtin(row: &'static Builtin) -> Self {
        let text = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
        Self {
            group: row.group.into(),
            version: row.version.into(),
            kind: row.kind.into(),
            list_kind: row.list_kind(),
            plural: row.plural.into(),
            singular: row.singular.into(),
            short_names: text(row.short_names),
            categories: text(row.categories),
            namespaced: row.namespaced,
            verbs: row.verbs,
            status: row.has_status(),
            scale: None,
            columns: Vec::new(),
            custom: None,
            merge_keys: OnceLock::new(),
            selectable: Vec::new(),
            storage_version: row.version.into(),
            builtin: Some(row),
            deprecated: (row.group.is_empty() && row.plural == "endpoints").then(|| ENDPOINTS.to_owned()),
            terminating: false,
            since: Revision(0),
        }
    }

    /// One served version of a kind from a definition.
    pub fn from_version(definition: &Definition, version: &Version, terminating: bool) -> Self {
        let storage = definition.versions.iter().find(|version| version.storage);
        let selectable = version.selectable.iter().map(|path| path.trim_start_matches('.').to_owned());
        Self {
            group: definition.group.clone(),
            version: version.name.clone(),
            kind: definition.names.kind.clone(),
            list_kind: definition.names.list_kind.clone(),
            plural: definition.names.plural.clone(),
            singular: definition.names.singular.clone(),
            short_names: definition.names.short_names.clone(),
            categories: definition.names.categories.clone(),
            namespaced: definition.scope == Scope::Namespaced,
            verbs: CUSTOM_VERBS,
            status: version.status,
            scale: version.scale.clone(),
            columns: version.columns.clone(),
            merge_keys: OnceLock::new(),
            custom: Some(Shapes {
                served: version.schema.clone(),
                stored: storage.unwrap_or(version).schema.clone(),
                json: version.json_schema.clone(),
                plain: version.storage && !fills_in(&version.schema),
            }),
            selectable: selectable.collect(),
            storage_version: storage.map_or_else(|| version.name.clone(), |storage| storage.name.clone()),
            builtin: None,
            deprecated: deprecation(definition, version),
            terminating,
            since: Revision(0),
        }
    }

    /// The shape of objects.
    pub fn schema(&self) -> Arc<Schema> {
        self.shape(|custom| &custom.served, Builtin::schema)
    }

    /// The shape of what is stored.
    pub fn storage_schema(&self) -> Arc<Schema> {
        self.shape(|custom| &custom.stored, Builtin::schema)
    }

    /// The shape of objects as JSON, for documents.
    pub fn json_schema(&self) -> Arc<Value> {
        self.shape(|custom| &custom.json, Builtin::json_schema)
    }

    fn shape<T>(&self, custom: impl Fn(&Shapes) -> &Arc<T>, builtin: impl Fn(&'static Builtin) -> Arc<T>) -> Arc<T> {
        match (&self.custom, self.builtin) {
            (Some(shapes), _) => Arc::clone(custom(shapes)),
            (None, Some(row)) => builtin(row),
            (None, None) => unreachable!("a resource is built in or has shapes of its own"),
        }
    }

    /// Group and version, as objects carry them.
    pub fn api_version(&self) -> String {
        join(&self.group, &self.version)
    }

    /// Group and version of what is stored.
    pub fn storage_api_version(&self) -> String {
        join(&self.group, &self.storage_version)
    }

    /// The plural with its group, for messages.
    pub fn qualified(&self) -> Qualified<'_> {
        Qualified::new(&self.group, &self.plural)
    }

    /// The kind with its group, for messages about validity. Events belong to the core, however they
    /// are spelled.
    pub fn qualified_kind(&self) -> Qualified<'_> {
        Qualified::new(if self.is_event() { "" } else { &self.group }, &self.kind)
    }

    /// The name under which the store keeps its objects. The two spellings of events share one.
    pub fn store_name(&self) -> String {
        if self.is_event() { "/events".into() } else { format!("{}/{}", self.group, self.plural) }
    }

    /// Whether it is one of the two spellings of events.
    pub fn is_event(&self) -> bool {
        self.builtin.is_some() && self.plural == "events"
    }

    /// Whether it is this built-in kind.
    pub fn is(&self, group: &str, plural: &str) -> bool {
        self.builtin.is_some() && self.group == group && self.plural == plural
    }

    /// How lists of a built-in kind merge.
    pub fn merge_keys(&self) -> &MergeKeys {
        self.merge_keys.get_or_init(|| MergeKeys::from_schema(&self.json_schema()))
    }

    /// Whether what was stored at a revision is what is sent, but for the revision and the kind.
    pub fn is_plain(&self, written: Revision) -> bool {
        match &self.custom {
            Some(shapes) => shapes.plain && self.is_current(written),
            None => !self.is_event() || self.group.is_empty(),
        }
    }

    /// Whether what was stored at a revision was written under the schema that holds now.
    pub fn is_current(&self, written: Revision) -> bool {
        written >= self.since
    }

    /// Whether the resource takes the verb.
    pub fn takes(&self, verb: &str) -> bool {
        self.verbs.contains(&verb)
    }

    /// Why selectors may not name a field; none when they may.
    pub fn field_refusal(&self, field: &str) -> Option<String> {
        if let Some(row) = self.builtin {
            return (!row.labels.knows(field)).then(|| row.labels.refusal(field));
        }
        let known = matches!(field, "metadata.name" | "metadata.namespace")
            || self.selectable.iter().any(|known| known == field);
        (!known).then(|| format!("field label not supported: {field}"))
    }

    /// What an object has in a field that selectors may name; absent is the empty text.
    pub fn field_value(&self, object: &Value, field: &str) -> String {
        if self.builtin.is_some() {
            return FieldLabels::value(object, field);
        }
        let found = field.split('.').try_fold(object, |value, key| value.get(key));
        match found {
            Some(Value::String(text)) => text.clone(),
            None | Some(Value::Null) => String::new(),
            Some(other) => other.to_string(),
        }
    }

    /// Whether `metadata.generation` is kept.
    pub fn generation(&self) -> bool {
        self.builtin.is_none_or(|row| row.habits.generation)
    }
}

/// All resources that are served.
#[derive(Debug, Default)]
pub struct Catalogue {
    resources: BTreeMap<(String, String, String), Arc<Resource>>,
    /// Counts catalogues, so that what is made of one can be kept until the next.
    pub generation: u64,
}

/// One group for discovery.
#[derive(Debug)]
pub struct Group {
    /// Its name; empty for the core one.
    pub name: String,
    /// Its versions, the preferred one first, each with its resources in order of their names.
    pub versions: Vec<(String, Vec<Arc<Resource>>)>,
}

impl Catalogue {
    /// A catalogue of these resources.
    pub fn new(resources: impl IntoIterator<Item = Arc<Resource>>, generation: u64) -> Self {
        let keyed = resources.into_iter().map(|resource| {
            let key = (resource.group.clone(), resource.version.clone(), resource.plural.clone());
            (key, resource)
        });
        Self { resources: keyed.collect(), generation }
    }

    /// The resource of a path.
    pub fn lookup(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<Resource>> {
        // Three short texts; a borrowed key of a triple would cost more words than it saves time.
        self.resources.get(&(group.to_owned(), version.to_owned(), plural.to_owned()))
    }

    /// The resource of a kind.
    pub fn by_kind(&self, api_version: &str, kind: &str) -> Option<&Arc<Resource>> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        self.resources.values().find(|found| found.group == group && found.version == version && found.kind == kind)
    }

    /// Any served version of a resource.
    pub fn any_version(&self, group: &str, plural: &str) -> Option<&Arc<Resource>> {
        self.resources.values().find(|found| found.group == group && found.plural == plural)
    }

    /// Every resource in every version.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Resource>> {
        self.resources.values()
    }

    /// Every resource once, whatever its versions.
    pub fn once(&self) -> Vec<Arc<Resource>> {
        let mut seen = BTreeSet::new();
        self.iter().filter(|resource| seen.insert(resource.store_name())).cloned().collect()
    }

    /// The groups in order of their names, the core one first.
    pub fn groups(&self) -> Vec<Group> {
        let mut groups: BTreeMap<&str, BTreeMap<&str, Vec<Arc<Resource>>>> = BTreeMap::new();
        for resource in self.resources.values() {
            let versions = groups.entry(&resource.group).or_default();
            versions.entry(&resource.version).or_default().push(resource.clone());
        }
        let group = |(name, versions): (&str, BTreeMap<&str, Vec<Arc<Resource>>>)| {
            let mut versions: Vec<_> = versions.into_iter().map(|(name, list)| (name.to_owned(), list)).collect();
            versions.sort_by(|a, b| version_order(&a.0, &b.0));
            Group { name: name.to_owned(), versions }
        };
        groups.into_iter().map(group).collect()
    }
}

/// Stable before beta before alpha, higher numbers first, other names last and in order.
pub fn version_order(a: &str, b: &str) -> Ordering {
    match (parsed(a), parsed(b)) {
        (Some(a), Some(b)) => b.cmp(&a),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => a.cmp(b),
    }
}

/// Stability, major and minor number of a version such as `v1beta2`.
fn parsed(version: &str) -> Option<(u8, u32, u32)> {
    let rest = version.strip_prefix('v')?;
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (major, tail) = rest.split_at(end);
    let major = major.parse().ok()?;
    let (stability, minor) = match tail {
        "" => return Some((2, major, 0)),
        tail if tail.starts_with("beta") => (1, &tail[4..]),
        tail if tail.starts_with("alpha") => (0, &tail[5..]),
        _ => return None,
    };
    Some((stability, major, minor.parse().ok()?))
}

/// The warning for users of a deprecated version.
fn deprecation(definition: &Definition, version: &Version) -> Option<String> {
    let (group, kind) = (&definition.group, &definition.names.kind);
    let mut newer: Vec<&str> = definition
        .versions
        .iter()
        .filter(|other| other.served && !other.deprecated)
        .map(|other| other.name.as_str())
        .collect();
    newer.sort_by(|a, b| version_order(a, b));
    let usual = || match newer.first() {
        Some(newer) => format!("{group}/{} {kind} is deprecated; use {group}/{newer} {kind}", version.name),
        None => format!("{group}/{} {kind} is deprecated", version.name),
    };
    version.deprecated.then(|| version.deprecation_warning.clone().unwrap_or_else(usual))
}

/// Whether a schema has a default anywhere.
fn fills_in(schema: &Schema) -> bool {
    let additional = match schema.additional() {
        Some(Additional::Schema(schema)) => fills_in(schema),
        Some(Additional::Any(_)) | None => false,
    };
    schema.default_value().is_some()
        || additional
        || schema.properties().values().any(fills_in)
        || schema.items().is_some_and(fills_in)
}

fn join(group: &str, version: &str) -> String {
    if group.is_empty() { version.into() } else { format!("{group}/{version}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered_by_stability() {
        let mut versions = ["v1", "foo", "v11alpha2", "v2", "v1beta1", "v12alpha1", "v10beta3", "bar", "v3beta1"];
        versions.sort_by(|a, b| version_order(a, b));
        assert_eq!(versions, ["v2", "v1", "v10beta3", "v3beta1", "v1beta1", "v12alpha1", "v11alpha2", "bar", "foo"]);
    }
}
