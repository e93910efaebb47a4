//! Hardware addresses of six bytes.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::Invalid;

/// A link-layer address of six bytes; printed in lower case with colons.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct MacAddr([u8; 6]);

impl MacAddr {
    /// The address made of these bytes.
    pub const fn new(bytes: [u8; 6]) -> Self {
        Self(bytes)
    }

    /// The bytes in transmission order.
    pub const fn bytes(self) -> [u8; 6] {
        self.0
    }

    /// Whether this names a group of stations rather than one.
    pub const fn is_multicast(self) -> bool {
        self.0[0] & 1 == 1
    }

    /// Whether all six bytes are zero.
    pub fn is_zero(self) -> bool {
        self.0 == [0; 6]
    }
}

impl FromStr for MacAddr {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        const WHY: &str = "expected six pairs of hexadecimal digits such as 02:00:5e:00:00:01";
        let separator = if text.contains('-') { '-' } else { ':' };
        let mut bytes = [0; 6];
        let mut parts = text.split(separator);
        for byte in &mut bytes {
            let part = parts.next().unwrap_or_default();
            if part.len() != 2 || !part.bytes().all(|b| b.is_ascii_hexdigit()) {
                return Err(Invalid::text("MAC address", text, WHY));
            }
            *byte = u8::from_str_radix(part, 16).map_err(|_| Invalid::text("MAC address", text, WHY))?;
        }
        if parts.next().is_some() {
            return Err(Invalid::text("MAC address", text, WHY));
        }
        Ok(Self(bytes))
    }
}

impl TryFrom<String> for MacAddr {
    type Error = Invalid;

    fn try_from(text: String) -> Result<Self, Invalid> {
        text.parse()
    }
}

impl From<MacAddr> for String {
    fn from(mac: MacAddr) -> Self {
        mac.to_string()
    }
}

impl fmt::Display for MacAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, byte) in self.0.iter().enumerate() {
            write!(f, "{}{byte:02x}", if i == 0 { "" } else { ":" })?;
        }
        Ok(())
    }
}

impl fmt::Debug for MacAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings_and_both_cases_are_read() {
        let mac = MacAddr::new([2, 0, 0x5e, 0xab, 0xcd, 1]);
        assert_eq!("02:00:5E:AB:cd:01".parse(), Ok(mac));
        assert_eq!("02-00-5e-ab-cd-01".parse(), Ok(mac));
        assert_eq!(mac.to_string(), "02:00:5e:ab:cd:01");
    }

    #[test]
    fn anything_else_is_refused() {
        for bad in
            ["", "02:00:5e:ab:cd", "02:00:5e:ab:cd:01:02", "2:0:5e:ab:cd:1", "02:00:5e:ab:cd:0g", "+2:00:5e:ab:cd:01"]
        {
            assert!(bad.parse::<MacAddr>().is_err(), "{bad:?}");
        }
    }
}
