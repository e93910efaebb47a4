//! The API server at an address of the switch, so that nodes reach it over their own wires.

use std::{fs, net::SocketAddr, path::Path};

use netloom_model::EngineError;
use netloom_netlink::{Namespace, netns::Worker};
use serde_json::{Value, json};
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    runtime::Runtime,
    task::JoinHandle,
};

use super::wires::{SWITCH, space};

/// Passes connections on until it goes.
pub(super) struct Relay {
    /// Where it listens.
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl Relay {
    /// Listens at the switch's own address, and passes every connection on to the server of a kubeconfig.
    pub(super) fn start(runtime: &Runtime, kubeconfig: &Path) -> Result<Self, String> {
        let server = server(&read(kubeconfig)?)?;
        let text = |error: EngineError| error.to_string();
        let worker = Worker::start(Namespace::Named(space("sw")), || Ok(())).map_err(text)?;
        let listener = worker.run(|()| std::net::TcpListener::bind((SWITCH, 0))).map_err(text)?;
        let listener = listener.map_err(|error| format!("cannot listen on {SWITCH}: {error}"))?;
        listener.set_nonblocking(true).map_err(|error| error.to_string())?;
        let address = listener.local_addr().map_err(|error| error.to_string())?;
        let task = runtime.spawn(async move {
            let Ok(listener) = TcpListener::from_std(listener) else { return };
            while let Ok((mut near, _)) = listener.accept().await {
                tokio::spawn(async move {
                    if let Ok(mut far) = TcpStream::connect(server).await {
                        // Either end may hang up at any time.
                        copy_bidirectional(&mut near, &mut far).await.ok();
                    }
                });
            }
        });
        Ok(Self { address, task })
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

/// Writes a kubeconfig that says the same as another, with an address where nobody listens.
pub(super) fn lead_nowhere(from: &Path, to: &Path) -> Result<(), String> {
    let mut config = read(from)?;
    // The port of a service that throws everything away, and that no machine of today has.
    config["clusters"][0]["cluster"]["server"] = json!("https://127.0.0.1:9");
    fs::write(to, config.to_string()).map_err(|error| format!("{}: {error}", to.display()))
}

fn read(kubeconfig: &Path) -> Result<Value, String> {
    let text = fs::read_to_string(kubeconfig).map_err(|error| format!("{}: {error}", kubeconfig.display()))?;
    serde_saphyr::from_str(&text).map_err(|error| format!("{}: {error}", kubeconfig.display()))
}

fn server(config: &Value) -> Result<SocketAddr, String> {
    let url = config.pointer("/clusters/0/cluster/server").and_then(Value::as_str).unwrap_or_default();
    let address = url.trim_start_matches("https://").trim_end_matches('/');
    address.parse().map_err(|_| format!("the kubeconfig names no address: {url}"))
}
