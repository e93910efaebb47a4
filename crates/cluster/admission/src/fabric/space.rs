//! Which objects touch a part of the address space.
//!
//! An index answers exact keys only, so the space is cut into cells at a few lengths. A network is
//! kept under the cell that it lies in (`in:`) and under the wider cells around that one
//! (`around:`). Everything that overlaps a network is then found under the cell of the network and
//! the wider ones (`in:`), or inside its own cell (`around:`); what is found there by chance is
//! sorted out by the caller.

use std::{net::IpAddr, sync::Arc};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use netloom_api::GroupKind;
use serde_json::Value;

use super::{index, raw, value};
use crate::View;

/// The lengths of the cells of IPv4.
const CELLS_V4: [u8; 4] = [0, 8, 16, 24];
/// The lengths of the cells of IPv6; the last one is for single addresses.
const CELLS_V6: [u8; 5] = [0, 32, 48, 64, 120];

/// The keys of a `Network`.
pub(crate) fn keys_of_network(object: &Value) -> Vec<String> {
    networks(object).into_iter().flat_map(keys).collect()
}

/// The keys of an object that asks for addresses or has some.
pub(crate) fn keys_of_addresses(object: &Value) -> Vec<String> {
    let mut keys: Vec<String> = blocks(object).into_iter().flat_map(keys).collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// The networks of a `Network`.
pub(crate) fn networks(object: &Value) -> Vec<IpNet> {
    ["ipv4", "ipv6"].iter().filter_map(|family| value::network(raw::text(object, &["spec", family, "cidr"])?)).collect()
}

/// The addresses that an object asks for or has, as networks.
pub(crate) fn blocks(object: &Value) -> Vec<IpNet> {
    let lists = [["spec", "addresses", "ipv4"], ["spec", "addresses", "ipv6"]];
    let held = [["status", "addresses", "ipv4"], ["status", "addresses", "ipv6"]];
    lists.iter().chain(&held).flat_map(|path| raw::texts(object, path)).filter_map(block).collect()
}

/// An address, or a block of them, as a network.
pub(crate) fn block(text: &str) -> Option<IpNet> {
    value::network(text).or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from))
}

/// Whether two networks have an address in common.
pub(crate) fn overlap(one: IpNet, other: IpNet) -> bool {
    one.contains(&other) || other.contains(&one)
}

/// The objects of a kind that may touch `net`; the caller looks whether they do.
pub(crate) fn candidates(view: &dyn View, kind: GroupKind<'_>, net: IpNet) -> Vec<Arc<Value>> {
    let (wider, own) = cells(net);
    let mut found = view.lookup(kind, index::SPACE, &format!("around:{own}"));
    for cell in wider.into_iter().chain([own]) {
        found.extend(view.lookup(kind, index::SPACE, &format!("in:{cell}")));
    }
    found
}

fn keys(net: IpNet) -> Vec<String> {
    let (wider, own) = cells(net);
    // The cell of everything has no use as a wider one: nobody asks for a network of that size.
    let around = wider.into_iter().filter(|cell| cell.prefix_len() > 0).map(|cell| format!("around:{cell}"));
    around.chain([format!("in:{own}")]).collect()
}

/// The wider cells around the cell of a network, and that cell.
fn cells(net: IpNet) -> (Vec<IpNet>, IpNet) {
    let lengths: &[u8] = if net.addr().is_ipv4() { &CELLS_V4 } else { &CELLS_V6 };
    let mut cells: Vec<IpNet> =
        lengths.iter().filter(|length| **length <= net.prefix_len()).map(|length| cut(net, *length)).collect();
    let own = cells.pop().unwrap_or(net);
    (cells, own)
}

fn cut(net: IpNet, length: u8) -> IpNet {
    match net {
        IpNet::V4(net) => Ipv4Net::new(net.addr(), length).map_or(net, |cell| cell.trunc()).into(),
        IpNet::V6(net) => Ipv6Net::new(net.addr(), length).map_or(net, |cell| cell.trunc()).into(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    fn any_net() -> impl Strategy<Value = IpNet> {
        // Few bits, so that networks meet each other often.
        let v4 = (0_u32..64, 1_u8..=32)
            .prop_map(|(bits, len)| Ipv4Net::new((bits << 20).into(), len).unwrap().trunc().into());
        let v6 = (0_u128..64, 1_u8..=128)
            .prop_map(|(bits, len)| Ipv6Net::new((bits << 76).into(), len).unwrap().trunc().into());
        prop_oneof![v4, v6]
    }

    /// The keys that `candidates` asks for.
    fn asked(net: IpNet) -> HashSet<String> {
        let (wider, own) = cells(net);
        let inside = wider.into_iter().chain([own]).map(|cell| format!("in:{cell}"));
        inside.chain([format!("around:{own}")]).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn whatever_overlaps_is_found(one in any_net(), other in any_net()) {
            let whole_cell = |net: IpNet| cells(net).1.prefix_len() == 0;
            prop_assume!(!whole_cell(one));
            if overlap(one, other) {
                let asked = asked(one);
                prop_assert!(keys(other).iter().any(|key| asked.contains(key)), "{one} {other}");
            }
        }
    }

    #[test]
    fn what_is_far_away_is_not_looked_at() {
        let asked = asked("10.1.2.0/24".parse().unwrap());
        assert!(keys("10.1.3.0/24".parse().unwrap()).iter().all(|key| !asked.contains(key)));
    }
}
