//! `netloom agent` and `netloom client`: one node, all the time or once.

use std::{path::Path, sync::Arc, time::Duration};

use netloom_agent::{Ended, Machines, NodeLibvirt, Options, PodNetworks, Task};
use netloom_agent_core::{Drift, Mode, Reason};
use netloom_probing::ProbeTiming;
use netloom_render::Base;
use tokio::signal::unix::{SignalKind, signal};

use crate::{
    args::node::{
        AgentArgs, ClientArgs, ClientPolicyArgs, ClientStateArgs, ClientVerb, CniArgs, DriftWord, HostArg, ModeWord,
        NodePlace,
    },
    connection::{self, asynchronously},
    failure::{Exit, Failure},
    logging,
    output::Output,
    probes,
};

pub(crate) fn run(args: AgentArgs) -> Result<Exit, Failure> {
    let AgentArgs {
        place,
        node,
        mode,
        drift,
        poll,
        leave_after,
        heartbeat,
        remove_taint,
        probe,
        timing,
        base,
        frr,
        libvirt,
        domains,
        binding,
        migrate_in,
        migrate_data,
        cni: CniArgs { socket, timeout, queue },
        status_listen,
    } = args;
    let probes = probes::parse(&probe)?;
    let mode = match mode {
        ModeWord::Centralized => Mode::Centralized,
        ModeWord::Distributed => Mode::Distributed,
    };
    let drift = match drift {
        DriftWord::Repair => Drift::Repair,
        DriftWord::Report => Drift::Report,
    };
    let base = base.map(|file| read_base(&file)).transpose()?;
    // One needs the other, so there is neither or both.
    let machines = libvirt.zip(domains).map(|(socket, domains)| Machines {
        socket,
        domains,
        plugins: binding.into_iter().collect(),
        reached: NodeLibvirt { migrate_in, migrate_data },
    });
    let pod_networks = socket.map(|socket| PodNetworks {
        socket,
        timeout: Duration::from_secs(timeout.into()),
        queue: usize::try_from(queue).unwrap_or(usize::MAX),
    });
    let options = Options {
        machines,
        base,
        frr,
        pod_networks,
        mode,
        drift,
        poll: Duration::from_secs(poll.into()),
        leaving: Duration::from_secs(leave_after.into()),
        heartbeat: Duration::from_secs(heartbeat.into()),
        taints: remove_taint.into_iter().collect(),
        probes,
        timing: probes::timing(timing),
        listen: status_listen,
        ..once(&place, node, Task::Daemon, Duration::ZERO)
    };
    logging::start()?;
    asynchronously(work(place, options))
}

/// Reads what the node has before any fabric.
pub(crate) fn read_base(file: &Path) -> Result<Arc<Base>, Failure> {
    let cannot = |why: &dyn std::fmt::Display| Failure::usage(format_args!("--base {}: {why}", file.display()));
    let text = std::fs::read_to_string(file).map_err(|error| cannot(&error))?;
    Base::parse(&text).map(Arc::new).map_err(|error| cannot(&error))
}

/// Does once what the agent does all the time.
pub(crate) fn client(args: ClientArgs) -> Result<Exit, Failure> {
    let ClientArgs { verb } = args;
    let (place, host, mode, task) = match verb {
        ClientVerb::State(ClientStateArgs { place, host }) => (place, host, Mode::Centralized, Task::StateOnce),
        ClientVerb::Policy(ClientPolicyArgs { place, host: HostArg { host: _, timeout }, centralized: true }) => {
            return asynchronously(for_all(place, timeout));
        }
        ClientVerb::Policy(ClientPolicyArgs { place, host, centralized: false }) => {
            (place, host, Mode::Distributed, Task::PolicyOnce)
        }
    };
    let HostArg { host, timeout } = host;
    let node = host.map_or_else(own_name, Ok)?;
    let probes = probes::parse(&[])?;
    let options = Options { mode, probes, ..once(&place, node, task, Duration::from_secs(timeout.into())) };
    asynchronously(work(place, options))
}

