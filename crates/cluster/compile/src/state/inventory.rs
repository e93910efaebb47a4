//! The links that a node reports, as far as policies look at them.
//!
//! Reports come from our agents in today's spelling, and may be old ones in that of 2018. What
//! cannot be understood is taken as not reported: a report is no desired state and is never refused. Hardware
//! addresses, counters and lengths of queues are left out, so that equal machines have equal
//! inventories.

use std::collections::{BTreeMap, BTreeSet};

use netloom_nmstate::MADE_FOR_CONFIG;
use serde_json::Value;

/// Links by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Inventory {
    /// The links.
    pub links: BTreeMap<String, Link>,
}

/// One link.
#[expect(clippy::struct_excessive_bools, reason = "facts about a link that do not depend on each other")]
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Link {
    /// The type as in a document, such as `ethernet`.
    pub kind: String,
    /// Whether it is up.
    pub up: bool,
    /// The largest packet that it sends.
    pub mtu: Option<u64>,
    /// The id of a VLAN.
    pub vlan: Option<u16>,
    /// The link that it stands on.
    pub base: Option<String>,
    /// The bond, bridge or VRF that it is a port of.
    pub controller: Option<String>,
    /// The mode of a bond.
    pub bond_mode: Option<String>,
    /// Whether it has an address that is not only for its own wire, or asks for one.
    pub has_ip: bool,
    /// Whether it has an IPv4 address, or asks for one.
    pub has_ipv4: bool,
    /// Whether an agent made it.
    pub made: bool,
    /// Whether an agent made it for the node's desired state.
    pub desired: bool,
    /// Whether an agent made it for host networks, perhaps for the desired state too.
    pub hosted: bool,
    /// The VLANs that a bridge itself has without a tag, from first to last; what every bridge has is not listed.
    pub untagged: Vec<(u16, u16)>,
    /// Whether the node has listened long enough to say that nobody else is on the wire.
    pub listened: bool,
    /// Who announces itself on its wire.
    pub neighbours: BTreeSet<Neighbour>,
}

/// A neighbour that announces itself by the Link Layer Discovery Protocol.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Neighbour {
    /// Which machine it is.
    pub chassis: String,
    /// The VLANs that it has on this wire.
    pub vlans: BTreeSet<u16>,
}

impl Inventory {
    /// Reads a report.
    pub fn read(report: &Value) -> Self {
        let mut links = BTreeMap::new();
        // What a large host has many of is only in the summary of its report.
        let folded = netloom_nmstate::unfold(report);
        let listed = report.get("interfaces").and_then(Value::as_array).into_iter().flatten();
        let interfaces: Vec<&Value> = listed.chain(&folded).collect();
        for interface in interfaces.iter().copied() {
            let Some(name) = text(interface, "name") else { continue };
            // A link that the node was asked to leave alone is nobody's to match.
            if text(interface, "state") != Some("ignore") {
                links.entry(name.to_owned()).or_insert_with(|| link(interface));
            }
        }
        let ports: Vec<(String, String)> = interfaces
            .iter()
            .flat_map(|interface| {
                let controller = text(interface, "name").unwrap_or_default();
                reported_ports(interface).into_iter().map(move |port| (port, controller.to_owned()))
            })
            .collect();
        for (port, controller) in ports {
            if let Some(link) = links.get_mut(&port) {
                link.controller.get_or_insert(controller);
            }
        }
        // What a VLAN has like its base is not always given.
        let of_bases: Vec<(String, u64)> = links
            .iter()
            .filter(|(_, link)| link.kind == "vlan" && link.mtu.is_none())
            .filter_map(|(name, link)| Some((name.clone(), links.get(link.base.as_ref()?)?.mtu?)))
            .collect();
        for (name, mtu) in of_bases {
            links.entry(name).and_modify(|link| link.mtu = Some(mtu));
        }
        Self { links }
    }

