//! What the agent of one node does next.
//!
//! ```text
//! objects of the node ─┐
//! kept desired state (disk)  ───┼─► Desired state ─► Prepared ─► Transact ─► outcome ─┐
//! host changes, time ──┘               └────► Observe ─► report, drift ─► status, events
//! ```
//!
//! The crate is pure: objects, observations, outcomes and time come in as [`Event`]s, what shall be done
//! goes out as [`Effect`]s. Whoever runs it (the agent's process, a one-shot client, a simulation) carries
//! the effects out and tells what came of them. Equal events give equal effects.
//!
//! What holds:
//!
//! - One thing is done to the host at a time, and one set of requests is under way at the API; neither
//!   waits for the other, so a node that is cut off still keeps to its desired state.
//! - A revision is reported only after this agent has itself brought about, or found in place, exactly the desired
//!   state that the revision gave, in a transaction that ended well.
//! - A status is written only where it differs from what stands there.
//! - Nothing is remembered here that a restart would miss: what matters is in the objects, in the record on
//!   disk ([`Kept`]) and in the kernel.

mod agent;
mod api_requests;
mod api_writes;
mod attempt;
mod backoff;
mod beside_fabric;
mod bystanders;
mod combine;
mod companion;
mod condition;
mod configured;
mod cut_off;
mod desired_state;
mod document;
mod effect;
mod fabric;
mod failure;
mod ground;
mod guard;
mod host_config;
mod host_view;
mod kube_event;
mod lease_part;
mod leases;
mod leasing;
mod links;
mod listing;
mod neighbours;
mod objects;
mod others;
mod pace;
mod packet_size;
mod policy;
mod prepared;
mod report;
mod sessions;
mod settings;
mod status;
mod taint;
mod target;
mod terms;

pub use agent::Agent;
pub use companion::{CompanionNews, CompanionOrder};
pub use cut_off::cut_off;
pub use desired_state::{ConfigPart, DesiredState, Kept};
pub use effect::{AgentActions, Done, Effect, Event, HostChange, Standing};
pub use failure::{Failure, Reason};
pub use guard::guarded;
pub use leases::{Given, LeaseOrder, LeaseRequest, Leased, Leases, NameChoice, Others};
pub use leasing::problem;
pub use objects::{CONFIG, LINKS, NODE, POLICY, STATE, owner};
pub use prepared::{Prepared, prepare};
pub use report::{Heard, current_state};
pub use settings::{Drift, Mode, Settings};

/// The name under which agents own fields.
pub const MANAGER: &str = "netloom-agent";

/// The owner under which everything that an agent sets on a host is recorded there.
pub const OWNER: &str = "agent";
