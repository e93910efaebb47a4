//! The daemons that configure what Netloom asks of FRR, and the releases that they are of.

use std::{fmt, str::FromStr};

/// A daemon of FRR.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Daemon {
    /// Owns the configuration of newer releases and hands it to the others. Older ones have none.
    Mgmtd,
    /// Links, addresses, VRFs, VNIs and the kernel's routes.
    Zebra,
    /// BGP.
    Bgpd,
    /// Static routes.
    Staticd,
    /// Bidirectional forwarding detection.
    Bfdd,
}

impl Daemon {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Mgmtd, Self::Zebra, Self::Bgpd, Self::Staticd, Self::Bfdd];

    /// Its name, which is also that of its program and of its sockets.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mgmtd => "mgmtd",
            Self::Zebra => "zebra",
            Self::Bgpd => "bgpd",
            Self::Staticd => "staticd",
            Self::Bfdd => "bfdd",
        }
    }
}

impl fmt::Display for Daemon {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A release of FRR. What comes after the numbers (`-dev`) does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Release {
    /// The first number.
    pub major: u16,
    /// The second one.
    pub minor: u16,
    /// The third one, 0 where there is none.
    pub patch: u16,
}

impl Release {
    /// The release with these numbers.
    pub const fn new(major: u16, minor: u16, patch: u16) -> Self {
        Self { major, minor, patch }
    }

    /// What `show version` prints: `FRRouting 8.4.4 (host) on Linux(6.1.0)` and more.
    pub(crate) fn shown(text: &str) -> Result<Self, InvalidRelease> {
        let invalid = || InvalidRelease(text.lines().next().unwrap_or_default().to_owned());
        let word = text.split_whitespace().skip_while(|word| *word != "FRRouting").nth(1).ok_or_else(invalid)?;
        word.parse().map_err(|_| invalid())
    }
}

impl FromStr for Release {
    type Err = InvalidRelease;

    fn from_str(text: &str) -> Result<Self, InvalidRelease> {
        let invalid = || InvalidRelease(text.to_owned());
        let numbers = text.split(|other: char| !other.is_ascii_digit() && other != '.').next().unwrap_or_default();
        let mut numbers = numbers.trim_end_matches('.').split('.').map(|number| number.parse().map_err(|_| invalid()));
        let major = numbers.next().unwrap_or_else(|| Err(invalid()))?;
        let minor = numbers.next().unwrap_or_else(|| Err(invalid()))?;
        let patch = numbers.next().unwrap_or(Ok(0))?;
        Ok(Self { major, minor, patch })
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// This is no release of FRR.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no release of FRR is in {0:?}")]
pub struct InvalidRelease(String);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn releases_are_read() {
        let shown = "FRRouting 8.4.4 (node1) on Linux(6.1.0).\nCopyright 1996-2005 Kunihiro Ishiguro, et al.\n";
        assert_eq!(Release::shown(shown), Ok(Release::new(8, 4, 4)));
        assert_eq!("10.7.1".parse(), Ok(Release::new(10, 7, 1)));
        assert_eq!("8.5-dev".parse(), Ok(Release::new(8, 5, 0)));
        assert_eq!("10.6.0-rc1-0ubuntu2".parse(), Ok(Release::new(10, 6, 0)));
    }

    #[test]
    fn what_is_no_release_is_found() {
        for wrong in ["", "8", "eight", "8.x", "8.4.99999"] {
            assert!(wrong.parse::<Release>().is_err(), "{wrong}");
        }
        assert!(Release::shown("Quagga 1.2.4").is_err());
        assert!(Release::shown("FRRouting").is_err());
    }

    #[test]
    fn newer_is_greater() {
        assert!(Release::new(10, 0, 0) > Release::new(9, 1, 3));
        assert!(Release::new(8, 4, 4) < Release::new(8, 5, 0));
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text: String) {
            text.parse::<Release>().ok();
            Release::shown(&text).ok();
        }
    }
}
