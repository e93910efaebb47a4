//! The table of kinds: which are followed, what of their objects is kept, and where their status is written.
//!
//! The control loop has its rows here, and every front end adds its own. A kind may stand in several rows; what each of
//! them wants of it adds up.

use std::sync::LazyLock;

use netloom_api::{GroupKind, fabric, foreign, rollout::RolloutPolicyStatus};
use netloom_object::ObjectRef;
use serde_json::Value;

use crate::{
    front_end::FrontEnds,
    kept::{Kept, Reader},
};

pub(crate) const NODE: GroupKind<'static> = foreign::NODE;
pub(crate) const CONFIG: GroupKind<'static> = GroupKind::new(fabric::GROUP, "NodeNetworkConfig");
pub(crate) const REVISION: GroupKind<'static> = GroupKind::new(fabric::GROUP, "NetworkConfigRevision");
pub(crate) const PART: GroupKind<'static> = GroupKind::new(fabric::GROUP, "NetworkConfigRevisionPart");
pub(crate) const STATUS: GroupKind<'static> = GroupKind::new(fabric::GROUP, "NodeNetworkStatus");
pub(crate) const ROLLOUT: GroupKind<'static> = GroupKind::new("netloom.dev", "RolloutPolicy");
pub(crate) const LEASE: GroupKind<'static> = foreign::LEASE;

/// The rows of the control loop itself.
const CORE: &[Row] = &[
    Row { conditions: true, ..Row::followed(NODE, "v1") },
    Row::followed(CONFIG, "v1alpha1"),
    Row { reported: Some(StatusPath::Subresource), ..Row::followed(REVISION, "v1alpha1") },
    Row::followed(PART, "v1alpha1"),
    Row::followed(STATUS, "v1alpha1"),
    Row {
        reported: Some(StatusPath::Subresource),
        status: Some(Kept::read::<RolloutPolicyStatus>),
        spec: true,
        ..Row::followed(ROLLOUT, "v1alpha1")
    },
    Row::followed(LEASE, "v1"),
];

/// Where the status of a kind is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StatusPath {
    /// Through a subresource of its own.
    Subresource,
    /// With the object: the kind has no such subresource.
    Object,
}

/// What is wanted of one kind.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "each is an independent choice")]
pub(crate) struct Row {
    pub(crate) kind: GroupKind<'static>,
    /// The version that objects are written in.
    pub(crate) version: &'static str,
    /// Whether a cluster may do without it: where it is not served there is no object of it.
    pub(crate) optional: bool,
    /// Where its status is written.
    pub(crate) reported: Option<StatusPath>,
    /// How its status is kept, to be compared with what is to be reported: it is not where the snapshot reads it.
    pub(crate) status: Option<Reader>,
    /// Whether revisions hold what its objects want.
    pub(crate) frozen: bool,
    /// Whether its front end generates objects of it.
    pub(crate) generated: bool,
    /// Annotations that are kept, to be compared with what is to be reported.
    pub(crate) notes: &'static [&'static str],
    /// Whether it is kept what holds an object that is deleted.
    pub(crate) held: bool,
    /// Whether it is kept which conditions are true.
    pub(crate) conditions: bool,
    /// Whether the specification is kept as it was written.
    pub(crate) spec: bool,
    /// Whether its objects are kept as they are.
    pub(crate) whole: bool,
}

impl Row {
    /// A kind of which only the objects themselves matter.
    pub(crate) const fn followed(kind: GroupKind<'static>, version: &'static str) -> Self {
        Self {
            kind,
            version,
            optional: false,
            reported: None,
            status: None,
            frozen: false,
            generated: false,
            notes: &[],
            held: false,
            conditions: false,
            spec: false,
            whole: false,
        }
    }

    /// `group/version`, as objects have it.
    pub(crate) fn api_version(&self) -> String {
        match self.kind.group {
            "" => self.version.to_owned(),
            group => format!("{group}/{}", self.version),
        }
    }
}

/// The kinds that are followed.
#[derive(Debug, Clone)]
pub struct Kinds {
    rows: Vec<Row>,
    all: Vec<GroupKind<'static>>,
}

