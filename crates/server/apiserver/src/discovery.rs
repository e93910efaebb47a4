//! What is served, reported in both forms: one document for everything, or one for each version.
//!
//! Pure: a catalogue in, documents out. Reviews (of access and of tokens) are answered by the server
//! itself and are in no catalogue, so they are added here.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::{
    catalogue::{Catalogue, Group, Resource},
    reviews::Review,
};

/// The content type of the form that tells everything at once.
pub const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const SUBRESOURCE_VERBS: [&str; 3] = ["get", "patch", "update"];

/// One entry: a resource, or something below one.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    name: String,
    singular: String,
    namespaced: bool,
    group: String,
    version: String,
    kind: String,
    verbs: Vec<String>,
    short_names: Vec<String>,
    categories: Vec<String>,
    hash: Option<String>,
    /// Whether it comes from a definition; those name their group and version in full.
    custom: bool,
    below: Vec<Entry>,
}

/// One version of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Version {
    name: String,
    entries: Vec<Entry>,
}

/// What is served, ready to be reported.
#[derive(Debug, Clone)]
pub struct Discovery {
    groups: Vec<(String, Vec<Version>)>,
}

impl Discovery {
    /// Everything in a catalogue, and the reviews.
    pub fn of(catalogue: &Catalogue) -> Self {
        let mut groups: Vec<(String, Vec<Version>)> = catalogue.groups().iter().map(group).collect();
        for review in Review::ALL {
            let (name, _) = review.resource();
            if !groups.iter().any(|(group, _)| group == name) {
                groups.push((name.to_owned(), vec![Version { name: "v1".to_owned(), entries: Vec::new() }]));
            }
            let version =
                groups.iter_mut().find(|(group, _)| group == name).and_then(|(_, versions)| versions.first_mut());
            if let Some(version) = version {
                version.entries.push(review_entry(review));
            }
        }
        groups.sort_by(|left, right| left.0.cmp(&right.0));
        Self { groups }
    }

    /// Every version, as `group` and `version`.
    pub fn versions(&self) -> impl Iterator<Item = (&str, &str)> {
        self.groups
            .iter()
            .flat_map(|(group, versions)| versions.iter().map(move |version| (group.as_str(), version.name.as_str())))
    }

    /// Everything at once: the core group, or all others.
    pub fn aggregated(&self, core: bool) -> Value {
        let items = self.groups.iter().filter(|(name, _)| name.is_empty() == core).map(|(name, versions)| {
            let metadata = if name.is_empty() { json!({}) } else { json!({ "name": name }) };
            let versions = versions.iter().map(|version| {
                json!({
                    "version": version.name,
                    "resources": version.entries.iter().map(|entry| entry.aggregated(name, &version.name)).collect::<Vec<_>>(),
                    "freshness": "Current",
                })
            });
            json!({ "metadata": metadata, "versions": versions.collect::<Vec<_>>() })
        });
        json!({
            "kind": "APIGroupDiscoveryList",
            "apiVersion": "apidiscovery.k8s.io/v2",
            "metadata": {},
            "items": items.collect::<Vec<_>>(),
        })
    }

    /// The versions of the core group; clients are asked to come to this address.
    pub fn core_versions(&self, address: &str) -> Value {
        let versions: Vec<&str> = self.versions().filter(|(group, _)| group.is_empty()).map(|(_, v)| v).collect();
        json!({
            "kind": "APIVersions",
            "versions": versions,
            "serverAddressByClientCIDRs": [{ "clientCIDR": "0.0.0.0/0", "serverAddress": address }],
        })
    }

    /// All other groups.
    pub fn group_list(&self) -> Value {
        let groups = self.groups.iter().filter(|(name, _)| !name.is_empty());
        json!({
            "kind": "APIGroupList",
            "apiVersion": "v1",
            "groups": groups.map(|(name, versions)| Value::Object(group_entry(name, versions))).collect::<Vec<_>>(),
        })
    }

    /// One group.
    pub fn group(&self, name: &str) -> Option<Value> {
        let (name, versions) = self.groups.iter().find(|(found, _)| found == name && !found.is_empty())?;
        let mut entry = group_entry(name, versions);
        entry.insert("kind".to_owned(), json!("APIGroup"));
        entry.insert("apiVersion".to_owned(), json!("v1"));
        Some(Value::Object(entry))
    }

