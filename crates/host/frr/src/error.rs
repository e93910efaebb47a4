//! Why a daemon could not be asked, or did not do what it was asked.
//!
//! No message has a password in it: lines and FRR's words are masked where an error is made.

use std::{io, path::PathBuf, time::Duration};

use crate::{Daemon, Status, answer::Answer, secret::masked_in};

/// What went wrong between us and FRR.
#[derive(Debug, thiserror::Error)]
pub enum FrrError {
    /// The folder has no socket of any daemon.
    #[error("no daemon of FRR has a socket in {}: start FRR, or name the folder of its sockets", .folder.display())]
    NoDaemon {
        /// Where the sockets should be.
        folder: PathBuf,
    },
    /// A daemon takes no connection.
    #[error("cannot connect to {daemon} of FRR at {}: {source}; start it", .path.display())]
    Away {
        /// The daemon.
        daemon: Daemon,
        /// Its socket.
        path: PathBuf,
        /// The system's words.
        source: io::Error,
    },
    /// A daemon does not accept a line.
    #[error(transparent)]
    Refused(Box<Refusal>),
    /// Somebody else kept the configuration locked for all of the time that there was.
    #[error(
        "{daemon} of FRR could not take \"{line}\" for {waited:?}, because somebody else is changing its configuration: {words}"
    )]
    Locked {
        /// The daemon.
        daemon: Daemon,
        /// The line.
        line: String,
        /// How long it was tried.
        waited: Duration,
        /// FRR's words.
        words: String,
    },
    /// A daemon did not answer in time.
    #[error("{daemon} of FRR did not answer to \"{line}\" within {waited:?}; it may be stuck or too busy")]
    Silent {
        /// The daemon.
        daemon: Daemon,
        /// The line.
        line: String,
        /// How long it was waited for.
        waited: Duration,
    },
    /// The connection ended before the answer did.
    #[error(
        "{daemon} of FRR ended the connection before it had answered to \"{line}\"; it may have ended itself: {why}"
    )]
    Closed {
        /// The daemon.
        daemon: Daemon,
        /// The line.
        line: String,
        /// What was seen of it.
        why: String,
    },
    /// The answer is longer than what is taken.
    #[error("the answer of {daemon} of FRR to \"{line}\" is longer than {limit} bytes")]
    AnswerTooLong {
        /// The daemon.
        daemon: Daemon,
        /// The line.
        line: String,
        /// How much is taken.
        limit: usize,
    },
    /// What came back is not one answer.
    #[error(
        "{daemon} of FRR answered to \"{line}\" with something that is no answer; another program may have its socket"
    )]
    NoAnswer {
        /// The daemon.
        daemon: Daemon,
        /// The line.
        line: String,
    },
    /// The line is longer than what FRR takes. It was not sent: a daemon stays silent, or carries out the end of it.
    #[error("a line for {daemon} of FRR has {length} bytes, and at most {limit} are possible: \"{line}…\"")]
    LineTooLong {
        /// The daemon.
        daemon: Daemon,
        /// How the line begins.
        line: String,
        /// Its length.
        length: usize,
        /// What FRR takes.
        limit: usize,
    },
    /// The line has control characters in it, which may make several lines of it. It was not sent.
    #[error("a line for {daemon} of FRR has a line break or another control character in it: \"{line}\"")]
    NotOneLine {
        /// The daemon.
        daemon: Daemon,
        /// The line, up to that character.
        line: String,
    },
    /// What a daemon reports cannot be read.
    #[error("cannot read what {daemon} of FRR answers to \"{command}\": {why}")]
    Unreadable {
        /// The daemon.
        daemon: Daemon,
        /// The command.
        command: String,
        /// What is wrong with it.
        why: String,
    },
}

