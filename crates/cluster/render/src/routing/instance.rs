//! One BGP instance: where its lines stand, and those that every instance has.

use netloom_types::{Family, IfName, Vni};

use crate::{base::Base, context::Made, names, value::RouteTarget};

/// The block of an instance.
pub(crate) struct Instance {
    head: String,
    asn: u32,
}

/// Milliseconds between two packets where nothing is given: the daemon does not print them.
const BFD_DEFAULT: u32 = 300;

impl Instance {
    /// The instance of a VRF, or that of the underlay.
    pub(crate) fn new(made: &mut Made, base: &Base, vrf: Option<IfName>) -> Self {
        let asn = base.local_asn;
        let head = vrf.map_or_else(|| format!("router bgp {asn}"), |vrf| format!("router bgp {asn} vrf {vrf}"));
        let instance = Self { head, asn };
        instance.line(made, &format!("bgp router-id {}", base.vtep));
        instance.line(made, "no bgp ebgp-requires-policy");
        instance.line(made, "no bgp suppress-duplicates");
        instance.line(made, "no bgp default ipv4-unicast");
        if base.graceful_restart {
            instance.line(made, "bgp graceful-restart");
            instance.line(made, "bgp graceful-restart preserve-fw-state");
        }
        instance
    }

    /// A line of the instance itself.
    pub(crate) fn line(&self, made: &mut Made, line: &str) {
        made.lines.add(&[&self.head], line);
    }

    /// A line about a neighbour.
    pub(crate) fn neighbor(&self, made: &mut Made, name: &str, line: &str) {
        self.line(made, &format!("neighbor {name} {line}"));
    }

    /// Finds out by BFD whether a neighbour is there.
    pub(crate) fn watch(&self, made: &mut Made, name: &str, interval: u32) {
        let profile = names::bfd(interval);
        let block = format!("profile {profile}");
        made.lines.add(&["bfd"], &block);
        if interval != BFD_DEFAULT {
            made.lines.add(&["bfd", &block], &format!("transmit-interval {interval}"));
            made.lines.add(&["bfd", &block], &format!("receive-interval {interval}"));
        }
        self.neighbor(made, name, "bfd");
        self.neighbor(made, name, &format!("bfd profile {profile}"));
    }

    /// A line of an address family.
    pub(crate) fn of_family(&self, made: &mut Made, family: Family, line: &str) {
        let block = match family {
            Family::Ipv4 => "address-family ipv4 unicast",
            Family::Ipv6 => "address-family ipv6 unicast",
        };
        made.lines.add(&[&self.head, block], line);
    }

    /// A line of both address families.
    pub(crate) fn of_families(&self, made: &mut Made, line: &str) {
        for family in [Family::Ipv4, Family::Ipv6] {
            self.of_family(made, family, line);
        }
    }

    /// A line about the fabric.
    pub(crate) fn of_fabric(&self, made: &mut Made, line: &str) {
        made.lines.add(&[&self.head, "address-family l2vpn evpn"], line);
    }

    /// A line about a segment of the fabric.
    pub(crate) fn of_segment(&self, made: &mut Made, vni: Vni, line: &str) {
        made.lines.add(&[&self.head, "address-family l2vpn evpn", &format!("vni {vni}")], line);
    }

    /// Route targets as the daemon shows them: a single one that it would derive itself is not shown.
    pub(crate) fn shown<'t>(&self, targets: &'t [RouteTarget], vni: Vni) -> &'t [RouteTarget] {
        if targets == [RouteTarget::derived(self.asn, vni.get())] { &[] } else { targets }
    }
}
