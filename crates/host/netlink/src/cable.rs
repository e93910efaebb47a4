//! Cables between network namespaces: pairs of virtual ethernet links with an end in each.
//!
//! For machines that are made of namespaces. No document asks for such a pair, because what a document says ends with
//! its own namespace; so this is no step, and nothing here undoes it: a pair goes with either of its namespaces.

use std::{
    fs::File,
    os::fd::{AsRawFd as _, RawFd},
};

use netloom_model::{EngineError, StepError};
use netloom_types::IfName;

use crate::{
    Namespace,
    consts::{
        AF_UNSPEC, IFLA_IFNAME, IFLA_INFO_DATA, IFLA_INFO_KIND, IFLA_LINKINFO, IFLA_NET_NS_FD, NLM_F_CREATE,
        NLM_F_EXCL, RTM_NEWLINK, VETH_INFO_PEER,
    },
    socket::Connection,
    wire::{Msg, ifinfomsg},
};

/// Makes both ends, the far one in a namespace that has a file. The kernel may refuse, such as a name that is taken.
pub(crate) fn lay(
    route: &mut Connection,
    near: IfName,
    there: &Namespace,
    far: IfName,
) -> Result<Result<(), StepError>, EngineError> {
    let doing = || format!("lay a cable to {there}");
    let nowhere = |why: String| EngineError { doing: doing(), why };
    let file = there.file().ok_or_else(|| nowhere("it has no file".to_owned()))?;
    // The kernel looks at the descriptor when it gets the message.
    let end = File::open(file).map_err(|error| nowhere(error.to_string()))?;
    route.change(&message(near, end.as_raw_fd(), far)).map_err(|error| error.doing(doing()))
}

fn message(near: IfName, there: RawFd, far: IfName) -> Msg {
    let mut msg = Msg::new(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL);
    msg.header(&ifinfomsg(AF_UNSPEC, 0, 0, 0)).attr_str(IFLA_IFNAME, near.as_str());
    msg.nest(IFLA_LINKINFO, |msg| {
        msg.attr_str(IFLA_INFO_KIND, "veth");
        msg.nest(IFLA_INFO_DATA, |msg| {
            msg.nest(VETH_INFO_PEER, |msg| {
                msg.raw(&ifinfomsg(AF_UNSPEC, 0, 0, 0)).attr_str(IFLA_IFNAME, far.as_str());
                msg.attr_i32(IFLA_NET_NS_FD, there);
            });
        });
    });
    msg
}
