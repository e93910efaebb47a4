//! Low-level objects of an attachment.

use netloom_api::fabric::{
    bgp_peering::{BgpPeeringSpec, PeeringVlan},
    layer2_attachment::AttachmentBgp,
    layer2_network_configuration::Layer2NetworkConfigurationSpec,
    operator::OperatorConfig,
    text::{Cidr, InterfaceAddress, ObjectName},
    vrf_route_configuration::{PrefixAction, PrefixItem},
};
use netloom_types::IpNet;

use super::Attachment;

/// The place of generated routes among those of a VRF.
pub(super) const SEQ: u16 = 1000;

/// Everything inside a network, as an item that lets it through. What is a default route stays exact, or it would let
/// everything through.
pub(super) fn permit(net: IpNet) -> PrefixItem {
    let le = (net.prefix_len() > 0 && net.prefix_len() < net.max_prefix_len()).then(|| net.max_prefix_len());
    PrefixItem { cidr: Cidr(net.to_string()), ge: None, le, seq: None, action: PrefixAction::Permit }
}

/// The first station of a network, which is its gateway.
pub(super) fn gateway(net: IpNet) -> InterfaceAddress {
    let small = net.max_prefix_len() - net.prefix_len() <= 1;
    let address = if small { Some(net.network()) } else { net.hosts().find(|host| *host != net.network()) };
    InterfaceAddress(format!("{}/{}", address.unwrap_or_else(|| net.network()), net.prefix_len()))
}

/// Sessions with workloads of a segment: they announce what is inside the segment's networks, and hear of these networks
/// where they are to, and of nothing else.
pub(super) fn sessions(
    attachment: &Attachment,
    segment: &Layer2NetworkConfigurationSpec,
    name: &str,
    (bgp, nets, reached): (&AttachmentBgp, &[IpNet], &[IpNet]),
    config: &OperatorConfig,
) -> BgpPeeringSpec {
    let announced = if bgp.advertise_transfer_network { nets } else { &[] };
    BgpPeeringSpec {
        peering_vlan: Some(PeeringVlan { name: ObjectName(name.to_owned()) }),
        loopback_peer: None,
        remote_asn: bgp.workload_as.parse().unwrap_or(config.workload_as.0),
        enable_bfd: false,
        maximum_prefixes: bgp.maximum_prefixes,
        hold_time: bgp.hold_time.clone(),
        keepalive_time: bgp.keepalive_time.clone(),
        import: nets.iter().map(|net| permit(*net)).collect(),
        export: reached.iter().chain(announced).map(|net| permit(*net)).collect(),
        node_selector: segment.node_selector.clone().or_else(|| attachment.spec.node_selector.clone()),
    }
}
