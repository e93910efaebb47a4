//! Reading texts that mean something, with one message for each way of being wrong.

use std::{
    net::{IpAddr, Ipv4Addr},
    time::Duration,
};

use ipnet::IpNet;
use netloom_api::fabric::text::{Cidr, Community, Span};
use netloom_types::{Family, MacAddr};

use crate::Findings;

/// The community of routes that were learned from the fabric; its filters hold such routes back.
const LEARNED: (u16, u16) = (65169, 200);

/// Communities that routers know by name.
const WELL_KNOWN: [&str; 8] =
    ["no-export", "no-advertise", "local-AS", "no-peer", "graceful-shutdown", "blackhole", "accept-own", "internet"];

/// An address with a prefix length, read as strictly as the kernel's tools do: no octet and no length
/// has a leading zero.
pub(crate) fn network(text: &str) -> Option<IpNet> {
    let (address, length) = text.split_once('/')?;
    let plain = length.bytes().all(|digit| digit.is_ascii_digit()) && (length.len() == 1 || !length.starts_with('0'));
    IpNet::new(address.parse().ok()?, length.parse().ok().filter(|_| plain)?).ok()
}

/// A network, with no bit set beyond its length.
pub(crate) fn prefix(findings: &mut Findings, path: &str, text: &str) -> Option<IpNet> {
    let Some(net) = network(text) else {
        findings.invalid(path, text, "must be a network in CIDR notation, such as 198.51.100.0/24 or 2001:db8::/32");
        return None;
    };
    if net.trunc() != net {
        let network = net.trunc();
        findings.invalid(path, text, format!("has address bits beyond its prefix length; the network is {network}"));
        return None;
    }
    Some(net)
}

/// A network of one family.
pub(crate) fn prefix_of(findings: &mut Findings, path: &str, text: &str, family: Family) -> Option<IpNet> {
    let net = prefix(findings, path, text)?;
    if Family::of_net(net) == family {
        return Some(net);
    }
    findings.invalid(path, text, format!("must be an {} network", shown(family)));
    None
}

/// A list of networks, none of which is there twice in another spelling.
pub(crate) fn prefixes(findings: &mut Findings, path: &str, texts: &[Cidr]) -> Vec<IpNet> {
    let mut seen = Vec::with_capacity(texts.len());
    for (index, text) in texts.iter().enumerate() {
        let path = format!("{path}[{index}]");
        let Some(net) = prefix(findings, &path, text) else { continue };
        if seen.contains(&net) {
            findings.duplicate(path, &**text, format!("the network {net} is in the list already"));
        } else {
            seen.push(net);
        }
    }
    seen
}

/// An address without a prefix length.
pub(crate) fn address(findings: &mut Findings, path: &str, text: &str) -> Option<IpAddr> {
    let address = text.parse::<IpAddr>().ok();
    if address.is_none() {
        findings.invalid(path, text, "must be an IP address without a prefix length");
    }
    address
}

/// The address of one station that packets can be sent to.
pub(crate) fn station(findings: &mut Findings, path: &str, text: &str) -> Option<IpAddr> {
    let address = address(findings, path, text)?;
    let broadcast = address == IpAddr::V4(Ipv4Addr::BROADCAST);
    if address.is_unspecified() || address.is_multicast() || address.is_loopback() || broadcast {
        findings.invalid(path, text, "must be the address of one station on a network");
        return None;
    }
    Some(address)
}

/// The address of one station, of one family.
pub(crate) fn station_of(findings: &mut Findings, path: &str, text: &str, family: Family) -> Option<IpAddr> {
    let address = station(findings, path, text)?;
    if Family::of(address) == family {
        return Some(address);
    }
    findings.invalid(path, text, format!("must be an {} address", shown(family)));
    None
}

/// The hardware address of one station.
pub(crate) fn station_mac(findings: &mut Findings, path: &str, text: &str) {
    match text.parse::<MacAddr>() {
        Ok(mac) if mac.is_multicast() || mac.is_zero() => {
            findings.invalid(path, text, "must be the hardware address of one station: not zero, and no group address");
        }
        Ok(_) => {}
        Err(error) => findings.invalid(path, text, error.to_string()),
    }
}

/// BGP communities.
pub(crate) fn communities(findings: &mut Findings, path: &str, texts: &[Community]) {
    for (index, text) in texts.iter().enumerate() {
        community(findings, &format!("{path}[{index}]"), text);
    }
}

