//! Laws of sets, blocks and shares, and what DANM's own values look like.

use std::collections::{BTreeMap, BTreeSet};

use netloom_ipam::{
    BadPool, BadVniRange, Bitmask, Block, Given, Holding, Numbers, Pool, VniKind, VniRange, default_v6_pool, share,
};
use proptest::prelude::*;

fn members(set: &Numbers) -> BTreeSet<u128> {
    set.ranges().flat_map(|(first, last)| first..=last).collect()
}

fn set(ranges: &[(u128, u128)]) -> Numbers {
    let mut set = Numbers::new();
    for (first, length) in ranges {
        set.insert(*first, first + length);
    }
    set
}

fn ranges() -> impl Strategy<Value = Vec<(u128, u128)>> {
    prop::collection::vec((0_u128..60, 0_u128..12), 0..8)
}

proptest! {
    #[test]
    fn a_set_is_the_set_of_its_members(a in ranges(), b in ranges(), at in 0_u128..80, count in 0_u32..40) {
        let (left, right) = (set(&a), set(&b));
        let (left_members, right_members) = (members(&left), members(&right));
        prop_assert_eq!(left.count(), u128::try_from(left_members.len()).expect("a count"));
        prop_assert_eq!(left.contains(at), left_members.contains(&at));
        prop_assert_eq!(left.at_or_after(at), left_members.range(at..).next().copied());
        prop_assert_eq!(members(&left.without(&right)), &left_members - &right_members);
        prop_assert_eq!(members(&left.both(&right)), &left_members & &right_members);
        prop_assert_eq!(members(&left.lowest(count.into())), left_members.iter().copied().take(usize::try_from(count).expect("a count")).collect());
        prop_assert_eq!(members(&left.highest(count.into())), left_members.iter().rev().copied().take(usize::try_from(count).expect("a count")).collect());
        let mut sum = left.clone();
        sum.add(&right);
        prop_assert_eq!(members(&sum), &left_members | &right_members);
        let pairs: Vec<_> = sum.ranges().collect();
        prop_assert!(pairs.windows(2).all(|two| two[0].1 + 1 < two[1].0), "ranges touch: {pairs:?}");
    }

    #[test]
    fn addresses_are_read_as_they_are_written(a in ranges()) {
        let set = set(&a);
        let like = "0.0.0.0".parse().expect("an address");
        let texts = set.to_addresses(like);
        prop_assert_eq!(Numbers::of_addresses(texts.iter().map(String::as_str)).expect("own texts"), set);
    }

    #[test]
    fn no_text_panics(text in ".{0,40}") {
        let _ = Numbers::of_addresses([text.as_str()]);
        let _ = Bitmask::decode(&text);
        let _ = VniRange::parse(VniKind::Vlan, &text);
        let _ = VniRange::parse(VniKind::Vxlan, &text);
    }

    #[test]
    fn a_bitmask_is_read_as_it_is_written(bits in 1_usize..3000, set in prop::collection::vec(0_usize..3000, 0..20)) {
        let mut mask = Bitmask::zero(bits);
        for bit in &set {
            mask.set(*bit);
        }
        let again = Bitmask::decode(&mask.encode()).expect("own text");
        prop_assert!((0..3000).all(|bit| again.get(bit) == (set.contains(&bit) && bit < mask.bits())));
    }

    /// Nodes ask, get, use, release and return in any order, with answers that are late: no address is in two places.
    #[test]
    fn an_address_is_never_with_two_nodes(
        size in 1_u128..40,
        acts in prop::collection::vec((0_usize..4, 0_u8..6, 0_u128..20), 1..120),
    ) {
        let pool = Numbers::range(100, 99 + size);
        let mut nodes: Vec<Block<u32>> = (0..4).map(|_| Block::default()).collect();
        // What the server has of each node: what it was given, what it returned, what it wants.
        let mut stored = vec![Holding::default(); 4];
        let mut owner = 0;
        for (node, act, number) in acts {
            match act {
                0 => {
                    stored[node].wanted = number;
                    stored[node].needed = number / 2;
                }
                1 => {
                    owner += 1;
                    nodes[node].next(owner, &anything());
                }
                2 => {
                    let first = nodes[node].used().next().map(|(address, owner)| (address, *owner));
                    if let Some((address, owner)) = first {
                        prop_assert!(nodes[node].release(address, &owner));
                    }
                }
                3 => {
                    nodes[node].give_back(number);
                    stored[node].returned = nodes[node].returned().clone();
                }
                4 => nodes[node].given(stored[node].given.clone()),
                _ => {
                    for (holding, Given { ranges, .. }) in share(&pool, &stored).into_iter().enumerate() {
                        stored[holding].given = ranges;
                    }
                }
            }
            // A node writes what it returns whenever it takes what it was given.
            stored[node].returned = nodes[node].returned().clone();
            let mut seen = BTreeMap::new();
            for (at, node) in nodes.iter().enumerate() {
                for (address, _) in node.used() {
                    prop_assert!(pool.contains(address));
                    prop_assert!(seen.insert(address, at).is_none(), "{address} is with two nodes");
                }
            }
        }
    }
}