impl Kinds {
    /// Those of the control loop and of all front ends that there are.
    pub fn built_in() -> &'static Self {
        static BUILT_IN: LazyLock<Kinds> = LazyLock::new(|| Kinds::of(&FrontEnds::default()));
        &BUILT_IN
    }

    pub(crate) fn of(front_ends: &FrontEnds) -> Self {
        let rows: Vec<Row> =
            CORE.iter().copied().chain(front_ends.iter().flat_map(super::front_end::FrontEndStatus::kinds)).collect();
        let mut all = Vec::new();
        for row in &rows {
            if !all.contains(&row.kind) {
                all.push(row.kind);
            }
        }
        Self { rows, all }
    }

    /// Every kind that must be followed.
    pub fn all(&self) -> &[GroupKind<'static>] {
        &self.all
    }

    /// Whether a kind is followed.
    pub fn has(&self, kind: GroupKind<'_>) -> bool {
        self.all.contains(&kind)
    }

    /// Whether a cluster may do without a kind: where it is not served there is no object of it.
    pub fn is_optional(&self, kind: GroupKind<'_>) -> bool {
        self.has(kind) && self.rows(kind).all(|row| row.optional)
    }

    /// The object that a document is, where its kind is followed and it has a name.
    pub fn reference(&self, object: &Value) -> Option<ObjectRef> {
        ObjectRef::among(self.all.iter().copied(), object)
    }

    /// What is wanted of a kind.
    pub(crate) fn rows<'a>(&'a self, kind: GroupKind<'a>) -> impl Iterator<Item = &'a Row> {
        self.rows.iter().filter(move |row| row.kind == kind)
    }
}

#[cfg(test)]
mod tests {
    use netloom_compile::{Snapshot, compile};
    use serde_json::json;

    use super::*;
    use crate::policies::{POLICY, STATE};

    #[test]
    fn a_kind_is_optional_only_where_nobody_needs_it() {
        let kinds = Kinds::built_in();
        assert_eq!(kinds.all().iter().filter(|kind| **kind == NODE).count(), 1, "of several rows one kind");
        for kind in [NODE, CONFIG, REVISION, PART, STATUS, ROLLOUT, LEASE, POLICY, STATE] {
            assert!(kinds.has(kind) && !kinds.is_optional(kind), "{kind:?}");
        }
        assert!(kinds.all().iter().any(|kind| kinds.is_optional(*kind)));
        assert!(!kinds.is_optional(GroupKind::new("g.io", "Thing")), "what is not followed");
    }

    /// One object after the other: the revision is another one exactly after those that the table says it holds.
    #[test]
    fn revisions_hold_objects_of_the_kinds_that_the_table_says() {
        let network = |kind: &str, spec: Value| {
            let metadata = json!({"name": "cn1", "creationTimestamp": "2026-01-01T00:00:00Z"});
            json!({"apiVersion": "network.harvesterhci.io/v1beta1", "kind": kind, "metadata": metadata, "spec": spec})
        };
        let wanted = json!({"interfaces": [{"name": "eth1", "type": "ethernet", "state": "up", "mtu": 1400}]});
        let plugin = json!({"type": "bridge", "bridge": "cn1-br", "vlan": 30}).to_string();
        let namespaced = json!({"namespace": "default", "name": "a"});
        let objects = [
            json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1", "uid": "u"}}),
            network("ClusterNetwork", json!({})),
            network("LinkMonitor", json!({"targetLinkRule": {"nameRule": "eth"}})),
            network("VlanConfig", json!({"clusterNetwork": "cn1", "uplink": {"nics": ["eth1"]}})),
            network("HostNetworkConfig", json!({"clusterNetwork": "cn1", "vlanID": 20, "mode": "dhcp"})),
            json!({
                "apiVersion": "nmstate.io/v1", "kind": "NodeNetConfPolicy", "metadata": namespaced,
                "spec": {"matchRules": [{"name": "eth1"}], "desiredState": wanted},
            }),
            json!({
                "apiVersion": "k8s.cni.cncf.io/v1", "kind": "NetworkAttachmentDefinition", "metadata": namespaced,
                "spec": {"config": plugin},
            }),
        ];
        let (kinds, mut snapshot) = (Kinds::built_in(), Snapshot::default());
        let mut before = compile(&snapshot).revision.name.clone();
        for object in objects {
            snapshot.put(&object);
            let after = compile(&snapshot).revision.name.clone();
            let kind = kinds.reference(&object).expect("it is followed").kind;
            assert_eq!(before != after, kinds.rows(kind).any(|row| row.frozen), "{}", kind.kind);
            before = after;
        }
    }
}
