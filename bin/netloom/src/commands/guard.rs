//! `netloom state guard`: the process that rolls an open change back when nobody confirms it.
//!
//! It is started by `set`, in a session of its own so that the end of a login does not end it. It
//! is a convenience: when it dies, the next `netloom` in this namespace does what it would have done.

use std::{
    env,
    process::{Command, Stdio},
};

use netloom_journal::{Ended, wait_for_deadline};
use nix::{errno::Errno, sys::signal::SigSet};

use crate::{
    args::GuardArgs,
    commands::commit::PATIENCE,
    failure::{Exit, Failure},
    session::{self, CLOCK, Session},
};

pub(crate) fn run(args: &GuardArgs, session: &Session) -> Result<Exit, Failure> {
    let GuardArgs {} = args;
    // `set` holds signals back, and a child inherits that.
    let every = SigSet::all();
    every.thread_unblock().map_err(|errno| Failure::usage(format_args!("cannot let signals in: {errno}")))?;
    match nix::unistd::setsid() {
        // EPERM: it leads a process group already, as a service does.
        Ok(_) | Err(Errno::EPERM) => {}
        Err(errno) => return Err(Failure::usage(format_args!("cannot start a session: {errno}"))),
    }
    let store = session.store()?;
    match wait_for_deadline(&store, CLOCK).map_err(|error| session::failure(&error))? {
        Ended::Settled => Ok(Exit::Done),
        Ended::Expired => {
            let mut host = session.host()?;
            session.recover(&mut session.turn(&store, &mut host, PATIENCE)?)?;
            Ok(Exit::Done)
        }
    }
}

/// Starts a guard for this namespace.
pub(crate) fn start(session: &Session) -> Result<(), Failure> {
    let cannot = |error: std::io::Error| Failure::failed(format_args!("cannot start the guard process: {error}"));
    let mut command = Command::new(env::current_exe().map_err(cannot)?);
    command.args(["state", "guard", "--quiet", "--state-dir"]).arg(&session.state_dir);
    if let Some(file) = session.namespace.file() {
        command.arg("--netns").arg(file);
    }
    command.current_dir("/").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().map_err(cannot)?;
    Ok(())
}
