//! The controller: what runs once for a whole cluster.
//!
//! For now it is the admission webhook: [`view`] keeps what the rules look at in memory, [`webhook`]
//! answers a cluster's questions from it. The rules themselves are in `netloom-api`; nothing here
//! decides.

pub mod view;
pub mod webhook;
