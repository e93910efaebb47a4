//! What a host's network has in FRR: the lines that its daemons run with.
//!
//! Daemons that do not answer make the host one without routing lines for the moment; whoever plans says so. This program
//! starts no daemon and writes none of their files.

use std::{collections::BTreeSet, path::PathBuf};

use netloom_frr::{Daemon, Daemons, FrrError, Limits};
use netloom_model::{EngineError, Medium, Observed, Part, RoutingChange, RoutingLine, Scope, Step, StepError};
use netloom_routing::{Command, Release, RoutingConfig, commands};

/// The daemons without which nothing is routed.
const NEEDED: [Daemon; 2] = [Daemon::Zebra, Daemon::Bgpd];
/// An input or output error, as the system numbers it.
const EIO: i32 = 5;

/// The daemons of one host.
#[derive(Debug)]
pub(crate) struct Routing {
    /// Where their sockets are.
    folder: PathBuf,
    /// Connections that are kept from one reading to the next.
    daemons: Option<Daemons>,
}

impl Routing {
    /// The daemons whose sockets are in a folder.
    pub(crate) fn of(folder: PathBuf) -> Self {
        Self { folder, daemons: None }
    }

    /// The daemons, connected, and the release that all of them are of.
    fn connected(&mut self) -> Result<(&mut Daemons, Release), Unusable> {
        let usable = self.daemons.as_ref().is_some_and(|daemons| daemons.away().next().is_none());
        if !usable {
            self.daemons = None;
        }
        let daemons = match self.daemons.take() {
            Some(daemons) => daemons,
            None => Daemons::open(&self.folder, Limits::default())?,
        };
        let daemons = self.daemons.insert(daemons);
        if let Some((_, error)) = daemons.away().next() {
            return Err(Unusable::Incomplete(error.to_string()));
        }
        if let Some(missing) = NEEDED.into_iter().find(|needed| !daemons.there().any(|there| there == *needed)) {
            return Err(Unusable::Incomplete(format!("{missing} of FRR has no socket in {}", self.folder.display())));
        }
        let version = daemons.release(NEEDED[0]).map(|version| version.to_string()).unwrap_or_default();
        let release = Release::of_version(&version).ok_or(Unusable::Release(version))?;
        Ok((daemons, release))
    }

    /// Everything that they run with.
    fn running(&mut self) -> Result<RoutingConfig, Unusable> {
        let (daemons, _) = self.connected()?;
        let there: Vec<Daemon> = daemons.there().collect();
        let mut all = RoutingConfig::default();
        for daemon in there {
            let text = daemons.running_config(daemon)?;
            let read =
                RoutingConfig::parse(&text).map_err(|error| Unusable::Incomplete(format!("{daemon}: {error}")))?;
            all = all.union(&read);
        }
        Ok(all)
    }

    fn change(&mut self, change: &RoutingChange) -> Result<(), Unusable> {
        let running = self.running()?;
        let wanted = change.applied_to(&lines(&running)?);
        let wanted = config(&wanted)?;
        let (daemons, release) = self.connected()?;
        for command in commands(&running, &wanted) {
            send(daemons, release, &command)?;
        }
        Ok(())
    }
}

/// Sends one line to the daemons that it is for.
fn send(daemons: &mut Daemons, release: Release, command: &Command) -> Result<(), Unusable> {
    let owners = command.daemons.in_release(release);
    if owners.is_empty() {
        return Err(Unusable::Incomplete(format!("no daemon of FRR {release:?} takes \"{command}\"")));
    }
    if let Some(missing) = owners.iter().find(|owner| !daemons.there().any(|there| there == **owner)) {
        let why = format!("\"{command}\" is for {missing} of FRR, which does not run; start it");
        return Err(Unusable::Incomplete(why));
    }
    let context: Vec<&str> = command.context.iter().map(String::as_str).collect();
    daemons.run(owners, &context, &command.line)?;
    Ok(())
}

/// Lines as objects of a host.
fn lines(config: &RoutingConfig) -> Result<BTreeSet<RoutingLine>, Unusable> {
    let line = |(context, text): (&[String], &str)| {
        RoutingLine::new(context.iter().map(String::as_str), text)
            .map_err(|error| Unusable::Incomplete(error.to_string()))
    };
    config.lines().map(line).collect()
}

/// The same back.
fn config(lines: &BTreeSet<RoutingLine>) -> Result<RoutingConfig, Unusable> {
    let mut config = RoutingConfig::default();
    for line in lines {
        let context: Vec<&str> = line.context().iter().map(AsRef::as_ref).collect();
        config.add(&context, line.text()).map_err(|error| Unusable::Incomplete(format!("\"{line}\": {error}")))?;
    }
    Ok(config)
}

/// Why the daemons cannot be used.
#[derive(Debug, thiserror::Error)]
enum Unusable {
    #[error(transparent)]
    Frr(#[from] FrrError),
    #[error("FRR {0} is not known to netloom; it knows 8.4 to 8.5 and 10")]
    Release(String),
    #[error("{0}")]
    Incomplete(String),
}

impl Part for Routing {
    fn medium(&self) -> Medium {
        Medium::Daemon
    }

    fn read(&mut self, _: Scope, observed: &mut Observed) -> Result<(), EngineError> {
        let read = self.running().and_then(|running| lines(&running));
        if let Err(why) = &read {
            // The next reading begins with new connections.
            self.daemons = None;
            observed.routing_away = Some(why.to_string().into());
        }
        observed.host.routing = read.ok();
        Ok(())
    }

    fn apply(&mut self, steps: &[Step]) -> Result<Vec<Result<(), StepError>>, EngineError> {
        let one = |step: &Step| match step {
            Step::ChangeRouting(change) => self.change(change).map_err(|why| StepError::with(EIO, &why.to_string())),
            _ => Err(StepError::with(StepError::EOPNOTSUPP, "no routing daemon does this")),
        };
        Ok(steps.iter().map(one).collect())
    }
}
