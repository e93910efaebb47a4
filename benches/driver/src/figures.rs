//! What is measured.
//!
//! In every round each program starts from a namespace of its own that no one has used, and the
//! programs take turns, so that whatever else the machine does meets all of them alike.

use std::fs;

use bench_table::{Bound, Row, Series, Unit};

use crate::{
    documents, own,
    space::{self, Failure},
};

/// Links in the figures that compare with others.
pub(crate) const LINKS: usize = 1_000;
pub(crate) const ROUTES: usize = 50_000;
const PORTS: usize = 10;
const FEW: usize = 400;
const MANY: usize = 4_000;

const NAMES: [&str; 7] = ["vlans", "noop", "show", "routes", "bridge-vlans", "growth", "memory"];

/// The programs and the folder for their inputs.
pub struct Figures {
    pub(crate) netloom: String,
    /// The same without what a machine by itself has no use for.
    node: String,
    pub(crate) peer: String,
    pub(crate) folder: String,
    pub(crate) rounds: usize,
}

/// What one round with 1 000 bridges took, in seconds.
#[derive(Default)]
struct Bridges {
    ours: Series,
    peers: Series,
    ours_again: Series,
    peers_again: Series,
    ours_show: Series,
    peers_show: Series,
    writes: Series,
}

impl Figures {
    pub fn new([netloom, node, peer, folder]: [&str; 4], rounds: usize) -> Result<Self, Failure> {
        fs::create_dir_all(folder)?;
        let [netloom, node, peer, folder] = [netloom, node, peer, folder].map(str::to_owned);
        Ok(Self { netloom, node, peer, folder, rounds })
    }

    /// Measures one figure, or all; whether every bound holds.
    pub fn run(&self, name: Option<&str>) -> Result<bool, Failure> {
        if let Some(name) = name.filter(|name| own::NAMES.contains(name)) {
            return Ok(bench_table::print(&self.on_own_kernel(name)?));
        }
        if let Some(name) = name.filter(|name| !NAMES.contains(name)) {
            return Err(format!(
                "there is no benchmark {name:?}; there are: {}",
                [&NAMES[..], &own::NAMES].concat().join(", ")
            )
            .into());
        }
        let wanted = |one: &str| name.is_none_or(|name| name == one);
        let mut rows = Vec::new();
        if wanted("vlans") {
            rows.push(self.vlans()?);
        }
        if wanted("vlans") || wanted("noop") || wanted("show") {
            self.bridges(&wanted, &mut rows)?;
        }
        if wanted("routes") {
            rows.push(self.routes()?);
        }
        if wanted("bridge-vlans") {
            rows.push(self.bridge_vlans()?);
        }
        if wanted("growth") {
            rows.push(self.growth()?);
        }
        if wanted("memory") {
            self.memory(&mut rows)?;
        }
        Ok(bench_table::print(&rows))
    }

    pub(crate) fn input(&self, name: &str, text: &str) -> Result<String, Failure> {
        let path = format!("{}/{name}", self.folder);
        fs::write(&path, text)?;
        Ok(path)
    }

    /// A namespace that no one has used, and nothing remembered of earlier ones.
    pub(crate) fn fresh(&self) -> Result<(), Failure> {
        let state = self.state();
        if fs::exists(&state)? {
            fs::remove_dir_all(&state)?;
        }
        space::fresh()
    }

    pub(crate) fn state(&self) -> String {
        format!("{}/state", self.folder)
    }

    pub(crate) fn set(&self, document: &str) -> Result<f64, Failure> {
        space::time(&self.netloom, &["state", "set", document, "--state-dir", &self.state()])
    }

    /// The number of messages that ask for a change.
    fn writes(&self, document: &str) -> Result<f64, Failure> {
        let state = self.state();
        let output = space::run(&self.netloom, &["state", "set", document, "--state-dir", &state, "--stats"])?;
        let reported = String::from_utf8_lossy(&output.stderr);
        let words: Vec<&str> = reported.split([' ', ',', '\n']).collect();
        let at = words.iter().position(|word| *word == "writes").ok_or("no count of writes")?;
        Ok(words.get(at.wrapping_sub(1)).ok_or("no count of writes")?.parse()?)
    }