    /// The resources of one version.
    pub fn resources(&self, group: &str, version: &str) -> Option<Value> {
        let (_, versions) = self.groups.iter().find(|(found, _)| found == group)?;
        let found = versions.iter().find(|found| found.name == version)?;
        let list: Vec<Value> = found.entries.iter().flat_map(|entry| entry.listed(group, version)).collect();
        let mut document = json!({
            "kind": "APIResourceList",
            "groupVersion": api_version(group, version),
            "resources": list,
        });
        if !group.is_empty() {
            document["apiVersion"] = json!("v1");
        }
        Some(document)
    }
}

impl Entry {
    fn aggregated(&self, group: &str, version: &str) -> Value {
        let kind_of = |entry: &Self| {
            let own = !self.custom && (entry.group.as_str(), entry.version.as_str()) == (group, version);
            let (group, version) = if own { ("", "") } else { (entry.group.as_str(), entry.version.as_str()) };
            json!({ "group": group, "version": version, "kind": entry.kind })
        };
        let mut entry = json!({
            "resource": self.name,
            "responseKind": kind_of(self),
            "scope": if self.namespaced { "Namespaced" } else { "Cluster" },
            "singularResource": self.singular,
            "verbs": self.verbs,
        });
        put_lists(&mut entry, self);
        if !self.below.is_empty() {
            let below = self
                .below
                .iter()
                .map(|sub| json!({ "subresource": sub.name, "responseKind": kind_of(sub), "verbs": sub.verbs }));
            entry["subresources"] = below.collect();
        }
        entry
    }

    /// The entry and those below it, as a list of one version has them.
    fn listed(&self, group: &str, version: &str) -> Vec<Value> {
        let mut own = json!({
            "name": self.name,
            "singularName": self.singular,
            "namespaced": self.namespaced,
            "kind": self.kind,
            "verbs": self.verbs,
        });
        put_lists(&mut own, self);
        if let Some(hash) = &self.hash {
            own["storageVersionHash"] = json!(hash);
        }
        let below = self.below.iter().map(|sub| {
            let mut entry = json!({
                "name": format!("{}/{}", self.name, sub.name),
                "singularName": "",
                "namespaced": self.namespaced,
                "kind": sub.kind,
                "verbs": sub.verbs,
            });
            if (sub.group.as_str(), sub.version.as_str()) != (group, version) {
                entry["group"] = json!(sub.group);
                entry["version"] = json!(sub.version);
            }
            entry
        });
        std::iter::once(own).chain(below).collect()
    }
}

/// Whether a client asks for everything at once.
pub fn wants_aggregated(accept: &str) -> bool {
    accept.split(',').any(|clause| {
        let mut parts = clause.split(';').map(str::trim);
        let media = parts.next();
        let parameters: Vec<&str> = parts.collect();
        let has = |wanted: &str| parameters.contains(&wanted);
        media == Some("application/json")
            && has("g=apidiscovery.k8s.io")
            && has("v=v2")
            && has("as=APIGroupDiscoveryList")
    })
}

/// The fingerprint of a document, as `ETag` has it.
pub fn etag(document: &[u8]) -> String {
    format!("\"{}\"", crate::identity::hex(&Sha256::digest(document)).to_uppercase())
}

fn group(group: &Group) -> (String, Vec<Version>) {
    let versions = group.versions.iter().map(|(name, resources)| Version {
        name: name.clone(),
        entries: resources.iter().map(|resource| entry(resource)).collect(),
    });
    (group.name.clone(), versions.collect())
}

fn entry(resource: &Resource) -> Entry {
    let texts = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
    let mut below: Vec<Entry> = Vec::new();
    if let Some(row) = resource.builtin {
        let subresources = row.subresources.iter();
        below.extend(subresources.map(|sub| sub_entry(sub.name, [sub.group, sub.version, sub.kind], sub.verbs)));
    } else {
        if resource.status {
            let kind = [resource.group.as_str(), &resource.version, &resource.kind];
            below.push(sub_entry("status", kind, &SUBRESOURCE_VERBS));
        }
        if resource.scale.is_some() {
            below.push(sub_entry("scale", ["autoscaling", "v1", "Scale"], &SUBRESOURCE_VERBS));
        }
    }
    let stored = format!("{}/{}/{}", resource.group, resource.storage_version, resource.kind);
    Entry {
        name: resource.plural.clone(),
        singular: resource.singular.clone(),
        namespaced: resource.namespaced,
        group: resource.group.clone(),
        version: resource.version.clone(),
        kind: resource.kind.clone(),
        verbs: texts(resource.verbs),
        short_names: resource.short_names.clone(),
        categories: resource.categories.clone(),
        hash: Some(STANDARD.encode(&Sha256::digest(stored)[..8])),
        custom: resource.builtin.is_none(),
        below,
    }
}

