//! Settings of the whole host: what it has once, beside links, routes and rules.
//!
//! They are one table. A new one is a row of [`SettingKey`], a value of [`Setting`] and its place on the host; plan, undo,
//! ownership, journal, verification and simulation go by the table.

use std::{borrow::Cow, collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize};

use crate::{Medium, Resolver};

/// What people call the kernel's setting that shows the frames of bridges to iptables.
pub const BRIDGE_IPTABLES: &str = "net.bridge.bridge-nf-call-iptables";

/// What people call the kernel's setting without which no IPv6 packet is passed on, whatever links are set to.
pub const IPV6_FORWARDING: &str = "net.ipv6.conf.all.forwarding";

/// Which setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum SettingKey {
    /// The resolver file.
    Resolver,
    /// The host name that the kernel has.
    HostnameRunning,
    /// The host name that it gets at boot.
    HostnameConfig,
    /// Whether frames that a bridge passes on are shown to iptables.
    BridgeIptables,
    /// Whether IPv6 packets are passed on at all.
    Ipv6Forwarding,
}

impl SettingKey {
    /// All of them, in the order in which they are set.
    pub const ALL: [Self; 5] =
        [Self::Resolver, Self::HostnameRunning, Self::HostnameConfig, Self::BridgeIptables, Self::Ipv6Forwarding];

    /// Where it is set; its place in a document, or what people call it; its name in a sentence; the part of the kernel that
    /// it comes with, where not every host has it.
    const fn row(self) -> (Medium, &'static str, &'static str, Option<&'static str>) {
        match self {
            Self::Resolver => (Medium::File, "dns-resolver", "resolver", None),
            Self::HostnameRunning => (Medium::Kernel, "hostname.running", "running host name", None),
            Self::HostnameConfig => (Medium::File, "hostname.config", "host name at boot", None),
            Self::BridgeIptables => (Medium::Kernel, BRIDGE_IPTABLES, BRIDGE_IPTABLES, Some("br_netfilter")),
            Self::Ipv6Forwarding => (Medium::Kernel, IPV6_FORWARDING, IPV6_FORWARDING, Some("IPv6")),
        }
    }

    /// Where it is set.
    pub const fn medium(self) -> Medium {
        self.row().0
    }

    /// Its place in a document, or what people call it.
    pub const fn path(self) -> &'static str {
        self.row().1
    }

    /// The part of the kernel that it comes with, where not every host has it.
    pub const fn comes_with(self) -> Option<&'static str> {
        self.row().3
    }

    /// The value where nobody set any; none where the host has no such setting then.
    const fn empty(self) -> Option<Setting> {
        match self {
            Self::Resolver => Some(Setting::Resolver(Resolver::EMPTY)),
            Self::HostnameRunning => Some(Setting::HostnameRunning(String::new())),
            Self::HostnameConfig => Some(Setting::HostnameConfig(String::new())),
            Self::BridgeIptables | Self::Ipv6Forwarding => None,
        }
    }
}

impl fmt::Display for SettingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.row().2)
    }
}

/// A setting and its value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Setting {
    /// The resolver file.
    Resolver(Resolver),
    /// The host name that the kernel has.
    HostnameRunning(String),
    /// The host name that it gets at boot; empty when none is configured.
    HostnameConfig(String),
    /// Whether iptables sees the frames of bridges.
    BridgeIptables(bool),
    /// Whether IPv6 packets are passed on at all. Each link says beside it whether it is a router's.
    Ipv6Forwarding(bool),
}

impl Setting {
    /// Which setting this is.
    pub const fn key(&self) -> SettingKey {
        match self {
            Self::Resolver(_) => SettingKey::Resolver,
            Self::HostnameRunning(_) => SettingKey::HostnameRunning,
            Self::HostnameConfig(_) => SettingKey::HostnameConfig,
            Self::BridgeIptables(_) => SettingKey::BridgeIptables,
            Self::Ipv6Forwarding(_) => SettingKey::Ipv6Forwarding,
        }
    }

    /// Whether this is the value where nobody set any.
    pub fn is_empty(&self) -> bool {
        self.key().empty().as_ref() == Some(self)
    }

    /// The whole value, as a difference shows it.
    pub fn value(&self) -> String {
        match self {
            Self::Resolver(Resolver { servers, search, options, file: _ }) => {
                let part = |word: &str, list: &[String]| format!("{word} {}", list.join(","));
                [part("servers", servers), part("search", search), part("options", options)].join("; ")
            }
            Self::HostnameRunning(name) | Self::HostnameConfig(name) => name.clone(),
            Self::BridgeIptables(on) | Self::Ipv6Forwarding(on) => u8::from(*on).to_string(),
        }
    }
}

