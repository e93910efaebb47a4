//! Whether a plan needs to know what drivers keep: asking each of them is slow.

use netloom_model::{Claim, ClaimKey, HostState, Ownership, Presence};

/// Whether some of what is wanted, or may be given back, is the drivers'.
pub fn needs_drivers(state: &HostState, owned: &Ownership) -> bool {
    let wanted = state
        .links
        .values()
        .any(|link| !link.features.is_empty() || link.attrs.iter().any(|(attr, _)| attr.section().is_driver()));
    let may_go = |key: &ClaimKey, claim: &Claim| {
        let absent = |name| state.links.get(&name).is_some_and(|link| link.presence == Presence::Absent);
        let dropped = state.whole_of.as_ref().is_some_and(|owner| claim.origins.contains_key(owner));
        dropped || key.link().is_some_and(absent)
    };
    wanted || owned.claims.iter().any(|(key, claim)| by_driver(key) && may_go(key, claim))
}

fn by_driver(key: &ClaimKey) -> bool {
    matches!(key, ClaimKey::Feature(..)) || matches!(key, ClaimKey::Attr(_, attr) if attr.section().is_driver())
}
