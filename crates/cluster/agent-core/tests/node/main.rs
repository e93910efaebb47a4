//! The agent on a simulated host, with an API server as far as its requests go.
#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

mod crashes;
mod cut_off;
mod drift;
mod leases;
mod links;
mod model;
mod old_kernel;
mod policies;
mod revisions;
mod shared_ports;
mod stories;
