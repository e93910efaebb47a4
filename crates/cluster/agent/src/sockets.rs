//! The sockets of routing daemons: one that comes or goes counts as a change of the host.
//!
//! A daemon that was killed comes back with nothing, and the kernel has no word for that. Where the folder cannot be
//! watched, the poll finds it.

use std::{io, path::PathBuf, sync::Arc, thread};

use netloom_agent_core::HostChange;
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify, InotifyEvent};
use tracing::info;

use crate::notices::Changes;

/// Tells `changed` of every socket that comes or goes in a folder, from a thread of its own.
pub(crate) fn follow(folder: PathBuf, changed: Arc<Changes>) -> io::Result<()> {
    let follow = move || {
        if let Err(why) = listen(&folder, &changed) {
            let folder = folder.display();
            info!("{folder} cannot be watched ({why}): routing daemons that come back there are found within a minute");
        }
    };
    thread::Builder::new().name("routing-sockets".to_owned()).spawn(follow).map(drop)
}

fn listen(folder: &PathBuf, changed: &Changes) -> nix::Result<()> {
    let inotify = Inotify::init(InitFlags::IN_CLOEXEC)?;
    let flags = AddWatchFlags::IN_CREATE | AddWatchFlags::IN_MOVED_TO | AddWatchFlags::IN_DELETE;
    inotify.add_watch(folder, flags | AddWatchFlags::IN_DELETE_SELF)?;
    loop {
        let events = inotify.read_events()?;
        if events.iter().any(is_socket) {
            changed.add(HostChange::Anything);
        }
        if events.iter().any(|event| event.mask.contains(AddWatchFlags::IN_IGNORED)) {
            // The folder went, and a new one of this name is another folder.
            return Err(nix::errno::Errno::ENOENT);
        }
    }
}

fn is_socket(event: &InotifyEvent) -> bool {
    event.name.as_ref().is_some_and(|name| name.to_string_lossy().ends_with(".vty"))
}
