//! Where a verb works: the namespace, its state folder and its host, and what an earlier change
//! left there.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use netloom_journal::{Clock, Error, Incarnation, NetnsId, Recovery, Store, SystemClock, Turn};
use netloom_model::{Engine, EngineError, Ownership};
use netloom_netlink::{KernelHost, Namespace, Options};

use crate::{
    args::{PlaceArgs, STATE_DIR, STATE_DIR_VARIABLE},
    failure::Failure,
    output::Output,
};

/// The clock of every transaction of this process.
pub(crate) const CLOCK: &dyn Clock = &SystemClock;

/// One namespace and what belongs to it.
#[derive(Debug)]
pub(crate) struct Session {
    /// The namespace.
    pub(crate) namespace: Namespace,
    /// The folder of all state.
    pub(crate) state_dir: PathBuf,
    /// How much is told.
    pub(crate) output: Output,
    /// The own namespace, when it is neither named nor that of the first process.
    unnamed: Option<NetnsId>,
    /// The options that lead a later command to the same place.
    options: String,
}

impl Session {
    /// The place that the command line names.
    pub(crate) fn new(place: PlaceArgs) -> Self {
        let PlaceArgs { netns, state_dir, quiet } = place;
        // A guard process works from another folder.
        let state_dir = std::path::absolute(&state_dir).unwrap_or(state_dir);
        let mut options = netns.as_deref().map_or_else(String::new, |name| format!(" --netns {name}"));
        if state_dir != Path::new(STATE_DIR) && std::env::var_os(STATE_DIR_VARIABLE).is_none() {
            options = format!("{options} --state-dir {}", state_dir.display());
        }
        let (namespace, unnamed) = netns.map_or_else(own, |text| (Namespace::from_text(&text), None));
        Self { namespace, state_dir, output: Output::new(quiet), unnamed, options }
    }

    /// A command that a person can type to go on in the same place.
    pub(crate) fn hint(&self, verb: &str) -> String {
        format!("`netloom state {verb}{}`", self.options)
    }

    /// Connects to the kernel.
    pub(crate) fn host(&self) -> Result<KernelHost, Failure> {
        // No thread of this program ever changes its namespace.
        let options = Options { here: true, ..Options::of(self.namespace.clone()) };
        KernelHost::open_with(options).map_err(|error| Self::unreadable(&error))
    }

    /// The state folder; made when it is not there.
    pub(crate) fn store(&self) -> Result<Store, Failure> {
        let store = match (&self.namespace, self.namespace.name(), self.unnamed) {
            (Namespace::Host, _, None) => Store::of_host(&self.state_dir),
            (Namespace::Host, _, Some(id)) => Store::of_unnamed(&self.state_dir, id),
            (Namespace::Named(_) | Namespace::Path(_), Some(name), _) => Store::of_netns(&self.state_dir, name),
            (Namespace::Named(_) | Namespace::Path(_), None, _) => {
                return Err(Failure::usage(format_args!(
                    "{} has no name, and without one nothing can be kept about it; name it with `ip netns attach`",
                    self.namespace
                )));
            }
        };
        store.map_err(|error| failure(&error))
    }

    /// Which life of the namespace this is.
    pub(crate) fn incarnation(&self) -> Result<Incarnation, Failure> {
        let incarnation = self.namespace.file().map_or_else(Incarnation::of_host, |file| Incarnation::of_netns(&file));
        incarnation.map_err(|error| failure(&error))
    }

