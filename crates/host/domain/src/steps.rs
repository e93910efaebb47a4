//! From what an instance asks for and the live domain to what is done about its NICs.

use crate::{
    Attachment, Domain, Instance, LinkState, Nic,
    write::{interface, set_link},
};

/// Something that is done to one NIC of a running domain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// It is plugged in, with the state of its link.
    Attach {
        /// Its name.
        nic: String,
        /// The device.
        xml: String,
    },
    /// It is unplugged.
    Detach {
        /// Its name.
        nic: String,
        /// The device, as libvirt has it.
        xml: String,
    },
    /// Its link changes and nothing else.
    SetLink {
        /// Its name.
        nic: String,
        /// The device as libvirt has it, but for the link.
        xml: String,
        /// What it is to be.
        state: LinkState,
    },
}

impl Step {
    /// The NIC that it is about.
    pub fn nic(&self) -> &str {
        match self {
            Self::Attach { nic, .. } | Self::Detach { nic, .. } | Self::SetLink { nic, .. } => nic,
        }
    }
}

/// What has to be done: first what is plugged in, then what is unplugged, then links.
pub fn steps(instance: &Instance, live: &Domain) -> Vec<Step> {
    let ours = || instance.nics.iter().filter(|nic| nic.is_ours());
    let attach = ours().filter_map(|nic| attach(nic, live));
    let detach = ours().filter_map(|nic| detach(nic, live));
    let links = ours().filter_map(|nic| link(nic, live));
    attach.chain(detach).chain(links).collect()
}

fn attach(nic: &Nic, live: &Domain) -> Option<Step> {
    let state = nic.state?;
    let missing = live.interface(&nic.name).is_none();
    missing.then(|| Step::Attach { nic: nic.name.clone(), xml: interface(nic, state).print() })
}

/// Only a tap that is named as ours are is taken away: another one was put there by somebody else.
fn detach(nic: &Nic, live: &Domain) -> Option<Step> {
    let known = live.interface(&nic.name).filter(|_| nic.state.is_none())?;
    let ours = match nic.attachment {
        Attachment::Tap => known.tap.as_deref() == Some(nic.tap.as_str()),
        Attachment::Passt | Attachment::Elsewhere => false,
    };
    ours.then(|| Step::Detach { nic: nic.name.clone(), xml: known.element.print() })
}

fn link(nic: &Nic, live: &Domain) -> Option<Step> {
    let (state, known) = (nic.state?, live.interface(&nic.name)?);
    if known.link == state {
        return None;
    }
    let mut element = known.element.clone();
    set_link(&mut element, state);
    Some(Step::SetLink { nic: nic.name.clone(), xml: element.print(), state })
}
