//! The controller: what runs once for a whole cluster.
//!
//! ```text
//! definitions ─► follow ─┬─► view ─► webhook            questions of API servers
//!                        └─► drive ─► carry ─► the API  what nodes are assigned
//!                              ▲
//!                  elect ──────┘                        only one of several controllers writes
//!               └─► addresses ─► carry ─► the API       blocks of addresses of nodes, beside the loop
//! ```
//!
//! Nothing here decides: what is asked of the API is decided in `netloom-controller-core`, who may ask in its `lease`,
//! and what a webhook answers in `netloom-api`.

mod addresses;
mod answer;
mod carry;
pub mod clock;
pub mod definitions;
pub mod drive;
mod duty;
pub mod elect;
pub mod follow;
pub mod health;
pub mod metrics;
pub mod process;
pub mod view;
pub mod webhook;
