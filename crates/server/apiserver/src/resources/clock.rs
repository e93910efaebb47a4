//! Time, unique ids and chance: everything that the server takes from outside itself.
//!
//! It is one seam so that tests can hold it still.

use jiff::Timestamp;

/// The letters of generated names: no vowels and no digit that could spell or mislead.
const LETTERS: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

/// How long a generated end of a name is.
const SUFFIX: usize = 5;

/// How much of the given beginning stays, so that the whole is a valid label.
const BASE: usize = 63 - SUFFIX;

/// Where time and chance come from.
pub trait Source: Send + Sync {
    /// The present moment.
    fn now(&self) -> Timestamp;

    /// Sixteen bytes that nobody can guess.
    fn random(&self) -> [u8; 16];
}

/// A new id for an object.
pub fn uid(source: &dyn Source) -> String {
    let mut bytes = source.random();
    // Version 4, variant 1: made by chance.
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex = hex(&bytes);
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

/// Bytes as text, two letters each.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from_digit(u32::from(half), 16).unwrap_or_default();
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 0x0f)]).collect()
}

/// A name that begins as given.
pub fn generated_name(source: &dyn Source, base: &str) -> String {
    let kept: String = base.chars().take(BASE).collect();
    let letters = LETTERS.len();
    let end = source.random().into_iter().take(SUFFIX).map(|byte| char::from(LETTERS[usize::from(byte) % letters]));
    kept + &end.collect::<String>()
}

/// A number below 2^64, by chance.
pub fn number(source: &dyn Source) -> u64 {
    let bytes = source.random();
    let mut half = [0; 8];
    half.copy_from_slice(&bytes[..8]);
    u64::from_le_bytes(half)
}

/// A moment as objects carry it: whole seconds, in UTC.
pub fn seconds(moment: Timestamp) -> String {
    moment.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// The machine's clock and its source of randomness.
#[derive(Debug, Clone, Copy, Default)]
pub struct System;

impl Source for System {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    fn random(&self) -> [u8; 16] {
        let mut bytes = [0; 16];
        let provider = tokio_rustls::rustls::crypto::aws_lc_rs::default_provider();
        provider.secure_random.fill(&mut bytes).expect("the kernel gives random bytes at any time");
        bytes
    }
}

#[cfg(test)]
pub(crate) mod testing {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::{Source, Timestamp};

    /// A clock that stands until it is pushed, and ids that count up.
    #[derive(Debug)]
    pub(crate) struct Still {
        seconds: AtomicU64,
        counter: AtomicU64,
    }

    impl Default for Still {
        fn default() -> Self {
            // 2026-01-02T03:04:05Z
            Self { seconds: AtomicU64::new(1_767_323_045), counter: AtomicU64::new(0) }
        }
    }

    impl Still {
        pub(crate) fn push(&self, seconds: u64) {
            self.seconds.fetch_add(seconds, Ordering::Relaxed);
        }
    }

    impl Source for Still {
        fn now(&self) -> Timestamp {
            let seconds = i64::try_from(self.seconds.load(Ordering::Relaxed)).unwrap();
            Timestamp::from_second(seconds).unwrap()
        }

        fn random(&self) -> [u8; 16] {
            let count = self.counter.fetch_add(1, Ordering::Relaxed);
            let mut bytes = [0; 16];
            bytes[..8].copy_from_slice(&count.to_le_bytes());
            bytes[8..].copy_from_slice(&count.to_be_bytes());
            bytes
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{testing::Still, *};

    #[test]
    fn ids_and_names_have_their_shape() {
        let source = Still::default();
        let id = uid(&source);
        assert_eq!(id.len(), 36);
        assert_eq!(&id[14..15], "4");
        assert_ne!(id, uid(&source));
        let name = generated_name(&source, &"a".repeat(80));
        assert_eq!(name.len(), 63);
        assert_eq!(seconds(source.now()), "2026-01-02T03:04:05Z");
    }
}
