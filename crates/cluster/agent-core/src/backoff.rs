//! Waiting longer after each failure, and not all nodes at the same moment.

use jiff::{SignedDuration, Timestamp};

/// The time after `count` failures: doubled with each, at most `most`, spread by a tenth either way.
pub(crate) fn wait(first: SignedDuration, most: SignedDuration, count: u32, seed: u64) -> SignedDuration {
    let doubled = 2_i32.saturating_pow(count.saturating_sub(1).min(30));
    spread(first.checked_mul(doubled).unwrap_or(most).min(most), seed, u64::from(count))
}

/// A time, longer or shorter by up to a tenth; equal for equal seed and number.
pub(crate) fn spread(time: SignedDuration, seed: u64, number: u64) -> SignedDuration {
    let noise = i32::try_from(mix(seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15)) % 2001).unwrap_or_default();
    let share = time.checked_div(10_000).unwrap_or_default();
    let by = share.checked_mul(noise - 1000).unwrap_or_default();
    time.checked_add(by).unwrap_or(time)
}

/// A moment that much later.
pub(crate) fn later(time: Timestamp, wait: SignedDuration) -> Timestamp {
    time.checked_add(wait).unwrap_or(Timestamp::MAX)
}

/// The finisher of `SplitMix64`: every bit of the result depends on every bit given.
fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_most_and_are_spread_by_a_tenth() {
        let (first, most) = (SignedDuration::from_secs(1), SignedDuration::from_mins(5));
        for (count, nominal) in [(1, 1), (2, 2), (3, 4), (5, 16), (9, 256), (10, 300), (4_000_000_000, 300)] {
            for seed in 0..50 {
                let waited = wait(first, most, count, seed).as_millis();
                let nominal = i128::from(nominal * 1000);
                assert!((nominal * 9 / 10..=nominal * 11 / 10).contains(&waited), "{count}: {waited}");
            }
        }
        let all: std::collections::BTreeSet<_> = (0..50).map(|seed| wait(first, most, 3, seed)).collect();
        assert!(all.len() > 40, "agents do not knock at the same moment");
    }
}
