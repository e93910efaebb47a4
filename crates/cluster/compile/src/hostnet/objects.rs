//! Objects of host networks, as far as decisions read them.

use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use netloom_api::{
    foreign,
    hostnet::{GROUP, HostNetworkConfigSpec, LinkMonitorSpec, VlanConfigSpec, VlanStatusStatus},
};
use netloom_object::GroupKind;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{
    key::Meta,
    snapshot::{Readable, plain},
};

/// A network of layer 2 that nodes share.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClusterNetwork {
    /// What it says of itself.
    pub meta: Meta,
}

/// An object with a desired state; its status is ours to write, so it cannot matter.
#[derive(Debug, Clone, PartialEq)]
pub struct SpecOnly<S> {
    /// What it says of itself.
    pub meta: Meta,
    /// What it wants.
    pub spec: S,
}

/// A `VlanConfig`.
pub type VlanConfig = SpecOnly<VlanConfigSpec>;
/// A `HostNetworkConfig`.
pub type HostNetworkConfig = SpecOnly<HostNetworkConfigSpec>;
/// A `LinkMonitor`.
pub type LinkMonitor = SpecOnly<LinkMonitorSpec>;

/// How one node is connected to one cluster network, as it was ordered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VlanStatus {
    /// What it says of itself.
    pub meta: Meta,
    /// What it tells.
    pub status: VlanStatusStatus,
}

/// What revisions hold of an attachment.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Needs {
    /// The cluster network that carries it.
    pub(super) cluster_network: String,
    /// Its VLANs.
    pub(super) vlans: Vec<VlanRange>,
}

/// VLANs from one to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct VlanRange {
    /// The first.
    pub min: u16,
    /// The last.
    pub max: u16,
}

/// A `NetworkAttachmentDefinition`: the VLANs that pods and machines need.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Attachment {
    /// What it says of itself.
    pub meta: Meta,
    /// The cluster network that carries it; none for an attachment that no bridge of ours carries.
    pub cluster_network: Option<String>,
    /// Its VLANs from 2 on, in order: those of the uplink itself are nobody's to ask for.
    pub vlans: Vec<VlanRange>,
    /// Whether it is of an overlay network of this platform, whose tunnels are in some cluster network.
    pub is_overlay: bool,
    /// The cluster network that its label says.
    pub label: Option<String>,
}

impl Readable for ClusterNetwork {
    const KIND: GroupKind<'static> = GroupKind::new(GROUP, "ClusterNetwork");
    const VERSION: &'static str = "v1beta1";

    fn read(object: &Value) -> Result<Self, String> {
        Ok(Self { meta: meta(object)? })
    }

    fn same(&self, other: &Self) -> bool {
        (&self.meta.created, self.meta.deleted) == (&other.meta.created, other.meta.deleted)
    }
}

impl Readable for VlanStatus {
    const KIND: GroupKind<'static> = GroupKind::new(GROUP, "VlanStatus");
    const VERSION: &'static str = "v1beta1";

    fn read(object: &Value) -> Result<Self, String> {
        let status = object.get("status").map(plain).transpose()?;
        Ok(Self { meta: meta(object)?, status: status.unwrap_or_default() })
    }

    fn same(&self, other: &Self) -> bool {
        (&self.status, self.meta.deleted) == (&other.status, other.meta.deleted)
    }
}

/// A specification by the kind that has it.
pub trait Spec: DeserializeOwned + PartialEq + fmt::Debug + Send + Sync + 'static {
    /// The name of the kind.
    const KIND: &'static str;
}

impl Spec for VlanConfigSpec {
    const KIND: &'static str = "VlanConfig";
}

impl Spec for HostNetworkConfigSpec {
    const KIND: &'static str = "HostNetworkConfig";
}

impl Spec for LinkMonitorSpec {
    const KIND: &'static str = "LinkMonitor";
}

impl<S: Spec> Readable for SpecOnly<S> {
    const KIND: GroupKind<'static> = GroupKind::new(GROUP, S::KIND);
    const VERSION: &'static str = "v1beta1";

