//! Where everything that looks like chance comes from: one number, and `SplitMix64` from there on.

/// A source of numbers; equal for equal seeds.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// A source.
    pub fn new(seed: u64) -> Self {
        // Seeds that follow each other shall have nothing in common.
        let mut source = Self(seed.wrapping_mul(0xd134_2543_de82_ef95));
        source.number();
        source
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// One of the first `count` numbers; zero when there are none.
    pub fn below(&mut self, count: u64) -> u64 {
        self.number().checked_rem(count).unwrap_or_default()
    }

    /// The place of one of `count` things.
    pub fn place(&mut self, count: usize) -> usize {
        usize::try_from(self.below(count as u64)).unwrap_or_default()
    }

    /// A number from `low` up to and with `high`.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high.saturating_sub(low) + 1)
    }

    /// True so many times in a thousand.
    pub fn chance(&mut self, per_mille: u64) -> bool {
        per_mille > 0 && self.below(1000) < per_mille
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_seeds_give_equal_numbers_and_neighbours_do_not() {
        let numbers = |seed| {
            let mut random = Random::new(seed);
            std::array::from_fn::<u64, 8, _>(|_| random.number())
        };
        assert_eq!(numbers(7), numbers(7));
        assert!(numbers(7).iter().all(|number| !numbers(8).contains(number)));
        let mut random = Random::new(1);
        assert!((0..1000).all(|_| (3..=5).contains(&random.between(3, 5))));
        let hits = (0..10_000).filter(|_| random.chance(100)).count();
        assert!((800..1200).contains(&hits), "{hits}");
    }
}
