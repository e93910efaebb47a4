//! Addresses and ranges in built-in kinds, judged as strictly as Kubernetes 1.36 does: what different programs
//! would read differently is none.

use std::net::{IpAddr, Ipv6Addr};

use netloom_schema::{FieldError, formats, names};
use serde_json::json;

/// What is wrong with an address; it may be written in any form.
pub(super) fn bad_address(path: &str, text: &str) -> Option<FieldError> {
    let invalid = |why: &str| Some(FieldError::invalid(path, &json!(text), why));
    match (formats::ip(text), text.parse::<IpAddr>()) {
        (None, _) => invalid("must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"),
        (Some(_), Err(_)) => invalid("must not have leading 0s"),
        (Some(_), Ok(address)) if is_mapped(address) => invalid("must not be an IPv4-mapped IPv6 address"),
        (Some(_), Ok(_)) => None,
    }
}

/// The same, and it is written as everybody writes it.
pub(super) fn bad_canonical_address(path: &str, text: &str) -> Option<FieldError> {
    bad_address(path, text).or_else(|| {
        let canonical = text.parse::<IpAddr>().ok()?.to_string();
        let why = format!("must be in canonical form ({canonical:?})");
        (canonical != text).then(|| FieldError::invalid(path, &json!(text), why))
    })
}

/// Why nothing can be reached at an address from elsewhere.
pub(super) fn unreachable(path: &str, text: &str, address: IpAddr) -> Option<FieldError> {
    let (local, local_multicast) = match address {
        IpAddr::V4(address) => (address.is_link_local(), address.octets()[..3] == [224, 0, 0]),
        IpAddr::V6(address) => (address.is_unicast_link_local(), is_local_multicast(address)),
    };
    let why = if address.is_unspecified() {
        format!("may not be unspecified ({text})")
    } else if address.is_loopback() {
        "may not be in the loopback range (127.0.0.0/8, ::1/128)".to_owned()
    } else if local {
        "may not be in the link-local range (169.254.0.0/16, fe80::/10)".to_owned()
    } else if local_multicast {
        "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)".to_owned()
    } else {
        return None;
    };
    Some(FieldError::invalid(path, &json!(text), why))
}

/// What is wrong with a range such as `10.0.0.0/8`.
pub(super) fn bad_range(path: &str, text: &str) -> Option<FieldError> {
    let invalid = |why: &str| Some(FieldError::invalid(path, &json!(text), why));
    let Some((address, length)) = formats::range(text) else {
        return invalid("must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)");
    };
    let plain = text
        .split_once('/')
        .is_some_and(|(before, after)| before.parse::<IpAddr>().is_ok() && after == length.to_string());
    if !plain {
        return invalid("must not have leading 0s in IP or prefix length");
    }
    if is_mapped(address) {
        return invalid("must not have an IPv4-mapped IPv6 address");
    }
    let beyond = match address {
        IpAddr::V4(address) => address.to_bits().checked_shl(length.into()).unwrap_or(0) != 0,
        IpAddr::V6(address) => address.to_bits().checked_shl(length.into()).unwrap_or(0) != 0,
    };
    if beyond { invalid("must not have bits set beyond the prefix length") } else { None }
}

/// What is wrong with a full name of a host.
pub(super) fn bad_host(path: &str, text: &str) -> Option<FieldError> {
    if text.is_empty() {
        return Some(FieldError::required(path, ""));
    }
    let name = text.strip_suffix('.').unwrap_or(text);
    let invalid = |value: &str, why: String| Some(FieldError::invalid(path, &json!(value), why));
    let problems = names::dns_subdomain(name);
    if !problems.is_empty() {
        return invalid(name, problems.join(","));
    }
    if !name.contains('.') {
        return invalid(name, "should be a domain with at least two segments separated by dots".to_owned());
    }
    let long = name.split('.').map(|label| (label, names::dns_label(label))).find(|(_, problems)| !problems.is_empty());
    long.and_then(|(label, problems)| invalid(label, problems.join(",")))
}

fn is_mapped(address: IpAddr) -> bool {
    matches!(address, IpAddr::V6(address) if address.to_ipv4_mapped().is_some())
}

fn is_local_multicast(address: Ipv6Addr) -> bool {
    address.segments()[0] & 0xff0f == 0xff02
}

#[cfg(test)]
mod tests {
    use super::*;

    fn why(error: Option<FieldError>) -> String {
        error.map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn what_can_be_read_in_two_ways_is_no_address() {
        assert_eq!(why(bad_address("a", "10.0.0.1")), "");
        assert_eq!(why(bad_address("a", "2001:DB8::1")), "");
        assert!(why(bad_address("a", "10.0.0.256")).contains("must be a valid IP address"));
        assert!(why(bad_address("a", "010.0.0.1")).contains("leading 0s"));
        assert!(why(bad_address("a", "::ffff:10.0.0.1")).contains("IPv4-mapped"));
        assert!(why(bad_canonical_address("a", "2001:DB8::1")).contains("canonical form (\"2001:db8::1\")"));
        assert!(why(bad_host("a", "alone")).contains("at least two segments"));
    }

    #[test]
    fn a_range_has_nothing_beyond_its_length() {
        for good in ["10.0.0.0/24", "0.0.0.0/0", "10.0.0.1/32", "::/0", "2001:db8::/64", "2001:db8::1/128"] {
            assert_eq!(why(bad_range("a", good)), "");
        }
        let bad =
            ["10.0.0.0", "10.0.0.0/33", "10.0.0.1/24", "10.0.0.0/024", "010.0.0.0/24", "::1/64", "::ffff:10.0.0.0/120"];
        for bad in bad {
            assert_ne!(why(bad_range("a", bad)), "", "{bad}");
        }
    }

    #[test]
    fn endpoints_are_elsewhere() {
        for bad in ["0.0.0.0", "127.0.0.1", "169.254.1.1", "224.0.0.5", "::", "::1", "fe80::1", "ff02::1"] {
            assert_ne!(why(unreachable("a", bad, bad.parse().unwrap())), "", "{bad}");
        }
        assert_eq!(why(unreachable("a", "10.0.0.1", "10.0.0.1".parse().unwrap())), "");
    }
}
