//! Routes that a server gives, in three options of which one counts.
//!
//! Option 121 says everything, and where it is there the others are nothing (RFC 3442), also where it is
//! broken: a server that sends it means other routes than those. Without it, option 33 has networks by
//! class and option 3 the way to everywhere else. An option that breaks its own rules is left out whole:
//! half of a list of routes may be worse than none.

use std::net::Ipv4Addr;

use netloom_types::Ipv4Net;
use serde::{Deserialize, Serialize};

use crate::{
    host_address::{is_a_hosts, is_a_hosts_of},
    options::{Options, code},
};

/// A prefix this short is a way to everywhere, or to half of it: what pulls all traffic of a machine to
/// whoever gives out addresses.
const SHORTEST_SPECIFIC: u8 = 8;

/// A way to a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Route {
    /// Where to.
    pub to: Ipv4Net,
    /// Over which router; on the link itself if none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<Ipv4Addr>,
}

impl Route {
    /// Whether this is a way to one network, rather than to everywhere or to a large part of it.
    pub const fn is_specific(&self) -> bool {
        self.to.prefix_len() >= SHORTEST_SPECIFIC
    }
}

/// What is given and can be used, and whether something was left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Given {
    /// The routes.
    pub(crate) routes: Vec<Route>,
    /// An option broke its own rules.
    pub(crate) malformed: bool,
    /// A router is not on the link, so that there is no way to it.
    pub(crate) unreachable: bool,
}

/// The routes of a message for a client with this address.
pub(crate) fn given(options: &Options, address: Ipv4Net) -> Given {
    let mut given = Given::default();
    let mut read = |code: u8, reader: fn(&[u8]) -> Option<Vec<Route>>| {
        let routes = reader(options.get(code)?);
        given.malformed |= routes.is_none();
        routes
    };
    let routes = if options.get(code::ROUTES).is_some() {
        read(code::ROUTES, classless).unwrap_or_default()
    } else {
        let mut routes = read(code::STATIC_ROUTES, by_class).unwrap_or_default();
        routes.extend(read(code::ROUTERS, default).unwrap_or_default());
        routes
    };
    let reached = |via: &Ipv4Addr| {
        let over_the_link = routes.iter().filter(|route| route.via.is_none()).map(|route| &route.to);
        *via != address.addr() && (is_a_hosts_of(*via, address) || over_the_link.into_iter().any(|to| to.contains(via)))
    };
    for route in &routes {
        if !route.via.as_ref().is_none_or(reached) {
            given.unreachable = true;
        } else if !given.routes.iter().any(|other: &Route| other.to == route.to) {
            given.routes.push(*route);
        }
    }
    given
}

/// Option 121: for each route the length of the prefix, as many bytes of it as matter, and the router.
fn classless(mut bytes: &[u8]) -> Option<Vec<Route>> {
    let mut routes = Vec::new();
    if bytes.is_empty() {
        return None;
    }
    while let Some((length, rest)) = bytes.split_first() {
        let (significant, rest) = rest.split_at_checked(usize::from(length.div_ceil(8)))?;
        let (via, rest) = rest.split_first_chunk::<4>()?;
        let mut network = [0; 4];
        network.get_mut(..significant.len())?.copy_from_slice(significant);
        let to = Ipv4Net::new(network.into(), *length).ok()?.trunc();
        // No router means the link itself.
        let via = if *via == [0; 4] { None } else { Some(router(*via)?) };
        routes.push(Route { to, via });
        bytes = rest;
    }
    Some(routes)
}

/// A router; none when no host has that address, which means that the option is wrong.
fn router(bytes: [u8; 4]) -> Option<Ipv4Addr> {
    Some(Ipv4Addr::from(bytes)).filter(|router| is_a_hosts(*router))
}

/// Option 33: networks without masks, so by class; what has bits beyond its class is a host.
fn by_class(bytes: &[u8]) -> Option<Vec<Route>> {
    let (pairs, rest) = bytes.as_chunks::<8>();
    if pairs.is_empty() || !rest.is_empty() {
        return None;
    }
    let route = |pair: &[u8; 8]| {
        let [network @ .., _, _, _, _] = *pair;
        let [_, _, _, _, via @ ..] = *pair;
        let class = match network[0] {
            0..=127 => 8,
            128..=191 => 16,
            _ => 24,
        };
        let network = Ipv4Addr::from(network);
        let whole = Ipv4Net::new(network, class).ok()?;
        let to = if whole.network() == network { whole } else { Ipv4Net::new(network, 32).ok()? };
        is_a_hosts(network).then_some(())?;
        Some(Route { to, via: Some(router(via)?) })
    };
    pairs.iter().map(route).collect()
}

