//! From a desired state to something that can be compared with a host.
//!
//! ```text
//! Desired state --prepare--> Prepared --resolve(Observed)--> HostState
//! ```
//!
//! What can be known without the host is reported by `prepare`, everything else by `resolve`; neither touches
//! anything.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use jiff::Timestamp;
use netloom_api::pipeline::node_network_config::host::{HostBridgeVlan, HostConfig, HostEntry, HostLinkKind};
use netloom_compile::Provenance;
use netloom_model::{
    Adoption, Attrs, Claim, ClaimKey, DesiredLink, DesiredRoutingLine, HostState, Link, Observed, Origin, Ownership,
    Previous, Setting, VlanMembership,
};
use netloom_nmstate::{Document, ResolveOptions};
use netloom_render::Base;
use netloom_types::{IfName, Protocol, VlanId, VlanSet};

use crate::{
    DesiredState, Failure, LeaseRequest, Leases, OWNER, Reason,
    beside_fabric::{self, Brought},
    combine::{Lost, combine},
    document::Entries,
    fabric,
    ground::Ground,
    host_config, lease_part, leases, packet_size,
};

/// A desired state that was read and is not yet compared with a host.
#[derive(Debug, Clone)]
pub struct Prepared {
    /// The desired state.
    pub desired: DesiredState,
    /// The links on which to listen for neighbours.
    pub listen: BTreeSet<IfName>,
    /// The links that ask for a lease, and how.
    pub leases: BTreeMap<IfName, LeaseRequest>,
    /// What the desired state lost to the controller's configuration.
    pub(crate) state_lost: Vec<Lost>,
    document: Document,
    /// Who asked for the entry at each path of the document.
    origins: BTreeMap<String, Origin>,
    /// Links that the controller makes: one of that name that somebody else made is not taken over.
    made: BTreeSet<IfName>,
    uplinks: Vec<packet_size::Uplink>,
    vlans: Vec<HostBridgeVlan>,
    /// Lines of routing daemons.
    routing: Vec<DesiredRoutingLine>,
    /// What the fabric stands on.
    pub(crate) ground: Option<Ground>,
    /// What of it all is the fabric's.
    pub(crate) brought: Brought,
    /// Whether the fabric is the one of the last good desired state.
    pub(crate) keeps_fabric: bool,
    /// Who asked for a bridge between machines and a network, or for VLANs of one: the first who did.
    bridging: Option<Origin>,
    /// VLANs of ports that the desired states before had.
    vlans_before: Vec<HostBridgeVlan>,
    /// The links whose leases are all that is brought about, where not all of the desired state is.
    only: Option<BTreeSet<IfName>>,
}

/// Reads a desired state. `base` is what the node has before any fabric.
pub fn prepare(desired: DesiredState, base: Option<&Base>) -> Result<Prepared, Failure> {
    let default = HostConfig::default();
    let host = desired.config.as_ref().and_then(|config| config.host.as_ref()).unwrap_or(&default);
    let text = desired.document.as_ref().map(serde_json::Value::to_string).unwrap_or_default();
    let document = netloom_nmstate::parse(desired.source.clone(), text.as_bytes());
    let mut state = Entries::of(document.map_err(|error| Failure::refused(&error))?);
    let listen = state.take_listening();
    // A record that cannot be read is reported where the desired state is made; the desired state itself does not
    // depend on it.
    let provenance = desired.provenance.as_deref().and_then(|text| Provenance::decode(text).ok());
    state.name_policies(&provenance.unwrap_or_default());
    let node = desired.config.as_ref().map_or("", |config| &config.name);
    let mut config = host_config::entries(host, node)?;
    let fabric = desired.config.as_ref().and_then(|config| config.fabric.as_deref());
    let fabric = fabric.map(|fabric| fabric::add(&mut config, node, fabric, base)).transpose()?.unwrap_or_default();
    // The same order on every node, whatever was written first there: policies are compiled with it in mind.
    let (entries, state_lost) = combine(config, state);
    let leases = leases::wanted(&entries)?;
    let (document, origins) = entries.document();
    let made = host.links.iter().filter(|link| link.kind != HostLinkKind::Existing);
    let made = made.filter_map(|link| link.name.0.parse().ok()).chain(fabric.brought.links.iter().copied()).collect();
    let (vlans, uplinks) = (host.bridge_vlans.clone(), packet_size::uplinks(host));
    let bridging = bridging(host);
    Ok(Prepared {
        desired,
        listen,
        leases,
        state_lost,
        document,
        origins,
        made,
        uplinks,
        vlans,
        routing: fabric.routing,
        ground: fabric.ground,
        brought: fabric.brought,
        keeps_fabric: false,
        bridging,
        vlans_before: Vec::new(),
        only: None,
    })
}

