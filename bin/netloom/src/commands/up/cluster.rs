//! The server, the controller and an agent for each node, as tasks of this process.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Duration,
};

use http::{Request, header::CONTENT_TYPE};
use kube::{
    Config,
    config::{KubeConfigOptions, Kubeconfig},
};
use netloom_agent::{Ended, Options as AgentOptions, Task};
use netloom_agent_core::{Drift, Mode};
use netloom_apiserver::{
    ca::write_private,
    resources::clock::{Source, System},
    server::{Limits, Options as ServerOptions, Server},
};
use netloom_controller::process::{Options as ControllerOptions, run as run_controller};
use netloom_probing::ProbeTiming;
use serde_json::{Value, json};
use tokio::{
    sync::{oneshot, watch},
    task::JoinSet,
};

use super::{
    fabric::{Fabric, NodeFabric},
    folder,
    machines::Node,
    pods,
};
use crate::{
    cluster::Cluster as Administrator,
    commands::{controller, kubeconfig::identity, server::cannot_start},
    failure::Failure,
    output::Output,
    probes,
};

/// Where the lease of the controller is.
const NAMESPACE: &str = "netloom-system";
/// There is no other controller that could take over.
const LEASE_SECONDS: u16 = 15;
/// How often agents look although their node reported no change.
const POLL: Duration = Duration::from_mins(1);
/// How long a node keeps what it was given after its `Node` is deleted, as agents by themselves do.
const LEAVING: Duration = Duration::from_mins(5);
/// How often an agent says that it is there.
const HEARTBEAT: Duration = Duration::from_mins(1);

/// A cluster that runs.
pub(super) struct Cluster {
    folder: PathBuf,
    server: Server,
    administrator: Administrator,
    /// Each ends when asked to, or with what it could not do.
    tasks: JoinSet<Result<(), Failure>>,
    stopped: watch::Receiver<()>,
}

impl Cluster {
    /// Starts server and controller, and writes down how an administrator gets in.
    pub(super) async fn start(
        folder: &Path,
        listen: SocketAddr,
        kubeconfig: &Path,
        stopped: watch::Receiver<()>,
    ) -> Result<Self, Failure> {
        let options = ServerOptions {
            folder: folder.join("server"),
            listen,
            remote: false,
            limits: Limits::default(),
            // Its nodes join without any.
            agent_taints: Vec::new(),
        };
        let server = Server::start(options).await.map_err(|error| cannot_start(&error))?;
        let text = server.administrator(System.now()).map_err(Failure::usage)?;
        write_private(kubeconfig, text.as_bytes())
            .map_err(|error| Failure::usage(format_args!("cannot write {}: {error}", kubeconfig.display())))?;
        let administrator = Administrator::connect(Some(kubeconfig)).await?;
        let folder = folder.to_owned();
        let mut cluster = Self { folder, server, administrator, tasks: JoinSet::new(), stopped };
        cluster.add_controller().await?;
        Ok(cluster)
    }

    /// Where the API is.
    pub(super) fn url(&self) -> String {
        self.server.url()
    }

    /// Says which nodes there are, and starts the agent of each.
    pub(super) async fn add_nodes(&mut self, nodes: &[Node], fabric: Option<&Fabric>) -> Result<(), Failure> {
        for (place, node) in nodes.iter().enumerate() {
            self.register(&node.name).await?;
            self.add_agent(node, fabric.and_then(|fabric| fabric.of_node(place))).await?;
        }
        Ok(())
    }

    /// Waits until a part ends that should not.
    pub(super) async fn failed(&mut self) -> Result<(), Failure> {
        match self.tasks.join_next().await {
            Some(Ok(ended)) => ended.and(Err(Failure::failed("a part of the cluster ended by itself"))),
            Some(Err(panicked)) => Err(Failure::failed(format_args!("a part of the cluster broke: {panicked}"))),
            None => Err(Failure::failed("nothing runs any more")),
        }
    }

