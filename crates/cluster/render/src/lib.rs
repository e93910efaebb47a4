//! The fabric part of one node: what its `NodeNetworkConfig` and its base file become on the host.
//!
//! ```text
//! NodeNetworkConfig ─┐             ┌─ links with their addresses ─┐
//!                    ├─ render ────┼─ rules                       ├─ one transaction
//! base file ─────────┘             └─ lines of the routing daemon ┘
//! ```
//!
//! The crate is pure. It decides what shall be there, not in which order it comes: that is for the plan. Everything is a
//! function of the two inputs, so equal input gives equal output.
//! Each field has an effect or is refused in words.

mod base;
mod context;
mod digest;
mod error;
mod lines;
mod links;
mod names;
mod routing;
mod rules;
mod station;
mod tables;
mod value;

use netloom_api::pipeline::node_network_config::NodeNetworkConfigSpec;
use netloom_model::Origin;
use netloom_nmstate::{Interface, RouteEntry, RuleEntry};

pub use base::{Base, BaseError, BaseNeighbor, BaseVrf, HostNextHop, Peer, RemoteAsn, Source};
pub use error::RenderError;
pub use lines::Lines;
pub use value::RouteTarget;

use context::{Context, Made, Place};

/// What a configuration becomes on a node.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Rendered {
    /// Links with their addresses, and who asked for each.
    pub interfaces: Vec<(Interface, Origin)>,
    /// Routes of the node itself, and who asked for each.
    pub routes: Vec<(RouteEntry, Origin)>,
    /// Policy rules, and who asked for each.
    pub rules: Vec<(RuleEntry, Origin)>,
    /// The lines of the routing daemon, all of them ours.
    pub routing: Lines,
    /// What a person should know: where two fields ask for one thing and one of them has precedence.
    pub notes: Vec<String>,
}

/// Renders the fabric part of a configuration.
pub fn render(node: &str, config: &NodeNetworkConfigSpec, base: &Base) -> Result<Rendered, RenderError> {
    let cx = Context::new(node, config, base)?;
    let mut made = Made::default();
    let gateways = links::links(&cx, &mut made)?;
    for (path, name, vrf) in cx.vrfs() {
        rules::policies(&cx, &mut made, Place { name, path: &path }, &vrf.policy_routes, &gateways)?;
    }
    rules::end_of_vrfs(&cx, &mut made);
    routing::lines(&cx, &mut made)?;
    let Made { interfaces, routes, rules, lines, notes } = made;
    Ok(Rendered { interfaces, routes, rules, routing: lines, notes })
}
