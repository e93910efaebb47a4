//! Ranges of VLAN and VXLAN numbers that tenants may use, and the lowest that is free.

use std::{fmt, str::FromStr};

use crate::{Bitmask, Numbers};

/// What a number stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum VniKind {
    /// A VLAN id: 1 to 4094.
    Vlan,
    /// A VXLAN network identifier: 1 to 16777214.
    Vxlan,
}

/// Numbers that networks of tenants can have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VniRange {
    kind: VniKind,
    numbers: Numbers,
}

/// Why a text is no range of numbers.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadVniRange {
    /// A part is neither a number nor two with a dash.
    #[error("{0:?} is neither a number nor two numbers with a dash between them")]
    Form(String),
    /// The first number is above the last.
    #[error("{0:?} leads from a higher to a lower number")]
    Order(String),
    /// A number that this kind of network does not have.
    #[error("{number} is not a {kind} number: 1 to {} are", kind.highest())]
    OutOfRange {
        /// The kind of network.
        kind: VniKind,
        /// The number.
        number: u128,
    },
    /// No number at all.
    #[error("the range has no number")]
    Empty,
}

/// As many numbers as DANM's mask has; a profile with higher ones has no mask.
const MASK_BITS: u128 = 5001;

impl VniKind {
    /// The highest number.
    pub const fn highest(self) -> u128 {
        match self {
            Self::Vlan => 4094,
            Self::Vxlan => 16_777_214,
        }
    }
}

impl fmt::Display for VniKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Vlan => "vlan",
            Self::Vxlan => "vxlan",
        })
    }
}

impl FromStr for VniKind {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "vlan" => Ok(Self::Vlan),
            "vxlan" => Ok(Self::Vxlan),
            _ => Err(()),
        }
    }
}

impl VniRange {
    /// Reads `100-199, 300`.
    pub fn parse(kind: VniKind, text: &str) -> Result<Self, BadVniRange> {
        let mut numbers = Numbers::new();
        for part in text.split(',').map(str::trim) {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let read = |side: &str| match side.trim() {
                digits if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                    digits.parse::<u128>().map_err(|_| BadVniRange::Form(part.to_owned()))
                }
                _ if text.trim().is_empty() => Err(BadVniRange::Empty),
                _ => Err(BadVniRange::Form(part.to_owned())),
            };
            let (first, last) = (read(first)?, read(last)?);
            if first > last {
                return Err(BadVniRange::Order(part.to_owned()));
            }
            if let Some(number) = [first, last].into_iter().find(|number| !(1..=kind.highest()).contains(number)) {
                return Err(BadVniRange::OutOfRange { kind, number });
            }
            numbers.insert(first, last);
        }
        Ok(Self { kind, numbers })
    }

    /// What the numbers stand for.
    pub fn kind(&self) -> VniKind {
        self.kind
    }

    /// The numbers.
    pub fn numbers(&self) -> &Numbers {
        &self.numbers
    }

    /// The lowest number that nobody has.
    pub fn lowest_free(&self, used: &Numbers) -> Option<u128> {
        self.numbers.without(used).at_or_after(0)
    }

    /// DANM's mask of used numbers; bit 0, which is no number, is always set. There is none for ranges beyond it.
    pub fn mask(&self, used: &Numbers) -> Option<Bitmask> {
        let last = self.numbers.ranges().next_back()?.1;
        if last >= MASK_BITS {
            return None;
        }
        let mut mask = Bitmask::zero(usize::try_from(MASK_BITS).unwrap_or_default());
        mask.set(0);
        for (first, last) in used.both(&self.numbers).ranges() {
            (first..=last).filter_map(|number| usize::try_from(number).ok()).for_each(|bit| mask.set(bit));
        }
        Some(mask)
    }
}