/// What is set wherever there is such a thing is not asked of a kernel that has none.
fn leave_unknown(attrs: &mut Attrs, observed: &Observed) {
    if attrs.iter().any(|(attr, _)| !observed.kernel.has(attr)) {
        *attrs = attrs.iter().filter(|(attr, _)| observed.kernel.has(*attr)).map(|(a, v)| (a, v.clone())).collect();
    }
}

/// Who asked first for something on a bridge of a cluster network.
fn bridging(host: &HostConfig) -> Option<Origin> {
    let is_bridging = |entry: &HostEntry<'_>| match entry {
        HostEntry::Link(link) => link.kind == HostLinkKind::Bridge,
        HostEntry::BridgeVlan(_) => true,
        HostEntry::Address(_) | HostEntry::Dhcp(_) | HostEntry::Route(_) | HostEntry::Rule(_) => false,
    };
    host.entries().find(is_bridging).map(|entry| entry.origin().origin())
}

impl Prepared {
    /// The same after other desired states, of which each may be in place: of a port that somebody else made, only what
    /// one of them named can be taken away.
    #[must_use]
    pub fn following<'a>(mut self, before: impl IntoIterator<Item = &'a DesiredState>) -> Self {
        let hosts = before.into_iter().filter_map(|desired| desired.config.as_ref()?.host.as_ref());
        self.vlans_before = hosts.flat_map(|host| &host.bridge_vlans).cloned().collect();
        self
    }

    /// The record of who asked for what, corrected: what no desired state named on a port that somebody else made is
    /// not ours. In records of versions that did not follow what others did there, it may seem to be.
    #[must_use]
    pub fn revised(&self, mut owned: Ownership) -> Ownership {
        for (port, named) in self.named_vlans() {
            if let Some(Claim { origins, before: Previous::Vlans(before), ours: Previous::Vlans(ours) }) =
                owned.claims.get_mut(&ClaimKey::Vlans(port))
                && origins.contains_key(OWNER)
            {
                *before = without_named(before, ours, &named);
            }
        }
        owned
    }

    /// Of the same no more than what these links have by their leases: everything else stays as it is found.
    #[must_use]
    pub(crate) fn of_leases(mut self, links: BTreeSet<IfName>) -> Self {
        self.only = Some(links);
        self
    }

    /// Everything that a document can say of it: of a fabric its links, addresses, routes and rules.
    pub fn document(&self) -> &Document {
        &self.document
    }

    /// The lines that routing daemons are given, and who asked for each.
    pub fn routing(&self) -> &[DesiredRoutingLine] {
        &self.routing
    }

    /// The name of the desired state for people and records.
    pub fn source(&self) -> String {
        self.desired.source.to_string()
    }

    /// Compares the desired state with a host on which so much was asked for before, with what its links were given by
    /// now. To somebody who knows nothing of before, everything on a port of somebody else is theirs.
    pub fn resolve(
        &self,
        observed: &Observed,
        owned: &Ownership,
        leases: &Leases,
        now: Timestamp,
    ) -> Result<HostState, Failure> {
        let wrong = self.ground.as_ref().filter(|_| self.only.is_none()).and_then(|ground| ground.wrong(observed));
        match wrong {
            Some(why) => Err(Failure::new(Reason::InvalidDesiredState, why)),
            None => self.laid(observed, owned, leases, now),
        }
    }

    /// The same as far as it can be brought about now: while the fabric has to wait, everything else, and why it waits.
    pub fn resolve_for_now(
        &self,
        observed: &Observed,
        owned: &Ownership,
        leases: &Leases,
        now: Timestamp,
    ) -> Result<(HostState, Option<Failure>), Failure> {
        let state = self.laid(observed, owned, leases, now)?;
        match self.fabric_waits(observed).filter(|_| self.only.is_none()) {
            Some(why) if why.fabric_waits => Ok((beside_fabric::of(state, &self.brought), Some(why))),
            Some(why) => Err(why),
            None => Ok((state, None)),
        }
    }

    fn laid(
        &self,
        observed: &Observed,
        owned: &Ownership,
        leases: &Leases,
        now: Timestamp,
    ) -> Result<HostState, Failure> {
        let options = ResolveOptions {
            adoption: Adoption::ByName,
            protocol: Protocol::NETLOOM,
            whole_of: Some(Arc::from(OWNER)),
        };
        let resolved = self.document.resolve(observed, &options).map_err(|error| Failure::refused(&error))?;
        let mut state = resolved.state;
        for link in state.links.values_mut() {
            self.tell_origin(&mut link.origin);
            let addresses = link.ipv4.addresses.iter_mut().chain(&mut link.ipv6.addresses).flatten();
            addresses.for_each(|address| self.tell_origin(&mut address.origin));
            if self.made.contains(&link.name) {
                link.adoption = Adoption::Never;
                leave_unknown(&mut link.attrs, observed);
            }
        }
        state.routes.iter_mut().for_each(|route| self.tell_origin(&mut route.origin));
        state.rules.iter_mut().for_each(|rule| self.tell_origin(&mut rule.origin));
        self.lay_vlans(&mut state, observed, owned)?;
        state.routing.clone_from(&self.routing);
        // What machines send over a bridge is theirs: the node's own packet filter has no say in it.
        if let Some(origin) = self.bridging.clone() {
            state.set(Setting::BridgeIptables(false), origin);
        }
        if let Some(origin) = self.ground.as_ref().and_then(Ground::routes_ipv6) {
            state.set(Setting::Ipv6Forwarding(true), origin);
        }
        packet_size::settle(&self.uplinks, &self.made, &mut state, observed);
        leases::lay(&self.leases, (leases, now), &mut state, observed);
        Ok(match &self.only {
            None => state,
            Some(links) => lease_part::of(&state, links, &self.leases, observed),
        })
    }

    /// Puts the object that asked in the place of the document that was made of it.
    fn tell_origin(&self, origin: &mut Origin) {
        if let Some(asked) = self.origins.get(&*origin.path) {
            *origin = asked.clone();
            return;
        }
        let end = origin.path.find(']').map_or(0, |end| end + 1);
        if let Some(asked) = self.origins.get(&origin.path[..end]) {
            let path = format!("{}{}", asked.path, &origin.path[end..]);
            *origin = Origin { path: path.into(), ..asked.clone() };
        }
    }

    fn lay_vlans(&self, state: &mut HostState, observed: &Observed, owned: &Ownership) -> Result<(), Failure> {
        let mut all: BTreeMap<IfName, (VlanMembership, Origin)> = BTreeMap::new();
        for vlan in &self.vlans {
            let origin = vlan.origin.origin();
            let refuse = |why: &str| Failure::new(Reason::InvalidDesiredState, format_args!("{origin}: {why}"));
            let name: IfName = vlan.port.0.parse().map_err(|_| refuse("the port has no valid name"))?;
            let id = |number: u16| VlanId::try_from(number).map_err(|error| refuse(&error.to_string()));
            let (first, last) = (id(vlan.min)?, id(vlan.max)?);
            if first > last || (vlan.pvid && first != last) {
                return Err(refuse("a range of VLANs must not end before it begins, and only one can be the PVID"));
            }
            let (membership, _) = all.entry(name).or_insert_with(|| (VlanMembership::default(), origin.clone()));
            let set = if vlan.untagged { &mut membership.untagged } else { &mut membership.tagged };
            set.insert_range(first, last);
            if vlan.pvid {
                membership.pvid = Some(first);
            }
        }
        for (name, (mut membership, origin)) in all {
            if let Some(link) = observed.links.get(&name).filter(|_| !self.made.contains(&name)) {
                membership = beside(membership, &link.vlans, &added(owned, link, &self.vlans_before));
            }
            let known = observed.links.get(&name).map(|link| link.kind.clone());
            let link = match (state.links.entry(name), known) {
                (std::collections::btree_map::Entry::Occupied(link), _) => link.into_mut(),
                (std::collections::btree_map::Entry::Vacant(place), Some(kind)) => {
                    place.insert(DesiredLink::new(name, kind, origin))
                }
                (std::collections::btree_map::Entry::Vacant(_), None) => {
                    let message = format!("{origin}: there is no link {name} that could have VLANs");
                    return Err(Failure::new(Reason::InvalidDesiredState, message));
                }
            };
            link.vlans = Some(membership);
        }
        Ok(())
    }

    /// The VLANs that this desired state and those before name, by port.
    fn named_vlans(&self) -> BTreeMap<IfName, VlanSet> {
        by_port(self.vlans_before.iter().chain(&self.vlans))
    }
}

