//! The two servers that are compared: the real one, and ours. Both are children of this process.

use std::{
    fs::File,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use crate::wire::Wire;

/// Which of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Side {
    Real,
    Ours,
}

impl Side {
    pub(crate) const ALL: [Self; 2] = [Self::Real, Self::Ours];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Real => "real",
            Self::Ours => "ours",
        }
    }
}

/// A running server. It ends when this value does.
pub(crate) struct Server {
    pub(crate) folder: PathBuf,
    pub(crate) kubeconfig: PathBuf,
    pub(crate) wire: Wire,
    child: Child,
}

/// Programs that the tier needs, from the environment that `./x test cluster` sets.
#[derive(Debug, Clone)]
pub(crate) struct Programs {
    pub(crate) netloom: PathBuf,
    pub(crate) peers: PathBuf,
}

impl Programs {
    /// Where they are, or what is missing.
    pub(crate) fn find() -> Result<Self, String> {
        let path = |name: &str| {
            let value = std::env::var_os(name).ok_or_else(|| format!("{name} is not set"))?;
            Ok::<_, String>(PathBuf::from(value))
        };
        Ok(Self { netloom: path("NETLOOM")?, peers: path("NETLOOM_PEERS")? })
    }
}

impl Server {
    /// Starts a server in an empty folder and returns when it is ready.
    pub(crate) fn start(side: Side, programs: &Programs, folder: &Path) -> Result<Self, String> {
        Self::start_with(side, programs, folder, &[])
    }

    /// The same with more words for its program.
    pub(crate) fn start_with(side: Side, programs: &Programs, folder: &Path, more: &[&str]) -> Result<Self, String> {
        std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let kubeconfig = folder.join("admin.kubeconfig");
        let mut command = match side {
            Side::Real => {
                let mut command = Command::new(programs.peers.join("kube"));
                // Nobody waits for it any more by then: it is to end when whoever started it was killed.
                command.arg("--dir").arg(folder).args(["--limit", "2h"]);
                command
            }
            Side::Ours => {
                let mut command = Command::new(&programs.netloom);
                command.args(["server", "--listen", "127.0.0.1:0", "--data-dir"]).arg(folder.join("data"));
                command.arg("--kubeconfig-out").arg(&kubeconfig);
                command
            }
        };
        let log = File::create(folder.join("log")).map_err(|error| error.to_string())?;
        let mut child = command
            .args(more)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .map_err(|error| format!("{}: {error}", command.get_program().display()))?;
        match wait_for_line(&mut child, "ready").and_then(|()| Wire::new(&kubeconfig)) {
            Ok(wire) => Ok(Self { folder: folder.to_owned(), kubeconfig, wire, child }),
            Err(why) => {
                let _ended = child.kill().and_then(|()| child.wait());
                let log = std::fs::read_to_string(folder.join("log")).unwrap_or_default();
                let end: Vec<&str> = log.lines().rev().take(5).collect();
                Err(format!("the {} server did not start: {why}\n{}", side.name(), end.join("\n")))
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let pid = i32::try_from(self.child.id()).map(Pid::from_raw);
        if pid.is_ok_and(|pid| kill(pid, Signal::SIGTERM).is_ok()) {
            self.child.wait().ok();
        }
    }
}

/// Both servers say on standard output when they are ready.
fn wait_for_line(child: &mut Child, word: &str) -> Result<(), String> {
    let output = child.stdout.take().ok_or("no standard output")?;
    let mut reader = BufReader::new(output);
    let mut line = String::new();
    while reader.read_line(&mut line).map_err(|error| error.to_string())? > 0 {
        if line.contains(word) {
            // The rest is read and dropped, so that the server never waits for a reader.
            std::thread::spawn(move || std::io::copy(&mut reader, &mut std::io::sink()));
            return Ok(());
        }
        line.clear();
    }
    Err("it ended before it was ready".to_owned())
}
