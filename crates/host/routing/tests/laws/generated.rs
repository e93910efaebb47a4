//! Configurations that FRR can have, made of the lines that a fabric consists of.

use netloom_routing::RoutingConfig;
use proptest::prelude::*;

/// Any configuration.
pub(crate) fn config() -> impl Strategy<Value = RoutingConfig> {
    prop::collection::vec(any::<u8>(), 0..260).prop_map(|bytes| {
        let mut made = Made { bytes: bytes.into_iter(), config: RoutingConfig::default() };
        made.lists();
        made.route_maps();
        made.vrfs();
        made.instances();
        made.config
    })
}

/// A configuration that grows with each choice. Without choices left, nothing is added, so that shorter inputs are simpler
/// configurations.
struct Made {
    bytes: std::vec::IntoIter<u8>,
    config: RoutingConfig,
}

impl Made {
    /// One of so many; the last one has most of it once nothing is left to choose.
    fn choose(&mut self, of: usize) -> usize {
        of - 1 - usize::from(self.bytes.next().unwrap_or(0)) % of
    }

    /// Yes in about half of the cases.
    fn maybe(&mut self) -> bool {
        self.choose(2) == 0
    }

    /// One of these, or none of them.
    fn one<'a>(&mut self, of: &[&'a str]) -> Option<&'a str> {
        let at = self.choose(of.len() + 1);
        of.get(at).copied()
    }

    fn add(&mut self, context: &[&str], line: &str) {
        self.config.add(context, line).unwrap();
    }

    /// Adds one value of each setting, or none.
    fn settings(&mut self, context: &[&str], settings: &[&[&str]]) {
        for values in settings {
            if let Some(line) = self.one(values) {
                self.add(context, line);
            }
        }
    }

    fn lists(&mut self) {
        for (list, contents) in [
            ("ip prefix-list p1", &["permit 10.0.0.0/8 le 32", "deny any", "permit any"][..]),
            ("ip prefix-list p2", &["permit 11.0.0.0/8", "permit 10.0.0.0/8"]),
            ("bgp community-list standard c1", &["permit 1:2", "deny 1:3", "permit 1:4"]),
        ] {
            // Each sequence number another content: FRR ignores a second entry that says the same.
            let start = self.choose(contents.len());
            for sequence in [5, 10, 15] {
                if self.maybe() {
                    let content = contents.get((sequence / 5 + start) % 3);
                    if let Some(content) = content {
                        self.add(&[], &format!("{list} seq {sequence} {content}"));
                    }
                }
            }
        }
        self.settings(&[], &[&["ip prefix-list p1 description a b", "ip prefix-list p1 description c"]]);
    }

    fn route_maps(&mut self) {
        for map in ["m1", "m2", "m3"] {
            for sequence in [10, 20] {
                let Some(action) = self.one(&["permit", "deny", "permit"]) else { continue };
                let entry = format!("route-map {map} {action} {sequence}");
                self.add(&[], &entry);
                let entry = [entry.as_str()];
                self.settings(
                    &entry,
                    &[
                        &["match ip address prefix-list p1", "match ip address prefix-list p2"],
                        &["match community c1", "match community c1 exact-match"],
                        &["match source-vrf red"],
                        &["set community 1:2 additive", "set community 1:3"],
                        &["set as-path prepend 1", "set as-path prepend last-as 2"],
                        &["description x y", "description z"],
                    ],
                );
                if action == "permit" {
                    self.settings(&entry, &[&["on-match next", "on-match goto 50"]]);
                }
                if map == "m1" {
                    self.settings(&entry, &[&["call m2", "call m3"]]);
                }
            }
        }
    }

    fn vrfs(&mut self) {
        let start = self.choose(3);
        for (at, vrf) in ["red", "blue", "green"].into_iter().enumerate() {
            let Some(kind) = self.one(&["with VNI", "without"]) else { continue };
            let block = format!("vrf {vrf}");
            self.add(&[], &block);
            let block = [block.as_str()];
            if kind == "with VNI" {
                self.add(&block, &format!("vni {}", 100 + (at + start) % 3));
            }
            self.settings(
                &block,
                &[
                    &[
                        "ip route 10.1.0.0/16 blackhole",
                        "ip route 10.1.0.0/16 reject",
                        "ip route 10.1.0.0/16 blackhole tag 5",
                        "ip route 10.1.0.0/16 10.9.0.1",
                        "ip route 10.1.0.0/16 10.9.0.2 eth0",
                    ],
                    &["ip route 10.2.0.0/16 10.9.0.1 nexthop-vrf other", "ip route 10.2.0.0/16 10.9.0.1 200"],
                ],
            );
        }
    }

    fn instances(&mut self) {
        let Some(number) = self.one(&["65001", "65001", "65002"]) else { return };
        let vrfs: Vec<Option<&str>> = [None, Some("red"), Some("blue"), Some("green")]
            .into_iter()
            .filter(|vrf| vrf.is_none() || self.maybe())
            .collect();
        for vrf in &vrfs {
            let instance =
                vrf.map_or_else(|| format!("router bgp {number}"), |vrf| format!("router bgp {number} vrf {vrf}"));
            self.add(&[], &instance);
            self.instance(&instance, number);
            let family = [instance.as_str(), "address-family ipv4 unicast"];
            if vrf.is_none() {
                let evpn = [instance.as_str(), "address-family l2vpn evpn"];
                self.settings(&evpn, &[&["advertise-all-vni"]]);
                if self.maybe() {
                    self.add(&[instance.as_str(), "address-family l2vpn evpn", "vni 500"], "route-target import 8:1");
                }
                continue;
            }
            let imported: Vec<Option<&str>> =
                vrfs.iter().copied().filter(|other| other != vrf && self.maybe()).collect();
            for other in &imported {
                self.add(&family, &format!("import vrf {}", other.unwrap_or("default")));
            }
            if !imported.is_empty() {
                self.settings(&family, &[&["import vrf route-map m1", "import vrf route-map m2"]]);
            }
        }
    }

    fn instance(&mut self, instance: &str, number: &str) {
        let block = [instance];
        let family = [instance, "address-family ipv4 unicast"];
        self.settings(
            &block,
            &[
                &["no bgp ebgp-requires-policy"],
                &["bgp router-id 1.1.1.1", "bgp router-id 1.1.1.2"],
                &["timers bgp 1 3"],
            ],
        );
        let is_off = self.maybe();
        if is_off {
            self.add(&block, "no bgp default ipv4-unicast");
        }
        self.settings(
            &family,
            &[
                &["redistribute connected", "redistribute connected route-map m1", "redistribute connected metric 5"],
                &["network 10.8.0.0/16", "network 10.8.0.0/16 route-map m1"],
            ],
        );
        let inside = format!("remote-as {number}");
        if self.maybe() {
            self.add(&block, "neighbor G peer-group");
            self.add(&block, "neighbor G remote-as 65100");
            self.settings(&block, &[&["bgp listen range 10.7.0.0/24 peer-group G"], &["neighbor G timers 1 3"]]);
            if self.maybe() {
                self.add(&block, "neighbor 10.0.0.2 peer-group G");
            }
            self.activation(&family, "G", is_off);
        }
        if let Some(remote) = self.one(&["remote-as 65100", "remote-as external", &inside, "interface remote-as 65100"])
        {
            let name = if remote.starts_with("interface") { "eth1" } else { "10.0.0.1" };
            self.add(&block, &format!("neighbor {name} {remote}"));
            self.neighbor(instance, name, remote != inside);
            self.activation(&family, name, is_off);
        }
    }

    fn neighbor(&mut self, instance: &str, name: &str, is_outside: bool) {
        let family = [instance, "address-family ipv4 unicast"];
        let mut attribute: Vec<&[&str]> = vec![
            &["description x y", "description z"],
            &["password aa", "password bb"],
            &["timers 1 3", "timers 2 6"],
            &["shutdown", "shutdown message hi"],
        ];
        if is_outside {
            attribute.push(&["ebgp-multihop 3", "ttl-security hops 2"]);
        }
        for values in attribute {
            if let Some(attribute) = self.one(values) {
                self.add(&[instance], &format!("neighbor {name} {attribute}"));
            }
        }
        if self.maybe() {
            self.add(&[instance], &format!("neighbor {name} bfd"));
            if let Some(profile) = self.one(&["fast", "slow"]) {
                self.add(&[instance], &format!("neighbor {name} bfd profile {profile}"));
            }
        }
        for values in [
            &["route-map m1 in", "route-map m2 in"][..],
            &["prefix-list p1 in", "prefix-list p2 in", "distribute-list a in"],
            &["maximum-prefix 5", "maximum-prefix 6"],
        ] {
            if let Some(attribute) = self.one(values) {
                self.add(&family, &format!("neighbor {name} {attribute}"));
            }
        }
    }

    fn activation(&mut self, family: &[&str], name: &str, is_off: bool) {
        if self.maybe() {
            let no = if is_off { "" } else { "no " };
            self.add(family, &format!("{no}neighbor {name} activate"));
        }
    }
}
