//! What one node gets of host networks: links, VLANs of bridge ports, addresses and requests for addresses.
//!
//! An object that a node cannot have, for what it reports of its links, is left out there and nowhere else, and what
//! stands on it with it. Links that somebody else made are never taken over, and the installer's VLAN on the network
//! of the nodes themselves is never asked for, so that it can never be taken back.

use std::collections::{BTreeMap, BTreeSet};

use netloom_api::{
    fabric::text::{Interface, InterfaceAddress, Mac},
    hostnet::{BondMode, BondOptions, MGMT, Mode, names},
    pipeline::node_network_config::host::{
        EntryOrigin, HostAddress, HostBridgeVlan, HostConfig, HostDhcp, HostLink, HostLinkKind, IpFamily,
    },
};
use netloom_object::ObjectRef;
use serde_json::json;

use super::{
    choice::Choice,
    naming,
    objects::Attachment,
    prepared::{HostNetwork, Uplink},
    vlans::Painted,
};
use crate::{
    contribution::{Contribution, origin},
    digest,
    finding::{Finding, reason},
    front_end::{NodeClass, Selected},
    snapshot::Readable as _,
    state::Inventory,
};

/// Routes of a lease stand behind those of the node itself.
const LEASE_METRIC: u32 = 1024;

impl Selected for Choice {
    fn id(&self) -> u64 {
        self.id
    }

    fn whole_id(&self) -> u64 {
        let hosts: Vec<u64> = self.hosts.iter().map(|host| host.id).collect();
        digest::number(&json!([self.id, hosts]))
    }

    /// The addresses that a node has for itself.
    fn depends(&self, class: &NodeClass<'_>) -> (u64, u64) {
        let Some(node) = class.node else { return (0, 0) };
        let own: Vec<Option<&str>> = self.hosts.iter().map(|host| host.address_of(node)).collect();
        (1, digest::number(&json!(own)))
    }

    fn makes(&self, link: &str) -> bool {
        let carries = |network: &String| link == names::bridge(network) || link == names::bond(network);
        self.hosts.iter().any(|host| host.interface == link) || self.uplinks.keys().any(carries)
    }

    fn contribute(&self, class: &NodeClass<'_>) -> Contribution {
        if self.is_empty() {
            return Contribution::default();
        }
        if class.reported.links.is_empty() {
            return self.unreported();
        }
        let mut maker = Maker::new(self, class.reported);
        for uplink in self.uplinks.values() {
            maker.uplink(uplink);
        }
        maker.installed();
        for host in &self.hosts {
            // Whatever the address of a node is, it is in the same place.
            let address = class.node.map_or(Some("0.0.0.0/32"), |node| host.address_of(node));
            maker.host(host, address);
        }
        maker.finish()
    }
}

impl Choice {
    /// A node that has not reported its links keeps what it was assigned.
    fn unreported(&self) -> Contribution {
        let finding = || Finding::new(reason::NOT_REPORTED, "", "the node has not reported its links yet");
        let objects = self.matched.iter().map(|one| one.object()).chain(self.hosts.iter().map(|one| one.object()));
        let findings = objects.map(|object| (object, finding())).collect();
        Contribution { findings, waits: true, ..Contribution::default() }
    }
}

/// A bridge that host networks can stand on.
struct Ground<'a> {
    mtu: Option<u32>,
    /// Who made it; none for what the installer made.
    uplink: Option<&'a Uplink>,
    /// VLANs of the bridge itself, and of its uplink.
    own: Painted,
    port: Painted,
}

struct Maker<'a> {
    choice: &'a Choice,
    inventory: &'a Inventory,
    grounds: BTreeMap<&'a str, Ground<'a>>,
    config: HostConfig,
    findings: Vec<(ObjectRef, Finding)>,
}

impl<'a> Maker<'a> {
    fn new(choice: &'a Choice, inventory: &'a Inventory) -> Self {
        let findings = choice.refusals.clone();
        Self { choice, inventory, grounds: BTreeMap::new(), config: HostConfig::default(), findings }
    }

