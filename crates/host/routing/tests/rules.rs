//! One case for each rule of order and change: what is sent, line by line.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

use netloom_routing::{Daemon, Release, RoutingConfig, commands};

/// A configuration from lines whose blocks are before them, each followed by ` / `.
fn config(lines: &[&str]) -> RoutingConfig {
    let mut config = RoutingConfig::default();
    for line in lines {
        let path: Vec<&str> = line.split(" / ").collect();
        let (line, context) = path.split_last().unwrap();
        config.add(context, line).unwrap();
    }
    config
}

/// What is sent from one to the other.
fn sent(now: &[&str], wanted: &[&str]) -> Vec<String> {
    commands(&config(now), &config(wanted))
        .into_iter()
        .map(|command| [command.context.as_slice(), &[command.line]].concat().join(" / "))
        .collect()
}

#[test]
fn a_changed_vni_is_removed_before_the_new_one_is_set() {
    let now = &["vrf red / vni 5", "vrf blue / vni 6"];
    let wanted = &["vrf red / vni 6", "vrf blue / vni 5"];
    assert_eq!(sent(now, wanted), ["vrf blue / no vni 6", "vrf red / no vni 5", "vrf blue / vni 5", "vrf red / vni 6"]);
}

#[test]
fn entries_of_lists_are_replaced_in_place_and_stale_ones_go_last() {
    let now = &["ip prefix-list p seq 5 permit 10.0.0.0/8", "ip prefix-list p seq 10 deny any"];
    let wanted = &["ip prefix-list p seq 5 permit 11.0.0.0/8", "ip prefix-list p seq 7 deny any le 8"];
    assert_eq!(
        sent(now, wanted),
        [
            "ip prefix-list p seq 5 permit 11.0.0.0/8",
            "ip prefix-list p seq 7 deny any le 8",
            "no ip prefix-list p seq 10 deny any"
        ]
    );
}

#[test]
fn an_entry_waits_for_another_one_that_says_the_same() {
    let now = &["ip prefix-list p seq 5 permit 10.0.0.0/8", "ip prefix-list p seq 10 permit 11.0.0.0/8"];
    let wanted = &["ip prefix-list p seq 5 permit 11.0.0.0/8", "ip prefix-list p seq 10 permit 10.0.0.0/8"];
    assert_eq!(
        sent(now, wanted),
        [
            "no ip prefix-list p seq 10 permit 11.0.0.0/8",
            "ip prefix-list p seq 5 permit 11.0.0.0/8",
            "ip prefix-list p seq 10 permit 10.0.0.0/8"
        ]
    );
}

#[test]
fn a_prefix_list_is_never_empty_while_its_only_entry_moves() {
    let now = &["ip prefix-list p seq 5 permit 10.0.0.0/8"];
    let wanted = &["ip prefix-list p seq 10 permit 10.0.0.0/8"];
    assert_eq!(
        sent(now, wanted),
        [
            "ip prefix-list p seq 4294967295 deny 255.255.255.255/32",
            "no ip prefix-list p seq 5 permit 10.0.0.0/8",
            "ip prefix-list p seq 10 permit 10.0.0.0/8",
            "no ip prefix-list p seq 4294967295 deny 255.255.255.255/32"
        ]
    );
}

#[test]
fn an_entry_that_permits_gets_a_condition_before_it_loses_one() {
    let now = &["route-map m permit 10 / match community c"];
    let wanted = &["route-map m permit 10 / match ip address prefix-list p"];
    assert_eq!(
        sent(now, wanted),
        ["route-map m permit 10 / match ip address prefix-list p", "route-map m permit 10 / no match community c"]
    );
}

#[test]
fn an_entry_that_denies_loses_a_condition_before_it_gets_one() {
    let now = &["route-map m deny 10 / match community c"];
    let wanted = &["route-map m deny 10 / match ip address prefix-list p"];
    assert_eq!(
        sent(now, wanted),
        ["route-map m deny 10 / no match community c", "route-map m deny 10 / match ip address prefix-list p"]
    );
}

#[test]
fn a_new_entry_of_a_map_in_use_denies_until_it_is_complete() {
    let now = &["route-map m permit 10 / match community c"];
    let wanted = &["route-map m permit 5 / match community d", "route-map m permit 10 / match community c"];
    assert_eq!(
        sent(now, wanted),
        ["route-map m deny 5", "route-map m deny 5 / match community d", "route-map m permit 5"]
    );
}

#[test]
fn an_entry_that_is_to_deny_does_so_first() {
    let now = &["route-map m permit 10 / match community c"];
    let wanted = &["route-map m deny 10 / match community d"];
    assert_eq!(sent(now, wanted), ["route-map m deny 10", "route-map m deny 10 / match community d"]);
}