#[test]
fn the_last_address_goes_to_who_waits_for_it() {
    let pool = Numbers::range(1, 10);
    let mut nodes: Vec<Block<u32>> = vec![Block::default(), Block::default()];
    let mut stored = vec![Holding { needed: 1, wanted: 10, ..Holding::default() }, Holding::default()];
    let settle = |nodes: &mut Vec<Block<u32>>, stored: &mut Vec<Holding>| {
        for _ in 0..4 {
            for (at, given) in share(&pool, stored).into_iter().enumerate() {
                stored[at].given = given.ranges.clone();
                nodes[at].given(given.ranges);
                if let Some(keep) = given.spare {
                    nodes[at].give_back(keep);
                }
                stored[at].returned = nodes[at].returned().clone();
            }
        }
    };
    settle(&mut nodes, &mut stored);
    assert_eq!(nodes[0].next(1, &anything()), Some(1));
    stored[1] = Holding { needed: 9, wanted: 10, ..Holding::default() };
    settle(&mut nodes, &mut stored);
    let all: Vec<u128> = std::iter::from_fn(|| nodes[1].next(2, &anything())).collect();
    assert_eq!(all, (2..=10).collect::<Vec<_>>());
}

#[test]
fn the_next_address_is_not_the_one_that_was_just_released() {
    let mut block = Block::default();
    block.given(Numbers::range(1, 3));
    assert_eq!(block.next('a', &anything()), Some(1));
    assert!(block.release(1, &'a'));
    assert_eq!(block.next('b', &anything()), Some(2));
    assert_eq!(block.next('c', &anything()), Some(3));
    assert_eq!(block.next('d', &anything()), Some(1));
    assert_eq!(block.next('e', &anything()), None);
    assert!(!block.release(2, &'a'), "somebody else has it");
    assert!(block.take(2, 'a').is_err());
    assert!(block.take(2, 'b').is_ok());
}

#[test]
fn masks_look_like_those_of_danm() {
    assert_eq!(Bitmask::fresh(64).encode(), "gAAAAAAAAAE=");
    let mut mask = Bitmask::fresh(64);
    mask.set(1);
    assert_eq!(mask.encode(), "wAAAAAAAAAE=");
    assert_eq!(Bitmask::fresh(4).encode(), "kA==");
    assert_eq!(Bitmask::fresh(16).encode(), "gAE=");
    let range = VniRange::parse(VniKind::Vxlan, "600-700").expect("a range");
    assert_eq!(range.mask(&Numbers::range(600, 600)).expect("a mask").encode().len(), 836);
    let high = VniRange::parse(VniKind::Vxlan, "600-6000").expect("a range");
    assert!(high.mask(&Numbers::new()).is_none());
}

#[test]
fn ranges_of_numbers_are_read_strictly() {
    let read = |kind, text| VniRange::parse(kind, text).map(|range| range.numbers().to_string());
    assert_eq!(read(VniKind::Vlan, "200, 100-109,105-111"), Ok("100-111,200".to_owned()));
    assert_eq!(read(VniKind::Vlan, "1-4094"), Ok("1-4094".to_owned()));
    assert_eq!(read(VniKind::Vlan, "4095"), Err(BadVniRange::OutOfRange { kind: VniKind::Vlan, number: 4095 }));
    assert_eq!(read(VniKind::Vxlan, "4095"), Ok("4095".to_owned()));
    assert_eq!(read(VniKind::Vxlan, "0-5"), Err(BadVniRange::OutOfRange { kind: VniKind::Vxlan, number: 0 }));
    assert_eq!(read(VniKind::Vlan, "9-3"), Err(BadVniRange::Order("9-3".to_owned())));
    assert_eq!(read(VniKind::Vlan, " "), Err(BadVniRange::Empty));
    for text in ["a", "1-", "-1", "1,,2", "1-2-3", "+1", "0x10"] {
        assert!(matches!(read(VniKind::Vlan, text), Err(BadVniRange::Form(_))), "{text}");
    }
    let range = VniRange::parse(VniKind::Vlan, "10-12").expect("a range");
    assert_eq!(range.lowest_free(&Numbers::range(10, 11)), Some(12));
    assert_eq!(range.lowest_free(&Numbers::range(1, 20)), None);
}

