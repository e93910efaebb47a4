//! Whether a host already shows what a step would make. Pure.

use netloom_model::{Observed, Step, Target};

/// Whether `observed` has exactly what an adding step would add, or a file step would write.
///
/// Steps that neither add nor write a file never meet something in their place, so for them the
/// answer is no.
pub(crate) fn shows(observed: &Observed, step: &Step) -> bool {
    let link = step.link().and_then(|name| observed.links.get(&name));
    match step {
        Step::CreateLink { kind, attrs, controller, up, .. } => link.is_some_and(|link| {
            link.kind == *kind
                && link.up == *up
                && link.controller == *controller
                && attrs.unmet_by(&link.attrs).is_empty()
        }),
        Step::AddAltName { alt_name, .. } => link.is_some_and(|link| link.alt_names.contains(alt_name)),
        Step::AddAddress { address, .. } => link.is_some_and(|link| link.addresses.contains(address)),
        Step::AddFdb { key, entry, .. } => link.is_some_and(|link| link.fdb.get(key) == Some(entry)),
        Step::AddNeighbour { neighbour, .. } => link.is_some_and(|link| link.neighbours.contains(neighbour)),
        Step::AddMirror { key, mirror, .. } => link.is_some_and(|link| link.mirrors.get(key) == Some(mirror)),
        Step::AddRoute(route) => observed.routes.get(&route.key()) == Some(route),
        Step::AddRule(rule) => observed.rules.get(&rule.key) == Some(&rule.protocol),
        Step::SetResolver(resolver) => observed.resolver == *resolver,
        Step::SetHostnameConfig(name) => observed.hostname_config == *name,
        Step::DeleteLink { .. }
        | Step::SetAttrs { .. }
        | Step::SetUp { .. }
        | Step::SetController { .. }
        | Step::SetAlias { .. }
        | Step::RemoveAltName { .. }
        | Step::SetFeatures { .. }
        | Step::RemoveAddress { .. }
        | Step::SetVlans { .. }
        | Step::RemoveFdb { .. }
        | Step::RemoveNeighbour { .. }
        | Step::RemoveMirror { .. }
        | Step::ReplaceRoute(_)
        | Step::RemoveRoute(_)
        | Step::RemoveRule(_)
        | Step::SetHostnameRunning(_) => false,
    }
}

/// Takes the object that a step wanted to add out of what an undo restores, when it was absent
/// before: somebody else made it meanwhile, and an undo must not take it away.
pub(crate) fn forget(before: &mut Target, step: &Step) {
    match step {
        Step::CreateLink { name, .. } if matches!(before.links.get(name), Some(None)) => {
            before.links.remove(name);
        }
        Step::AddRoute(route) if matches!(before.routes.get(&route.key()), Some(None)) => {
            before.routes.remove(&route.key());
        }
        Step::AddRule(rule) if matches!(before.rules.get(&rule.key), Some(None)) => {
            before.rules.remove(&rule.key);
        }
        // What stands on a link is restored with the link as a whole.
        _ => {}
    }
}
