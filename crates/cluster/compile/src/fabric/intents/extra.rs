//! What an attachment wants and low-level objects cannot say: it stands in the revision under the attachment itself.

use std::collections::BTreeMap;

use netloom_api::fabric::{
    layer2_attachment::Layer2AttachmentSpec,
    selector::LabelSelector,
    text::{Cidr, Interface, InterfaceAddress, Ip},
};
use serde::{Deserialize, Serialize};

use super::super::objects::Spec;

/// What an attachment wants beside its low-level objects.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Extra {
    /// The VLAN of the segment.
    pub(crate) vlan: u16,
    /// The nodes that it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) node_selector: Option<LabelSelector>,
    /// A VLAN on a link that nodes have already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) existing: Option<Existing>,
    /// Sources whose packets find their way in several VRFs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) combined: Option<Combined>,
    /// Addresses of nodes, by node.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) addresses: BTreeMap<String, Vec<InterfaceAddress>>,
    /// Whether every node gets an address, also one for which there is none left.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) gives_addresses: bool,
    /// How many addresses that should be.
    #[serde(default, skip_serializing_if = "is_none_at_all")]
    pub(crate) networks: usize,
    /// Networks that nodes reach through the segment.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) routes: Vec<Way>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields so")]
fn is_none_at_all(number: &usize) -> bool {
    *number == 0
}

/// A VLAN on a link that nodes have already.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Existing {
    /// That link.
    pub(crate) base: Interface,
    /// What the VLAN is called.
    pub(crate) name: Interface,
    /// How large its packets are.
    pub(crate) mtu: u16,
}

/// A network, and the gateway to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Way {
    pub(crate) destination: Cidr,
    pub(crate) gateway: Ip,
}

/// Sources of a segment that is reached by several VRFs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Combined {
    /// The VRF of the node that knows which network is in which VRF.
    pub(crate) name: String,
    /// The networks of the segment.
    pub(crate) sources: Vec<Cidr>,
    /// The VRF of each network that is reached.
    pub(crate) ways: Vec<(Cidr, String)>,
}

impl Extra {
    /// Whether there is anything in it.
    pub(crate) fn is_empty(&self) -> bool {
        self.existing.is_none() && self.combined.is_none() && !self.gives_addresses
    }
}

impl Spec for Extra {
    const KIND: &'static str = <Layer2AttachmentSpec as Spec>::KIND;

    fn nodes(&self) -> Option<&LabelSelector> {
        self.node_selector.as_ref()
    }
}
