//! NetworkManager: `/run/NetworkManager/devices/INDEX`.
//!
//! The key `managed` is there only when it is known; a device that others configured and that is only watched has none.

use crate::{Manager, keys};

/// Whether it manages the device; `netplan` says whether netplan wrote the connection for it.
pub(crate) fn manages(text: &str, netplan: bool) -> Option<(Manager, Option<String>)> {
    let owner = if netplan { Manager::Netplan } else { Manager::NetworkManager };
    matches!(keys::value(text, "managed")?, "true" | "1").then_some((owner, None))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_managed_when_the_file_says_so() {
        let text = "[device]\nmanaged=true\nconnection-uuid=5f1c3b8e-0000-4000-8000-000000000001\n";
        assert_eq!(manages(text, false), Some((Manager::NetworkManager, None)));
        assert_eq!(manages(text, true), Some((Manager::Netplan, None)));
        assert_eq!(manages("[device]\nmanaged=false\n", true), None);
        assert_eq!(manages("[device]\nunmanaged=true\nperm-hw-addr-fake=02:00:00:00:00:01\n", false), None);
    }
}
