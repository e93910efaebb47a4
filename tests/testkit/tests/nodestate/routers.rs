//! The routers of a story: FRR on nodes, BIRD in workloads.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use netloom_frr::Daemon;
use netloom_routing::RoutingConfig;
use netloom_testkit::frr::{Frr, Programs};

use super::{
    birds::Bird,
    story::{BirdCheck, BirdDeed, FrrCheck, FrrDeed, Node, Station},
    wires::space,
};

/// All that run, by node and by workload.
#[derive(Default)]
pub(super) struct Routers {
    /// Whether FRR is the newest that Debian has.
    newest: bool,
    frrs: BTreeMap<String, Frr>,
    birds: BTreeMap<String, Bird>,
}

impl Routers {
    /// Of the newest release, or of the usual one.
    pub(super) fn new(newest: bool) -> Self {
        Self { newest, ..Self::default() }
    }

    /// Starts FRR on a node that has it, of the usual release or of the newest one.
    pub(super) fn of_node(&mut self, name: &str, node: &Node) -> Result<(), String> {
        let programs = if self.newest { Programs::newest() } else { Programs::of_nodes() };
        if let (Some(configuration), Some(programs)) = (&node.frr, programs) {
            let frr = Frr::start(&programs, &space(name))?;
            frr.load(configuration)?;
            self.frrs.insert(name.to_owned(), frr);
        }
        Ok(())
    }

    /// Starts BIRD in a workload that has it.
    pub(super) fn of_station(&mut self, folder: &Path, name: &str, station: &Station) -> Result<(), String> {
        if let Some(configuration) = &station.bird {
            self.birds.insert(name.to_owned(), Bird::start(folder, name, configuration)?);
        }
        Ok(())
    }

    /// Where the daemons of a node listen, when it has any.
    pub(super) fn sockets(&self, node: &str) -> Option<PathBuf> {
        self.frrs.get(node).map(Frr::sockets)
    }

    /// Everything that the daemons of a node run with, each line with its daemon and the blocks that it is in; nothing for a
    /// node without any.
    pub(super) fn running(&self, node: &str) -> Result<BTreeSet<String>, String> {
        let Some(frr) = self.frrs.get(node) else { return Ok(BTreeSet::new()) };
        let mut client = frr.client()?;
        let there: Vec<Daemon> = client.there().collect();
        let mut lines = BTreeSet::new();
        for daemon in there {
            let text = client.running_config(daemon).map_err(|error| error.to_string())?;
            let config = RoutingConfig::parse(&text).map_err(|error| format!("{daemon} on {node}: {error}"))?;
            let line = |(blocks, line): (&[String], &str)| format!("{daemon}: {}: {line}", blocks.join(": "));
            lines.extend(config.lines().map(line));
        }
        Ok(lines)
    }

    /// Does something to BIRD in a workload.
    pub(super) fn bird_deed(&mut self, station: &str, what: BirdDeed) -> Result<(), String> {
        let bird = self.birds.get_mut(station).ok_or_else(|| format!("{station} has no BIRD"))?;
        match what {
            BirdDeed::Kill => bird.kill(),
            BirdDeed::Start => bird.run(),
        }
    }

    /// Does something to a daemon of FRR on a node.
    pub(super) fn frr_deed(&mut self, node: &str, daemon: &str, what: FrrDeed) -> Result<(), String> {
        let frr = self.frrs.get_mut(node).ok_or_else(|| format!("{node} has no FRR"))?;
        let daemon = daemon_called(daemon)?;
        match what {
            FrrDeed::Kill => frr.kill(daemon),
            FrrDeed::Start => frr.start_daemon(daemon),
            FrrDeed::Pause => frr.pause(daemon),
            FrrDeed::Resume => frr.resume(daemon),
        }
    }

    /// Sends a line to a daemon of FRR on a node, in blocks.
    pub(super) fn frr_line(&self, node: &str, daemon: &str, within: &[String], line: &str) -> Result<(), String> {
        let frr = self.frrs.get(node).ok_or_else(|| format!("{node} has no FRR"))?;
        let within: Vec<&str> = within.iter().map(String::as_str).collect();
        let answers = frr.client()?.run(&[daemon_called(daemon)?], &within, line);
        answers.map(drop).map_err(|error| error.to_string())
    }

    /// What the daemons of a node know, for the reader of a failure.
    pub(super) fn report(&self, node: &str) -> String {
        let shown = |frr: &Frr, daemon, words: &str| {
            let shown = frr.client().and_then(|mut frr| frr.show(daemon, words).map_err(|error| error.to_string()));
            format!("{daemon}: {words}\n{}\n", shown.unwrap_or_else(|why| why))
        };
        let views = [
            (Daemon::Zebra, "show vrf vni"),
            (Daemon::Zebra, "show evpn vni"),
            (Daemon::Zebra, "show ip route vrf all"),
            (Daemon::Bgpd, "show bgp vrf all ipv4 unicast"),
            (Daemon::Bgpd, "show bgp l2vpn evpn vni"),
            (Daemon::Bgpd, "show bgp l2vpn evpn"),
        ];
        self.frrs
            .get(node)
            .map(|frr| views.map(|(daemon, words)| shown(frr, daemon, words)).concat())
            .unwrap_or_default()
    }

    /// What FRR shows otherwise than it should.
    pub(super) fn wrong_frr(&self, check: &FrrCheck) -> Result<Option<String>, String> {
        let FrrCheck { node, daemon, show, says, lacks } = check;
        let frr = self.frrs.get(node).ok_or_else(|| format!("{node} has no FRR"))?;
        let shown = frr.client()?.show(daemon_called(daemon)?, show).map_err(|error| error.to_string())?;
        Ok(wrong_words(&shown, says, lacks).map(|why| format!("{show} of {daemon} on {node} {why}:\n{shown}")))
    }

    /// The same of BIRD.
    pub(super) fn wrong_bird(&self, check: &BirdCheck) -> Result<Option<String>, String> {
        let BirdCheck { station, show, says, lacks } = check;
        let bird = self.birds.get(station).ok_or_else(|| format!("{station} has no BIRD"))?;
        let shown = bird.show(show)?;
        Ok(wrong_words(&shown, says, lacks).map(|why| format!("{show} of {station} {why}:\n{shown}")))
    }
}

fn daemon_called(name: &str) -> Result<Daemon, String> {
    Daemon::ALL.into_iter().find(|daemon| daemon.name() == name).ok_or_else(|| format!("FRR has no daemon {name}"))
}

/// Which of these words is missing, or which of those is there.
fn wrong_words(shown: &str, says: &[String], lacks: &[String]) -> Option<String> {
    let missing = says.iter().find(|word| !shown.contains(word.as_str())).map(|word| format!("has no {word:?}"));
    missing.or_else(|| lacks.iter().find(|word| shown.contains(word.as_str())).map(|word| format!("has {word:?}")))
}
