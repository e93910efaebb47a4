//! What the agent knows of leases: which it ordered, what came of them, and whether the host has that yet.

use std::collections::BTreeMap;

use netloom_api::fabric::{
    node_network_config::{HostLease, LeaseProblem, host::HostConfig},
    text::{Interface, InterfaceAddress, Ip},
};
use netloom_dhcp::Standing;
use netloom_types::IfName;

use crate::{
    Effect, LeaseOrder, LeaseWish, Leased, Leases,
    agent::Agent,
    condition::{seconds, short},
    target::Target,
};

/// What is known of leases.
#[derive(Debug, Clone, Default)]
pub(crate) struct Leasing {
    /// What was ordered last.
    ordered: BTreeMap<IfName, LeaseWish>,
    /// Whether that is not answered yet. Until then nothing may change the host: an address that is there may be one
    /// of a lease of which nothing is known yet, or one that has to be given back first.
    pub(crate) waits: bool,
    now: BTreeMap<IfName, Leased>,
    /// Whether links shall have something else than when the host was last changed.
    pub(crate) stale: bool,
}

impl Leasing {
    /// Takes note of what links have. Only an answer to the last order says something.
    fn told(&mut self, now: BTreeMap<IfName, Leased>) {
        if !now.keys().eq(self.ordered.keys()) {
            return;
        }
        let given = |all: &BTreeMap<IfName, Leased>, link: &IfName| all.get(link).and_then(|has| has.given.clone());
        self.stale |= self.ordered.keys().any(|link| match (given(&self.now, link), given(&now, link)) {
            (Some(had), Some(has)) => !had.is(&has),
            (had, has) => had.is_some() || has.is_some(),
        });
        self.waits = false;
        self.now = now;
    }

    /// What the links were given.
    pub(crate) fn given(&self) -> Leases {
        self.now.iter().filter_map(|(link, has)| Some((*link, has.given.clone()?))).collect()
    }

    /// What the controller is told of the links for which it wants leases.
    pub(crate) fn report(&self, host: Option<&HostConfig>) -> Vec<HostLease> {
        let wanted = host.into_iter().flat_map(|host| &host.dhcp);
        wanted.filter_map(|wanted| self.report_of(wanted.link.0.parse().ok()?)).collect()
    }

    fn report_of(&self, link: IfName) -> Option<HostLease> {
        let has = self.now.get(&link)?;
        let lease = has.given.as_ref().map(|given| &given.lease);
        Some(HostLease {
            link: Interface(link.to_string()),
            address: lease.map(|lease| InterfaceAddress(lease.address.to_string())),
            server: lease.map(|lease| Ip(lease.server.to_string())),
            acquired: lease.map(|lease| seconds(lease.given.wall)),
            renew_at: lease.map(|lease| seconds(lease.renew.wall)),
            rebind_at: lease.map(|lease| seconds(lease.rebind.wall)),
            expires_at: lease.map(|lease| seconds(lease.expires.wall)),
            problem: has.problem.clone(),
        })
    }

    /// What is wrong with a lease that the desired state asks for, and not the controller.
    pub(crate) fn trouble(&self, host: Option<&HostConfig>) -> Option<(&str, String)> {
        let controlled =
            |link: &IfName| host.is_some_and(|host| host.dhcp.iter().any(|wanted| wanted.link.0 == link.as_str()));
        let own = self.now.iter().filter(|(link, _)| !controlled(link));
        own.filter_map(|(link, has)| Some((link, has.problem.as_ref()?)))
            .map(|(link, problem)| (problem.reason.as_str(), format!("{link}: {}", problem.message)))
            .next()
    }
}

impl Agent {
    /// Orders leases, when they are others than before.
    pub(crate) fn lease(&mut self) -> Option<Effect> {
        let (links, give_back) = match &self.target {
            Target::Wanted(prepared) => (prepared.leases.clone(), true),
            // What cannot be read says nothing about what to do without.
            Target::Unknown | Target::Unreadable { .. } => return None,
            // Nothing of what was asked for is taken back.
            Target::Nothing | Target::Unmanaged { .. } => (BTreeMap::new(), false),
        };
        if !self.settings.enforce || links == self.leasing.ordered {
            return None;
        }
        // Whether the address of a lease is on its link only the host can tell.
        self.looking.must |= !links.is_empty();
        self.leasing.waits = true;
        self.leasing.ordered.clone_from(&links);
        Some(Effect::Lease(LeaseOrder { links, give_back }))
    }

    /// Takes note of what links have by their leases.
    pub(crate) fn leased(&mut self, leases: BTreeMap<IfName, Leased>) {
        self.leasing.told(leases);
    }
}

/// What people are told is wrong with the lease of a link. While a client is on its way to one, what was wrong before
/// stays.
pub fn problem(standing: &Standing, before: Option<LeaseProblem>) -> Option<LeaseProblem> {
    let reason = match standing {
        Standing::Bound { .. } | Standing::Released => return None,
        Standing::Acquiring | Standing::Probing(_) | Standing::Confirming(_) => return before,
        Standing::LinkDown => "LinkDown",
        Standing::NoServer | Standing::ServerSilent(_) => "DHCPNoOffer",
        Standing::BadOffer(_) => "DHCPBadOffer",
        Standing::AddressInUse { .. } => "AddressConflict",
        Standing::Refused { .. } => "DHCPNak",
        Standing::Unconfirmed(_) => "DHCPUnconfirmed",
        Standing::RenewalUnanswered(_) | Standing::RebindingUnanswered(_) => "DHCPNotRenewed",
        Standing::Expired(_) => "DHCPExpired",
    };
    Some(LeaseProblem { reason: reason.to_owned(), message: short(standing.message()) })
}
