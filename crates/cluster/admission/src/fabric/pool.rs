//! Addresses that `Inbound`s and `Outbound`s take out of a `Network`.
//!
//! All consumers of a network share its addresses, whatever their kind: no address is asked for
//! twice, and no more are asked for than there are.

use std::{net::IpAddr, sync::Arc};

use ipnet::IpNet;
use netloom_api::{GroupKind, fabric::routes::Addresses};
use netloom_types::Family;
use serde_json::Value;

use super::{index, kind, raw, related, space, value};
use crate::{Findings, Review, View};

/// What one consumer asks of a network.
pub(crate) struct PoolRequest<'a> {
    /// A number of addresses of each family.
    pub(crate) count: Option<u32>,
    /// The addresses themselves.
    pub(crate) addresses: Option<&'a Addresses>,
}

/// The network of one family, and what is kept in it for others than Inbounds and Outbounds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pool {
    net: IpNet,
    has_gateway: bool,
    kept_for_pods: u128,
}

impl Pool {
    /// The pools of a `Network`, with what its attachments keep.
    pub(crate) fn of(view: &dyn View, network: &Value) -> Vec<Self> {
        let attachments = view.lookup(kind::LAYER2_ATTACHMENT, index::NETWORK, raw::name(network));
        let has_gateway = attachments.iter().any(|object| has_gateway(object));
        let kept_for_pods = attachments.iter().map(|object| kept_for_pods(object)).max().unwrap_or(0);
        let nets = space::networks(network).into_iter();
        nets.map(|net| Self { net, has_gateway, kept_for_pods: kept_for_pods.into() }).collect()
    }

    pub(crate) fn family(&self) -> Family {
        Family::of_net(self.net)
    }

    /// How many addresses can be asked for.
    fn room(&self) -> u128 {
        usable(self.net).saturating_sub(u128::from(self.has_gateway)).saturating_sub(self.kept_for_pods)
    }

    /// Why an address or block cannot be asked for.
    fn objection(&self, block: IpNet) -> Option<String> {
        if !self.net.contains(&block) {
            return Some(format!("is not in {}", self.net));
        }
        let host = block.prefix_len() == block.max_prefix_len();
        let has_ends = self.net.max_prefix_len() - self.net.prefix_len() > 1;
        if host && has_ends && block.addr() == self.net.network() {
            return Some(format!("is the address of the network {} itself", self.net));
        }
        if host && has_ends && self.net.addr().is_ipv4() && block.addr() == self.net.broadcast() {
            return Some(format!("is the broadcast address of {}", self.net));
        }
        (self.has_gateway && block.contains(&gateway(self.net)))
            .then(|| format!("the gateway {} of the network is not free", gateway(self.net)))
    }
}

/// The first address that a station can have; the gateway of a segment.
pub(crate) fn gateway(net: IpNet) -> IpAddr {
    let step = u8::from(net.max_prefix_len() - net.prefix_len() > 1);
    match net.network() {
        IpAddr::V4(first) => IpAddr::V4((first.to_bits() + u32::from(step)).into()),
        IpAddr::V6(first) => IpAddr::V6((first.to_bits() + u128::from(step)).into()),
    }
}

/// How many stations a network has room for.
pub(crate) fn usable(net: IpNet) -> u128 {
    let bits = net.max_prefix_len() - net.prefix_len();
    let all = 1_u128.checked_shl(bits.into()).unwrap_or(u128::MAX);
    match (bits, net) {
        (0 | 1, _) => all,
        (_, IpNet::V4(_)) => all - 2,
        (_, IpNet::V6(_)) => all - 1,
    }
}

/// The rules that Inbound and Outbound share: one way of asking, within the network, once.
pub(crate) fn check(
    review: &Review<'_>,
    findings: &mut Findings,
    pool_request: &PoolRequest<'_>,
    network: Option<&Arc<Value>>,
) {
    match (pool_request.count, pool_request.addresses) {
        (None, None) => findings.required("spec.count", "one of count and addresses must be given"),
        (Some(_), Some(_)) => findings.forbidden("spec.addresses", "count and addresses exclude each other"),
        (Some(_), None) | (None, Some(_)) => {}
    }
    let Some(network) = network else { return };
    let pools = Pool::of(review.view, network);
    if pools.is_empty() {
        let detail = format!("Network {:?} has neither ipv4 nor ipv6", raw::name(network));
        findings.invalid("spec.networkRef", raw::name(network), detail);
        return;
    }
    not_shared_with_pods(review, findings, network);
    if let Some(addresses) = pool_request.addresses {
        check_addresses(review, findings, addresses, &pools);
    }
    if findings.is_clean() {
        check_room(review, findings, pool_request, network, &pools);
    }
}

