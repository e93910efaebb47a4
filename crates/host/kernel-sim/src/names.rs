//! Further names, aliases and offload features: what a link carries without any effect on others.

use std::collections::BTreeMap;

use netloom_model::{Alias, StepError};
use netloom_types::{AltName, IfName};

use crate::{
    SimHost,
    errno::{Done, refuse_plainly},
};

impl SimHost {
    pub(crate) fn set_alias(&mut self, name: IfName, alias: Option<&Alias>) -> Done {
        self.link(name)?;
        self.edit(name).alias = alias.cloned();
        Ok(())
    }

    pub(crate) fn add_alt_name(&mut self, name: IfName, alt_name: &AltName) -> Done {
        self.link(name)?;
        let is_name = alt_name.as_str().parse().is_ok_and(|name| self.find(name).is_some());
        if is_name || self.index.alt_names.contains_key(alt_name) {
            return refuse_plainly(StepError::EEXIST);
        }
        self.index.alt_names.insert(alt_name.clone(), name);
        self.edit(name).alt_names.insert(alt_name.clone());
        Ok(())
    }

    pub(crate) fn remove_alt_name(&mut self, name: IfName, alt_name: &AltName) -> Done {
        self.link(name)?;
        match self.index.alt_names.get(alt_name) {
            None => return refuse_plainly(StepError::ENOENT),
            Some(holder) if *holder != name => return refuse_plainly(StepError::EINVAL),
            Some(_) => {}
        }
        self.index.alt_names.remove(alt_name);
        self.edit(name).alt_names.remove(alt_name);
        Ok(())
    }

    pub(crate) fn set_features(&mut self, name: IfName, features: &BTreeMap<Box<str>, bool>) -> Done {
        self.link(name)?;
        self.edit(name).features.extend(features.iter().map(|(feature, on)| (feature.clone(), *on)));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use netloom_model::Step;

    use super::*;
    use crate::testing::{delete, dummies, n, no, yes};

    #[test]
    fn a_further_name_is_nobody_elses() {
        let mut sim = dummies(["d0", "d1"]);
        let alt = |name: &str| -> AltName { name.parse().unwrap() };
        let add = |name: &str, other: &str| Step::AddAltName { name: n(name), alt_name: alt(other) };
        let remove = |name: &str, other: &str| Step::RemoveAltName { name: n(name), alt_name: alt(other) };
        yes(&mut sim, &add("d0", "uplink"));
        assert_eq!(no(&mut sim, &add("d1", "uplink")), StepError::EEXIST);
        assert_eq!(no(&mut sim, &add("d1", "d0")), StepError::EEXIST);
        assert_eq!(no(&mut sim, &remove("d1", "uplink")), StepError::EINVAL);
        assert_eq!(no(&mut sim, &remove("d1", "nothing")), StepError::ENOENT);
        assert_eq!(no(&mut sim, &add("nope", "nothing")), StepError::ENODEV);
        yes(&mut sim, &delete("d0"));
        yes(&mut sim, &add("d1", "uplink"));
        yes(&mut sim, &remove("d1", "uplink"));
    }

    #[test]
    fn features_are_changed_one_by_one() {
        let mut sim = dummies(["d0"]);
        for (feature, on) in [("tx-checksum", true), ("rx-gro", false), ("tx-checksum", false)] {
            let features = [(feature.into(), on)].into();
            yes(&mut sim, &Step::SetFeatures { name: n("d0"), features });
        }
        let expected = [("rx-gro".into(), false), ("tx-checksum".into(), false)].into();
        assert_eq!(sim.link(n("d0")).unwrap().features, expected);
    }
}
