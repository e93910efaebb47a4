//! Other network managers on a host: what they leave in run-time files, and a real systemd-networkd.
//!
//! Every host has a folder of run-time files of its own, which its agent is notified of. The real program sees that
//! folder as
//! `/run`, and `/sys` as read-only: so it knows that nobody tells it when the machine has made a link ready, and does not
//! wait for that.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use nix::sys::signal::Signal;

use super::{
    site::Process,
    wires::{Wires, space},
};

/// Where the program is.
const NETWORKD: &str = "/lib/systemd/systemd-networkd";

/// Makes the folder `$1` what the program finds under `/run`, and becomes the program.
const START: &str = "mount -o remount,bind,ro /sys && mount --bind \"$1\" /run && exec \"$0\"";

/// Whether this machine has systemd-networkd.
pub(super) fn is_there() -> bool {
    Path::new(NETWORKD).exists()
}

/// The managers of all hosts of a story.
#[derive(Default)]
pub(super) struct Managers {
    networkd: BTreeMap<String, Process>,
}

impl Managers {
    /// Writes a run-time file of a host; without a text, takes it away. `INDEX` in its name is that of the link.
    pub(super) fn say(folder: &Path, node: &str, link: &str, file: &str, text: Option<&str>) -> Result<(), String> {
        let path = run_dir(folder, node).join(file.replace("INDEX", &Wires::index(node, link)?));
        let cannot = |error: std::io::Error| format!("{}: {error}", path.display());
        let Some(text) = text else { return fs::remove_file(&path).map_err(cannot) };
        path.parent().map_or(Ok(()), fs::create_dir_all).map_err(cannot)?;
        fs::write(&path, text).map_err(cannot)
    }

    /// Starts systemd-networkd on a host with exactly these files, in the place of one that runs; with none, ends it.
    pub(super) fn networkd(
        &mut self,
        folder: &Path,
        node: &str,
        files: &BTreeMap<String, String>,
    ) -> Result<(), String> {
        if let Some(running) = self.networkd.remove(node) {
            running.end(Signal::SIGTERM)?;
        }
        let run = run_dir(folder, node);
        let config = run.join("systemd/network");
        let cannot = |error: std::io::Error| format!("{}: {error}", run.display());
        fs::remove_dir_all(&config).ok();
        if files.is_empty() {
            return Ok(());
        }
        fs::create_dir_all(&config).map_err(cannot)?;
        for (name, text) in files {
            fs::write(config.join(name), text).map_err(cannot)?;
        }
        for own in ["links", "leases", "lldp"] {
            fs::create_dir_all(run.join("systemd/netif").join(own)).map_err(cannot)?;
        }
        let owned = Command::new("chown").args(["-R", "systemd-network:"]).arg(run.join("systemd/netif")).status();
        if !owned.map_err(cannot)?.success() {
            return Err("there is no user systemd-network".to_owned());
        }
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &space(node), "sh", "-c", START, NETWORKD]).arg(&run);
        let process = Process::start(&mut command, &folder.join(format!("{node}.networkd.log")))?;
        self.networkd.insert(node.to_owned(), process);
        Ok(())
    }
}

/// The folder of run-time files of a host.
pub(super) fn run_dir(folder: &Path, node: &str) -> PathBuf {
    folder.join(format!("{node}.run"))
}
