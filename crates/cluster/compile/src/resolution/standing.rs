//! What a node already has for somebody, and no newcomer takes away: names, VLANs and ports.

use crate::state::{Inventory, Link};

impl Inventory {
    /// Whether there is a link of that name that a front end cannot have: nobody here made it, or it was made for the desired
    /// state as another kind.
    pub fn is_taken(&self, name: &str, kind: &str) -> bool {
        self.get(name).is_some_and(|link| !link.made || (link.desired && link.kind != kind))
    }

    /// The link of somebody else, or of the desired state under another name, in a VLAN of a bridge: the kernel takes one for
    /// each VLAN.
    pub fn other_in_vlan(&self, bridge: &str, vlan: u16, interface: &str) -> Option<&str> {
        let in_it = |link: &Link| link.vlan == Some(vlan) && link.base.as_deref() == Some(bridge);
        let others = |name: &str, link: &Link| !link.made || (link.desired && name != interface);
        let found = self.links.iter().find(|(name, link)| in_it(link) && others(name, link));
        found.map(|(name, _)| name.as_str())
    }

    /// Whether a link can become a port of a bond, or why not.
    pub fn can_be_port(&self, nic: &str, bond: &str) -> Result<(), String> {
        let Some(found) = self.get(nic) else { return Err(format!("the node has no link {nic}")) };
        if let Some(why) = no_port(nic, found) {
            return Err(why);
        }
        match found.controller.as_deref() {
            None => self.nobody_lives_on(nic, found),
            Some(other) if other == bond => Ok(()),
            Some(other) if self.get(other).is_some_and(|link| !link.made) => {
                Err(format!("{nic} is a port of {other}, which somebody else made"))
            }
            Some(other) if self.get(other).is_some_and(|link| link.desired) => {
                Err(format!("{nic} is a port of {other}, which policies want or somebody wrote for the node"))
            }
            Some(_) => Ok(()),
        }
    }

    /// Whether a free interface can go into a bond without cutting somebody off: neither it nor what somebody else
    /// put on it has an address, and nobody takes its packets already.
    fn nobody_lives_on(&self, nic: &str, found: &Link) -> Result<(), String> {
        let takes_all = |link: &Link| matches!(link.kind.as_str(), "mac-vlan" | "mac-vtap" | "ipvlan");
        let on_it = |link: &Link| takes_all(link) && link.base.as_deref() == Some(nic);
        if let Some((other, _)) = self.links.iter().find(|(_, link)| on_it(link)) {
            return Err(format!(
                "{other} stands on {nic} and takes its packets: as long as it is there, no bond can have {nic}"
            ));
        }
        if found.has_ip {
            return Err(format!("{nic} has an address of its own, which it would lose in a bond"));
        }
        let is_lived_on = |(_, link): &(&str, &Link)| !link.made && link.has_ip;
        match self.above(nic).into_iter().find(is_lived_on) {
            Some((other, _)) => Err(format!(
                "{other} stands on {nic} and has an address, which would be out of reach with {nic} in a bond; somebody else made it"
            )),
            None => Ok(()),
        }
    }
}

/// Why a link cannot be in a bond at all.
fn no_port(name: &str, link: &Link) -> Option<String> {
    let what = match link.kind.as_str() {
        "loopback" => "is how the node talks to itself",
        "bond" => "is a bond itself",
        "vrf" => "is a VRF",
        _ => return None,
    };
    Some(format!("{name} {what}, which no bond can have as a port"))
}
