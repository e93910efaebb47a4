//! The property table of the model, arranged for a document: by section and by block, with the
//! other spellings of each key.

use std::sync::LazyLock;

use netloom_model::{Attr, LinkKind, Section};

/// Blocks of link kinds, in the order in which they are printed.
pub(crate) const BLOCKS: &[&str] = &[
    "vlan",
    "bridge",
    "link-aggregation",
    "vrf",
    "vxlan",
    "veth",
    "mac-vlan",
    "mac-vtap",
    "ipvlan",
    "ip-tunnel",
    "gre",
];

/// Keys of an interface that only reports have: read, kept, and without effect.
pub(crate) const READ_ONLY: &[&str] = &[
    "min-mtu",
    "max-mtu",
    "permanent-mac-address",
    "driver",
    "ifIndex",
    "adminStatus",
    "linkStatus",
    "physAddress",
    "higherLayerInterface",
    "lowerLayerInterface",
    "statistics",
    "capabilities",
    "madeBy",
    "madeFor",
];

/// Keys of an interface that are kept as they are and refused when they ask for something.
pub(crate) const KEPT: &[&str] =
    &["802.1x", "mptcp", "dispatch", "wait-ip", "hsr", "macsec", "ipsec", "libreswan", "xfrm", "infiniband"];
/// The same inside of `ethernet`.
pub(crate) const KEPT_ETHERNET: &[(&str, &str)] = &[("sr-iov", "ethernet.sr-iov")];
/// The same inside of `ethtool`.
pub(crate) const KEPT_ETHTOOL: &[(&str, &str)] = &[("coalesce", "ethtool.coalesce"), ("fec", "ethtool.fec")];

static SECTIONS: LazyLock<Vec<(Section, Vec<Attr>)>> = LazyLock::new(|| {
    let mut sections: Vec<(Section, Vec<Attr>)> = Vec::new();
    for &attr in Attr::ALL.iter().filter(|a| a.section() != Section::Kind) {
        match sections.iter_mut().find(|(section, _)| *section == attr.section()) {
            Some((_, attrs)) => attrs.push(attr),
            None => sections.push((attr.section(), vec![attr])),
        }
    }
    sections
});

static KIND_BLOCKS: LazyLock<Vec<(&'static str, Vec<Attr>)>> = LazyLock::new(|| {
    let attrs_of = |block: &str| {
        let in_block = |attr: &Attr| kinds_of(block).any(|kind| attr.applies_to(kind));
        Attr::ALL.iter().copied().filter(|a| a.section() == Section::Kind).filter(in_block).collect()
    };
    BLOCKS.iter().map(|&block| (block, attrs_of(block))).collect()
});

/// The kinds whose block has this key.
pub(crate) fn kinds_of(block: &str) -> impl Iterator<Item = &'static LinkKind> {
    LinkKind::KNOWN.iter().filter(move |kind| kind.block() == block)
}

/// The block's key as one of [`BLOCKS`], for kinds that have one.
pub(crate) fn block_of(kind: &LinkKind) -> Option<&'static str> {
    BLOCKS.iter().copied().find(|&block| block == kind.block())
}

/// The properties of a section other than `Kind`.
pub(crate) fn of_section(section: Section) -> &'static [Attr] {
    SECTIONS.iter().find(|(s, _)| *s == section).map_or(&[], |(_, attrs)| attrs)
}

/// The properties in the block of a kind.
pub(crate) fn of_block(block: &str) -> &'static [Attr] {
    KIND_BLOCKS.iter().find(|(b, _)| *b == block).map_or(&[], |(_, attrs)| attrs)
}

/// Every spelling of a property's key; the first one is printed.
pub(crate) fn keys(attr: Attr) -> &'static [&'static str] {
    static KEYS: LazyLock<Vec<Vec<&'static str>>> = LazyLock::new(|| {
        Attr::ALL
            .iter()
            .map(|&attr| std::iter::once(attr.key()).chain(aliases(attr).iter().copied()).collect())
            .collect()
    });
    &KEYS[attr as usize]
}

fn aliases(attr: Attr) -> &'static [&'static str] {
    const ALIASES: &[(Attr, &[&str])] = &[
        (Attr::Mac, &["macAddress"]),
        (Attr::BridgeGroupForwardMask, &["group-fwd-mask"]),
        (Attr::BondNumPeerNotif, &["num_unsol_na"]),
        (Attr::MacvlanPromiscuous, &["accept-all-mac"]),
        (Attr::Ipv6Autoconf, &["autoConf"]),
        (Attr::Ipv6DadTransmits, &["dupAddressDetectTransmit"]),
    ];
    ALIASES.iter().find(|(a, _)| *a == attr).map_or(&[], |(_, keys)| keys)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_property_has_a_place() {
        for &attr in Attr::ALL {
            let placed = match attr.section() {
                Section::Kind => BLOCKS.iter().any(|block| of_block(block).contains(&attr)),
                section => of_section(section).contains(&attr),
            };
            assert!(placed, "{attr:?}");
            assert_eq!(keys(attr)[0], attr.key());
        }
    }
}
