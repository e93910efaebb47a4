//! The CNI server of a node: the shell around the decisions of [`netloom_podnet`].
//!
//! ```text
//! plugin --socket--> calls (a thread each) --> Node: names, addresses, a record
//!                                          --> records: written before the first link is made
//!                                          --> links: made in the pod's namespace, or all taken back
//! API --watches--> Node --requests--> API
//! ```
//!
//! It is a lane of its own: nothing here waits for a transaction on the host, and a call waits for the API only where
//! the node does not know a pod, a network or an address yet.

mod calls;
mod follow;
mod links;
mod records;
mod server;

pub use server::{Options, Server, StartError};
