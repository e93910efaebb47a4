//! Links over which nothing can be sent any more once a plan is carried out.

use std::collections::BTreeSet;

use netloom_model::{Observed, Plan};
use netloom_types::IfName;

/// Links that go, go down or lose what they stand on. Whoever has something to say over them says it before.
pub fn cut_off(plan: &Plan, observed: &Observed) -> BTreeSet<IfName> {
    let traits = plan.steps.iter().map(|planned| planned.step.traits());
    let mut cut: BTreeSet<IfName> = traits.filter(|step| step.cuts).filter_map(|step| step.link).collect();
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