fn once(place: &NodePlace, node: String, task: Task, timeout: Duration) -> Options {
    Options {
        task,
        node,
        namespace: place.namespace.clone(),
        netns: place.netns.clone(),
        state_dir: place.state_dir.clone(),
        run_dir: place.run_dir.clone(),
        machines: None,
        base: None,
        frr: None,
        pod_networks: None,
        mode: Mode::default(),
        drift: Drift::default(),
        // Longer than anything that is done once.
        poll: Duration::from_hours(1),
        leaving: Duration::from_hours(1),
        heartbeat: Duration::from_hours(1),
        taints: std::collections::BTreeSet::new(),
        probes: Vec::new(),
        timing: ProbeTiming::default(),
        listen: None,
        timeout,
    }
}

async fn work(place: NodePlace, options: Options) -> Result<Exit, Failure> {
    let NodePlace { kubeconfig, namespace: _, netns: _, state_dir: _, run_dir: _ } = place;
    // Before anything is open: a signal that comes early must not be lost.
    let cannot = |why| Failure::usage(format_args!("cannot wait for signals: {why}"));
    let mut terminate = signal(SignalKind::terminate()).map_err(cannot)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(cannot)?;
    let stop = async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    };
    let config = connection::config(kubeconfig.as_deref()).await?;
    let once = options.task != Task::Daemon;
    let ended = netloom_agent::run(options, config, stop).await.map_err(Failure::usage)?;
    outcome(ended, once)
}

/// How a program ends whose agent ended so; `once` when it was to do something and not to stay.
fn outcome(ended: Ended, once: bool) -> Result<Exit, Failure> {
    match ended {
        Ended::Stopped if once => Err(Failure::failed(
            "stopped by a signal before it was done; what was under way ended or was taken back. Run it again",
        )),
        Ended::Stopped | Ended::Settled => Ok(Exit::Done),
        Ended::Unknown(what) => Err(Failure::usage(what)),
        Ended::Failed(failure) if failure.reason == Reason::InvalidDesiredState => Err(Failure::refused(failure)),
        Ended::Failed(failure) => Err(Failure::failed(failure)),
        Ended::Unanswered(why) => Err(Failure::usage(why)),
    }
}

async fn for_all(place: NodePlace, timeout: u32) -> Result<Exit, Failure> {
    let NodePlace { kubeconfig, namespace: _, netns: _, state_dir: _, run_dir: _ } = place;
    let config = connection::config(kubeconfig.as_deref()).await?;
    let limit = Duration::from_secs(timeout.into());
    let merged = tokio::time::timeout(limit, netloom_agent::merge_all(config))
        .await
        .map_err(|_| Failure::usage(format_args!("not done within {timeout} seconds")))?
        .map_err(Failure::usage)?;
    let netloom_agent::Merged { written, unchanged, left } = merged;
    let left = if left > 0 { format!(", left to nodes that merge policies themselves: {left}") } else { String::new() };
    Output::new(false).note(&format!("Desired states written: {written}, unchanged: {unchanged}{left}."));
    Ok(Exit::Done)
}

/// The name of this machine, which need not be that of the node.
fn own_name() -> Result<String, Failure> {
    let name = nix::unistd::gethostname().ok().and_then(|name| name.into_string().ok());
    let name = name
        .filter(|name| !name.is_empty())
        .ok_or_else(|| Failure::usage("this machine has no host name; give --host NAME"))?;
    Output::new(false)
        .warn(&format!("neither --host nor NODE_NAME says which node this is: taking the host name {name:?}"));
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_agent_that_stays_is_done_when_it_is_stopped() {
        let exit = |ended, once| outcome(ended, once).unwrap_or_else(|failure| failure.exit);
        assert_eq!(exit(Ended::Stopped, false), Exit::Done);
        assert_eq!(exit(Ended::Stopped, true), Exit::Failed);
        assert_eq!(exit(Ended::Settled, true), Exit::Done);
        assert_eq!(exit(Ended::Unknown("there is no Node \"x\"".to_owned()), true), Exit::Usage);
    }
}
