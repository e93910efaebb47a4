//! Addresses that a host can have.

use std::net::Ipv4Addr;

use netloom_types::Ipv4Net;

/// Whether any host can have this address: not "this network", not the machine itself, no group, and
/// nothing above.
pub(crate) fn is_a_hosts(address: Ipv4Addr) -> bool {
    let first = address.octets()[0];
    !address.is_loopback() && first != 0 && first < 224
}

/// Whether a host on the subnet can have this address: not its first and not its last, unless there are
/// no others.
pub(crate) fn is_a_hosts_of(address: Ipv4Addr, subnet: Ipv4Net) -> bool {
    let ends = [subnet.network(), subnet.broadcast()];
    is_a_hosts(address) && subnet.contains(&address) && (subnet.prefix_len() >= 31 || !ends.contains(&address))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_addresses_belong_to_nobody() {
        for good in ["192.0.2.1", "10.0.0.1", "223.255.255.254", "169.254.7.7"] {
            assert!(is_a_hosts(good.parse().unwrap()), "{good}");
        }
        for bad in ["0.0.0.0", "0.1.2.3", "127.0.0.1", "224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255"] {
            assert!(!is_a_hosts(bad.parse().unwrap()), "{bad}");
        }
    }

    #[test]
    fn the_ends_of_a_subnet_belong_to_nobody() {
        let table = [
            ("192.0.2.1", "192.0.2.0/24", true),
            ("192.0.2.0", "192.0.2.0/24", false),
            ("192.0.2.255", "192.0.2.0/24", false),
            ("192.0.3.1", "192.0.2.0/24", false),
            ("192.0.2.0", "192.0.2.0/31", true),
            ("192.0.2.1", "192.0.2.0/31", true),
            ("192.0.2.7", "192.0.2.7/32", true),
        ];
        for (address, subnet, wanted) in table {
            let (address, subnet) = (address.parse().unwrap(), subnet.parse().unwrap());
            assert_eq!(is_a_hosts_of(address, subnet), wanted, "{address} in {subnet}");
        }
    }
}
