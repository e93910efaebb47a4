//! The picture of used addresses that DANM's programs read: what it begins with, and that it stays.

use netloom_api::podnet::{Network, NetworkOptions};
use netloom_ipam::{Bitmask, Pool, number};

/// Pools that are larger have no picture.
const MOST: u128 = 65_536;

/// Masks of both families; empty where there is none.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Masks {
    pub(super) ipv4: String,
    pub(super) ipv6: String,
}

/// The masks of a network without pods: the addresses that nobody gets.
pub(super) fn begin(network: &Network) -> Masks {
    let ipv4 = network.ipv4.as_ref().and_then(|pool| mask(pool, pool.net()));
    let ipv6 = network.ipv6.as_ref().zip(network.tracked6).and_then(|(pool, within)| mask(pool, within));
    Masks { ipv4: ipv4.unwrap_or_default(), ipv6: ipv6.unwrap_or_default() }
}

fn mask(pool: &Pool, within: ipnet::IpNet) -> Option<String> {
    let (first, last) = (number(within.network()), number(within.broadcast()));
    let bits = last - first + 1;
    let bits = usize::try_from(bits).ok().filter(|_| bits <= MOST)?;
    let mut mask = Bitmask::fresh(bits);
    for (from, to) in pool.kept_free().ranges() {
        for address in from.max(first)..=to.min(last) {
            mask.set(usize::try_from(address - first).unwrap_or(usize::MAX));
        }
    }
    Some(mask.encode())
}

/// Carries the picture over into a write that does not have it.
pub(super) fn keep(now: &mut NetworkOptions, before: &NetworkOptions) {
    if now.cidr == before.cidr && now.alloc.is_empty() {
        now.alloc.clone_from(&before.alloc);
    }
    if now.net6 == before.net6 && now.alloc6.is_empty() {
        now.alloc6.clone_from(&before.alloc6);
    }
    if let (Some(now), Some(before)) = (&mut now.allocation_pool, &before.allocation_pool)
        && now.last_ip.is_empty()
    {
        now.last_ip.clone_from(&before.last_ip);
    }
    if let (Some(now), Some(before)) = (&mut now.allocation_pool_v6, &before.allocation_pool_v6)
        && now.last_ip.is_empty()
    {
        now.last_ip.clone_from(&before.last_ip);
    }
    if now.cidr == before.cidr && now.allocation_pool.is_none() {
        now.allocation_pool.clone_from(&before.allocation_pool);
    }
    if now.net6 == before.net6 && now.allocation_pool_v6.is_none() {
        now.allocation_pool_v6.clone_from(&before.allocation_pool_v6);
    }
}

/// Fills in what is missing: the ends of pools, and the masks of a network that is new or has moved.
pub(super) fn fill(now: &mut NetworkOptions, network: &Network, before: Option<&NetworkOptions>) {
    let begin = begin(network);
    if let Some(pool) = &network.ipv4 {
        let given = now.allocation_pool.get_or_insert_default();
        fill_in(&mut given.start, pool.start());
        fill_in(&mut given.end, pool.end());
        if now.alloc.is_empty() && before.is_none_or(|before| before.cidr != now.cidr) {
            now.alloc = begin.ipv4;
        }
    }
    if let Some((pool, within)) = network.ipv6.as_ref().zip(network.tracked6) {
        let given = now.allocation_pool_v6.get_or_insert_default();
        fill_in(&mut given.cidr, within);
        fill_in(&mut given.start, pool.start());
        fill_in(&mut given.end, pool.end());
        if now.alloc6.is_empty() && before.is_none_or(|before| before.net6 != now.net6) {
            now.alloc6 = begin.ipv6;
        }
    }
}

fn fill_in(field: &mut String, value: impl std::fmt::Display) {
    if field.is_empty() {
        *field = value.to_string();
    }
}
