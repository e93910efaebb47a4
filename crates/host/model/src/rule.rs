//! Policy rules: which table a packet is looked up in.

use ipnet::IpNet;
use netloom_types::{Family, IfName, Protocol, RouteTable};
use serde::{Deserialize, Serialize};

/// What a rule does with a packet that it matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RuleAction {
    /// Looks it up in this table.
    Table(RouteTable),
    /// Looks it up in the table of the VRF that it belongs to.
    L3mdev,
    /// Drops it when it belongs to a VRF, and says that there is no way.
    L3mdevUnreachable,
    /// Goes on with the rule of this priority.
    Goto(u32),
    /// Does nothing.
    Nop,
    /// Drops it in silence.
    Blackhole,
    /// Drops it and says that there is no way.
    Unreachable,
    /// Drops it and says that it is forbidden.
    Prohibit,
}

/// A range of ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PortRange {
    /// The first.
    pub first: u16,
    /// The last.
    pub last: u16,
}

/// A range of user ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct UidRange {
    /// The first.
    pub first: u32,
    /// The last.
    pub last: u32,
}

/// Everything of a rule but who made it; the kernel has each at most once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RuleKey {
    /// The family.
    pub family: Family,
    /// Rules are asked in rising order.
    pub priority: u32,
    /// What is done.
    pub action: RuleAction,
    /// Matches packets that do *not* fit the selectors.
    pub invert: bool,
    /// The source.
    pub from: Option<IpNet>,
    /// The destination.
    pub to: Option<IpNet>,
    /// The link that the packet came in by.
    pub iif: Option<IfName>,
    /// The link that the socket is bound to.
    pub oif: Option<IfName>,
    /// The mark, after the mask.
    pub fwmark: u32,
    /// Which bits of the mark count.
    pub fwmask: u32,
    /// Type of service.
    pub tos: u8,
    /// The protocol number inside IP.
    pub ip_proto: Option<u8>,
    /// Source ports.
    pub sport: Option<PortRange>,
    /// Destination ports.
    pub dport: Option<PortRange>,
    /// Users whose sockets are meant.
    pub uid: Option<UidRange>,
    /// The tunnel's key.
    pub tun_id: u64,
    /// Ignores routes whose prefix is this short or shorter.
    pub suppress_prefix_length: Option<u32>,
    /// Ignores routes out of links of this group.
    pub suppress_group: Option<u32>,
}

impl RuleKey {
    /// A rule without selectors.
    pub fn new(family: Family, priority: u32, action: RuleAction) -> Self {
        Self {
            family,
            priority,
            action,
            invert: false,
            from: None,
            to: None,
            iif: None,
            oif: None,
            fwmark: 0,
            fwmask: 0,
            tos: 0,
            ip_proto: None,
            sport: None,
            dport: None,
            uid: None,
            tun_id: 0,
            suppress_prefix_length: None,
            suppress_group: None,
        }
    }
}

/// One rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Rule {
    /// What it matches and does.
    pub key: RuleKey,
    /// Who put it there.
    pub protocol: Protocol,
}

impl std::fmt::Display for RuleKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.priority, if self.invert { "not " } else { "" })?;
        match self.from {
            Some(from) => write!(f, "from {from}")?,
            None => write!(f, "from all ({})", self.family)?,
        }
        if let Some(to) = self.to {
            write!(f, " to {to}")?;
        }
        if let Some(iif) = self.iif {
            write!(f, " iif {iif}")?;
        }
        if let Some(oif) = self.oif {
            write!(f, " oif {oif}")?;
        }
        if self.fwmark != 0 || self.fwmask != 0 {
            write!(f, " fwmark {:#x}/{:#x}", self.fwmark, self.fwmask)?;
        }
        match self.action {
            RuleAction::Table(table) => write!(f, " lookup {table}"),
            RuleAction::L3mdev => f.write_str(" l3mdev"),
            RuleAction::L3mdevUnreachable => f.write_str(" l3mdev unreachable"),
            RuleAction::Goto(priority) => write!(f, " goto {priority}"),
            RuleAction::Nop => f.write_str(" nop"),
            RuleAction::Blackhole => f.write_str(" blackhole"),
            RuleAction::Unreachable => f.write_str(" unreachable"),
            RuleAction::Prohibit => f.write_str(" prohibit"),
        }
    }
}
