//! One story on its way: what is done in it, and what is looked at.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use netloom_model::EngineError;
use netloom_netlink::{
    Namespace,
    events::{EVENT_BUFFER, Notice, Watch, What},
    netns::Worker,
    socket::NetlinkError,
};
use netloom_testkit::{
    part::{filled, missing},
    seen::Seen,
};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

use super::{
    Ground, cni,
    dhcp::DhcpServer,
    managers::{self, Managers},
    queries::Queries,
    relay::{self, Relay},
    routers::Routers,
    site::{Count, Process, Site, tail},
    story::{
        AgentDeed, Check, ClientDeed, ControllerDeed, Deed, EndsCheck, EventCheck, HostCheck, LinkCheck, Mode, Node,
        ObjectCheck, ObjectsCheck, PingCheck, Place, QueriesCheck, RunDeed, SettingCheck, StateDeed, Story, VlansCheck,
        WritesCheck,
    },
    wires::{Wires, space},
};

/// After which silence a kernel is done with what was asked of it: addresses are checked for a second or two, and bonds
/// tell their peers.
const QUIET: Duration = Duration::from_secs(3);
/// The exit status of a request that the server refuses.
const REFUSED: i32 = 3;

/// One story on its way.
pub(super) struct Stage<'a> {
    site: &'a mut Site,
    folder: PathBuf,
    /// The folder with the files of the story.
    records: PathBuf,
    identities: BTreeMap<String, PathBuf>,
    // Before the hosts, so that agents end first.
    agents: BTreeMap<String, Process>,
    /// Further words for the agents of nodes.
    with: BTreeMap<String, Vec<String>>,
    relay: Option<Relay>,
    // Before the switch that it is on.
    server: DhcpServer,
    // Before the hosts too.
    managers: Managers,
    routers: Routers,
    /// Who was asked for, by node and link.
    queries: BTreeMap<(String, String), Queries>,
    /// Everything that changed in the kernels of hosts, and how they were before.
    watches: BTreeMap<String, (Worker<Watch>, Seen)>,
    /// How often objects of kinds are written.
    counts: BTreeMap<String, Count>,
    wires: Wires,
    nodes: &'a BTreeMap<String, Node>,
    /// The nodes of pods.
    pods: &'a BTreeMap<String, String>,
    remembered: BTreeMap<String, Value>,
}

impl<'a> Stage<'a> {
    /// Makes hosts and nodes, and starts the agents that run from the beginning.
    pub(super) fn set(site: &'a mut Site, ground: &dyn Ground, story: &'a Story) -> Result<Self, String> {
        let nodes = &story.head.nodes;
        let folder = site.folder.join("stories").join(&story.name);
        fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let names: Vec<String> = nodes.keys().cloned().collect();
        let wires = Wires::lay(&names, story.head.vlans.as_deref())?;
        let relay = if story.head.wired {
            Some(Relay::start(&site.runtime, &site.folder.join("admin.kubeconfig"))?)
        } else {
            None
        };
        let mut stage = Self {
            site,
            folder,
            records: story.folder.clone(),
            identities: BTreeMap::new(),
            agents: BTreeMap::new(),
            with: nodes.iter().map(|(name, node)| (name.clone(), node.with.clone())).collect(),
            relay,
            server: DhcpServer::default(),
            managers: Managers::default(),
            routers: Routers::new(story.head.newest_frr),
            queries: BTreeMap::new(),
            watches: BTreeMap::new(),
            counts: BTreeMap::new(),
            wires,
            nodes,
            pods: &story.head.pods,
            remembered: BTreeMap::new(),
        };
        let first: Vec<&str> = nodes.iter().filter(|(_, node)| !node.later).map(|(name, _)| name.as_str()).collect();
        stage.join(&first)?;
        for (name, node) in nodes {
            stage.prepare(ground, name, node)?;
        }
        for (name, station) in &story.head.stations {
            stage.wires.station(name, station)?;
            stage.routers.of_station(&stage.folder, name, station)?;
        }
        story.head.pods.keys().try_for_each(|pod| stage.wires.pod(pod))?;
        for (name, mode) in nodes.iter().filter_map(|(name, node)| Some((name, node.agent?))) {
            stage.start_agent(name, mode)?;
        }
        Ok(stage)
    }

