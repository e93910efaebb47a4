//! The embedded API server, for stories about nodes of a cluster.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use crate::nodestate::{Ground, Process, Server};

/// The program that serves, from the environment that `./x test kernel` sets.
pub(crate) struct Embedded {
    pub(crate) netloom: PathBuf,
}

impl Embedded {
    /// Where the program is, or what is missing.
    pub(crate) fn find() -> Result<Self, String> {
        let netloom = std::env::var_os("NETLOOM").ok_or("NETLOOM is not set (./x test kernel sets it)")?;
        Ok(Self { netloom: netloom.into() })
    }
}

impl Ground for Embedded {
    fn server(&self) -> Server {
        Server::Embedded
    }

    fn start(&self, folder: &Path) -> Result<Process, String> {
        let mut command = Command::new(&self.netloom);
        command.args(["server", "--listen", "127.0.0.1:0", "--data-dir"]).arg(folder.join("data"));
        command.arg("--kubeconfig-out").arg(folder.join("admin.kubeconfig"));
        Process::ready(&mut command, "ready", &folder.join("server.log"))
    }

    fn controller(&self, folder: &Path) -> Result<PathBuf, String> {
        self.made(folder, &["--controller"], "controller")
    }

    fn identity(&self, folder: &Path, node: &str) -> Result<PathBuf, String> {
        self.made(folder, &["--node", node], node)
    }
}

impl Embedded {
    /// The kubeconfig of an identity, made when it is not there.
    fn made(&self, folder: &Path, whose: &[&str], name: &str) -> Result<PathBuf, String> {
        let path = folder.join(format!("{name}.kubeconfig"));
        if path.exists() {
            return Ok(path);
        }
        let made = Command::new(&self.netloom)
            .args(["gen", "kubeconfig"])
            .args(whose)
            .arg("--out")
            .arg(&path)
            .env("KUBECONFIG", folder.join("admin.kubeconfig"))
            .output()
            .map_err(|error| error.to_string())?;
        if made.status.success() {
            return Ok(path);
        }
        Err(format!("gen kubeconfig: {}", String::from_utf8_lossy(&made.stderr)))
    }
}
