//! How large packets are where nobody says it: those of an uplink as usual, and those of a VLAN as large as what it is on
//! carries, unless a lease says less.
//!
//! What nobody says is not part of the desired state that others are compared with: a policy may say it.

use std::collections::BTreeSet;

use netloom_api::{
    hostnet::DEFAULT_MTU,
    pipeline::node_network_config::host::{HostConfig, HostLinkKind},
};
use netloom_model::{Attr, DesiredLink, HostState, LinkKind, Observed};
use netloom_types::IfName;

/// The bond of an uplink, and the bridge that it is a port of.
pub(crate) type Uplink = (IfName, IfName);

/// The uplinks that the controller makes.
pub(crate) fn uplinks(host: &HostConfig) -> Vec<Uplink> {
    let bonds = host.links.iter().filter(|link| link.kind == HostLinkKind::Bond);
    bonds.filter_map(|bond| Some((bond.name.0.parse().ok()?, bond.controller.as_ref()?.0.parse().ok()?))).collect()
}

/// Sizes links where nobody says how large their packets are: left alone, they would stay as somebody wanted them before.
/// The bridge of an uplink is as large as its bond, and what the controller makes on it as large as the bridge.
pub(crate) fn settle(uplinks: &[Uplink], made: &BTreeSet<IfName>, state: &mut HostState, observed: &Observed) {
    for (bond, bridge) in uplinks {
        let size = reported(*bond, state).unwrap_or(DEFAULT_MTU.into());
        for name in [bond, bridge] {
            if let Some(link) = state.links.get_mut(name).filter(|link| link.attrs.int(Attr::Mtu).is_none()) {
                link.attrs.require(Attr::Mtu, netloom_model::Value::Int(size));
            }
        }
    }
    // The kernel makes a VLAN smaller with what it is on, but not larger.
    for name in made {
        let most = carried(*name, state, observed);
        if let Some(link) = state.links.get_mut(name) {
            lend(link, None, most, observed);
        }
    }
}

fn reported(link: IfName, state: &HostState) -> Option<u64> {
    state.links.get(&link)?.attrs.int(Attr::Mtu)
}

/// How large packets can be on what a link stands on.
pub(crate) fn carried(name: IfName, state: &HostState, observed: &Observed) -> Option<u64> {
    let desired = state.links.get(&name).and_then(|link| link.attrs.link(Attr::Base));
    let base = desired.or_else(|| observed.links.get(&name)?.base())?;
    reported(base, state).or_else(|| observed.links.get(&base)?.attrs.int(Attr::Mtu))
}

/// Has packets as large as the server of a lease says, but never larger than they can be. A VLAN that we made is made larger
/// again when no lease asks for less any more; what was somebody's before has a value to go back to.
pub(crate) fn lend(link: &mut DesiredLink, lent: Option<u64>, carried: Option<u64>, observed: &Observed) {
    let reported = link.attrs.int(Attr::Mtu);
    let most = reported.or(carried);
    let ours = observed.links.get(&link.name).filter(|there| there.is_ours() && there.kind == LinkKind::Vlan);
    let has = ours.and_then(|there| there.attrs.int(Attr::Mtu));
    let mtu = match lent {
        Some(lent) => Some(most.map_or(lent, |most| lent.min(most))),
        None => most.filter(|most| reported.is_none() && has.is_some_and(|has| has < *most)),
    };
    if let Some(mtu) = mtu {
        link.attrs.require(Attr::Mtu, netloom_model::Value::Int(mtu));
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use netloom_model::Ownership;
    use serde_json::{Value, json};

    use super::*;
    use crate::{DesiredState, Leases, prepared::prepare};

    /// How large bond and bridge of an uplink shall be, beside what a policy says.
    fn sizes(given: Option<u32>, policy: &Value) -> [Option<u64>; 2] {
        let origin = json!({"kind": "VlanConfig", "name": "u", "path": "spec.uplink"});
        let mut links = json!([
            {"name": "lan-br", "type": "bridge", "up": true, "origin": origin},
            {"name": "lan-bo", "type": "bond", "up": true, "controller": "lan-br", "bondMode": "active-backup", "origin": origin},
        ]);
        for link in links.as_array_mut().into_iter().flatten().filter(|_| given.is_some()) {
            link["mtu"] = json!(given);
        }
        let desired: DesiredState = serde_json::from_value(json!({
            "uid": "u", "generation": 1, "source": "NodeNetworkState default/n1", "created": "2026-01-01T00:00:00Z",
            "document": {"interfaces": policy},
            "config": {"name": "n1", "generation": 1, "revision": "r", "host": {"links": links}},
        }))
        .unwrap();
        let state = prepare(desired, None)
            .unwrap()
            .resolve(&Observed::default(), &Ownership::default(), &Leases::new(), Timestamp::UNIX_EPOCH)
            .unwrap();
        ["lan-bo", "lan-br"].map(|name| reported(name.parse().unwrap(), &state))
    }

    #[test]
    fn an_uplink_is_as_large_as_usual_unless_somebody_says_otherwise() {
        assert_eq!(sizes(None, &json!([])), [Some(1500); 2]);
        assert_eq!(sizes(Some(9000), &json!([])), [Some(9000); 2]);
        let bond = json!([{"name": "lan-bo", "mtu": 1400}]);
        assert_eq!(sizes(None, &bond), [Some(1400); 2], "the bridge follows what carries it");
        let bridge = json!([{"name": "lan-br", "mtu": 1400}]);
        assert_eq!(sizes(None, &bridge), [Some(1500), Some(1400)]);
    }
}
