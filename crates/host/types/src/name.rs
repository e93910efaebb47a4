//! Link names and alternative names, by the kernel's own rules.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::Invalid;

/// The name of a link: 1 to 15 bytes, no slash, colon or white space, neither `.` nor `..`.
///
/// Stored inline and padded with zero bytes, so it is `Copy` and its order is that of its text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct IfName([u8; Self::MAX]);

impl IfName {
    /// The longest name that the kernel takes, in bytes.
    pub const MAX: usize = 15;

    /// The loopback link, which every network namespace has.
    pub const LO: Self = {
        let mut name = [0; Self::MAX];
        name[0] = b'l';
        name[1] = b'o';
        Self(name)
    };

    /// The name as text.
    ///
    /// # Panics
    /// Never: the bytes come from a `str`.
    pub fn as_str(&self) -> &str {
        let len = self.0.iter().position(|&b| b == 0).unwrap_or(Self::MAX);
        std::str::from_utf8(&self.0[..len]).expect("an IfName is only ever built from a str")
    }
}

impl FromStr for IfName {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        check_chars("link name", text)?;
        if text.len() > Self::MAX {
            return Err(Invalid::text("link name", text, "the kernel takes at most 15 bytes; shorten it"));
        }
        let mut name = [0; Self::MAX];
        name[..text.len()].copy_from_slice(text.as_bytes());
        Ok(Self(name))
    }
}

impl TryFrom<String> for IfName {
    type Error = Invalid;

    fn try_from(text: String) -> Result<Self, Invalid> {
        text.parse()
    }
}

impl From<IfName> for String {
    fn from(name: IfName) -> Self {
        name.as_str().to_owned()
    }
}

impl fmt::Display for IfName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for IfName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

/// An alternative name of a link: like a link name, but up to 127 bytes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct AltName(String);

impl AltName {
    /// The longest alternative name that the kernel takes, in bytes.
    pub const MAX: usize = 127;

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for AltName {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        check_chars("alternative name", text)?;
        if text.len() > Self::MAX {
            return Err(Invalid::text("alternative name", text, "the kernel takes at most 127 bytes"));
        }
        Ok(Self(text.to_owned()))
    }
}

impl TryFrom<String> for AltName {
    type Error = Invalid;

    fn try_from(text: String) -> Result<Self, Invalid> {
        text.parse()
    }
}

impl From<AltName> for String {
    fn from(name: AltName) -> Self {
        name.0
    }
}

impl fmt::Display for AltName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

fn check_chars(what: &'static str, text: &str) -> Result<(), Invalid> {
    if text.is_empty() {
        return Err(Invalid::text(what, text, "a name must not be empty"));
    }
    if text == "." || text == ".." {
        return Err(Invalid::text(what, text, "the kernel refuses this name"));
    }
    // The kernel's isspace() is that of Latin-1, so byte 0xa0 would count; inside UTF-8 text it is a
    // continuation byte and reaches the kernel all the same.
    if text.bytes().any(|b| b == b'/' || b == b':' || b == 0xa0 || b.is_ascii_whitespace() || b == 0x0b || b == 0) {
        return Err(Invalid::text(what, text, "a name must not contain '/', ':' or white space"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_kernels_rules() {
        for good in ["lo", "eth0", "bond0.4094", "a", "fifteen-bytes-x", "enp1s0f0np0", "naïve"] {
            assert_eq!(good.parse::<IfName>().unwrap().as_str(), good);
        }
        for bad in ["", ".", "..", "a/b", "a b", "a:b", "a\tb", "a\u{b}b", "sixteen-bytes-xx", "a\0b"] {
            assert!(bad.parse::<IfName>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn order_is_that_of_the_text() {
        let mut names: Vec<IfName> = ["b", "ab", "a", "a1"].iter().map(|n| n.parse().unwrap()).collect();
        names.sort();
        assert_eq!(names.iter().map(IfName::as_str).collect::<Vec<_>>(), ["a", "a1", "ab", "b"]);
    }

    #[test]
    fn loopback_constant_is_lo() {
        assert_eq!(IfName::LO, "lo".parse().unwrap());
    }
}
