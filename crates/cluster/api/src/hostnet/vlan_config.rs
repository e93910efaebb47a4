//! `VlanConfig`: the uplink of some nodes into a cluster network.

use std::collections::BTreeMap;

use kube_derive::CustomResource;
use netloom_types::MacAddr;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    definition::Declared,
    effects::{Effect, FieldEffect, field},
};

/// Which interfaces of which nodes lead into which cluster network.
#[derive(CustomResource, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "network.harvesterhci.io",
    version = "v1beta1",
    kind = "VlanConfig",
    plural = "vlanconfigs",
    shortname = "vc",
    shortname = "vcs",
    category = "netloom",
    doc = "Connects nodes to a cluster network: bonds interfaces of each node and puts the bond into the bridge of the cluster network.",
    printcolumn(name = "ClusterNetwork", type_ = "string", json_path = ".spec.clusterNetwork"),
    printcolumn(name = "Description", type_ = "string", json_path = ".spec.description"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    crates(kube_core = "::kube_core")
)]
#[serde(rename_all = "camelCase")]
pub struct VlanConfigSpec {
    /// Free-form description.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 1024))]
    pub description: String,
    /// The cluster network. That of the installer, `mgmt`, has its uplink already.
    #[schemars(length(min = 1, max = 12))]
    pub cluster_network: String,
    /// Labels that a node must have; none: every node. Nodes that only witness are always left out.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 64))]
    pub node_selector: BTreeMap<String, String>,
    /// The bond.
    #[serde(default)]
    pub uplink: Uplink,
}

/// How large packets are where nobody says it: what the kernel makes of a new bond.
pub const DEFAULT_MTU: u16 = 1500;

/// A bond of interfaces.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Uplink {
    /// The interfaces of each node that go into the bond.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(min = 1, max = 15)), extend("x-kubernetes-list-type" = "set"))]
    pub nics: Vec<String>,
    /// Properties of the bond as a link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link_attributes: Option<LinkAttributes>,
    /// Properties of the bond as a bond.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bond_options: Option<BondOptions>,
}

impl Uplink {
    /// How large packets are, if the object says it.
    pub fn given_mtu(&self) -> Option<u32> {
        let given = self.link_attributes.as_ref()?.mtu?;
        u32::try_from(given).ok().filter(|mtu| *mtu > 0)
    }

    /// How large packets are.
    pub fn mtu(&self) -> u32 {
        self.given_mtu().unwrap_or(DEFAULT_MTU.into())
    }
}

/// Properties of a link.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LinkAttributes {
    /// The largest packet in bytes, 576 to 9000. Absent or 0: the kernel's default, 1500. All objects
    /// of one cluster network have the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 9000))]
    pub mtu: Option<i32>,
    /// How many packets may wait to be sent; -1 leaves it alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = -1), extend("default" = -1))]
    pub tx_q_len: Option<i32>,
    /// The hardware address, as `02:00:5e:00:00:01` or its six bytes in Base64. Absent: that of the
    /// first interface.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32))]
    pub hardware_addr: Option<String>,
}

impl LinkAttributes {
    /// The hardware address, however it is written; none when nothing or nonsense is.
    pub fn hardware_address(&self) -> Option<MacAddr> {
        let text = self.hardware_addr.as_deref()?;
        text.parse().ok().or_else(|| six_bytes(text).map(MacAddr::new))
    }
}

/// Six bytes in Base64 are eight letters without padding.
fn six_bytes(text: &str) -> Option<[u8; 6]> {
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    if text.len() != 8 {
        return None;
    }
    let number = text.bytes().try_fold(0_u64, |number, byte| Some(number << 6 | u64::from(digit(byte)?)))?;
    let [_, _, bytes @ ..] = number.to_be_bytes();
    Some(bytes)
}

/// Properties of a bond.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BondOptions {
    /// How the bond spreads packets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "active-backup"))]
    pub mode: Option<BondMode>,
    /// How often the interfaces are looked at, in milliseconds; -1 means 100, 0 never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = -1), extend("default" = -1))]
    pub miimon: Option<i32>,
}

/// How a bond spreads packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum BondMode {
    /// One after the other.
    #[serde(rename = "balance-rr")]
    BalanceRr,
    /// One interface carries everything until it fails.
    #[serde(rename = "active-backup")]
    ActiveBackup,
    /// By a hash of the addresses.
    #[serde(rename = "balance-xor")]
    BalanceXor,
    /// Everything on all of them.
    #[serde(rename = "broadcast")]
    Broadcast,
    /// As agreed with the switch by LACP.
    #[serde(rename = "802.3ad")]
    Lacp,
    /// By load, when sending.
    #[serde(rename = "balance-tlb")]
    BalanceTlb,
    /// By load, in both directions.
    #[serde(rename = "balance-alb")]
    BalanceAlb,
}

impl Declared for VlanConfig {
    const EFFECTS: &'static [FieldEffect] = EFFECTS;
}

const EFFECTS: &[FieldEffect] = &[
    field("spec", &[Effect::FrontEnd("host networks: the uplink of nodes")]),
    field("spec.description", &[Effect::Description]),
    field(
        "spec.clusterNetwork",
        &[
            Effect::Admission(
                "at most 12 bytes; must exist; not mgmt; not changed while machines or the platform use it",
            ),
            Effect::FrontEnd("host networks: the bridge that the bond goes into"),
        ],
    ),
    field(
        "spec.nodeSelector",
        &[
            Effect::Admission(
                "keys and values must be those of labels; no node that another object of the cluster network has; no node taken away that machines use",
            ),
            Effect::FrontEnd("host networks: selects nodes"),
        ],
    ),
    field(
        "spec.uplink",
        &[
            Effect::Admission("not changed while machines or the platform use it"),
            Effect::FrontEnd("host networks: the bond"),
        ],
    ),
    field(
        "spec.uplink.nics",
        &[
            Effect::Admission("names of links; none that another object bonds on a common node"),
            Effect::FrontEnd("host networks: the ports of the bond"),
        ],
    ),
    field("spec.uplink.linkAttributes", &[Effect::FrontEnd("host networks: the bond as a link")]),
    field(
        "spec.uplink.linkAttributes.mtu",
        &[
            Effect::Admission("0 or 576 to 9000; the same in all objects of the cluster network"),
            Effect::FrontEnd("host networks: MTU of bond and bridge"),
        ],
    ),
    field(
        "spec.uplink.linkAttributes.txQLen",
        &[
            Effect::Admission("-1, which leaves it alone, or more"),
            Effect::FrontEnd("host networks: how many packets may wait at the bond"),
        ],
    ),
    field(
        "spec.uplink.linkAttributes.hardwareAddr",
        &[
            Effect::Admission("a hardware address of one station, as text or Base64"),
            Effect::FrontEnd("host networks: address of the bond"),
        ],
    ),
    field("spec.uplink.bondOptions", &[Effect::FrontEnd("host networks: the bond")]),
    field("spec.uplink.bondOptions.mode", &[Effect::FrontEnd("host networks: mode of the bond")]),
    field("spec.uplink.bondOptions.miimon", &[Effect::FrontEnd("host networks: monitoring of the bond's ports")]),
];
