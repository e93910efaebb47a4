//! `netloom state guard`: the process that rolls an open change back when nobody confirms it.
//!
//! It is started by `set` before the first step, in a session of its own so that the end of a login
//! does not end it. While `set` is at work it only waits; should `set` be killed in the middle, it takes
//! the change back at once. It is a convenience: when it dies, the next `netloom` in this namespace does what it would have done.

use std::{
    env,
    process::{Command, Stdio},
};

use netloom_journal::{Ended, Error, Phase, Store, wait_for_deadline, wait_for_holder};
use nix::{errno::Errno, sys::signal::SigSet};

use crate::{
    args::GuardArgs,
    commands::commit::TIME_LIMIT,
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
    wait_for_holder(&store).map_err(|error| session::failure(&error))?;
    if left_behind(&store).map_err(|error| session::failure(&error))?
        || wait_for_deadline(&store, CLOCK).map_err(|error| session::failure(&error))? == Ended::Expired
    {
        let (mut host, mut probes) = (session.host()?, session.probes());
        session.recover(&mut session.transaction(&store, &mut host, TIME_LIMIT)?.with_probes(&mut probes))?;
    }
    Ok(Exit::Done)
}

/// Whether nobody is at work on the change any more although it is not done: one that is confirmed or undone
/// still has its journal to be put away.
fn left_behind(store: &Store) -> Result<bool, Error> {
    Ok(store.pending()?.is_some_and(|summary| match summary.phase {
        Phase::Running | Phase::Undoing | Phase::Confirmed | Phase::Undone => true,
        Phase::Open => false,
    }))
}

/// Starts a guard for this namespace.
pub(crate) fn start(session: &Session) -> Result<(), String> {
    let mut command = Command::new(env::current_exe().map_err(|error| error.to_string())?);
    command.args(["state", "guard", "--quiet", "--state-dir"]).arg(&session.place.state_dir);
    if let Some(file) = session.place.namespace.file() {
        command.arg("--netns").arg(file);
    }
    command.current_dir("/").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().map_err(|error| error.to_string())?;
    Ok(())
}
