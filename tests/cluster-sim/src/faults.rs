//! What goes wrong, and how often.

use netloom_agent_core::Mode;

use crate::{Micros, Process, Random, SECOND, Wanted};

/// How often things go wrong, in a thousand times each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Faults {
    /// A watch breaks at an event, and everything is listed again later.
    pub lost: u64,
    /// An event comes once more.
    pub repeated: u64,
    /// A request does not arrive, or its answer does not.
    pub unanswered: u64,
    /// Something takes long on its way.
    pub slow: u64,
    /// A list is an old one, followed by what has happened since.
    pub stale: u64,
    /// The kernel's word of a change is lost.
    pub unheard: u64,
    /// How far clocks are off at most.
    pub skew: Micros,
}

impl Faults {
    /// Everything goes wrong, more often than anywhere.
    pub fn all() -> Self {
        Self { lost: 30, repeated: 50, unanswered: 30, slow: 50, stale: 200, unheard: 100, skew: 5 * SECOND }
    }
}

/// Something that happens to a cluster from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Misfortune {
    /// A process is killed and comes back after so long.
    Kill(Process, Micros),
    /// The agent of a node starts again, and from then on merges policies itself or leaves that to the controller.
    Mode(usize, Mode),
    /// A process does not reach the server for so long.
    Cut(Process, Micros),
    /// The server is away for so long, and its machine refuses connections meanwhile.
    Away(Micros),
    /// A person changes the policy.
    Policy(Wanted),
    /// A person deletes the policy.
    NoPolicy,
    /// Somebody sets the MTU of a node's wire manually.
    Meddle(usize, u64),
    /// A node becomes ready or not.
    Ready(usize, bool),
    /// A person adds a link of a node's own in its network state.
    Manual(usize),
    /// Somebody labels a node's network state.
    Label(usize),
    /// Somebody adds a condition of his own to a node's network state.
    Condition(usize),
    /// Somebody deletes a node's network state.
    DeleteState(usize),
    /// A person wants a host network in a VLAN.
    HostNetwork(u16),
    /// So many host networks for all nodes come at once.
    HostNetworks(u16),
    /// A person gives one node another address in the first of them.
    Address(usize, std::net::Ipv4Addr),
    /// A person deletes the host network.
    NoHostNetwork,
    /// A node gets the label that another policy goes by, or loses it.
    Rack(usize, bool),
    /// A person stops the rollout, or releases it on.
    Pause(bool),
    /// A person holds all nodes to a revision that is there, or does not any more.
    Pin(bool),
    /// Everything works from now on.
    Calm,
}

/// Draws what happens to a cluster of so many controllers and nodes until `end`.
pub fn storm(random: &mut Random, controllers: usize, nodes: usize, end: Micros) -> Vec<(Micros, Misfortune)> {
    let mut all = vec![(random.between(0, SECOND), Misfortune::Policy(Wanted::Mtu(1401)))];
    for number in 0..random.between(5, 11) {
        let at = random.between(SECOND, end);
        let process = if random.chance(400) {
            Process::Controller(random.place(controllers))
        } else {
            Process::Agent(random.place(nodes))
        };
        let node = random.place(nodes);
        // Every desired state is another one, so that each is a revision of its own.
        let mtu = 1410 + number;
        all.push((
            at,
            match random.below(22) {
                0..=2 => Misfortune::Kill(process, random.between(SECOND / 10, 20 * SECOND)),
                3..=4 => Misfortune::Cut(process, random.between(SECOND / 2, 40 * SECOND)),
                5 => Misfortune::Cut(process, random.between(100 * SECOND, 200 * SECOND)),
                6..=7 => Misfortune::Policy(Wanted::Mtu(mtu)),
                8 => Misfortune::Policy(Wanted::Refused(mtu)),
                9 => Misfortune::Policy(Wanted::CutsPath(1300 + number)),
                10 => Misfortune::Meddle(node, 1300 + number),
                11 => Misfortune::Ready(node, random.chance(300)),
                12 => Misfortune::Manual(node),
                13 => {
                    if random.chance(500) {
                        Misfortune::Label(node)
                    } else {
                        Misfortune::Condition(node)
                    }
                }
                14 => Misfortune::Mode(node, if random.chance(700) { Mode::Distributed } else { Mode::Centralized }),
                15..=16 => {
                    if random.chance(700) {
                        Misfortune::HostNetwork(2000 + u16::from(random.chance(500)))
                    } else {
                        Misfortune::NoHostNetwork
                    }
                }
                17..=18 => Misfortune::Rack(node, random.chance(700)),
                19 => Misfortune::Pause(random.chance(700)),
                20 => Misfortune::Pin(random.chance(700)),
                _ => {
                    if random.chance(500) {
                        Misfortune::DeleteState(node)
                    } else {
                        Misfortune::NoPolicy
                    }
                }
            },
        ));
    }
    all.push((end, Misfortune::Calm));
    all.sort_by_key(|(at, _)| *at);
    all
}
