//! Sets of VLAN ids, kept as ranges.

use std::{fmt, ops::RangeInclusive};

use serde::{Deserialize, Serialize};

use crate::VlanId;

/// A set of VLAN ids as sorted ranges that neither overlap nor touch.
///
/// Four thousand ids on a trunk port are one range here and one range on the wire.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct VlanSet(Vec<(VlanId, VlanId)>);

impl VlanSet {
    /// The empty set.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Every id that a frame can carry.
    pub fn all() -> Self {
        Self(vec![(VlanId::MIN, VlanId::MAX)])
    }

    /// Whether no id is in the set.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many ids are in the set.
    pub fn len(&self) -> usize {
        self.0.iter().map(|(a, b)| usize::from(b.get() - a.get()) + 1).sum()
    }

    /// The ranges, in order.
    pub fn ranges(&self) -> impl Iterator<Item = RangeInclusive<VlanId>> + '_ {
        self.0.iter().map(|&(a, b)| a..=b)
    }

    /// The single ids, in order.
    pub fn iter(&self) -> impl Iterator<Item = VlanId> + '_ {
        self.0.iter().flat_map(|&(a, b)| (a.get()..=b.get()).map(id))
    }

    /// Whether `vlan` is in the set.
    pub fn contains(&self, vlan: VlanId) -> bool {
        self.0
            .binary_search_by(|&(a, b)| {
                if b < vlan {
                    std::cmp::Ordering::Less
                } else if a > vlan {
                    std::cmp::Ordering::Greater
                } else {
                    std::cmp::Ordering::Equal
                }
            })
            .is_ok()
    }

    /// Adds one id.
    pub fn insert(&mut self, vlan: VlanId) {
        self.insert_range(vlan, vlan);
    }

    /// Adds every id from `first` to `last`; nothing when `last` is below `first`.
    pub fn insert_range(&mut self, first: VlanId, last: VlanId) {
        if first > last {
            return;
        }
        let (mut low, mut high) = (first.get(), last.get());
        let mut kept = Vec::with_capacity(self.0.len() + 1);
        for &(a, b) in &self.0 {
            if b.get() + 1 < low || high + 1 < a.get() {
                kept.push((a, b));
            } else {
                low = low.min(a.get());
                high = high.max(b.get());
            }
        }
        let at = kept.partition_point(|&(a, _)| a.get() < low);
        kept.insert(at, (id(low), id(high)));
        self.0 = kept;
    }

    /// Takes one id out.
    pub fn remove(&mut self, vlan: VlanId) {
        *self = self.minus(&Self(vec![(vlan, vlan)]));
    }

    /// The ids of `self` that are not in `other`.
    #[must_use]
    pub fn minus(&self, other: &Self) -> Self {
        let mut left = Vec::new();
        for &(a, b) in &self.0 {
            let mut low = a.get();
            for &(c, d) in other.0.iter().filter(|(c, d)| *d >= a && *c <= b) {
                if c.get() > low {
                    left.push((id(low), id(c.get() - 1)));
                }
                low = low.max(d.get() + 1);
            }
            if low <= b.get() {
                left.push((id(low), b));
            }
        }
        Self(left)
    }

    /// The ids that are in both.
    #[must_use]
    pub fn common(&self, other: &Self) -> Self {
        self.minus(&self.minus(other))
    }

    /// The ids that are in either.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        let mut sum = self.clone();
        for &(a, b) in &other.0 {
            sum.insert_range(a, b);
        }
        sum
    }
}

impl FromIterator<VlanId> for VlanSet {
    fn from_iter<I: IntoIterator<Item = VlanId>>(ids: I) -> Self {
        let mut set = Self::new();
        for vlan in ids {
            set.insert(vlan);
        }
        set
    }
}

impl fmt::Display for VlanSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (a, b)) in self.0.iter().enumerate() {
            let comma = if i == 0 { "" } else { "," };
            if a == b { write!(f, "{comma}{a}")? } else { write!(f, "{comma}{a}-{b}")? }
        }
        Ok(())
    }
}

/// Only called with numbers between two ids that exist.
fn id(number: u16) -> VlanId {
    VlanId::try_from(number).expect("a number between two VLAN ids is one")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn ids() -> impl Strategy<Value = BTreeSet<u16>> {
        prop::collection::btree_set(prop_oneof![1u16..40, 4080u16..=4094], 0..30)
    }

    fn set(ids: &BTreeSet<u16>) -> VlanSet {
        ids.iter().map(|&n| id(n)).collect()
    }

    fn numbers(set: &VlanSet) -> BTreeSet<u16> {
        set.iter().map(VlanId::get).collect()
    }

    proptest! {
        #[test]
        fn behaves_like_a_set_of_numbers(a in ids(), b in ids()) {
            prop_assert_eq!(numbers(&set(&a)), a.clone());
            prop_assert_eq!(numbers(&set(&a).minus(&set(&b))), &a - &b);
            prop_assert_eq!(numbers(&set(&a).plus(&set(&b))), &a | &b);
            prop_assert_eq!(numbers(&set(&a).common(&set(&b))), &a & &b);
            prop_assert_eq!(set(&a).len(), a.len());
            for n in [1u16, 7, 39, 4080, 4094] {
                prop_assert_eq!(set(&a).contains(id(n)), a.contains(&n));
            }
        }

        #[test]
        fn ranges_neither_overlap_nor_touch(a in ids()) {
            let set = set(&a);
            let ranges: Vec<_> = set.ranges().collect();
            for pair in ranges.windows(2) {
                prop_assert!(pair[0].end().get() + 1 < pair[1].start().get());
            }
        }
    }

    #[test]
    fn every_id_is_one_range() {
        assert_eq!(VlanSet::all().len(), 4094);
        assert_eq!(VlanSet::all().to_string(), "1-4094");
    }
}