/// The VLANs that desired states of this owner added to a port that it did not make; what the port had before is not
/// among them, whoever named it, nor what another owner of the record asked for. A port that one of those made has no
/// record of its VLANs: there it is what the desired states before named.
fn added(owned: &Ownership, port: &Link, named_before: &[HostBridgeVlan]) -> VlanSet {
    match owned.claims.get(&ClaimKey::Vlans(port.name)) {
        Some(Claim { origins, before: Previous::Vlans(before), ours: Previous::Vlans(ours) })
            if origins.contains_key(OWNER) =>
        {
            ours.all().minus(&before.all())
        }
        None if port.is_ours() => by_port(named_before).remove(&port.name).unwrap_or_default(),
        Some(_) | None => VlanSet::new(),
    }
}

fn by_port<'a>(vlans: impl IntoIterator<Item = &'a HostBridgeVlan>) -> BTreeMap<IfName, VlanSet> {
    let mut all: BTreeMap<IfName, VlanSet> = BTreeMap::new();
    for vlan in vlans {
        if let (Ok(port), Ok(first), Ok(last)) =
            (vlan.port.0.parse(), VlanId::try_from(vlan.min), VlanId::try_from(vlan.max))
        {
            all.entry(port).or_default().insert_range(first, last);
        }
    }
    all
}

