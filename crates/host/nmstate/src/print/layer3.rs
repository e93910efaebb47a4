//! Prints `ipv4`, `ipv6`, routes and rules.

use netloom_model::{Attrs, PortRange, Section, UidRange};
use netloom_types::{Lifetime, Protocol};

use super::{interface::ip_protocol, value};
use crate::{
    document::{AddressItem, EntryState, Ip, Lease, RouteEntry, RuleEntry, RulePrefix},
    raw::{Block, Raw},
    words::{ROUTE_TYPES, RULE_ACTIONS, word_of},
};

pub(super) fn ip(to: &mut Block, key: &str, ip: &Ip, section: Section, attrs: &Attrs) {
    let Ip { enabled, addresses, allow_extra_address, prefix_route_metric, neighbors, dhcp, lease } = ip;
    let mut block = Block::new();
    block.put_some("enabled", *enabled);
    block.put_some("dhcp", *dhcp);
    block.put_some("address", addresses.as_ref().map(|list| list.iter().map(address).collect::<Vec<_>>()));
    block.put_some("allow-extra-address", *allow_extra_address);
    block.put_some("prefix-route-metric", *prefix_route_metric);
    let neighbor = |n: &netloom_model::Neighbour| {
        let mut block = Block::new();
        block.put("ip", Raw::text(n.ip));
        block.put("linkLayerAddress", Raw::text(n.mac));
        block.into()
    };
    block.put_some("neighbors", neighbors.as_ref().map(|list| list.iter().map(neighbor).collect::<Vec<Raw>>()));
    value::section(&mut block, section, attrs);
    put_lease(&mut block, lease);
    to.put_block(key, block);
}

fn put_lease(block: &mut Block, lease: &Lease) {
    let Lease {
        auto_dns,
        auto_gateway,
        auto_routes,
        route_table,
        route_metric,
        client_id,
        duid,
        send_hostname,
        custom_hostname,
    } = lease;
    block.put_some("auto-dns", *auto_dns);
    block.put_some("auto-gateway", *auto_gateway);
    block.put_some("auto-routes", *auto_routes);
    block.put_some("auto-route-table-id", *route_table);
    block.put_some("auto-route-metric", *route_metric);
    block.put_text("dhcp-client-id", client_id.as_ref());
    block.put_text("dhcp-duid", duid.as_ref());
    block.put_some("dhcp-send-hostname", *send_hostname);
    block.put_text("dhcp-custom-hostname", custom_hostname.as_ref());
}

fn address(item: &AddressItem) -> Raw {
    let AddressItem { ip, prefix_len, valid, preferred, protocol, mptcp } = item;
    let mut block = Block::new();
    block.put("ip", Raw::text(ip));
    block.put("prefix-length", *prefix_len);
    block.put_some("valid-life-time", valid.map(lifetime));
    block.put_some("preferred-life-time", preferred.map(lifetime));
    block.put_some("protocol", protocol.map(|Protocol(number)| number));
    block.put_some("mptcp-flags", mptcp.clone());
    block.into()
}

fn lifetime(lifetime: Lifetime) -> Raw {
    match lifetime {
        Lifetime::Forever => "forever".into(),
        Lifetime::Seconds(seconds) => Raw::text(format_args!("{seconds}sec")),
    }
}

pub(super) fn route(route: &RouteEntry) -> Raw {
    let mut block = Block::new();
    block.put_some(
        "state",
        match route.state {
            EntryState::Present => None,
            EntryState::Absent => Some("absent"),
            EntryState::Ignore => Some("ignore"),
        },
    );
    block.put_text("destination", route.destination);
    block.put_text("next-hop-interface", route.next_hop_interface);
    block.put_text("next-hop-address", route.next_hop_address);
    block.put_some("on-link", route.on_link);
    block.put_some("metric", route.metric);
    block.put_some("table-id", route.table_id);
    block.put_text("vrf-name", route.vrf_name);
    block.put_some("weight", route.weight);
    block.put_some("route-type", route.route_type.and_then(|kind| word_of(ROUTE_TYPES, &kind)));
    block.put_text("source", route.source);
    block.put_some("mtu", route.mtu);
    block.put_some("lock-mtu", route.lock_mtu);
    block.put_some("advmss", route.advmss);
    block.put_some("cwnd", route.cwnd);
    block.put_some("initcwnd", route.initcwnd);
    block.put_some("initrwnd", route.initrwnd);
    block.put_some("quickack", route.quickack);
    block.put_some("protocol", route.protocol.map(|Protocol(number)| number));
    block.into()
}

pub(super) fn rule(rule: &RuleEntry) -> Raw {
    let mut block = Block::new();
    block.put_some("state", rule.absent.then_some("absent"));
    block.put_some("priority", rule.priority);
    block.put_text("family", rule.family);
    for (key, prefix) in [("ip-from", rule.from), ("ip-to", rule.to)] {
        match prefix {
            RulePrefix::Unspecified => {}
            RulePrefix::Empty => block.put(key, ""),
            RulePrefix::Net(net) => block.put(key, Raw::text(net)),
        }
    }
    block.put_some("invert", rule.invert);
    block.put_text("iif", rule.iif);
    block.put_text("oif", rule.oif);
    block.put_some("fwmark", rule.fwmark);
    block.put_some("fwmask", rule.fwmask);
    block.put_some("tos", rule.tos);
    block.put_some("ip-protocol", rule.ip_proto.map(ip_protocol));
    let ports = |ports: PortRange| range(ports.first.into(), ports.last.into());
    block.put_some("source-port", rule.sport.map(ports));
    block.put_some("destination-port", rule.dport.map(ports));
    block.put_some("uid-range", rule.uid.map(|UidRange { first, last }| range(first, last)));
    block.put_some("tun-id", rule.tun_id);
    block.put_some("route-table", rule.table);
    block.put_some("action", rule.action.and_then(|action| word_of(RULE_ACTIONS, &action)));
    block.put_some("l3mdev", rule.l3mdev);
    block.put_some("goto", rule.goto);
    block.put_some("nop", rule.nop);
    block.put_some("suppress-prefix-length", rule.suppress_prefix_length);
    block.put_some("suppress-group", rule.suppress_group);
    block.put_some("protocol", rule.protocol.map(|Protocol(number)| number));
    block.into()
}

fn range(first: u32, last: u32) -> Raw {
    if first == last { first.into() } else { Raw::text(format_args!("{first}-{last}")) }
}