fn sub_entry(name: &str, [group, version, kind]: [&str; 3], verbs: &[&str]) -> Entry {
    Entry {
        name: name.to_owned(),
        singular: String::new(),
        namespaced: false,
        group: group.to_owned(),
        version: version.to_owned(),
        kind: kind.to_owned(),
        verbs: verbs.iter().map(|&verb| verb.to_owned()).collect(),
        short_names: Vec::new(),
        categories: Vec::new(),
        hash: None,
        custom: false,
        below: Vec::new(),
    }
}

fn review_entry(review: Review) -> Entry {
    let (group, plural) = review.resource();
    Entry {
        singular: review.kind().to_lowercase(),
        namespaced: review.namespaced(),
        ..sub_entry(plural, [group, "v1", review.kind()], &["create"])
    }
}

fn put_lists(value: &mut Value, entry: &Entry) {
    if !entry.short_names.is_empty() {
        value["shortNames"] = json!(entry.short_names);
    }
    if !entry.categories.is_empty() {
        value["categories"] = json!(entry.categories);
    }
}

fn group_entry(name: &str, versions: &[Version]) -> Map<String, Value> {
    let version =
        |version: &Version| json!({ "groupVersion": api_version(name, &version.name), "version": version.name });
    let mut entry = Map::new();
    entry.insert("name".to_owned(), json!(name));
    entry.insert("versions".to_owned(), versions.iter().map(version).collect());
    entry.insert("preferredVersion".to_owned(), versions.first().map_or(Value::Null, version));
    entry
}

fn api_version(group: &str, version: &str) -> String {
    if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::builtin;

    fn discovery() -> Discovery {
        let all = builtin::all().iter().map(|row| Arc::new(Resource::from_builtin(row)));
        Discovery::of(&Catalogue::new(all, 1))
    }

    #[test]
    fn both_forms_tell_the_same() {
        let discovery = discovery();
        let core = discovery.aggregated(true);
        assert_eq!(core["items"].as_array().unwrap().len(), 1);
        let reported: Vec<_> = core["items"][0]["versions"][0]["resources"]
            .as_array()
            .unwrap()
            .iter()
            .map(|resource| resource["resource"].clone())
            .collect();
        let listed = discovery.resources("", "v1").unwrap();
        let listed: Vec<_> = listed["resources"]
            .as_array()
            .unwrap()
            .iter()
            .map(|resource| resource["name"].clone())
            .filter(|name| !name.as_str().unwrap().contains('/'))
            .collect();
        assert_eq!(reported, listed);
        assert!(reported.contains(&json!("pods")));
    }

    #[test]
    fn a_subresource_of_another_group_names_it() {
        let list = discovery().resources("", "v1").unwrap();
        let all = list["resources"].as_array().unwrap();
        let token = all.iter().find(|entry| entry["name"] == "serviceaccounts/token").unwrap();
        assert_eq!((&token["group"], &token["kind"]), (&json!("authentication.k8s.io"), &json!("TokenRequest")));
        let status = all.iter().find(|entry| entry["name"] == "pods/status").unwrap();
        assert_eq!(status.get("group"), None);
        assert!(list.get("apiVersion").is_none());
    }

    #[test]
    fn reviews_are_reported_of() {
        let discovery = discovery();
        let reviews = discovery.resources("authorization.k8s.io", "v1").unwrap();
        let local = reviews["resources"].as_array().unwrap();
        assert!(local.iter().any(|entry| entry["name"] == "localsubjectaccessreviews" && entry["namespaced"] == true));
        assert!(discovery.group("authentication.k8s.io").is_some());
        assert!(discovery.group("nothing").is_none());
        assert!(discovery.resources("authorization.k8s.io", "v2").is_none());
    }

    #[test]
    fn hashes_are_those_of_other_servers() {
        // As a kube-apiserver tells it for its own kinds.
        let list = discovery().resources("", "v1").unwrap();
        let pods = list["resources"].as_array().unwrap().iter().find(|entry| entry["name"] == "pods").unwrap();
        assert_eq!(pods["storageVersionHash"], "xPOwRZ+Yhw8=");
    }

    #[test]
    fn the_form_is_chosen_by_its_parameters() {
        let yes =
            "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList;profile=nopeer,application/json";
        assert!(wants_aggregated(yes));
        assert!(!wants_aggregated("application/json"));
        assert!(!wants_aggregated("application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"));
    }
}
