//! Why a transaction could not begin, or did not end well.

use std::{
    fmt, io,
    path::{Path, PathBuf},
    time::Duration,
};

use netloom_model::{EngineError, Retry, StepError};
use netloom_plan::{Difference, PlanError};

use crate::{Moment, Summary, probe::Waiting};

/// Why a change was taken back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cause {
    /// The kernel refused a step.
    Step {
        /// The step's number, from 1.
        number: usize,
        /// How many steps there were.
        of: usize,
        /// The step, for a person.
        step: String,
        /// What the kernel answered.
        error: StepError,
    },
    /// The steps were carried out, but the host is not as desired.
    Unmet(Vec<Difference>),
    /// A probe that passed before does not any more.
    Probe {
        /// Its name.
        name: String,
        /// What it reported.
        why: String,
    },
    /// A server refused connections for as long as one is waited for, while everything else was reached. That says
    /// nothing about the change.
    Away {
        /// The probe.
        name: String,
        /// How long it refused.
        waited: Duration,
    },
    /// The time to confirm ran out.
    Deadline(Moment),
    /// The time to confirm ran out before the change could be judged.
    Unsettled {
        /// When.
        deadline: Moment,
        /// What it waited for.
        what: String,
    },
    /// The host could not be talked to.
    Host(EngineError),
    /// The journal could not be written.
    Journal(String),
    /// Nobody would have taken the change back in time.
    Guard(String),
    /// The process that made the change ended before it was done.
    Interrupted,
    /// The process was asked to stop.
    Stopped,
    /// A person asked for it.
    Asked,
}

impl Cause {
    /// The stable name of this cause.
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::Step { .. } => "StepRefused",
            Self::Unmet(_) => "NotAsDesired",
            Self::Probe { .. } => "ProbeFailed",
            Self::Away { .. } => "ServerAway",
            Self::Deadline(_) | Self::Unsettled { .. } => "NotConfirmedInTime",
            Self::Host(_) => "HostUnavailable",
            Self::Journal(_) => "JournalUnwritable",
            Self::Guard(_) => "Unguarded",
            Self::Interrupted => "Interrupted",
            Self::Stopped => "Stopped",
            Self::Asked => "RollbackAsked",
        }
    }

    /// The same for a change that waited for something when its time was up.
    pub(crate) fn waiting_for(self, what: &Waiting) -> Self {
        match self {
            Self::Deadline(deadline) => Self::Unsettled { deadline, what: what.to_string() },
            other @ (Self::Step { .. }
            | Self::Unmet(_)
            | Self::Probe { .. }
            | Self::Away { .. }
            | Self::Unsettled { .. }
            | Self::Host(_)
            | Self::Journal(_)
            | Self::Guard(_)
            | Self::Interrupted
            | Self::Stopped
            | Self::Asked) => other,
        }
    }
}

/// What to do where the kernel does not know a kind of link at all.
fn missing_kind(step: &str, error: &StepError) -> String {
    const UNKNOWN: &str = "Unknown device type";
    if error.text.as_deref() != Some(UNKNOWN) {
        return String::new();
    }
    let kind = step.split_once('(').and_then(|(_, rest)| rest.split([' ', ')']).next()).unwrap_or_default();
    let module = match kind {
        "vlan" => "8021q",
        "linux-bridge" => "bridge",
        "bond" => "bonding",
        "ip-tunnel" => "ipip",
        "gre" | "gretap" => "ip_gre",
        "ip6gre" | "ip6gretap" => "ip6_gre",
        other => other,
    };
    format!("; this kernel has no links of type {kind}: `modprobe {module}` loads them, where they are built at all")
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Step { number, of, step, error } => {
                write!(f, "step {number} of {of} was refused: {step}: {error}{}", missing_kind(step, error))
            }
            Self::Unmet(differences) => {
                write!(f, "the host differs from the desired state: {}", Listed(differences))
            }
            Self::Probe { name, why } => write!(f, "probe {name} passed before and fails now: {why}"),
            Self::Away { name, waited } => write!(
                f,
                "probe {name} passed before, and for {} s now connections to it are refused while everything else is \
                 reached: what listens there is away, which says nothing about the change; try again when it is back",
                waited.as_secs()
            ),
            Self::Deadline(deadline) => write!(f, "it was not confirmed before {deadline}"),
            Self::Unsettled { deadline, what } => {
                write!(f, "at {deadline} its time was up and it still waited for {what}; give it more time")
            }
            Self::Host(error) => write!(f, "the host could not be talked to: {error}"),
            Self::Journal(error) => write!(f, "the journal could not be written: {error}"),
            Self::Guard(error) => write!(f, "its guard could not be started: {error}"),
            Self::Interrupted => f.write_str("the process that made the change ended before it was done"),
            Self::Stopped => f.write_str("it was asked to stop"),
            Self::Asked => f.write_str("it was asked for"),
        }
    }
}

