//! Rules of pod networks: what DANM's webhook asks of networks, tenants' devices and interfaces.
//!
//! What a network must be in itself, the kinds' own module reads; here is what an update, the user and other objects
//! add to that.

mod danm_ep;
mod ip_block;
mod networks;
mod picture;
mod tenant_config;

pub(crate) use networks::BY_NETWORK;
