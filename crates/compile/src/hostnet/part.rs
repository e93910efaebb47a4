//! What one node gets of host networks: links, VLANs of bridge ports, addresses and wishes for addresses.
//!
//! An object that a node cannot have, for what it reports of its links, is left out there and nowhere else, and what
//! stands on it with it. Links that somebody else made are never taken over, and the installer's VLAN on the network
//! of the nodes themselves is never asked for, so that it can never be taken back.

use std::collections::{BTreeMap, BTreeSet};

use netloom_api::{
    fabric::text::{Interface, InterfaceAddress, Mac},
    foreign::ATTACHMENT,
    hostnet::{BondMode, BondOptions, MGMT, Mode, names},
    pipeline::node_network_config::host::{
        EntryOrigin, HostAddress, HostBridgeVlan, HostConfig, HostDhcp, HostLink, HostLinkKind, IpFamily,
    },
};
use serde_json::json;

use super::{
    choice::Choice,
    naming,
    networks::{Asking, Networks},
    prepared::{HostNetwork, Uplink},
    vlans::Painted,
};
use crate::{
    digest,
    finding::{Finding, reason},
    nodestate::{Inventory, Link},
};

/// Routes of a lease stand behind those of the node itself.
const LEASE_METRIC: u32 = 1024;

/// What one node gets, and what it does not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostPart {
    /// For the node's configuration; none when nothing is wanted.
    pub config: Option<HostConfig>,
    /// What was left out, or not all of it done.
    pub refusals: Vec<Refusal>,
    /// A short name for the configuration; empty when there is none.
    pub digest: String,
}

/// Why an object has no effect on a node, or not all of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The kind of the object.
    pub asking: Asking,
    /// Its name.
    pub name: String,
    /// What was found.
    pub finding: Finding,
}

impl Refusal {
    pub(super) fn new(asking: Asking, name: &str, finding: Finding) -> Self {
        Self { asking, name: name.to_owned(), finding }
    }
}

impl HostPart {
    /// What the nodes of a group get that report these links. `own` has, for each host network of the choice, the
    /// address that it gives to the node.
    pub(crate) fn of(choice: &Choice, networks: &Networks, inventory: &Inventory, own: &[Option<&str>]) -> Self {
        let mut maker = Maker::new(choice, networks, inventory);
        for uplink in choice.uplinks.values() {
            maker.uplink(uplink);
        }
        maker.installed();
        for (host, address) in choice.hosts.iter().zip(own) {
            maker.host(host, *address);
        }
        maker.finish()
    }

    /// A node that has told nothing of its links keeps what it was told.
    pub(crate) fn unreported(choice: &Choice, told: Option<&HostConfig>) -> Self {
        let finding = || Finding::new(reason::NOT_REPORTED, "", "the node has not told yet which links it has");
        let uplinks = choice.matched.iter().map(|one| (Asking::VlanConfig, &one.source.key.name));
        let hosts = choice.hosts.iter().map(|one| (Asking::HostNetworkConfig, &one.source.key.name));
        let refusals = uplinks.chain(hosts).map(|(asking, name)| Refusal::new(asking, name, finding())).collect();
        Self { digest: digest_of(told), config: told.cloned(), refusals }
    }
}

/// Why a link cannot be in a bond at all.
fn no_port(name: &str, link: &Link) -> Option<String> {
    let what = match link.kind.as_str() {
        "loopback" => "is how the node talks to itself",
        "bond" => "is a bond itself",
        "vrf" => "is a VRF",
        _ => return None,
    };
    Some(format!("{name} {what}, which no bond can have as a port"))
}

fn digest_of(config: Option<&HostConfig>) -> String {
    config.map(|config| digest::short(&json!(config))).unwrap_or_default()
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
    networks: &'a Networks,
    inventory: &'a Inventory,
    grounds: BTreeMap<&'a str, Ground<'a>>,
    config: HostConfig,
    refusals: Vec<Refusal>,
}

impl<'a> Maker<'a> {
    fn new(choice: &'a Choice, networks: &'a Networks, inventory: &'a Inventory) -> Self {
        let refusals = choice.refusals.clone();
        Self { choice, networks, inventory, grounds: BTreeMap::new(), config: HostConfig::default(), refusals }
    }

