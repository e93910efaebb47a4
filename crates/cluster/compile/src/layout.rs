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

use netloom_api::{
    fabric::text::ObjectName,
    pipeline::{
        network_config_revision::{FrozenObject, FrozenSpec, NetworkConfigRevisionSpec},
        network_config_revision_part::NetworkConfigRevisionPartSpec,
    },
};
use serde::Serialize;
use serde_json::{Value, json};

use crate::{
    digest,
    key::{Meta, ObjectKey},
    revision::newest,
    snapshot::{Readable, Snapshot},
};

/// The most bytes of frozen objects that a revision or a part has. A server stores objects of up to 1.5 MiB; this leaves
/// room for names, metadata and status, and keeps every object below 1 MiB.
pub const MOST: usize = 900 << 10;

/// Group, kind, namespace and name of a frozen object.
type Key<'a> = [&'a str; 4];

/// A frozen object with what is to be known of it without reading it again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Weighed {
    pub(crate) object: Arc<FrozenObject>,
    /// How many bytes it takes.
    size: usize,
    /// The SHA-256 of its content.
    hash: String,
}

impl Weighed {
    /// Weighs an object.
    pub fn of(object: FrozenObject) -> Self {
        // What came as a value is one again.
        let text = serde_json::to_string(&object).unwrap_or_default();
        Self { size: text.len() + 1, hash: digest::of_text(&text), object: Arc::new(object) }
    }

    /// Equal for equal objects.
    pub fn id(&self) -> u64 {
        digest::number_of(&self.hash)
    }
}

