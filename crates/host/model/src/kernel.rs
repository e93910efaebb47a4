//! What kernel a host runs, as far as decisions depend on it.
//!
//! A fact of the host like any other: whoever reads the host learns it, and pure code takes it from the observation. What a
//! kernel keeps is not concluded from its version where it can be tried, because distributions carry features back.

use std::{fmt, str::FromStr};

use netloom_types::Protocol;

use crate::{Address, Attr};

/// The first two numbers of a kernel's version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KernelVersion {
    /// The first number.
    pub major: u16,
    /// The second number.
    pub minor: u16,
}

impl KernelVersion {
    /// The oldest kernel that Netloom changes.
    pub const OLDEST: Self = Self { major: 5, minor: 10 };
    /// The first that keeps the protocol of an address.
    pub const ADDRESS_PROTOCOL: Self = Self { major: 5, minor: 18 };
    /// The first that can learn IPv6 neighbours of its own networks from what nobody asked for.
    const UNASKED_NEIGHBOURS: Self = Self { major: 6, minor: 0 };
}

/// A release that does not begin with two numbers.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' does not begin with the two numbers of a kernel version")]
pub struct NoVersion(String);

impl FromStr for KernelVersion {
    type Err = NoVersion;

    /// Reads the release as `uname -r` prints it, such as `5.10.0-32-amd64` or `6.1-rc1`.
    fn from_str(release: &str) -> Result<Self, NoVersion> {
        let mut numbers = release.splitn(3, '.').map(|part| {
            let end = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
            part[..end].parse().ok()
        });
        match (numbers.next().flatten(), numbers.next().flatten()) {
            (Some(major), Some(minor)) => Ok(Self { major, minor }),
            _ => Err(NoVersion(release.to_owned())),
        }
    }
}

impl fmt::Display for KernelVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// What a kernel is and keeps. The default is a kernel that keeps everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KernelFeatures {
    /// Its version; none when the kernel names itself in another way.
    pub version: Option<KernelVersion>,
    /// Whether an address keeps the protocol number of who put it there. Where it does not, every address looks like
    /// somebody else's, and only the ownership record knows ours.
    pub address_protocol: bool,
}

impl Default for KernelFeatures {
    fn default() -> Self {
        Self { version: None, address_protocol: true }
    }
}

impl KernelFeatures {
    /// The oldest kernel that is supported, with nothing carried back to it.
    pub const OLDEST: Self = Self { version: Some(KernelVersion::OLDEST), address_protocol: false };

    /// The version, when it is older than the oldest that Netloom changes.
    pub fn too_old(&self) -> Option<KernelVersion> {
        self.version.filter(|version| *version < KernelVersion::OLDEST)
    }

    /// Whether links have this property, at all its values. A kernel that does not name its version has all of them.
    pub fn has(&self, attr: Attr) -> bool {
        match attr {
            Attr::Ipv6AcceptUntrackedNa => {
                self.version.is_none_or(|version| version >= KernelVersion::UNASKED_NEIGHBOURS)
            }
            _ => true,
        }
    }

    /// The address as this kernel shows it after it was added.
    #[must_use]
    pub fn kept(&self, address: Address) -> Address {
        let protocol = if self.address_protocol { address.protocol } else { Protocol::UNSPEC };
        Address { protocol, ..address }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_is_read_up_to_its_second_number() {
        let version = |text: &str| text.parse::<KernelVersion>().ok().map(|v| (v.major, v.minor));
        assert_eq!(version("5.10.0-32-amd64"), Some((5, 10)));
        assert_eq!(version("7.2-rc1"), Some((7, 2)));
        assert_eq!(version("6.12+deb13"), Some((6, 12)));
        assert_eq!(version("4.18.0-553.el8.x86_64"), Some((4, 18)));
        for text in ["", "5", "five.ten", ".5", "99999999.1"] {
            assert_eq!(version(text), None, "{text}");
        }
    }

    #[test]
    fn a_property_that_came_later_is_not_there_before() {
        let of = |major, minor| KernelFeatures {
            version: Some(KernelVersion { major, minor }),
            ..KernelFeatures::default()
        };
        let attr = Attr::Ipv6AcceptUntrackedNa;
        assert_eq!((of(5, 19).has(attr), of(6, 0).has(attr)), (false, true));
        assert!(KernelFeatures::default().has(attr) && of(5, 10).has(Attr::Ipv4ArpAccept));
    }

    #[test]
    fn kernels_before_the_oldest_are_too_old() {
        let of = |major, minor| {
            KernelFeatures { version: Some(KernelVersion { major, minor }), ..KernelFeatures::default() }.too_old()
        };
        assert_eq!(of(5, 9), Some(KernelVersion { major: 5, minor: 9 }));
        assert_eq!((of(5, 10), of(6, 1), KernelFeatures::default().too_old()), (None, None, None));
        assert_eq!(KernelFeatures::OLDEST.too_old(), None);
    }
}