#[test]
fn a_map_is_closed_while_what_follows_on_a_match_changes() {
    let now = &["route-map m permit 10 / on-match next", "route-map m permit 20 / match community c"];
    let wanted = &["route-map m permit 10 / on-match goto 30", "route-map m permit 20 / match community c"];
    assert_eq!(
        sent(now, wanted),
        ["route-map m deny 9", "route-map m permit 10 / on-match goto 30", "no route-map m deny 9"]
    );
}

#[test]
fn a_map_that_is_called_is_there_first_and_goes_last() {
    let now = &["route-map old permit 10 / call a-old", "route-map a-old permit 10"];
    let wanted = &["route-map new permit 10 / call z-new", "route-map z-new permit 10"];
    assert_eq!(
        sent(now, wanted),
        [
            "route-map z-new permit 10",
            "route-map new permit 10",
            "route-map new permit 10 / call z-new",
            "no route-map old permit 10",
            "no route-map a-old permit 10"
        ]
    );
}

#[test]
fn a_filter_goes_once_another_one_is_attached() {
    let now = &[
        "router bgp 1 / neighbor 10.0.0.1 remote-as 2",
        "router bgp 1 / address-family ipv4 unicast / neighbor 10.0.0.1 prefix-list p in",
        "ip prefix-list p seq 5 permit any",
    ];
    let wanted = &[
        "router bgp 1 / neighbor 10.0.0.1 remote-as 2",
        "router bgp 1 / address-family ipv4 unicast / neighbor 10.0.0.1 route-map m in",
        "route-map m deny 10",
    ];
    assert_eq!(
        sent(now, wanted),
        [
            "route-map m deny 10",
            "router bgp 1 / address-family ipv4 unicast / neighbor 10.0.0.1 route-map m in",
            "router bgp 1 / address-family ipv4 unicast / no neighbor 10.0.0.1 prefix-list p in",
            "no ip prefix-list p seq 5 permit any"
        ]
    );
}

#[test]
fn a_neighbour_is_activated_once_its_filters_are_there() {
    let now = &["router bgp 1"];
    let wanted = &[
        "router bgp 1 / no bgp default ipv4-unicast",
        "router bgp 1 / neighbor 10.0.0.1 remote-as 2",
        "router bgp 1 / neighbor 10.0.0.1 description x",
        "router bgp 1 / address-family ipv4 unicast / neighbor 10.0.0.1 activate",
        "router bgp 1 / address-family ipv4 unicast / neighbor 10.0.0.1 route-map m in",
        "route-map m permit 10 / match community c",
    ];
    assert_eq!(
        sent(now, wanted),
        [
            "route-map m permit 10",
            "route-map m permit 10 / match community c",
            "router bgp 1 / no bgp default ipv4-unicast",
            "router bgp 1 / neighbor 10.0.0.1 remote-as 2",
            "router bgp 1 / neighbor 10.0.0.1 description x",
            "router bgp 1 / address-family ipv4 unicast / neighbor 10.0.0.1 route-map m in",
            "router bgp 1 / address-family ipv4 unicast / neighbor 10.0.0.1 activate"
        ]
    );
}

#[test]
fn a_neighbour_that_changes_its_group_is_made_again() {
    let now = &[
        "router bgp 1 / neighbor G peer-group",
        "router bgp 1 / neighbor G remote-as 2",
        "router bgp 1 / neighbor 10.0.0.1 peer-group G",
        "router bgp 1 / neighbor 10.0.0.1 description x",
    ];
    let wanted = &[
        "router bgp 1 / neighbor G peer-group",
        "router bgp 1 / neighbor G remote-as 2",
        "router bgp 1 / neighbor 10.0.0.1 remote-as 2",
        "router bgp 1 / neighbor 10.0.0.1 description x",
    ];
    assert_eq!(
        sent(now, wanted),
        [
            "router bgp 1 / no neighbor 10.0.0.1",
            "router bgp 1 / neighbor 10.0.0.1 remote-as 2",
            "router bgp 1 / neighbor 10.0.0.1 description x"
        ]
    );
}

#[test]
fn a_neighbour_outside_that_comes_inside_is_made_again() {
    let now = &["router bgp 1 / neighbor 10.0.0.1 remote-as 2", "router bgp 1 / neighbor 10.0.0.1 timers 1 3"];
    let wanted = &["router bgp 1 / neighbor 10.0.0.1 remote-as 1", "router bgp 1 / neighbor 10.0.0.1 timers 1 3"];
    assert_eq!(
        sent(now, wanted),
        [
            "router bgp 1 / no neighbor 10.0.0.1",
            "router bgp 1 / neighbor 10.0.0.1 remote-as 1",
            "router bgp 1 / neighbor 10.0.0.1 timers 1 3"
        ]
    );
}

