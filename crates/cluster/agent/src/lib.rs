//! The agent of one node as a process: the shell around the decisions of [`netloom_agent_core`].
//!
//! ```text
//! watches ──► events ──► Agent::take ──► Agent::decide ──► effects ──┬─► hands: kernel, journal, disk (a thread)
//! netlink ──────┤                                                  ├─► api: requests
//! companions ───┘                                                  └─► companions: ears, leases (a lane each)
//!
//! plugins ──► cni-server ──► pods, records, requests               beside all of it, where the agent was asked for it
//! ```
//!
//! Nothing is decided here. What an effect comes to goes back as an event, whatever it is. The kernel, the
//! journal and the files are on a thread of their own, so that a slow disk delays no watch; notifications of
//! the kernel are on another.

mod api;
mod api_address;
mod centralized;
mod clock;
mod companion;
mod file;
mod health;
mod heartbeat;
mod host_worker;
mod kinds;
mod lane;
mod leases;
mod lldp_listener;
mod machines;
mod managers;
mod metrics;
mod neighbours;
mod notices;
mod options;
mod outcome;
mod run;
mod serve;
mod sockets;
mod watches;

pub use centralized::{Merged, merge_all};
pub use netloom_api::pipeline::node_network_status::NodeLibvirt;
pub use netloom_machine::domain::{Refresh, plugin};
pub use options::{Machines, Options, PodNetworks, Task};
pub use run::{Ended, Error, run};