/// A pod network takes the whole of its network.
fn not_shared_with_pods(review: &Review<'_>, findings: &mut Findings, network: &Value) {
    let name = raw::name(network);
    if let Some(pods) = review.view.lookup(kind::POD_NETWORK, index::NETWORK, name).first() {
        let detail = format!("all of its addresses belong to the pods of {}", raw::shown(pods));
        findings.invalid("spec.networkRef", name, detail);
    }
}

/// Whether an address stands in the stored object already, for the same network.
fn is_kept(review: &Review<'_>, family: Family, text: &str) -> bool {
    let same = |old: &&Value| {
        raw::at(old, &["spec", "networkRef"]) == review.object.and_then(|new| raw::at(new, &["spec", "networkRef"]))
    };
    let old = review.old.filter(same);
    old.is_some_and(|old| raw::texts(old, &["spec", "addresses", word(family)]).any(|kept| kept == text))
}

fn check_addresses(review: &Review<'_>, findings: &mut Findings, addresses: &Addresses, pools: &[Pool]) {
    if addresses.ipv4.is_empty() && addresses.ipv6.is_empty() {
        findings.required("spec.addresses", "must hold at least one address");
    }
    for (family, list) in [(Family::Ipv4, &addresses.ipv4), (Family::Ipv6, &addresses.ipv6)] {
        let mut seen: Vec<IpNet> = Vec::with_capacity(list.len());
        for (index, text) in list.iter().enumerate() {
            let path = format!("spec.addresses.{family}[{index}]");
            let Some(block) = check_block(findings, &path, text, family) else { continue };
            if let Some(twin) = seen.iter().find(|other| space::overlap(**other, block)) {
                findings.duplicate(&*path, &**text, format!("overlaps {twin} in the same list"));
            }
            seen.push(block);
            if is_kept(review, family, text) {
                continue;
            }
            match pools.iter().find(|pool| pool.family() == family) {
                None => {
                    findings.invalid(&*path, &**text, format!("the network has no {} addresses", value::shown(family)));
                }
                Some(pool) => {
                    if let Some(why) = pool.objection(block) {
                        findings.invalid(&*path, &**text, why);
                    } else if let Some(holder) = holder(review, block) {
                        findings.duplicate(&*path, &**text, format!("{} has it already", raw::shown(&holder)));
                    }
                }
            }
        }
    }
}

fn check_block(findings: &mut Findings, path: &str, text: &str, family: Family) -> Option<IpNet> {
    if text.contains('/') {
        return value::prefix_of(findings, path, text, family);
    }
    value::station_of(findings, path, text, family).map(IpNet::from)
}

/// The other object that asks for, or has, part of a block.
fn holder(review: &Review<'_>, block: IpNet) -> Option<Arc<Value>> {
    [kind::INBOUND, kind::OUTBOUND].into_iter().find_map(|kind| {
        let found = related::others(review, kind, space::candidates(review.view, kind, block));
        found.into_iter().find(|object| space::blocks(object).iter().any(|other| space::overlap(*other, block)))
    })
}

/// Whether the network has room for this request beside all others.
fn check_room(
    review: &Review<'_>,
    findings: &mut Findings,
    pool_request: &PoolRequest<'_>,
    network: &Value,
    pools: &[Pool],
) {
    let name = raw::name(network);
    let before = review.old.filter(|old| raw::text(old, &["spec", "networkRef"]) == Some(name));
    for pool in pools {
        let family = pool.family();
        let own = demand_of_request(pool_request, family);
        let held = before.map_or(0, |old| demand(old, family));
        let asked = asked(review.view, name, family).saturating_sub(held);
        // Who asks for no more than before takes nothing from anybody.
        if own > held && own.saturating_add(asked) > pool.room() {
            let (path, value) = match pool_request.count {
                Some(count) => ("spec.count".to_owned(), Value::from(count)),
                None => (format!("spec.addresses.{family}"), Value::from(u64::try_from(own).unwrap_or(u64::MAX))),
            };
            let detail = format!(
                "Network {name:?} has {} usable {} addresses, of which {asked} are asked for already",
                pool.room(),
                value::shown(family)
            );
            findings.invalid(path, value, detail);
        }
    }
}

