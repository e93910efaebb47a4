//! The picture of used addresses that DANM's programs read: what it begins with, and that it stays.

use netloom_api::podnet::{Masks, Network, NetworkOptions};

/// The masks of a network without pods: the addresses that nobody gets.
pub(super) fn begin(network: &Network) -> Masks {
    network.masks(&[])
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
