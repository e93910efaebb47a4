//! The benchmarks of the control loop: `control-bench NETLOOM AGENT COMPILE ROLLOUT LAB FOLDER [NAME]`.
//!
//! What decides is pure, so programs of their own call it: COMPILE compiles a large cluster, ROLLOUT simulates
//! one. What acts is measured as it runs: NETLOOM as server and controller, AGENT as agent (the program with the
//! verbs of a node alone), in a network namespace of their own, with FOLDER for their data. LAB runs this program
//! again in a kernel that has every kind of link: `LAB lab -- control-bench --in-the-lab NETLOOM AGENT`, and with
//! `--leases`. Prints a Markdown table on standard output and what it is doing on standard error. Exit status 1 when a
//! figure misses its bound.
//!
//! ```text
//! decisions   what the pure parts cost
//! site        server, controller and agent
//! sight       the objects as they change
//! kernel      links as they change
//! process     what a process has and does
//! acts        how soon a change or drift is seen to
//! rest        what an agent costs that has nothing to do
//! machines    what an agent costs that has virtual machines
//! leases      how soon many links have addresses by DHCP, and what that costs
//! wires       cables to a namespace with a DHCP server
//! flood       a great many messages to a client
//! ```

mod acts;
mod decisions;
mod flood;
mod kernel;
mod leases;
mod machines;
mod process;
mod rest;
mod sight;
mod site;
mod wires;

use std::{
    env,
    process::{ExitCode, Stdio},
};

use bench_client::Failure;
use nix::sched::{CloneFlags, unshare};
use site::Programs;
use tokio::process::Command;

/// Rounds of every figure; the median of an odd number is a real one.
const ROUNDS: u32 = 5;
const NAMES: [&str; 8] = [
    "control-compile",
    "control-rollout",
    "control-fleet",
    "control-acts",
    "control-rest",
    "control-machines",
    "control-large",
    "control-leases",
];

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<bool, Failure> {
    let words: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    // Before there is another thread: the processes that are started are born there too.
    unshare(CloneFlags::CLONE_NEWNET)?;
    let runtime = tokio::runtime::Runtime::new()?;
    match words[..] {
        ["--in-the-lab", netloom, agent] => {
            runtime.block_on(rest::say_large(Programs { netloom, agent })).map(|()| true)
        }
        ["--leases", netloom, agent] => runtime.block_on(leases::say(Programs { netloom, agent })).map(|()| true),
        [netloom, agent, compile, rollout, lab, folder] => {
            runtime.block_on(measure(Programs { netloom, agent }, [compile, rollout, lab, folder], None))
        }
        [netloom, agent, compile, rollout, lab, folder, name] => {
            runtime.block_on(measure(Programs { netloom, agent }, [compile, rollout, lab, folder], Some(name)))
        }
        _ => Err("usage: control-bench NETLOOM AGENT COMPILE ROLLOUT LAB FOLDER [NAME]".into()),
    }
}

/// Measures; whether every bound holds.
async fn measure(programs: Programs<'_>, places: [&str; 4], name: Option<&str>) -> Result<bool, Failure> {
    let [compile, rollout, lab, folder] = places;
    if let Some(name) = name.filter(|name| !NAMES.contains(name)) {
        return Err(format!("there is no benchmark {name:?}; there are: {}", NAMES.join(", ")).into());
    }
    let wanted = |one: &str| name.is_none_or(|name| name == one);
    let mut rows = Vec::new();
    if wanted("control-compile") {
        rows.extend(decisions::compiling(compile).await?);
    }
    if wanted("control-rollout") {
        rows.extend(decisions::rolling(rollout).await?);
    }
    if wanted("control-fleet") {
        rows.extend(decisions::fleet(rollout).await?);
    }
    // Both are about one node with many links.
    if wanted("control-acts") || wanted("control-rest") {
        acts::lay_links(folder).await?;
    }
    if wanted("control-acts") {
        rows.extend(acts::rows(programs, folder).await?);
    }
    if wanted("control-rest") {
        rows.extend(rest::rows(programs, folder).await?);
    }
    if wanted("control-machines") {
        rows.extend(machines::rows(programs, folder).await?);
    }
    if wanted("control-large") {
        rows.extend(rest::large(programs, lab).await?);
    }
    if wanted("control-leases") {
        rows.extend(leases::rows(programs, lab).await?);
    }
    Ok(bench_table::print(&rows))
}

/// What a program says about its figures.
struct Said {
    program: String,
    text: String,
}

impl Said {
    async fn by(program: &str, words: &[&str]) -> Result<Self, Failure> {
        let output = Command::new(program).args(words).stdin(Stdio::null()).stderr(Stdio::inherit()).output().await?;
        if !output.status.success() {
            return Err(format!("{program}: {}", output.status).into());
        }
        let text = String::from_utf8(output.stdout)?;
        eprintln!("bench: {}", text.lines().collect::<Vec<_>>().join("; "));
        Ok(Self { program: program.to_owned(), text })
    }

    fn value(&self, name: &str) -> Result<f64, Failure> {
        let line = self.text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        let line = line.ok_or_else(|| format!("{} says nothing of {name}", self.program))?;
        Ok(line.split(' ').next().unwrap_or_default().parse()?)
    }
}