/// A BGP community.
pub(crate) fn community(findings: &mut Findings, path: &str, text: &str) {
    if WELL_KNOWN.iter().any(|name| name.eq_ignore_ascii_case(text)) {
        return;
    }
    match text.split_once(':').and_then(|(high, low)| Some((high.parse().ok()?, low.parse().ok()?))) {
        Some(LEARNED) => {
            findings.invalid(
                path,
                text,
                "marks routes that were learned from the fabric, which are never announced back to it",
            );
        }
        Some::<(u16, u16)>(_) => {}
        None => {
            findings.invalid(
                path,
                text,
                "must be two numbers from 0 to 65535 joined by a colon, or a well-known name such as no-export",
            );
        }
    }
}

/// A BGP route target.
pub(crate) fn route_target(findings: &mut Findings, path: &str, text: &str) {
    if !is_route_target(text) {
        findings.invalid(
            path,
            text,
            "must be AS:NUMBER or ADDRESS:NUMBER; after an AS beyond 65535 and after an address NUMBER ends at 65535",
        );
    }
}

fn is_route_target(text: &str) -> bool {
    let Some((administrator, number)) = text.split_once(':') else { return false };
    if administrator.contains('.') {
        return administrator.parse::<Ipv4Addr>().is_ok() && number.parse::<u16>().is_ok();
    }
    match administrator.parse::<u32>() {
        Ok(asn) if u16::try_from(asn).is_ok() => number.parse::<u32>().is_ok(),
        Ok(_) => number.parse::<u16>().is_ok(),
        Err(_) => false,
    }
}

/// The autonomous system of a workload; an empty text leaves the choice to the cluster.
pub(crate) fn workload_as(findings: &mut Findings, path: &str, text: &str) {
    if text.is_empty() {
        return;
    }
    match text.parse::<u32>() {
        Ok(asn) => autonomous_system(findings, path, asn),
        Err(_) => findings.invalid(path, text, "must be the number of an autonomous system, at most 4294967294"),
    }
}

/// The number of an autonomous system that a router can have.
pub(crate) fn autonomous_system(findings: &mut Findings, path: &str, asn: u32) {
    if matches!(asn, 0 | 23456 | 65535 | u32::MAX) {
        findings.invalid(path, asn, "is reserved and cannot be the autonomous system of a router");
    }
}

/// The times of a BGP session, each when it is given.
pub(crate) fn timers(findings: &mut Findings, parent: &str, hold: Option<&Span>, keepalive: Option<&Span>) {
    let hold_path = format!("{parent}.holdTime");
    let hold_value = hold.and_then(|text| seconds(findings, &hold_path, text));
    let keepalive_path = format!("{parent}.keepaliveTime");
    let keepalive_value = keepalive.and_then(|text| seconds(findings, &keepalive_path, text));
    if let (Some(text), Some(1 | 2)) = (hold, hold_value) {
        findings.invalid(hold_path, &**text, "must be 0s, which means for ever, or at least 3s");
    }
    if let (Some(text), Some(hold), Some(keepalive)) = (keepalive, hold_value, keepalive_value)
        && hold > 0
        && keepalive >= hold
    {
        findings.invalid(keepalive_path, &**text, format!("must be shorter than the hold time of {hold}s"));
    }
}

/// A span of whole seconds that fits a BGP message.
fn seconds(findings: &mut Findings, path: &str, text: &str) -> Option<u16> {
    let whole = span(text).filter(|span| span.subsec_nanos() == 0).and_then(|span| u16::try_from(span.as_secs()).ok());
    if whole.is_none() {
        findings.invalid(path, text, "must be a number of whole seconds up to 65535, such as 90s or 1m30s");
    }
    whole
}

/// A time span in Go's notation.
fn span(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut total = Duration::ZERO;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, tail) = rest.split_at(digits);
        let unit = tail.find(|c: char| c.is_ascii_digit()).unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(unit);
        let scale = match unit {
            "ns" => 1e-9,
            "us" => 1e-6,
            "ms" => 1e-3,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            _ => return None,
        };
        let part = Duration::try_from_secs_f64(number.parse::<f64>().ok()? * scale).ok()?;
        total = total.checked_add(part)?;
        rest = tail;
    }
    (!text.is_empty()).then_some(total)
}

