//! Settings of the whole host.

use std::borrow::Cow;

use netloom_model::{Setting, StepError};

use crate::SimHost;

impl SimHost {
    /// Sets one; some come with a part of the kernel that is not always there.
    pub(crate) fn set(&mut self, setting: &Setting) -> Result<(), StepError> {
        let (key, settings) = (setting.key(), &mut self.now.host.settings);
        let Some(before) = settings.get(key).map(Cow::into_owned) else {
            let missing = key.comes_with().unwrap_or("its part of the kernel");
            return Err(StepError::with(StepError::ENOENT, &format!("no such setting without {missing}")));
        };
        settings.set(setting.clone());
        self.journal().settings.entry(key).or_insert(before);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use netloom_model::{Resolver, SettingKey, Step};

    use super::*;
    use crate::testing::yes;

    #[test]
    fn the_values_from_before_are_reported_when_they_differ() {
        let mut sim = SimHost::new();
        let resolver = Resolver { servers: vec!["10.0.0.53".to_owned()], ..Resolver::default() };
        let step = Step::Set(Setting::Resolver(resolver));
        let empty = Setting::Resolver(Resolver::default());
        assert_eq!(yes(&mut sim, &step).settings, [(SettingKey::Resolver, empty)].into());
        assert!(yes(&mut sim, &step).settings.is_empty());
        let changed = yes(&mut sim, &Step::Set(Setting::HostnameRunning("one".to_owned())));
        assert_eq!(changed.settings[&SettingKey::HostnameRunning], Setting::HostnameRunning(String::new()));
        let changed = yes(&mut sim, &Step::Set(Setting::HostnameConfig("two".to_owned())));
        assert_eq!(changed.settings.into_values().collect::<Vec<_>>(), [Setting::HostnameConfig(String::new())]);
        assert_eq!(sim.observed().settings.hostname_config(), "two");
    }

    #[test]
    fn iptables_can_be_kept_from_bridges_only_where_it_looks_at_them() {
        let mut sim = SimHost::new();
        let step = Step::Set(Setting::BridgeIptables(false));
        let refused = sim.apply(&step).unwrap_err();
        assert_eq!(refused, StepError::with(StepError::ENOENT, "no such setting without br_netfilter"));
        let mut observed = sim.into_observed();
        observed.host.settings.set(Setting::BridgeIptables(true));
        let mut sim = SimHost::from_observed(observed);
        assert_eq!(yes(&mut sim, &step).settings.into_values().next(), Some(Setting::BridgeIptables(true)));
        assert!(yes(&mut sim, &step).settings.is_empty());
    }
}
