//! The API server at an address of the switch, so that nodes reach it over their own wires.

use std::{fs, net::SocketAddr, path::Path, time::Duration};

use netloom_model::EngineError;
use netloom_netlink::{Namespace, netns::Worker};
use serde_json::{Value, json};
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    runtime::Runtime,
    task::{JoinHandle, JoinSet, spawn_blocking},
    time::sleep,
};

use super::wires::{SWITCH, space};

/// Passes connections on until it goes.
pub(super) struct Relay {
    /// Where it listens.
    address: SocketAddr,
    /// Where the server is.
    server: SocketAddr,
    task: JoinHandle<()>,
}

impl Relay {
    /// Listens at the switch's own address, and passes every connection on to the server of a kubeconfig.
    pub(super) fn start(runtime: &Runtime, kubeconfig: &Path) -> Result<Self, String> {
        let server = server(&read(kubeconfig)?)?;
        let listener = listen(SocketAddr::new(SWITCH.into(), 0))?;
        let address = listener.local_addr().map_err(|error| error.to_string())?;
        Ok(Self { address, server, task: runtime.spawn(pass_on(listener, server)) })
    }

    /// Hangs up and refuses connections for so long, as a server does that is restarted.
    pub(super) fn go_away(&mut self, runtime: &Runtime, time: Duration) {
        self.task.abort();
        let (address, server) = (self.address, self.server);
        self.task = runtime.spawn(async move {
            // How long it is away is what the story is about.
            sleep(time).await;
            let again = spawn_blocking(move || listen(address)).await;
            if let Ok(Ok(listener)) = again {
                pass_on(listener, server).await;
            }
        });
    }

    /// Writes a kubeconfig that says the same as another, with this way to the server.
    pub(super) fn redirect(&self, from: &Path, to: &Path) -> Result<(), String> {
        let mut config = read(from)?;
        let name = server(&config)?.ip().to_string();
        let cluster = &mut config["clusters"][0]["cluster"];
        cluster["server"] = json!(format!("https://{}", self.address));
        cluster["tls-server-name"] = json!(name);
        fs::write(to, config.to_string()).map_err(|error| format!("{}: {error}", to.display()))
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Listens at an address of the switch.
fn listen(address: SocketAddr) -> Result<std::net::TcpListener, String> {
    let text = |error: EngineError| error.to_string();
    let worker = Worker::start(Namespace::Named(space("sw")), || Ok(())).map_err(text)?;
    let listener = worker.run(move |()| std::net::TcpListener::bind(address)).map_err(text)?;
    let listener = listener.map_err(|error| format!("cannot listen on {address}: {error}"))?;
    listener.set_nonblocking(true).map_err(|error| error.to_string())?;
    Ok(listener)
}

/// Passes connections on; all of them end when this does.
async fn pass_on(listener: std::net::TcpListener, server: SocketAddr) {
    let Ok(listener) = TcpListener::from_std(listener) else { return };
    let mut open = JoinSet::new();
    while let Ok((mut near, _)) = listener.accept().await {
        while open.try_join_next().is_some() {}
        open.spawn(async move {
            if let Ok(mut far) = TcpStream::connect(server).await {
                // Either end may hang up at any time.
                copy_bidirectional(&mut near, &mut far).await.ok();
            }
        });
    }
}

/// Writes a kubeconfig that says the same as another, with an address where nobody listens.
pub(super) fn lead_nowhere(from: &Path, to: &Path) -> Result<(), String> {
    let mut config = read(from)?;
    // The port of a service that throws everything away, and that no machine of today has.
    config["clusters"][0]["cluster"]["server"] = json!("https://127.0.0.1:9");
    fs::write(to, config.to_string()).map_err(|error| format!("{}: {error}", to.display()))
}

fn read(kubeconfig: &Path) -> Result<Value, String> {
    let text = fs::read_to_string(kubeconfig).map_err(|error| format!("{}: {error}", kubeconfig.display()))?;
    netloom_testkit::yaml::read(&text).map_err(|error| format!("{}: {error}", kubeconfig.display()))
}

fn server(config: &Value) -> Result<SocketAddr, String> {
    let url = config.pointer("/clusters/0/cluster/server").and_then(Value::as_str).unwrap_or_default();
    let address = url.trim_start_matches("https://").trim_end_matches('/');
    address.parse().map_err(|_| format!("the kubeconfig names no address: {url}"))
}
