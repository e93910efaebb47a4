//! The processes that are measured: ours, and the real kube-apiserver with its etcd.

use std::{
    fs,
    net::TcpListener,
    path::{Path, PathBuf},
    process::Stdio,
    time::{Duration, Instant},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use tokio::{
    process::{Child, Command},
    time::{sleep, timeout},
};

use crate::{
    Failure,
    client::{self, Access},
};

/// How long a server may take to be ready, and to end.
const TIME_LIMIT: Duration = Duration::from_secs(120);
/// How often a server that is not there yet is asked again.
const PAUSE: Duration = Duration::from_millis(1);
/// The real server ends by itself after so many minutes, should this program be killed.
const LIMIT: &str = "30m";

/// Which of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    Ours,
    /// Whether its etcd waits for the disk is for the figure to say: it matters for writes only.
    Peers {
        fsync: bool,
    },
}

/// Where the programs are, and the folder for what they store.
pub struct Programs {
    netloom: PathBuf,
    peer: PathBuf,
    folder: PathBuf,
}

/// A server that is ready.
pub struct Server {
    process: Child,
    pub access: Access,
    /// From its start to its first answer that it is ready.
    pub ready_after: Duration,
}

impl Programs {
    pub fn new(netloom: &str, peer: &str, folder: &Path) -> Result<Self, Failure> {
        fs::create_dir_all(folder)?;
        Ok(Self { netloom: netloom.into(), peer: peer.into(), folder: fs::canonicalize(folder)? })
    }

    /// A folder that nobody has used.
    pub fn fresh(&self) -> Result<PathBuf, Failure> {
        let folder = self.folder.join("server");
        if fs::exists(&folder)? {
            fs::remove_dir_all(&folder)?;
        }
        Ok(folder)
    }

    /// Starts a server in an empty folder.
    pub async fn start(&self, whose: Whose) -> Result<Server, Failure> {
        let folder = self.fresh()?;
        self.start_in(whose, &folder).await
    }

    /// Starts a server and waits until it says that it is ready.
    pub async fn start_in(&self, whose: Whose, folder: &Path) -> Result<Server, Failure> {
        let port = free_port()?;
        let (mut command, kubeconfig) = match whose {
            Whose::Ours => {
                let mut command = Command::new(&self.netloom);
                let kubeconfig = self.folder.join("ours.kubeconfig");
                command.arg("server").arg("--data-dir").arg(folder).arg("--listen").arg(format!("127.0.0.1:{port}"));
                command.arg("--kubeconfig-out").arg(&kubeconfig);
                (command, kubeconfig)
            }
            Whose::Peers { fsync } => {
                let mut command = Command::new(&self.peer);
                command.arg("--dir").arg(folder).arg("--limit").arg(LIMIT).arg("--port").arg(port.to_string());
                if fsync {
                    command.arg("--fsync");
                }
                // So that it can be asked whether it is ready in the same way as ours.
                command.args(["--", "--anonymous-auth=true"]);
                (command, folder.join("admin.kubeconfig"))
            }
        };
        if fs::exists(&kubeconfig)? {
            fs::remove_file(&kubeconfig)?;
        }
        let log = fs::File::create(self.folder.join("log"))?;
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).kill_on_drop(true);
        let started = Instant::now();
        let mut process = command.spawn()?;
        let ready = async {
            while !client::is_ready(port).await {
                sleep(PAUSE).await;
            }
            let ready_after = started.elapsed();
            while !fs::exists(&kubeconfig)? {
                sleep(PAUSE).await;
            }
            Ok::<_, Failure>((ready_after, Access::read(&fs::read_to_string(&kubeconfig)?, port)?))
        };
        let log = self.folder.join("log");
        tokio::select! {
            ended = process.wait() => Err(format!("{whose:?} ended with {}; see {}", ended?, log.display()).into()),
            ready = timeout(TIME_LIMIT, ready) => {
                let (ready_after, access) = ready.map_err(|_| format!("{whose:?} is not ready; see {}", log.display()))??;
                Ok(Server { process, access, ready_after })
            }
        }
    }
}

impl Server {
    /// Resident memory in MiB.
    pub fn resident(&self) -> Result<f64, Failure> {
        let pid = self.process.id().ok_or("the server has ended")?;
        let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
        Ok(line.trim().trim_end_matches(" kB").trim().parse::<f64>()? / 1024.0)
    }

    /// Asks it to end, and waits for that.
    pub async fn stop(mut self) -> Result<(), Failure> {
        let pid = self.process.id().ok_or("the server has ended by itself")?;
        kill(Pid::from_raw(i32::try_from(pid)?), Signal::SIGTERM)?;
        if timeout(TIME_LIMIT, self.process.wait()).await.is_err() {
            self.process.kill().await?;
        }
        Ok(())
    }
}

fn free_port() -> Result<u16, Failure> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}
