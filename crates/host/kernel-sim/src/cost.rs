//! The cost of the path through a bridge's port, which the kernel takes from the port's speed.

use netloom_model::{Attr, Link, LinkKind, Value};
use netloom_types::IfName;

use crate::SimHost;

/// The cost for a speed in megabits a second; links that know none cost most.
fn of_speed(speed: Option<u64>) -> u64 {
    match speed {
        Some(10_000) => 2,
        Some(1000) => 4,
        Some(100) => 19,
        _ => 100,
    }
}

impl SimHost {
    /// Gives a new port of a bridge the cost that it starts with.
    pub(crate) fn set_initial_cost(&mut self, name: IfName) {
        let Some(link) = self.find(name) else { return };
        let cost = of_speed(self.speed(link));
        self.edit(name).attrs.set(Attr::PortPathCost, Value::Int(cost));
    }

    /// The speed that a link says it has. A pair says ten gigabits whatever it does.
    fn speed(&self, link: &Link) -> Option<u64> {
        match link.kind {
            LinkKind::Veth => Some(10_000),
            LinkKind::Ethernet => link.attrs.int(Attr::EthernetSpeed),
            LinkKind::Vlan | LinkKind::MacVlan | LinkKind::MacVtap | LinkKind::IpVlan => {
                link.base().and_then(|base| self.find(base)).and_then(|base| self.speed(base))
            }
            _ => None,
        }
    }
}