    /// Makes hosts nodes of the cluster.
    fn join(&self, names: &[&str]) -> Result<(), String> {
        let object = |name: &&str| {
            let node = &self.nodes[*name];
            json!({
                "apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": node.labels},
                "spec": {"taints": node.taints},
            })
        };
        self.apply(&names.iter().map(object).collect::<Vec<_>>(), 0)?;
        for name in names {
            let ready = json!({"type": "Ready", "status": "True", "reason": "Story", "message": ""});
            self.site.patch_status_as(None, "Node", name, &json!({"conditions": [ready]}))?;
        }
        Ok(())
    }

    /// Brings a host into the state before the first step, with an identity for its agent.
    fn prepare(&mut self, ground: &dyn Ground, name: &str, node: &Node) -> Result<(), String> {
        install(name, node)?;
        self.routers.of_node(name, node)?;
        let mut identity = ground.identity(&self.site.folder, name)?;
        if let Some(relay) = &self.relay {
            let direct = std::mem::replace(&mut identity, self.folder.join(format!("{name}.kubeconfig")));
            relay.redirect(&direct, &identity)?;
        }
        self.identities.insert(name.to_owned(), identity);
        Ok(())
    }

    /// Takes the power of a host away and gives it again.
    fn reboot(&mut self, name: &str) -> Result<(), String> {
        let node = self.nodes.get(name).ok_or_else(|| format!("the story has no node {name}"))?;
        self.watches.remove(name);
        self.wires.reboot(name)?;
        install(name, node)
    }

    /// Takes note of changes from when the kernel has nothing more to say about earlier ones.
    fn watch(&mut self, node: &str) -> Result<(), String> {
        let failed = |error: NetlinkError| EngineError { doing: "watch".to_owned(), why: error.to_string() };
        let open = move || Watch::open(EVENT_BUFFER).map_err(failed);
        let worker = Worker::start(Namespace::Named(space(node)), open).map_err(|error| error.to_string())?;
        let settled = worker.run(|watch| {
            while !watch.settle(QUIET)?.is_empty() {}
            Ok::<(), NetlinkError>(())
        });
        settled.map_err(|error| error.to_string())?.map_err(|error| error.to_string())?;
        self.watches.insert(node.to_owned(), (worker, Seen::of(&space(node))?));
        Ok(())
    }

    /// Does something.
    pub(super) fn perform(&mut self, deed: &Deed) -> Result<(), String> {
        match deed {
            Deed::Apply(objects) => self.apply(objects, 0).map(drop),
            Deed::Refused { objects, says } => says_all(says, &self.apply(objects, REFUSED)?),
            Deed::Delete(named) => {
                ended(&mut self.site.command(&["delete", &named.kind.to_lowercase(), &named.name]), 0).map(drop)
            }
            Deed::DeleteRefused { kind, name, says } => {
                let printed = ended(&mut self.site.command(&["delete", &kind.to_lowercase(), name]), REFUSED)?;
                says_all(says, &printed)
            }
            Deed::Ip { node, run } => Wires::change(node, "ip", run),
            Deed::Bridge { node, run } => Wires::change(node, "bridge", run),
            Deed::Watch(node) => self.watch(node),
            Deed::Count(kind) => {
                self.counts.insert(kind.clone(), self.site.count(kind)?);
                Ok(())
            }
            Deed::Join(node) => self.join(&[node]),
            Deed::Setting { node, name, value } => Wires::setting(node, name, value),
            Deed::Wire { node, link, plugged } => Wires::wire(node, link, *plugged),
            Deed::ApiAway { seconds } => {
                let relay = self.relay.as_mut().ok_or("the agents of this story reach the API beside their wires")?;
                relay.go_away(&self.site.runtime, Duration::from_secs(*seconds));
                Ok(())
            }
            Deed::Reboot { node } if self.agents.contains_key(node) => Err(format!("an agent of {node} still runs")),
            Deed::Reboot { node } => self.reboot(node),
            Deed::Inherit { node, from } => {
                copied(&self.records.join(from), &self.folder.join(node).join("netns").join(space(node)))
            }
            Deed::Claim { node, kind, name, status } => {
                let identity = node.as_ref().map(|node| self.identity(node)).transpose()?;
                self.site.patch_status_as(identity, kind, name, &filled(status, &self.remembered)?)
            }
            Deed::Controller(deed) => self.site.control(*deed == ControllerDeed::Start),
            Deed::Agent(AgentDeed::Start(node)) => self.start_agent(node, Mode::Centralized),
            Deed::Agent(AgentDeed::StartDistributed(node)) => self.start_agent(node, Mode::Distributed),
            Deed::Agent(AgentDeed::Stop(node)) => match self.end_agent(node, Signal::SIGTERM)? {
                Some(0) => Ok(()),
                other => Err(format!("the agent of {node} did not end well: {other:?}")),
            },
            Deed::Agent(AgentDeed::Kill(node)) => self.end_agent(node, Signal::SIGKILL).map(drop),
            Deed::Client(client) => self.client(client),
            Deed::Run(run) => self.run(run),
            Deed::State(state) => self.state(state),
            Deed::Cni(deed) => says_all(&deed.says, &ended(&mut self.call(deed)?, deed.exit)?),
            Deed::Serve(serve) => self.server.start(&self.folder, serve),
            Deed::ServeNobody {} => self.server.end(),
            Deed::RunTime { node, link, file, text } => Managers::say(&self.folder, node, link, file, text.as_deref()),
            Deed::Networkd { node, files } => self.managers.networkd(&self.folder, node, files),
            Deed::Frr { node, daemon, what } => self.routers.frr_deed(node, daemon, *what),
            Deed::FrrLine { node, daemon, within, line } => self.routers.frr_line(node, daemon, within, line),
            Deed::Bird { station, what } => self.routers.bird_deed(station, *what),
            Deed::CountQueries { node, link } => {
                self.queries.insert((node.clone(), link.clone()), Queries::listen(node, link)?);
                Ok(())
            }
            Deed::Announce { node, link, chassis, vlans } => Wires::announce(node, link, chassis, vlans),
        }
    }

    fn apply(&self, objects: &[Value], status: i32) -> Result<String, String> {
        ended(self.site.command(&["apply", "--force-conflicts", "-f"]).arg(self.file(objects)?), status)
    }

    fn run(&self, deed: &RunDeed) -> Result<(), String> {
        let RunDeed { words, objects, exit, says } = deed;
        let words = words.iter().map(|word| self.named(word)).collect::<Result<Vec<String>, String>>()?;
        let mut command = self.site.command(&words.iter().map(String::as_str).collect::<Vec<_>>());
        if !objects.is_empty() {
            command.arg("-f").arg(self.file(objects)?);
        }
        says_all(says, &ended(&mut command, *exit)?)
    }

    /// A word, or what was remembered under it.
    fn named(&self, word: &str) -> Result<String, String> {
        let filled = filled(&Value::from(word), &self.remembered)?;
        Ok(filled.as_str().map_or_else(|| filled.to_string(), str::to_owned))
    }

    fn file(&self, objects: &[Value]) -> Result<std::path::PathBuf, String> {
        let file = self.folder.join("apply.yaml");
        // JSON is YAML too.
        let text = objects.iter().map(|object| Ok(filled(object, &self.remembered)?.to_string()));
        let text = text.collect::<Result<Vec<String>, String>>()?.join("\n---\n");
        fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))?;
        Ok(file)
    }

    fn start_agent(&mut self, node: &str, mode: Mode) -> Result<(), String> {
        let mode = match mode {
            Mode::Centralized => "centralized",
            Mode::Distributed => "distributed",
        };
        let mut command = self.on_node(node, &["agent", "--mode", mode], "--node")?;
        command.args(self.with.get(node).into_iter().flatten());
        if let Some(sockets) = self.routers.sockets(node) {
            command.arg("--frr").arg(sockets);
        }
        if let Some(base) = self.nodes.get(node).and_then(|node| node.base.as_ref()) {
            let file = self.folder.join(format!("{node}.base"));
            fs::write(&file, base.to_string()).map_err(|error| format!("{}: {error}", file.display()))?;
            command.arg("--base").arg(file);
        }
        if self.nodes.get(node).is_some_and(|node| node.cni) {
            command.arg("--cni-socket").arg(cni::socket(&self.folder, node)?);
        }
        let process = Process::start(command.env("NETLOOM_LOG", "info"), &self.log(node))?;
        self.agents.insert(node.to_owned(), process);
        Ok(())
    }

    /// Starts the agent of a node as the story began with it.
    pub(super) fn start_agent_again(&mut self, node: &str) -> Result<(), String> {
        self.start_agent(node, self.nodes.get(node).and_then(|node| node.agent).unwrap_or(Mode::Centralized))
    }

    /// The same, but nobody answers where it looks for the API.
    pub(super) fn start_agent_cut_off(&mut self, node: &str) -> Result<(), String> {
        let nowhere = self.folder.join("nowhere.kubeconfig");
        relay::lead_nowhere(self.identity(node)?, &nowhere)?;
        let identity = self.identities.insert(node.to_owned(), nowhere);
        let started = self.start_agent_again(node);
        self.identities.extend(identity.map(|identity| (node.to_owned(), identity)));
        started
    }

    /// What the routing daemons of a node run with.
    pub(super) fn running(&self, node: &str) -> Result<BTreeSet<String>, String> {
        self.routers.running(node)
    }

    /// The process that is the agent of a node.
    pub(super) fn agent(&self, node: &str) -> Result<u32, String> {
        self.agents.get(node).map(Process::id).ok_or_else(|| format!("no agent of {node} runs"))
    }

    /// Whether the agent of a node has died, or was never there.
    pub(super) fn has_died(&mut self, node: &str) -> Result<bool, String> {
        self.agents.get_mut(node).map_or(Ok(true), Process::has_ended)
    }

    /// Where the agent of a node has its records.
    pub(super) fn records_of(&self, node: &str) -> PathBuf {
        self.folder.join(node)
    }

    /// Where somebody writes down what the agent of a node does.
    pub(super) fn trace(&self, node: &str) -> PathBuf {
        self.folder.join(format!("{node}.trace"))
    }

    pub(super) fn end_agent(&mut self, node: &str, signal: Signal) -> Result<Option<i32>, String> {
        let agent = self.agents.remove(node).ok_or_else(|| format!("no agent of {node} runs"))?;
        agent.end(signal)
    }

    fn wrong_queries(&self, check: &QueriesCheck) -> Result<Option<String>, String> {
        let QueriesCheck { node, link, of, least, most } = check;
        let counts = self.queries.get(&(node.clone(), link.clone()));
        let found = counts.ok_or_else(|| format!("nobody counts queries on {link} of {node}"))?.of(*of)?;
        let fits = (*least..=*most).contains(&found);
        Ok((!fits).then(|| format!("{found} queries for {of} on {link} of {node}")))
    }

    fn client(&self, client: &ClientDeed) -> Result<(), String> {
        let words: Vec<&str> = ["client"].into_iter().chain(client.words.iter().map(String::as_str)).collect();
        let mut command = match &client.node {
            Some(node) => self.on_node(node, &words, "--host")?,
            None => self.site.command(&words),
        };
        if client.powerless {
            command = without_powers(&command);
        }
        let printed = ended(&mut command, client.exit)?;
        says_all(&client.says, &printed)
    }

    fn state(&self, state: &StateDeed) -> Result<(), String> {
        let StateDeed { node, words, document, exit, says } = state;
        let file = self.folder.join("state.yaml");
        // JSON is YAML too.
        fs::write(&file, document.to_string()).map_err(|error| format!("{}: {error}", file.display()))?;
        let mut command = Command::new(&self.site.netloom);
        command.arg("state").args(words).arg(&file).args(["--netns", &space(node), "--state-dir"]);
        command.arg(self.folder.join(node)).env("NETLOOM_RUN_DIR", managers::run_dir(&self.folder, node));
        says_all(says, &ended(&mut command, *exit)?)
    }

    fn identity(&self, node: &str) -> Result<&Path, String> {
        self.identities.get(node).map(PathBuf::as_path).ok_or_else(|| format!("the story has no node {node}"))
    }

    fn on_node(&self, node: &str, words: &[&str], name: &str) -> Result<Command, String> {
        let identity = self.identity(node)?;
        let space = space(node);
        let mut command = if self.relay.is_some() {
            let mut command = Command::new("ip");
            command.args(["netns", "exec", &space]).arg(&self.site.netloom).args(words);
            command
        } else {
            let mut command = Command::new(&self.site.netloom);
            command.args(words).args(["--netns", &space]);
            command
        };
        command.env("NETLOOM_RUN_DIR", managers::run_dir(&self.folder, node));
        command.args([name, node, "--kubeconfig"]).arg(identity).arg("--state-dir").arg(self.folder.join(node));
        Ok(command)
    }

    fn log(&self, node: &str) -> PathBuf {
        self.folder.join(format!("{node}.log"))
    }

    /// Keeps a value for later steps.
    pub(super) fn remember(&mut self, name: &str, place: &Place) -> Result<(), String> {
        let (whole, at, called) = match place {
            Place::Object { kind, name, at } => (self.site.get(kind, name)?, at, format!("{kind} {name}")),
            Place::Link { node, link, at } => (shown_link(node, link)?, at, format!("{link} of {node}")),
        };
        let value = whole.as_ref().and_then(|whole| whole.pointer(at));
        let value = value.ok_or_else(|| format!("there is no {at} in {called}"))?;
        self.remembered.insert(name.to_owned(), value.clone());
        Ok(())
    }

    /// Why something is not so; none when it is.
    pub(super) fn wrong(&self, check: &Check) -> Result<Option<String>, String> {
        match check {
            Check::Object(check) => self.wrong_object(check),
            Check::Host(check) => self.wrong_host(check),
            Check::Event(check) => self.wrong_event(check),
            Check::Server(check) => Ok(check.wrong(&self.folder)),
            Check::Ends(EndsCheck { node, link, within }) => {
                let left = Wires::left(node, link)?;
                let fits = left.is_some_and(|left| (within.0..=within.1).contains(&left));
                Ok((!fits).then(|| format!("the address of {link} on {node} ends in {left:?} seconds")))
            }
            Check::Ping(PingCheck { from, to, lost }) => {
                let to = self.named(to)?;
                let answered = Wires::ping(from, &to)?;
                Ok((answered == *lost).then(|| format!("ping {to} from {from}: answered is {answered}")))
            }
            Check::Link(check) => self.wrong_link(check),
            Check::Vlans(check) => wrong_vlans(check),
            Check::Setting(SettingCheck { node, name, is }) => {
                let found = Wires::setting_of(node, name)?;
                Ok((found != *is).then(|| format!("{name} of {node} is {found}, not {is}")))
            }
            Check::Frr(check) => self.routers.wrong_frr(check),
            Check::Bird(check) => self.routers.wrong_bird(check),
            Check::Queries(check) => self.wrong_queries(check),
            Check::Untouched(node) => self.wrong_quiet(node),
            Check::Cni(deed) => {
                let called = ended(&mut self.call(deed)?, deed.exit);
                Ok(called.and_then(|printed| says_all(&deed.says, &printed)).err())
            }
            Check::Attached(check) => check.wrong(&self.folder),
            Check::Objects(check) => self.wrong_objects(check),
            Check::Writes(WritesCheck { kind, most }) => {
                let count =
                    self.counts.get(kind).ok_or_else(|| format!("nobody counts how often a {kind} is written"))?;
                let found = count.so_far()?;
                Ok((found > *most).then(|| format!("a {kind} was written {found} times, not at most {most}")))
            }
        }
    }

    fn wrong_object(&self, check: &ObjectCheck) -> Result<Option<String>, String> {
        let ObjectCheck { kind, name, gone, observed, has, lacks, says } = check;
        let (called, name) = (format!("{kind} {name}"), self.named(name)?);
        let Some(object) = self.site.get(kind, &name)? else {
            return Ok((!gone).then(|| format!("{called}: it is not there")));
        };
        if *gone {
            return Ok(Some(format!("{called}: it is there")));
        }
        let (generation, seen) = (&object["metadata"]["generation"], &object["status"]["observedGeneration"]);
        if *observed && generation != seen {
            return Ok(Some(format!("{called}: generation {generation} is not observed yet, only {seen}")));
        }
        let text = object.to_string();
        let unspecified = says.iter().find(|word| !text.contains(word.as_str()));
        let unspecified =
            unspecified.map(|word| format!("it does not say {word:?}: {}", object["status"]["conditions"]));
        let wrong = self.wrong_parts(has.as_ref(), lacks, &object)?.or(unspecified);
        Ok(wrong.map(|why| format!("{called}: {why}\nits status is {}", object["status"])))
    }

    fn wrong_objects(&self, check: &ObjectsCheck) -> Result<Option<String>, String> {
        let ObjectsCheck { kind, are, have } = check;
        let found = self.site.list(kind)?;
        if found.len() != *are {
            let names: Vec<_> = found.iter().map(|object| object["metadata"]["name"].to_string()).collect();
            return Ok(Some(format!("there are {} of {kind}, not {are}: {}", found.len(), names.join(", "))));
        }
        for object in &found {
            if let Some(why) = self.wrong_parts(have.as_ref(), &[], object)? {
                return Ok(Some(format!("{kind} {}: {why}", object["metadata"]["name"])));
            }
        }
        Ok(None)
    }

    /// What a runtime runs.
    fn call(&self, deed: &cni::CniDeed) -> Result<Command, String> {
        let node = self.pods.get(&deed.pod).ok_or_else(|| format!("the story has no pod {}", deed.pod))?;
        cni::call(&self.site.netloom, &self.folder, node, deed)
    }

    fn wrong_host(&self, check: &HostCheck) -> Result<Option<String>, String> {
        let HostCheck { node, has, lacks } = check;
        let mut command = Command::new(&self.site.netloom);
        command.args(["state", "show", "-o", "json", "--netns", &space(node), "--state-dir"]);
        let shown = ended(command.arg(self.folder.join(node)), 0)?;
        // Behind the document there may be remarks.
        let first = serde_json::Deserializer::from_str(&shown).into_iter::<Value>().next();
        let host =
            first.ok_or("state show printed nothing")?.map_err(|error| format!("state show: {error}\n{shown}"))?;
        Ok(self.wrong_parts(has.as_ref(), lacks, &host)?.map(|why| format!("the host {node}: {why}")))
    }

    fn wrong_link(&self, check: &LinkCheck) -> Result<Option<String>, String> {
        let LinkCheck { node, link, gone, has, lacks } = check;
        let wrong = match (shown_link(node, link)?, *gone) {
            (None, true) => None,
            (None, false) => Some("it is not there".to_owned()),
            (Some(_), true) => Some("it is there".to_owned()),
            (Some(shown), false) => self.wrong_parts(has.as_ref(), lacks, &shown)?,
        };
        Ok(wrong.map(|why| format!("{link} of {node}: {why}")))
    }

    fn wrong_quiet(&self, node: &str) -> Result<Option<String>, String> {
        let watched = self.watches.get(node);
        let (worker, before) = watched.ok_or_else(|| format!("nobody takes note of what changes in {node}"))?;
        let heard = worker.run(|watch| {
            let mut links = false;
            while let Some(notice) = watch.next(Duration::ZERO)? {
                match meaning(&notice) {
                    Meaning::Touched => return Ok((links, Some(notice))),
                    Meaning::LookAgain => links = true,
                    Meaning::Traffic => {}
                }
            }
            Ok::<_, NetlinkError>((links, None))
        });
        let (links, touched) = heard.map_err(|error| error.to_string())?.map_err(|error| error.to_string())?;
        let changed = if links { before.differences(&Seen::of(&space(node))?) } else { Vec::new() };
        let why = touched.map(|notice| format!("{notice:?}")).or_else(|| changed.into_iter().next());
        Ok(why.map(|why| format!("the host {node} was touched: {why}")))
    }

    fn wrong_parts(&self, has: Option<&Value>, lacks: &[Value], whole: &Value) -> Result<Option<String>, String> {
        if let Some(part) = has
            && let Some(why) = missing(&filled(part, &self.remembered)?, whole)
        {
            return Ok(Some(why));
        }
        for part in lacks {
            let part = filled(part, &self.remembered)?;
            if missing(&part, whole).is_none() {
                return Ok(Some(format!("it has {part}")));
            }
        }
        Ok(None)
    }

    fn wrong_event(&self, check: &EventCheck) -> Result<Option<String>, String> {
        let EventCheck { about, reason, says } = check;
        let events = self.site.list("Event")?;
        let fits = |event: &&Value| {
            let note = event["note"].as_str().unwrap_or_default();
            about.as_ref().is_none_or(|about| event["regarding"]["name"] == **about)
                && event["reason"] == **reason
                && says.iter().all(|word| note.contains(word.as_str()))
        };
        if events.iter().any(|event| fits(&event)) {
            return Ok(None);
        }
        let reported: Vec<String> =
            events.iter().map(|event| format!("{}: {}", event["reason"], event["note"])).collect();
        Ok(Some(format!("no event {reason} about {about:?}; there are: {}", reported.join("; "))))
    }

    /// What the agents reported last, for the reader of a failure.
    pub(super) fn logs(&self) -> String {
        let nodes = self.identities.keys().map(|node| (node.as_str(), self.log(node)));
        let controller = ("controller", self.site.folder.join("controller.log"));
        let shown = nodes
            .chain([controller])
            .map(|(who, log)| format!("\n-- {who}\n{}{}", tail(&log), self.routers.report(who)));
        shown.collect()
    }
}

