//! How the content of a revision is kept: in the revision itself, and in parts that revisions share.
//!
//! ```text
//! content <= MOST                        all of it in the revision
//! content >  MOST, little has changed    the parts of the newest revision, and in the revision what differs from them
//! content >  MOST, much has changed      the parts that still hold, new ones, and nothing in the revision
//! ```
//!
//! No object holds more than [`MOST`]. A part that has something which is not wanted any more is not named again, and
//! neither is one of which less than half still holds; so what revisions name is never more than about twice what is
//! wanted. Equal content over equal parts is laid out equally, so whoever takes over half-way goes on with the same parts.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use netloom_api::fabric::{
    network_config_revision::{
        AttachmentRevision, HostNetworkConfigRevision, NetworkConfigRevisionSpec, NodePolicyRevision,
        VlanConfigRevision,
    },
    network_config_revision_part::NetworkConfigRevisionPartSpec,
};
use serde::Serialize;
use serde_json::{Value, json};

use crate::{digest, key::ObjectKey, revision::newest, snapshot::Snapshot};

/// The most bytes of frozen objects that a revision or a part has. A server stores objects of up to 1.5 MiB; this leaves
/// room for names, metadata and status, and keeps every object below 1 MiB.
pub const MOST: usize = 900 << 10;

/// One frozen object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece {
    Policy(Arc<NodePolicyRevision>),
    Uplink(Arc<VlanConfigRevision>),
    Host(Arc<HostNetworkConfigRevision>),
    Attachment(Arc<AttachmentRevision>),
}

/// Kind, namespace and name of a frozen object.
type Key<'a> = (u8, &'a str, &'a str);

/// A frozen object with what is to be known of it without reading it again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Weighed {
    pub(crate) piece: Piece,
    /// How many bytes it takes.
    pub(crate) size: usize,
    /// The SHA-256 of its kind and content.
    pub(crate) hash: String,
}

/// The objects that hold a revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// New parts, by name.
    pub parts: BTreeMap<String, NetworkConfigRevisionPartSpec>,
    /// The revision.
    pub spec: NetworkConfigRevisionSpec,
}

impl Layout {
    /// The parts to create, each with its name.
    pub fn part_objects(&self) -> impl Iterator<Item = (&str, Value)> {
        self.parts.iter().map(|(name, spec)| (name.as_str(), object("NetworkConfigRevisionPart", name, spec)))
    }

    /// The revision to create.
    pub fn revision_object(&self, name: &str) -> Value {
        object("NetworkConfigRevision", name, &self.spec)
    }

    /// The parts to create, then the revision.
    pub fn objects(&self, name: &str) -> Vec<Value> {
        self.part_objects().map(|(_, part)| part).chain([self.revision_object(name)]).collect()
    }
}

fn object(kind: &str, name: &str, spec: &impl Serialize) -> Value {
    json!({
        "apiVersion": "network.t-caas.telekom.com/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec,
    })
}

impl Piece {
    fn key(&self) -> Key<'_> {
        match self {
            Self::Policy(one) => (0, &one.namespace, &one.name.0),
            Self::Uplink(one) => (1, "", &one.name.0),
            Self::Host(one) => (2, "", &one.name.0),
            Self::Attachment(one) => (3, &one.namespace, &one.name.0),
        }
    }

    /// Weighs it.
    pub(crate) fn weighed(self) -> Weighed {
        let text = match &self {
            Self::Policy(one) => serde_json::to_string(one),
            Self::Uplink(one) => serde_json::to_string(one),
            Self::Host(one) => serde_json::to_string(one),
            Self::Attachment(one) => serde_json::to_string(one),
        };
        // What came as a value is one again.
        let mut text = text.unwrap_or_default();
        let size = text.len() + 1;
        text.push_str(["policy", "uplink", "host", "attachment"][usize::from(self.key().0)]);
        Weighed { size, hash: digest::of_text(&text), piece: self }
    }

    fn put_into(&self, part: &mut NetworkConfigRevisionPartSpec) {
        match self {
            Self::Policy(one) => part.node_policies.push((**one).clone()),
            Self::Uplink(one) => part.vlan_configs.push((**one).clone()),
            Self::Host(one) => part.host_network_configs.push((**one).clone()),
            Self::Attachment(one) => part.attachments.push((**one).clone()),
        }
    }

    /// Whether a part has it as it is.
    fn is_in(&self, part: &NetworkConfigRevisionPartSpec) -> bool {
        match self {
            Self::Policy(one) => part.node_policies.contains(one),
            Self::Uplink(one) => part.vlan_configs.contains(one),
            Self::Host(one) => part.host_network_configs.contains(one),
            Self::Attachment(one) => part.attachments.contains(one),
        }
    }
}

/// What a part has, by name.
fn keys(part: &NetworkConfigRevisionPartSpec) -> impl Iterator<Item = Key<'_>> {
    let policies = part.node_policies.iter().map(|one| (0, one.namespace.as_str(), one.name.0.as_str()));
    let uplinks = part.vlan_configs.iter().map(|one| (1, "", one.name.0.as_str()));
    let hosts = part.host_network_configs.iter().map(|one| (2, "", one.name.0.as_str()));
    let attachments = part.attachments.iter().map(|one| (3, one.namespace.as_str(), one.name.0.as_str()));
    policies.chain(uplinks).chain(hosts).chain(attachments)
}

