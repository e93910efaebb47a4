//! What conditions say, in as many words as anybody reads.

use jiff::SignedDuration;
use netloom_api::condition::Observation;
pub(crate) use netloom_api::condition::seconds;

/// The most bytes of a message: more is not read, and every node writes it.
const MOST: usize = 1000;

/// An observation whose message fits on one screen.
pub(crate) fn seen(
    kind: &'static str,
    truth: bool,
    reason: impl Into<String>,
    message: impl Into<String>,
) -> Observation {
    Observation::new(kind, truth, reason, short(message.into()))
}

/// Milliseconds, as far as the field goes.
pub(crate) fn milliseconds(time: SignedDuration) -> u32 {
    u32::try_from(time.as_millis()).unwrap_or(u32::MAX)
}

/// A message that fits on one screen.
pub(crate) fn short(mut message: String) -> String {
    if message.len() > MOST {
        let end = (0..=MOST - '…'.len_utf8()).rev().find(|end| message.is_char_boundary(*end)).unwrap_or_default();
        message.truncate(end);
        message.push('…');
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_message_is_cut_between_two_characters() {
        let message = short("ä".repeat(900));
        assert!(message.len() <= MOST && message.ends_with("ä…"), "{}", message.len());
        assert_eq!(short("x".repeat(MOST)).len(), MOST);
    }
}