/// The name of a family as people write it.
pub(crate) fn shown(family: Family) -> &'static str {
    match family {
        Family::Ipv4 => "IPv4",
        Family::Ipv6 => "IPv6",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ReviewResult;

    fn found(check: impl FnOnce(&mut Findings)) -> Vec<String> {
        let mut findings = Findings::default();
        check(&mut findings);
        ReviewResult::from(findings).errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_network_is_given_without_host_bits() {
        assert!(found(|f| assert!(prefix(f, "p", "10.0.0.0/8").is_some())).is_empty());
        let errors = found(|f| assert!(prefix(f, "p", "10.0.0.1/8").is_none()));
        assert_eq!(
            errors,
            [r#"p: Invalid value: "10.0.0.1/8": has address bits beyond its prefix length; the network is 10.0.0.0/8"#]
        );
        assert_eq!(found(|f| assert!(prefix(f, "p", "10.0.0.0").is_none())).len(), 1);
    }

    #[test]
    fn numbers_have_no_leading_zeros() {
        assert!(network("10.0.0.0/8").is_some() && network("::/0").is_some());
        for bad in ["010.0.0.0/8", "10.0.0.0/08", "10.0.0.0/+8", "10.0.0.0/", "10.0.0.0/33", "/8", "::/129"] {
            assert_eq!(network(bad), None, "{bad}");
        }
    }

    #[test]
    fn the_same_network_in_two_spellings_is_there_twice() {
        let list = |texts: &[&str]| texts.iter().map(|&text| Cidr::from(text)).collect::<Vec<_>>();
        assert!(found(|f| drop(prefixes(f, "p", &list(&["::/0", "0.0.0.0/0"])))).is_empty());
        let errors = found(|f| drop(prefixes(f, "p", &list(&["::/0", "0:0::/0"]))));
        assert_eq!(errors, [r#"p[1]: Duplicate value: "0:0::/0": the network ::/0 is in the list already"#]);
    }

    #[test]
    fn communities_are_two_short_numbers_or_known() {
        for good in ["64500:999", "0:0", "no-export", "NO-EXPORT"] {
            assert!(found(|f| community(f, "c", good)).is_empty(), "{good}");
        }
        for bad in ["70000:1", "1", "1:2:3", "no-idea", ""] {
            let why = "must be two numbers from 0 to 65535 joined by a colon, or a well-known name such as no-export";
            assert_eq!(found(|f| community(f, "c", bad)), [format!("c: Invalid value: {bad:?}: {why}")]);
        }
        let why = "marks routes that were learned from the fabric, which are never announced back to it";
        assert_eq!(found(|f| community(f, "c", "65169:200")), [format!("c: Invalid value: \"65169:200\": {why}")]);
    }

    #[test]
    fn route_targets_fit_into_six_bytes() {
        for good in ["64500:4294967295", "4200000000:65535", "192.0.2.1:7"] {
            assert!(is_route_target(good), "{good}");
        }
        for bad in ["64500", "64500:4294967296", "4200000000:65536", "192.0.2.1:70000", "192.0.2:7", ":"] {
            assert!(!is_route_target(bad), "{bad}");
        }
    }

    #[test]
    fn timers_are_whole_seconds_in_order() {
        let check = |hold: &str, keepalive: &str| {
            found(|f| timers(f, "spec", Some(&Span::from(hold)), Some(&Span::from(keepalive))))
        };
        assert!(check("90s", "30s").is_empty());
        assert!(check("1m30s", "89s").is_empty());
        assert!(check("0s", "30s").is_empty());
        assert_eq!(
            check("2s", "1s"),
            [r#"spec.holdTime: Invalid value: "2s": must be 0s, which means for ever, or at least 3s"#]
        );
        assert_eq!(
            check("30s", "30s"),
            [r#"spec.keepaliveTime: Invalid value: "30s": must be shorter than the hold time of 30s"#]
        );
        for bad in ["1500ms", "90000s"] {
            let why = "must be a number of whole seconds up to 65535, such as 90s or 1m30s";
            assert_eq!(check(bad, "1s"), [format!("spec.holdTime: Invalid value: {bad:?}: {why}")]);
            assert_eq!(check("0s", bad), [format!("spec.keepaliveTime: Invalid value: {bad:?}: {why}")]);
        }
    }

    #[test]
    fn spans_are_read_as_go_writes_them() {
        assert_eq!(span("1h2m3s"), Some(Duration::from_secs(3723)));
        assert_eq!(span("1.5s"), Some(Duration::from_millis(1500)));
        for bad in ["", "5", "s", "5x", "1..5s"] {
            assert_eq!(span(bad), None, "{bad}");
        }
    }

    #[test]
    fn reserved_autonomous_systems_are_refused() {
        assert!(found(|f| workload_as(f, "a", "")).is_empty());
        assert!(found(|f| workload_as(f, "a", "64512")).is_empty());
        for bad in ["0", "23456", "65535", "4294967295"] {
            let why = "is reserved and cannot be the autonomous system of a router";
            assert_eq!(found(|f| workload_as(f, "a", bad)), [format!("a: Invalid value: {bad}: {why}")]);
        }
        for bad in ["99999999999", "AS1"] {
            let why = "must be the number of an autonomous system, at most 4294967294";
            assert_eq!(found(|f| workload_as(f, "a", bad)), [format!("a: Invalid value: {bad:?}: {why}")]);
        }
    }
}
