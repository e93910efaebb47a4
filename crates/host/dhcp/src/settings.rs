//! How a client of one link is set up.

use std::time::Duration;

use netloom_types::{Ipv4Net, MacAddr, VlanId};

use crate::{
    identity::{ClientId, HostName},
    routes::Route,
};

/// Which routes of a lease are used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RouteChoice {
    /// None: whoever gives out addresses decides about no traffic but that of its own subnet.
    #[default]
    None,
    /// Those to single networks; never the way to everywhere or to a large part of it.
    Specific,
    /// All, the way to everywhere included.
    All,
}

/// How long it is checked that nobody has an address before it is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Probing {
    /// How many times it is asked for; with none the address is used at once.
    pub count: u32,
    /// The first question comes within this time.
    pub first_within: Duration,
    /// The least time between two questions.
    pub least: Duration,
    /// The most time between two questions.
    pub most: Duration,
    /// How long the last question may be answered.
    pub settle: Duration,
}

impl Probing {
    /// What RFC 5227 says for links in general: four to seven seconds in all.
    pub const RFC_5227: Self = Self {
        count: 3,
        first_within: Duration::from_secs(1),
        least: Duration::from_secs(1),
        most: Duration::from_secs(2),
        settle: Duration::from_secs(2),
    };

    /// For links on which an answer takes far less than the seconds of the book: about a fifth of one.
    pub const QUICK: Self = Self {
        count: 3,
        first_within: Duration::from_millis(10),
        least: Duration::from_millis(40),
        most: Duration::from_millis(60),
        settle: Duration::from_millis(80),
    };
}

/// How a client of one link is set up.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The link's hardware address.
    pub mac: MacAddr,
    /// Who the client is to servers.
    pub client_id: ClientId,
    /// What it calls itself.
    pub host_name: Option<HostName>,
    /// The largest packet that the link carries.
    pub mtu: u16,
    /// The VLAN that the link carries.
    pub vlan: Option<VlanId>,
    /// Whether servers shall answer to everybody: only where the link cannot hear what is sent to an
    /// address that it does not have yet.
    pub broadcast: bool,
    /// Which routes of a lease are used.
    pub routes: RouteChoice,
    /// Networks that the node is reached or managed through. A lease whose subnet overlaps one of them
    /// is refused, and a route that does is left out.
    pub protected: Vec<Ipv4Net>,
    /// How it is checked that nobody has an address.
    pub probing: Probing,
    /// What tells this life of the machine from others (`/proc/sys/kernel/random/boot_id`).
    pub boot: String,
}

impl Settings {
    /// The usual ones.
    pub fn new(mac: MacAddr, client_id: ClientId, boot: impl Into<String>) -> Self {
        Self {
            mac,
            client_id,
            host_name: None,
            mtu: 1500,
            vlan: None,
            broadcast: false,
            routes: RouteChoice::default(),
            protected: Vec::new(),
            probing: Probing::RFC_5227,
            boot: boot.into(),
        }
    }

    /// The network that must not be touched and that a subnet overlaps. A part of it counts as well: the way to the
    /// smaller network would win, and lead away from those of the node's own network that live there.
    pub(crate) fn touched_by(&self, subnet: Ipv4Net) -> Option<Ipv4Net> {
        self.protected.iter().copied().find(|protected| overlap(*protected, subnet))
    }

    /// Whether a route is used.
    pub(crate) fn uses(&self, route: &Route) -> bool {
        self.asks_for(route) && !self.protects_from(route)
    }

    /// Whether a route would be used but for what is protected.
    pub(crate) fn protects_from(&self, route: &Route) -> bool {
        // Whoever asks for the way to everywhere has thought of what it covers.
        self.asks_for(route) && self.touched_by(route.to).is_some() && route.to.prefix_len() != 0
    }

    const fn asks_for(&self, route: &Route) -> bool {
        match self.routes {
            RouteChoice::None => false,
            RouteChoice::Specific => route.is_specific(),
            RouteChoice::All => true,
        }
    }
}

/// Of two networks that have an address in common, one is in the other.
fn overlap(one: Ipv4Net, other: Ipv4Net) -> bool {
    one.contains(&other) || other.contains(&one)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_are_used_only_as_asked_and_never_over_what_is_protected() {
        let id = ClientId::new("a", "mgmt", None);
        let mut settings = Settings::new(MacAddr::new([2, 0, 0, 0, 0, 9]), id, "boot");
        settings.protected = vec!["198.51.100.0/24".parse().unwrap()];
        let table = [
            ("0.0.0.0/0", [false, false, true]),
            ("0.0.0.0/1", [false, false, true]),
            ("128.0.0.0/1", [false, false, false]),
            ("10.0.0.0/8", [false, true, true]),
            ("198.0.0.0/8", [false, false, false]),
            ("198.51.100.0/24", [false, false, false]),
            ("198.51.100.7/32", [false, false, false]),
            ("198.51.101.0/24", [false, true, true]),
        ];
        for (to, wanted) in table {
            let route = Route { to: to.parse().unwrap(), via: None };
            let used = [RouteChoice::None, RouteChoice::Specific, RouteChoice::All].map(|routes| {
                settings.routes = routes;
                settings.uses(&route)
            });
            assert_eq!(used, wanted, "{to}");
        }
        for (subnet, touches) in [("198.0.0.1/8", true), ("198.51.100.9/25", true), ("198.51.101.9/24", false)] {
            let wanted = settings.protected.first().copied().filter(|_| touches);
            assert_eq!(settings.touched_by(subnet.parse().unwrap()), wanted, "{subnet}");
        }
    }
}
