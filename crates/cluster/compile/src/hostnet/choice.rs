//! Which uplinks and host networks are for a group of nodes.
//!
//! A node has one uplink into a cluster network, and an interface is in one bond. Where two objects want otherwise, the
//! older one has it, and the younger one is left out whole.

use std::{collections::BTreeMap, sync::Arc};

use netloom_api::hostnet::MGMT;
use netloom_object::ObjectRef;
use serde_json::json;

use super::{
    networks::{Carried, Networks},
    prepared::{HostNetwork, Uplink},
};
use crate::{
    digest,
    finding::{Finding, reason},
    front_end::Selects,
};

/// What selectors choose for the nodes of a group.
#[derive(Debug, Clone, Default)]
pub(crate) struct Choice {
    /// Uplinks in force, by cluster network.
    pub(super) uplinks: BTreeMap<String, Arc<Uplink>>,
    /// Host networks that are selected and reached.
    pub(crate) hosts: Vec<Arc<HostNetwork>>,
    /// Host networks that are selected and not reached.
    pub(crate) stranded: Vec<Arc<HostNetwork>>,
    /// Every uplink that selects the nodes, in force or not.
    pub(crate) matched: Vec<Arc<Uplink>>,
    /// Why an uplink is not in force.
    pub(super) refusals: Vec<(ObjectRef, Finding)>,
    /// What attachments need, by cluster network; shared by all choices.
    pub(super) attachments: Arc<BTreeMap<String, Carried>>,
    /// Equal for equal choices.
    pub(crate) id: u64,
}

impl Choice {
    /// Chooses for the nodes of a group. `selects` says whether the object of that number selects them, and may know it
    /// without asking.
    pub(super) fn of(networks: &Networks, selects: &mut Selects<'_>) -> Self {
        let mut choice = Self { attachments: networks.attachments.clone(), ..Self::default() };
        for uplink in networks.uplinks.iter().filter(|uplink| selects(uplink.id, &|node| uplink.selects(node))) {
            choice.matched.push(uplink.clone());
            choice.connect(uplink);
        }
        for host in networks.hosts.iter().filter(|host| selects(host.id, &|node| host.selects(node))) {
            let reached = host.is_on_mgmt()
                || choice.matched.iter().any(|uplink| uplink.spec.cluster_network == host.spec.cluster_network);
            if reached { &mut choice.hosts } else { &mut choice.stranded }.push(host.clone());
        }
        choice.id = choice.number();
        choice
    }

    /// Whether nothing is for these nodes.
    pub(crate) fn is_empty(&self) -> bool {
        let installer = self.attachments.contains_key(MGMT);
        self.matched.is_empty() && self.hosts.is_empty() && !installer
    }

    fn connect(&mut self, uplink: &Arc<Uplink>) {
        let network = &uplink.spec.cluster_network;
        let refusal = if let Some(first) = self.uplinks.get(network) {
            let why = format!("{:?} connects these nodes to {network:?} already and is older", first.source.key.name);
            Some(Finding::new(reason::UPLINK_CONFLICT, "spec.nodeSelector", why))
        } else {
            self.taken_interface(uplink)
        };
        match refusal {
            Some(finding) => self.refusals.push((uplink.object(), finding)),
            None => {
                self.uplinks.insert(network.clone(), uplink.clone());
            }
        }
    }

    fn taken_interface(&self, uplink: &Uplink) -> Option<Finding> {
        uplink.spec.uplink.nics.iter().enumerate().find_map(|(i, nic)| {
            let first = self.uplinks.values().find(|other| other.spec.uplink.nics.contains(nic))?;
            let why = format!("{:?} has {nic} in its bond and is older", first.source.key.name);
            Some(Finding::new(reason::UPLINK_CONFLICT, format!("spec.uplink.nics[{i}]"), why))
        })
    }

    fn number(&self) -> u64 {
        let uplinks: Vec<u64> = self.matched.iter().map(|uplink| uplink.id).collect();
        let hosts: Vec<u64> = self.hosts.iter().map(|host| host.shape).collect();
        let installer = std::iter::once(MGMT);
        let reached = self.uplinks.keys().map(String::as_str).chain(installer);
        let carried: Vec<u64> =
            reached.filter_map(|network| self.attachments.get(network)).map(|carried| carried.id).collect();
        digest::number(&json!([uplinks, hosts, carried]))
    }
}