    /// Bridge, bond and ports of an uplink.
    fn uplink(&mut self, uplink: &'a Uplink) {
        let name = &uplink.source.key.name;
        let ports = match self.ports(uplink) {
            Ok(ports) => ports,
            Err(finding) => return self.refusals.push(Refusal::new(Asking::VlanConfig, name, finding)),
        };
        let network = &uplink.spec.cluster_network;
        let (bridge, bond) = (names::bridge(network), names::bond(network));
        let attributes = uplink.spec.uplink.link_attributes.clone().unwrap_or_default();
        let mtu = uplink.spec.uplink.given_mtu();
        let asked = |path: &str| origin(Asking::VlanConfig, name, path);
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

    /// Which interfaces go into the bond. One that is not there, or that somebody else uses, is left out and told. Where
    /// nothing but such are there, the uplink is kept away from the node as a whole.
    fn ports(&mut self, uplink: &Uplink) -> Result<Vec<usize>, Finding> {
        let network = &uplink.spec.cluster_network;
        let bond = names::bond(network);
        for (device, kind) in [(names::bridge(network), "linux-bridge"), (bond.clone(), "bond")] {
            if self.is_foreign(&device) || self.is_wished_as_other(&device, kind) {
                return Err(taken("spec.clusterNetwork", &device));
            }
        }
        let (mut ports, mut left_out) = (Vec::new(), Vec::new());
        for (i, nic) in uplink.spec.uplink.nics.iter().enumerate() {
            match self.can_be_port(nic, &bond) {
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
            self.refusals.push(Refusal::new(Asking::VlanConfig, &uplink.source.key.name, finding));
        }
        Ok(ports)
    }

    /// Whether an interface can go into a bond, or why not.
    fn can_be_port(&self, nic: &str, bond: &str) -> Result<(), String> {
        let Some(found) = self.inventory.get(nic) else { return Err(format!("the node has no link {nic}")) };
        if let Some(why) = no_port(nic, found) {
            return Err(why);
        }
        match found.controller.as_deref() {
            None => self.nobody_lives_on(nic, found),
            Some(other) if other == bond => Ok(()),
            Some(other) if self.is_foreign(other) => {
                Err(format!("{nic} is a port of {other}, which somebody else made"))
            }
            Some(other) if self.inventory.get(other).is_some_and(|link| link.wished) => {
                Err(format!("{nic} is a port of {other}, which policies want or somebody wrote for the node"))
            }
            Some(_) => Ok(()),
        }
    }

    /// Whether a free interface can go into a bond without cutting somebody off: neither it nor what somebody else
    /// put on it has an address, and nobody takes its packets already.
    fn nobody_lives_on(&self, nic: &str, found: &Link) -> Result<(), String> {
        let takes_all = |link: &Link| matches!(link.kind.as_str(), "mac-vlan" | "mac-vtap" | "ipvlan");
        let on_it = |link: &Link| takes_all(link) && link.base.as_deref() == Some(nic);
        if let Some((other, _)) = self.inventory.links.iter().find(|(_, link)| on_it(link)) {
            return Err(format!(
                "{other} stands on {nic} and takes its packets: as long as it is there, no bond can have {nic}"
            ));
        }
        if found.has_ip {
            return Err(format!("{nic} has an address of its own, which it would lose in a bond"));
        }
        let is_lived_on = |(_, link): &(&str, &Link)| !link.made && link.has_ip;
        match self.inventory.above(nic).into_iter().find(is_lived_on) {
            Some((other, _)) => Err(format!(
                "{other} stands on {nic} and has an address, which would be out of reach with {nic} in a bond; somebody else made it"
            )),
            None => Ok(()),
        }
    }

    /// Whether the node has a link of that name and another kind for a policy.
    fn is_wished_as_other(&self, name: &str, kind: &str) -> bool {
        self.inventory.get(name).is_some_and(|link| link.wished && link.kind != kind)
    }

    /// Whether the node has a link of that name that no agent made.
    fn is_foreign(&self, name: &str) -> bool {
        self.inventory.get(name).is_some_and(|link| !link.made)
    }

    /// The network of the nodes themselves, which is there where the installer has made it.
    fn installed(&mut self) {
        let wanted = self.networks.attachments.contains_key(MGMT) || self.choice.hosts.iter().any(|h| h.is_on_mgmt());
        let there = [names::bridge(MGMT), names::bond(MGMT)].iter().all(|name| self.inventory.get(name).is_some());
        if wanted && there {
            let mut ground = Ground { mtu: None, uplink: None, own: Painted::default(), port: Painted::default() };
            self.carry(MGMT, &mut ground, &self.installer_vlans());
            self.grounds.insert(MGMT, ground);
        }
    }

    /// The link of somebody else, or of a policy under another name, in a VLAN of a bridge: the kernel takes one for each
    /// VLAN, and what a policy has on the node is not taken from it.
    fn other_in_vlan(&self, bridge: &str, vlan: u16, interface: &str) -> Option<&str> {
        let in_it = |link: &Link| link.vlan == Some(vlan) && link.base.as_deref() == Some(bridge);
        let others = |name: &str, link: &Link| !link.made || (link.wished && name != interface);
        let found = self.inventory.links.iter().find(|(name, link)| in_it(link) && others(name, link));
        found.map(|(name, _)| name.as_str())
    }

    /// VLANs through which the node itself is reached.
    fn installer_vlans(&self) -> BTreeSet<u16> {
        let bridge = names::bridge(MGMT);
        let own = self.inventory.links.values().filter(|link| !link.made && link.base.as_ref() == Some(&bridge));
        own.filter_map(|link| link.vlan).collect()
    }

    /// The VLANs that pods and machines need on the uplink.
    fn carry(&self, network: &str, ground: &mut Ground<'_>, except: &BTreeSet<u16>) {
        for attachment in self.networks.attachments.get(network).into_iter().flat_map(|carried| &carried.all) {
            let asked = EntryOrigin {
                group: ATTACHMENT.group.to_owned(),
                kind: ATTACHMENT.kind.to_owned(),
                namespace: Some(attachment.namespace.clone()),
                name: attachment.name.0.clone(),
                path: "spec.config".to_owned(),
            };
            for range in &attachment.vlans {
                ground.port.add(range.min, range.max, except, &asked);
            }
        }
    }

    /// The interface of a host network, with its VLAN on bridge and uplink.
    fn host(&mut self, host: &HostNetwork, address: Option<&str>) {
        let name = &host.source.key.name;
        if let Err(finding) = self.try_host(host, address) {
            self.refusals.push(Refusal::new(Asking::HostNetworkConfig, name, finding));
        }
    }

    fn try_host(&mut self, host: &HostNetwork, address: Option<&str>) -> Result<(), Finding> {
        let (network, vlan) = (host.spec.cluster_network.as_str(), host.spec.vlan_id);
        if self.is_foreign(&host.interface) || self.is_wished_as_other(&host.interface, "vlan") {
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
        if let Some(other) = self.other_in_vlan(&bridge, vlan, &host.interface) {
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
        let asked = |path: &str| origin(Asking::HostNetworkConfig, &host.source.key.name, path);
        // The object that needs the VLAN for the node itself is told first, whoever else needs it.
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

    fn finish(mut self) -> HostPart {
        for (network, ground) in std::mem::take(&mut self.grounds) {
            for (port, painted) in [(names::bridge(network), ground.own), (names::bond(network), ground.port)] {
                // What we make has no VLAN but those that are named; what is there already keeps its own.
                if let Some(uplink) = ground.uplink {
                    let asked = origin(Asking::VlanConfig, &uplink.source.key.name, "spec.clusterNetwork");
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
        let config = Some(self.config).filter(|config| *config != HostConfig::default());
        HostPart { digest: digest_of(config.as_ref()), config, refusals: self.refusals }
    }
}

fn taken(path: &str, device: &str) -> Finding {
    let why = format!("the node has a link {device} already, which somebody else made; it is left as it is");
    Finding::new(reason::NO_NAME, path, why)
}

fn origin(asking: Asking, name: &str, path: &str) -> EntryOrigin {
    let (group, kind) = asking.group_kind();
    let [group, kind, name, path] = [group, kind, name, path].map(str::to_owned);
    EntryOrigin { group, kind, namespace: None, name, path }
}

/// A link that is up and nothing else.
fn link(name: &str, kind: HostLinkKind, origin: EntryOrigin) -> HostLink {
    HostLink {
        name: Interface(name.to_owned()),
        kind,
        up: true,
        mtu: None,
        tx_queue_length: None,
        alt_names: Vec::new(),
        mac_address: None,
        controller: None,
        base: None,
        vlan_id: None,
        vxlan: None,
        table: None,
        bond_mode: None,
        options: BTreeMap::new(),
        vlan_filtering: None,
        origin,
    }
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
