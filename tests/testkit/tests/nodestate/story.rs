//! The files of a story. This module only reads them.
//!
//! Invariant: a story has a title and at least one step, and its steps are numbered without a gap. A field
//! that is not known is an error: a check that is misspelt would never fail.

use std::{
    collections::BTreeMap,
    fs,
    net::IpAddr,
    path::{Path, PathBuf},
};

use serde::Deserialize;
use serde_json::Value;

use super::{
    cni::{AttachedCheck, CniDeed},
    dhcp::{Serve, ServerCheck},
};

/// How long a step may take, unless it says otherwise. Generous: machines that test do other things too.
const WITHIN: u64 = 60;

/// What a story takes over from the one that it is like.
const TAKEN_OVER: [&str; 3] = ["nodes", "needs", "server"];

/// One story.
#[derive(Debug)]
pub(super) struct Story {
    /// The name of its folder.
    pub(super) name: String,
    pub(super) folder: PathBuf,
    pub(super) head: Head,
    pub(super) steps: Vec<(String, Step)>,
}

/// `story.yaml`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Head {
    /// What it shows.
    #[serde(rename = "shows")]
    _shows: String,
    /// Its nodes; all three, each with an agent, by default.
    #[serde(default = "all_nodes")]
    pub(super) nodes: BTreeMap<String, Node>,
    /// Whether a controller runs.
    #[serde(default)]
    pub(super) controller: bool,
    /// Whether agents reach the API over the wires of their nodes, and not beside them.
    #[serde(default)]
    pub(super) wired: bool,
    /// What the kernel must have beyond bridges and pairs.
    #[serde(default)]
    pub(super) needs: Vec<String>,
    /// The only VLANs that the switch passes on beside what has no tag; all, by default.
    pub(super) vlans: Option<Vec<u16>>,
    /// Whether FRR is the newest that Debian has, and not that of its stable release.
    #[serde(default)]
    pub(super) newest_frr: bool,
    /// The only server that it is about.
    pub(super) server: Option<Server>,
    /// Workloads of nodes, each a network namespace of its own.
    #[serde(default)]
    pub(super) stations: BTreeMap<String, Station>,
    /// Pods, each an empty network namespace on this node; their objects are made by steps.
    #[serde(default)]
    pub(super) pods: BTreeMap<String, String>,
}

/// Which API server serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Server {
    /// Netloom's own, which knows the rules of all kinds.
    Embedded,
    /// kube-apiserver, here without anybody who tells it the rules.
    Real,
}

/// A node as it is before the first step.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Node {
    #[serde(default)]
    pub(super) labels: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) taints: Vec<Value>,
    /// What somebody did to the host before, as words for `ip`.
    #[serde(default)]
    pub(super) ip: Vec<String>,
    /// And then, as words for `bridge`.
    #[serde(default)]
    pub(super) bridge: Vec<String>,
    /// Whether it joins the cluster later, by a deed.
    #[serde(default)]
    pub(super) later: bool,
    /// Whether its agent runs from the beginning, and how.
    pub(super) agent: Option<Mode>,
    /// Further words for its agent, whenever it starts.
    #[serde(default)]
    pub(super) with: Vec<String>,
    /// What the daemons of FRR on it are configured with before the first step; without it there are none.
    pub(super) frr: Option<String>,
    /// What its agent is told of the node before any fabric.
    pub(super) base: Option<Value>,
    /// Whether its agent attaches pods.
    #[serde(default)]
    pub(super) cni: bool,
}

/// A workload: a machine behind a link of a node.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Station {
    /// The node.
    pub(super) node: String,
    /// The link of the node on which it stands.
    pub(super) link: String,
    /// The VLAN that its frames carry.
    pub(super) vlan: u16,
    /// Its addresses.
    pub(super) addresses: Vec<String>,
    /// Its default gateways.
    #[serde(default)]
    pub(super) gateways: Vec<String>,
    /// What BIRD in it is configured with; without it there is none.
    pub(super) bird: Option<String>,
}

/// Who merges policies into the desired state of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Mode {
    Centralized,
    Distributed,
}

/// `N-*.yaml`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Step {
    /// What is done, in order.
    #[serde(default, rename = "do")]
    pub(super) doing: Vec<Deed>,
    /// Seconds until everything below must be so.
    #[serde(default = "within")]
    pub(super) within: u64,
    /// What must become so.
    #[serde(default)]
    pub(super) then: Vec<Check>,
    /// What must be so all the time until then, and still when it is.
    #[serde(default)]
    pub(super) throughout: Vec<Check>,
    /// Values to be used as `$name` in later steps.
    #[serde(default)]
    pub(super) remember: BTreeMap<String, Place>,
    /// Makes the change again and again, there and back, and kills an agent each time at another place.
    pub(super) killed: Option<Killed>,
}

