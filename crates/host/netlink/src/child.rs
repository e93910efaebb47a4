//! Links on top of a link of this namespace that are made in another one, under their final name: those of pods.
//!
//! What such a link is comes from its parent, which is here; all that follows (addresses, routes, its end) is a matter of
//! the namespace that it is in. It is no step of a host: whoever asks for it has written down before that it does, and
//! nothing of a link that was not made stays behind anywhere.

use std::{
    fs::File,
    os::fd::{AsRawFd as _, RawFd},
};

use netloom_model::{EngineError, StepError};
use netloom_types::IfName;
use nix::net::if_::if_nametoindex;

use crate::{
    Namespace,
    consts::{
        AF_UNSPEC, IFLA_IFNAME, IFLA_INFO_DATA, IFLA_INFO_KIND, IFLA_LINKINFO, IFLA_NET_NS_FD, NLM_F_CREATE,
        NLM_F_EXCL, RTM_NEWLINK,
    },
    route::no_link,
    socket::Connection,
    wire::{Msg, ifinfomsg},
};

const IFLA_MTU: u16 = 4;
const IFLA_LINK: u16 = 5;
const IFLA_IPVLAN_MODE: u16 = 1;
const IPVLAN_MODE_L2: u16 = 0;
const IFLA_MACVLAN_MODE: u16 = 1;
const MACVLAN_MODE_BRIDGE: u32 = 4;

/// What kind of link it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChildKind {
    /// With the hardware address of its parent, in mode L2.
    Ipvlan,
    /// With a hardware address of its own, in mode bridge.
    Macvlan,
}

/// A link to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Child {
    /// Its name there.
    pub name: IfName,
    /// The link here.
    pub parent: IfName,
    /// What it is.
    pub kind: ChildKind,
    /// Its MTU; that of its parent when absent.
    pub mtu: Option<u32>,
}

/// Makes the link, down, in a namespace that has a file. The kernel may refuse, such as a name that is taken.
pub(crate) fn make(
    route: &mut Connection,
    child: Child,
    there: &Namespace,
) -> Result<Result<(), StepError>, EngineError> {
    let doing = || format!("make link {} in {there}", child.name);
    let nowhere = |why: String| EngineError { doing: doing(), why };
    let file = there.file().ok_or_else(|| nowhere("it has no file".to_owned()))?;
    // The kernel looks at the descriptor when it gets the message.
    let end = File::open(file).map_err(|error| nowhere(error.to_string()))?;
    // The thread is in the namespace of its parent.
    let Ok(parent) = if_nametoindex(child.parent.as_str()) else { return Ok(Err(no_link(child.parent))) };
    route.change(&message(child, parent, end.as_raw_fd())).map_err(|error| error.doing(doing()))
}

fn message(child: Child, parent: u32, there: RawFd) -> Msg {
    let mut msg = Msg::new(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL);
    msg.header(&ifinfomsg(AF_UNSPEC, 0, 0, 0)).attr_str(IFLA_IFNAME, child.name.as_str());
    msg.attr_u32(IFLA_LINK, parent);
    msg.attr_i32(IFLA_NET_NS_FD, there);
    if let Some(mtu) = child.mtu {
        msg.attr_u32(IFLA_MTU, mtu);
    }
    msg.nest(IFLA_LINKINFO, |msg| match child.kind {
        ChildKind::Ipvlan => {
            msg.attr_str(IFLA_INFO_KIND, "ipvlan");
            msg.nest(IFLA_INFO_DATA, |msg| {
                msg.attr_u16(IFLA_IPVLAN_MODE, IPVLAN_MODE_L2);
            });
        }
        ChildKind::Macvlan => {
            msg.attr_str(IFLA_INFO_KIND, "macvlan");
            msg.nest(IFLA_INFO_DATA, |msg| {
                msg.attr_u32(IFLA_MACVLAN_MODE, MACVLAN_MODE_BRIDGE);
            });
        }
    });
    msg
}
