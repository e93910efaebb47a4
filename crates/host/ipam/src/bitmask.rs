//! The picture of used addresses that DANM keeps in `alloc` and `alloc6`: base64 of bits, the highest of a byte first.

use base64::{Engine, engine::general_purpose::STANDARD};

/// Bits in whole bytes. Bit `i` is in byte `i / 8`, the most significant first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bitmask(Vec<u8>);

/// Why a text is no bitmask.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadBitmask {
    /// It is not base64.
    #[error("a bitmask is base64 text")]
    NotBase64,
    /// It is longer than any pool that has a picture.
    #[error("a bitmask has at most {} bytes", MAX_BYTES)]
    TooLong,
}

/// 2²³ bits, the most that DANM can write.
const MAX_BYTES: usize = 1 << 20;

impl Bitmask {
    /// A mask of `bits` zero bits, rounded up to whole bytes, and at most as long as DANM's longest.
    pub fn zero(bits: usize) -> Self {
        Self(vec![0; bits.div_ceil(8).min(MAX_BYTES)])
    }

    /// A mask whose first and last of `bits` bits are set: the addresses of a network that nobody gets.
    pub fn fresh(bits: usize) -> Self {
        let mut mask = Self::zero(bits);
        mask.set(0);
        mask.set(bits.saturating_sub(1));
        mask
    }

    /// Reads the text of an object.
    pub fn decode(text: &str) -> Result<Self, BadBitmask> {
        if text.len() > MAX_BYTES / 3 * 4 + 4 {
            return Err(BadBitmask::TooLong);
        }
        let bytes = STANDARD.decode(text).map_err(|_| BadBitmask::NotBase64)?;
        if bytes.len() > MAX_BYTES { Err(BadBitmask::TooLong) } else { Ok(Self(bytes)) }
    }

    /// The text of an object.
    pub fn encode(&self) -> String {
        STANDARD.encode(&self.0)
    }

    /// How many bits there are.
    pub fn bits(&self) -> usize {
        self.0.len() * 8
    }

    /// Whether a bit is set; one that is not there is not.
    pub fn get(&self, bit: usize) -> bool {
        self.0.get(bit / 8).is_some_and(|byte| byte & (0x80 >> (bit % 8)) != 0)
    }

    /// Sets a bit; one that is not there stays so.
    pub fn set(&mut self, bit: usize) {
        if let Some(byte) = self.0.get_mut(bit / 8) {
            *byte |= 0x80 >> (bit % 8);
        }
    }

    /// Clears a bit.
    pub fn clear(&mut self, bit: usize) {
        if let Some(byte) = self.0.get_mut(bit / 8) {
            *byte &= !(0x80 >> (bit % 8));
        }
    }
}
