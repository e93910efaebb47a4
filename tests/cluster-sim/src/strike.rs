//! What happens to processes: they die at a step or at any time, come back, are cut off, and people do things
//! meanwhile.

use netloom_agent_core::Mode;
use serde_json::{Value, json};

use crate::{
    Cluster, Faults, Micros, Misfortune, Process, SECOND, Trouble, cluster::Happening, process::server_clock,
    safety::Foreign, story::target, users,
};

/// How far a process falls behind: less than it takes until others notice.
const BEHIND: Micros = 8 * SECOND;

impl Cluster {
    /// A process takes a step; gives nothing back when it dies over it, and then another takes over a second later.
    pub(crate) fn step<T>(&mut self, process: Process, carry_out: impl FnOnce(&mut Self) -> T) -> Option<T> {
        let step = self.steps;
        self.steps += 1;
        self.last_step = Some(process);
        self.last_is_renewal = false;
        let trouble = self.setup.stop.filter(|stop| stop.step == step).map(|stop| stop.trouble);
        if trouble.is_some() {
            self.last_stopped = Some(process);
        }
        if trouble == Some(Trouble::FallsBehind) {
            let until = self.now + BEHIND;
            self.shell_mut(process).streams.values_mut().for_each(|stream| stream.last = stream.last.max(until));
        }
        if trouble == Some(Trouble::DiesBefore) {
            self.kill(process, SECOND);
            return None;
        }
        self.unheard = trouble == Some(Trouble::Unheard);
        let done = carry_out(self);
        self.unheard = false;
        let past = trouble == Some(Trouble::DiesAndSeesThePast);
        if past || trouble == Some(Trouble::DiesAfter) {
            self.shell_mut(process).stale = past;
            self.kill(process, SECOND);
            return None;
        }
        Some(done)
    }

    fn kill(&mut self, process: Process, down: Micros) {
        self.note(format_args!("{process:?} dies"));
        let shell = self.shell_mut(process);
        if !shell.alive {
            return;
        }
        shell.alive = false;
        shell.life += 1;
        shell.wake = None;
        shell.streams.clear();
        shell.seen = 0;
        self.schedule(down, Happening::Restart(process));
    }

    pub(crate) fn restart(&mut self, process: Process) {
        if self.shell(process).alive {
            return;
        }
        self.note(format_args!("{process:?} starts"));
        self.shell_mut(process).alive = true;
        self.begin_life(process);
        self.decide(process);
    }

