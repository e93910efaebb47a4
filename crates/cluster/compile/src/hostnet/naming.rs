//! What the VLAN interfaces of nodes are called.
//!
//! ```text
//! <network>-br.<vlan>        wherever that fits
//! br.<vlan>                  else, with the full name as an alternative one
//! b<checksum>.<vlan>         where another cluster network has the short name already
//! ```
//!
//! A name is chosen once, for all nodes, by age: a younger object never takes a name away from an older one. The
//! revision keeps it, so that it stays for the life of the object, whatever goes or comes beside it.

use std::collections::{BTreeMap, BTreeSet};

use netloom_api::{hostnet::names, pipeline::network_config_revision::FrozenObject};
use netloom_types::IfName;

use super::{objects::HostNetworkConfig, prepared::interface_of};
use crate::{frozen::Frozen, snapshot::Readable as _};

/// Names by the object and the place that they were chosen for.
#[derive(Debug, Default)]
pub(super) struct Chosen(BTreeMap<(String, String, u16), String>);

impl Chosen {
    /// The names that a revision keeps.
    pub(super) fn in_revision(revision: Option<&Frozen<'_>>) -> Self {
        let all = revision.into_iter().flat_map(|revision| revision.of_kind(HostNetworkConfig::KIND));
        Self(all.filter_map(|frozen| Some((key(frozen)?, interface_of(frozen).to_owned()))).collect())
    }

    /// The name of an object's interface in its place.
    pub(super) fn get(&self, object: &str, network: &str, vlan: u16) -> Option<&str> {
        self.0.get(&(object.to_owned(), network.to_owned(), vlan)).map(String::as_str)
    }
}

fn key(frozen: &FrozenObject) -> Option<(String, String, u16)> {
    let network = frozen.spec.0.get("clusterNetwork")?.as_str()?.to_owned();
    let vlan = u16::try_from(frozen.spec.0.get("vlanID")?.as_u64()?).ok()?;
    Some((frozen.name.0.clone(), network, vlan))
}

/// The name for a place that has none yet. `taken` has all names that are in use.
pub(super) fn choose(network: &str, vlan: u16, taken: &BTreeSet<String>) -> String {
    let full = names::interface(network, vlan);
    if full.parse::<IfName>().is_ok() {
        return full;
    }
    let short = names::short_interface(vlan);
    let hashed = (0..).map(|attempt| names::hashed_interface(network, vlan, attempt));
    let mut free = std::iter::once(short).chain(hashed).filter(|name| !taken.contains(name));
    free.next().unwrap_or(full)
}

/// The alternative name of an interface: its full one, where its own is shorter.
pub(super) fn alternative(interface: &str, network: &str, vlan: u16) -> Option<String> {
    Some(names::interface(network, vlan)).filter(|full| full != interface)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_full_else_short_else_hashed() {
        let none = BTreeSet::new();
        assert_eq!(choose("mgmt", 2014, &none), "mgmt-br.2014");
        assert_eq!(choose("cn1", 2012, &none), "cn1-br.2012");
        assert_eq!(choose("cluster", 2012, &none), "cluster-br.2012", "fifteen bytes fit");
        assert_eq!(choose("cluster1", 2012, &none), "br.2012");
        let mut taken = BTreeSet::from(["br.2012".to_owned()]);
        let hashed = choose("cluster-2", 2012, &taken);
        assert_eq!(hashed, names::hashed_interface("cluster-2", 2012, 0));
        taken.insert(hashed);
        assert_eq!(choose("cluster-2", 2012, &taken), names::hashed_interface("cluster-2", 2012, 1));
        assert_eq!(choose("cluster-2", 2013, &taken), "br.2013");
    }

    #[test]
    fn a_short_name_has_the_full_one_beside_it() {
        assert_eq!(alternative("br.2012", "cluster-1", 2012).as_deref(), Some("cluster-1-br.2012"));
        assert_eq!(alternative("mgmt-br.2014", "mgmt", 2014), None);
    }
}
