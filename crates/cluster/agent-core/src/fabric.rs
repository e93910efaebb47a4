//! The fabric part of a configuration as entries and lines of routing daemons.
//!
//! What it comes to follows from the configuration and from the base file of the node, which says what is there before
//! any fabric: without one, a configuration that has a fabric part is refused.

use std::collections::BTreeSet;

use netloom_api::pipeline::node_network_config::NodeNetworkConfigSpec;
use netloom_model::{DesiredRoutingLine, Origin, RoutingLine};
use netloom_render::{Base, Rendered, render};

use crate::{
    Failure, Reason,
    beside_fabric::Brought,
    document::{Entries, Entry},
    ground::Ground,
};

/// What a fabric brings beside entries.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fabric {
    /// Lines of routing daemons.
    pub(crate) routing: Vec<DesiredRoutingLine>,
    /// What of the entries is its own.
    pub(crate) brought: Brought,
    /// What must be there before it; none where there is no fabric.
    pub(crate) ground: Option<Ground>,
}

/// Adds the entries of a fabric to those of the configuration.
pub(crate) fn add(
    entries: &mut Entries,
    node: &str,
    spec: &NodeNetworkConfigSpec,
    base: Option<&Base>,
) -> Result<Fabric, Failure> {
    let refuse = |why: &str| Failure::new(Reason::InvalidDesiredState, format_args!("NodeNetworkConfig {node}: {why}"));
    let Some(base) = base else {
        return Err(refuse(
            "this agent knows no base of a fabric; start it with --base FILE and --frr DIR, or keep fabric networks off \
             this node",
        ));
    };
    let rendered = render(node, spec, base).map_err(|error| refuse(&error.to_string()))?;
    let Rendered { interfaces, routes, rules, routing, notes: _ } = rendered;
    let mut fabric = Fabric { ground: Some(Ground::of(node, spec, base)), ..Fabric::default() };
    for (interface, origin) in interfaces {
        if let Some(other) = entries.interfaces.iter().find(|entry| entry.value.name == interface.name) {
            let (name, other) = (interface.name, &other.origin);
            return Err(refuse(&format!("{origin} and {other} both ask for link {name}; rename one of them")));
        }
        fabric.brought.links.insert(interface.name);
        entries.interfaces.push(Entry::new(interface, origin));
    }
    let origins = routes.iter().map(|(_, origin)| origin).chain(rules.iter().map(|(_, origin)| origin));
    fabric.brought.origins.extend(origins.cloned());
    entries.routes.extend(routes.into_iter().map(|(route, origin)| Entry::new(route, origin)));
    entries.rules.extend(rules.into_iter().map(|(rule, origin)| Entry::new(rule, origin)));
    let of_base = Origin::new("base file", "", 0);
    let mut known = BTreeSet::new();
    for (context, text, origin) in routing.with_origins() {
        let origin = origin.unwrap_or(&of_base);
        let path: Vec<&str> = context.iter().map(String::as_str).chain([text]).collect();
        // The line of each block that it stands in is a line too.
        for end in 1..=path.len() {
            let (context, text) = (&path[..end - 1], path[end - 1]);
            let line = RoutingLine::new(context.iter().copied(), text);
            let line = line.map_err(|error| refuse(&format!("{origin}: {error}")))?;
            if known.insert(line.clone()) {
                fabric.routing.push(DesiredRoutingLine { line, origin: origin.clone() });
            }
        }
    }
    Ok(fabric)
}

/// The fabric part of a configuration alone; none where there is none.
pub(crate) fn part(spec: &NodeNetworkConfigSpec) -> Option<Box<NodeNetworkConfigSpec>> {
    let NodeNetworkConfigSpec {
        revision: _,
        digest: _,
        state_digest: _,
        attempt: _,
        host: _,
        layer2s,
        cluster_vrf,
        fabric_vrfs,
        local_vrfs,
    } = spec;
    let part = NodeNetworkConfigSpec {
        layer2s: layer2s.clone(),
        cluster_vrf: cluster_vrf.clone(),
        fabric_vrfs: fabric_vrfs.clone(),
        local_vrfs: local_vrfs.clone(),
        ..NodeNetworkConfigSpec::default()
    };
    (part != NodeNetworkConfigSpec::default()).then(|| Box::new(part))
}
