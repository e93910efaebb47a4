//! The encoding itself: numbers of variable length, and fields with their numbers.

use super::ProtobufError;

/// Groups lie at most this deep in each other. Nobody writes any.
const GROUPS: usize = 16;

/// What a field holds, before its type is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Payload<'a> {
    /// A number of variable length.
    Varint(u64),
    /// Eight bytes.
    Fixed64(u64),
    /// Anything with a length.
    Bytes(&'a [u8]),
    /// Four bytes.
    Fixed32(u32),
}

impl<'a> Payload<'a> {
    /// The complaint that a field holds something else than its type.
    pub(crate) fn misfit(self, field: &'static str) -> ProtobufError {
        let found = match self {
            Self::Varint(_) => 0,
            Self::Fixed64(_) => 1,
            Self::Bytes(_) => 2,
            Self::Fixed32(_) => 5,
        };
        ProtobufError::WrongWireType { field, found }
    }

    pub(crate) fn bytes(self, field: &'static str) -> Result<&'a [u8], ProtobufError> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            Self::Varint(_) | Self::Fixed64(_) | Self::Fixed32(_) => Err(self.misfit(field)),
        }
    }

    /// A text. What is not UTF-8 is replaced, as it is when Go writes the text as JSON.
    pub(crate) fn text(self, field: &'static str) -> Result<String, ProtobufError> {
        self.bytes(field).map(|bytes| String::from_utf8_lossy(bytes).into_owned())
    }

    /// A number with a sign, which is written like one without.
    pub(crate) fn integer(self, field: &'static str) -> Result<i64, ProtobufError> {
        match self {
            Self::Varint(number) => Ok(number.cast_signed()),
            Self::Fixed64(_) | Self::Bytes(_) | Self::Fixed32(_) => Err(self.misfit(field)),
        }
    }
}

/// The fields of a message in the order in which they stand there.
pub(crate) fn fields(bytes: &[u8]) -> Fields<'_> {
    Fields { rest: bytes }
}

/// See [`fields`].
#[derive(Debug, Clone)]
pub(crate) struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u64, Payload<'a>), ProtobufError>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.rest.is_empty() {
            match self.field() {
                Ok(None) => {}
                Ok(Some(field)) => return Some(Ok(field)),
                Err(error) => {
                    // What follows an error means nothing.
                    self.rest = &[];
                    return Some(Err(error));
                }
            }
        }
        None
    }
}

impl<'a> Fields<'a> {
    /// The next field; nothing when it was a group, which no type here has.
    fn field(&mut self) -> Result<Option<(u64, Payload<'a>)>, ProtobufError> {
        let (number, form) = self.tag()?;
        match form {
            3 => self.group().map(|()| None),
            4 => Err(ProtobufError::EndOfNoGroup),
            form => self.payload(form).map(|payload| Some((number, payload))),
        }
    }

    fn tag(&mut self) -> Result<(u64, u64), ProtobufError> {
        let tag = varint(&mut self.rest)?;
        match (tag >> 3, tag & 7) {
            (0, _) => Err(ProtobufError::IllegalTag(tag)),
            (_, form @ (6 | 7)) => Err(ProtobufError::IllegalWireType(form)),
            (number, form) => Ok((number, form)),
        }
    }

    fn payload(&mut self, form: u64) -> Result<Payload<'a>, ProtobufError> {
        match form {
            0 => varint(&mut self.rest).map(Payload::Varint),
            1 => self.take().map(|bytes| Payload::Fixed64(u64::from_le_bytes(bytes))),
            2 => {
                let length = varint(&mut self.rest)?;
                if i64::try_from(length).is_err() {
                    return Err(ProtobufError::NegativeLength);
                }
                let length = usize::try_from(length).map_err(|_| ProtobufError::EndsEarly)?;
                let (bytes, rest) = self.rest.split_at_checked(length).ok_or(ProtobufError::EndsEarly)?;
                self.rest = rest;
                Ok(Payload::Bytes(bytes))
            }
            _ => self.take().map(|bytes| Payload::Fixed32(u32::from_le_bytes(bytes))),
        }
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], ProtobufError> {
        let (bytes, rest) = self.rest.split_first_chunk::<N>().ok_or(ProtobufError::EndsEarly)?;
        self.rest = rest;
        Ok(*bytes)
    }

    /// Passes over a group that has begun.
    fn group(&mut self) -> Result<(), ProtobufError> {
        let mut open = 1_usize;
        while open > 0 {
            match self.tag()? {
                (_, 3) if open == GROUPS => return Err(ProtobufError::TooDeep(GROUPS)),
                (_, 3) => open += 1,
                (_, 4) => open -= 1,
                (_, form) => drop(self.payload(form)?),
            }
        }
        Ok(())
    }
}

/// Takes a number of variable length off the beginning of bytes.
pub(crate) fn varint(bytes: &mut &[u8]) -> Result<u64, ProtobufError> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first().ok_or(ProtobufError::EndsEarly)?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(value);
        }
    }
    Err(ProtobufError::NumberTooLong)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(bytes: &[u8]) -> Result<Vec<(u64, Payload<'_>)>, ProtobufError> {
        fields(bytes).collect()
    }

    #[test]
    fn every_form_is_read() {
        let bytes =
            [0x08, 0x96, 0x01, 0x12, 0x02, b'o', b'k', 0x1d, 1, 0, 0, 0, 0x21, 2, 0, 0, 0, 0, 0, 0, 0, 0xa2, 0x06, 0];
        let expected = [
            (1, Payload::Varint(150)),
            (2, Payload::Bytes(b"ok")),
            (3, Payload::Fixed32(1)),
            (4, Payload::Fixed64(2)),
            (100, Payload::Bytes(b"")),
        ];
        assert_eq!(all(&bytes).unwrap(), expected);
    }

    #[test]
    fn negative_numbers_take_ten_bytes() {
        let mut bytes = vec![0xff; 9];
        bytes.push(1);
        assert_eq!(Payload::Varint(varint(&mut bytes.as_slice()).unwrap()).integer("x"), Ok(-1));
    }

    #[test]
    fn groups_are_passed_over() {
        assert_eq!(all(&[0x0b, 0x10, 1, 0x13, 0x14, 0x0c, 0x18, 7]).unwrap(), [(3, Payload::Varint(7))]);
        assert_eq!(all(&[0x0b; 40]), Err(ProtobufError::TooDeep(GROUPS)));
        assert_eq!(all(&[0x0b, 0x10]), Err(ProtobufError::EndsEarly));
        assert_eq!(all(&[0x0c]), Err(ProtobufError::EndOfNoGroup));
    }

    #[test]
    fn broken_bytes_are_refused() {
        let mut endless = vec![0x08];
        endless.extend([0xff; 11]);
        let mut negative = vec![0x12];
        negative.extend([0xff; 9]);
        negative.push(1);
        let cases: [(&[u8], &str); 8] = [
            (&[0x08], "EndsEarly"),
            (&[0x12, 5, 1], "EndsEarly"),
            (&[0x1d, 1, 2], "EndsEarly"),
            (&[0x21, 1, 2, 3, 4], "EndsEarly"),
            (&[0x00, 1], "IllegalTag"),
            (&[0x0e], "IllegalWireType"),
            (&endless, "NumberTooLong"),
            (&negative, "NegativeLength"),
        ];
        for (bytes, reason) in cases {
            assert_eq!(all(bytes).unwrap_err().reason(), reason, "{bytes:?}");
        }
    }
}
