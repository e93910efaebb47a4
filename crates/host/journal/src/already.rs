//! Whether a host already shows what a step would make. Pure.

use std::collections::HashMap;

use netloom_model::{Alias, Observed, PlannedStep, Step, Target};
use netloom_types::IfName;

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
        Step::AddAddress { address, .. } => {
            link.is_some_and(|link| link.addresses.contains(&observed.kernel.kept(*address)))
        }
        Step::AddFdb { key, entry, .. } => link.is_some_and(|link| link.fdb.get(key) == Some(entry)),
        Step::AddNeighbour { neighbour, .. } => link.is_some_and(|link| link.neighbours.contains(neighbour)),
        Step::AddMirror { key, mirror, .. } => link.is_some_and(|link| link.mirrors.get(key) == Some(mirror)),
        // Whoever makes such routes was quicker, and has the last word about them.
        Step::AddRoute(route) if route.is_dynamic() => true,
        Step::AddRoute(route) => observed.routes.get(&route.key()) == Some(route),
        Step::AddRule(rule) => observed.rules.get(&rule.key) == Some(&rule.protocol),
        Step::Set(setting) if step.is_persistent() => observed.settings.shows(setting),
        // What is changed or removed meets nothing in its place.
        _ => false,
    }
}

/// Whether a step should have made a link, and a link of its name is there that these steps did not
/// make. Theirs has the alias that they give it, or none yet and exactly the properties that it was
/// made with: the alias is the first thing that a new link gets. Without an alias to know it by, the
/// kind has to do.
pub(crate) fn is_foreign(observed: &Observed, step: &Step, aliases: &HashMap<IfName, &Alias>) -> bool {
    let Step::CreateLink { name, kind, attrs, .. } = step else { return false };
    let Some(link) = observed.links.get(name) else { return false };
    match (aliases.get(name), &link.alias) {
        (Some(ours), Some(has)) => *ours != has,
        (Some(_), None) => link.kind != *kind || !attrs.unmet_by(&link.attrs).is_empty(),
        (None, _) => link.kind != *kind,
    }
}

/// The aliases that steps give to links.
pub(crate) fn aliases(steps: &[PlannedStep]) -> HashMap<IfName, &Alias> {
    steps
        .iter()
        .filter_map(|planned| match &planned.step {
            Step::SetAlias { name, alias: Some(alias) } => Some((*name, alias)),
            _ => None,
        })
        .collect()
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

#[cfg(test)]
mod tests {
    use netloom_model::{Attr, Link, LinkKind, Value};

    use super::*;

    #[test]
    fn a_link_is_known_by_its_alias_or_by_how_it_was_made() {
        let name: IfName = "new0".parse().unwrap();
        let attrs = [(Attr::Mtu, Value::Int(1400))].into_iter().collect();
        let create = Step::CreateLink { name, kind: LinkKind::Dummy, attrs, controller: None, up: false };
        let alias = |text: &str| Some(Alias::raw(text));
        let planned = |step: Step| PlannedStep { step, undo: Vec::new(), origin: None };
        let steps = [planned(create.clone()), planned(Step::SetAlias { name, alias: alias("ours") })];
        let foreign = |kind: LinkKind, mtu: u64, alias: Option<Alias>, steps: &[PlannedStep]| {
            let mut link = Link::new(name, kind);
            link.attrs.set(Attr::Mtu, Value::Int(mtu));
            link.alias = alias;
            let mut observed = Observed::default();
            observed.host.links.insert(name, link);
            is_foreign(&observed, &create, &aliases(steps))
        };
        assert!(!foreign(LinkKind::Dummy, 1500, alias("ours"), &steps));
        assert!(!foreign(LinkKind::Dummy, 1400, None, &steps));
        assert!(foreign(LinkKind::Dummy, 1400, alias("theirs"), &steps));
        assert!(foreign(LinkKind::Dummy, 1500, None, &steps));
        assert!(foreign(LinkKind::Bridge, 1400, None, &steps));
        assert!(!foreign(LinkKind::Dummy, 1500, None, &steps[..1]));
        assert!(!is_foreign(&Observed::default(), &create, &aliases(&steps)));
    }
}
