//! Resolver and host name.

use netloom_model::Resolver;

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
}