    /// The link of that name.
    pub fn get(&self, name: &str) -> Option<&Link> {
        self.links.get(name)
    }

    /// The links that were made for host networks which do not want them any more.
    pub(crate) fn leaving(&self, wanted: impl Fn(&str) -> bool) -> BTreeSet<&str> {
        let hosted = self.links.iter().filter(|(_, link)| link.hosted).map(|(name, _)| name.as_str());
        hosted.filter(|name| !wanted(name)).collect()
    }

    /// The links whose packets go through that one: those that stand on it, those that these are ports of, and so on;
    /// in the order of their names.
    pub fn above<'a>(&'a self, name: &str) -> BTreeMap<&'a str, &'a Link> {
        let mut upper_of: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (name, link) in &self.links {
            let stands = link.base.as_deref().map(|base| (base, name.as_str()));
            let port = link.controller.as_deref().map(|controller| (name.as_str(), controller));
            for (lower, upper) in stands.into_iter().chain(port) {
                upper_of.entry(lower).or_default().push(upper);
            }
        }
        let mut found = BTreeMap::new();
        let mut floors = vec![name];
        while let Some(floor) = floors.pop() {
            let uppers = upper_of.get(floor).into_iter().flatten();
            for (upper, link) in uppers.filter_map(|upper| self.links.get_key_value(*upper)) {
                if found.insert(upper.as_str(), link).is_none() {
                    floors.push(upper);
                }
            }
        }
        found
    }
}

impl Link {
    /// Whether a bridge itself has that VLAN without a tag.
    pub fn has_untagged(&self, vlan: u16) -> bool {
        self.untagged.iter().any(|(first, last)| (*first..=*last).contains(&vlan))
    }

    /// The VLANs that its neighbours announce.
    pub fn announced_vlans(&self) -> BTreeSet<u16> {
        self.neighbours.iter().flat_map(|neighbour| neighbour.vlans.iter().copied()).collect()
    }

    /// The machines on its wire.
    pub fn chassis(&self) -> BTreeSet<&str> {
        self.neighbours.iter().map(|neighbour| neighbour.chassis.as_str()).filter(|id| !id.is_empty()).collect()
    }
}

fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key)?.as_str()
}

/// A number that may be written as a text.
fn number(value: &Value) -> Option<u16> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok()).and_then(|number| u16::try_from(number).ok())
}

fn link(interface: &Value) -> Link {
    let block =
        |keys: &[&str], inner: &str| keys.iter().find_map(|key| text(interface.get(key)?, inner)).map(str::to_owned);
    let vlan = interface.get("vlan").and_then(|vlan| vlan.get("id")).or_else(|| interface.get("vlanID"));
    let base = ["vlan", "vxlan", "mac-vlan", "mac-vtap", "ipvlan"]
        .iter()
        .find_map(|key| text(interface.get(key)?, "base-iface"))
        .or_else(|| text(interface, "vlanbase"));
    Link {
        kind: text(interface, "type").unwrap_or("unknown").to_owned(),
        up: text(interface, "state") == Some("up"),
        mtu: interface.get("mtu").and_then(Value::as_u64),
        vlan: vlan.and_then(number),
        base: base.filter(|base| !base.is_empty()).map(str::to_owned),
        controller: text(interface, "controller").filter(|name| !name.is_empty()).map(str::to_owned),
        bond_mode: block(&["link-aggregation", "linkaggregation"], "mode"),
        has_ip: ["ipv4", "ipv6"].iter().filter_map(|family| interface.get(family)).any(has_ip)
            || interface.get("addressed") == Some(&Value::Bool(true)),
        has_ipv4: interface.get("ipv4").is_some_and(has_ip),
        made: text(interface, "madeBy").is_some(),
        desired: text(interface, "madeFor").is_some_and(|object| object != MADE_FOR_CONFIG),
        hosted: text(interface, "madeFor") == Some(MADE_FOR_CONFIG),
        untagged: untagged(interface),
        // A node that has only just begun to listen leaves the list out.
        listened: interface.pointer("/lldp/neighbors").is_some_and(Value::is_array),
        neighbours: neighbours(interface),
    }
}

