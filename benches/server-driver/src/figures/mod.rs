//! What is measured.
//!
//! The servers take turns round by round, and which one goes first changes: whatever else the
//! machine does meets both. While one is measured the other does not run.

mod admission;
mod memory;
mod ready;
mod watches;
mod writes;

use bench_table::{Row, Series};

use crate::{
    Failure,
    server::{Programs, Whose},
};

const NAMES: [&str; 5] = ["server-ready", "server-writes", "server-watches", "server-memory", "server-admission"];
/// What stands beside our figures.
const PEER: &str = "kube-apiserver + etcd";

/// Everything that the figures need.
pub struct Bench {
    pub programs: Programs,
    /// The program that measures the rules.
    pub admission: String,
    pub rounds: usize,
    /// How many objects memory is measured with.
    pub objects: usize,
}

impl Bench {
    /// Measures one figure, or all; whether every bound holds.
    pub async fn run(&self, name: Option<&str>) -> Result<bool, Failure> {
        if let Some(name) = name.filter(|name| !NAMES.contains(name)) {
            return Err(format!("there is no benchmark {name:?}; there are: {}", NAMES.join(", ")).into());
        }
        let wanted = |one: &str| name.is_none_or(|name| name == one);
        let mut rows: Vec<Row> = Vec::new();
        if wanted("server-ready") {
            rows.extend(self.ready().await?);
        }
        if wanted("server-writes") {
            rows.extend(self.writes().await?);
        }
        if wanted("server-watches") {
            rows.extend(self.watches().await?);
        }
        if wanted("server-memory") {
            rows.extend(self.memory().await?);
        }
        if wanted("server-admission") {
            rows.extend(self.admission().await?);
        }
        let holds = bench_table::print(&rows);
        // What was stored is of no use to anybody.
        self.programs.fresh()?;
        Ok(holds)
    }

    /// The two servers in the order of a round.
    fn turns(round: usize, fsync: bool) -> [Whose; 2] {
        let peers = Whose::Peers { fsync };
        if round.is_multiple_of(2) { [Whose::Ours, peers] } else { [peers, Whose::Ours] }
    }

    /// The same for figures that do not depend on how busy the machine is and take the peer minutes: it is
    /// measured once.
    fn turns_with_one_of_the_peer(round: usize) -> Vec<Whose> {
        if round == 0 { Self::turns(round, false).to_vec() } else { vec![Whose::Ours] }
    }
}

/// What both had in every round.
#[derive(Default)]
struct Pair {
    ours: Series,
    peers: Series,
}

impl Pair {
    fn push(&mut self, whose: Whose, value: f64) {
        match whose {
            Whose::Ours => self.ours.push(value),
            Whose::Peers { .. } => self.peers.push(value),
        }
    }
}

fn tell(figure: &str, round: usize, whose: Whose, text: &str) {
    let whose = match whose {
        Whose::Ours => "netloom",
        Whose::Peers { .. } => "peer",
    };
    eprintln!("bench: {figure}, round {}, {whose}: {text}", round + 1);
}