/// An object as revisions hold it.
pub fn frozen<T: Readable>(meta: &Meta, given: BTreeMap<String, String>, spec: Value) -> Weighed {
    Weighed::of(FrozenObject {
        group: T::KIND.group.to_owned(),
        kind: T::KIND.kind.to_owned(),
        namespace: meta.key.namespace.clone(),
        name: ObjectName(meta.key.name.clone()),
        created: meta.created.clone(),
        given,
        spec: FrozenSpec(spec),
    })
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

/// In the order in which parts are filled.
pub(crate) fn sort(pieces: &mut [Weighed]) {
    pieces.sort_by(|a, b| a.object.key().cmp(&b.object.key()));
}

/// Lays out sorted pieces. What the parts of the newest revision have already is not written again.
pub(crate) fn lay_out(pieces: &[Weighed], hash: &str, snapshot: &Snapshot) -> Layout {
    let total: usize = pieces.iter().map(|one| one.size).sum();
    if total <= MOST {
        return Layout { parts: BTreeMap::new(), spec: inline(pieces.iter(), Vec::new(), hash) };
    }
    let kept = still_good(pieces, snapshot);
    // A later part goes before an earlier one.
    let mut holder: BTreeMap<Key<'_>, &FrozenObject> = BTreeMap::new();
    for (_, part) in &kept {
        holder.extend(part.objects.iter().map(|object| (object.key(), object)));
    }
    let is_kept = |one: &Weighed| holder.get(&one.object.key()).is_some_and(|held| **held == *one.object);
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
    let wanted: BTreeMap<Key<'_>, &Weighed> = pieces.iter().map(|one| (one.object.key(), one)).collect();
    let named = newest(snapshot).into_iter().flat_map(|revision| &revision.spec.parts);
    let there = named.filter_map(|name| Some((name.as_str(), snapshot.part(name)?)));
    there
        .filter(|(_, part)| {
            let (mut all, mut good) = (0, 0);
            for object in &part.objects {
                let Some(one) = wanted.get(&object.key()) else { return false };
                all += 1;
                good += usize::from(*one.object == *object);
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
        part.objects.push((*one.object).clone());
        hashes.push_str(&one.hash);
        size += one.size;
    }
    if size > 0 {
        parts.push((digest::of_text(&hashes), part));
    }
    parts
}

fn inline<'a>(pieces: impl Iterator<Item = &'a Weighed>, parts: Vec<String>, hash: &str) -> NetworkConfigRevisionSpec {
    NetworkConfigRevisionSpec {
        layer2: Vec::new(),
        vrf: Vec::new(),
        bgp: Vec::new(),
        mirror_targets: Vec::new(),
        mirror_selectors: Vec::new(),
        objects: pieces.map(|one| (*one.object).clone()).collect(),
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

#[cfg(test)]
mod tests {
    use super::*;

    /// An object of about so many KiB; `mark` tells versions apart.
    fn host(name: &str, kib: usize, mark: u8) -> Weighed {
        Weighed::of(FrozenObject {
            group: "g.io".to_owned(),
            kind: "Thing".to_owned(),
            namespace: String::new(),
            name: ObjectName(name.to_owned()),
            created: None,
            given: BTreeMap::new(),
            spec: FrozenSpec(json!({"mark": mark, "fill": "x".repeat(kib << 10)})),
        })
    }

    fn eight(marks: [u8; 8]) -> Vec<Weighed> {
        let mut all: Vec<Weighed> =
            marks.iter().enumerate().map(|(i, mark)| host(&format!("h{i}"), 250, *mark)).collect();
        sort(&mut all);
        all
    }

    /// Puts a layout into a snapshot, as the newest revision.
    fn write(snapshot: &mut Snapshot, sequence: u8, layout: &Layout) {
        for mut object in layout.objects(&format!("r{sequence}")) {
            object["metadata"]["annotations"] =
                json!({netloom_api::rollout::annotation::SEQUENCE: sequence.to_string()});
            snapshot.put(&object);
        }
    }

    fn laid_out(snapshot: &Snapshot, pieces: &[Weighed]) -> Layout {
        lay_out(pieces, &content_hash(pieces), snapshot)
    }

    /// What the newest revision has, by name.
    fn read(snapshot: &Snapshot) -> Vec<(String, Value)> {
        let frozen = snapshot.frozen(newest(snapshot).unwrap());
        assert!(frozen.is_whole());
        let all = frozen.of_kind(netloom_object::GroupKind::new("g.io", "Thing"));
        all.map(|one| (one.name.0.clone(), one.spec.0["mark"].clone())).collect()
    }

    fn sizes(layout: &Layout) -> impl Iterator<Item = usize> {
        layout.objects("r").into_iter().map(|object| object.to_string().len())
    }

    #[test]
    fn what_fits_stands_in_the_revision() {
        let pieces = [host("a", 400, 1), host("b", 400, 1)];
        let layout = laid_out(&Snapshot::default(), &pieces);
        assert_eq!((layout.parts.len(), layout.spec.objects.len()), (0, 2));
    }

    #[test]
    fn an_edit_stands_in_the_revision_over_the_parts_of_the_one_before() {
        let mut snapshot = Snapshot::default();
        let first = laid_out(&snapshot, &eight([1; 8]));
        assert_eq!((first.parts.len(), first.spec.objects.len()), (3, 0));
        assert!(sizes(&first).all(|size| size < 1 << 20));
        write(&mut snapshot, 1, &first);
        let edited = laid_out(&snapshot, &eight([1, 1, 2, 1, 1, 1, 1, 1]));
        assert_eq!((edited.parts.len(), edited.spec.objects.len()), (0, 1));
        assert_eq!(edited.spec.parts, first.spec.parts);
        write(&mut snapshot, 2, &edited);
        let marks: Vec<Value> = read(&snapshot).into_iter().map(|(_, mark)| mark).collect();
        assert_eq!(json!(marks), json!([1, 1, 2, 1, 1, 1, 1, 1]));
    }

    #[test]
    fn edit_after_edit_is_packed_and_every_revision_reads_as_it_was_written() {
        let (mut snapshot, mut marks) = (Snapshot::default(), [1; 8]);
        let mut made = 0;
        for round in 0..40_u8 {
            marks[usize::from(round * 3 % 8)] = round + 2;
            let layout = laid_out(&snapshot, &eight(marks));
            assert!(sizes(&layout).all(|size| size < 1 << 20));
            made += layout.parts.len();
            write(&mut snapshot, round, &layout);
            let found: Vec<Value> = read(&snapshot).into_iter().map(|(_, mark)| mark).collect();
            assert_eq!(json!(found), json!(marks), "round {round}");
            let named = newest(&snapshot).unwrap().spec.parts.len();
            assert!(named <= 8, "{named} parts in round {round}");
        }
        assert!(made < 40, "{made} parts in 40 rounds");
        assert!(unnamed(&snapshot, None).next().is_none(), "all revisions are there, and so are their parts");
    }

    #[test]
    fn what_is_gone_is_not_in_a_part_that_is_named() {
        let mut snapshot = Snapshot::default();
        let first = laid_out(&snapshot, &eight([1; 8]));
        write(&mut snapshot, 1, &first);
        let mut left = eight([1; 8]);
        left.remove(4);
        let layout = laid_out(&snapshot, &left);
        write(&mut snapshot, 2, &layout);
        let names: Vec<String> = read(&snapshot).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["h0", "h1", "h2", "h3", "h5", "h6", "h7"]);
        assert_eq!(layout.parts.len(), 0, "the rest of the part fits into the revision");
    }

    #[test]
    fn the_name_follows_the_content_and_not_the_parts() {
        let mut snapshot = Snapshot::default();
        let first = laid_out(&snapshot, &eight([1; 8]));
        write(&mut snapshot, 1, &first);
        let edited = eight([1, 2, 1, 1, 1, 1, 1, 1]);
        let (fresh, shared) = (laid_out(&Snapshot::default(), &edited), laid_out(&snapshot, &edited));
        assert_ne!(fresh.spec.parts, shared.spec.parts);
        assert_eq!(fresh.spec.revision, shared.spec.revision);
    }
}
