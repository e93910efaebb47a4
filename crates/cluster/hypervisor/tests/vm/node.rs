//! A node: a daemon with everything of its own, and the worker that has it.

use std::{
    fs,
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc::Sender,
    time::Duration,
};

use netloom_hypervisor::{Options, Told, Worker};
use netloom_machine::domain::{Plugins, Refresh};

use crate::relay::Relay;

/// A node.
pub(crate) struct Node {
    pub(crate) name: String,
    pub(crate) folder: PathBuf,
    daemon: Child,
    pub(crate) worker: Worker,
    /// Between the worker and the daemon.
    pub(crate) relay: Relay,
    options: Options,
    told: Sender<(usize, Told)>,
    number: usize,
}

/// The daemon keeps what it knows in places that are fixed; a mount namespace of its own gives it those.
const START: &str = r#"
for place in /run /var/lib/libvirt /var/cache/libvirt /var/log/libvirt /etc/libvirt; do
    mkdir -p "$place" && mount -t tmpfs tmpfs "$place" || exit 1
done
mkdir -p /run/libvirt
cp "$1/qemu.conf" /etc/libvirt/qemu.conf
ip link set lo up
exec libvirtd --config "$1/libvirtd.conf" --pid-file /run/libvirtd.pid >"$1/log" 2>&1
"#;

fn daemon(folder: &Path, number: usize) -> Child {
    let conf = format!(
        "unix_sock_dir = \"{folder}\"\nauth_unix_rw = \"none\"\nauth_unix_ro = \"none\"\nunix_sock_rw_perms = \"0700\"\n\
         host_uuid = \"00000000-0000-4000-8000-00000000000{number}\"\n",
        folder = folder.display(),
    );
    fs::write(folder.join("libvirtd.conf"), conf).unwrap();
    let qemu = "stdio_handler = \"file\"\nuser = \"root\"\ngroup = \"root\"\nsecurity_driver = \"none\"\nnamespaces = []\n\
                cgroup_controllers = []\ndynamic_ownership = 0\nremember_owner = 0\n";
    fs::write(folder.join("qemu.conf"), qemu).unwrap();
    let mut command = Command::new("unshare");
    command.args(["--mount", "--net", "--", "bash", "-c", START, "daemon"]).arg(folder);
    command.stdin(Stdio::null()).process_group(0).spawn().unwrap()
}

fn worker(options: &Options, number: usize, told: &Sender<(usize, Told)>) -> Worker {
    let told = told.clone();
    Worker::start(options.clone(), move |word| drop(told.send((number, word)))).unwrap()
}

impl Node {
    /// Starts one; what its worker tells goes to `told`, with the number.
    pub(crate) fn start(number: usize, parent: &Path, base: &str, told: Sender<(usize, Told)>) -> Self {
        let name = format!("n{number}");
        let folder = parent.join(&name);
        fs::create_dir_all(folder.join("domains")).unwrap();
        fs::write(folder.join("domains/default.xml"), base).unwrap();
        let daemon = daemon(&folder, number);
        let socket = folder.join("relay");
        let relay = Relay::start(&socket, folder.join("libvirt-sock"));
        let options = Options {
            node: name.clone(),
            socket,
            domains: folder.join("domains"),
            plugins: Plugins::from([("tapped".to_owned(), Refresh::Yes)]),
            poll: Duration::from_secs(2),
            clock: || "2030-01-01T00:00:00Z".to_owned(),
        };
        let worker = worker(&options, number, &told);
        Self { name, folder, daemon, worker, relay, options, told, number }
    }

    /// Another worker takes over, as after a restart of the agent.
    pub(crate) fn another_worker(&mut self) {
        self.worker = worker(&self.options, self.number, &self.told);
    }

    /// Kills the daemon at once and starts it again.
    pub(crate) fn restart(&mut self, number: usize) {
        self.inside("pkill -KILL --pidfile /run/libvirtd.pid || kill -KILL \"$(cat /run/libvirtd.pid)\"");
        self.daemon.wait().unwrap();
        self.daemon = daemon(&self.folder, number);
    }

    /// What a command says in the daemon's namespaces.
    pub(crate) fn inside(&self, command: &str) -> String {
        let target = self.daemon.id().to_string();
        let words = ["--target", &target, "--mount", "--net", "--", "bash", "-c", command];
        let output = Command::new("nsenter").args(words).output().unwrap();
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    pub(crate) fn virsh(&self, words: &str) -> String {
        self.inside(&format!("virsh -c 'qemu+unix:///system?socket={}/libvirt-sock' {words}", self.folder.display()))
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // Guests are in groups of their own: they go by their folder's place in the daemon's list.
        for name in self.virsh("list --name").lines().filter(|name| !name.is_empty()) {
            self.virsh(&format!("destroy {name}"));
        }
        self.daemon.kill().ok();
        self.daemon.wait().ok();
    }
}
