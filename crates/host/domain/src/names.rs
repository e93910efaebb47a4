//! What a domain and the devices of its NICs are called. All of it follows from the names of the instance and of the
//! network, so every agent comes to the same, and two machines of one node never to one tap.

use std::fmt::Write as _;

use netloom_types::MacAddr;
use sha2::{Digest as _, Sha256};

/// The name of the domain of an instance. Namespaces have no underscore, so no two instances share one.
pub fn domain_name(namespace: &str, name: &str) -> String {
    format!("{namespace}_{name}")
}

/// What the devices of a NIC are called where nobody says otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceNames {
    /// The tap on the node.
    pub tap: String,
    /// The address in the guest.
    pub mac: MacAddr,
}

impl DeviceNames {
    /// Those of the NIC of an instance on a network.
    pub fn of(namespace: &str, name: &str, network: &str) -> Self {
        let digest = Sha256::digest(format!("{namespace}/{name}/{network}"));
        let mut hex = String::new();
        for byte in digest.iter().take(6) {
            // Writing to a string does not fail.
            write!(hex, "{byte:02x}").ok();
        }
        hex.truncate(11);
        // Locally administered and of one station; other bytes than the tap's, so that one does not tell the other.
        let mac = MacAddr::new([0x02, digest[6], digest[7], digest[8], digest[9], digest[10]]);
        Self { tap: format!("tap{hex}"), mac }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_from_namespace_name_and_network_and_fit_a_link() {
        let names = DeviceNames::of("default", "a", "blue");
        assert_eq!(names, DeviceNames::of("default", "a", "blue"));
        assert_eq!(names.tap.len(), 14);
        assert!(names.tap["tap".len()..].bytes().all(|digit| digit.is_ascii_hexdigit()));
        assert!(!names.mac.is_multicast() && names.mac.bytes()[0] == 2);
        for other in [("default", "a", "red"), ("default", "b", "blue"), ("other", "a", "blue")] {
            let other = DeviceNames::of(other.0, other.1, other.2);
            assert!(other.tap != names.tap && other.mac != names.mac, "{other:?}");
        }
        assert_eq!(domain_name("default", "a"), "default_a");
    }
}