impl fmt::Display for Setting {
    /// One line of a plan.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Resolver(resolver) => {
                write!(f, "resolver {} {}", resolver.servers.join(","), resolver.search.join(","))
            }
            Self::HostnameRunning(name) => write!(f, "host name {name} (running)"),
            Self::HostnameConfig(name) => write!(f, "host name {name} (at boot)"),
            Self::BridgeIptables(seen) => write!(f, "{BRIDGE_IPTABLES} {}", u8::from(*seen)),
            Self::Ipv6Forwarding(on) => write!(f, "{IPV6_FORWARDING} {}", u8::from(*on)),
        }
    }
}

/// The settings that a host has. One that is not in here is empty.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(from = "Vec<Setting>", into = "Vec<Setting>")]
pub struct HostSettings(BTreeMap<SettingKey, Setting>);

impl HostSettings {
    /// The value of a setting; none where the host has no such setting.
    pub fn get(&self, key: SettingKey) -> Option<Cow<'_, Setting>> {
        self.0.get(&key).map(Cow::Borrowed).or_else(|| key.empty().map(Cow::Owned))
    }

    /// Whether the host has exactly this value.
    pub fn shows(&self, setting: &Setting) -> bool {
        self.get(setting.key()).as_deref() == Some(setting)
    }

    /// Sets one.
    pub fn set(&mut self, setting: Setting) {
        // An empty resolver may still have a file, which a release puts back.
        let has_file = matches!(&setting, Setting::Resolver(resolver) if resolver.file.is_some());
        if setting.is_empty() && !has_file {
            self.remove(setting.key());
        } else {
            self.0.insert(setting.key(), setting);
        }
    }

    /// Forgets one: it is empty, or the host has none such.
    pub fn remove(&mut self, key: SettingKey) {
        self.0.remove(&key);
    }

    /// The resolver.
    pub fn resolver(&self) -> &Resolver {
        static EMPTY: Resolver = Resolver::EMPTY;
        match self.0.get(&SettingKey::Resolver) {
            Some(Setting::Resolver(resolver)) => resolver,
            _ => &EMPTY,
        }
    }

    /// The host name that the kernel has.
    pub fn hostname_running(&self) -> &str {
        match self.0.get(&SettingKey::HostnameRunning) {
            Some(Setting::HostnameRunning(name)) => name,
            _ => "",
        }
    }

    /// The host name that it gets at boot; empty when none is configured.
    pub fn hostname_config(&self) -> &str {
        match self.0.get(&SettingKey::HostnameConfig) {
            Some(Setting::HostnameConfig(name)) => name,
            _ => "",
        }
    }

    /// Whether iptables sees the frames of bridges; none where the kernel never shows them.
    pub fn bridge_iptables(&self) -> Option<bool> {
        match self.0.get(&SettingKey::BridgeIptables) {
            Some(Setting::BridgeIptables(seen)) => Some(*seen),
            _ => None,
        }
    }
}

impl PartialEq for HostSettings {
    fn eq(&self, other: &Self) -> bool {
        let set =
            |settings: &Self| settings.0.values().filter(|setting| !setting.is_empty()).cloned().collect::<Vec<_>>();
        set(self) == set(other)
    }
}

impl Eq for HostSettings {}

impl FromIterator<Setting> for HostSettings {
    fn from_iter<I: IntoIterator<Item = Setting>>(all: I) -> Self {
        let mut settings = Self::default();
        all.into_iter().for_each(|setting| settings.set(setting));
        settings
    }
}

impl From<Vec<Setting>> for HostSettings {
    fn from(all: Vec<Setting>) -> Self {
        all.into_iter().collect()
    }
}

impl From<HostSettings> for Vec<Setting> {
    fn from(settings: HostSettings) -> Self {
        settings.0.into_values().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ResolverFile;

    #[test]
    fn a_setting_that_nobody_set_is_empty_and_one_that_the_kernel_lacks_is_not_there() {
        let mut settings = HostSettings::default();
        assert!(settings.shows(&Setting::HostnameConfig(String::new())));
        assert_eq!(settings.get(SettingKey::BridgeIptables), None);
        settings.set(Setting::HostnameConfig(String::new()));
        assert_eq!(settings, HostSettings::default());
        let absent = Resolver { file: Some(ResolverFile::Absent), ..Resolver::default() };
        settings.set(Setting::Resolver(absent));
        assert_eq!(settings, HostSettings::default());
        assert_eq!(settings.resolver().file, Some(ResolverFile::Absent), "a release puts it back");
        settings.set(Setting::BridgeIptables(false));
        assert_ne!(settings, HostSettings::default());
        assert_eq!(settings.bridge_iptables(), Some(false));
    }
}
