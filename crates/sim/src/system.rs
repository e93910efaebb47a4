//! Resolver, host name, and what the kernel is told for all bridges.

use netloom_model::{Resolver, StepError};

use crate::SimHost;

impl SimHost {
    pub(crate) fn set_resolver(&mut self, resolver: &Resolver) {
        let before = std::mem::replace(&mut self.now.host.resolver, resolver.clone());
        self.journal().resolver = Some(before);
    }

    pub(crate) fn set_hostname_running(&mut self, name: &str) {
        let before = std::mem::replace(&mut self.now.host.hostname_running, name.to_owned());
        self.journal().hostname_running = Some(before);
    }

    pub(crate) fn set_hostname_config(&mut self, name: &str) {
        let before = std::mem::replace(&mut self.now.host.hostname_config, name.to_owned());
        self.journal().hostname_config = Some(before);
    }

    /// The setting comes with a part of the kernel that is not always there.
    pub(crate) fn set_bridge_iptables(&mut self, seen: bool) -> Result<(), StepError> {
        let Some(setting) = &mut self.now.host.bridge_iptables else {
            return Err(StepError::with(StepError::ENOENT, "no such setting without br_netfilter"));
        };
        let before = std::mem::replace(setting, seen);
        self.journal().bridge_iptables = Some(before);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use netloom_model::Step;

    use super::*;
    use crate::testing::yes;

    #[test]
    fn the_values_from_before_are_reported_when_they_differ() {
        let mut sim = SimHost::new();
        let resolver = Resolver { servers: vec!["10.0.0.53".to_owned()], ..Resolver::default() };
        let changed = yes(&mut sim, &Step::SetResolver(resolver.clone()));
        assert_eq!(changed.resolver, Some(Resolver::default()));
        assert_eq!(yes(&mut sim, &Step::SetResolver(resolver)).resolver, None);
        let changed = yes(&mut sim, &Step::SetHostnameRunning("one".to_owned()));
        assert_eq!(changed.hostname_running.as_deref(), Some(""));
        let changed = yes(&mut sim, &Step::SetHostnameConfig("two".to_owned()));
        assert_eq!((changed.hostname_config.as_deref(), changed.hostname_running), (Some(""), None));
        assert_eq!(sim.observed().hostname_config, "two");
    }

    #[test]
    fn iptables_can_be_kept_from_bridges_only_where_it_looks_at_them() {
        let mut sim = SimHost::new();
        let step = Step::SetBridgeIptables(false);
        assert_eq!(sim.apply(&step).unwrap_err().errno, StepError::ENOENT);
        let mut observed = sim.into_observed();
        observed.host.bridge_iptables = Some(true);
        let mut sim = SimHost::from_observed(observed);
        assert_eq!(yes(&mut sim, &step).bridge_iptables, Some(true));
        assert_eq!(yes(&mut sim, &step).bridge_iptables, None);
    }
}
