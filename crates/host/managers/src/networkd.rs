//! systemd-networkd: `/run/systemd/netif/links/INDEX`.
//!
//! The file names the state of the link and the `.network` file that matched it. A link without such a file, or whose file
//! says `Unmanaged=yes`, is in the state `unmanaged`.

use crate::{Manager, keys};

/// The program behind the link's `.network` file, and that file.
pub(crate) fn manages(text: &str) -> Option<(Manager, Option<String>)> {
    let state = keys::value(text, "ADMIN_STATE")?;
    let file = keys::value(text, "NETWORK_FILE").filter(|file| !file.is_empty())?;
    // A link that is gone lingers until everything about it is.
    if matches!(state, "unmanaged" | "linger") {
        return None;
    }
    // netplan writes its files for networkd under this name, below the folder of run-time files.
    let name = file.rsplit('/').next().unwrap_or(file);
    let manager = if name.contains("-netplan-") { Manager::Netplan } else { Manager::Networkd };
    Some((manager, Some(file.to_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_with_a_file_is_managed_until_it_is_handed_over() {
        let text = |state: &str, file: &str| {
            format!("# This is private data. Do not parse.\nADMIN_STATE={state}\nOPER_STATE=routable\n{file}DNS=\n")
        };
        let lan = "NETWORK_FILE=/etc/systemd/network/10-lan.network\n";
        let managed = Some((Manager::Networkd, Some("/etc/systemd/network/10-lan.network".to_owned())));
        for state in ["pending", "initialized", "configuring", "configured", "failed"] {
            assert_eq!(manages(&text(state, lan)), managed, "{state}");
        }
        for (state, file) in [("unmanaged", lan), ("linger", lan), ("unmanaged", ""), ("pending", "")] {
            assert_eq!(manages(&text(state, file)), None, "{state} {file}");
        }
        assert_eq!(manages(""), None);
    }

    #[test]
    fn files_of_netplan_are_known_by_their_name() {
        let text = "ADMIN_STATE=configured\nNETWORK_FILE=/run/systemd/network/10-netplan-eth0.network\n";
        let file = "/run/systemd/network/10-netplan-eth0.network".to_owned();
        assert_eq!(manages(text), Some((Manager::Netplan, Some(file))));
    }
}
