//! Objects of host networks, as far as decisions read them.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use netloom_api::{
    foreign,
    hostnet::{HostNetworkConfigSpec, LinkMonitorSpec, VlanConfigSpec, VlanStatusStatus},
    pipeline::network_config_revision::VlanRange,
};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{
    key::Meta,
    snapshot::{Kept, plain},
};

/// A network of layer 2 that nodes share.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClusterNetwork {
    /// What it says of itself.
    pub meta: Meta,
}

/// An object with a wish; its status is ours to write, so it cannot matter.
#[derive(Debug, Clone, PartialEq)]
pub struct Wished<S> {
    /// What it says of itself.
    pub meta: Meta,
    /// What it wants.
    pub spec: S,
}

/// A `VlanConfig`.
pub type VlanConfig = Wished<VlanConfigSpec>;
/// A `HostNetworkConfig`.
pub type HostNetworkConfig = Wished<HostNetworkConfigSpec>;
/// A `LinkMonitor`.
pub type LinkMonitor = Wished<LinkMonitorSpec>;

/// How one node is connected to one cluster network, as it was told.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VlanStatus {
    /// What it says of itself.
    pub meta: Meta,
    /// What it tells.
    pub status: VlanStatusStatus,
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

impl Kept for ClusterNetwork {
    fn read(object: &Value) -> Result<Self, String> {
        Ok(Self { meta: meta(object)? })
    }

    fn same(&self, other: &Self) -> bool {
        (&self.meta.created, self.meta.deleted) == (&other.meta.created, other.meta.deleted)
    }
}

impl Kept for VlanStatus {
    fn read(object: &Value) -> Result<Self, String> {
        let status = object.get("status").map(plain).transpose()?;
        Ok(Self { meta: meta(object)?, status: status.unwrap_or_default() })
    }

    fn same(&self, other: &Self) -> bool {
        (&self.status, self.meta.deleted) == (&other.status, other.meta.deleted)
    }
}

impl<S: DeserializeOwned + PartialEq> Kept for Wished<S> {
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

impl Kept for Attachment {
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

/// The VLANs of a plugin's configuration that a bridge is told of: it has the first one without.
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