/// In the order in which parts are filled.
pub(crate) fn sort(pieces: &mut [Weighed]) {
    pieces.sort_by(|a, b| a.piece.key().cmp(&b.piece.key()));
}

/// Lays out sorted pieces. What the parts of the newest revision have already is not written again.
pub(crate) fn lay_out(pieces: &[Weighed], hash: &str, snapshot: &Snapshot) -> Layout {
    let total: usize = pieces.iter().map(|one| one.size).sum();
    if total <= MOST {
        return Layout { parts: BTreeMap::new(), spec: inline(pieces.iter(), Vec::new(), hash) };
    }
    let kept = still_good(pieces, snapshot);
    // A later part goes before an earlier one.
    let mut holder: BTreeMap<Key<'_>, &NetworkConfigRevisionPartSpec> = BTreeMap::new();
    for (_, part) in &kept {
        holder.extend(keys(part).map(|key| (key, *part)));
    }
    let is_kept = |one: &Weighed| holder.get(&one.piece.key()).is_some_and(|part| one.piece.is_in(part));
    let rest: Vec<&Weighed> = pieces.iter().filter(|one| !is_kept(one)).collect();
    let mut names: Vec<String> = kept.iter().map(|(name, _)| (*name).to_owned()).collect();
    if rest.iter().map(|one| one.size).sum::<usize>() <= MOST {
        return Layout { parts: BTreeMap::new(), spec: inline(rest.into_iter(), names, hash) };
    }
    let mut parts = BTreeMap::new();
    for (name, part) in packed(&rest) {
        // A part that holds by itself and is made again stands where it stood.
        if !names.contains(&name) {
            names.push(name.clone());
        }
        parts.insert(name, part);
    }
    Layout { parts, spec: inline(std::iter::empty(), names, hash) }
}

/// Parts of the newest revision that have nothing which is gone, and mostly what still holds.
fn still_good<'a>(pieces: &[Weighed], snapshot: &'a Snapshot) -> Vec<(&'a str, &'a NetworkConfigRevisionPartSpec)> {
    let wanted: BTreeMap<Key<'_>, &Weighed> = pieces.iter().map(|one| (one.piece.key(), one)).collect();
    let named = newest(snapshot).into_iter().flat_map(|revision| &revision.spec.parts);
    let there = named.filter_map(|name| Some((name.as_str(), snapshot.part(name)?)));
    there
        .filter(|(_, part)| {
            let (mut all, mut good) = (0, 0);
            for key in keys(part) {
                let Some(one) = wanted.get(&key) else { return false };
                all += 1;
                good += usize::from(one.piece.is_in(part));
            }
            2 * good >= all
        })
        .collect()
}

/// Fills parts one after the other.
fn packed(pieces: &[&Weighed]) -> Vec<(String, NetworkConfigRevisionPartSpec)> {
    let mut parts = Vec::new();
    let (mut part, mut hashes, mut size) = (NetworkConfigRevisionPartSpec::default(), String::new(), 0);
    for one in pieces {
        if size > 0 && size + one.size > MOST {
            parts.push((digest::of_text(&std::mem::take(&mut hashes)), std::mem::take(&mut part)));
            size = 0;
        }
        one.piece.put_into(&mut part);
        hashes.push_str(&one.hash);
        size += one.size;
    }
    if size > 0 {
        parts.push((digest::of_text(&hashes), part));
    }
    parts
}

fn inline<'a>(pieces: impl Iterator<Item = &'a Weighed>, parts: Vec<String>, hash: &str) -> NetworkConfigRevisionSpec {
    let mut own = NetworkConfigRevisionPartSpec::default();
    for one in pieces {
        one.piece.put_into(&mut own);
    }
    let NetworkConfigRevisionPartSpec { node_policies, vlan_configs, host_network_configs, attachments } = own;
    NetworkConfigRevisionSpec {
        layer2: Vec::new(),
        vrf: Vec::new(),
        bgp: Vec::new(),
        mirror_targets: Vec::new(),
        mirror_selectors: Vec::new(),
        node_policies,
        vlan_configs,
        host_network_configs,
        attachments,
        parts,
        revision: hash.to_owned(),
    }
}

/// The hash of everything that is frozen, however it is laid out.
pub(crate) fn content_hash(pieces: &[Weighed]) -> String {
    if pieces.iter().map(|one| one.size).sum::<usize>() <= MOST {
        // What fits into one object is named after that object, but for the name itself.
        let mut content = json!(inline(pieces.iter(), Vec::new(), ""));
        if let Some(fields) = content.as_object_mut() {
            fields.remove("revision");
        }
        return digest::of_text(&content.to_string());
    }
    digest::of_text(&pieces.iter().map(|one| one.hash.as_str()).collect::<String>())
}

/// Parts that no revision of a snapshot names, nor this layout.
pub fn unnamed<'a>(snapshot: &'a Snapshot, layout: Option<&'a Layout>) -> impl Iterator<Item = &'a ObjectKey> {
    let revisions = snapshot.revisions.iter().flat_map(|(_, revision)| &revision.spec.parts);
    let next = layout.into_iter().flat_map(|layout| layout.spec.parts.iter());
    let named: BTreeSet<&str> = revisions.chain(next).map(String::as_str).collect();
    snapshot.parts.iter().map(|(key, _)| key).filter(move |key| !named.contains(key.name.as_str()))
}
