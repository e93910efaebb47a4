//! Other programs that manage a link: systemd-networkd, NetworkManager, netplan and ifupdown.
//!
//! Each of them leaves run-time files that say which links it manages. This crate says which files to read for a link
//! ([`Paths`]), reads their text ([`manager_of`]), and says how the link is handed over to Netloom ([`Managed`]). It
//! opens no file itself.
//!
//! What holds:
//!
//! - A warning is all that follows: two programs that manage one link undo each other's changes sooner or later, but which
//!   of them shall stop is for a person to say.
//! - A text that says nothing clear, or none at all, is no warning.
//! - The loopback is nobody's: every machine has it configured by something, and nothing on it is taken back.

mod ifupdown;
mod keys;
mod network_manager;
mod networkd;

use std::fmt;

use netloom_types::IfName;

/// A program that manages links.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Manager {
    /// systemd-networkd, by a file that somebody wrote for it.
    Networkd,
    /// NetworkManager.
    NetworkManager,
    /// netplan, whichever program it has carry its files out.
    Netplan,
    /// ifupdown, which sets links up at boot and does not run afterwards.
    Ifupdown,
}

impl Manager {
    /// What people call it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Networkd => "systemd-networkd",
            Self::NetworkManager => "NetworkManager",
            Self::Netplan => "netplan",
            Self::Ifupdown => "ifupdown",
        }
    }
}

/// A link that another program manages.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Managed {
    /// The link.
    pub link: IfName,
    /// The program.
    pub manager: Manager,
    /// The file of its configuration that matches the link, where the program says which.
    pub file: Option<String>,
}

impl Managed {
    /// What to do to have the program leave the link alone.
    pub fn hand_over(&self) -> String {
        let link = self.link;
        match self.manager {
            Manager::Networkd => format!(
                "write \"[Match] Name={link}\" and \"[Link] Unmanaged=yes\" to \
                 /etc/systemd/network/00-unmanaged-{link}.network and run `networkctl reload`"
            ),
            Manager::NetworkManager => format!(
                "write \"[keyfile] unmanaged-devices=interface-name:{link}\" to \
                 /etc/NetworkManager/conf.d/unmanaged-{link}.conf and run `nmcli general reload`"
            ),
            Manager::Netplan => {
                format!("remove the entry of {link} from the files in /etc/netplan and run `netplan apply`")
            }
            Manager::Ifupdown => format!(
                "remove the lines \"auto {link}\", \"allow-hotplug {link}\" and \"iface {link}\" from \
                 /etc/network/interfaces and what it includes, and {link} from /run/network/ifstate"
            ),
        }
    }
}

impl fmt::Display for Managed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { link, manager, file } = self;
        write!(f, "{link} is managed by {}", manager.name())?;
        if let Some(file) = file {
            write!(f, " ({file})")?;
        }
        write!(f, ", which may undo what is set here; to hand {link} over, {}", self.hand_over())
    }
}

/// The files that speak of one link, below the folder of run-time files (`/run`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paths {
    /// What systemd-networkd says of the link, by its index.
    pub networkd: String,
    /// What NetworkManager says of the link, by its index.
    pub network_manager: String,
    /// The connection that netplan wrote for NetworkManager, by its name: that it exists says all.
    pub netplan_connection: String,
    /// What ifupdown says of the link alone.
    pub ifupdown: String,
}

/// What ifupdown says of all links: that of Debian, and those of others. One that does not exist says nothing.
pub const IFUPDOWN: [&str; 2] = ["network/ifstate", "ifstate"];

impl Paths {
    /// The files of a link with this name and index.
    pub fn of(link: IfName, index: u32) -> Self {
        Self {
            networkd: format!("systemd/netif/links/{index}"),
            network_manager: format!("NetworkManager/devices/{index}"),
            netplan_connection: format!("NetworkManager/system-connections/netplan-{link}.nmconnection"),
            ifupdown: format!("network/ifstate.{link}"),
        }
    }
}

/// What the files of one link say; none for those that do not exist.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Texts {
    /// The text of [`Paths::networkd`].
    pub networkd: Option<String>,
    /// The text of [`Paths::network_manager`].
    pub network_manager: Option<String>,
    /// Whether [`Paths::netplan_connection`] exists.
    pub netplan_connection: bool,
    /// The text of [`Paths::ifupdown`].
    pub ifupdown: Option<String>,
}

/// Who manages a link, by what the files say of it and what ifupdown says of `all` links. A program that runs comes before
/// one that ran at boot.
pub fn manager_of(link: IfName, texts: &Texts, all: &[String]) -> Option<Managed> {
    if link == IfName::LO {
        return None;
    }
    let Texts { networkd, network_manager, netplan_connection, ifupdown } = texts;
    let (manager, file) = networkd
        .as_deref()
        .and_then(networkd::manages)
        .or_else(|| network_manager.as_deref().and_then(|text| network_manager::manages(text, *netplan_connection)))
        .or_else(|| ifupdown::manages(link, ifupdown.as_deref(), all))?;
    Some(Managed { link, manager, file })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(name: &str) -> IfName {
        name.parse().unwrap()
    }

    #[test]
    fn a_running_program_comes_before_one_that_ran_at_boot() {
        let networkd = "ADMIN_STATE=configured\nNETWORK_FILE=/etc/systemd/network/10-lan.network\n";
        let mut texts = Texts {
            networkd: Some(networkd.to_owned()),
            network_manager: Some("[device]\nmanaged=true\n".to_owned()),
            ifupdown: Some("eth0\n".to_owned()),
            ..Texts::default()
        };
        let by = |texts: &Texts| manager_of(link("eth0"), texts, &[]).map(|managed| managed.manager);
        assert_eq!(by(&texts), Some(Manager::Networkd));
        texts.networkd = Some("ADMIN_STATE=unmanaged\n".to_owned());
        assert_eq!(by(&texts), Some(Manager::NetworkManager));
        texts.network_manager = Some("[device]\nmanaged=false\n".to_owned());
        assert_eq!(by(&texts), Some(Manager::Ifupdown));
        texts.ifupdown = None;
        assert_eq!(by(&texts), None);
    }

    #[test]
    fn the_loopback_is_nobodys() {
        assert_eq!(manager_of(IfName::LO, &Texts::default(), &["lo=lo\n".to_owned()]), None);
    }

    #[test]
    fn a_warning_names_program_file_and_the_lines_that_hand_the_link_over() {
        let managed = |manager, file: Option<&str>| {
            Managed { link: link("eth0"), manager, file: file.map(str::to_owned) }.to_string()
        };
        assert_eq!(
            managed(Manager::Networkd, Some("/etc/systemd/network/10-lan.network")),
            "eth0 is managed by systemd-networkd (/etc/systemd/network/10-lan.network), which may undo what is set \
             here; to hand eth0 over, write \"[Match] Name=eth0\" and \"[Link] Unmanaged=yes\" to \
             /etc/systemd/network/00-unmanaged-eth0.network and run `networkctl reload`"
        );
        let lines = [
            (Manager::NetworkManager, "unmanaged-devices=interface-name:eth0"),
            (Manager::Netplan, "remove the entry of eth0 from the files in /etc/netplan"),
            (Manager::Ifupdown, "\"auto eth0\", \"allow-hotplug eth0\" and \"iface eth0\""),
        ];
        for (manager, line) in lines {
            let reported = managed(manager, None);
            assert!(reported.contains(line) && reported.starts_with("eth0 is managed by "), "{reported}");
        }
    }
}