#[test]
fn another_number_outside_is_set_in_place() {
    let now = &["router bgp 1 / neighbor 10.0.0.1 remote-as 2"];
    let wanted = &["router bgp 1 / neighbor 10.0.0.1 remote-as 3"];
    assert_eq!(sent(now, wanted), ["router bgp 1 / neighbor 10.0.0.1 remote-as 3"]);
}

#[test]
fn what_excludes_each_other_is_removed_first() {
    let now = &["router bgp 1 / neighbor 10.0.0.1 remote-as 2", "router bgp 1 / neighbor 10.0.0.1 ebgp-multihop 3"];
    let wanted =
        &["router bgp 1 / neighbor 10.0.0.1 remote-as 2", "router bgp 1 / neighbor 10.0.0.1 ttl-security hops 2"];
    assert_eq!(
        sent(now, wanted),
        ["router bgp 1 / no neighbor 10.0.0.1 ebgp-multihop 3", "router bgp 1 / neighbor 10.0.0.1 ttl-security hops 2"]
    );
}

#[test]
fn a_group_takes_its_members_along() {
    let now = &[
        "router bgp 1 / neighbor G peer-group",
        "router bgp 1 / neighbor G remote-as 2",
        "router bgp 1 / bgp listen range 10.0.0.0/8 peer-group G",
        "router bgp 1 / neighbor eth0 interface peer-group G",
        "router bgp 1 / address-family ipv4 unicast / neighbor G route-map m in",
    ];
    let wanted = &["router bgp 1"];
    assert_eq!(
        sent(now, wanted),
        ["router bgp 1 / no neighbor eth0 interface peer-group G", "router bgp 1 / no neighbor G peer-group"]
    );
}

#[test]
fn options_that_frr_would_keep_are_removed_first() {
    let now = &["router bgp 1 / address-family ipv4 unicast / redistribute connected route-map m"];
    let wanted = &["router bgp 1 / address-family ipv4 unicast / redistribute connected"];
    assert_eq!(
        sent(now, wanted),
        [
            "router bgp 1 / address-family ipv4 unicast / no redistribute connected route-map m",
            "router bgp 1 / address-family ipv4 unicast / redistribute connected"
        ]
    );
}

#[test]
fn activation_is_spelled_by_its_default() {
    let now = &[
        "router bgp 1 / neighbor 10.0.0.1 remote-as 2",
        "router bgp 1 / neighbor 10.0.0.2 remote-as 2",
        "router bgp 1 / address-family ipv4 unicast / no neighbor 10.0.0.2 activate",
    ];
    let wanted = &[
        "router bgp 1 / no bgp default ipv4-unicast",
        "router bgp 1 / neighbor 10.0.0.1 remote-as 2",
        "router bgp 1 / neighbor 10.0.0.2 remote-as 2",
        "router bgp 1 / address-family ipv4 unicast / neighbor 10.0.0.2 activate",
    ];
    assert_eq!(
        sent(now, wanted),
        [
            "router bgp 1 / no bgp default ipv4-unicast",
            "router bgp 1 / address-family ipv4 unicast / no neighbor 10.0.0.1 activate",
            "router bgp 1 / address-family ipv4 unicast / neighbor 10.0.0.2 activate"
        ]
    );
}

#[test]
fn evpn_is_first_and_imports_come_after_all_instances() {
    let now = &[];
    let wanted = &[
        "vrf blue / vni 5",
        "router bgp 1 / address-family l2vpn evpn / advertise-all-vni",
        "router bgp 1 vrf blue / address-family ipv4 unicast / import vrf red",
        "router bgp 1 vrf red",
        "ip prefix-list p seq 5 permit any",
    ];
    assert_eq!(
        sent(now, wanted),
        [
            "router bgp 1",
            "router bgp 1 / address-family l2vpn evpn / advertise-all-vni",
            "ip prefix-list p seq 5 permit any",
            "vrf blue",
            "vrf blue / vni 5",
            "router bgp 1 vrf blue",
            "router bgp 1 vrf red",
            "router bgp 1 vrf blue / address-family ipv4 unicast / import vrf red"
        ]
    );
}