    /// Bridge, bond and ports of an uplink.
    fn uplink(&mut self, uplink: &'a Uplink) {
        let ports = match self.ports(uplink) {
            Ok(ports) => ports,
            Err(finding) => return self.findings.push((uplink.object(), finding)),
        };
        let network = &uplink.spec.cluster_network;
        let (bridge, bond) = (names::bridge(network), names::bond(network));
        let attributes = uplink.spec.uplink.link_attributes.clone().unwrap_or_default();
        let mtu = uplink.spec.uplink.given_mtu();
        let object = uplink.object();
        let asked = |path: &str| origin(&object, path);
        let BondOptions { mode, miimon } = uplink.spec.uplink.bond_options.clone().unwrap_or_default();
        let miimon = miimon.filter(|every| *every >= 0).unwrap_or(100);
        self.config.links.push(HostLink {
            mtu,
            vlan_filtering: Some(true),
            ..link(&bridge, HostLinkKind::Bridge, asked("spec.clusterNetwork"))
        });
        self.config.links.push(HostLink {
            mtu,
            tx_queue_length: attributes.tx_q_len.and_then(|length| u32::try_from(length).ok()),
            mac_address: attributes.hardware_address().map(|mac| Mac(mac.to_string())),
            controller: Some(Interface(bridge)),
            bond_mode: Some(mode_word(mode.unwrap_or(BondMode::ActiveBackup)).to_owned()),
            options: BTreeMap::from([("miimon".to_owned(), miimon.to_string())]),
            ..link(&bond, HostLinkKind::Bond, asked("spec.uplink"))
        });
        for i in ports {
            let nic = &uplink.spec.uplink.nics[i];
            self.config.links.push(HostLink {
                controller: Some(Interface(bond.clone())),
                ..link(nic, HostLinkKind::Existing, asked(&format!("spec.uplink.nics[{i}]")))
            });
        }
        let mut ground = Ground { mtu, uplink: Some(uplink), own: Painted::default(), port: Painted::default() };
        self.carry(network, &mut ground, &BTreeSet::new());
        self.grounds.insert(network, ground);
    }

    /// Which interfaces go into the bond. One that is not there, or that somebody else uses, is left out and reported.
    /// Where nothing but such are there, the uplink is kept away from the node as a whole.
    fn ports(&mut self, uplink: &Uplink) -> Result<Vec<usize>, Finding> {
        let network = &uplink.spec.cluster_network;
        let bond = names::bond(network);
        for (device, kind) in [(names::bridge(network), "linux-bridge"), (bond.clone(), "bond")] {
            if self.inventory.is_taken(&device, kind) {
                return Err(taken("spec.clusterNetwork", &device));
            }
        }
        let (mut ports, mut left_out) = (Vec::new(), Vec::new());
        for (i, nic) in uplink.spec.uplink.nics.iter().enumerate() {
            match self.inventory.can_be_port(nic, &bond) {
                Ok(()) => ports.push(i),
                Err(why) => left_out.push((i, nic, why)),
            }
        }
        let finding = |i: usize, why| Finding::new(reason::NO_LINK, format!("spec.uplink.nics[{i}]"), why);
        let used = left_out.iter().find(|(_, nic, _)| self.inventory.get(nic).is_some());
        if let Some((i, _, why)) = used.filter(|_| ports.is_empty()) {
            return Err(finding(*i, why.clone()));
        }
        for (i, _, why) in left_out {
            let finding = finding(i, format!("{why}; the bond is made without it"));
            self.findings.push((uplink.object(), finding));
        }
        Ok(ports)
    }

    /// The network of the nodes themselves, which is there where the installer has made it.
    fn installed(&mut self) {
        let wanted = self.choice.attachments.contains_key(MGMT) || self.choice.hosts.iter().any(|h| h.is_on_mgmt());
        let there = [names::bridge(MGMT), names::bond(MGMT)].iter().all(|name| self.inventory.get(name).is_some());
        if wanted && there {
            let mut ground = Ground { mtu: None, uplink: None, own: Painted::default(), port: Painted::default() };
            self.carry(MGMT, &mut ground, &self.installer_vlans());
            self.grounds.insert(MGMT, ground);
        }
    }

    /// VLANs through which the node itself is reached.
    fn installer_vlans(&self) -> BTreeSet<u16> {
        let bridge = names::bridge(MGMT);
        let own = self.inventory.links.values().filter(|link| !link.made && link.base.as_ref() == Some(&bridge));
        own.filter_map(|link| link.vlan).collect()
    }

    /// The VLANs that pods and machines need on the uplink.
    fn carry(&self, network: &str, ground: &mut Ground<'_>, except: &BTreeSet<u16>) {
        for (key, needs) in self.choice.attachments.get(network).into_iter().flat_map(|carried| &carried.all) {
            let asked = origin(&Attachment::object(key), "spec.config");
            for range in &needs.vlans {
                ground.port.add(range.min, range.max, except, &asked);
            }
        }
    }

    /// The interface of a host network, with its VLAN on bridge and uplink.
    fn host(&mut self, host: &HostNetwork, address: Option<&str>) {
        if let Err(finding) = self.try_host(host, address) {
            self.findings.push((host.object(), finding));
        }
    }

