//! Where a client's chance comes from: one number that is given to it, and `SplitMix64` from there on.

use std::time::Duration;

/// A source of numbers; equal for equal seeds.
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// A number that ties answers to a question.
    pub(crate) fn xid(&mut self) -> u32 {
        let [a, b, c, d, ..] = self.number().to_be_bytes();
        u32::from_be_bytes([a, b, c, d])
    }

    /// A time from `least` to `most`, by the millisecond.
    pub(crate) fn between(&mut self, least: Duration, most: Duration) -> Duration {
        let span = u64::try_from(most.saturating_sub(least).as_millis()).unwrap_or(u64::MAX);
        least + Duration::from_millis(self.number() % span.saturating_add(1).max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_within_their_bounds_and_not_all_equal() {
        let mut random = Random::new(7);
        let (least, most) = (Duration::from_secs(3), Duration::from_secs(5));
        let times: Vec<_> = (0..1000).map(|_| random.between(least, most)).collect();
        assert!(times.iter().all(|time| (least..=most).contains(time)));
        assert!(times.iter().min().unwrap().as_millis() < 3100 && times.iter().max().unwrap().as_millis() > 4900);
        assert_eq!(random.between(most, most), most);
        assert_eq!(Random::new(7).xid(), Random::new(7).xid());
        assert_ne!(Random::new(7).xid(), Random::new(8).xid());
    }
}
