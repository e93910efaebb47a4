//! Frames: a length, six numbers, and what a call, an answer or an event has.
//!
//! Numbers are big-endian and of four bytes, or eight; a text has its length before it and is filled up to four bytes.

use std::io::{self, Read};

use crate::procedure;

/// The most that a frame may have. libvirt's own limit is about that.
pub const MOST: usize = (32 << 20) + 1024;
/// Length and header.
const HEAD: usize = 28;
/// What is asked for at once of a daemon that says how much will come.
const PIECE: usize = 16 << 10;

/// What a frame is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A call.
    Call,
    /// The answer to one.
    Reply,
    /// An event.
    Event,
    /// Something that is not used here.
    Other(u32),
}

/// One frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// Whether it is of the program that is spoken here.
    pub ours: bool,
    /// The call or event.
    pub procedure: u32,
    /// What it is.
    pub kind: Kind,
    /// The number of the call.
    pub serial: u32,
    /// Whether the call was refused.
    pub failed: bool,
    /// What it has.
    pub body: Vec<u8>,
}

impl Frame {
    /// A call.
    pub fn call(procedure: u32, serial: u32, body: Vec<u8>) -> Self {
        Self { ours: true, procedure, kind: Kind::Call, serial, failed: false, body }
    }

    /// As it is sent.
    pub fn bytes(&self) -> Vec<u8> {
        let kind = match self.kind {
            Kind::Call => 0,
            Kind::Reply => 1,
            Kind::Event => 2,
            Kind::Other(other) => other,
        };
        let program = if self.ours { procedure::PROGRAM } else { 0 };
        let length = u32::try_from(HEAD + self.body.len()).unwrap_or(u32::MAX);
        let words = [length, program, procedure::VERSION, self.procedure, kind, self.serial, u32::from(self.failed)];
        let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
        bytes.extend(&self.body);
        bytes
    }
}

/// What has been received of a frame so far.
#[derive(Debug, Default)]
pub struct Receiver {
    bytes: Vec<u8>,
}

/// A daemon that says what no frame can have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a frame says that it has {0} bytes, and it must have between {HEAD} and {MOST}")]
pub struct Unlikely(pub usize);

impl Receiver {
    /// Reads once; whether anything came. It has a frame only when [`Receiver::frame`] says so.
    pub fn read(&mut self, from: &mut impl Read) -> io::Result<usize> {
        let mut piece = [0; PIECE];
        let count = from.read(&mut piece)?;
        self.bytes.extend(&piece[..count]);
        Ok(count)
    }

