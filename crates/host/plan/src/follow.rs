//! Hardware addresses that the kernel keeps equal to another link's.
//!
//! A bridge and a bond take theirs from their ports, a VLAN from its base, a bond's port from its
//! bond. Setting it in an undo would make it an address of the link's own that follows nobody any
//! more or, on a link that is about to join a bond, the one that it gets back when it leaves. So it is
//! left to come by itself; the rehearsal of the undo shows when it does not.

use netloom_model::{Attr, Host, Link, LinkKind, Target};
use netloom_types::IfName;

/// The links of one undo: as they were and are.
pub(crate) struct Around<'a> {
    /// Links that are there before and after the undo, as they were and as they are.
    pub(crate) pairs: &'a [(&'a Link, Link)],
    /// Everything that the undo restores.
    pub(crate) before: &'a Target,
    /// The host now.
    pub(crate) now: &'a Host,
}

impl Around<'_> {
    /// Whether the hardware address of a link may come back by itself.
    pub(crate) fn mac_follows(&self, was: &Link, is: &Link) -> bool {
        let mac = match was.kind {
            LinkKind::Bridge | LinkKind::Bond => self.ports_change(was.name),
            LinkKind::Vlan => was.base().is_some_and(|base| self.differs(base, Attr::Mac)),
            _ => false,
        };
        let joins_or_leaves_bond = was.controller != is.controller
            && [was.controller, is.controller].into_iter().flatten().any(|name| self.is_bond(name));
        mac || joins_or_leaves_bond
    }

    fn ports_change(&self, controller: IfName) -> bool {
        let of = |port: &Link| port.controller == Some(controller);
        let came = |port: &IfName| self.now.links.get(port).is_some_and(of);
        self.pairs.iter().any(|(was, is)| of(was) != of(is))
            || self.before.links.iter().any(|(port, was)| was.is_none() && came(port))
    }

    fn differs(&self, link: IfName, attr: Attr) -> bool {
        self.pairs.iter().any(|(was, is)| was.name == link && was.attrs.given(attr) != is.attrs.given(attr))
    }

    fn is_bond(&self, name: IfName) -> bool {
        let was = self.before.links.get(&name).and_then(Option::as_ref);
        was.or_else(|| self.now.links.get(&name)).is_some_and(|link| link.kind == LinkKind::Bond)
    }
}