    fn read(object: &Value) -> Result<Self, String> {
        let spec = object.get("spec").ok_or_else(|| "there is no spec".to_owned())?;
        Ok(Self { meta: meta(object)?, spec: plain(spec)? })
    }

    fn same(&self, other: &Self) -> bool {
        let Self { meta, spec } = self;
        (meta.generation, &meta.created, meta.deleted, spec)
            == (other.meta.generation, &other.meta.created, other.meta.deleted, &other.spec)
    }
}

impl Readable for Attachment {
    const KIND: GroupKind<'static> = foreign::ATTACHMENT;
    const VERSION: &'static str = "v1";

    /// The kind is not ours: what cannot be understood asks for nothing and is never an error.
    fn read(object: &Value) -> Result<Self, String> {
        let config = foreign::plugin_config(object).filter(foreign::is_bridged);
        let cluster_network = config.as_ref().and_then(|_| foreign::cluster_network_of(object));
        let vlans = config.filter(|_| cluster_network.is_some()).map(|config| vlans(&config)).unwrap_or_default();
        let (is_overlay, label) = (foreign::is_overlay(object), foreign::labelled_network(object));
        Ok(Self { meta: meta(object)?, cluster_network, vlans, is_overlay, label: label.map(str::to_owned) })
    }

    fn same(&self, other: &Self) -> bool {
        let Self { meta, cluster_network, vlans, is_overlay, label } = self;
        (cluster_network, vlans, is_overlay, label, meta.deleted)
            == (&other.cluster_network, &other.vlans, &other.is_overlay, &other.label, other.meta.deleted)
    }
}

fn meta(object: &Value) -> Result<Meta, String> {
    let metadata = object.get("metadata").ok_or_else(|| "there is no metadata".to_owned())?;
    ObjectMeta::deserialize(metadata).map(Meta::of).map_err(|error| error.to_string())
}

/// The VLANs of a plugin's configuration that a bridge gets: it has the first one without.
fn vlans(config: &Value) -> Vec<VlanRange> {
    let all = foreign::vlans(config).into_iter().map(|(min, max)| VlanRange { min: min.max(2), max });
    let mut all: Vec<VlanRange> = all.filter(|range| range.min <= range.max).collect();
    all.sort();
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use netloom_api::hostnet::names;
    use serde_json::json;

    use super::*;

    fn read(label: Option<&str>, config: &Value) -> (Option<String>, Vec<(u16, u16)>) {
        let labels = label.map(|label| json!({names::CLUSTER_NETWORK: label}));
        let object = json!({"metadata": {"namespace": "n", "name": "a", "labels": labels}, "spec": {"config": config.to_string()}});
        let read = Attachment::read(&object).unwrap();
        (read.cluster_network, read.vlans.iter().map(|range| (range.min, range.max)).collect())
    }

    #[test]
    fn an_attachment_needs_the_vlans_that_it_names() {
        let of = |name: &str| Some(name.to_owned());
        let table = [
            (None, json!({"type": "bridge", "bridge": "cn1-br", "vlan": 7}), of("cn1"), vec![(7, 7)]),
            (Some("cn1"), json!({"type": "bridge", "bridge": "cn1-br"}), of("cn1"), vec![]),
            (Some("cn1"), json!({"type": "bridge", "vlan": 1}), of("cn1"), vec![]),
            (
                None,
                json!({"type": "bridge", "bridge": "cn1-br", "vlanTrunk": [{"minID": 1, "maxID": 9}, {"id": 5000}, {"id": 20}]}),
                of("cn1"),
                vec![(2, 9), (20, 20)],
            ),
            (Some("cn1"), json!({"type": "kube-ovn", "vlan": 7}), None, vec![]),
            (None, json!({"type": "bridge", "bridge": "docker0", "vlan": 7}), None, vec![]),
            (None, json!("no configuration"), None, vec![]),
        ];
        for (label, config, network, vlans) in table {
            assert_eq!(read(label, &config), (network, vlans), "{config}");
        }
    }
}
