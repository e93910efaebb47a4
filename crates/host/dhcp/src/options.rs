//! Options of a message: numbers with bytes.
//!
//! What the bytes mean is not known here. An option that comes in several pieces is one option with the
//! pieces joined in the order in which they come (RFC 3396), so nobody else ever sees a piece; an option
//! of fixed length that comes twice thereby has the wrong length and is refused where it is read.

use std::{collections::BTreeMap, fmt};

use crate::malformed::Malformed;

/// The numbers of the options that a client of IPv4 deals with.
pub mod code {
    /// Fills space.
    pub const PAD: u8 = 0;
    /// The mask of the subnet.
    pub const SUBNET_MASK: u8 = 1;
    /// Routers on the subnet, the best first.
    pub const ROUTERS: u8 = 3;
    /// Name servers.
    pub const DNS_SERVERS: u8 = 6;
    /// The client's name.
    pub const HOST_NAME: u8 = 12;
    /// The domain that the client shall look names up in.
    pub const DOMAIN: u8 = 15;
    /// The largest packet that the link carries.
    pub const MTU: u8 = 26;
    /// The broadcast address of the subnet.
    pub const BROADCAST: u8 = 28;
    /// Routes to networks by class.
    pub const STATIC_ROUTES: u8 = 33;
    /// The address that the client would like, or had.
    pub const REQUESTED_ADDRESS: u8 = 50;
    /// For how long an address is given.
    pub const LEASE_TIME: u8 = 51;
    /// Whether the fields for names hold options.
    pub const OVERLOAD: u8 = 52;
    /// What kind of message it is.
    pub const KIND: u8 = 53;
    /// The server that is meant, by an address of it.
    pub const SERVER_ID: u8 = 54;
    /// The options that the client would like.
    pub const WANTED: u8 = 55;
    /// A text for people.
    pub const TEXT: u8 = 56;
    /// The longest message that the client takes.
    pub const LONGEST_MESSAGE: u8 = 57;
    /// When to ask the server again.
    pub const RENEWAL_TIME: u8 = 58;
    /// When to ask any server again.
    pub const REBINDING_TIME: u8 = 59;
    /// Who the client is.
    pub const CLIENT_ID: u8 = 61;
    /// Routes to any networks.
    pub const ROUTES: u8 = 121;
    /// Nothing follows.
    pub const END: u8 = 255;
}

/// The longest piece of an option.
const LONGEST_PIECE: usize = 255;

/// The options of a message.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Options(BTreeMap<u8, Vec<u8>>);

impl Options {
    /// No options.
    pub const fn new() -> Self {
        Self(BTreeMap::new())
    }

    /// These options and one more; an earlier one of that number goes.
    #[must_use]
    pub fn with(mut self, code: u8, contents: impl Into<Vec<u8>>) -> Self {
        self.0.insert(code, contents.into());
        self
    }

    /// These options without that one.
    #[must_use]
    pub fn without(mut self, code: u8) -> Self {
        self.0.remove(&code);
        self
    }

    /// The contents of an option.
    pub fn get(&self, code: u8) -> Option<&[u8]> {
        self.0.get(&code).map(Vec::as_slice)
    }

    /// All options by number.
    pub fn iter(&self) -> impl Iterator<Item = (u8, &[u8])> {
        self.0.iter().map(|(code, contents)| (*code, contents.as_slice()))
    }

    /// Reads one field of a message that holds options. Servers that forget the end are understood.
    pub(crate) fn read(&mut self, mut field: &[u8]) -> Result<(), Malformed> {
        while let [code, rest @ ..] = field {
            match *code {
                code::PAD => field = rest,
                code::END => return Ok(()),
                code => {
                    let (length, rest) = rest.split_first().ok_or(Malformed::Truncated(code))?;
                    let (piece, rest) =
                        rest.split_at_checked(usize::from(*length)).ok_or(Malformed::Truncated(code))?;
                    self.0.entry(code).or_default().extend_from_slice(piece);
                    field = rest;
                }
            }
        }
        Ok(())
    }

    /// Writes all options and the end. The kind of message comes first, as everybody expects it.
    pub(crate) fn write(&self, to: &mut Vec<u8>) {
        let (first, rest): (Vec<_>, Vec<_>) = self.iter().partition(|(code, _)| *code == code::KIND);
        for (code, contents) in first.into_iter().chain(rest) {
            let mut left = contents;
            loop {
                let (piece, rest) = left.split_at(left.len().min(LONGEST_PIECE));
                to.push(code);
                to.push(u8::try_from(piece.len()).unwrap_or(u8::MAX));
                to.extend_from_slice(piece);
                left = rest;
                if left.is_empty() {
                    break;
                }
            }
        }
        to.push(code::END);
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(&self.0).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(field: &[u8]) -> Result<Options, Malformed> {
        let mut options = Options::new();
        options.read(field).map(|()| options)
    }

    #[test]
    fn pieces_are_joined_and_nothing_is_read_behind_the_end() {
        let options = read(&[0, 12, 1, b'a', 0, 0, 6, 0, 12, 2, b'b', b'c', 255, 1, 200]).unwrap();
        assert_eq!(options, Options::new().with(12, *b"abc").with(6, []));
        assert_eq!(read(&[12, 1, b'a']), Ok(Options::new().with(12, *b"a")), "without an end");
    }

    #[test]
    fn an_option_longer_than_the_field_is_refused() {
        for field in [&[12][..], &[12, 2, b'a'], &[1, 1, 1, 12, 255], &[12, 1]] {
            assert_eq!(read(field), Err(Malformed::Truncated(12)), "{field:?}");
        }
    }

    #[test]
    fn long_options_are_written_in_pieces_and_read_back() {
        for length in [0, 1, 255, 256, 600] {
            let options = Options::new().with(121, vec![7; length]).with(53, [1]);
            let mut bytes = Vec::new();
            options.write(&mut bytes);
            assert_eq!(bytes[..3], [53, 1, 1]);
            assert_eq!(bytes.last(), Some(&255));
            assert_eq!(read(&bytes), Ok(options), "{length}");
        }
    }
}
