//! Settings of the whole host that the kernel holds: its running name, and what it has for all bridges.
//!
//! A host name belongs to the host, not to a network namespace: setting it from one is refused.

use netloom_model::{HostSettings, Setting, StepError};
use nix::unistd;

use crate::{netns::Namespace, sysctl};

/// The settings of a namespace.
pub(crate) fn read(namespace: &Namespace) -> HostSettings {
    let named = *namespace == Namespace::Host;
    let name = named.then(|| unistd::gethostname().unwrap_or_default().to_string_lossy().into_owned());
    let name = name.map(Setting::HostnameRunning);
    let of_kernel = [
        sysctl::bridge_iptables().map(Setting::BridgeIptables),
        sysctl::ipv6_forwarding().map(Setting::Ipv6Forwarding),
    ];
    name.into_iter().chain(of_kernel.into_iter().flatten()).collect()
}

/// Changes one.
pub(crate) fn set(namespace: &Namespace, setting: &Setting) -> Result<(), StepError> {
    let refused = |text: &str| Err(StepError::with(StepError::EOPNOTSUPP, text));
    match setting {
        Setting::HostnameRunning(_) if *namespace != Namespace::Host => {
            refused("a network namespace has no host name of its own")
        }
        Setting::HostnameRunning(name) => {
            unistd::sethostname(name).map_err(|e| StepError::with(e as i32, "set the running host name"))
        }
        Setting::BridgeIptables(seen) => sysctl::set_bridge_iptables(*seen),
        Setting::Ipv6Forwarding(on) => sysctl::set_ipv6_forwarding(*on),
        Setting::Resolver(_) | Setting::HostnameConfig(_) => refused("the kernel keeps no files"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_has_no_host_name() {
        let blue = Namespace::Named("blue".to_owned());
        let name = Setting::HostnameRunning("x".to_owned());
        assert_eq!(set(&blue, &name).unwrap_err().errno, StepError::EOPNOTSUPP);
        assert_eq!(read(&blue).hostname_running(), "");
    }
}
