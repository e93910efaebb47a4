//! How a client stands, for people.

use std::net::Ipv4Addr;

use netloom_types::{Ipv4Net, MacAddr};

use crate::terms::Refusal;

/// How a client stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// The link is down; an address that it has stays until its lease ends.
    LinkDown,
    /// A server is looked for.
    Acquiring,
    /// No server has answered.
    NoServer,
    /// The server that made an offer does not answer any more.
    ServerSilent(Ipv4Addr),
    /// What is offered cannot be used.
    BadOffer(Refusal),
    /// It is checked that nobody has the address.
    Probing(Ipv4Net),
    /// Somebody else has the address.
    AddressInUse {
        /// The address.
        address: Ipv4Addr,
        /// Who has it.
        by: MacAddr,
    },
    /// A server refuses the address.
    Refused {
        /// The address.
        address: Ipv4Addr,
        /// The server.
        by: Ipv4Addr,
    },
    /// It is asked whether the address of an earlier life may still be used.
    Confirming(Ipv4Net),
    /// The address is used although nobody has confirmed it since the start.
    Unconfirmed(Ipv4Net),
    /// All is well.
    Bound {
        /// The address.
        address: Ipv4Net,
        /// The server.
        server: Ipv4Addr,
        /// What was not taken as the server gave it; often empty.
        remarks: String,
    },
    /// The server does not answer renewals; others will be asked.
    RenewalUnanswered(Ipv4Addr),
    /// No server answers renewals; the address will be lost.
    RebindingUnanswered(Ipv4Net),
    /// The lease has ended, and the address is gone.
    Expired(Ipv4Net),
    /// The address was given back.
    Released,
}

impl Standing {
    /// The stable name of this standing.
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::LinkDown => "LinkDown",
            Self::Acquiring => "AcquiringLease",
            Self::NoServer => "NoDHCPServer",
            Self::ServerSilent(_) => "DHCPServerSilent",
            Self::BadOffer(_) => "BadDHCPOffer",
            Self::Probing(_) => "ProbingAddress",
            Self::AddressInUse { .. } => "AddressInUse",
            Self::Refused { .. } => "LeaseRefused",
            Self::Confirming(_) => "ConfirmingLease",
            Self::Unconfirmed(_) => "LeaseUnconfirmed",
            Self::Bound { .. } => "LeaseBound",
            Self::RenewalUnanswered(_) => "RenewalUnanswered",
            Self::RebindingUnanswered(_) => "RebindingUnanswered",
            Self::Expired(_) => "LeaseExpired",
            Self::Released => "LeaseReleased",
        }
    }

    /// Whether the link has an address and nothing is wrong with its lease.
    pub const fn is_well(&self) -> bool {
        matches!(self, Self::Bound { .. } | Self::Unconfirmed(_))
    }

    /// What to tell people.
    pub fn message(&self) -> String {
        match self {
            Self::LinkDown => "the link is down".to_owned(),
            Self::Acquiring => "looking for a DHCP server".to_owned(),
            Self::NoServer => {
                "no DHCP server answers on this link; asking goes on. Is there one in this VLAN, and does the \
                 uplink carry the VLAN?"
                    .to_owned()
            }
            Self::ServerSilent(server) => {
                format!("the DHCP server {server} made an offer and does not answer any more; starting again")
            }
            Self::BadOffer(refusal) => format!("{refusal}; asking goes on"),
            Self::Probing(address) => format!("checking that nobody else has {address}"),
            Self::AddressInUse { address, by } => {
                format!("{by} already has {address}; it was declined, and another one will be asked for")
            }
            Self::Refused { address, by } => format!("the DHCP server {by} refuses {address}; starting again"),
            Self::Confirming(address) => format!("asking whether {address} may still be used"),
            Self::Unconfirmed(address) => {
                format!("no DHCP server answers; {address} is used until its lease ends")
            }
            Self::Bound { address, server, remarks } if remarks.is_empty() => {
                format!("{address} from the DHCP server {server}")
            }
            Self::Bound { address, server, remarks } => format!("{address} from the DHCP server {server}; {remarks}"),
            Self::RenewalUnanswered(server) => format!("the DHCP server {server} does not answer renewals"),
            Self::RebindingUnanswered(address) => {
                format!("no DHCP server answers renewals; {address} goes when its lease ends")
            }
            Self::Expired(address) => format!("the lease of {address} has ended, and the address was removed"),
            Self::Released => "the address was given back".to_owned(),
        }
    }
}
