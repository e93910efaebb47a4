//! The version that a daemon is of.

use std::{fmt, str::FromStr};

/// A version of FRR. What comes after the numbers (`-dev`) does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// The first number.
    pub major: u16,
    /// The second one.
    pub minor: u16,
    /// The third one, 0 where there is none.
    pub patch: u16,
}

impl Version {
    /// The version with these numbers.
    pub const fn new(major: u16, minor: u16, patch: u16) -> Self {
        Self { major, minor, patch }
    }

    /// What `show version` prints: `FRRouting 8.4.4 (host) on Linux(6.1.0)` and more.
    pub(crate) fn shown(text: &str) -> Result<Self, InvalidVersion> {
        let invalid = || InvalidVersion(text.lines().next().unwrap_or_default().to_owned());
        let word = text.split_whitespace().skip_while(|word| *word != "FRRouting").nth(1).ok_or_else(invalid)?;
        word.parse().map_err(|_| invalid())
    }
}

impl FromStr for Version {
    type Err = InvalidVersion;

    fn from_str(text: &str) -> Result<Self, InvalidVersion> {
        let invalid = || InvalidVersion(text.to_owned());
        let numbers = text.split(|other: char| !other.is_ascii_digit() && other != '.').next().unwrap_or_default();
        let mut numbers = numbers.trim_end_matches('.').split('.').map(|number| number.parse().map_err(|_| invalid()));
        let major = numbers.next().unwrap_or_else(|| Err(invalid()))?;
        let minor = numbers.next().unwrap_or_else(|| Err(invalid()))?;
        let patch = numbers.next().unwrap_or(Ok(0))?;
        Ok(Self { major, minor, patch })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// This is no version of FRR.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no version of FRR is in {0:?}")]
pub struct InvalidVersion(String);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn versions_are_read() {
        let shown = "FRRouting 8.4.4 (node1) on Linux(6.1.0).\nCopyright 1996-2005 Kunihiro Ishiguro, et al.\n";
        assert_eq!(Version::shown(shown), Ok(Version::new(8, 4, 4)));
        assert_eq!("10.7.1".parse(), Ok(Version::new(10, 7, 1)));
        assert_eq!("8.5-dev".parse(), Ok(Version::new(8, 5, 0)));
        assert_eq!("10.6.0-rc1-0ubuntu2".parse(), Ok(Version::new(10, 6, 0)));
    }

    #[test]
    fn what_is_no_version_is_found() {
        for wrong in ["", "8", "eight", "8.x", "8.4.99999"] {
            assert!(wrong.parse::<Version>().is_err(), "{wrong}");
        }
        assert!(Version::shown("Quagga 1.2.4").is_err());
        assert!(Version::shown("FRRouting").is_err());
    }

    #[test]
    fn newer_is_greater() {
        assert!(Version::new(10, 0, 0) > Version::new(9, 1, 3));
        assert!(Version::new(8, 4, 4) < Version::new(8, 5, 0));
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text: String) {
            text.parse::<Version>().ok();
            Version::shown(&text).ok();
        }
    }
}