    fn vlans(&self) -> Result<Row, Failure> {
        let document = self.input("vlans.yaml", &documents::vlans(LINKS))?;
        let batch = self.input("vlans.batch", &documents::vlans_batch(LINKS))?;
        let (ours, peers) =
            self.in_turns("vlans", || self.set(&document), || space::time("ip", &["-batch", &batch]))?;
        Ok(Row {
            what: format!("{LINKS} VLAN links with address, from the file to verified"),
            figure: (ours.over(&peers), Unit::Times),
            ours: Some((ours, Unit::Milliseconds)),
            peer: Some(("`ip -batch`", peers, Unit::Milliseconds)),
            bound: Bound::AtMost(1.5),
        })
    }

    fn routes(&self) -> Result<Row, Failure> {
        let document = self.input("routes.yaml", &documents::routes(ROUTES))?;
        let batch = self.input("routes.batch", &documents::routes_batch(ROUTES))?;
        let (ours, peers) =
            self.in_turns("routes", || self.set(&document), || space::time("ip", &["-batch", &batch]))?;
        Ok(Row {
            what: format!("{ROUTES} routes, from the file to verified"),
            figure: (peers.over(&ours), Unit::Times),
            ours: Some((ours, Unit::Milliseconds)),
            peer: Some(("`ip -batch`", peers, Unit::Milliseconds)),
            bound: Bound::AtLeast(2.5),
        })
    }

    /// Runs two programs in turns, each in a fresh namespace; which one goes first changes.
    pub(crate) fn in_turns(
        &self,
        name: &str,
        ours: impl Fn() -> Result<f64, Failure>,
        peers: impl Fn() -> Result<f64, Failure>,
    ) -> Result<(Series, Series), Failure> {
        let (mut us, mut them) = (Series::default(), Series::default());
        for round in 0..self.rounds {
            for first in [true, false] {
                self.fresh()?;
                if first == (round % 2 == 0) {
                    us.push(ours()?)
                } else {
                    them.push(peers()?)
                }
                space::clear(&self.folder)?;
            }
            eprintln!("bench: {name} {}/{}: {:.3} s and {:.3} s", round + 1, self.rounds, us.0[round], them.0[round]);
        }
        Ok((us, them))
    }

    fn bridges(&self, wanted: &dyn Fn(&str) -> bool, rows: &mut Vec<Row>) -> Result<(), Failure> {
        let document = self.input("bridges.yaml", &documents::bridges(LINKS))?;
        let mut all = Bridges::default();
        for round in 0..self.rounds {
            // Who goes first changes from round to round.
            for ours in [round % 2 == 0, round % 2 != 0] {
                if ours {
                    self.bridges_by_us(&document, wanted, &mut all)?
                } else {
                    self.bridges_by_peer(&document, wanted, &mut all)?
                }
            }
            eprintln!("bench: bridges {}/{}", round + 1, self.rounds);
        }
        let milliseconds = |series: Series| Some((series, Unit::Milliseconds));
        if wanted("vlans") {
            rows.push(Row {
                what: format!("{LINKS} bridges with address, from the file to verified"),
                figure: (all.peers.over(&all.ours), Unit::Times),
                ours: milliseconds(all.ours),
                peer: Some(("nmstate", all.peers, Unit::Milliseconds)),
                bound: Bound::AtLeast(15.0),
            });
        }
        if wanted("noop") {
            rows.push(Row {
                what: "the same document again: netlink writes".to_owned(),
                ours: None,
                peer: None,
                figure: (all.writes, Unit::Pieces),
                bound: Bound::AtMost(0.0),
            });
            rows.push(Row {
                what: "the same document again: time".to_owned(),
                figure: (all.peers_again.over(&all.ours_again), Unit::Times),
                ours: milliseconds(all.ours_again),
                peer: Some(("nmstate", all.peers_again, Unit::Milliseconds)),
                bound: Bound::AtLeast(100.0),
            });
        }
        if wanted("show") {
            rows.push(Row {
                what: format!("`state show` with {LINKS} links"),
                figure: (all.peers_show.over(&all.ours_show), Unit::Times),
                ours: milliseconds(all.ours_show),
                peer: Some(("nmstate", all.peers_show, Unit::Milliseconds)),
                bound: Bound::AtLeast(20.0),
            });
        }
        Ok(())
    }

    fn bridges_by_us(&self, document: &str, wanted: &dyn Fn(&str) -> bool, all: &mut Bridges) -> Result<(), Failure> {
        self.fresh()?;
        all.ours.push(self.set(document)?);
        if wanted("noop") {
            all.ours_again.push(self.set(document)?);
            all.writes.push(self.writes(document)?);
        }
        if wanted("show") {
            // Both look at the same links.
            let ours = |all: &mut Bridges| {
                let words = ["state", "show", "--state-dir", &self.state()];
                space::time(&self.netloom, &words).map(|took| all.ours_show.push(took))
            };
            let peers = |all: &mut Bridges| space::time(&self.peer, &["show"]).map(|took| all.peers_show.push(took));
            if all.ours.0.len() % 2 == 1 {
                ours(all)?;
                peers(all)?;
            } else {
                peers(all)?;
                ours(all)?;
            }
        }
        space::clear(&self.folder)
    }

