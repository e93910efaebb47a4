//! What runs beside the host worker: each companion has a lane of its own ([`crate::lane`]), is given its orders and
//! what was seen of the host, and sends its news as events. The shell knows no more of any of them.

use std::{collections::BTreeSet, net::IpAddr};

use netloom_agent_core::CompanionOrder;
use netloom_model::Observed;
use netloom_types::IfName;

/// The half of a companion that has sockets.
pub(crate) trait Companion: Send {
    /// Does this from now on, if it is the one that is meant.
    fn order(&mut self, order: &CompanionOrder);

    /// The host was read: links may have gone or come, or have other addresses.
    fn seen(&mut self, observed: &Observed);

    /// The node must reach these addresses from now on.
    fn reach(&mut self, _addresses: &[IpAddr]) {}

    /// Whether it may yet tell something for the first time; who runs once waits for that.
    fn is_early(&self) -> bool {
        false
    }
}

/// Who has something to say over links before they are cut off.
pub(crate) trait Parting: Send + Sync {
    /// Nothing can be sent over these links any more in a moment. Blocks, but not for long.
    fn part(&self, links: &BTreeSet<IfName>);

    /// They are not cut off after all.
    fn stay(&self);
}
