//! The node as a station of a segment: an interface on the other end of the trunk, where workloads are too.
//!
//! ```text
//! l2.2012 ── hbn.2012 ── hbn ═══ host0 ── vlan.2012
//!                        trunk            the node itself
//! ```
//!
//! It is in no VRF: what it reaches stands in the main table, as with any interface of the node.

use netloom_api::pipeline::node_network_config::{NodeInterface, NodeRoute};
use netloom_model::{Attr, LinkKind, Value};
use netloom_nmstate::{Interface, RouteEntry, State};
use netloom_types::{Family, IpNet, VlanId};

use crate::{
    context::{Context, Made, parse},
    error::RenderError,
    names,
};

/// Makes the interface with its addresses and routes.
pub(crate) fn station(
    cx: &Context<'_>,
    made: &mut Made,
    (vlan, mtu): (VlanId, u16),
    own: &NodeInterface,
    path: &str,
) -> Result<(), RenderError> {
    let NodeInterface { ip_addresses, routes, origin } = own;
    let Some(trunk) = cx.base.host_trunk else {
        let message = "the base file does not say by which link the node itself reaches the trunk; add \
                       hostTrunkInterfaceName to it, or remove nodeIPs and createMacVLANInterface";
        return Err(RenderError::unsupported(path, message));
    };
    let mut link = Interface::of_kind(names::station(vlan), LinkKind::Vlan);
    link.state = Some(State::Up);
    link.attrs.require(Attr::Base, Value::Link(trunk));
    link.attrs.require(Attr::VlanId, Value::Int(vlan.get().into()));
    link.attrs.require(Attr::Mtu, Value::Int(mtu.into()));
    for (at, text) in ip_addresses.iter().enumerate() {
        let address: IpNet = parse(|| format!("{path}.ipAddresses[{at}]"), text)?;
        link.add_address(address.addr(), address.prefix_len());
    }
    for (at, NodeRoute { destination, gateway, origin: asked }) in routes.iter().enumerate() {
        let field = |name: &str| format!("{path}.routes[{at}].{name}");
        let to: IpNet = parse(|| field("destination"), destination)?;
        let by: std::net::IpAddr = parse(|| field("gateway"), gateway)?;
        if Family::of(by) != Family::of_net(to) {
            return Err(RenderError::invalid(field("gateway"), format!("{by} is of another family than {to}")));
        }
        let mut entry = RouteEntry::default();
        entry.destination = Some(to.trunc());
        entry.next_hop_interface = Some(link.name);
        entry.next_hop_address = Some(by);
        made.routes.push((entry, cx.asked(asked.as_ref().or(origin.as_ref()), &format!("{path}.routes[{at}]"))));
    }
    made.interfaces.push((link, cx.asked(origin.as_ref(), path)));
    Ok(())
}
