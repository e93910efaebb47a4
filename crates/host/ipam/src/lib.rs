//! Who has which address, and which VLAN or VXLAN number a network has.
//!
//! Addresses of a pool go to nodes in blocks ([`share`]), so that a node gives them to pods without asking anybody
//! ([`Block`]). What a pool consists of is a [`Pool`]; sets of numbers, which may be as large as an IPv6 network, are
//! [`Numbers`]. [`Bitmask`] is the picture of used addresses that DANM keeps in its objects.
//!
//! Invariant: an address that one node may give out is not in the block of another. The crate knows no objects, no
//! clock and no pods; a user of an address is whatever type the caller has for it.

mod bitmask;
mod block;
mod numbers;
mod pool;
mod share;
mod vni;

pub use bitmask::{BadBitmask, Bitmask};
pub use block::{Block, Taken};
pub use numbers::{BadRange, Numbers, address, number};
pub use pool::{BadPool, DEFAULT_V6_LEN, Pool, default_v6_pool};
pub use share::{Given, Holding, share};
pub use vni::{BadVniRange, VniKind, VniRange};
