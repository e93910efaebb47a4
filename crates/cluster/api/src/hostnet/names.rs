//! Labels, annotations and the names of objects that are made from other names.

/// The cluster network of a `VlanConfig`, a `VlanStatus` or an attachment (label).
pub const CLUSTER_NETWORK: &str = "network.harvesterhci.io/clusternetwork";
/// The `VlanConfig` of a `VlanStatus`, and of a node (label).
pub const VLAN_CONFIG: &str = "network.harvesterhci.io/vlanconfig";
/// The node of a `VlanStatus` (label).
pub const NODE: &str = "network.harvesterhci.io/node";
/// The nodes that an object is for, as a JSON array of names (annotation).
pub const MATCHED_NODES: &str = "network.harvesterhci.io/matched-nodes";
/// The MTU of a cluster network's uplinks (annotation).
pub const UPLINK_MTU: &str = "network.harvesterhci.io/uplink-mtu";
/// The `VlanConfig` that this MTU comes from (annotation).
pub const MTU_SOURCE: &str = "network.harvesterhci.io/mtu-source-vc";
/// The VLANs that attachments have in a cluster network, as `2,5,20` (annotation).
pub const VLAN_IDS: &str = "network.harvesterhci.io/vlan-id-set-str";
/// The SHA-256 of that text (annotation).
pub const VLAN_IDS_HASH: &str = "network.harvesterhci.io/vlan-id-set-str-hash";
/// The type of an attachment, such as `OverlayNetwork` (label).
pub const ATTACHMENT_TYPE: &str = "network.harvesterhci.io/type";
/// Where a `HostNetworkConfig` has the address of each node (path).
pub const ADDRESSES: &str = "spec.ips";
/// A node that takes no workload, so that uplinks leave it out (label).
pub const WITNESS: &str = "node-role.harvesterhci.io/witness";
/// The interface that tunnels of overlay networks use on a node (annotation).
pub const TUNNEL_INTERFACE: &str = "ovn.kubernetes.io/tunnel_interface";
/// The namespace of the platform's own attachments.
pub const SYSTEM_NAMESPACE: &str = "harvester-system";
/// Marks attachments of the platform itself (annotations).
pub const SYSTEM_ATTACHMENTS: [&str; 2] =
    ["storage-network.settings.harvesterhci.io", "rwx-network.settings.harvesterhci.io"];
/// What the names of attachments of the platform itself start with.
pub const SYSTEM_ATTACHMENT_PREFIXES: [&str; 2] = ["storagenetwork-", "rwx-network-"];
/// An attachment whose VLAN nobody else may use (label).
pub const EXCLUSIVE_VLAN: &str = "storage-network.settings.harvesterhci.io/exclusivevlan";

/// What the names of the `VlanConfig`s that show the installer's uplinks start with; the node follows.
pub const MGMT_VLAN_CONFIG_PREFIX: &str = "mgmt-vlanconfig-";

/// The `LinkMonitor` of physical interfaces. Every cluster network has one of its own name.
pub const MONITOR_OF_CARDS: &str = "nic";

/// The bridge of a cluster network on a node.
pub fn bridge(cluster_network: &str) -> String {
    format!("{cluster_network}-br")
}

/// The bond of a cluster network on a node, which is a port of its bridge.
pub fn bond(cluster_network: &str) -> String {
    format!("{cluster_network}-bo")
}

/// What an interface in a VLAN of a cluster network is called wherever there is room: the kernel takes 15 bytes
/// for a name, and 127 for an alternative one.
pub fn interface(cluster_network: &str, vlan: u16) -> String {
    format!("{}.{vlan}", bridge(cluster_network))
}

/// The short name of such an interface. Cluster networks share it.
pub fn short_interface(vlan: u16) -> String {
    format!("br.{vlan}")
}

/// A short name that one cluster network has for itself, for when another one has the shared one. `attempt` tells
/// names apart whose checksums are equal.
pub fn hashed_interface(cluster_network: &str, vlan: u16, attempt: u32) -> String {
    let salt = if attempt == 0 { String::new() } else { format!("/{attempt}") };
    format!("b{:06x}.{vlan}", crc32(format!("{cluster_network}{salt}").as_bytes()) >> 8)
}

const NODE_LABELS: &str = "network.harvesterhci.io/";

/// The label of nodes that are connected to a cluster network.
pub fn node_label(cluster_network: &str) -> String {
    format!("{NODE_LABELS}{cluster_network}")
}

/// A name as the value of a label; none when it is longer than labels can be, as names of objects may be.
pub fn label_value(name: &str) -> Option<&str> {
    const LONGEST: usize = 63;
    (name.len() <= LONGEST).then_some(name)
}

/// The cluster network whose label that is; none when it is another label.
pub fn network_of_node_label(label: &str) -> Option<&str> {
    let others = [CLUSTER_NETWORK, VLAN_CONFIG, NODE];
    label.strip_prefix(NODE_LABELS).filter(|_| !others.contains(&label))
}

/// The name of the `VlanStatus` of a cluster network on a node.
///
/// At most 63 bytes: the readable part is cut at 54, and a checksum of the whole keeps names apart
/// that are equal up to there.
pub fn vlan_status(cluster_network: &str, node: &str) -> String {
    let whole = format!("{cluster_network}-{node}");
    let mut cut = whole.len().min(54);
    while !whole.is_char_boundary(cut) {
        cut -= 1;
    }
    format!("{}-{:08x}", &whole[..cut], crc32(whole.as_bytes()))
}

/// The checksum of IEEE 802.3.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_those_of_the_standard() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(crc32(b""), 0);
    }

    #[test]
    fn interfaces_are_called_after_their_network() {
        assert_eq!(interface("mgmt", 2014), "mgmt-br.2014");
        assert_eq!(short_interface(2012), "br.2012");
        let hashed = hashed_interface("123456789", 4094, 0);
        assert_eq!((hashed.as_str(), hashed.len()), ("bcbf439.4094", 12));
        assert_ne!(hashed_interface("123456789", 4094, 1), hashed);
    }

    #[test]
    fn status_names_fit_and_differ() {
        assert_eq!(vlan_status("cluster-1", "node1"), format!("cluster-1-node1-{:08x}", crc32(b"cluster-1-node1")));
        let (a, b) = (vlan_status("cn", &"n".repeat(80)), vlan_status("cn", &"n".repeat(81)));
        assert_eq!((a.len(), b.len()), (63, 63));
        assert_ne!(a, b);
    }
}
