//! Whole runs: a storm and what is left of it.

use std::fmt;

use serde_json::json;

use crate::{Bug, Cluster, Faults, Micros, Misfortune, Random, SECOND, Setup, Wanted, storm, users};

/// How long things go wrong.
const STORM: Micros = 150 * SECOND;
/// How long nodes and controllers have to recover from it.
const RECOVERY: Micros = 150 * SECOND;
/// How long a node may take to answer when nothing goes wrong.
const ANSWER: Micros = 60 * SECOND;
/// How long the last desired state may take.
const LAST: Micros = 1800 * SECOND;
/// How long nobody may write after it.
const IDLE: Micros = 90 * SECOND;
/// The last desired state: one that was never desired before.
const FINALLY: Wanted = Wanted::Mtu(1777);

/// What a run has found.
#[derive(Debug)]
pub struct Finding {
    seed: u64,
    what: Vec<String>,
    last: Vec<String>,
}

impl Finding {
    /// What was found in a run.
    pub fn of(cluster: &Cluster, seed: u64, what: Vec<String>) -> Self {
        Self { seed, what, last: cluster.trace().last().map(str::to_owned).collect() }
    }

    /// That a desired state was not reached, or what happened before and never may.
    fn unreached(cluster: &Cluster, seed: u64, wanted: Wanted) -> Self {
        let mut what = cluster.violations().to_vec();
        if what.is_empty() {
            what.push(format!("{wanted:?} is not reached"));
            what.extend(cluster.missing(wanted));
        }
        Self::of(cluster, seed, what)
    }

    /// Where it was found.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// What is wrong.
    pub fn what(&self) -> &[String] {
        &self.what
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {}: {}", self.seed, self.what.join("; "))?;
        writeln!(f, "the last events (microseconds, who, what):")?;
        self.last.iter().try_for_each(|line| writeln!(f, "  {line}"))
    }
}

/// A small cluster, and with every twentieth seed a larger one, in which everything goes wrong for some minutes, and then nothing does. In the end every
/// node must have what was desired last, and nobody may write any more.
pub fn stormy(seed: u64, bug: Option<Bug>) -> Result<Cluster, Finding> {
    let mut random = Random::new(seed ^ 0x5eed);
    let nodes = if seed.is_multiple_of(20) { 6 + random.place(4) } else { 2 + random.place(3) };
    let cards = vec![users::UPLINK.to_owned()];
    let mut cluster = Cluster::new(Setup { faults: Faults::all(), bug, cards, ..Setup::of(seed, nodes) });
    for (at, misfortune) in storm(&mut random, 2, nodes, STORM) {
        cluster.strike(at, misfortune);
    }
    cluster.run_until(STORM + RECOVERY);
    let silent: Vec<String> =
        cluster.safety.silent_since(STORM + RECOVERY - ANSWER).map(|node| node.key.name.clone()).collect();
    if !silent.is_empty() && cluster.violations().is_empty() {
        let what = format!("{} were assigned something and have not answered", silent.join(", "));
        return Err(Finding::of(&cluster, seed, vec![what]));
    }
    cluster.strike(STORM + RECOVERY, Misfortune::Policy(FINALLY));
    let reached = cluster.run_until_reached(FINALLY, STORM + RECOVERY + LAST);
    settled(&mut cluster, seed, FINALLY, reached)?;
    Ok(cluster)
}

/// A small cluster in which nobody dies or is cut off, but everything gets lost, comes twice, late or from the past on
/// its way. That must cost nothing but time: every desired state reaches every node, and none of them is taken for a
/// bad one.
pub fn breezy(seed: u64, bug: Option<Bug>) -> Result<Cluster, Finding> {
    let nodes = 3 + Random::new(seed ^ 0xb4ee).place(3);
    let rollout = Some(json!({"canary": {"soakSeconds": 2}}));
    let mut cluster = Cluster::new(Setup { faults: Faults::all(), bug, rollout, ..Setup::of(seed, nodes) });
    for wanted in [1501, 1502, 1503].map(Wanted::Mtu) {
        cluster.strike(cluster.now(), Misfortune::Policy(wanted));
        let reached = cluster.run_until_reached(wanted, cluster.now() + LAST);
        let invalid = cluster.server.list(users::REVISION).filter(|revision| revision["status"]["isInvalid"] == true);
        let failed: Vec<String> =
            invalid.map(|revision| format!("a good revision has failed: {}", revision["status"])).collect();
        if !failed.is_empty() {
            return Err(Finding::of(&cluster, seed, failed));
        }
        if reached.is_none() {
            return Err(Finding::unreached(&cluster, seed, wanted));
        }
    }
    Ok(cluster)
}

/// Whether a desired state was reached, and nobody writes any more after that.
pub fn settled(cluster: &mut Cluster, seed: u64, wanted: Wanted, reached: Option<Micros>) -> Result<(), Finding> {
    if reached.is_none() || !cluster.violations().is_empty() {
        return Err(Finding::unreached(cluster, seed, wanted));
    }
    // What was reported a moment ago is still written down.
    cluster.run_until(cluster.now() + 30 * SECOND);
    let (asked, requests) = (cluster.asked(), cluster.requests.clone());
    cluster.run_until(cluster.now() + IDLE);
    let mut what = cluster.violations().to_vec();
    what.extend(cluster.missing(wanted));
    if cluster.asked() != asked {
        let more = cluster.requests.iter().filter(|(key, count)| requests.get(key) != Some(count));
        what.push(format!("{} requests when idle: {:?}", cluster.asked() - asked, more.collect::<Vec<_>>()));
    }
    if what.is_empty() { Ok(()) } else { Err(Finding::of(cluster, seed, what)) }
}