#[test]
fn a_pool_keeps_network_broadcast_and_gateways_free() {
    let net = "192.0.2.0/28".parse().expect("a network");
    let gateway = "192.0.2.5".parse().expect("an address");
    let pool = Pool::new(net, net, None, None, vec![gateway]).expect("a pool");
    assert_eq!(pool.dynamic().to_addresses(pool.like()), ["192.0.2.1-192.0.2.4", "192.0.2.6-192.0.2.14"]);
    let may = |text: &str| pool.may_be_asked_for(text.parse().expect("an address"));
    assert!(may("192.0.2.14") && !may("192.0.2.15") && !may("192.0.2.0") && !may("192.0.2.5") && !may("192.0.3.1"));
    let address = |text: &str| Some(text.parse().expect("an address"));
    let single = Pool::new(net, net, address("192.0.2.7"), address("192.0.2.7"), Vec::new()).expect("one address");
    assert_eq!(single.dynamic().count(), 1);
    let wrong = Pool::new(net, net, address("192.0.2.8"), address("192.0.2.7"), Vec::new());
    assert!(matches!(wrong, Err(BadPool::Order(..))));
    assert!(matches!(Pool::new(net, net, address("192.0.3.8"), None, Vec::new()), Err(BadPool::Start(..))));
    assert!(matches!(Pool::new(net, net, None, address("192.0.3.8"), Vec::new()), Err(BadPool::End(..))));
    let tiny = "192.0.2.0/31".parse().expect("a network");
    assert!(matches!(Pool::new(tiny, tiny, None, None, Vec::new()), Err(BadPool::TooSmall(_))));
}

#[test]
fn the_pool_of_a_network_of_ipv6_fits_beside_that_of_ipv4() {
    let pool = |net6: &str, v4| default_v6_pool(net6.parse().expect("a network"), v4).to_string();
    assert_eq!(pool("2001:db8::/64", None), "2001:db8::/105");
    assert_eq!(pool("2001:db8::/64", Some(24)), "2001:db8::/106");
    assert_eq!(pool("2001:db8::/64", Some(10)), "2001:db8::/107");
    assert_eq!(pool("2001:db8::/120", Some(24)), "2001:db8::/120");
    assert_eq!(pool("64:ff9b::/96", None), "64:ff9b::/105");
}

/// A pool without bounds.
fn anything() -> Numbers {
    Numbers::range(0, u128::MAX)
}

#[test]
fn what_is_asked_for_by_name_goes_to_the_first_and_is_asked_back_from_who_has_it() {
    let named = |number: u128| Numbers::range(number, number);
    let asks = |number: u128| Holding { asked: named(number), needed: 1, wanted: 1, ..Holding::default() };
    let pool = Numbers::range(1, 9);
    let given = share(&pool, &[asks(200), asks(200)]);
    assert_eq!(
        (given[0].ranges.contains(200), given[1].ranges.contains(200)),
        (true, false),
        "outside of the pool too"
    );
    assert!(given[0].back.contains(200));
    let has = Holding { given: Numbers::range(1, 4), needed: 4, wanted: 4, ..Holding::default() };
    let given = share(&pool, &[has.clone(), asks(3)]);
    assert_eq!(given[0].back, named(3));
    assert!(!given[1].ranges.contains(3));
    let returned = Holding { returned: named(3), ..has };
    assert!(share(&pool, &[returned, asks(3)])[1].ranges.contains(3));

    let mut block = Block::default();
    block.given(Numbers::range(1, 4));
    block.reserve(named(1));
    assert_eq!(block.next('a', &anything()), Some(2), "it waits for the pod that asks for it");
    block.give_back_these(&Numbers::range(1, 3));
    assert_eq!(*block.returned(), named(3), "neither what is used nor what is kept");
    assert!(block.has(1) && block.take(1, 'b').is_ok());
}
