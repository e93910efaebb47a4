//! `netloom up`: a cluster on one machine that leaves nothing behind.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use netloom_netlink::netns;
use netloom_testkit::runner::{Ended, Outcome};
use nix::sys::signal::Signal;

use crate::{embedded::Embedded, nodestate::Process};

const MACHINES: [&str; 3] = ["netloom-node1", "netloom-node2", "netloom-switch"];

/// Twice on one folder: nodes are there, cabled and reported; another one is refused; Ctrl-C ends all of it, and the
/// folder that was named is kept.
pub(crate) fn comes_and_goes() -> Outcome {
    let netloom = match Embedded::find() {
        Ok(embedded) => embedded.netloom,
        Err(why) => return Ok(Ended::NotRun(why)),
    };
    let before = namespaces()?;
    let folder = std::env::temp_dir().join(format!("netloom-up-test-{}", std::process::id()));
    fs::create_dir_all(&folder).map_err(text)?;
    for life in ["first", "second"] {
        let log = folder.join("log");
        let process = Process::ready(&mut up(&netloom, &folder), "ready", &log)?;
        let there: BTreeSet<String> = namespaces()?.difference(&before).cloned().collect();
        same("the machines", &there, &MACHINES.map(str::to_owned).into())?;
        same("the ports of the switch", &ports()?, &["node1-eth0", "node2-eth0"].map(str::to_owned).into())?;
        known_to_the_api(&netloom, &folder, life)?;
        refused_beside_another(&netloom, &folder)?;
        same("its end", &process.end(Signal::SIGINT)?, &Some(0))?;
        same("what is left", &namespaces()?, &before)?;
    }
    fs::remove_dir_all(&folder).map_err(text)?;
    Ok(Ended::OK)
}

fn up(netloom: &Path, folder: &Path) -> Command {
    let mut command = Command::new(netloom);
    command.args(["up", "--nodes", "2", "--cards", "1", "--listen", "127.0.0.1:0", "--data-dir"]);
    command.arg(folder.join("data")).arg("--kubeconfig-out").arg(folder.join("admin.kubeconfig"));
    command
}

/// The second life finds what the first one stored: its nodes are not made again.
fn known_to_the_api(netloom: &Path, folder: &Path, life: &str) -> Result<(), String> {
    let kubeconfig: PathBuf = folder.join("admin.kubeconfig");
    let nodes = ran(Command::new(netloom).args(["get", "nodes", "-o", "json"]).env("KUBECONFIG", kubeconfig))?;
    let list: serde_json::Value = serde_json::from_str(&nodes).map_err(text)?;
    let uids: Vec<String> =
        list["items"].as_array().into_iter().flatten().map(|node| node["metadata"]["uid"].to_string()).collect();
    same("the number of nodes", &uids.len(), &2)?;
    let kept = folder.join("uids");
    if life == "first" {
        return fs::write(kept, uids.join(" ")).map_err(text);
    }
    same("who they are", &uids.join(" "), &fs::read_to_string(kept).map_err(text)?)
}

/// Nothing of the one that runs is touched.
fn refused_beside_another(netloom: &Path, folder: &Path) -> Result<(), String> {
    let there = namespaces()?;
    let other = up(netloom, &folder.join("other")).output().map_err(text)?;
    let printed = String::from_utf8_lossy(&other.stderr);
    same("the status of a second one", &other.status.code(), &Some(3))?;
    for words in
        ["there is a network namespace netloom-switch already", "end it first", "ip netns delete netloom-node2"]
    {
        if !printed.contains(words) {
            return Err(format!("a second one does not say {words:?} but: {printed}"));
        }
    }
    same("what is there beside it", &namespaces()?, &there)
}

fn ports() -> Result<BTreeSet<String>, String> {
    let links = ran(Command::new("ip").args(["-n", "netloom-switch", "-j", "link", "show", "type", "veth"]))?;
    let links: serde_json::Value = serde_json::from_str(&links).map_err(text)?;
    Ok(links.as_array().into_iter().flatten().filter_map(|link| Some(link["ifname"].as_str()?.to_owned())).collect())
}

fn namespaces() -> Result<BTreeSet<String>, String> {
    Ok(netns::list().map_err(text)?.into_iter().collect())
}

fn ran(command: &mut Command) -> Result<String, String> {
    let done = command.output().map_err(text)?;
    if done.status.success() {
        return Ok(String::from_utf8_lossy(&done.stdout).into_owned());
    }
    Err(format!("{command:?}: {}", String::from_utf8_lossy(&done.stderr)))
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, found: &T, wanted: &T) -> Result<(), String> {
    if found == wanted { Ok(()) } else { Err(format!("{what}: found {found:?}, wanted {wanted:?}")) }
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}
