//! What a daemon sends back for a line: text, three zero bytes and a status.
//!
//! Reading is a pure function of the bytes, however they are cut into pieces. Whatever the bytes are, it ends with an answer,
//! needing more, or with the finding that this is no answer.

/// What a daemon made of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Done.
    Success,
    /// Done or not: daemons answer so for what was there already, and for some things that they did not do.
    Warning,
    /// It does not know the line in this context.
    NoMatch,
    /// The line could be several.
    Ambiguous,
    /// Something is missing at the end of the line.
    Incomplete,
    /// It knows the line and cannot do it.
    ConfigFailed,
    /// Another status, by its number.
    Other(u8),
}

impl Status {
    /// The status with this number, as `lib/command.h` of FRR has them.
    pub const fn of(byte: u8) -> Self {
        match byte {
            // The second one is for vtysh: there is more to do elsewhere.
            0 | 10 => Self::Success,
            1 => Self::Warning,
            2 => Self::NoMatch,
            3 => Self::Ambiguous,
            4 => Self::Incomplete,
            13 => Self::ConfigFailed,
            other => Self::Other(other),
        }
    }

    /// Whether the line was taken.
    pub const fn is_taken(self) -> bool {
        match self {
            Self::Success | Self::Warning => true,
            Self::NoMatch | Self::Ambiguous | Self::Incomplete | Self::ConfigFailed | Self::Other(_) => false,
        }
    }
}

/// The answer to a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// What became of the line.
    pub status: Status,
    /// What the daemon printed. A line that was taken may have notes: that a route waits for its device, for one.
    pub text: String,
}

/// What comes back is not an answer: more than one, or zero bytes elsewhere than before the status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NoAnswer;

/// An answer that is still coming in.
#[derive(Debug, Default)]
pub(crate) struct Incoming {
    bytes: Vec<u8>,
    /// So much of it is known to be text.
    text: usize,
}

/// The zero bytes before a status.
const ZEROS: usize = 3;

impl Incoming {
    /// How many bytes have come.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Takes the next bytes; the answer, once it is complete.
    pub(crate) fn take(&mut self, more: &[u8]) -> Result<Option<Answer>, NoAnswer> {
        self.bytes.extend_from_slice(more);
        let zero = self.bytes[self.text..].iter().position(|byte| *byte == 0);
        self.text = zero.map_or(self.bytes.len(), |place| self.text + place);
        let end = &self.bytes[self.text..];
        if end.iter().take(ZEROS).any(|byte| *byte != 0) || end.len() > ZEROS + 1 {
            return Err(NoAnswer);
        }
        let Some(status) = end.get(ZEROS) else { return Ok(None) };
        let text = String::from_utf8_lossy(&self.bytes[..self.text]).into_owned();
        Ok(Some(Answer { status: Status::of(*status), text }))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(pieces: &[&[u8]]) -> Result<Option<Answer>, NoAnswer> {
        let mut incoming = Incoming::default();
        let mut last = Ok(None);
        for piece in pieces {
            last = incoming.take(piece);
        }
        last
    }

    fn answer(status: Status, text: &str) -> Answer {
        Answer { status, text: text.to_owned() }
    }

    #[test]
    fn text_and_status_are_separated() {
        assert_eq!(read(&[b"\0\0\0\0"]), Ok(Some(answer(Status::Success, ""))));
        assert_eq!(read(&[b"% Unknown\n\0\0\0\x02"]), Ok(Some(answer(Status::NoMatch, "% Unknown\n"))));
        assert_eq!(read(&[b"a", b"b\0", b"\0", b"\0", b"\x0d"]), Ok(Some(answer(Status::ConfigFailed, "ab"))));
    }

    #[test]
    fn what_is_cut_is_waited_for() {
        for cut in [&b""[..], b"text", b"text\0", b"text\0\0\0"] {
            assert_eq!(read(&[cut]), Ok(None), "{cut:?}");
        }
    }

    #[test]
    fn what_is_no_answer_is_found() {
        for wrong in [&b"\0text"[..], b"a\0b", b"a\0\0b", b"a\0\0\0\0b", b"\0\0\0\0\0"] {
            assert_eq!(read(&[wrong]), Err(NoAnswer), "{wrong:?}");
        }
    }

    #[test]
    fn only_success_and_warning_are_taken() {
        let taken: Vec<u8> = (0..=u8::MAX).filter(|byte| Status::of(*byte).is_taken()).collect();
        assert_eq!(taken, [0, 1, 10]);
    }

    proptest! {
        #[test]
        fn no_bytes_are_too_much(pieces: Vec<Vec<u8>>) {
            let mut incoming = Incoming::default();
            for piece in &pieces {
                if incoming.take(piece).is_err() {
                    break;
                }
            }
        }

        #[test]
        fn pieces_do_not_matter(text in "[^\0]{0,60}", status: u8, size in 1usize..9) {
            let bytes = [text.as_bytes(), &[0, 0, 0, status]].concat();
            let pieces: Vec<&[u8]> = bytes.chunks(size).collect();
            prop_assert_eq!(read(&pieces), Ok(Some(answer(Status::of(status), &text))));
        }
    }
}
