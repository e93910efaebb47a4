//! Node network state, group `nmstate.io`: what a node shall look like, what it looks like, and
//! policies from which the former can come.
//!
//! Both documents are in the format of `netloom state`; the schema keeps them as they are and
//! admission reads them with the same parser that the node uses.

mod document;
mod policy;
mod state;

pub use document::StateDocument;
pub use policy::{
    AutoConfig, InterfaceMatchRule, LldpMatch, NodeNetConfPolicy, NodeNetConfPolicySpec, NodeNetConfPolicyStatus,
};
pub use state::{Checkpoint, LastApplied, NextTry, NodeNetworkState, NodeNetworkStateSpec, NodeNetworkStateStatus};