/// Does to a host what somebody did to it before the first step.
fn install(name: &str, node: &Node) -> Result<(), String> {
    Wires::change(name, "ip", &node.ip)?;
    Wires::change(name, "bridge", &node.bridge)
}

/// Copies the files of a folder into one that is made for them.
fn copied(from: &Path, to: &Path) -> Result<(), String> {
    let cannot = |error: std::io::Error| format!("copy {} to {}: {error}", from.display(), to.display());
    fs::create_dir_all(to).map_err(cannot)?;
    for entry in fs::read_dir(from).map_err(cannot)? {
        let entry = entry.map_err(cannot)?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if source.is_dir() {
            copied(&source, &target)?;
        } else {
            fs::copy(&source, &target).map_err(cannot)?;
        }
    }
    Ok(())
}

/// What a notice of the kernel tells of somebody's hand.
enum Meaning {
    /// Somebody changed something.
    Touched,
    /// The kernel tells of links also when nothing of them has changed, such as when a bond speaks to its peers.
    LookAgain,
    /// Bridges and neighbours learn all the time.
    Traffic,
}

fn meaning(notice: &Notice) -> Meaning {
    match notice {
        Notice::Overrun => Meaning::Touched,
        Notice::Change(change) => match change.what {
            What::Link => Meaning::LookAgain,
            What::Address(_) | What::Route(_) | What::Rule(_) | What::Queue => Meaning::Touched,
            What::Neighbour(_) | What::Forwarding => Meaning::Traffic,
        },
    }
}

