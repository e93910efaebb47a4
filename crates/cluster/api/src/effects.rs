//! Where each field of each kind takes effect.
//!
//! A field that nothing reads is a promise that nobody keeps. Every kind therefore says of every
//! field of its schema what comes of it, and a test compares both lists in both directions. An
//! entry whose path ends in `.**` speaks for everything below that path; it is meant for types that
//! others define, such as a node affinity.

use crate::{definition::Kind, fields};

/// One place where a field takes effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Admission refuses, warns or fills in; the text is the rule in short.
    Admission(&'static str),
    /// A front end acts on it; the text says which and what it does.
    FrontEnd(&'static str),
    /// A front end will act on it and is not built yet; the text says which and what it will do.
    Planned(&'static str),
    /// Somebody reports it; the text says who.
    Status(&'static str),
    /// It is kept and nothing acts on it; the text says why it is there.
    Reserved(&'static str),
    /// People read it, nothing else does.
    Description,
}

/// What comes of one field, or with `.**` of all fields below one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FieldEffect {
    /// The path as in [`fields`].
    pub path: &'static str,
    /// Everything that comes of it.
    pub effects: &'static [Effect],
}

/// The entry for one path.
pub const fn field(path: &'static str, effects: &'static [Effect]) -> FieldEffect {
    FieldEffect { path, effects }
}

/// A difference between a schema and its table.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Gap {
    /// A field without an entry.
    Missing(String),
    /// An entry without a field.
    Stale(String),
    /// Two entries for one path.
    Twice(String),
    /// An entry that says nothing.
    Empty(String),
}

/// The entry that speaks for `path`: its own, else the nearest `.**` above it.
pub fn entry<'a>(table: &'a [FieldEffect], path: &str) -> Option<&'a FieldEffect> {
    table.iter().find(|entry| entry.path == path).or_else(|| {
        table
            .iter()
            .filter(|entry| subtree(entry.path).is_some_and(|root| is_below(path, root)))
            .max_by_key(|entry| entry.path.len())
    })
}

/// Everything that is wrong with the table of a kind.
pub fn gaps(kind: &Kind) -> Vec<Gap> {
    let paths: Vec<String> = fields::of(&kind.schema()).into_iter().map(|field| field.path).collect();
    gaps_between(kind.effects, &paths)
}

/// Whether objects of a kind change nothing yet, because the front end that they are for is not built.
pub fn is_planned(table: &[FieldEffect]) -> bool {
    let mut effects = table.iter().flat_map(|entry| entry.effects);
    let planned = table.iter().flat_map(|entry| entry.effects).any(|effect| matches!(effect, Effect::Planned(_)));
    planned && !effects.any(|effect| matches!(effect, Effect::FrontEnd(_)))
}

fn gaps_between(table: &[FieldEffect], paths: &[String]) -> Vec<Gap> {
    let missing = paths.iter().filter(|path| entry(table, path).is_none()).cloned().map(Gap::Missing);
    let stale = table.iter().filter(|entry| !has_field(entry.path, paths)).map(|e| Gap::Stale(e.path.to_owned()));
    let twice = table
        .iter()
        .enumerate()
        .filter(|(i, entry)| table[..*i].iter().any(|other| other.path == entry.path))
        .map(|(_, entry)| Gap::Twice(entry.path.to_owned()));
    let empty = table.iter().filter(|entry| entry.effects.is_empty()).map(|e| Gap::Empty(e.path.to_owned()));
    missing.chain(stale).chain(twice).chain(empty).collect()
}

fn has_field(entry: &str, paths: &[String]) -> bool {
    match subtree(entry) {
        Some(root) => paths.iter().any(|path| is_below(path, root)),
        None => paths.iter().any(|path| path == entry),
    }
}

fn subtree(path: &str) -> Option<&str> {
    path.strip_suffix(".**")
}

fn is_below(path: &str, root: &str) -> bool {
    path.strip_prefix(root).is_some_and(|rest| rest.starts_with(['.', '[', '{']))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::kinds;

    #[test]
    fn every_field_of_every_kind_has_its_entry_and_no_entry_is_left_over() {
        let gaps: Vec<_> = kinds().iter().flat_map(|kind| gaps(kind).into_iter().map(|gap| (kind.kind, gap))).collect();
        assert!(gaps.is_empty(), "{gaps:#?}");
    }

    /// What belongs to front ends that are built: nothing of it may wait for one.
    const BUILT: &[(&str, &str)] = &[
        ("NodeNetworkState", ""),
        ("NodeNetConfPolicy", ""),
        ("RolloutPolicy", ""),
        ("NetworkConfigRevision", "spec.objects"),
        ("NetworkConfigRevision", "spec.parts"),
        ("NetworkConfigRevision", "spec.revision"),
        ("NetworkConfigRevisionPart", ""),
        ("NetworkConfigRevision", "status"),
        ("ClusterNetwork", ""),
        ("VlanConfig", ""),
        ("VlanStatus", ""),
        ("HostNetworkConfig", ""),
        ("LinkMonitor", ""),
        ("NodeNetworkConfig", ""),
        ("NodeNetworkStatus", ""),
        ("VRF", ""),
        ("Network", ""),
        ("Destination", ""),
        ("Layer2Attachment", ""),
        ("Layer2NetworkConfiguration", ""),
        ("VRFRouteConfiguration", ""),
        ("BGPPeering", ""),
    ];
    /// Fields of the fabric's kinds that belong to a part of it that is not built: mirrors, loopbacks, SR-IOV.
    const LATER: &[&str] = &["mirrorAcls", "gres", "loopbacks", "loopbackPeer", "sriov", "sriovVlanID"];

    #[test]
    fn no_field_of_a_front_end_that_is_built_waits_for_its_effect() {
        let is_in = |parts: &[(&str, &str)], kind: &str, path: &str| {
            let holds = |root: &str| root.is_empty() || path == root || is_below(path, root);
            parts.iter().any(|(of, root)| *of == kind && holds(root))
        };
        let mut looked_at = 0;
        // A kind of DANM has the name of one of host networks, and its front end is not all built.
        for kind in kinds().iter().filter(|kind| kind.group != crate::podnet::GROUP) {
            for FieldEffect { path, effects } in kind.effects {
                let name = |step: &str| LATER.contains(&step.trim_end_matches(['[', ']', '{', '}']));
                if !is_in(BUILT, kind.kind, path) || path.split('.').any(name) {
                    continue;
                }
                looked_at += 1;
                let waits = effects.iter().any(|effect| matches!(effect, Effect::Planned(_)));
                assert!(!waits, "{} {path}: {effects:?}", kind.kind);
            }
        }
        assert!(looked_at > 100, "{looked_at}");
    }

    #[test]
    fn a_difference_in_either_direction_is_found() {
        const DESCRIPTION: &[Effect] = &[Effect::Description];
        let table = [
            field("spec.a", DESCRIPTION),
            field("spec.gone", DESCRIPTION),
            field("spec.b.**", DESCRIPTION),
            field("spec.c", &[]),
            field("spec.a", DESCRIPTION),
        ];
        let paths = ["spec.a", "spec.b[].x", "spec.bx", "spec.c"].map(str::to_owned);
        let wanted = [
            Gap::Missing("spec.bx".to_owned()),
            Gap::Stale("spec.gone".to_owned()),
            Gap::Twice("spec.a".to_owned()),
            Gap::Empty("spec.c".to_owned()),
        ];
        assert_eq!(gaps_between(&table, &paths), wanted);
    }
}