    /// The next frame, once all of it is there.
    pub fn frame(&mut self) -> Result<Option<Frame>, Unlikely> {
        let Some(length) = word(&self.bytes, 0) else { return Ok(None) };
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        if !(HEAD..=MOST).contains(&length) {
            return Err(Unlikely(length));
        }
        if self.bytes.len() < length {
            return Ok(None);
        }
        let rest = self.bytes.split_off(length);
        let bytes = std::mem::replace(&mut self.bytes, rest);
        let at = |index: usize| word(&bytes, index * 4).unwrap_or_default();
        Ok(Some(Frame {
            ours: at(1) == procedure::PROGRAM && at(2) == procedure::VERSION,
            procedure: at(3),
            kind: match at(4) {
                0 => Kind::Call,
                1 => Kind::Reply,
                2 => Kind::Event,
                other => Kind::Other(other),
            },
            serial: at(5),
            failed: at(6) != 0,
            body: bytes[HEAD..].to_vec(),
        }))
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

/// Writes what a call has.
#[derive(Debug, Default)]
pub struct Writer(Vec<u8>);

impl Writer {
    /// A number.
    #[must_use]
    pub fn number(mut self, number: u32) -> Self {
        self.0.extend(number.to_be_bytes());
        self
    }

    /// Bytes of a length that both sides know.
    #[must_use]
    pub fn fixed(mut self, bytes: &[u8]) -> Self {
        self.0.extend(bytes);
        self
    }

    /// A text.
    #[must_use]
    pub fn text(self, text: &str) -> Self {
        self.opaque(text.as_bytes())
    }

    /// Bytes.
    #[must_use]
    pub fn opaque(self, bytes: &[u8]) -> Self {
        let mut writer = self.number(u32::try_from(bytes.len()).unwrap_or(u32::MAX)).fixed(bytes);
        writer.0.resize(writer.0.len().next_multiple_of(4), 0);
        writer
    }

    /// A text that may be missing.
    #[must_use]
    pub fn optional(self, text: Option<&str>) -> Self {
        match text {
            Some(text) => self.number(1).text(text),
            None => self.number(0),
        }
    }

    /// All of it.
    pub fn done(self) -> Vec<u8> {
        self.0
    }
}

/// Something that is not there, or is not what it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a frame of it ends too early, or has a text that is none")]
pub struct Malformed;

/// Reads what an answer or an event has.
#[derive(Debug, Clone)]
pub struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// From its beginning.
    pub fn new(body: &'a [u8]) -> Self {
        Self(body)
    }

    /// A number.
    pub fn number(&mut self) -> Result<u32, Malformed> {
        let bytes = self.fixed(4)?;
        Ok(u32::from_be_bytes(bytes.try_into().map_err(|_| Malformed)?))
    }

    /// A number with a sign.
    pub fn signed(&mut self) -> Result<i32, Malformed> {
        Ok(self.number()?.cast_signed())
    }

    /// Bytes of a length that both sides know.
    pub fn fixed(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        let (bytes, rest) = self.0.split_at_checked(count).ok_or(Malformed)?;
        self.0 = rest;
        Ok(bytes)
    }

    /// A text.
    pub fn text(&mut self) -> Result<String, Malformed> {
        let count = usize::try_from(self.number()?).map_err(|_| Malformed)?;
        let bytes = self.fixed(count)?;
        // What it is filled up with may be missing at the very end.
        let fill = (count.next_multiple_of(4) - count).min(self.0.len());
        self.fixed(fill)?;
        Ok(String::from_utf8_lossy(bytes).into_owned())
    }

    /// A text that may be missing.
    pub fn optional(&mut self) -> Result<Option<String>, Malformed> {
        Ok(if self.number()? == 0 { None } else { Some(self.text()?) })
    }

    /// How many things follow, none of which has less than `least` bytes.
    pub fn count(&mut self, least: usize) -> Result<usize, Malformed> {
        let count = usize::try_from(self.number()?).map_err(|_| Malformed)?;
        if count.checked_mul(least).is_some_and(|bytes| bytes <= self.0.len()) { Ok(count) } else { Err(Malformed) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn texts_are_filled_up_and_read_back() {
        let body = Writer::default().text("abcde").optional(None).optional(Some("")).number(7).done();
        assert_eq!(body.len(), 4 + 8 + 4 + 8 + 4);
        let mut reader = Reader::new(&body);
        assert_eq!(reader.text().unwrap(), "abcde");
        assert_eq!((reader.optional().unwrap(), reader.optional().unwrap()), (None, Some(String::new())));
        assert_eq!((reader.number(), reader.number()), (Ok(7), Err(Malformed)));
    }

    #[test]
    fn a_length_that_lies_is_refused_before_anything_is_reserved() {
        for length in [0_u32, 27, u32::MAX, (33 << 20)] {
            let mut receiver = Receiver { bytes: length.to_be_bytes().to_vec() };
            assert!(receiver.frame().is_err(), "{length}");
        }
        let body = Writer::default().number(u32::MAX).done();
        assert_eq!(Reader::new(&body).text(), Err(Malformed));
        assert_eq!(Reader::new(&body).count(1), Err(Malformed));
    }

    proptest! {
        #[test]
        fn frames_arrive_in_any_pieces(bodies in prop::collection::vec(any::<Vec<u8>>(), 0..5), sizes in prop::collection::vec(1_usize..40, 1..40)) {
            let serials = 1_u32..;
            let frames: Vec<Frame> = bodies.into_iter().zip(serials).map(|(body, serial)| Frame::call(9, serial, body)).collect();
            let sent: Vec<u8> = frames.iter().flat_map(Frame::bytes).collect();
            let (mut receiver, mut found, mut rest) = (Receiver::default(), Vec::new(), sent.as_slice());
            for size in sizes.iter().cycle() {
                let (mut piece, after) = rest.split_at((*size).min(rest.len()));
                rest = after;
                receiver.read(&mut piece).unwrap();
                while let Some(frame) = receiver.frame().unwrap() {
                    found.push(frame);
                }
                if rest.is_empty() {
                    break;
                }
            }
            prop_assert_eq!(found, frames);
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in any::<Vec<u8>>()) {
            let mut receiver = Receiver::default();
            receiver.read(&mut bytes.as_slice()).unwrap();
            while let Ok(Some(_)) = receiver.frame() {}
            let mut reader = Reader::new(&bytes);
            while reader.optional().is_ok() && reader.count(1).is_ok() {}
        }
    }
}