/// What a port had before, as far as it still had it when we set `ours`, and what it had then without being named.
fn without_named(before: &VlanMembership, ours: &VlanMembership, named: &VlanSet) -> VlanMembership {
    let (all, theirs) = (ours.all(), ours.all().minus(named));
    let laid = |before: &VlanSet, ours: &VlanSet| before.common(&all).minus(&theirs).plus(&ours.common(&theirs));
    let (tagged, untagged) = (laid(&before.tagged, &ours.tagged), laid(&before.untagged, &ours.untagged));
    let is_named = ours.pvid.is_some_and(|id| named.contains(id));
    let pvid = if is_named { before.pvid.filter(|id| all.contains(*id)) } else { ours.pvid };
    VlanMembership { tagged, untagged, pvid }
}

/// What a port that somebody else made shall have: what is wanted, and what it has but for what we added before. What
/// comes or leaves there without a tag is how the node itself is reached, and stays as it is.
fn beside(mut wanted: VlanMembership, has: &VlanMembership, added: &VlanSet) -> VlanMembership {
    let bare = has.pvid.into_iter().collect::<VlanSet>().plus(&has.untagged);
    wanted.tagged = wanted.tagged.minus(&bare);
    let (ours, gone) = (wanted.all(), added.minus(&wanted.all()).minus(&bare));
    for (set, had) in [(&mut wanted.tagged, &has.tagged), (&mut wanted.untagged, &has.untagged)] {
        for range in had.minus(&gone).minus(&ours).ranges() {
            set.insert_range(*range.start(), *range.end());
        }
    }
    wanted.pvid = wanted.pvid.or(has.pvid);
    wanted
}

