//! Sets of numbers as ranges: addresses of one family, or network numbers.

use std::{collections::BTreeMap, fmt, net::IpAddr, str::FromStr};

/// A set of numbers, kept as ranges that neither touch nor overlap.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Numbers(BTreeMap<u128, u128>);

/// Why a text is no range of addresses.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadRange {
    /// It is neither one address nor two with a dash.
    #[error("{0:?} is neither an address nor two addresses with a dash between them")]
    Form(String),
    /// The first address is behind the last, or of the other family.
    #[error("{0:?} does not lead from a lower to a higher address of the same family")]
    Order(String),
}

/// The number of an address: IPv4 in 32 bits, IPv6 in 128.
pub fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => u128::from(u32::from(v4)),
        IpAddr::V6(v6) => u128::from(v6),
    }
}

/// The address of a number, in the family of `like`. IPv4 takes the low 32 bits.
pub fn address(number: u128, like: IpAddr) -> IpAddr {
    match like {
        IpAddr::V4(_) => IpAddr::V4(u32::try_from(number & u128::from(u32::MAX)).unwrap_or(u32::MAX).into()),
        IpAddr::V6(_) => IpAddr::V6(number.into()),
    }
}

impl Numbers {
    /// The set without members.
    pub const fn new() -> Self {
        Self(BTreeMap::new())
    }

    /// All numbers from `first` to `last`, both included; none when they are the wrong way round.
    pub fn range(first: u128, last: u128) -> Self {
        let mut set = Self::new();
        set.insert(first, last);
        set
    }

    /// Reads ranges of addresses, such as `192.0.2.1-192.0.2.9` and `192.0.2.12`.
    pub fn of_addresses<'a>(texts: impl IntoIterator<Item = &'a str>) -> Result<Self, BadRange> {
        let mut set = Self::new();
        for text in texts {
            let (first, last) = text.split_once('-').unwrap_or((text, text));
            let read = |part: &str| IpAddr::from_str(part.trim()).map_err(|_| BadRange::Form(text.to_owned()));
            let (first, last) = (read(first)?, read(last)?);
            if first.is_ipv4() != last.is_ipv4() || first > last {
                return Err(BadRange::Order(text.to_owned()));
            }
            set.insert(number(first), number(last));
        }
        Ok(set)
    }

    /// The ranges as text that [`Numbers::of_addresses`] reads, in the family of `like`.
    pub fn to_addresses(&self, like: IpAddr) -> Vec<String> {
        let text = |(first, last): (u128, u128)| {
            let (from, to) = (address(first, like), address(last, like));
            if first == last { from.to_string() } else { format!("{from}-{to}") }
        };
        self.ranges().map(text).collect()
    }

    /// The ranges in ascending order.
    pub fn ranges(&self) -> impl DoubleEndedIterator<Item = (u128, u128)> + '_ {
        self.0.iter().map(|(first, last)| (*first, *last))
    }

    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many numbers it has; `u128::MAX` stands for that and for more.
    pub fn count(&self) -> u128 {
        self.ranges().fold(0, |sum: u128, (first, last)| sum.saturating_add((last - first).saturating_add(1)))
    }

    /// Whether `value` is in it.
    pub fn contains(&self, value: u128) -> bool {
        self.0.range(..=value).next_back().is_some_and(|(_, last)| *last >= value)
    }

    /// Adds all numbers from `first` to `last`.
    pub fn insert(&mut self, first: u128, last: u128) {
        if first > last {
            return;
        }
        let (mut first, mut last) = (first, last);
        // What overlaps or touches: everything that starts not behind the end and ends not before the start.
        let touching: Vec<u128> = self
            .0
            .range(..=last.saturating_add(1))
            .rev()
            .take_while(|(_, end)| end.saturating_add(1) >= first)
            .map(|(start, _)| *start)
            .collect();
        for start in touching {
            if let Some(end) = self.0.remove(&start) {
                first = first.min(start);
                last = last.max(end);
            }
        }
        self.0.insert(first, last);
    }

    /// Takes all numbers from `first` to `last` out.
    pub fn remove(&mut self, first: u128, last: u128) {
        if first > last {
            return;
        }
        let touched: Vec<(u128, u128)> =
            self.0.range(..=last).rev().take_while(|(_, end)| **end >= first).map(|(a, b)| (*a, *b)).collect();
        for (start, end) in touched {
            self.0.remove(&start);
            if start < first {
                self.0.insert(start, first - 1);
            }
            if end > last {
                self.0.insert(last + 1, end);
            }
        }
    }

    /// Adds all numbers of another set.
    pub fn add(&mut self, other: &Self) {
        for (first, last) in other.ranges() {
            self.insert(first, last);
        }
    }

    /// Takes all numbers of another set out.
    pub fn subtract(&mut self, other: &Self) {
        for (first, last) in other.ranges() {
            self.remove(first, last);
        }
    }

    /// What is in this set and not in the other.
    #[must_use]
    pub fn without(&self, other: &Self) -> Self {
        let mut rest = self.clone();
        rest.subtract(other);
        rest
    }

    /// What is in both sets.
    #[must_use]
    pub fn both(&self, other: &Self) -> Self {
        self.without(&self.without(other))
    }

    /// The lowest number that is not below `from`.
    pub fn at_or_after(&self, from: u128) -> Option<u128> {
        let within = self.0.range(..=from).next_back().filter(|(_, last)| **last >= from).map(|_| from);
        within.or_else(|| self.0.range(from..).next().map(|(first, _)| *first))
    }

    /// The lowest numbers, at most `count`.
    #[must_use]
    pub fn lowest(&self, count: u128) -> Self {
        let mut rest = count;
        let mut part = Self::new();
        for (first, last) in self.ranges() {
            if rest == 0 {
                break;
            }
            let end = last.min(first.saturating_add(rest - 1));
            part.insert(first, end);
            rest -= end - first + 1;
        }
        part
    }

    /// The highest numbers, at most `count`.
    #[must_use]
    pub fn highest(&self, count: u128) -> Self {
        let mut rest = count;
        let mut part = Self::new();
        for (first, last) in self.ranges().rev() {
            if rest == 0 {
                break;
            }
            let start = first.max(last.saturating_sub(rest - 1));
            part.insert(start, last);
            rest -= last - start + 1;
        }
        part
    }
}

impl fmt::Display for Numbers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (first, last)) in self.ranges().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            if first == last {
                write!(f, "{comma}{first}")?;
            } else {
                write!(f, "{comma}{first}-{last}")?;
            }
        }
        Ok(())
    }
}
