//! Links over which nothing can be sent any more once a plan is carried out.

use std::collections::BTreeSet;

use netloom_model::{Observed, Plan, Step};
use netloom_types::IfName;

/// Links that go, go down or lose what they stand on. Whoever has something to say over them says it before.
pub fn cut_off(plan: &Plan, observed: &Observed) -> BTreeSet<IfName> {
    let mut cut: BTreeSet<IfName> =
        plan.steps.iter().filter(|planned| cuts(&planned.step)).filter_map(|planned| planned.step.link()).collect();
    loop {
        let above = observed.links.values().filter_map(|link| {
            let stands = link.base().is_some_and(|base| cut.contains(&base));
            if stands { Some(link.name) } else { link.controller.filter(|_| cut.contains(&link.name)) }
        });
        let above: BTreeSet<IfName> = above.filter(|name| !cut.contains(name)).collect();
        if above.is_empty() {
            return cut;
        }
        cut.extend(above);
    }
}

/// Whether packets that passed a link may not pass it after a step.
fn cuts(step: &Step) -> bool {
    match step {
        Step::CreateLink { .. }
        | Step::DeleteLink { .. }
        | Step::SetUp { up: false, .. }
        | Step::SetController { .. }
        | Step::SetVlans { .. } => true,
        Step::SetAttrs { .. }
        | Step::SetUp { up: true, .. }
        | Step::SetAlias { .. }
        | Step::AddAltName { .. }
        | Step::RemoveAltName { .. }
        | Step::SetFeatures { .. }
        | Step::AddAddress { .. }
        | Step::RemoveAddress { .. }
        | Step::AddFdb { .. }
        | Step::RemoveFdb { .. }
        | Step::AddNeighbour { .. }
        | Step::RemoveNeighbour { .. }
        | Step::AddMirror { .. }
        | Step::RemoveMirror { .. }
        | Step::AddRoute(_)
        | Step::ReplaceRoute(_)
        | Step::RemoveRoute(_)
        | Step::AddRule(_)
        | Step::RemoveRule(_)
        | Step::SetResolver(_)
        | Step::SetHostnameRunning(_)
        | Step::SetHostnameConfig(_)
        | Step::SetBridgeIptables(_) => false,
    }
}