fn reported_ports(interface: &Value) -> Vec<String> {
    let list = |block: &str, key: &str| interface.get(block).and_then(|block| block.get(key)?.as_array());
    let lists = [("bridge", "port"), ("link-aggregation", "port"), ("linkaggregation", "slaves"), ("vrf", "port")];
    let found = lists.iter().find_map(|(block, key)| list(block, key));
    let name = |port: &Value| port.as_str().or_else(|| text(port, "name")).map(str::to_owned);
    found.into_iter().flatten().filter_map(name).collect()
}

fn untagged(bridge: &Value) -> Vec<(u16, u16)> {
    let entries = bridge.pointer("/bridge/vlans").and_then(Value::as_array).into_iter().flatten();
    let untagged = entries.filter(|entry| entry.get("untagged") == Some(&Value::Bool(true)));
    let ends = |entry: &Value| {
        let one = entry.get("id").and_then(number).map(|id| (id, id));
        let end = |key: &str| entry.get("id-range")?.get(key).and_then(number);
        one.or_else(|| end("min").zip(end("max")))
    };
    untagged.filter_map(ends).collect()
}

fn has_ip(family: &Value) -> bool {
    if family.get("enabled") == Some(&Value::Bool(false)) {
        return false;
    }
    let leased = family.get("dhcp") == Some(&Value::Bool(true));
    let addresses = family.get("address").and_then(Value::as_array).into_iter().flatten();
    leased || addresses.filter_map(|address| text(address, "ip")).any(|ip| !is_link_local(ip))
}

/// Every IPv6 link gives itself such an address; it says nothing about what the link is for.
fn is_link_local(ip: &str) -> bool {
    ip.parse::<std::net::Ipv6Addr>().is_ok_and(|ip| ip.is_unicast_link_local())
}

