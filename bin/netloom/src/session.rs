//! Where a verb works: the namespace, its state folder and its host, and what an earlier change
//! left there.

use std::{io, path::Path, time::Duration};

use netloom_journal::{Clock, Error, Incarnation, Recovery, Store, SystemClock, Transaction};
use netloom_local_host::{LocalHost, NamedProbes, Place, PlaceError};
use netloom_model::{Engine, EngineError, Ownership};
use netloom_plan::PlanError;

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
    /// The namespace, and what belongs to it.
    pub(crate) place: Place,
    /// How much is reported.
    pub(crate) output: Output,
    /// The options that lead a later command to the same place.
    options: String,
}

impl Session {
    /// The place that the command line names.
    pub(crate) fn new(place: PlaceArgs) -> Self {
        let PlaceArgs { netns, state_dir, quiet } = place;
        let place = Place::new(netns.as_deref(), &state_dir);
        let mut options = netns.as_deref().map_or_else(String::new, |name| format!(" --netns {name}"));
        if place.state_dir != Path::new(STATE_DIR) && std::env::var_os(STATE_DIR_VARIABLE).is_none() {
            options = format!("{options} --state-dir {}", place.state_dir.display());
        }
        Self { place, output: Output::new(quiet), options }
    }

    /// A command that a person can type to go on in the same place.
    pub(crate) fn hint(&self, verb: &str) -> String {
        format!("`netloom state {verb}{}`", self.options)
    }

    /// Connects to the host.
    pub(crate) fn host(&self) -> Result<LocalHost, Failure> {
        self.check_there()?;
        // No thread of a verb ever changes its namespace.
        self.place.host(true).map_err(|error| Self::unreadable(&error))
    }

    /// The state folder; made when it is not there.
    pub(crate) fn store(&self) -> Result<Store, Failure> {
        self.check_there()?;
        self.place.store().map_err(|error| match error {
            PlaceError::Nameless(_) => Failure::usage(error),
            PlaceError::Folder(error) => failure(&error),
        })
    }

    /// Refuses a namespace that does not exist, before anything is kept about it.
    fn check_there(&self) -> Result<(), Failure> {
        match self.place.namespace.file() {
            Some(file) if !file.exists() => Err(Failure::usage(format_args!(
                "there is no {}: {} does not exist; `ip netns list` shows which there are",
                self.place.namespace,
                file.display()
            ))),
            Some(_) | None => Ok(()),
        }
    }

    /// Which life of the namespace this is.
    pub(crate) fn incarnation(&self) -> Result<Incarnation, Failure> {
        self.place.incarnation().map_err(|error| failure(&error))
    }

    /// Takes the turn at the host.
    pub(crate) fn transaction<'a>(
        &self,
        store: &'a Store,
        engine: &'a mut dyn Engine,
        wait: Duration,
    ) -> Result<Transaction<'a>, Failure> {
        Transaction::take(store, engine, CLOCK, self.incarnation()?, wait).map_err(|error| failure(&error))
    }

    /// The probes that an earlier change names, to be asked after its undo.
    pub(crate) fn probes(&self) -> NamedProbes {
        NamedProbes(self.place.namespace.clone())
    }

    /// Finishes what an earlier change left behind, and says so.
    pub(crate) fn recover(&self, transaction: &mut Transaction<'_>) -> Result<(), Failure> {
        transaction.recover().map(|recovery| self.tell(&recovery)).map_err(|error| failure(&error))
    }

    /// The same, for a change that needs the way free: one that waits for a person is an error.
    pub(crate) fn make_way(&self, transaction: &mut Transaction<'_>) -> Result<(), Failure> {
        transaction.make_way().map(|recovery| self.tell(&recovery)).map_err(|error| failure(&error))
    }

    fn tell(&self, recovery: &Recovery) {
        match recovery {
            // What waits for a person is reported by the verb that it stands in the way of.
            Recovery::Nothing | Recovery::Dropped | Recovery::Open(_) => {}
            Recovery::Finished(summary) => self.output.warn(&format!("found and finished: {summary}")),
            Recovery::RolledBack { summary, why, report } => {
                let (source, ending) = (&summary.source, report.ending());
                self.output.warn(&format!(
                    "an earlier change of {source} was left behind and is rolled back now: {why}; {ending}"
                ));
            }
            Recovery::Rebooted { summary, report: _ } => {
                let source = &summary.source;
                self.output.warn(&format!(
                    "an earlier change of {source} was cut off when the machine or the namespace was restarted; the files that it wrote are put back"
                ));
            }
        }
    }

    /// Who asked for what, without making a state folder where there is none: looking changes nothing.
    pub(crate) fn ownership(&self) -> Result<Ownership, Failure> {
        if !self.place.folder().is_dir() {
            return Ok(Ownership::default());
        }
        self.store()?.ownership().map_err(|error| failure(&error))
    }

    /// Says that a change waits for a person, where one does. Only a courtesy: a state folder that
    /// cannot be read is no reason to fail.
    pub(crate) fn mention_open(&self) {
        if !self.place.folder().is_dir() {
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

    /// A host that could not be read, with the usual remedy.
    pub(crate) fn unreadable(error: &EngineError) -> Failure {
        let root = nix::unistd::geteuid().is_root();
        let hint = if root { "" } else { "; changes and other namespaces need root" };
        Failure::usage(format_args!("{error}{hint}"))
    }
}

/// How a failure of the transaction ends the process.
pub(crate) fn failure(error: &Error) -> Failure {
    match error {
        Error::Plan(PlanError::CutsProtected { .. }) => {
            Failure::refused(format_args!("{error}, or carry it out all the same with --allow-cut"))
        }
        Error::Plan(_)
        | Error::Busy { .. }
        | Error::Damaged { .. }
        | Error::Open(_)
        | Error::Elsewhere { .. }
        | Error::OutOfReach(_)
        | Error::NothingOpen => Failure::refused(error),
        Error::File { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
            Failure::usage(format_args!("{error}; changes need root"))
        }
        Error::File { .. } | Error::Name(_) | Error::Host(_) => Failure::usage(error),
        Error::TooLate { .. } | Error::Lost { .. } | Error::UndoIncomplete(_) | Error::Unrecorded(_) => {
            Failure::failed(error)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn a_hint_leads_back_to_the_same_namespace() {
        let place = PlaceArgs { netns: Some("blue".to_owned()), state_dir: PathBuf::from(STATE_DIR), quiet: true };
        assert_eq!(Session::new(place).hint("commit"), "`netloom state commit --netns blue`");
    }
}
