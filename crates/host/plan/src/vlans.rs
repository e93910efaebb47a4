//! VLANs of a port that somebody else made and may go on changing.
//!
//! A claim knows what the port had before and what was set. Where it has something else by now, that is somebody
//! else's doing since. What we changed is taken back and nothing beside it: a VLAN that others gave the port, also
//! while we had VLANs there, may be the one through which the machine is reached.

use netloom_model::VlanMembership;
use netloom_types::VlanSet;

/// What the port has once our part of it is taken back.
pub(crate) fn given_back(before: &VlanMembership, ours: &VlanMembership, now: &VlanMembership) -> VlanMembership {
    Theirs::since(ours, now).over(before, now)
}

/// What there is to return to once `desired` is set in the place of `ours`. What others did since belongs to it, unless
/// the desired state says otherwise: what is repaired is no more than it was.
pub(crate) fn followed(
    before: &VlanMembership,
    ours: &VlanMembership,
    now: &VlanMembership,
    desired: &VlanMembership,
) -> VlanMembership {
    Theirs::since(ours, now).left_by(desired, now).over(before, now)
}

/// What somebody else did to a port since we set it.
struct Theirs {
    ids: VlanSet,
    /// Whether they chose the VLAN of frames without a tag.
    pvid: bool,
}

impl Theirs {
    fn since(ours: &VlanMembership, now: &VlanMembership) -> Self {
        Self { ids: changed(ours, now), pvid: ours.pvid != now.pvid }
    }

    /// Without what a desired state overrules.
    fn left_by(self, desired: &VlanMembership, now: &VlanMembership) -> Self {
        Self { ids: self.ids.minus(&changed(desired, now)), pvid: self.pvid && desired.pvid == now.pvid }
    }

    /// Theirs as it is now, and everything else as it was.
    fn over(&self, before: &VlanMembership, now: &VlanMembership) -> VlanMembership {
        let laid = |before: &VlanSet, now: &VlanSet| before.minus(&self.ids).plus(&now.common(&self.ids));
        let (tagged, untagged) = (laid(&before.tagged, &now.tagged), laid(&before.untagged, &now.untagged));
        let pvid = if self.pvid { now.pvid } else { before.pvid };
        let pvid = pvid.filter(|id| tagged.contains(*id) || untagged.contains(*id));
        VlanMembership { tagged, untagged, pvid }
    }
}

/// The VLANs that `now` has in another way than `set`, or has not.
fn changed(set: &VlanMembership, now: &VlanMembership) -> VlanSet {
    let apart = |a: &VlanSet, b: &VlanSet| a.minus(b).plus(&b.minus(a));
    let pvid = now.pvid.filter(|_| now.pvid != set.pvid).into_iter().collect();
    apart(&set.tagged, &now.tagged).plus(&apart(&set.untagged, &now.untagged)).plus(&pvid)
}

#[cfg(test)]
mod tests {
    use netloom_types::VlanId;
    use proptest::prelude::*;

    use super::*;

    fn id(number: u16) -> VlanId {
        VlanId::try_from(number).expect("a small number")
    }

    /// One of: not there, tagged, untagged; for each of a few VLANs.
    fn membership() -> impl Strategy<Value = VlanMembership> {
        (prop::collection::vec(0u8..3, 6), 0usize..6).prop_map(|(ways, pvid)| {
            let of = |way: u8| {
                let ids = (1..).zip(&ways).filter(|(_, there)| **there == way);
                ids.map(|(number, _)| id(number)).collect::<VlanSet>()
            };
            let (tagged, untagged) = (of(1), of(2));
            let all: Vec<_> = tagged.plus(&untagged).iter().collect();
            VlanMembership { tagged, untagged, pvid: all.get(pvid).copied() }
        })
    }

    /// How a port has one VLAN.
    fn way(port: &VlanMembership, id: VlanId) -> (bool, bool) {
        (port.tagged.contains(id), port.untagged.contains(id))
    }

    proptest! {
        #[test]
        fn a_port_that_nobody_else_touched_is_as_before(before in membership(), ours in membership()) {
            prop_assert_eq!(&given_back(&before, &ours, &ours), &before);
            prop_assert_eq!(followed(&before, &ours, &ours, &ours), before);
        }

        #[test]
        fn what_we_left_as_it_was_stays_as_it_is(before in membership(), ours in membership(), now in membership()) {
            let back = given_back(&before, &ours, &now);
            for id in (1..=6).map(id) {
                let (then, set, there) = (way(&before, id), way(&ours, id), way(&now, id));
                if then == set || there != set {
                    prop_assert_eq!(way(&back, id), there, "VLAN {}", id);
                } else if now.pvid != Some(id) {
                    prop_assert_eq!(way(&back, id), then, "VLAN {}", id);
                }
            }
            prop_assert!(back.tagged.common(&back.untagged).is_empty());
            prop_assert!(back.pvid.is_none_or(|pvid| back.all().contains(pvid)));
            if before.pvid == ours.pvid {
                prop_assert_eq!(back.pvid, now.pvid.filter(|pvid| back.all().contains(*pvid)));
            }
        }

        #[test]
        fn a_desired_state_that_adds_to_what_is_there_changes_nothing_of_what_is_given_back(
            before in membership(), ours in membership(), now in membership(), number in 1u16..7,
        ) {
            let back = given_back(&before, &ours, &now);
            let mut desired = now.clone();
            if !now.all().contains(id(number)) && !before.all().contains(id(number)) {
                desired.tagged.insert(id(number));
            }
            prop_assert_eq!(given_back(&followed(&before, &ours, &now, &desired), &desired, &desired), back);
        }
    }
}