    fn bridges_by_peer(&self, document: &str, wanted: &dyn Fn(&str) -> bool, all: &mut Bridges) -> Result<(), Failure> {
        if wanted("vlans") || wanted("noop") {
            self.fresh()?;
            all.peers.push(space::time(&self.peer, &["apply", document])?);
            if wanted("noop") {
                all.peers_again.push(space::time(&self.peer, &["apply", document])?);
            }
            space::clear(&self.folder)?;
        }
        Ok(())
    }

    fn bridge_vlans(&self) -> Result<Row, Failure> {
        let plain = self.input("ports.yaml", &documents::bridge_vlans(PORTS, false))?;
        let all = self.input("ports-all.yaml", &documents::bridge_vlans(PORTS, true))?;
        self.fresh()?;
        self.set(&plain)?;
        #[expect(clippy::cast_precision_loss, reason = "a handful")]
        let messages = self.writes(&all)? / PORTS as f64;
        space::clear(&self.folder)?;
        Ok(Row {
            what: format!("all 4 094 VLANs on a bridge port: messages for each of {PORTS} ports"),
            ours: None,
            peer: None,
            figure: (Series(vec![messages]), Unit::Times),
            bound: Bound::AtMost(4.0),
        })
    }

    /// Without IPv6: the kernel's own work on the link-local routes of a new link grows with their
    /// number, and would be most of what is measured.
    fn growth(&self) -> Result<Row, Failure> {
        let document = |count: usize| self.input(&format!("{count}.yaml"), &documents::dummies(count));
        let batch = |count: usize| self.input(&format!("{count}.batch"), &documents::dummies_batch(count));
        let (few, many) = (document(FEW)?, document(MANY)?);
        let (few_batch, many_batch) = (batch(FEW)?, batch(MANY)?);
        let without_ipv6 = |measure: &dyn Fn() -> Result<f64, Failure>| {
            fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1")?;
            measure()
        };
        let (ours_many, ours_few) =
            self.in_turns("growth", || without_ipv6(&|| self.set(&many)), || without_ipv6(&|| self.set(&few)))?;
        let ip = |file: &str| space::time("ip", &["-batch", file]);
        let (peers_many, peers_few) = self.in_turns(
            "growth of ip -batch",
            || without_ipv6(&|| ip(&many_batch)),
            || without_ipv6(&|| ip(&few_batch)),
        )?;
        Ok(Row {
            what: format!("growth: {MANY} links with address against {FEW}"),
            figure: (ours_many.over(&ours_few), Unit::Times),
            ours: Some((ours_many, Unit::Milliseconds)),
            peer: Some(("`ip -batch` grows", peers_many.over(&peers_few), Unit::Times)),
            bound: Bound::AtMost(13.0),
        })
    }

    fn memory(&self, rows: &mut Vec<Row>) -> Result<(), Failure> {
        let document = self.input("many.yaml", &documents::dummies(MANY))?;
        let mut most = Series::default();
        for _ in 0..self.rounds {
            self.fresh()?;
            let words = ["state", "set", &document, "--state-dir", &self.state()];
            most.push(space::memory_of(&self.netloom, &words)? / 1024.0);
            space::clear(&self.folder)?;
        }
        rows.push(Row {
            what: format!("memory at its peak, `state set` with {MANY} links"),
            ours: None,
            peer: None,
            figure: (most, Unit::Mebibytes),
            bound: Bound::AtMost(40.0),
        });
        for (what, program, most) in
            [("the program's size", &self.netloom, 30.0), ("its size with `netloom state` alone", &self.node, 12.0)]
        {
            rows.push(Row {
                what: what.to_owned(),
                ours: None,
                peer: None,
                figure: (Series(vec![mebibytes(program)?]), Unit::Mebibytes),
                bound: Bound::AtMost(most),
            });
        }
        Ok(())
    }
}

#[expect(clippy::cast_precision_loss, reason = "a few millions")]
fn mebibytes(program: &str) -> Result<f64, Failure> {
    Ok(space::size_of(program)? as f64 / f64::from(1 << 20))
}