/// What an undo could not put back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leftover {
    /// Why there was an undo.
    pub why: Cause,
    /// Every property that is not as it was before.
    pub differences: Vec<Difference>,
    /// Every step that was refused on the way, for a person.
    pub refused: Vec<String>,
    /// Where the journal was put, with everything in it.
    pub kept: PathBuf,
}

/// What went wrong with a transaction as a whole.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file could not be read or written.
    #[error("cannot {doing} {}: {source}", path.display())]
    File {
        /// What was attempted.
        doing: &'static str,
        /// On which file.
        path: PathBuf,
        /// What the system answered.
        source: io::Error,
    },
    /// A namespace has a name that cannot be a folder.
    #[error("{0:?} cannot be the name of a network namespace: it must not be empty, `.`, `..` or hold a `/`")]
    Name(String),
    /// Another transaction is at work, or came in between a plan and its execution.
    #[error("another change {}; wait for it and try again", Holder(*pid, *since))]
    Busy {
        /// The process that holds the lock, when it reported so.
        pid: Option<u32>,
        /// Since when, in seconds since 1970.
        since: Option<u64>,
    },
    /// A file of ours is not what we wrote.
    #[error("{}: {why}; nothing was touched: look at the file, and move it away to start afresh", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A change waits to be confirmed.
    #[error("{0}; confirm it or roll it back first")]
    Open(Box<Summary>),
    /// A change of another network namespace is kept in this folder.
    #[error(
        "{}: {summary}; it was made in another network namespace than this one: end it from there, or move the file away if that namespace is gone",
        path.display()
    )]
    Elsewhere {
        /// The journal.
        path: PathBuf,
        /// The change.
        summary: Box<Summary>,
    },
    /// There is nothing to confirm or roll back.
    #[error(
        "no change waits: it is kept already, or its time was up and it was taken back; `netloom state diff` with its document tells which"
    )]
    NothingOpen,
    /// A change cannot be confirmed any more.
    #[error("too late: the change of {source_name} was rolled back because {why}")]
    TooLate {
        /// The document that it was for.
        source_name: String,
        /// Why it was rolled back.
        why: Cause,
    },
    /// What the change must not cost is not reached before it either.
    #[error(
        "nothing was changed: {} cannot be reached, so nobody could tell whether the change costs the way there; it is tried again when there is one",
        .0.join(", ")
    )]
    OutOfReach(Vec<String>),
    /// There is no plan.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The host could not be talked to, and nothing was changed.
    #[error(transparent)]
    Host(#[from] EngineError),
    /// The host could not be talked to any more in the middle of an undo.
    #[error("the change could not be taken back yet ({why}): {source}; the next start goes on with it")]
    Lost {
        /// Why there was an undo.
        why: Cause,
        /// What failed.
        source: EngineError,
    },
    /// The undo ended, and the host is still not as it was.
    #[error("the change was taken back ({}), but not all of it: {}; the journal is kept as {}", .0.why, Listed(&.0.differences), .0.kept.display())]
    UndoIncomplete(Box<Leftover>),
    /// The change is confirmed, but the record of it could not be written.
    #[error("the change is in place, but its record is not: {0}; the next start writes it")]
    Unrecorded(Box<Error>),
}

