//! Random documents over a small set of names, so that they meet each other often.

use proptest::prelude::*;

fn pick(words: &'static [&'static str]) -> impl Strategy<Value = String> {
    prop::sample::select(words).prop_map(str::to_owned)
}

fn maybe(strategy: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    prop::option::of(strategy).prop_map(Option::unwrap_or_default)
}

fn several(words: &'static [&'static str]) -> impl Strategy<Value = Vec<String>> {
    prop::sample::subsequence(words, 0..=words.len().min(3)).prop_map(|s| s.into_iter().map(str::to_owned).collect())
}

/// Keys that any interface may have, each with a comma before it.
fn details() -> impl Strategy<Value = String> {
    (maybe(common()), maybe(ipv4()), maybe(ipv6())).prop_map(|(a, b, c)| format!("{a}{b}{c}"))
}

fn common() -> impl Strategy<Value = String> {
    pick(&[
        ", state: up",
        ", state: down",
        ", mtu: 1400",
        ", mtu: 1500",
        ", mac-address: '02:aa:00:00:00:01'",
        ", description: uplink",
        ", description: 'a: b'",
        ", alt-names: [{name: further}]",
        ", alt-names: [{name: further, state: absent}]",
        ", accept-all-mac-addresses: true",
        ", sysctl: {ipv4: {rp-filter: 2, proxy-arp: true}}",
        ", sysctl: {ipv6: {accept-ra: 0}}",
        ", controller: ''",
        ", controller: br0",
        ", controller: vrf0",
        ", fdb: [{mac-address: '02:bb:00:00:00:01', on-device: true}]",
    ])
}

fn ipv4() -> impl Strategy<Value = String> {
    pick(&[
        ", ipv4: {enabled: false}",
        ", ipv4: {enabled: true, address: [{ip: 10.0.0.1, prefix-length: 24}]}",
        ", ipv4: {enabled: true, address: [{ip: 10.0.0.2, prefix-length: 24}, {ip: 10.0.0.1, prefix-length: 24}]}",
        ", ipv4: {enabled: true, address: [{ip: 10.1.0.1, prefix-length: 16}], forwarding: true}",
        ", ipv4: {enabled: true, address: []}",
        ", ipv4: {address: [{ip: 10.2.0.1, prefix-length: 24}], prefix-route-metric: 50}",
        ", ipv4: {enabled: true, neighbors: [{ip: 10.0.0.9, linkLayerAddress: '02:cc:00:00:00:01'}]}",
        ", ipv4: {enabled: true, dhcp: false}",
    ])
}

fn ipv6() -> impl Strategy<Value = String> {
    pick(&[
        ", ipv6: {enabled: false}",
        ", ipv6: {enabled: true}",
        ", ipv6: {enabled: true, address: [{ip: 'fd00::1', prefix-length: 64}]}",
        ", ipv6: {enabled: true, address: [{ip: 'fd00::2', prefix-length: 64}, {ip: 'fd00::1', prefix-length: 64}], autoconf: false}",
        ", ipv6: {enabled: true, address: []}",
    ])
}

fn port() -> impl Strategy<Value = String> {
    pick(&[
        "",
        "",
        ", stp-hairpin-mode: true",
        ", isolated: true, learning: false",
        ", vlan: {}",
        ", vlan: {mode: access, tag: 10}",
        ", vlan: {mode: trunk, trunk-tags: [{id: 10}, {id-range: {min: 20, max: 30}}]}",
        ", vlan: {mode: trunk, enable-native: true, tag: 5, trunk-tags: [{id: 10}]}",
        ", vlans: [{id: 7, untagged: true, pvid: true}, {id: 8, untagged: true}]",
    ])
}

fn bridge() -> impl Strategy<Value = String> {
    let options = pick(&[
        ", options: {stp: {enabled: true, priority: 4096}}",
        ", options: {mac-ageing-time: 100, multicast-snooping: false}",
        ", options: {vlan-filtering: true}",
        ", options: {vlan-filtering: false}",
        ", vlans: [{id: 10}, {id: 1, untagged: true, pvid: true}]",
        ", allow-extra-ports: true",
    ]);
    let ports = several(&["eth1", "eth2", "d0", "d1", "bond0", "x0", "g0", "m0"]);
    let ports = (ports, prop::collection::vec(port(), 4)).prop_map(|(names, roles)| {
        let items: Vec<String> =
            names.iter().zip(roles).map(|(name, role)| format!("{{name: {name}{role}}}")).collect();
        format!(", port: [{}]", items.join(", "))
    });
    (pick(&["br0", "br1"]), details(), maybe(options), maybe(ports)).prop_map(|(name, details, options, ports)| {
        let body = format!("{options}{ports}");
        let body = body.strip_prefix(", ").unwrap_or(&body);
        format!("{{name: {name}, type: linux-bridge{details}, bridge: {{{body}}}}}")
    })
}

fn bond() -> impl Strategy<Value = String> {
    let modes = pick(&[
        "mode: active-backup",
        "mode: active-backup, options: {miimon: 100, primary_reselect: better}",
        "mode: 802.3ad, options: {lacp_rate: fast, miimon: 140}",
        "mode: balance-rr",
        "mode: balance-xor, options: {arp_interval: 100, arp_ip_target: '10.0.0.3,10.0.0.4'}",
    ]);
    let ports = maybe(several(&["eth2", "eth3", "d1"]).prop_map(|names| format!(", port: [{}]", names.join(", "))));
    (modes, ports, details()).prop_map(|(mode, ports, details)| {
        format!("{{name: bond0, type: bond{details}, link-aggregation: {{{mode}{ports}}}}}")
    })
}

