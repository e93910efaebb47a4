//! What a client has to know of its link, as the agent observed it.

use std::{collections::BTreeMap, net::IpAddr};

use netloom_agent_core::guarded;
use netloom_model::{Attr, Observed};
use netloom_types::{IfName, IpNet, Ipv4Net, MacAddr};

/// What is there of each link that asks for a lease; none of one that is not there.
pub(crate) type Sights = BTreeMap<IfName, Option<Sight>>;

/// A link as it was observed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sight {
    /// The kernel's number; one that was recreated has another.
    pub(crate) index: u32,
    pub(crate) mac: MacAddr,
    pub(crate) mtu: u16,
    /// Whether frames pass.
    pub(crate) up: bool,
    pub(crate) addresses: Vec<Ipv4Net>,
    /// Networks that no lease may take in.
    pub(crate) guarded: Vec<Ipv4Net>,
}

impl Sight {
    /// Whether both are of one link that nobody recreated or gave another hardware address.
    pub(crate) fn is(&self, other: &Self) -> bool {
        (self.index, self.mac) == (other.index, other.mac)
    }

    /// A link that carries frames of its own; others cannot have a lease.
    pub(crate) fn of(name: IfName, observed: &Observed, reached: &[IpAddr]) -> Option<Self> {
        let (link, facts) = (observed.links.get(&name)?, observed.facts.get(&name)?);
        let addresses = link.addresses.iter().filter_map(|address| match IpNet::new(address.ip, address.prefix_len) {
            Ok(IpNet::V4(net)) => Some(net),
            Ok(IpNet::V6(_)) | Err(_) => None,
        });
        // What a lease made smaller must not keep the next one from saying something else.
        let carrier = link.base().and_then(|base| observed.links.get(&base)).unwrap_or(link);
        Some(Self {
            index: facts.index,
            mac: link.attrs.mac(Attr::Mac)?,
            mtu: carrier.attrs.int(Attr::Mtu).map_or(1500, |mtu| u16::try_from(mtu).unwrap_or(u16::MAX)),
            up: link.up && facts.carrier,
            addresses: addresses.collect(),
            guarded: guarded(name, observed, reached),
        })
    }
}