/// Whose agent dies, and how the host becomes again what it was.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Killed {
    pub(super) node: String,
    pub(super) back: Box<Step>,
    /// Links to which the kernel gives a hardware address of its own choice, each time another one.
    #[serde(default)]
    pub(super) address_by_chance: Vec<String>,
}

/// Something that is done.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) enum Deed {
    /// Creates or changes objects, as `netloom apply` does.
    Apply(Vec<Value>),
    /// The same, and the server must say no.
    Refused { objects: Vec<Value>, says: Vec<String> },
    /// Deletes an object, as `netloom delete` does.
    Delete(Named),
    /// The same, and the server must say no.
    DeleteRefused { kind: String, name: String, says: Vec<String> },
    /// Changes a host behind everybody's back.
    Ip { node: String, run: Vec<String> },
    /// The same for VLANs of the ports of a bridge.
    Bridge { node: String, run: Vec<String> },
    /// Takes note of everything that changes in the kernel of a host from now on.
    Watch(String),
    /// Counts the writes of objects of a kind from now on.
    Count(String),
    /// Makes a host that is there a node of the cluster.
    Join(String),
    /// Writes a kernel setting of a host, under `/proc/sys/net`; the kernel tells nobody.
    Setting { node: String, name: String, value: String },
    /// Pulls a wire out of the switch, or puts it in again.
    Wire { node: String, link: String, plugged: bool },
    /// Has the API server refuse the connections of agents for so many seconds; only where they reach it over wires.
    ApiAway { seconds: u64 },
    /// Writes a part of a status, whatever is true: with the identity of a node's agent, or as an administrator.
    Claim { node: Option<String>, kind: String, name: String, status: Value },
    /// Takes everything from a host that a kernel has, as a start of the machine does. No agent may run there.
    Reboot { node: String },
    /// Gives a host, on which no agent has run yet, the records that an agent of an earlier version left: a folder beside
    /// the steps.
    Inherit { node: String, from: String },
    /// Starts, stops or kills the agent of a node.
    Agent(AgentDeed),
    /// Starts or stops the controller.
    Controller(ControllerDeed),
    /// Runs `netloom client` once.
    Client(ClientDeed),
    /// Runs the program as an administrator, and looks at what it says.
    Run(RunDeed),
    /// Runs `netloom state` on a node with a document.
    State(StateDeed),
    /// Calls the plugin for a pod, as a runtime does.
    Cni(CniDeed),
    /// Starts a DHCP server on the switch, in the place of one that runs.
    Serve(Serve),
    /// Ends that server.
    ServeNobody {},
    /// Writes what another network manager says of a link while it runs; takes it away without a text. `INDEX` in the name of
    /// the file is that of the link.
    RunTime { node: String, link: String, file: String, text: Option<String> },
    /// Starts systemd-networkd on a node with these files, in the place of one that runs; without any, ends it.
    Networkd { node: String, files: BTreeMap<String, String> },
    /// Does something to a daemon of FRR on a node.
    Frr { node: String, daemon: String, what: FrrDeed },
    /// Sends a line to a daemon of FRR on a node, in blocks, as a person does by hand.
    FrrLine {
        node: String,
        daemon: String,
        #[serde(default)]
        within: Vec<String>,
        line: String,
    },
    /// Ends BIRD in a workload at once, or starts it again.
    Bird { station: String, what: BirdDeed },
    /// Counts from now on who is asked for on a link of a node.
    CountQueries { node: String, link: String },
    /// Sends an announcement of a neighbour to a link of a node.
    Announce { node: String, link: String, chassis: String, vlans: Vec<u16> },
}

/// What is done to a daemon.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum FrrDeed {
    /// It is ended at once.
    Kill,
    /// It is started again, with an empty configuration.
    Start,
    /// It does nothing any more, as one that is stuck.
    Pause,
    /// It goes on.
    Resume,
}

