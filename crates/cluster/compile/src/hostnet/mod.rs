//! Host networks: from cluster networks, uplinks and host networks to what each node gets.
//!
//! ```text
//! objects --Networks::live--> uplinks, host networks with the names of their interfaces, attachments
//! Networks x group of nodes --Choice::of--> which of them are for these nodes
//! Choice x class of nodes --contribute--> entries of NodeNetworkConfig.spec.host, and what was left out
//! ```
//!
//! Whether an object is for a node depends on its group; what comes of it there on the links that the node reports,
//! and on the address that it is given. Each is worked out once for all nodes for which it is the same.

mod choice;
mod naming;
mod networks;
mod objects;
mod part;
mod prepared;
mod report;
mod vlans;

pub use networks::Broken;
pub use objects::{Attachment, ClusterNetwork, HostNetworkConfig, LinkMonitor, Spec, SpecOnly, VlanConfig, VlanStatus};
pub use report::NetworkReport;

use std::sync::{Arc, Weak};

use netloom_object::ObjectRef;

use crate::{
    front_end::{FrontEnd, Looks, Reader, Selected, Selects, ServedKind, Wants},
    frozen::Frozen,
    layout::Weighed,
    outcome::Outcome,
    report::Report,
    snapshot::Snapshot,
};
use choice::Choice;
use networks::{Known, Networks, Readings};

/// The front end of host networks.
#[derive(Debug)]
pub struct HostNetworks;

impl FrontEnd for HostNetworks {
    fn name(&self) -> &'static str {
        "host-networks"
    }

    fn kinds(&self) -> &'static [ServedKind] {
        const {
            &[
                ServedKind::read::<ClusterNetwork>(),
                ServedKind::frozen::<VlanConfig>().formerly("vlanConfigs"),
                ServedKind::frozen::<HostNetworkConfig>().formerly("hostNetworkConfigs"),
                ServedKind::read::<VlanStatus>(),
                ServedKind::read::<LinkMonitor>(),
                ServedKind::frozen::<Attachment>().formerly("attachments"),
            ]
        }
    }

    fn reader(&self) -> Box<dyn Reader> {
        Box::new(Memory::default())
    }
}

/// What was read before.
#[derive(Debug, Default)]
struct Memory {
    readings: Readings,
    known: Vec<Weak<Networks>>,
}

impl Memory {
    fn remember(&mut self, networks: Networks) -> Arc<dyn Wants> {
        let networks = Arc::new(networks);
        self.known.retain(|known| known.strong_count() > 0);
        self.known.push(Arc::downgrade(&networks));
        networks
    }
}

impl Reader for Memory {
    fn live(&mut self, snapshot: &Snapshot) -> Arc<dyn Wants> {
        let networks = Networks::live(snapshot, &mut self.readings);
        self.remember(networks)
    }

    fn frozen(&mut self, content: &Frozen<'_>) -> Arc<dyn Wants> {
        let known: Vec<Arc<Networks>> = self.known.iter().filter_map(Weak::upgrade).collect();
        self.remember(Networks::frozen(content, &Known::of(known.iter().map(AsRef::as_ref))))
    }

    fn read(&self) -> usize {
        self.readings.read
    }
}

impl Wants for Networks {
    fn looks(&self) -> Looks<'_> {
        let uplinks = self.uplinks.iter().flat_map(|uplink| uplink.labels());
        let hosts = self.hosts.iter().flat_map(|host| host.labels());
        Looks { labels: uplinks.chain(hosts).collect(), names: false }
    }

    fn freeze(&self) -> Vec<Weighed> {
        let uplinks = self.uplinks.iter().map(|uplink| &uplink.frozen);
        let hosts = self.hosts.iter().map(|host| &host.frozen);
        let attachments = self.attachments.values().flat_map(|carried| &carried.frozen);
        uplinks.chain(hosts).chain(attachments).cloned().collect()
    }

    fn choose(&self, selects: &mut Selects<'_>) -> Vec<Arc<dyn Selected>> {
        if self.is_empty() {
            return Vec::new();
        }
        vec![Arc::new(Choice::of(self, selects))]
    }

    fn reports(&self, outcome: &Outcome<'_>) -> Vec<(ObjectRef, Arc<dyn Report>)> {
        report::reports(self, outcome)
    }
}