fn vrf() -> impl Strategy<Value = String> {
    let ports =
        maybe(several(&["eth1", "d0", "v1", "br0"]).prop_map(|names| format!(", port: [{}]", names.join(", "))));
    (pick(&["100", "101"]), ports, details()).prop_map(|(table, ports, details)| {
        format!("{{name: vrf0, type: vrf{details}, vrf: {{route-table-id: {table}{ports}}}}}")
    })
}

fn plain() -> impl Strategy<Value = String> {
    let what = pick(&[
        "name: d0, type: dummy",
        "name: d1, type: dummy",
        "name: eth0",
        "name: eth1, type: ethernet",
        "name: eth2",
        "name: eth3",
        "name: lo",
        "name: v1, type: vlan, vlan: {base-iface: eth0, id: 1}",
        "name: v1, type: vlan, vlan: {base-iface: eth0, id: 2, egress-qos-map: [{from: 1, to: 2}]}",
        "name: v2, type: vlan, vlanID: 3, vlanbase: d0",
        "name: v2, type: vlan, vlan: {base-iface: br0, id: 3, loose-binding: true}",
        "name: x0, type: vxlan, vxlan: {id: 42, local: 10.0.0.1, remote: 10.0.0.9}",
        "name: x0, type: vxlan, vxlan: {id: 43, base-iface: eth0, learning: false}",
        "name: p0, type: veth, veth: {peer: p1}",
        "name: p1, type: veth, veth: {peer: p0}",
        "name: m0, type: mac-vlan, mac-vlan: {base-iface: eth0, mode: bridge}",
        "name: m0, type: mac-vlan, mac-vlan: {base-iface: eth0, mode: private}",
        "name: i0, type: ipvlan, ipvlan: {base-iface: eth3, mode: l2, private: true}",
        "name: t0, type: ip-tunnel, ip-tunnel: {mode: ipip, local: 10.0.0.1, remote: 10.0.0.2, ttl: 64}",
        "name: g0, type: gretap, gre: {local: 10.0.0.1, remote: 10.0.0.2, key: 7}",
    ]);
    (what, details()).prop_map(|(what, details)| format!("{{{what}{details}}}"))
}

fn gone() -> impl Strategy<Value = String> {
    pick(&["d0", "d1", "v1", "v2", "br0", "br1", "bond0", "vrf0", "x0", "p0", "m0", "i0", "t0", "g0"])
        .prop_map(|name| format!("{{name: {name}, state: absent}}"))
}

fn route() -> impl Strategy<Value = String> {
    pick(&[
        "{destination: 192.0.2.0/24, next-hop-interface: eth0}",
        "{destination: 192.0.2.0/24, next-hop-interface: d0, metric: 10}",
        "{destination: 198.51.100.7/24, next-hop-interface: d0, next-hop-address: 10.0.0.9}",
        "{destination: 0.0.0.0/0, next-hop-interface: eth0, next-hop-address: 10.0.0.7, weight: 1}",
        "{destination: 0.0.0.0/0, next-hop-interface: eth0, next-hop-address: 10.0.0.8, weight: 2}",
        "{destination: 203.0.113.0/24, route-type: blackhole, table-id: 300}",
        "{destination: 'fd01::/64', next-hop-interface: eth0, next-hop-address: 'fd00::9'}",
        "{destination: 'fd02::/64', next-hop-interface: d0}",
        "{destination: 'fd03::/64', route-type: unreachable}",
        "{destination: 10.9.0.0/16, next-hop-interface: d0, vrf-name: vrf0}",
        "{state: absent, destination: 192.0.2.0/24}",
        "{state: absent, next-hop-interface: eth0}",
        "{state: absent, next-hop-address: 10.0.0.8}",
        "{state: absent, table-id: 300}",
    ])
}

fn rule() -> impl Strategy<Value = String> {
    pick(&[
        "{ip-from: 10.0.0.0/8, route-table: 100}",
        "{ip-to: 'fd00::/8', route-table: 100}",
        "{family: ipv4, iif: eth0, route-table: 300, priority: 1000}",
        "{ip-from: 10.0.0.0/8, fwmark: 0x10, fwmask: 0xff, action: prohibit}",
        "{family: ipv6, oif: eth1, ip-protocol: tcp, destination-port: 80-90, invert: true}",
        "{state: absent, ip-from: 10.0.0.0/8}",
        "{state: absent, route-table: 100}",
        "{state: absent, ip-from: ''}",
    ])
}

fn system() -> impl Strategy<Value = String> {
    pick(&[
        "dns-resolver: {config: {server: [192.0.2.53], search: [example.org], options: [rotate]}}\n",
        "dns-resolver: {config: {}}\n",
        "hostname: {running: node1, config: node1}\n",
        "hostname: {running: node2}\n",
    ])
}

/// The text of a document; not every one is taken.
pub(crate) fn text() -> impl Strategy<Value = String> {
    let interface = prop_oneof![3 => plain(), 2 => bridge(), 1 => bond(), 1 => vrf(), 2 => gone()];
    let interfaces = prop::collection::vec(interface, 0..4);
    let routes = prop::collection::vec(route(), 0..3);
    let rules = prop::collection::vec(rule(), 0..3);
    (interfaces, routes, rules, maybe(system())).prop_map(|(interfaces, routes, rules, system)| {
        format!(
            "{system}interfaces: [{}]\nroutes: {{config: [{}]}}\nroute-rules: {{config: [{}]}}\n",
            interfaces.join(", "),
            routes.join(", "),
            rules.join(", ")
        )
    })
}
