//! The daemons of one FRR: which are there, their releases and configurations, and lines for several of them.
//!
//! A connection that broke is made again by the next call for its daemon. Nothing is sent a second time for that.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use crate::{Answer, Daemon, FrrError, Limits, Version, Vty};

/// The daemons whose sockets are in one folder, such as `/run/frr`.
#[derive(Debug)]
pub struct Daemons {
    folder: PathBuf,
    limits: Limits,
    connected: BTreeMap<Daemon, Connected>,
    away: BTreeMap<Daemon, FrrError>,
}

/// A daemon that answers, or did.
#[derive(Debug)]
struct Connected {
    vty: Vty,
    release: Version,
}

impl Daemons {
    /// Connects to every daemon that is there; an error if none answers.
    ///
    /// A daemon without a socket is not there. One whose socket leads nowhere is [`away`](Self::away): daemons leave their
    /// sockets behind when they end.
    pub fn open(folder: &Path, limits: Limits) -> Result<Self, FrrError> {
        let (folder, connected) = (folder.to_owned(), BTreeMap::new());
        let mut daemons = Self { folder, limits, connected, away: BTreeMap::new() };
        for daemon in Daemon::ALL {
            if !daemons.socket(daemon).exists() {
                continue;
            }
            if let Err(error) = daemons.reach(daemon) {
                daemons.away.insert(daemon, error);
            }
        }
        if !daemons.connected.is_empty() {
            return Ok(daemons);
        }
        let first = daemons.away.pop_first();
        Err(first.map_or(FrrError::NoDaemon { folder: daemons.folder }, |(_, error)| error))
    }

    /// The daemons that answered when they were last asked.
    pub fn there(&self) -> impl Iterator<Item = Daemon> {
        self.connected.keys().copied()
    }

    /// The daemons that had a socket and did not answer when this was opened, and why.
    pub fn away(&self) -> impl Iterator<Item = (Daemon, &FrrError)> {
        self.away.iter().map(|(daemon, error)| (*daemon, error))
    }

    /// The release of a daemon, as it was when it answered last time.
    pub fn release(&self, daemon: Daemon) -> Option<Version> {
        self.connected.get(&daemon).map(|connected| connected.release)
    }

    /// The configuration that a daemon runs with. It has passwords in it.
    pub fn running_config(&mut self, daemon: Daemon) -> Result<String, FrrError> {
        self.show(daemon, "show running-config")
    }

    /// What a daemon prints for a command that changes nothing.
    pub fn show(&mut self, daemon: Daemon, command: &str) -> Result<String, FrrError> {
        self.ask(daemon, |vty| vty.show(command))
    }

    /// Sends a configuration line to each of these daemons, within a context such as `router bgp 65001`,
    /// `address-family ipv4 unicast`, and gives their answers.
    ///
    /// It ends at the first daemon that does not take it; a refusal then names those that did.
    pub fn run(&mut self, daemons: &[Daemon], context: &[&str], line: &str) -> Result<Vec<(Daemon, Answer)>, FrrError> {
        let mut answers = Vec::new();
        for daemon in daemons {
            let answer = self.ask(*daemon, |vty| vty.configure(context, line));
            answers.push((*daemon, answer.map_err(|error| after(&answers, error))?));
        }
        Ok(answers)
    }

    fn ask<T>(&mut self, daemon: Daemon, what: impl FnOnce(&mut Vty) -> Result<T, FrrError>) -> Result<T, FrrError> {
        what(&mut self.reach(daemon)?.vty)
    }

    /// The connection to a daemon, made again where it broke.
    fn reach(&mut self, daemon: Daemon) -> Result<&mut Connected, FrrError> {
        let broken = self.connected.get(&daemon).is_none_or(|connected| !connected.vty.is_usable());
        if broken {
            self.connected.remove(&daemon);
            let connected = self.connect(daemon)?;
            self.away.remove(&daemon);
            self.connected.insert(daemon, connected);
        }
        let path = self.socket(daemon);
        let gone = || FrrError::Away { daemon, path, source: std::io::ErrorKind::NotConnected.into() };
        self.connected.get_mut(&daemon).ok_or_else(gone)
    }

    fn connect(&self, daemon: Daemon) -> Result<Connected, FrrError> {
        let mut vty = Vty::connect(daemon, &self.socket(daemon), self.limits)?;
        let command = "show version";
        let release = Version::shown(&vty.show(command)?);
        let unreadable = |why: crate::InvalidVersion| FrrError::Unreadable {
            daemon,
            command: command.to_owned(),
            why: why.to_string(),
        };
        Ok(Connected { vty, release: release.map_err(unreadable)? })
    }

    fn socket(&self, daemon: Daemon) -> PathBuf {
        self.folder.join(format!("{daemon}.vty"))
    }
}

/// An error after these daemons had taken the line.
fn after(taken: &[(Daemon, Answer)], error: FrrError) -> FrrError {
    match error {
        FrrError::Refused(mut refusal) => {
            refusal.taken_by = taken.iter().map(|(daemon, _)| *daemon).collect();
            FrrError::Refused(refusal)
        }
        other @ (FrrError::NoDaemon { .. }
        | FrrError::Away { .. }
        | FrrError::Locked { .. }
        | FrrError::Silent { .. }
        | FrrError::Closed { .. }
        | FrrError::AnswerTooLong { .. }
        | FrrError::NoAnswer { .. }
        | FrrError::LineTooLong { .. }
        | FrrError::NotOneLine { .. }
        | FrrError::Unreadable { .. }) => other,
    }
}
