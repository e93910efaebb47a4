//! What the agent knows of leases: which it ordered, what came of them, and whether the host has that yet.

use std::collections::{BTreeMap, BTreeSet};

use netloom_api::{
    fabric::text::{Interface, InterfaceAddress, Ip},
    pipeline::node_network_config::{HostLease, LINK_DOWN, LeaseProblem, host::HostConfig},
};
use netloom_dhcp::Standing;
use netloom_types::IfName;

use crate::{
    CompanionNews, CompanionOrder, DesiredState, LeaseOrder, LeaseRequest, Leased, Leases, Others,
    companion::{Companion, Desired},
    condition::{seconds, short},
    prepared::prepare,
};

/// What is known of leases.
#[derive(Debug, Clone, Default)]
pub(crate) struct Leasing {
    /// The number of the last order.
    number: u64,
    /// What was ordered by that.
    ordered: BTreeMap<IfName, LeaseRequest>,
    /// Whether that is not answered yet. Until then nothing may change the host: an address that is there may be one
    /// of a lease of which nothing is known yet.
    pub(crate) waits: bool,
    /// What links have, those included that ask no more and have not given back yet.
    now: BTreeMap<IfName, Leased>,
    /// Links that shall have something else than when the host was last changed.
    stale: BTreeSet<IfName>,
    /// Links of which the host is being reported.
    trying: BTreeSet<IfName>,
    /// Whether there may be leases that nobody asks for any more. They are given back once the host does without them: a
    /// server that lends an address to somebody else must not find it here because a change was taken back.
    parting: bool,
    /// Whether the leases of the life before were taken over.
    inherited: bool,
}

impl Leasing {
    /// Takes note of what links have. Only an answer to the last order says something: a link may keep its name and ask
    /// in another network, and what the one before gave has no place there.
    fn learn(&mut self, order: u64, now: BTreeMap<IfName, Leased>) {
        if order != self.number {
            return;
        }
        let changed = |link: &&IfName| {
            let given = |all: &BTreeMap<IfName, Leased>| all.get(*link).and_then(|has| has.given.clone());
            match (given(&self.now), given(&now)) {
                (Some(had), Some(has)) => !had.is(&has),
                (had, has) => had.is_some() || has.is_some(),
            }
        };
        self.stale.extend(self.ordered.keys().filter(changed));
        self.waits = false;
        self.now = now;
    }

    fn next_order(&mut self, links: BTreeMap<IfName, LeaseRequest>, others: Others) -> CompanionOrder {
        self.number += 1;
        CompanionOrder::Lease(LeaseOrder { number: self.number, links, others })
    }

    /// Whether links shall have something else than when the host was last changed.
    pub(crate) fn is_stale(&self) -> bool {
        !self.stale.is_empty()
    }

    /// The host is being given what links have: which of them is news to it.
    pub(crate) fn begin(&mut self) -> BTreeSet<IfName> {
        self.trying.append(&mut self.stale);
        self.trying.clone()
    }

    /// Whether the host took it.
    pub(crate) fn ended(&mut self, well: bool) {
        let trying = std::mem::take(&mut self.trying);
        if !well {
            self.stale.extend(trying);
        }
    }

    /// What the links were given.
    pub(crate) fn given(&self) -> Leases {
        self.now.iter().filter_map(|(link, has)| Some((*link, has.given.clone()?))).collect()
    }

    /// What is reported to the controller about the links for which it wants leases.
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
            expires_at: lease.and_then(|lease| lease.expires).map(|end| seconds(end.wall)),
            name_servers: lease.into_iter().flat_map(|lease| &lease.dns).map(|server| Ip(server.to_string())).collect(),
            domain: lease.and_then(|lease| lease.domain.clone()),
            problem: has.problem.clone(),
        })
    }

    /// What is wrong with a lease that the desired state asks for, and not the controller.
    pub(crate) fn trouble(&self, host: Option<&HostConfig>) -> Option<(&str, String)> {
        let controlled =
            |link: &IfName| host.is_some_and(|host| host.dhcp.iter().any(|wanted| wanted.link.0 == link.as_str()));
        let own = self.now.iter().filter(|(link, _)| self.ordered.contains_key(link) && !controlled(link));
        own.filter_map(|(link, has)| Some((link, has.problem.as_ref()?)))
            .map(|(link, problem)| (problem.reason.as_str(), format!("{link}: {}", problem.message)))
            .next()
    }
}

