//! How a command ends when it does not end well: a status for scripts, one line for people.

use std::{fmt, io};

/// The exit status of the process; the numbers are part of the interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done.
    Done = 0,
    /// Failed; what was changed has been undone, or the message says what could not be.
    Failed = 1,
    /// Wrong usage, or the machine could not be read.
    Usage = 2,
    /// The host differs, or the request was refused before anything was touched.
    Refused = 3,
}

/// Why a command did not do what it was asked to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    /// The status.
    pub(crate) exit: Exit,
    /// What, where, why and what to do. Empty when there is nothing to say: the reader went away.
    pub(crate) message: String,
    /// Whether the same may go well a little later, with nothing changed by anybody.
    pub(crate) passing: bool,
}

impl Failure {
    /// Something failed after it was begun.
    pub(crate) fn failed(message: impl fmt::Display) -> Self {
        Self::with(Exit::Failed, message)
    }

    /// The machine could not be read, or the command line is wrong.
    pub(crate) fn usage(message: impl fmt::Display) -> Self {
        Self::with(Exit::Usage, message)
    }

    /// The request was refused and nothing was touched.
    pub(crate) fn refused(message: impl fmt::Display) -> Self {
        Self::with(Exit::Refused, message)
    }

    /// A cluster did not answer, or is in trouble itself.
    #[cfg(feature = "cluster")]
    pub(crate) fn passing(message: impl fmt::Display) -> Self {
        Self { passing: true, ..Self::usage(message) }
    }

    /// What is not passing, with this status.
    pub(crate) fn with(exit: Exit, message: impl fmt::Display) -> Self {
        Self { exit, message: message.to_string(), passing: false }
    }
}

impl From<io::Error> for Failure {
    /// A failure to print. Nobody is left to be notified when the reader went away.
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Self::with(Exit::Done, "")
        } else {
            Self::usage(format_args!("cannot write the output: {error}"))
        }
    }
}