    /// Takes the turn at the host.
    pub(crate) fn turn<'a>(
        &self,
        store: &'a Store,
        engine: &'a mut dyn Engine,
        wait: Duration,
    ) -> Result<Turn<'a>, Failure> {
        Turn::take(store, engine, CLOCK, self.incarnation()?, wait).map_err(|error| failure(&error))
    }

    /// Finishes what an earlier change left behind, and says so.
    pub(crate) fn recover(&self, turn: &mut Turn<'_>) -> Result<(), Failure> {
        match turn.recover().map_err(|error| failure(&error))? {
            // What waits for a person is told by the verb that it stands in the way of.
            Recovery::Nothing | Recovery::Dropped | Recovery::Open(_) => {}
            Recovery::Finished(summary) => self.output.warn(&format!("found and finished: {summary}")),
            Recovery::RolledBack { summary, why, report: _ } => {
                let source = &summary.source;
                self.output
                    .warn(&format!("an earlier change of {source} was left behind and is rolled back now: {why}"));
            }
            Recovery::Rebooted { summary, report: _ } => {
                let source = &summary.source;
                self.output.warn(&format!(
                    "an earlier change of {source} was cut off when the machine or the namespace was started anew; the files that it wrote are put back"
                ));
            }
        }
        Ok(())
    }

    /// Who asked for what, without making a state folder where there is none: looking changes nothing.
    pub(crate) fn ownership(&self) -> Result<Ownership, Failure> {
        if !self.folder().is_dir() {
            return Ok(Ownership::default());
        }
        self.store()?.ownership().map_err(|error| failure(&error))
    }

    /// Says that a change waits for a person, where one does. Only a courtesy: a state folder that
    /// cannot be read is no reason to fail.
    pub(crate) fn mention_open(&self) {
        if !self.folder().is_dir() {
            return;
        }
        let Ok(store) = self.store() else { return };
        if let Ok(Some(summary)) = store.pending() {
            self.output.warn(&format!("{summary}; see {} and {}", self.hint("commit"), self.hint("rollback")));
        }
        self.mention_failed(&store);
    }

    /// Says which changes could not be taken back in full, also by a guard that nobody listened to.
    pub(crate) fn mention_failed(&self, store: &Store) {
        for path in store.failed().unwrap_or_default() {
            self.output.warn(&format!(
                "an earlier change could not be taken back in full; {} has every old value: put right what is \
                 wrong, then remove the file",
                path.display()
            ));
        }
    }

    fn folder(&self) -> PathBuf {
        match (self.namespace.name(), self.unnamed) {
            (Some(name), _) => self.state_dir.join("netns").join(name),
            (None, Some(id)) => self.state_dir.join(format!("ns-{}", id.inode)),
            (None, None) => self.state_dir.join("host"),
        }
    }

    /// A host that could not be read, with the usual remedy.
    pub(crate) fn unreadable(error: &EngineError) -> Failure {
        let root = nix::unistd::geteuid().is_root();
        let hint = if root { "" } else { "; changes and other namespaces need root" };
        Failure::usage(format_args!("{error}{hint}"))
    }
}

/// The namespace that this process is in. Reached through `ip netns exec` or the like it is the same as
/// by its name, with the same records; one without a name is known by its number.
fn own() -> (Namespace, Option<NetnsId>) {
    let Ok(own) = NetnsId::of(Path::new(NetnsId::OWN)) else { return (Namespace::Host, None) };
    if NetnsId::of(Path::new(NetnsId::FIRST)).is_ok_and(|first| first == own) {
        return (Namespace::Host, None);
    }
    let named = fs::read_dir(Namespace::NAMED).into_iter().flatten().flatten().filter(|entry| {
        // One that nothing is bound to any more, or that may not be looked at, is not this one.
        NetnsId::of(&entry.path()).is_ok_and(|id| id == own)
    });
    match named.filter_map(|entry| entry.file_name().into_string().ok()).min() {
        Some(name) => (Namespace::Named(name), None),
        None => (Namespace::Host, Some(own)),
    }
}

/// How a failure of the transaction ends the process.
pub(crate) fn failure(error: &Error) -> Failure {
    match error {
        Error::Plan(_)
        | Error::Busy { .. }
        | Error::Damaged { .. }
        | Error::Open(_)
        | Error::Elsewhere { .. }
        | Error::NothingOpen => Failure::refused(error),
        Error::File { .. } | Error::Name(_) | Error::Host(_) => Failure::usage(error),
        Error::TooLate { .. } | Error::Lost { .. } | Error::UndoIncomplete(_) | Error::Unrecorded(_) => {
            Failure::failed(error)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_leads_back_to_the_same_namespace() {
        let place = PlaceArgs { netns: Some("blue".to_owned()), state_dir: PathBuf::from(STATE_DIR), quiet: true };
        assert_eq!(Session::new(place).hint("commit"), "`netloom state commit --netns blue`");
    }
}
