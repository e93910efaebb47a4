//! What admission asks of the fabric's kinds: one file for each kind, and what they share.
//!
//! A rule is a function of the write and the view that adds to the findings. Rules that look at
//! other objects go through the indexes of `index`, so that their cost does not grow with the
//! number of objects. References are checked when they are made or changed, never again, so that no
//! old object stands in the way of a change to something else.

#[cfg(test)]
mod anything;
mod bgp_neighbor;
mod bgp_peering;
mod collector;
mod consumer;
#[cfg(test)]
mod cost;
mod destination;
mod generated;
mod inbound;
pub(crate) mod index;
mod items;
mod kind;
mod layer2_attachment;
mod layer2_network_configuration;
mod mirror_selector;
mod mirror_target;
pub(crate) mod names;
mod network;
mod outbound;
mod pod_network;
mod pool;
pub(crate) mod raw;
pub(crate) mod related;
mod scope;
mod selectors;
pub(crate) mod settings;
mod space;
#[cfg(test)]
pub(crate) mod table;
pub(crate) mod traffic;
mod traffic_mirror;
pub(crate) mod value;
mod vni;
mod vrf;
mod vrf_route_configuration;
