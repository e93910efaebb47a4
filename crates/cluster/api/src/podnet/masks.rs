//! The picture of used addresses that DANM's programs read.

use std::net::IpAddr;

use ipnet::IpNet;
use netloom_ipam::{Bitmask, Pool, number};

use crate::podnet::Network;

/// Pools that are larger have no picture.
const MOST: u128 = 65_536;

/// Masks of both families; empty where there is none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Masks {
    /// What `alloc` says.
    pub ipv4: String,
    /// What `alloc6` says.
    pub ipv6: String,
}

impl Network {
    /// The picture while these addresses are used, beside those that nobody gets.
    pub fn masks(&self, used: &[IpAddr]) -> Masks {
        let ipv4 = self.ipv4.as_ref().and_then(|pool| mask(pool, pool.net(), used));
        let ipv6 = self.ipv6.as_ref().zip(self.tracked6).and_then(|(pool, within)| mask(pool, within, used));
        Masks { ipv4: ipv4.unwrap_or_default(), ipv6: ipv6.unwrap_or_default() }
    }
}

fn mask(pool: &Pool, within: IpNet, used: &[IpAddr]) -> Option<String> {
    let (first, last) = (number(within.network()), number(within.broadcast()));
    let bits = last - first + 1;
    let bits = usize::try_from(bits).ok().filter(|_| bits <= MOST)?;
    let mut mask = Bitmask::fresh(bits);
    let mut set = |address: u128| mask.set(usize::try_from(address - first).unwrap_or(usize::MAX));
    for (from, to) in pool.kept_free().ranges() {
        (from.max(first)..=to.min(last)).for_each(&mut set);
    }
    used.iter().filter(|address| within.contains(*address)).for_each(|address| set(number(*address)));
    Some(mask.encode())
}
