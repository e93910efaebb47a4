//! What the controller does next.
//!
//! ```text
//! watch events, answers --> Index --compile--> candidate, desired states --rollout--> assignments, statuses
//!                                                                      '--> Turn: requests, next look
//! ```
//!
//! The crate is pure: events and time come in as values, requests go out as values. Whoever runs it (the
//! controller process, a simulation) carries the requests out and tells the answers. Equal events give
//! equal requests.
//!
//! What holds:
//!
//! - Nothing is asked for before every kind was listed, nor by one who does not lead.
//! - There is one turn at a time: no decision is made on a picture in which the last one is half carried out.
//! - A write is asked for only where the object differs, and is tied to the version that was looked at.
//! - Nothing is remembered here that a restart would miss: what matters is in the objects.
//!
//! Who leads is decided beside it, in [`lease`].

mod answers;
mod assign;
mod bearing;
mod controller;
mod fabric;
mod front_end;
mod generated;
mod index;
mod kept;
mod kinds;
pub mod lease;
mod machines;
mod networks;
mod parts;
mod plain;
mod policies;
mod removals;
mod rollout_view;
mod sightings;
mod signs;
mod status;
mod work;
mod write_backoff;

pub use controller::{Controller, ControllerActions, Leadership, Settings};
pub use generated::GENERATED_BY;
pub use index::Index;
pub use kinds::Kinds;
pub use networks::{HOST_NETWORK_FINALIZER, NODE_LOST, ROLLOUT_STOPPED, UPLINK_FINALIZER};

/// The name under which the controller owns fields.
pub const MANAGER: &str = "netloom-controller";