    fn try_host(&mut self, host: &HostNetwork, address: Option<&str>) -> Result<(), Finding> {
        let (network, vlan) = (host.spec.cluster_network.as_str(), host.spec.vlan_id);
        if self.inventory.is_taken(&host.interface, "vlan") {
            return Err(taken("spec.vlanID", &host.interface));
        }
        if host.is_on_mgmt() && self.installer_vlans().contains(&vlan) {
            let why = format!("VLAN {vlan} of {MGMT:?} is the one through which the node is reached");
            return Err(Finding::new(reason::NO_NAME, "spec.vlanID", why));
        }
        let bridge = names::bridge(network);
        // What the installer has given stays as it is, so the packets never get to an interface of the VLAN.
        if host.is_on_mgmt() && self.inventory.get(&bridge).is_some_and(|link| link.has_untagged(vlan)) {
            let why = format!(
                "{bridge} of the node has VLAN {vlan} without a tag, and is in it itself; an interface of its own would get \
                 no packet; take another VLAN, or the bridge's own address"
            );
            return Err(Finding::new(reason::NO_NAME, "spec.vlanID", why));
        }
        if let Some(other) = self.inventory.other_in_vlan(&bridge, vlan, &host.interface) {
            let why = format!(
                "the node has {other} in VLAN {vlan} of {bridge} already, which somebody else or a policy wants; it is left as it is"
            );
            return Err(Finding::new(reason::NO_NAME, "spec.vlanID", why));
        }
        let address = match (host.spec.mode, address) {
            (Mode::Static, None) => {
                let why = "no address is given for this node; the others keep theirs";
                return Err(Finding::new(reason::NO_STATIC_IP, "spec.ips", why));
            }
            (Mode::Static, Some(address)) => Some(address),
            (Mode::Dhcp, _) => None,
        };
        let Some(ground) = self.grounds.get_mut(network) else {
            let why = format!("the node has no uplink into cluster network {network:?}");
            return Err(Finding::new(reason::NO_UPLINK, "spec.clusterNetwork", why));
        };
        let object = host.object();
        let asked = |path: &str| origin(&object, path);
        // The object that needs the VLAN for the node itself is named first, whoever else needs it.
        ground.own.over(vlan, &asked("spec.vlanID"));
        ground.port.over(vlan, &asked("spec.vlanID"));
        self.config.links.push(HostLink {
            mtu: ground.mtu,
            alt_names: naming::alternative(&host.interface, network, vlan).into_iter().collect(),
            base: Some(Interface(names::bridge(network))),
            vlan_id: Some(vlan),
            ..link(&host.interface, HostLinkKind::Vlan, asked("spec.vlanID"))
        });
        let link = Interface(host.interface.clone());
        match address {
            Some(address) => self.config.addresses.push(HostAddress {
                link,
                address: InterfaceAddress(address.to_owned()),
                origin: asked(names::ADDRESSES),
            }),
            None => self.config.dhcp.push(HostDhcp {
                link,
                family: IpFamily::Ipv4,
                table: None,
                metric: Some(LEASE_METRIC),
                routes: Some(true),
                gateway: Some(false),
                origin: asked("spec.mode"),
            }),
        }
        Ok(())
    }

    fn finish(mut self) -> Contribution {
        for (network, ground) in std::mem::take(&mut self.grounds) {
            for (port, painted) in [(names::bridge(network), ground.own), (names::bond(network), ground.port)] {
                // What we make has no VLAN but those that are named; what is there already keeps its own.
                if let Some(uplink) = ground.uplink {
                    let asked = origin(&uplink.object(), "spec.clusterNetwork");
                    self.config.bridge_vlans.push(HostBridgeVlan {
                        port: Interface(port.clone()),
                        min: 1,
                        max: 1,
                        pvid: true,
                        untagged: true,
                        origin: asked,
                    });
                }
                self.config.bridge_vlans.extend(painted.ranges(&port));
            }
        }
        Contribution { host: self.config, findings: self.findings, ..Contribution::default() }
    }
}

fn taken(path: &str, device: &str) -> Finding {
    let why = format!("the node has a link {device} already, which somebody else made; it is left as it is");
    Finding::new(reason::NO_NAME, path, why)
}

/// A link that is up and nothing else.
fn link(name: &str, kind: HostLinkKind, origin: EntryOrigin) -> HostLink {
    HostLink::new(Interface(name.to_owned()), kind, origin)
}

fn mode_word(mode: BondMode) -> &'static str {
    match mode {
        BondMode::BalanceRr => "balance-rr",
        BondMode::ActiveBackup => "active-backup",
        BondMode::BalanceXor => "balance-xor",
        BondMode::Broadcast => "broadcast",
        BondMode::Lacp => "802.3ad",
        BondMode::BalanceTlb => "balance-tlb",
        BondMode::BalanceAlb => "balance-alb",
    }
}