    /// Waits until everybody has ended who was asked to.
    pub(super) async fn end(mut self) {
        let output = Output::new(false);
        while let Some(ended) = self.tasks.join_next().await {
            match ended {
                Ok(Ok(())) => {}
                Ok(Err(failure)) => {
                    output.warn(&format!("a part of the cluster did not end well: {}", failure.message));
                }
                Err(error) => output.warn(&format!("a part of the cluster broke: {error}")),
            }
        }
        self.server.stop().await;
    }

    /// Ends when everybody shall.
    fn stop(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut stopped = self.stopped.clone();
        async move {
            // Who could tell is gone: that is an end too.
            stopped.changed().await.ok();
        }
    }

    async fn config(&self, node: Option<&str>) -> Result<Config, Failure> {
        let text = identity(&self.administrator, &self.url(), node).await?;
        let read = Kubeconfig::from_yaml(&text).map_err(Failure::failed)?;
        Config::from_custom_kubeconfig(read, &KubeConfigOptions::default()).await.map_err(Failure::failed)
    }

    async fn add_controller(&mut self) -> Result<(), Failure> {
        let (reader, writer) = controller::clients(self.config(None).await?)?;
        let terms = controller::terms(NAMESPACE.to_owned(), LEASE_SECONDS);
        let options = ControllerOptions {
            reader,
            writer,
            terms,
            config: None,
            install_definitions: false,
            // The server has them by itself.
            machines: false,
            status: None,
            webhook: None,
        };
        let ((ready, is_ready), stop) = (oneshot::channel(), self.stop());
        self.tasks.spawn(async { run_controller(options, stop, ready).await.map_err(Failure::failed) });
        is_ready.await.map_err(|_| Failure::failed("the controller ended before it knew the cluster"))
    }

    /// Does what a kubelet would.
    async fn register(&self, node: &str) -> Result<(), Failure> {
        let object = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": node}});
        let ready = json!({
            "apiVersion": "v1", "kind": "Node", "metadata": {"name": node},
            "status": {"conditions": [{"type": "Ready", "status": "True", "reason": "NetloomUp"}]},
        });
        self.apply(&format!("/api/v1/nodes/{node}"), &object).await?;
        self.apply(&format!("/api/v1/nodes/{node}/status"), &ready).await
    }

    async fn apply(&self, path: &str, object: &Value) -> Result<(), Failure> {
        let request = Request::patch(format!("{path}?fieldManager=netloom-up&force=true"))
            .header(CONTENT_TYPE, "application/apply-patch+yaml");
        let body = object.to_string().into_bytes();
        self.administrator.send(request.body(body).map_err(Failure::usage)?).await.map(drop)
    }

    async fn add_agent(&mut self, node: &Node, fabric: Option<NodeFabric>) -> Result<(), Failure> {
        let Node { name, netns } = node;
        let (base, frr) = fabric.map(|NodeFabric { base, sockets }| (base, sockets)).unzip();
        let options = AgentOptions {
            task: Task::Daemon,
            node: name.clone(),
            namespace: "default".to_owned(),
            netns: Some(netns.clone()),
            state_dir: folder::nodes(&self.folder),
            run_dir: None,
            base,
            frr,
            machines: None,
            pod_networks: Some(pods::of(&self.folder, name)?),
            mode: Mode::default(),
            drift: Drift::default(),
            poll: POLL,
            leaving: LEAVING,
            heartbeat: HEARTBEAT,
            taints: std::collections::BTreeSet::new(),
            probes: probes::parse(&[])?,
            timing: ProbeTiming::default(),
            listen: None,
            timeout: Duration::ZERO,
        };
        let (config, stop, name) = (self.config(Some(name)).await?, self.stop(), name.clone());
        self.tasks.spawn(async move {
            let ended = netloom_agent::run(options, config, stop).await;
            match ended.map_err(|error| Failure::failed(format_args!("the agent of {name} ended: {error}")))? {
                Ended::Stopped | Ended::Settled => Ok(()),
                Ended::Failed(failure) => Err(Failure::failed(failure)),
                Ended::Unanswered(why) | Ended::Unknown(why) => Err(Failure::failed(why)),
            }
        });
        Ok(())
    }
}