/// Option 3: the first router is the way to everywhere.
fn default(bytes: &[u8]) -> Option<Vec<Route>> {
    let (routers, rest) = bytes.as_chunks::<4>();
    let first = routers.first().filter(|_| rest.is_empty())?;
    Some(vec![Route { to: Ipv4Net::default(), via: Some(router(*first)?) }])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn routes(options: &Options) -> (Vec<String>, bool, bool) {
        let given = given(options, "192.0.2.9/24".parse().unwrap());
        let text = |route: &Route| match route.via {
            Some(via) => format!("{} {via}", route.to),
            None => format!("{} link", route.to),
        };
        (given.routes.iter().map(text).collect(), given.malformed, given.unreachable)
    }

    fn expect(options: &Options, wanted: &[&str], malformed: bool, unreachable: bool) {
        assert_eq!(routes(options), (wanted.iter().map(ToString::to_string).collect(), malformed, unreachable));
    }

    const ROUTER: [u8; 4] = [192, 0, 2, 1];

    fn classless(parts: &[(&[u8], [u8; 4])]) -> Options {
        let bytes: Vec<u8> = parts.iter().flat_map(|(prefix, router)| [prefix, &router[..]].concat()).collect();
        Options::new().with(121, bytes)
    }

    #[test]
    fn option_121_is_read_by_significant_bytes() {
        let all: &[(&[u8], [u8; 4])] = &[
            (&[0], ROUTER),
            (&[8, 10], ROUTER),
            (&[9, 10, 128], ROUTER),
            (&[20, 172, 16, 0xff], ROUTER),
            (&[32, 198, 51, 100, 7], ROUTER),
            (&[24, 203, 0, 113], [0; 4]),
        ];
        let wanted = [
            "0.0.0.0/0 192.0.2.1",
            "10.0.0.0/8 192.0.2.1",
            "10.128.0.0/9 192.0.2.1",
            "172.16.240.0/20 192.0.2.1",
            "198.51.100.7/32 192.0.2.1",
            "203.0.113.0/24 link",
        ];
        expect(&classless(all), &wanted, false, false);
    }

    #[test]
    fn option_121_makes_the_others_nothing_also_when_it_is_broken() {
        let others = |options: Options| {
            let by_class = [&[10, 0, 0, 0][..], &ROUTER, &[198, 51, 100, 7], &ROUTER].concat();
            options.with(3, ROUTER).with(33, by_class)
        };
        let without = ["10.0.0.0/8 192.0.2.1", "198.51.100.7/32 192.0.2.1", "0.0.0.0/0 192.0.2.1"];
        expect(&others(Options::new()), &without, false, false);
        expect(&others(classless(&[(&[16, 172, 16], ROUTER)])), &["172.16.0.0/16 192.0.2.1"], false, false);
        expect(&others(classless(&[(&[33, 1, 2, 3, 4, 5], ROUTER)])), &[], true, false);
        expect(&others(classless(&[])), &[], true, false);
    }

    #[test]
    fn an_option_that_is_broken_anywhere_is_left_out_whole() {
        let good = [&[8, 10][..], &ROUTER].concat();
        let broken = [
            (121, vec![]),
            (121, [&good[..], &[33, 1, 2, 3, 4, 5], &ROUTER].concat()),
            (121, [&good[..], &[255]].concat()),
            (121, [&good[..], &[24, 1, 2]].concat()),
            (121, good[..5].to_vec()),
            (121, [&[8, 10][..], &[127, 0, 0, 1]].concat()),
            (33, vec![10, 0, 0, 0]),
            (33, [&[0, 0, 0, 0][..], &ROUTER].concat()),
            (33, vec![10, 0, 0, 0, 0, 0, 0, 0]),
            (3, vec![]),
            (3, vec![192, 0, 2, 1, 9]),
            (3, vec![0, 0, 0, 0]),
            (3, vec![224, 0, 0, 1]),
        ];
        for (code, bytes) in broken {
            expect(&Options::new().with(code, bytes), &[], true, false);
        }
    }

    #[test]
    fn a_router_must_be_reached_over_the_link() {
        let far = [203, 0, 113, 1];
        expect(&Options::new().with(3, far), &[], false, true);
        expect(&Options::new().with(3, [192, 0, 2, 9]), &[], false, true);
        expect(&Options::new().with(3, [192, 0, 2, 255]), &[], false, true);
        let over_link = classless(&[(&[32, 203, 0, 113, 1], [0; 4]), (&[0], far)]);
        expect(&over_link, &["203.0.113.1/32 link", "0.0.0.0/0 203.0.113.1"], false, false);
        let twice = classless(&[(&[8, 10], ROUTER), (&[8, 10], [192, 0, 2, 2])]);
        expect(&twice, &["10.0.0.0/8 192.0.2.1"], false, false);
    }

    #[test]
    fn half_of_everywhere_is_not_specific() {
        for (to, wanted) in [("0.0.0.0/0", false), ("0.0.0.0/1", false), ("128.0.0.0/7", false), ("10.0.0.0/8", true)] {
            assert_eq!(Route { to: to.parse().unwrap(), via: None }.is_specific(), wanted);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]
        #[test]
        fn any_bytes_can_be_read(code in prop::sample::select(vec![3u8, 33, 121]), bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let (routes, malformed, unreachable) = routes(&Options::new().with(code, bytes));
            prop_assert!(routes.len() < 16);
            prop_assert!(!routes.is_empty() || malformed || unreachable);
        }
    }
}