fn shown_link(node: &str, link: &str) -> Result<Option<Value>, String> {
    Wires::shown(node, "ip", &["address", "show", "dev", link])
}

fn wrong_vlans(check: &VlansCheck) -> Result<Option<String>, String> {
    let VlansCheck { node, link, are } = check;
    let shown = Wires::shown(node, "bridge", &["vlan", "show", "dev", link])?.unwrap_or_default();
    let number = |value: &Value| value.as_u64().and_then(|number| u16::try_from(number).ok());
    let ranges = shown["vlans"].as_array().into_iter().flatten().filter_map(|entry| {
        let first = number(&entry["vlan"])?;
        Some(first..=number(&entry["vlanEnd"]).unwrap_or(first))
    });
    let found: Vec<u16> = ranges.flatten().collect();
    Ok((found != *are).then(|| format!("{link} of {node} has the VLANs {found:?}, not {are:?}")))
}

fn says_all(words: &[String], printed: &str) -> Result<(), String> {
    match words.iter().find(|word| !printed.contains(word.as_str())) {
        Some(word) => Err(format!("it does not say {word:?}: {printed}")),
        None => Ok(()),
    }
}

/// The same command, but the kernel grants it none of the rights that root has.
fn without_powers(command: &Command) -> Command {
    let mut powerless = Command::new("setpriv");
    powerless.args(["--bounding-set=-all", "--inh-caps=-all", "--no-new-privs"]).arg(command.get_program());
    powerless.args(command.get_args());
    powerless.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    powerless
}

/// Runs a command that must end with this status, and gives what it reported: its data first, then remarks.
fn ended(command: &mut Command, status: i32) -> Result<String, String> {
    let done = command.output().map_err(|error| format!("{}: {error}", command.get_program().display()))?;
    let printed = [done.stdout, done.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    if done.status.code() == Some(status) {
        return Ok(printed);
    }
    let program = Path::new(command.get_program()).file_name().unwrap_or_default().to_string_lossy().into_owned();
    let words: Vec<_> = command.get_args().map(|word| word.to_string_lossy().into_owned()).collect();
    Err(format!("{program} {}: {}, not {status}: {printed}", words.join(" "), done.status))
}