#[cfg(test)]
mod tests {
    use netloom_model::{Alias, LinkKind};
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_foreign_port_sends_without_a_tag_stays_so_whoever_asks_for_it() {
        let set = |ids: &[u16]| ids.iter().map(|id| VlanId::try_from(*id).unwrap()).collect::<VlanSet>();
        let port = |tagged: &[u16], untagged: &[u16], pvid: u16| VlanMembership {
            tagged: set(tagged),
            untagged: set(untagged),
            pvid: Some(VlanId::try_from(pvid).unwrap()),
        };
        let wanted = |ids: &[u16]| VlanMembership { tagged: set(ids), ..VlanMembership::default() };
        let installed = port(&[5], &[100], 100);
        let with = beside(wanted(&[20, 100]), &installed, &set(&[]));
        assert_eq!(with, port(&[5, 20], &[100], 100));
        assert_eq!(beside(wanted(&[]), &with, &set(&[20, 100])), installed, "only what we added goes");
        let tagged = port(&[5, 100], &[], 100);
        assert_eq!(beside(wanted(&[]), &tagged, &set(&[100])), tagged);
    }

    #[test]
    fn what_is_asked_for_names_the_place_in_the_object_of_a_person_and_everybody_who_shares_the_link() {
        let asked = |path: &str| json!({"kind": "HostNetworkConfig", "name": "h", "path": path});
        let host = json!({
            "links": [{"name": "d0", "type": "dummy", "up": true, "origin": asked("spec.vlanID")}],
            "addresses": [{"link": "d0", "address": "192.0.2.10/24", "origin": asked("spec.ips")}],
        });
        let provenance = json!({"paths": [["mtu"]], "policies": {"default/p": {"interfaces": {"d0": 0}}}});
        let desired: DesiredState = serde_json::from_value(json!({
            "uid": "u", "generation": 1, "source": "NodeNetworkState default/n1",
            "document": {"interfaces": [{"name": "d0", "mtu": 1400}]}, "provenance": provenance.to_string(),
            "config": {"name": "n1", "generation": 1, "revision": "r", "host": host},
        }))
        .unwrap();
        let now = Timestamp::UNIX_EPOCH;
        let reported = |desired: DesiredState| {
            prepare(desired, None)
                .unwrap()
                .resolve(&Observed::default(), &Ownership::default(), &Leases::new(), now)
                .unwrap()
        };
        let d0: IfName = "d0".parse().unwrap();
        let both = reported(desired.clone());
        let link = &both.links[&d0];
        assert_eq!(link.ipv4.addresses.as_ref().unwrap()[0].origin.to_string(), "HostNetworkConfig h (spec.ips.n1)");
        let text = link.origin.to_string();
        let state = "NodeNetworkState default/n1 (spec.desiredState.interfaces[0])";
        for asking in ["HostNetworkConfig h (spec.vlanID)", state, "NodeNetConfPolicy default/p"] {
            assert!(text.contains(asking), "{asking:?} in {text:?}");
        }
        let manual = reported(DesiredState { provenance: None, ..desired });
        assert!(manual.links[&d0].origin.owners().eq(link.origin.owners()), "what a link says of itself stays");
        assert!(!manual.links[&d0].origin.to_string().contains("Policy"));
    }