#[test]
fn what_uses_goes_before_what_is_used() {
    let now = &[
        "vrf blue / vni 5",
        "vrf blue / ip route 10.0.0.0/8 blackhole",
        "router bgp 1 / address-family l2vpn evpn / advertise-all-vni",
        "router bgp 1 vrf blue / address-family ipv4 unicast / import vrf red",
        "router bgp 1 vrf blue / address-family ipv4 unicast / import vrf route-map m",
        "router bgp 1 vrf red",
        "route-map m permit 10 / match ip address prefix-list p",
        "ip prefix-list p seq 5 permit any",
    ];
    let wanted = &[];
    assert_eq!(
        sent(now, wanted),
        [
            "router bgp 1 vrf blue / address-family ipv4 unicast / no import vrf red",
            "vrf blue / no vni 5",
            "no router bgp 1 vrf blue",
            "no router bgp 1 vrf red",
            "no router bgp 1",
            "vrf blue / no ip route 10.0.0.0/8 blackhole",
            "no route-map m permit 10",
            "no ip prefix-list p seq 5 permit any",
            "no vrf blue"
        ]
    );
}

#[test]
fn another_as_number_makes_all_instances_again() {
    let now = &["vrf blue / vni 5", "router bgp 1", "router bgp 1 vrf blue"];
    let wanted = &["vrf blue / vni 5", "router bgp 2", "router bgp 2 vrf blue"];
    assert_eq!(
        sent(now, wanted),
        [
            "vrf blue / no vni 5",
            "no router bgp 1 vrf blue",
            "no router bgp 1",
            "vrf blue / vni 5",
            "router bgp 2",
            "router bgp 2 vrf blue"
        ]
    );
}

#[test]
fn routes_that_drop_go_before_others_come_and_next_hops_overlap() {
    let now = &["vrf blue / ip route 10.1.0.0/16 blackhole", "vrf blue / ip route 10.2.0.0/16 10.9.0.1"];
    let wanted = &["vrf blue / ip route 10.1.0.0/16 10.9.0.1", "vrf blue / ip route 10.2.0.0/16 10.9.0.2"];
    assert_eq!(
        sent(now, wanted),
        [
            "vrf blue / no ip route 10.1.0.0/16 blackhole",
            "vrf blue / ip route 10.1.0.0/16 10.9.0.1",
            "vrf blue / ip route 10.2.0.0/16 10.9.0.2",
            "vrf blue / no ip route 10.2.0.0/16 10.9.0.1"
        ]
    );
}

#[test]
fn values_of_bfd_go_back_to_their_default() {
    let now = &["bfd / profile a / detect-multiplier 5", "bfd / profile b"];
    let wanted = &["bfd / profile a / receive-interval 100"];
    assert_eq!(
        sent(now, wanted),
        ["bfd / profile a / detect-multiplier 3", "bfd / profile a / receive-interval 100", "bfd / no profile b"]
    );
}

#[test]
fn a_list_that_one_of_its_daemons_has_not_is_not_there() {
    let maps = &["ip prefix-list p seq 5 permit 10.0.0.0/8", "route-map m permit 10 / match ip address prefix-list p"];
    let zebra = config(&[maps, &["vrf red / vni 5"][..]].concat());
    let bgpd = config(&[maps, &["router bgp 65001 / bgp router-id 10.0.0.1"][..]].concat());
    let together = |bgpd: &RoutingConfig| {
        let each = [(Daemon::Zebra, zebra.clone()), (Daemon::Bgpd, bgpd.clone())].into();
        RoutingConfig::of_daemons(&each, Release::V8_4)
    };
    assert_eq!(together(&bgpd), zebra.union(&bgpd));
    // It came back with nothing: what zebra still has of lists and maps is sent to both again.
    let left = together(&RoutingConfig::default());
    assert_eq!(left, config(&["vrf red / vni 5"]));
    // The same where the other one did: what only bgpd has of a map is sent with the entry that it stands in.
    let map = config(&["route-map m permit 10 / match community c"]);
    let bgpd = bgpd.union(&map);
    let each = [(Daemon::Zebra, RoutingConfig::default()), (Daemon::Bgpd, bgpd.clone())].into();
    let left_of_bgpd = RoutingConfig::of_daemons(&each, Release::V8_4);
    assert_eq!(left_of_bgpd, config(&["router bgp 65001 / bgp router-id 10.0.0.1"]));
    let again = commands(&left_of_bgpd, &bgpd);
    let opening = |command: &netloom_routing::Command| command.line == "route-map m permit 10";
    assert!(again.iter().any(opening), "{again:?}");
    let again = commands(&left, &zebra.union(&bgpd));
    let missing = again.iter().filter(|command| command.daemons.in_release(Release::V8_4).contains(&Daemon::Bgpd));
    assert_eq!(missing.count(), again.len());
}
