//! Mirrors.
//!
//! A mirror whose target is deleted stays in the kernel and leads nowhere; there is no name to show
//! it by, so it leaves the picture.

use netloom_model::{Mirror, MirrorKey, StepError};
use netloom_types::IfName;

use crate::{
    SimHost,
    errno::{Done, refuse_plainly},
};

impl SimHost {
    pub(crate) fn add_mirror(&mut self, name: IfName, key: MirrorKey, mirror: Mirror) -> Done {
        let link = self.link(name)?;
        self.link(mirror.to)?;
        if link.mirrors.contains_key(&key) {
            return refuse_plainly(StepError::EEXIST);
        }
        self.edit(name).mirrors.insert(key, mirror);
        self.index.add_mirror(mirror.to, name);
        Ok(())
    }

    pub(crate) fn remove_mirror(&mut self, name: IfName, key: MirrorKey) -> Done {
        if !self.link(name)?.mirrors.contains_key(&key) {
            return refuse_plainly(StepError::ENOENT);
        }
        let link = self.edit(name);
        let Some(gone) = link.mirrors.remove(&key) else { return Ok(()) };
        if !link.mirrors.values().any(|other| other.to == gone.to) {
            self.index.remove_mirror(gone.to, name);
        }
        Ok(())
    }

    /// Drops the mirrors to a link that goes.
    pub(crate) fn forget_mirrors_to(&mut self, to: IfName) {
        let from: Vec<IfName> = self.index.mirrors.of(&to).copied().collect();
        for name in from {
            self.index.remove_mirror(to, name);
            if self.find(name).is_some() {
                self.edit(name).mirrors.retain(|_, mirror| mirror.to != to);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use netloom_model::{Direction, FlowMatch, MirrorAction, Step};

    use super::*;
    use crate::testing::{dummies, n, no, yes};

    #[test]
    fn a_priority_is_taken_once_in_each_direction() {
        let mut sim = dummies(["d0", "d1"]);
        let mirror = |to| Mirror { matches: FlowMatch::default(), action: MirrorAction::Mirror, to, ours: true };
        let add = |direction, to: &str| Step::AddMirror {
            name: n("d0"),
            key: MirrorKey { direction, priority: 5 },
            mirror: mirror(n(to)),
        };
        assert_eq!(no(&mut sim, &add(Direction::Ingress, "nope")), StepError::ENODEV);
        yes(&mut sim, &add(Direction::Ingress, "d1"));
        assert_eq!(no(&mut sim, &add(Direction::Ingress, "d1")), StepError::EEXIST);
        yes(&mut sim, &add(Direction::Egress, "d1"));
        let key = MirrorKey { direction: Direction::Ingress, priority: 5 };
        let remove = Step::RemoveMirror { name: n("d0"), key, mirror: mirror(n("d1")) };
        yes(&mut sim, &remove);
        assert_eq!(no(&mut sim, &remove), StepError::ENOENT);
    }
}