impl FrrError {
    /// The stable name of this reason.
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::NoDaemon { .. } | Self::Away { .. } => "FrrAway",
            Self::Refused(_) => "FrrRefused",
            Self::Locked { .. } => "FrrLocked",
            Self::Silent { .. } => "FrrSilent",
            Self::Closed { .. } => "FrrClosed",
            Self::AnswerTooLong { .. } => "FrrAnswerTooLong",
            Self::NoAnswer { .. } => "FrrNoAnswer",
            Self::LineTooLong { .. } => "FrrLineTooLong",
            Self::NotOneLine { .. } => "FrrNotOneLine",
            Self::Unreadable { .. } => "FrrUnreadable",
        }
    }

    /// Whether the line may have been carried out all the same: only a look at the running configuration shows it.
    pub const fn may_be_done(&self) -> bool {
        match self {
            Self::Silent { .. } | Self::Closed { .. } | Self::AnswerTooLong { .. } | Self::NoAnswer { .. } => true,
            Self::NoDaemon { .. }
            | Self::Away { .. }
            | Self::Refused(_)
            | Self::Locked { .. }
            | Self::LineTooLong { .. }
            | Self::NotOneLine { .. }
            | Self::Unreadable { .. } => false,
        }
    }
}

/// A line that a daemon does not accept.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{daemon} of FRR refuses \"{line}\"{}: {words}{}", within(.context), taken(.taken_by))]
pub struct Refusal {
    /// The daemon.
    pub daemon: Daemon,
    /// The lines that lead to the place of the line, the outermost first.
    pub context: Vec<String>,
    /// The line; one of the context, if the way to the place was refused.
    pub line: String,
    /// The status of the answer.
    pub status: Status,
    /// FRR's words, in one line.
    pub words: String,
    /// The daemons that took the line before this one was asked: there it is in place.
    pub taken_by: Vec<Daemon>,
}

impl Refusal {
    /// What a daemon answered to a line of a context, without passwords.
    pub(crate) fn of(daemon: Daemon, context: &[&str], line: &str, answer: &Answer) -> Self {
        Self {
            daemon,
            context: context.iter().map(|line| masked_in(line, line)).collect(),
            line: masked_in(line, line),
            status: answer.status,
            words: words(line, &answer.text, answer.status),
            taken_by: Vec::new(),
        }
    }
}

/// What a daemon printed, in one line and without its percent signs and the password of the line.
pub(crate) fn words(line: &str, text: &str, status: Status) -> String {
    let text = masked_in(line, text);
    let lines = text.lines().map(|line| line.trim().trim_start_matches('%').trim_start());
    let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    if lines.is_empty() { format!("no words, {status:?}") } else { lines.join("; ") }
}

fn within(context: &[String]) -> String {
    if context.is_empty() { String::new() } else { format!(" in \"{}\"", context.join(", ")) }
}

fn taken(by: &[Daemon]) -> String {
    let names: Vec<&str> = by.iter().map(|daemon| daemon.name()).collect();
    if names.is_empty() { String::new() } else { format!("; already taken by {}", names.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> Refusal {
        let answer = Answer { status: Status::ConfigFailed, text: text.to_owned() };
        let context = ["router bgp 65001", "address-family ipv4 unicast"];
        Refusal::of(Daemon::Bgpd, &context, "neighbor 192.0.2.1 password s3cret", &answer)
    }

    #[test]
    fn a_refusal_names_everything_but_the_password() {
        let mut refusal = refusal("% Configuration failed.\n\nError type: validation\nof s3cret\n");
        assert_eq!(
            refusal.to_string(),
            "bgpd of FRR refuses \"neighbor 192.0.2.1 password ***\" in \"router bgp 65001, address-family ipv4 unicast\": \
             Configuration failed.; Error type: validation; of ***"
        );
        refusal.taken_by = vec![Daemon::Zebra];
        assert!(refusal.to_string().ends_with("; already taken by zebra"), "{refusal}");
    }

    #[test]
    fn a_refusal_without_words_has_its_status() {
        assert_eq!(refusal("").words, "no words, ConfigFailed");
    }
}
