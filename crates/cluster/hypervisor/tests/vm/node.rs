//! A node: namespaces with a daemon that has everything of its own, and the agent that has the daemon.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use crate::relay::Relay;

/// A node.
pub(crate) struct Node {
    pub(crate) name: String,
    pub(crate) folder: PathBuf,
    /// Keeps the namespaces, whoever else ends.
    holder: Child,
    daemon: Child,
    agent: Option<Child>,
    /// Between the agent and the daemon.
    pub(crate) relay: Relay,
    program: PathBuf,
}

/// The daemon keeps what it knows in places that are fixed; a mount namespace of its own gives it those.
const HOLD: &str = r#"
for place in /run /var/lib/libvirt /var/cache/libvirt /var/log/libvirt /etc/libvirt; do
    mkdir -p "$place" && mount -t tmpfs tmpfs "$place" || exit 1
done
mkdir -p /run/libvirt
cp "$1/qemu.conf" /etc/libvirt/qemu.conf
ip link set lo up
echo held
exec cat
"#;

fn hold(folder: &Path, number: usize) -> Child {
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
    command.args(["--mount", "--net", "--", "bash", "-c", HOLD, "holder"]).arg(folder);
    let mut holder = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(holder.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "held\n");
    holder
}

/// A command in the namespaces of a node.
fn enter(holder: &Child) -> Command {
    let mut command = Command::new("nsenter");
    command.args(["--target", &holder.id().to_string(), "--mount", "--net", "--"]);
    command
}

fn daemon(holder: &Child, folder: &Path) -> Child {
    let log = fs::File::options().create(true).append(true).open(folder.join("log")).unwrap();
    let mut command = enter(holder);
    command.arg("libvirtd").arg("--config").arg(folder.join("libvirtd.conf")).args(["--pid-file", "/run/libvirtd.pid"]);
    command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log).process_group(0).spawn().unwrap()
}

impl Node {
    /// Starts one without its agent.
    pub(crate) fn start(program: &Path, number: usize, parent: &Path, base: &str) -> Self {
        let name = format!("n{number}");
        let folder = parent.join(&name);
        fs::create_dir_all(folder.join("domains")).unwrap();
        fs::write(folder.join("domains/default.xml"), base).unwrap();
        let holder = hold(&folder, number);
        // Agents keep their records under the name.
        let named = Command::new("ip").args(["netns", "attach", &name, &holder.id().to_string()]).status().unwrap();
        assert!(named.success());
        let daemon = daemon(&holder, &folder);
        let relay = Relay::start(&folder.join("relay"), folder.join("libvirt-sock"));
        Self { name, folder, holder, daemon, agent: None, relay, program: program.to_owned() }
    }

    /// Starts its agent, with libvirt; one that runs is killed before.
    pub(crate) fn start_agent(&mut self, identity: &Path) {
        let migrate_in = format!("qemu+unix:///system?socket={}/libvirt-sock", self.folder.display());
        let data = format!("unix://{}/data", self.folder.display());
        let (socket, domains) = (self.folder.join("relay"), self.folder.join("domains"));
        let (socket, domains) = (socket.display().to_string(), domains.display().to_string());
        let machines = ["--libvirt", &socket, "--domains", &domains, "--binding", "tapped=tap,link-refresh"];
        self.start_agent_with(
            identity,
            &[&machines[..], &["--migrate-in", &migrate_in, "--migrate-data", &data]].concat(),
        );
    }

    /// Starts its agent with these further words; one that runs is killed before.
    pub(crate) fn start_agent_with(&mut self, identity: &Path, words: &[&str]) {
        self.kill_agent();
        let log = fs::File::options().create(true).append(true).open(self.folder.join("agent-log")).unwrap();
        let mut command = Command::new(&self.program);
        command.args(["agent", "--node", &self.name, "--netns", &self.name]);
        command.arg("--kubeconfig").arg(identity).arg("--state-dir").arg(self.folder.join("state"));
        command.args(["--poll", "2"]).args(words);
        self.agent = Some(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap());
    }

    /// The names of the agent's threads, and how many sockets it has.
    pub(crate) fn agent_has(&self) -> (Vec<String>, usize) {
        let place = PathBuf::from(format!("/proc/{}", self.agent.as_ref().unwrap().id()));
        let entries =
            |part: &str| fs::read_dir(place.join(part)).unwrap().map_while(Result::ok).map(|entry| entry.path());
        let names = entries("task").filter_map(|thread| fs::read_to_string(thread.join("comm")).ok());
        let sockets = entries("fd").filter_map(|file| fs::read_link(file).ok());
        let sockets = sockets.filter(|link| link.to_string_lossy().starts_with("socket:")).count();
        (names.map(|name| name.trim().to_owned()).collect(), sockets)
    }

    /// Kills the agent at once.
    pub(crate) fn kill_agent(&mut self) {
        if let Some(mut agent) = self.agent.take() {
            agent.kill().ok();
            agent.wait().ok();
        }
    }

    /// Kills the daemon at once and starts it again.
    pub(crate) fn restart(&mut self) {
        self.daemon.kill().unwrap();
        self.daemon.wait().unwrap();
        self.daemon = daemon(&self.holder, &self.folder);
    }

    /// What a command says in the daemon's namespaces.
    pub(crate) fn inside(&self, command: &str) -> String {
        let output = enter(&self.holder).args(["bash", "-c", command]).output().unwrap();
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    pub(crate) fn virsh(&self, words: &str) -> String {
        self.inside(&format!("virsh -c 'qemu+unix:///system?socket={}/libvirt-sock' {words}", self.folder.display()))
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.kill_agent();
        // Guests are in groups of their own: they go by their folder's place in the daemon's list.
        for name in self.virsh("list --name").lines().filter(|name| !name.is_empty()) {
            self.virsh(&format!("destroy {name}"));
        }
        self.daemon.kill().ok();
        self.daemon.wait().ok();
        self.holder.kill().ok();
        self.holder.wait().ok();
        Command::new("ip").args(["netns", "delete", &self.name]).status().ok();
    }
}