impl Companion for Leasing {
    /// Orders leases, when they are others than before; and has those that nobody asks for any more given back, when the
    /// host does without them.
    fn order(&mut self, desired: Desired<'_>) -> Option<(CompanionOrder, bool)> {
        let (links, others, in_place) = match desired {
            Desired::Wanted { desired, before, in_place } => {
                let heritage = before.filter(|_| !self.inherited).and_then(heritage);
                self.inherited = true;
                (heritage.unwrap_or_else(|| desired.leases.clone()), Others::Keep, in_place)
            }
            Desired::Unknown => return None,
            Desired::Nothing => (BTreeMap::new(), Others::Leave, false),
        };
        if links == self.ordered {
            let over = self.parting && in_place;
            self.parting &= !over;
            return over.then(|| (self.next_order(links, Others::GiveBack), false));
        }
        self.waits = true;
        self.parting = others == Others::Keep;
        self.ordered.clone_from(&links);
        // Whether the address of a lease is on its link only the host can tell.
        let look = !links.is_empty();
        Some((self.next_order(links, others), look))
    }

    fn take_news(&mut self, news: &CompanionNews) -> bool {
        if let CompanionNews::Leases { order, links } = news {
            self.learn(*order, links.clone());
        }
        false
    }
}

/// The leases that the life before asked for, where it asked for any: what nobody wants any more has to be given back.
fn heritage(before: &DesiredState) -> Option<BTreeMap<IfName, LeaseRequest>> {
    let mut hosts = before.clone();
    // No lease is asked for by a fabric.
    if let Some(config) = &mut hosts.config {
        config.fabric = None;
    }
    let leases = prepare(hosts, None).ok()?.leases;
    Some(leases).filter(|leases| !leases.is_empty())
}

/// What is reported as wrong with the lease of a link. While a client is on its way to one, what was wrong before
/// stays.
pub fn problem(standing: &Standing, before: Option<LeaseProblem>) -> Option<LeaseProblem> {
    let reason = match standing {
        Standing::Bound { .. } | Standing::Released => return None,
        Standing::Acquiring | Standing::Probing(_) | Standing::Confirming(_) => return before,
        Standing::LinkDown => LINK_DOWN,
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

#[cfg(test)]
mod tests {
    use netloom_dhcp::Refusal;

    use super::*;

    fn trouble(reason: &str, message: &str) -> LeaseProblem {
        LeaseProblem { reason: reason.to_owned(), message: message.to_owned() }
    }

    #[test]
    fn each_trouble_has_its_word_and_its_text() {
        let (address, server) = ("192.0.2.9".parse().unwrap(), "192.0.2.1".parse().unwrap());
        let (net, mac) = ("192.0.2.9/24".parse().unwrap(), "02:00:00:00:00:77".parse().unwrap());
        let no_server = "no DHCP server answers on this link; asking goes on. Is there one in this VLAN, and does the uplink \
                         carry the VLAN?";
        let table = [
            (Standing::LinkDown, "LinkDown", "the link is down"),
            (Standing::NoServer, "DHCPNoOffer", no_server),
            (
                Standing::ServerSilent(server),
                "DHCPNoOffer",
                "the DHCP server 192.0.2.1 made an offer and does not answer any more; starting again",
            ),
            (
                Standing::BadOffer(Refusal::Missing(51)),
                "DHCPBadOffer",
                "the server does not say for how long it gives the address (option 51); asking goes on",
            ),
            (
                Standing::AddressInUse { address, by: mac },
                "AddressConflict",
                "02:00:00:00:00:77 already has 192.0.2.9; it was declined, and another one will be asked for",
            ),
            (
                Standing::Refused { address, by: server },
                "DHCPNak",
                "the DHCP server 192.0.2.1 refuses 192.0.2.9; starting again",
            ),
            (
                Standing::Unconfirmed(net),
                "DHCPUnconfirmed",
                "no DHCP server answers; 192.0.2.9/24 is used until its lease ends",
            ),
            (
                Standing::RenewalUnanswered(server),
                "DHCPNotRenewed",
                "the DHCP server 192.0.2.1 does not answer renewals",
            ),
            (
                Standing::RebindingUnanswered(net),
                "DHCPNotRenewed",
                "no DHCP server answers renewals; 192.0.2.9/24 goes when its lease ends",
            ),
            (Standing::Expired(net), "DHCPExpired", "the lease of 192.0.2.9/24 has ended, and the address was removed"),
        ];
        for (standing, reason, message) in table {
            assert_eq!(
                problem(&standing, Some(trouble("Other", "before"))),
                Some(trouble(reason, message)),
                "{standing:?}"
            );
        }
    }

    #[test]
    fn trouble_stays_while_a_client_is_on_its_way_and_goes_when_all_is_well() {
        let net = "192.0.2.9/24".parse().unwrap();
        for standing in [Standing::Acquiring, Standing::Probing(net), Standing::Confirming(net)] {
            assert_eq!(problem(&standing, None), None);
            let before = Some(trouble("DHCPNak", "no"));
            assert_eq!(problem(&standing, before.clone()), before, "{standing:?}");
        }
        let bound = Standing::Bound { address: net, server: "192.0.2.1".parse().unwrap(), remarks: String::new() };
        for standing in [bound, Standing::Released] {
            assert_eq!(problem(&standing, Some(trouble("DHCPNak", "no"))), None, "{standing:?}");
        }
    }
}