    #[test]
    fn iptables_is_kept_from_bridges_where_a_cluster_network_has_one() {
        let asked = |path: &str| json!({"kind": "VlanConfig", "name": "u", "path": path});
        let bridge = json!({"links": [{"name": "c-br", "type": "bridge", "up": true, "origin": asked("spec")}]});
        let installed =
            json!({"bridgeVlans": [{"port": "mgmt-br", "min": 5, "max": 5, "origin": asked("spec.vlanID")}]});
        let none = json!({"links": [{"name": "d0", "type": "dummy", "up": true, "origin": asked("spec")}]});
        let mut observed = Observed::default();
        let name: IfName = "mgmt-br".parse().unwrap();
        observed.host.links.insert(name, netloom_model::Link::new(name, netloom_model::LinkKind::Bridge));
        let reported = |host: serde_json::Value| {
            let desired = json!({
                "uid": "u", "generation": 1, "source": "NodeNetworkState default/n1",
                "config": {"name": "n1", "generation": 1, "revision": "r", "host": host},
            });
            let prepared = prepare(serde_json::from_value(desired).unwrap(), None).unwrap();
            let state =
                prepared.resolve(&observed, &Ownership::default(), &Leases::new(), Timestamp::UNIX_EPOCH).unwrap();
            state.settings.into_values().map(|wanted| (wanted.setting, wanted.origin.to_string())).next()
        };
        let unseen = || Setting::BridgeIptables(false);
        assert_eq!(reported(bridge), Some((unseen(), "VlanConfig u (spec)".to_owned())));
        assert_eq!(reported(installed), Some((unseen(), "VlanConfig u (spec.vlanID)".to_owned())));
        assert_eq!(reported(none), None);
    }

    #[test]
    fn a_port_of_somebody_else_keeps_what_we_did_not_add() {
        let set = |ids: &[u16]| ids.iter().map(|id| VlanId::try_from(*id).unwrap()).collect::<VlanSet>();
        let pvid = VlanId::try_from(1).ok();
        let has = VlanMembership { tagged: set(&[2014, 2015, 2021]), untagged: set(&[1]), pvid };
        let wanted = VlanMembership { tagged: set(&[2015, 2016]), ..VlanMembership::default() };
        let found = beside(wanted, &has, &set(&[2014, 2015]));
        assert_eq!(found, VlanMembership { tagged: set(&[2015, 2016, 2021]), untagged: set(&[1]), pvid });
    }

    #[test]
    fn what_a_port_had_before_was_not_added_by_who_named_it() {
        let set = |ids: &[u16]| ids.iter().map(|id| VlanId::try_from(*id).unwrap()).collect::<VlanSet>();
        let port = |ids: &[u16]| VlanMembership { tagged: set(ids), ..VlanMembership::access(VlanId::MIN) };
        let (before, ours) = (port(&[2014, 2021]), port(&[2014, 2015, 2021]));
        let name: IfName = "mgmt-bo".parse().unwrap();
        let owned_by = |owner: &str| {
            let claim = Claim {
                origins: [(owner.into(), Origin::new(owner, "", 0))].into_iter().collect(),
                before: Previous::Vlans(before.clone()),
                ours: Previous::Vlans(ours.clone()),
            };
            Ownership { claims: [(ClaimKey::Vlans(name), claim)].into() }
        };
        let mut bond = Link::new(name, LinkKind::Bond);
        assert_eq!(added(&owned_by(OWNER), &bond, &[]), set(&[2015]));
        assert_eq!(added(&owned_by("site.yaml"), &bond, &[]), set(&[]), "somebody else asked for it");
        let origin = json!({"kind": "HostNetworkConfig", "name": "m", "path": "spec.vlanID"});
        let entry = json!({"port": "mgmt-bo", "min": 2014, "max": 2014, "origin": origin});
        let named_before = [serde_json::from_value(entry).unwrap()];
        assert_eq!(added(&Ownership::default(), &bond, &named_before), set(&[]));
        bond.alias = Some(Alias::ours([&"site.yaml".into()], None));
        assert_eq!(
            added(&Ownership::default(), &bond, &named_before),
            set(&[2014]),
            "another desired state of the host made it"
        );
        let named = set(&[2014, 2015]);
        assert_eq!(without_named(&before, &ours, &named), before, "what is right stays so");
        let moved = port(&[2014, 2015, 2022]);
        assert_eq!(without_named(&before, &moved, &named), port(&[2014, 2022]));
    }
}