impl Error {
    /// The stable name of this failure.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::File { .. } => "StateUnreadable",
            Self::Name(_) => "BadNamespaceName",
            Self::Busy { .. } => "AnotherChangeAtWork",
            Self::Damaged { .. } => "StateDamaged",
            Self::Open(_) => "ChangeUnconfirmed",
            Self::Elsewhere { .. } => "ChangeOfAnotherNamespace",
            Self::NothingOpen => "NothingToConfirm",
            Self::TooLate { .. } => "NotConfirmedInTime",
            Self::OutOfReach(_) => "OutOfReach",
            Self::Plan(_) => "PlanRefused",
            Self::Host(error) => error.reason(),
            Self::Lost { .. } => "UndoInterrupted",
            Self::UndoIncomplete(_) => "UndoIncomplete",
            Self::Unrecorded(_) => "OwnershipUnrecorded",
        }
    }

    /// When to try again.
    pub fn retry(&self) -> Retry {
        match self {
            Self::Busy { .. } | Self::Lost { .. } | Self::Unrecorded(_) | Self::OutOfReach(_) => {
                Retry::After(Duration::from_secs(1))
            }
            Self::File { .. } | Self::Open(_) | Self::Elsewhere { .. } | Self::Plan(_) | Self::UndoIncomplete(_) => {
                Retry::OnChange
            }
            Self::Name(_) | Self::Damaged { .. } | Self::NothingOpen | Self::TooLate { .. } => Retry::Never,
            Self::Host(error) => error.retry(),
        }
    }
}

/// Puts the file into an input or output error.
pub(crate) trait At<T> {
    fn at(self, doing: &'static str, path: &Path) -> Result<T, Error>;
}

impl<T, E: Into<io::Error>> At<T> for Result<T, E> {
    fn at(self, doing: &'static str, path: &Path) -> Result<T, Error> {
        self.map_err(|source| Error::File { doing, path: path.to_owned(), source: source.into() })
    }
}

/// The first differences; a person who wants all of them finds them in the value itself.
struct Listed<'a>(&'a [Difference]);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 5;
        for (number, difference) in self.0.iter().take(SHOWN).enumerate() {
            let comma = if number > 0 { ", " } else { "" };
            write!(f, "{comma}{} is {} instead of {}", difference.path, difference.got, difference.wanted)?;
        }
        match self.0.len().checked_sub(SHOWN) {
            Some(more @ 1..) => write!(f, " and {more} more"),
            Some(0) | None => Ok(()),
        }
    }
}

/// Who holds the lock, as far as it is known.
struct Holder(Option<u32>, Option<u64>);

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(pid) = self.0 else { return f.write_str("is or was at work on this host") };
        write!(f, "is at work on this host (process {pid}")?;
        if let Some(wall) = self.1 {
            write!(f, ", since {}", Moment { boot: Duration::ZERO, wall })?;
        }
        f.write_str(")")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_that_the_kernel_does_not_have_is_named_with_its_module() {
        let refused = |step: &str, text: &str| {
            let error = StepError::with(StepError::EOPNOTSUPP, text);
            Cause::Step { number: 3, of: 7, step: step.to_owned(), error }.to_string()
        };
        let reported = refused("link left (dummy) port of br0 up", "Unknown device type");
        assert!(
            reported.ends_with("no links of type dummy: `modprobe dummy` loads them, where they are built at all"),
            "{reported}"
        );
        let reported = refused("link v (vlan base-iface eth0 id 5) up", "Unknown device type");
        assert!(reported.contains("`modprobe 8021q`"), "{reported}");
        assert!(!refused("link v (vlan id 5) up", "Something else").contains("modprobe"));
    }

    #[test]
    fn a_refusal_names_the_holder_of_the_lock() {
        let busy = Error::Busy { pid: Some(77), since: Some(1_772_368_205) };
        assert!(busy.to_string().contains("(process 77, since 2026-03-01 12:30:05 UTC)"), "{busy}");
        assert_eq!(busy.reason(), "AnotherChangeAtWork");
    }

    #[test]
    fn many_differences_are_counted_instead_of_listed() {
        let one = |n| Difference { path: format!("eth{n}.mtu"), wanted: "1500".into(), got: "1400".into() };
        let cause = Cause::Unmet((0..7).map(one).collect());
        assert!(cause.to_string().ends_with("eth4.mtu is 1400 instead of 1500 and 2 more"), "{cause}");
        assert!(Cause::Unmet((0..2).map(one).collect()).to_string().ends_with("eth1.mtu is 1400 instead of 1500"));
    }
}