    pub(crate) fn struck(&mut self, misfortune: Misfortune) {
        self.note(format_args!("{misfortune:?}"));
        let now = server_clock(self.now);
        match misfortune {
            Misfortune::Kill(process, down) => self.kill(process, down),
            Misfortune::Mode(number, mode) => {
                self.nodes[number].mode = mode;
                self.kill(Process::Agent(number), SECOND);
            }
            Misfortune::Cut(process, time) => self.cut(process, time),
            Misfortune::Away(time) => {
                self.away_until = self.away_until.max(self.now + time);
                self.processes().into_iter().for_each(|process| self.cut(process, time));
            }
            Misfortune::Policy(wanted) => self.server.write(now, wanted.policy()),
            Misfortune::NoPolicy => {
                self.server.remove(now, &users::policy());
            }
            Misfortune::Meddle(number, mtu) => {
                self.nodes[number].host.meddle(crate::WIRE, mtu);
                self.host_changed(number, true);
            }
            Misfortune::Ready(number, ready) => self.says_ready(number, if ready { "True" } else { "Unknown" }),
            Misfortune::Manual(number) => self.by_somebody_else(number, Foreign::Manual, users::add_manual_link),
            Misfortune::Condition(number) => self.by_somebody_else(number, Foreign::Condition, users::add_condition),
            Misfortune::Label(number) => self.by_somebody_else(number, Foreign::Label, |state| {
                state["metadata"]["labels"]["touched"] = json!("yes");
            }),
            Misfortune::DeleteState(number) => {
                self.server.remove(now, &users::state_of(number));
            }
            Misfortune::HostNetwork(vlan) => self.write_all(users::host_network(vlan, self.nodes.len())),
            Misfortune::HostNetworks(networks) => self.write_all(users::host_networks(networks, self.nodes.len())),
            Misfortune::Address(number, address) => {
                if let Some(target) = target("HostNetworkConfig", users::FIRST_OF_MANY) {
                    let (node, address) = (users::name(number), format!("{address}/24"));
                    self.server.edit(now, &target, |network| network["spec"]["ips"][node] = json!(address));
                }
            }
            Misfortune::NoHostNetwork => {
                if let Some(target) = target("HostNetworkConfig", users::NETWORK) {
                    self.server.remove(now, &target);
                }
            }
            Misfortune::Rack(number, inside) => {
                self.server.write(now, users::racks());
                self.server.edit(now, &users::node_of(number), |node| {
                    node["metadata"]["labels"]["rack"] = json!(if inside { "a" } else { "b" });
                });
            }
            Misfortune::Pause(paused) => self.server.write(now, users::rollout(&json!({"paused": paused}))),
            Misfortune::Pin(pinned) => {
                let held = self.sound().filter(|_| pinned);
                let spec = held.map_or_else(|| json!({}), |name| json!({"pinnedRevision": name}));
                self.server.write(now, users::rollout(&spec));
            }
            Misfortune::Calm => self.calm(),
        }
        self.spread(None);
    }

    /// A process and the API server do not hear of each other for a time.
    fn write_all(&mut self, objects: impl IntoIterator<Item = Value>) {
        let now = server_clock(self.now);
        for object in objects {
            self.server.write(now, object);
        }
    }

    fn cut(&mut self, process: Process, time: Micros) {
        let until = self.now + time;
        let shell = self.shell_mut(process);
        shell.cut_until = shell.cut_until.max(until);
        shell.streams.values_mut().for_each(|stream| stream.open = false);
        self.schedule(time, Happening::Heal(process));
    }

    /// A kubelet says how its node is, or nobody hears of it any more.
    fn says_ready(&mut self, number: usize, status: &str) {
        self.server.edit(server_clock(self.now), &users::node_of(number), |node| {
            node["status"]["conditions"][0]["status"] = json!(status);
        });
    }

    /// Somebody adds something of his own to a network state, and it has to stay.
    fn by_somebody_else(&mut self, number: usize, what: Foreign, change: impl FnOnce(&mut Value)) {
        let target = users::state_of(number);
        if self.server.edit(server_clock(self.now), &target, change) {
            self.safety.keep(target, what);
        }
    }

    /// A revision that has not failed.
    fn sound(&mut self) -> Option<Value> {
        let all = self.server.list(users::REVISION).filter(|revision| revision["status"]["isInvalid"] != true);
        let names: Vec<Value> = all.map(|revision| revision["metadata"]["name"].clone()).collect();
        let place = self.random.place(names.len());
        names.get(place).cloned()
    }

    /// Everything works from now on.
    fn calm(&mut self) {
        self.faults = Faults::default();
        let now = self.now;
        for process in self.processes() {
            if self.shell(process).is_cut(now) {
                self.shell_mut(process).cut_until = now;
                self.schedule(0, Happening::Heal(process));
            }
            if !self.shell(process).alive {
                self.schedule(0, Happening::Restart(process));
            }
        }
        if self.server.list(users::ROLLOUT).next().is_some() {
            self.server.write(server_clock(now), users::rollout(&json!({})));
        }
        for number in 0..self.nodes.len() {
            if self.nodes[number].mode == Mode::Distributed {
                self.nodes[number].mode = Mode::Centralized;
                self.kill(Process::Agent(number), SECOND);
            }
            self.says_ready(number, "True");
        }
    }
}
