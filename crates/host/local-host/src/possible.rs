//! What a namespace does not have of its own.

use netloom_model::{HostState, SettingKey};
use netloom_netlink::Namespace;

/// A request for something that the namespace does not have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Impossible {
    /// The host name is the machine's.
    #[error(
        "{path}: the host name is the whole machine's, and {namespace} has none of its own; \
         set it without --netns"
    )]
    Hostname {
        /// Which host name.
        path: &'static str,
        /// The namespace.
        namespace: Namespace,
    },
    /// A resolver is kept under the namespace's name.
    #[error(
        "dns-resolver.config: {0} has no name, so there is no file for its resolver; name it with `ip netns attach`"
    )]
    Resolver(Namespace),
}

impl Impossible {
    /// The stable name of this failure.
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::Hostname { .. } => "HostnameOfNamespace",
            Self::Resolver(_) => "ResolverOfNamelessNamespace",
        }
    }
}

/// Refuses what a namespace does not have of its own, before anything is touched.
pub fn possible_in(namespace: &Namespace, state: &HostState) -> Result<(), Impossible> {
    if *namespace == Namespace::Host {
        return Ok(());
    }
    for key in state.settings.keys() {
        match key {
            SettingKey::HostnameRunning | SettingKey::HostnameConfig => {
                return Err(Impossible::Hostname { path: key.path(), namespace: namespace.clone() });
            }
            SettingKey::Resolver if namespace.name().is_none() => {
                return Err(Impossible::Resolver(namespace.clone()));
            }
            SettingKey::Resolver | SettingKey::BridgeIptables | SettingKey::Ipv6Forwarding => {}
        }
    }
    Ok(())
}
