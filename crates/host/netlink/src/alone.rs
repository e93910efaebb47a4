//! Work that does not go with other messages: it writes files, asks a driver, or must see the
//! kernel's answer before it goes on.

use std::collections::BTreeMap;

use netloom_model::{Attrs, Direction, LinkKind, Mirror, MirrorKey, Setting, StepError};
use netloom_types::IfName;

use crate::{
    ethtool,
    kernel::Kernel,
    link::{self, Current},
    mirror, settings,
    socket::NetlinkError,
    steps::has_driver_settings,
    sysctl,
    wire::Msg,
};

/// One such piece of work; the indexes of its links are known.
#[derive(Debug)]
pub(crate) enum Alone<'a> {
    /// Properties that are partly files or the driver's, or that need what the link has now.
    Attrs {
        /// The link.
        name: IfName,
        /// Its index.
        index: u32,
        /// Its kind.
        kind: &'a LinkKind,
        /// The new values.
        attrs: &'a Attrs,
    },
    /// Offload features.
    Features {
        /// The link's index.
        index: u32,
        /// The new values.
        features: &'a BTreeMap<Box<str>, bool>,
    },
    /// A mirror that goes, and the queue with the last one.
    RemoveMirror {
        /// The link's index.
        index: u32,
        /// Which mirror.
        key: MirrorKey,
        /// Its value.
        mirror: Mirror,
    },
    /// A setting of the whole host.
    Setting(&'a Setting),
}

/// Why work was not done: the kernel refused it, or could not be talked to.
#[derive(Debug)]
pub(crate) enum Fault {
    /// Refused.
    Refused(StepError),
    /// No talking.
    Broken(NetlinkError),
}

impl From<StepError> for Fault {
    fn from(refused: StepError) -> Self {
        Self::Refused(refused)
    }
}

impl From<NetlinkError> for Fault {
    fn from(broken: NetlinkError) -> Self {
        Self::Broken(broken)
    }
}

/// Takes the refusal for the answer of the step, and leaves the rest an error.
pub(crate) fn answer(result: Result<(), Fault>) -> Result<Result<(), StepError>, NetlinkError> {
    match result {
        Ok(()) => Ok(Ok(())),
        Err(Fault::Refused(refused)) => Ok(Err(refused)),
        Err(Fault::Broken(broken)) => Err(broken),
    }
}

impl Alone<'_> {
    /// Does the work.
    pub(crate) fn run(self, kernel: &mut Kernel) -> Result<(), Fault> {
        match self {
            Self::Attrs { name, index, kind, attrs } => set_attrs(kernel, name, index, kind, attrs),
            Self::Features { index, features } => {
                ask_driver(kernel, |family| Ok(vec![ethtool::set_features(family, index, features)]))
            }
            Self::RemoveMirror { index, key, mirror } => remove_mirror(kernel, index, key, &mirror),
            Self::Setting(setting) => Ok(settings::set(&kernel.namespace, setting)?),
        }
    }
}

/// Properties in their three places: the link itself, files, the driver.
fn set_attrs(kernel: &mut Kernel, name: IfName, index: u32, kind: &LinkKind, attrs: &Attrs) -> Result<(), Fault> {
    let mut current = None;
    if link::needs_current(kind, attrs) {
        kernel.route.get(&link::get(index), |message| current = Current::read(&message))??;
    }
    let links = &kernel.links;
    for message in link::set(index, kind, attrs, current.as_ref(), &|name| links.index(name))? {
        kernel.route.change(&message)??;
    }
    sysctl::apply(name, attrs)?;
    if has_driver_settings(attrs) {
        ask_driver(kernel, |family| ethtool::set(family, index, attrs))?;
    }
    Ok(())
}

fn ask_driver(kernel: &mut Kernel, messages: impl FnOnce(u16) -> Result<Vec<Msg>, StepError>) -> Result<(), Fault> {
    let Some((connection, family)) = kernel.generic()? else {
        return Err(StepError::with(StepError::EOPNOTSUPP, "this kernel has no ethtool netlink family").into());
    };
    for message in messages(*family)? {
        connection.change(&message)??;
    }
    Ok(())
}

/// Removes the filters of a mirror. The queue goes with the last filter of any maker, unless somebody
/// else had made it: then it had no filter of ours when the host was last observed. After a process
/// that was killed nobody knows that any more, and an empty queue, which does nothing, may go too.
fn remove_mirror(kernel: &mut Kernel, index: u32, key: MirrorKey, mirror: &Mirror) -> Result<(), Fault> {
    let filters =
        kernel.route.dump(&mirror::dump_filters(index, key.direction), Vec::new, |filters: &mut Vec<_>, message| {
            filters.extend(mirror::decode(&message).filter(|f| f.is_of(key, mirror)));
        })?;
    if filters.is_empty() {
        return Err(StepError::with(StepError::ENOENT, "there is no such mirror").into());
    }
    for filter in &filters {
        kernel.route.change(&mirror::remove(filter))??;
    }
    if !mirror.ours || kernel.foreign_queues.contains(&index) {
        return Ok(());
    }
    for direction in [Direction::Ingress, Direction::Egress] {
        let filters = kernel.route.dump(
            &mirror::dump_filters(index, direction),
            || 0_usize,
            |count, message| *count += usize::from(mirror::is_filter(&message)),
        )?;
        if filters > 0 {
            return Ok(());
        }
    }
    Ok(kernel.route.change(&mirror::remove_queue(index))??)
}
