//! Addresses of nodes in a segment: each node keeps the one that it has, and a new one gets the first that is free.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::IpAddr,
};

use netloom_api::fabric::{layer2_attachment::NodeIps, text::InterfaceAddress};
use netloom_types::IpNet;

use super::extra::Extra;

/// What an attachment says of the addresses of nodes.
pub(super) struct Pool<'a> {
    /// The networks of the segment.
    pub(super) nets: &'a [IpNet],
    /// Its gateways, which no node gets.
    pub(super) gateways: &'a [IpNet],
    /// What is left to others.
    pub(super) ips: &'a NodeIps,
}

/// The addresses of these nodes, one of each family. A node for which there is none left has none.
pub(super) fn of(
    pool: &Pool<'_>,
    nodes: &BTreeSet<&str>,
    before: Option<&Extra>,
) -> BTreeMap<String, Vec<InterfaceAddress>> {
    let mut all: BTreeMap<String, Vec<InterfaceAddress>> = BTreeMap::new();
    for net in pool.nets {
        let mut free = Free::of(pool, *net);
        let had = |node: &str| -> Option<IpAddr> {
            let addresses = before?.addresses.get(node)?;
            let nets = addresses.iter().filter_map(|address| address.parse::<IpNet>().ok());
            nets.map(|known| known.addr()).find(|address| free_in(pool, *net, *address))
        };
        let mut given: BTreeMap<&str, IpAddr> = BTreeMap::new();
        for node in nodes {
            if let Some(address) = had(node)
                && free.taken.insert(address)
            {
                given.insert(node, address);
            }
        }
        for node in nodes {
            let address = given.get(node).copied().or_else(|| free.next());
            if let Some(address) = address {
                let text = InterfaceAddress(format!("{address}/{}", net.prefix_len()));
                all.entry((*node).to_owned()).or_default().push(text);
            }
        }
    }
    all
}

/// Addresses of a network, the lowest first.
struct Free {
    next: Option<u128>,
    last: u128,
    ipv4: bool,
    taken: BTreeSet<IpAddr>,
    ranges: Vec<IpNet>,
}

impl Free {
    fn of(pool: &Pool<'_>, net: IpNet) -> Self {
        let (first, last) = usable(net, pool.ips);
        let taken = pool.gateways.iter().map(IpNet::addr).collect();
        let ranges = pool.ips.reserved_ranges.iter().filter_map(|range| range.parse().ok()).collect();
        Self { next: Some(first), last, ipv4: net.addr().is_ipv4(), taken, ranges }
    }

    fn next(&mut self) -> Option<IpAddr> {
        loop {
            let number = self.next.filter(|number| *number <= self.last)?;
            self.next = number.checked_add(1);
            let address = address(number, self.ipv4);
            if let Some(range) = self.ranges.iter().find(|range| range.contains(&address)) {
                // A range may be larger than anybody has time to count.
                self.next = number_of(range.broadcast()).checked_add(1);
                continue;
            }
            if self.taken.insert(address) {
                return Some(address);
            }
        }
    }
}

/// The first and the last address for nodes: without that of the network, broadcast, and those kept for pods at the end.
fn usable(net: IpNet, ips: &NodeIps) -> (u128, u128) {
    let (first, last) = (number_of(net.network()), number_of(net.broadcast()));
    let bits = net.max_prefix_len() - net.prefix_len();
    let (first, last) = match (bits, net.addr().is_ipv4()) {
        (0 | 1, _) => (first, last),
        (_, true) => (first + 1, last - 1),
        (_, false) => (first + 1, last),
    };
    (first, last.saturating_sub(u128::from(ips.reserved_for_pods.unwrap_or(0))))
}

fn free_in(pool: &Pool<'_>, net: IpNet, address: IpAddr) -> bool {
    let (first, last) = usable(net, pool.ips);
    let reserved = pool.ips.reserved_ranges.iter().filter_map(|range| range.parse::<IpNet>().ok());
    net.contains(&address)
        && (first..=last).contains(&number_of(address))
        && !pool.gateways.iter().any(|gateway| gateway.addr() == address)
        && !reserved.into_iter().any(|range| range.contains(&address))
}

fn number_of(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u32::from(address).into(),
        IpAddr::V6(address) => address.into(),
    }
}

fn address(number: u128, ipv4: bool) -> IpAddr {
    match u32::try_from(number) {
        Ok(short) if ipv4 => IpAddr::V4(short.into()),
        Ok(_) | Err(_) => IpAddr::V6(number.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(cidr: &str, gateway: &str, pods: u32, nodes: &[&str], before: Option<&Extra>) -> Vec<(String, String)> {
        let ips = NodeIps { enabled: true, reserved_for_pods: Some(pods), reserved_ranges: Vec::new() };
        let (net, gateway) = (cidr.parse().unwrap(), gateway.parse().unwrap());
        let pool = Pool { nets: &[net], gateways: &[gateway], ips: &ips };
        let all = of(&pool, &nodes.iter().copied().collect(), before);
        all.into_iter().map(|(node, addresses)| (node, addresses[0].0.clone())).collect()
    }

    #[test]
    fn no_node_gets_the_gateway_and_the_last_ones_are_kept() {
        let of = |node: &str, address: &str| (node.to_owned(), address.to_owned());
        assert_eq!(
            given("10.0.0.0/29", "10.0.0.1/29", 3, &["a", "b", "c"], None),
            [of("a", "10.0.0.2/29"), of("b", "10.0.0.3/29")],
            "of six stations one is the gateway, three are for pods"
        );
    }

    #[test]
    fn a_node_keeps_its_address_when_others_come() {
        let addresses = BTreeMap::from([("m".to_owned(), vec![InterfaceAddress("10.0.0.2/24".to_owned())])]);
        let before = Extra { addresses, ..Extra::default() };
        let found = given("10.0.0.0/24", "10.0.0.1/24", 0, &["a", "m"], Some(&before));
        assert_eq!(found, [("a".to_owned(), "10.0.0.3/24".to_owned()), ("m".to_owned(), "10.0.0.2/24".to_owned())]);
    }
}