/// Whether what all consumers ask for still fits, after a `Network` has changed.
pub(crate) fn overflow(view: &dyn View, network: &Value) -> Option<(Family, u128, u128)> {
    Pool::of(view, network).into_iter().find_map(|pool| {
        let asked = asked(view, raw::name(network), pool.family());
        (asked > pool.room()).then(|| (pool.family(), asked, pool.room()))
    })
}

/// Whether a segment leaves room for what Inbounds and Outbounds ask of its network.
///
/// The gateway must be free, and what is kept for pods must not be asked for.
pub(crate) fn check_segment(
    review: &Review<'_>,
    findings: &mut Findings,
    network: &Value,
    has_gateway: bool,
    kept_for_pods: u32,
) {
    let name = raw::name(network);
    for net in space::networks(network) {
        let pool = Pool { net, has_gateway, kept_for_pods: kept_for_pods.into() };
        if let Some(holder) = has_gateway.then(|| holder(review, gateway(net).into())).flatten() {
            let detail = format!("its gateway would be {}, which {} has", gateway(net), raw::shown(&holder));
            findings.invalid("spec.networkRef", name, detail);
            return;
        }
        let asked = asked(review.view, name, pool.family());
        if asked > pool.room() {
            let detail = format!(
                "{asked} {} addresses are asked for, and only {} would be left",
                value::shown(pool.family()),
                pool.room()
            );
            findings.invalid("spec.networkRef", name, detail);
            return;
        }
    }
}

/// How many addresses of a family all stored consumers of a network ask for.
///
/// The numbers are not added one by one: a network may have thousands of consumers. Each consumer is
/// indexed under the binary digits of its number, so a sum takes one count for each digit.
fn asked(view: &dyn View, network: &str, family: Family) -> u128 {
    let digits = |kind: GroupKind<'_>, tag: &str, digits: u32| {
        (0..digits).fold(0, |sum: u128, digit| {
            let many = view.count(kind, index::DEMAND, &demand_key(network, tag, digit)) as u128;
            sum.saturating_add(many << digit)
        })
    };
    let of_kind = |kind| digits(kind, "", u32::BITS).saturating_add(digits(kind, word(family), u64::BITS));
    of_kind(kind::INBOUND).saturating_add(of_kind(kind::OUTBOUND))
}

/// The keys of an object in [`index::DEMAND`]: a plain number counts for both families.
pub(crate) fn demand_keys(object: &Value) -> Vec<String> {
    let Some(network) = raw::text(object, &["spec", "networkRef"]) else { return Vec::new() };
    let keys = |tag: &'static str, number: u128| {
        let number = u64::try_from(number).unwrap_or(u64::MAX);
        let set = (0..u64::BITS).filter(move |digit| number >> digit & 1 == 1);
        set.map(move |digit| demand_key(network, tag, digit))
    };
    match raw::number(object, &["spec", "count"]) {
        Some(count) => keys("", count.min(u32::MAX.into()).into()).collect(),
        None => [Family::Ipv4, Family::Ipv6]
            .into_iter()
            .flat_map(|family| keys(word(family), demand(object, family)))
            .collect(),
    }
}

/// The name of an object has no `#`, so keys of two networks never meet.
fn demand_key(network: &str, tag: &str, digit: u32) -> String {
    format!("{network}#{tag}{digit}")
}

/// How many addresses of a family a stored consumer asks for.
fn demand(object: &Value, family: Family) -> u128 {
    if let Some(count) = raw::number(object, &["spec", "count"]) {
        return count.into();
    }
    total(raw::texts(object, &["spec", "addresses", word(family)]).filter_map(space::block).map(size))
}

fn demand_of_request(pool_request: &PoolRequest<'_>, family: Family) -> u128 {
    match (pool_request.count, pool_request.addresses) {
        (Some(count), _) => count.into(),
        (None, Some(addresses)) => listed(addresses, family),
        (None, None) => 0,
    }
}

/// How many addresses of a family are listed.
pub(crate) fn listed(addresses: &Addresses, family: Family) -> u128 {
    let list = match family {
        Family::Ipv4 => &addresses.ipv4,
        Family::Ipv6 => &addresses.ipv6,
    };
    total(list.iter().filter_map(|text| space::block(text)).map(size))
}

