//! `netloom up`: a whole cluster in one process, on machines made of network namespaces.
//!
//! Nothing here is a stand-in: it is the server, the controller and the agents that the other verbs run, each with an
//! identity of its own. Only the machines are smaller. Whatever was made goes when the process ends.

mod cluster;
mod fabric;
mod folder;
mod machines;
mod pods;
mod routing_daemons;

use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::watch,
};

use crate::{
    args::cluster::UpArgs,
    connection::on_threads,
    failure::{Exit, Failure},
    logging,
    output::{self, Output},
};

use self::{
    cluster::Cluster,
    fabric::FabricPlan,
    folder::Folder,
    machines::{Machines, Node, SWITCH},
};

pub(crate) fn run(args: UpArgs) -> Result<Exit, Failure> {
    logging::start_beside_words()?;
    on_threads(up(args))
}

async fn up(args: UpArgs) -> Result<Exit, Failure> {
    let UpArgs { nodes, cards, data_dir, listen, kubeconfig_out, fabric } = args;
    let fabric = FabricPlan::of(fabric);
    // Before anything is made: a signal that comes early must not leave it behind.
    let mut ending = Ending::wait()?;
    let output = Output::new(false);
    let folder = Folder::at(data_dir)?;
    let kubeconfig = kubeconfig_out.unwrap_or_else(|| folder.path().join("admin.kubeconfig"));
    let machines = Machines::make(nodes.into(), cards.into(), fabric.is_some())?;
    let spine = if fabric.is_some() { ", a switch and a spine" } else { " and a switch" };
    output.note(&format!("{nodes} nodes{spine} are cabled."));
    let logs = folder.path().join("frr");
    let fabric = fabric.map(|fabric| fabric.start(machines.nodes(), &folder.nodes(), &logs)).transpose()?;
    let (stop, stopped) = watch::channel(());
    let mut cluster = Cluster::start(folder.path(), listen, &kubeconfig, stopped).await?;
    output.note(&format!("The API is at {}.", cluster.url()));
    let whole = async {
        cluster.add_nodes(machines.nodes(), fabric.as_ref()).await?;
        output.note("The controller and an agent for each node are at work.");
        output::data(&format!("ready {}\n", cluster.url()))?;
        output.note(&next_steps(&kubeconfig, &folder, machines.nodes()));
        cluster.failed().await
    };
    let ended = tokio::select! {
        ended = whole => ended,
        () = ending.come() => Ok(()),
    };
    // Everybody hears it at once; whoever ended already needs not.
    stop.send(()).ok();
    cluster.end().await;
    // Daemons first: they would keep their namespaces.
    drop(fabric);
    drop(machines);
    ended.map(|()| Exit::Done)
}

fn next_steps(kubeconfig: &std::path::Path, folder: &Folder, nodes: &[Node]) -> String {
    let node = nodes.first().map_or("", |node| node.netns.as_str());
    format!(
        "From another terminal:\n  \
           export KUBECONFIG={}\n  \
           netloom get nodenetworkstates -A\n  \
           netloom state show --netns {node} --state-dir {} -o table\n  \
           ip netns exec {SWITCH} bridge link\n\
         Ctrl-C ends all of it.",
        kubeconfig.display(),
        folder.nodes().display(),
    )
}

/// The signals that end it.
struct Ending {
    terminate: Signal,
    interrupt: Signal,
}

impl Ending {
    fn wait() -> Result<Self, Failure> {
        let cannot = |why| Failure::usage(format_args!("cannot wait for signals: {why}"));
        Ok(Self {
            terminate: signal(SignalKind::terminate()).map_err(cannot)?,
            interrupt: signal(SignalKind::interrupt()).map_err(cannot)?,
        })
    }

    async fn come(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
