//! `IPBlock`: the addresses of one network that one node gives to its pods.
//!
//! The node says in `spec` how many it wants and which it returns, the controller says in `status` which it has. An
//! address is another node's only after this one returned it and the controller took it out.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube_derive::CustomResource;
use netloom_types::Family;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    definition::{Declared, NodeField, Owner},
    effects::{Effect, FieldEffect, field},
    podnet::NetworkRef,
};

/// What a node wants of a network.
#[derive(CustomResource, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "netloom.dev",
    version = "v1alpha1",
    kind = "IPBlock",
    plural = "ipblocks",
    shortname = "ipb",
    category = "netloom",
    doc = "The addresses of a pod network that a node may give to its pods. The agent of the node asks in spec, the controller gives in status; nobody else writes it.",
    status = "IPBlockStatus",
    selectable = ".spec.node",
    printcolumn(name = "Node", type_ = "string", json_path = ".spec.node"),
    printcolumn(name = "Kind", type_ = "string", json_path = ".spec.network.kind"),
    printcolumn(name = "Namespace", type_ = "string", json_path = ".spec.network.namespace"),
    printcolumn(name = "Network", type_ = "string", json_path = ".spec.network.name"),
    printcolumn(name = "IPv4", type_ = "string", json_path = ".status.ranges.ipv4"),
    printcolumn(name = "IPv6", type_ = "string", json_path = ".status.ranges.ipv6", priority = 1),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    crates(kube_core = "::kube_core")
)]
#[serde(rename_all = "camelCase")]
pub struct IPBlockSpec {
    /// The node.
    #[schemars(length(min = 1, max = 253))]
    pub node: String,
    /// The network.
    pub network: NetworkOfBlock,
    /// How many addresses the node cannot do without: those in use, and one for each pod that waits.
    #[serde(default)]
    pub needed: Counts,
    /// How many addresses the node wants to have altogether, with some ahead of the pods that come.
    #[serde(default)]
    pub wanted: Counts,
    /// Addresses that its pods ask for by name and do not have yet.
    #[serde(default, skip_serializing_if = "Ranges::is_empty")]
    pub asked: Ranges,
    /// What it returns of its ranges: it gives these addresses to no pod any more.
    #[serde(default, skip_serializing_if = "Ranges::is_empty")]
    pub returned: Ranges,
}

/// A network; one of the same name that was made later is another one.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NetworkOfBlock {
    /// `DanmNet`, `TenantNetwork` or `ClusterNetwork`.
    #[schemars(length(min = 1, max = 63))]
    pub kind: String,
    /// Its namespace, where it has one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 63))]
    pub namespace: String,
    /// Its name.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// Its UID.
    #[schemars(length(min = 1, max = 128))]
    pub uid: String,
}

/// Numbers of addresses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Counts {
    /// Of IPv4.
    #[serde(skip_serializing_if = "is_zero")]
    pub ipv4: u32,
    /// Of IPv6.
    #[serde(skip_serializing_if = "is_zero")]
    pub ipv6: u32,
}

/// Ranges of addresses: single ones, and pairs such as `192.0.2.8-192.0.2.15`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Ranges {
    /// Of IPv4.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 4096), inner(length(max = 31)), extend("x-kubernetes-list-type" = "atomic"))]
    pub ipv4: Vec<String>,
    /// Of IPv6.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 4096), inner(length(max = 79)), extend("x-kubernetes-list-type" = "atomic"))]
    pub ipv6: Vec<String>,
}

/// What a node has of a network.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IPBlockStatus {
    /// The addresses that it may give to its pods.
    #[serde(default, skip_serializing_if = "Ranges::is_empty")]
    pub ranges: Ranges,
    /// Present while other nodes wait for addresses: so many free ones may stay, the rest is to be returned.
    #[serde(default, skip_serializing_if = "Spare::is_empty")]
    pub spare: Spare,
    /// Addresses that pods of other nodes ask for by name: those of them that no pod has are to be returned.
    #[serde(default, skip_serializing_if = "Ranges::is_empty")]
    pub back: Ranges,
    /// What the node asks for by name and pods of other nodes have.
    #[serde(default, skip_serializing_if = "Ranges::is_empty")]
    pub refused: Ranges,
    /// The generation whose numbers this answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub observed_generation: Option<i64>,
}

/// How many free addresses may stay; absent: all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Spare {
    /// Of IPv4.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ipv4: Option<u32>,
    /// Of IPv6.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ipv6: Option<u32>,
}