fn total(sizes: impl Iterator<Item = u128>) -> u128 {
    sizes.fold(0, u128::saturating_add)
}

fn size(block: IpNet) -> u128 {
    1_u128.checked_shl((block.max_prefix_len() - block.prefix_len()).into()).unwrap_or(u128::MAX)
}

fn word(family: Family) -> &'static str {
    match family {
        Family::Ipv4 => "ipv4",
        Family::Ipv6 => "ipv6",
    }
}

/// Whether an attachment puts a gateway into the network: only over the fabric, and unless that is turned off.
fn has_gateway(attachment: &Value) -> bool {
    raw::at(attachment, &["spec", "interfaceRef"]).is_none()
        && raw::at(attachment, &["spec", "destinations"]).is_some()
        && !raw::flag(attachment, &["spec", "disableAnycast"])
}

fn kept_for_pods(attachment: &Value) -> u64 {
    let kept = raw::number(attachment, &["spec", "nodeIPs", "reservedForPods"]).unwrap_or(0);
    if raw::flag(attachment, &["spec", "nodeIPs", "enabled"]) { kept } else { 0 }
}

/// Writes host networks as plain addresses; other texts stay as they are.
pub(crate) fn plain_addresses(object: &mut Value) {
    for family in ["ipv4", "ipv6"] {
        let list = object.pointer_mut(&format!("/spec/addresses/{family}")).and_then(Value::as_array_mut);
        for text in list.into_iter().flatten() {
            let host = text.as_str().and_then(value::network);
            if let Some(net) = host.filter(|net| net.prefix_len() == net.max_prefix_len()) {
                *text = Value::from(net.addr().to_string());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Objects, fabric::table};

    #[test]
    fn a_network_has_room_for_its_stations() {
        for (net, expected) in [
            ("198.51.100.0/24", 254),
            ("198.51.100.0/31", 2),
            ("198.51.100.0/32", 1),
            ("2001:db8::/126", 3),
            ("2001:db8::/127", 2),
            ("2001:db8::/128", 1),
        ] {
            assert_eq!(usable(net.parse().unwrap()), expected, "{net}");
        }
        assert_eq!(usable("::/0".parse().unwrap()), u128::MAX - 1);
    }

    #[test]
    fn the_gateway_is_the_first_station() {
        for (net, expected) in [
            ("198.51.100.128/25", "198.51.100.129"),
            ("198.51.100.0/31", "198.51.100.0"),
            ("2001:db8:100::/64", "2001:db8:100::1"),
            ("2001:db8::/127", "2001:db8::"),
        ] {
            assert_eq!(gateway(net.parse().unwrap()), expected.parse::<IpAddr>().unwrap(), "{net}");
        }
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(64))]

        #[test]
        fn digits_add_up_to_the_sum(counts in proptest::collection::vec(1_u32..70_000, 0..40), listed in 0_u32..4) {
            let inbound = |i: usize, spec: Value| table::object("Inbound", &format!("i{i}"), spec);
            let counted = counts.iter().enumerate().map(|(i, count)| inbound(i, serde_json::json!({"networkRef": "n", "count": count})));
            let blocks: Vec<_> = (0..listed).map(|i| format!("10.{i}.0.0/30")).collect();
            let explicit = inbound(99, serde_json::json!({"networkRef": "n", "addresses": {"ipv4": blocks}}));
            let other = inbound(100, serde_json::json!({"networkRef": "nn", "count": 7}));
            let view: Objects = counted.chain([explicit, other]).collect();
            let sum: u128 = counts.iter().map(|count| u128::from(*count)).sum();
            proptest::prop_assert_eq!(asked(&view, "n", Family::Ipv4), sum + u128::from(listed) * 4);
            proptest::prop_assert_eq!(asked(&view, "n", Family::Ipv6), sum);
        }
    }

    #[test]
    fn host_networks_are_kept_as_plain_addresses() {
        let mut object = serde_json::json!({"spec": {"addresses": {"ipv4": ["203.0.113.1/32", "203.0.113.8/29", 7], "ipv6": ["2001:db8::1/128", "x"]}}});
        plain_addresses(&mut object);
        let wanted = serde_json::json!({"ipv4": ["203.0.113.1", "203.0.113.8/29", 7], "ipv6": ["2001:db8::1", "x"]});
        assert_eq!(object["spec"]["addresses"], wanted);
    }
}