/// What is done to BIRD.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum BirdDeed {
    Kill,
    Start,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum AgentDeed {
    Start(String),
    /// Starts one that merges policies itself.
    StartDistributed(String),
    Stop(String),
    Kill(String),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RunDeed {
    /// Words after `netloom`; `$name` is what was remembered.
    pub(super) words: Vec<String>,
    /// Objects in a file that is given to it with `-f`.
    #[serde(default)]
    pub(super) objects: Vec<Value>,
    #[serde(default)]
    pub(super) exit: i32,
    /// Words that it must say.
    #[serde(default)]
    pub(super) says: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ControllerDeed {
    Start,
    Stop,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ClientDeed {
    /// Words after `netloom client`.
    pub(super) words: Vec<String>,
    /// The node that it runs on; none for a client that runs anywhere.
    pub(super) node: Option<String>,
    /// Whether the kernel lets it do nothing beyond what anybody may.
    #[serde(default)]
    pub(super) powerless: bool,
    /// Its exit status.
    pub(super) exit: i32,
    /// Words that it must print.
    #[serde(default)]
    pub(super) says: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StateDeed {
    pub(super) node: String,
    /// Words after `netloom state`; the document comes last.
    pub(super) words: Vec<String>,
    pub(super) document: Value,
    /// Its exit status.
    pub(super) exit: i32,
    /// Words that it must print.
    #[serde(default)]
    pub(super) says: Vec<String>,
}

/// An object.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Named {
    pub(super) kind: String,
    pub(super) name: String,
}

/// A value in an object, or of a link of a host.
#[derive(Debug, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub(super) enum Place {
    Object { kind: String, name: String, at: String },
    Link { node: String, link: String, at: String },
}

/// Something that must be so.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Check {
    /// Of an object.
    Object(ObjectCheck),
    /// Of a host, as `netloom state show` prints it.
    Host(HostCheck),
    /// Of what users were notified of.
    Event(EventCheck),
    /// Of packets between nodes.
    Ping(PingCheck),
    /// Of what the DHCP server reported and lent.
    Server(ServerCheck),
    /// Of when the first IPv4 address of a link ends: in so many seconds at least and at most.
    Ends(EndsCheck),
    /// Of one link, as `ip` shows it.
    Link(LinkCheck),
    /// Of the VLANs of a bridge or of its port, as `bridge` shows them.
    Vlans(VlansCheck),
    /// Of how often objects of a kind were written since somebody began to count.
    Writes(WritesCheck),
    /// Of how many objects of a kind there are.
    Objects(ObjectsCheck),
    /// Of a call of the plugin that may be repeated, such as `status`.
    Cni(CniDeed),
    /// Of how many containers are attached on a node, by the files of its agent.
    Attached(AttachedCheck),
    /// Of a kernel setting of a host, under `/proc/sys/net`.
    Setting(SettingCheck),
    /// Of what a daemon of FRR shows.
    Frr(FrrCheck),
    /// Of what BIRD in a workload shows.
    Bird(BirdCheck),
    /// Of how often somebody was asked for on a link since somebody began to count.
    Queries(QueriesCheck),
    /// That nothing changed in the kernel of a host since somebody began to take note of it.
    Untouched(String),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EndsCheck {
    pub(super) node: String,
    pub(super) link: String,
    pub(super) within: (u64, u64),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ObjectCheck {
    pub(super) kind: String,
    pub(super) name: String,
    /// Whether it must not be there.
    #[serde(default)]
    pub(super) gone: bool,
    /// Whether its status must be about what it says now.
    #[serde(default)]
    pub(super) observed: bool,
    /// A part that it must have.
    pub(super) has: Option<Value>,
    /// Parts that it must not have.
    #[serde(default)]
    pub(super) lacks: Vec<Value>,
    /// Words that must stand in it.
    #[serde(default)]
    pub(super) says: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HostCheck {
    pub(super) node: String,
    /// A part that it must have.
    pub(super) has: Option<Value>,
    /// Parts that it must not have.
    #[serde(default)]
    pub(super) lacks: Vec<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EventCheck {
    /// The name of the object; any by default.
    pub(super) about: Option<String>,
    pub(super) reason: String,
    #[serde(default)]
    pub(super) says: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PingCheck {
    pub(super) from: String,
    pub(super) to: String,
    /// Whether there must be no answer.
    #[serde(default)]
    pub(super) lost: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LinkCheck {
    pub(super) node: String,
    /// Any of its names.
    pub(super) link: String,
    /// Whether it must not be there.
    #[serde(default)]
    pub(super) gone: bool,
    /// A part that it must have.
    pub(super) has: Option<Value>,
    /// Parts that it must not have.
    #[serde(default)]
    pub(super) lacks: Vec<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct VlansCheck {
    pub(super) node: String,
    pub(super) link: String,
    /// All that it has, and no other.
    pub(super) are: Vec<u16>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SettingCheck {
    pub(super) node: String,
    pub(super) name: String,
    pub(super) is: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FrrCheck {
    pub(super) node: String,
    pub(super) daemon: String,
    /// A command that changes nothing.
    pub(super) show: String,
    /// Words that it must print.
    #[serde(default)]
    pub(super) says: Vec<String>,
    /// Words that it must not print.
    #[serde(default)]
    pub(super) lacks: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BirdCheck {
    pub(super) station: String,
    /// A command that changes nothing.
    pub(super) show: String,
    /// Words that it must print.
    #[serde(default)]
    pub(super) says: Vec<String>,
    /// Words that it must not print.
    #[serde(default)]
    pub(super) lacks: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct QueriesCheck {
    pub(super) node: String,
    pub(super) link: String,
    /// Who is asked for.
    pub(super) of: IpAddr,
    #[serde(default)]
    pub(super) least: usize,
    #[serde(default = "any_number")]
    pub(super) most: usize,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WritesCheck {
    pub(super) kind: String,
    pub(super) most: usize,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ObjectsCheck {
    pub(super) kind: String,
    pub(super) are: usize,
    /// A part that each of them must have.
    pub(super) have: Option<Value>,
}

const fn any_number() -> usize {
    usize::MAX
}

fn within() -> u64 {
    WITHIN
}

fn all_nodes() -> BTreeMap<String, Node> {
    let node = |name: &str| (name.to_owned(), Node { agent: Some(Mode::Centralized), ..Node::default() });
    ["n1", "n2", "n3"].map(node).into()
}

impl Story {
    /// Reads every story of a folder, sorted by name.
    pub(super) fn load_all(folder: &Path) -> Result<Vec<Self>, String> {
        let cannot = |error: std::io::Error| format!("{}: {error}", folder.display());
        let mut folders: Vec<PathBuf> =
            fs::read_dir(folder).map_err(cannot)?.flatten().map(|entry| entry.path()).collect();
        folders.sort();
        folders.iter().map(|folder| Self::load(folder)).collect()
    }

    fn load(folder: &Path) -> Result<Self, String> {
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let head = head_in(folder)?;
        let head = serde_json::from_value(head).map_err(|error| format!("{name}/story.yaml: {error}"))?;
        let mut numbered: Vec<(usize, String)> = Vec::new();
        for entry in fs::read_dir(folder).map_err(|error| format!("{name}: {error}"))?.flatten() {
            let file = entry.file_name().to_string_lossy().into_owned();
            if file == "story.yaml" || entry.path().is_dir() {
                continue;
            }
            let number =
                file.strip_suffix(".yaml").and_then(|name| name.split_once('-')).map(|(number, _)| number.parse());
            match number {
                Some(Ok(number)) => numbered.push((number, file)),
                Some(Err(_)) | None => return Err(format!("{name}/{file}: a step is called N-what.yaml")),
            }
        }
        numbered.sort();
        if numbered.is_empty() || numbered.iter().zip(1..).any(|((number, _), wanted)| *number != wanted) {
            return Err(format!("{name}: its steps must be numbered from 1 without a gap"));
        }
        let step = |(_, file): (usize, String)| Ok((file.clone(), read(&folder.join(file))?));
        let steps = numbered.into_iter().map(step).collect::<Result<_, String>>()?;
        Ok(Self { name, folder: folder.to_owned(), head, steps })
    }
}

/// The head of a story, with what it takes over from the one that it is like.
fn head_in(folder: &Path) -> Result<Value, String> {
    let mut head: Value = read(&folder.join("story.yaml"))?;
    let like = head.as_object_mut().and_then(|head| head.remove("like"));
    let Some(like) = like.as_ref().and_then(Value::as_str) else { return Ok(head) };
    let mut other = head_in(&folder.with_file_name(like))?;
    for part in TAKEN_OVER {
        if let Some(mut value) = other.get_mut(part).map(Value::take) {
            overlay(&mut value, head[part].take());
            head[part] = value;
        }
    }
    Ok(head)
}

/// Says the second over the first: fields of both are merged, and what is in the second alone counts.
fn overlay(under: &mut Value, over: Value) {
    match (under, over) {
        (_, Value::Null) => {}
        (Value::Object(under), Value::Object(over)) => {
            for (name, value) in over {
                overlay(under.entry(name).or_insert(Value::Null), value);
            }
        }
        (under, over) => *under = over,
    }
}

fn read<T: for<'de> Deserialize<'de>>(path: &Path) -> Result<T, String> {
    let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    // By way of JSON, in which a choice is an object with one field.
    let value = netloom_testkit::yaml::read(&text).map_err(|error| format!("{}: {error}", path.display()))?;
    serde_json::from_value(value).map_err(|error| format!("{}: {error}", path.display()))
}