/// Each neighbour is a list of announcements, as nmstate reports them.
fn neighbours(interface: &Value) -> BTreeSet<Neighbour> {
    let list = interface.get("lldp").and_then(|lldp| lldp.get("neighbors")).and_then(Value::as_array);
    let all = list.into_iter().flatten().filter_map(Value::as_array);
    all.map(|announcements| {
        let chassis = announcements.iter().find_map(|one| text(one, "chassis-id")).unwrap_or_default();
        let lists = announcements.iter().filter_map(|one| one.get("ieee-802-1-vlans")?.as_array());
        let vlans = lists.flatten().filter_map(|vlan| number(vlan.get("vid")?)).filter(|id| (1..=4094).contains(id));
        Neighbour { chassis: chassis.to_owned(), vlans: vlans.collect() }
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn both_spellings_are_read() {
        let now = json!({"interfaces": [
            {"name": "eth0", "type": "ethernet", "state": "up", "ipv6": {"enabled": true, "address": [{"ip": "fe80::1", "prefix-length": 64}]}},
            {"name": "bond0", "type": "bond", "state": "up", "link-aggregation": {"mode": "802.3ad", "port": ["eth0"]}},
            {"name": "v", "type": "vlan", "state": "down", "vlan": {"id": 7, "base-iface": "bond0"}, "ipv4": {"enabled": true, "address": [{"ip": "192.0.2.1", "prefix-length": 24}]}},
        ]});
        let then = json!({"interfaces": [
            {"name": "eth0", "type": "ethernet", "state": "up"},
            {"name": "bond0", "type": "bond", "state": "up", "linkaggregation": {"mode": "802.3ad", "slaves": ["eth0"]}},
            {"name": "v", "type": "vlan", "state": "down", "vlanID": 7, "vlanbase": "bond0", "ipv4": {"enabled": true, "dhcp": true}},
        ]});
        let read = Inventory::read(&now);
        assert_eq!(read, Inventory::read(&then));
        assert_eq!(read.get("eth0").unwrap().controller.as_deref(), Some("bond0"));
        assert!(!read.get("eth0").unwrap().has_ip, "an address for the wire only is none");
        let vlan = read.get("v").unwrap();
        assert_eq!((vlan.vlan, vlan.base.as_deref(), vlan.has_ip, vlan.up), (Some(7), Some("bond0"), true, false));
    }

    #[test]
    fn what_uses_a_link_is_found_over_all_floors() {
        let report = json!({"interfaces": [
            {"name": "eth0", "type": "ethernet"},
            {"name": "eth0.5", "type": "vlan", "controller": "br0", "vlan": {"id": 5, "base-iface": "eth0"}},
            {"name": "br0", "type": "linux-bridge"},
            {"name": "br0.7", "type": "vlan", "vlan": {"id": 7, "base-iface": "br0"}},
            {"name": "mv", "type": "mac-vlan", "mac-vlan": {"base-iface": "eth0"}},
            {"name": "eth1", "type": "ethernet", "controller": "br0"},
            // Nobody can make links stand on each other, and a report may say so.
            {"name": "x", "type": "vlan", "vlan": {"id": 1, "base-iface": "y"}},
            {"name": "y", "type": "vlan", "vlan": {"id": 1, "base-iface": "x"}},
        ]});
        let read = Inventory::read(&report);
        let above = |name: &str| read.above(name).into_keys().collect::<Vec<_>>();
        assert_eq!(above("eth0"), ["br0", "br0.7", "eth0.5", "mv"]);
        assert_eq!(above("br0.7"), [""; 0]);
        assert_eq!(above("x"), ["x", "y"]);
    }

    #[test]
    fn links_of_a_summary_are_read() {
        let like =
            json!({"type": "vlan", "state": "up", "controller": "br{}", "vlan": {"base-iface": "eth0", "id": "{}"}});
        let folded = json!([{"names": "eth0.{3-4}", "like": like, "addressed": "4", "address-count": 2}]);
        let read = Inventory::read(&json!({"interfaces": [], "summary": {"interfaces": {"folded": folded}}}));
        let assigned =
            |name: &str| read.get(name).map(|link| (link.vlan, link.controller.as_deref(), link.has_ip)).unwrap();
        assert_eq!(assigned("eth0.3"), (Some(3), Some("br3"), false));
        assert_eq!(assigned("eth0.4"), (Some(4), Some("br4"), true));
    }

    #[test]
    fn neighbours_are_read_from_their_announcements() {
        let report = json!({"interfaces": [{"name": "eth0", "lldp": {"enabled": true, "neighbors": [[
            {"type": 1, "chassis-id-type": 4, "chassis-id": "00:00:5e:00:53:01"},
            {"type": 5, "system-name": "leaf"},
            {"type": 127, "oui": "00:80:c2", "subtype": 3, "ieee-802-1-vlans": [{"name": "a", "vid": 20}, {"name": "b", "vid": 10}, {"vid": 0}]},
        ]]}}]});
        let read = Inventory::read(&report);
        let link = read.get("eth0").unwrap();
        assert_eq!(link.chassis(), BTreeSet::from(["00:00:5e:00:53:01"]));
        assert_eq!(link.announced_vlans(), BTreeSet::from([10, 20]));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]
        #[test]
        fn anything_can_be_read(text in "\\PC{0,60}", number in any::<i64>()) {
            for value in [json!(text), json!(number), json!([text]), json!({"name": number, "vlan": text, "lldp": {"neighbors": [number]}})] {
                Inventory::read(&value);
                Inventory::read(&json!({"interfaces": value}));
                Inventory::read(&json!({"interfaces": [value, {"name": "x", "vlan": value, "bridge": {"port": value}, "lldp": value}]}));
            }
        }
    }
}