impl IPBlock {
    /// What the block of a node of a network is called. It cannot be guessed back: the spec says what it is for.
    pub fn name_for(network: &NetworkRef, uid: &str, node: &str) -> String {
        let text = format!("{network}\n{uid}\n{node}");
        // Two sums of 64 bits of the text, forwards and backwards; an object of the same name says if it is another's.
        let sum = |bytes: &mut dyn Iterator<Item = u8>| {
            bytes.fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
        };
        format!("b-{:016x}{:016x}", sum(&mut text.bytes()), sum(&mut text.bytes().rev()))
    }

    /// The annotation that names the process of the node that wrote the block last.
    pub const SESSION: &str = "netloom.dev/session";

    /// The process of the node that wrote it last.
    pub fn session(&self) -> Option<&String> {
        self.metadata.annotations.as_ref()?.get(Self::SESSION)
    }

    /// A new block without ranges.
    pub fn asking(
        network: &NetworkRef,
        uid: &str,
        node: &str,
        (needed, wanted): (Counts, Counts),
        asked: Ranges,
        session: &str,
    ) -> Self {
        let spec = IPBlockSpec {
            node: node.to_owned(),
            network: NetworkOfBlock {
                kind: network.kind.name().to_owned(),
                namespace: network.namespace.clone(),
                name: network.name.clone(),
                uid: uid.to_owned(),
            },
            needed,
            wanted,
            asked,
            returned: Ranges::default(),
        };
        let annotations = BTreeMap::from([(Self::SESSION.to_owned(), session.to_owned())]);
        let metadata = ObjectMeta {
            name: Some(Self::name_for(network, uid, node)),
            annotations: Some(annotations),
            ..ObjectMeta::default()
        };
        Self { metadata, spec, status: None }
    }
}

impl NetworkOfBlock {
    /// The network by kind and name; none for a kind that there is not.
    pub fn reference(&self) -> Option<NetworkRef> {
        NetworkRef::new(&self.kind, &self.namespace, &self.name)
    }
}

impl Counts {
    /// The number of a family.
    pub fn of(self, family: Family) -> u32 {
        match family {
            Family::Ipv4 => self.ipv4,
            Family::Ipv6 => self.ipv6,
        }
    }

    /// The number of a family, to change it.
    pub fn of_mut(&mut self, family: Family) -> &mut u32 {
        match family {
            Family::Ipv4 => &mut self.ipv4,
            Family::Ipv6 => &mut self.ipv6,
        }
    }
}

impl Ranges {
    /// Whether there is no address.
    pub fn is_empty(&self) -> bool {
        self.ipv4.is_empty() && self.ipv6.is_empty()
    }

    /// The ranges of a family.
    pub fn of(&self, family: Family) -> &[String] {
        match family {
            Family::Ipv4 => &self.ipv4,
            Family::Ipv6 => &self.ipv6,
        }
    }

    /// The ranges of a family, to change them.
    pub fn of_mut(&mut self, family: Family) -> &mut Vec<String> {
        match family {
            Family::Ipv4 => &mut self.ipv4,
            Family::Ipv6 => &mut self.ipv6,
        }
    }
}

impl Spare {
    /// Whether no number is there.
    pub fn is_empty(&self) -> bool {
        self.ipv4.is_none() && self.ipv6.is_none()
    }

    /// The number of a family.
    pub fn of(self, family: Family) -> Option<u32> {
        match family {
            Family::Ipv4 => self.ipv4,
            Family::Ipv6 => self.ipv6,
        }
    }

    /// The number of a family, to change it.
    pub fn of_mut(&mut self, family: Family) -> &mut Option<u32> {
        match family {
            Family::Ipv4 => &mut self.ipv4,
            Family::Ipv6 => &mut self.ipv6,
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl Declared for IPBlock {
    const OWNER: Owner = Owner::Node(NodeField { path: "spec.node", named: false });
    // A node gives itself no addresses.
    const STATUS_BY_OWNER: bool = false;
    const EFFECTS: &'static [FieldEffect] = EFFECTS;
}

const FIXED: &[Effect] = &[
    Effect::Admission("does not change; the agent of this node alone may write the object"),
    Effect::Planned("pod networks: whose pods get the addresses"),
];
const ASKED: &[Effect] = &[
    Effect::Admission("must be addresses"),
    Effect::Planned("pod networks: the controller gives and takes addresses"),
];
const GIVEN: &[Effect] = &[Effect::Status("controller: the addresses that the node has")];

const EFFECTS: &[FieldEffect] = &[
    field("spec", ASKED),
    field("spec.node", FIXED),
    field("spec.network", FIXED),
    field("spec.network.**", FIXED),
    field("spec.needed", ASKED),
    field("spec.needed.**", ASKED),
    field("spec.wanted", ASKED),
    field("spec.wanted.**", ASKED),
    field("spec.asked", ASKED),
    field("spec.asked.**", ASKED),
    field("spec.returned", ASKED),
    field("spec.returned.**", ASKED),
    field("status", GIVEN),
    field("status.**", GIVEN),
];
