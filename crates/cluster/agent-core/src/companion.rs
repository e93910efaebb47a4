//! What runs beside the host's transactions: it listens for neighbours, or asks for leases.
//!
//! A companion has two halves. The one here is pure: from the desired state it makes an order, from news what is known. The
//! other one, in the agent's process, has the sockets and a lane of its own, so that it never waits for a transaction and no
//! transaction for it. A new companion is a module in each half, an order and its news.

use std::collections::{BTreeMap, BTreeSet};

use netloom_api::pipeline::node_network_status::NodeLibvirt;
use netloom_types::IfName;

use crate::{
    DesiredState, Effect, Heard, Kept, LeaseOrder, Leased, Prepared, agent::Agent, leasing::Leasing,
    neighbours::Neighbours, target::Target,
};

/// What a companion does from now on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CompanionOrder {
    /// Listen for neighbours on exactly these links.
    Listen(BTreeSet<IfName>),
    /// Ask for leases on exactly these links, and keep what is given on disk.
    Lease(LeaseOrder),
}

/// What a companion tells.
#[derive(Debug, Clone)]
pub enum CompanionNews {
    /// What is heard of neighbours now, on every link that is listened on.
    Heard(Heard),
    /// What every link of the last order has now, and every other one that has not given back yet; reported when all of
    /// them were looked at, and then with every change.
    Leases {
        /// The number of the order that this answers.
        order: u64,
        /// By link.
        links: BTreeMap<IfName, Leased>,
    },
    /// The libvirt of the node, for virtual machines; why there is none while it does not answer.
    Libvirt(Result<NodeLibvirt, String>),
}

/// The desired state, as far as companions care.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Desired<'a> {
    /// It cannot be read, and says nothing about what to do without.
    Unknown,
    /// There is none: nothing of what was asked for is taken back.
    Nothing,
    /// This.
    Wanted {
        desired: &'a Prepared,
        /// What the life before had brought about, where this one goes on with it.
        before: Option<&'a DesiredState>,
        in_place: bool,
    },
}

/// The pure half of a companion.
pub(crate) trait Companion {
    /// The order, when it is another than before, and whether the host must be read for it.
    fn order(&mut self, desired: Desired<'_>) -> Option<(CompanionOrder, bool)>;

    /// Takes the news that are its own; whether the host must be read for what they tell to be reported.
    fn take_news(&mut self, news: &CompanionNews) -> bool;
}

impl Agent {
    /// Orders what runs beside the host's transactions to do something else than before, where that is wanted.
    pub(crate) fn orders(&mut self) -> Vec<Effect> {
        let in_place = self.is_in_place();
        let heir = |kept: &&Kept| self.settings.resident && Some(kept.uid.as_str()) == self.target.uid();
        let before = self.kept.as_ref().filter(heir).and_then(|kept| kept.desired.as_ref());
        let desired = match &self.target {
            _ if !self.settings.enforce => Desired::Unknown,
            Target::Wanted(desired) => Desired::Wanted { desired, before, in_place },
            Target::Unknown | Target::Unreadable { .. } => Desired::Unknown,
            Target::Nothing | Target::Unmanaged { .. } => Desired::Nothing,
        };
        let companions = companions(&mut self.leasing, &mut self.neighbours).into_iter();
        let orders: Vec<_> = companions.filter_map(|companion| companion.order(desired)).collect();
        self.host_view.must |= orders.iter().any(|(_, look)| *look);
        orders.into_iter().map(|(order, _)| Effect::Companion(order)).collect()
    }

    /// Takes note of what one of them tells.
    pub(crate) fn heard_from(&mut self, news: &CompanionNews) {
        let looks = companions(&mut self.leasing, &mut self.neighbours).map(|companion| companion.take_news(news));
        let listed = self.listing.take_news(news);
        self.host_view.must |= looks.contains(&true) || listed;
    }
}

/// What runs beside the host's transactions. Leases come first: the host waits until the order for them is answered.
fn companions<'a>(leasing: &'a mut Leasing, neighbours: &'a mut Neighbours) -> [&'a mut dyn Companion; 2] {
    [leasing, neighbours]
}
