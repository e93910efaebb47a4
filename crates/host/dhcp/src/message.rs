//! One message: the part that every message has, and its options.
//!
//! Names of servers and boot files are not for a client of addresses; their fields are read only where
//! option 52 says that they hold options, and written empty.

use std::net::Ipv4Addr;

use netloom_types::MacAddr;

use crate::{
    malformed::Malformed,
    options::{Options, code},
};

/// The port of servers and relays.
pub const SERVER_PORT: u16 = 67;
/// The port of clients.
pub const CLIENT_PORT: u16 = 68;

/// What a client says that it takes at most (option 57), and so the most that is read.
pub const LONGEST: usize = 1500;
/// The least that one may say so: what every host can take.
pub const LEAST_LONGEST: u16 = 576;

/// Relays of the older protocol drop what is shorter.
const SHORTEST_WRITTEN: usize = 300;
/// Up to the options, without the mark before them.
const FIXED: usize = 236;
const SERVER_NAME: std::ops::Range<usize> = 44..108;
const BOOT_FILE: std::ops::Range<usize> = 108..236;
const MARK: [u8; 4] = [99, 130, 83, 99];
const ETHERNET: u8 = 1;
const MAC_LENGTH: u8 = 6;
const BROADCAST_FLAG: u16 = 0x8000;

/// Which way a message goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// From a client.
    Request,
    /// From a server.
    Reply,
}

/// What a message is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A client looks for servers.
    Discover,
    /// A server offers an address.
    Offer,
    /// A client asks for an address that was offered, or to keep the one that it has.
    Request,
    /// A client has found that the address is in use.
    Decline,
    /// A server gives the address.
    Ack,
    /// A server refuses.
    Nak,
    /// A client gives the address back.
    Release,
}

impl Kind {
    /// The number on the wire.
    pub const fn number(self) -> u8 {
        match self {
            Self::Discover => 1,
            Self::Offer => 2,
            Self::Request => 3,
            Self::Decline => 4,
            Self::Ack => 5,
            Self::Nak => 6,
            Self::Release => 7,
        }
    }

    /// The kind with this number.
    pub fn of(number: u8) -> Option<Self> {
        let all = [Self::Discover, Self::Offer, Self::Request, Self::Decline, Self::Ack, Self::Nak, Self::Release];
        all.into_iter().find(|kind| kind.number() == number)
    }
}

/// A message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Which way it goes.
    pub operation: Operation,
    /// What ties an answer to its question.
    pub xid: u32,
    /// For how many seconds the client has been asking.
    pub secs: u16,
    /// Whether the client can hear only broadcasts.
    pub broadcast: bool,
    /// The address that the client uses.
    pub ciaddr: Ipv4Addr,
    /// The address that the client is given.
    pub yiaddr: Ipv4Addr,
    /// The server to boot from.
    pub siaddr: Ipv4Addr,
    /// The relay between them.
    pub giaddr: Ipv4Addr,
    /// The client's hardware address.
    pub chaddr: MacAddr,
    /// Everything else.
    pub options: Options,
}

impl Message {
    /// An empty message of a client.
    pub const fn request(xid: u32, chaddr: MacAddr) -> Self {
        Self {
            operation: Operation::Request,
            xid,
            secs: 0,
            broadcast: false,
            ciaddr: Ipv4Addr::UNSPECIFIED,
            yiaddr: Ipv4Addr::UNSPECIFIED,
            siaddr: Ipv4Addr::UNSPECIFIED,
            giaddr: Ipv4Addr::UNSPECIFIED,
            chaddr,
            options: Options::new(),
        }
    }

    /// What the message is about; none when it does not say so in exactly one byte.
    pub fn kind(&self) -> Option<Kind> {
        match self.options.get(code::KIND) {
            Some(&[number]) => Kind::of(number),
            Some(_) | None => None,
        }
    }

    /// Reads a message.
    ///
    /// # Errors
    /// The first rule that it breaks.
    pub fn read(bytes: &[u8]) -> Result<Self, Malformed> {
        if bytes.len() > LONGEST {
            return Err(Malformed::Long(bytes.len()));
        }
        let (fixed, rest) = bytes.split_first_chunk::<FIXED>().ok_or(Malformed::Short(bytes.len()))?;
        let (mark, field) = rest.split_first_chunk::<4>().ok_or(Malformed::Short(bytes.len()))?;
        let operation = match fixed[0] {
            1 => Operation::Request,
            2 => Operation::Reply,
            other => return Err(Malformed::Operation(other)),
        };
        if (fixed[1], fixed[2]) != (ETHERNET, MAC_LENGTH) {
            return Err(Malformed::Hardware { kind: fixed[1], length: fixed[2] });
        }
        if *mark != MARK {
            return Err(Malformed::Mark);
        }
        let address = |at: usize| Ipv4Addr::from(chunk::<4>(fixed, at));
        Ok(Self {
            operation,
            xid: u32::from_be_bytes(chunk(fixed, 4)),
            secs: u16::from_be_bytes(chunk(fixed, 8)),
            broadcast: u16::from_be_bytes(chunk(fixed, 10)) & BROADCAST_FLAG != 0,
            ciaddr: address(12),
            yiaddr: address(16),
            siaddr: address(20),
            giaddr: address(24),
            chaddr: MacAddr::new(chunk(fixed, 28)),
            options: options(fixed, field)?,
        })
    }

    /// What ties the message in these bytes to its question, without reading the rest: most of what a
    /// client hears is for others, and shall cost it little.
    pub fn xid_in(bytes: &[u8]) -> Option<u32> {
        Some(u32::from_be_bytes(*bytes.get(4..)?.first_chunk()?))
    }

    /// Writes the message.
    pub fn write(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(SHORTEST_WRITTEN);
        let operation = match self.operation {
            Operation::Request => 1,
            Operation::Reply => 2,
        };
        bytes.extend([operation, ETHERNET, MAC_LENGTH, 0]);
        bytes.extend(self.xid.to_be_bytes());
        bytes.extend(self.secs.to_be_bytes());
        bytes.extend(if self.broadcast { BROADCAST_FLAG } else { 0 }.to_be_bytes());
        for address in [self.ciaddr, self.yiaddr, self.siaddr, self.giaddr] {
            bytes.extend(address.octets());
        }
        bytes.extend(self.chaddr.bytes());
        bytes.resize(FIXED, 0);
        bytes.extend(MARK);
        self.options.write(&mut bytes);
        bytes.resize(bytes.len().max(SHORTEST_WRITTEN), code::PAD);
        bytes
    }
}

/// The options of all fields that hold some, in the order in which their pieces are joined.
fn options(fixed: &[u8; FIXED], field: &[u8]) -> Result<Options, Malformed> {
    let mut options = Options::new();
    options.read(field)?;
    let (file, name) = match options.get(code::OVERLOAD) {
        None => (false, false),
        Some([which @ 1..=3]) => (which & 1 != 0, which & 2 != 0),
        Some(_) => return Err(Malformed::Overload),
    };
    for (_, range) in [(file, BOOT_FILE), (name, SERVER_NAME)].into_iter().filter(|(holds, _)| *holds) {
        options.read(&fixed[range])?;
    }
    // One that stands in the fields that it speaks of means nothing.
    match options.get(code::OVERLOAD) {
        Some([_]) | None => Ok(options.without(code::OVERLOAD)),
        Some(_) => Err(Malformed::Overload),
    }
}

fn chunk<const N: usize>(fixed: &[u8; FIXED], at: usize) -> [u8; N] {
    std::array::from_fn(|i| fixed[at + i])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn message() -> Message {
        Message {
            operation: Operation::Reply,
            secs: 7,
            broadcast: true,
            ciaddr: Ipv4Addr::new(192, 0, 2, 1),
            yiaddr: Ipv4Addr::new(192, 0, 2, 2),
            siaddr: Ipv4Addr::new(192, 0, 2, 3),
            giaddr: Ipv4Addr::new(192, 0, 2, 4),
            options: Options::new().with(53, [5]).with(51, [0, 0, 14, 16]),
            ..Message::request(0xdead_beef, MacAddr::new([2, 0, 0, 0, 0, 9]))
        }
    }

    #[test]
    fn what_is_written_is_read_back_and_never_short() {
        let bytes = message().write();
        assert_eq!(bytes.len(), 300);
        assert_eq!(Message::xid_in(&bytes), Some(0xdead_beef));
        assert_eq!(Message::read(&bytes), Ok(message()));
        assert_eq!(message().kind(), Some(Kind::Ack));
    }

    #[test]
    fn options_in_the_fields_of_names_are_joined_in_order() {
        let mut bytes = Message { options: Options::new().with(52, [3]).with(12, *b"a"), ..message() }.write();
        bytes[108..112].copy_from_slice(&[12, 1, b'b', 255]);
        bytes[44..48].copy_from_slice(&[12, 1, b'c', 255]);
        let read = |bytes: &[u8]| Message::read(bytes).unwrap().options;
        assert_eq!(read(&bytes), Options::new().with(12, *b"abc"));
        // Where option 52 does not say so, the fields are names.
        let plain = Message { options: Options::new().with(12, *b"a"), ..message() }.write();
        bytes[240..].copy_from_slice(&plain[240..]);
        assert_eq!(read(&bytes), Options::new().with(12, *b"a"));
    }

    #[test]
    fn a_broken_rule_is_named() {
        let with = |at: usize, byte: u8| {
            let mut bytes = message().write();
            bytes[at] = byte;
            bytes
        };
        let overload = |contents: &[u8]| Message { options: Options::new().with(52, contents), ..message() }.write();
        let mut nested = overload(&[1]);
        nested[108..112].copy_from_slice(&[52, 1, 2, 255]);
        let mut cut = overload(&[2]);
        cut[106..108].copy_from_slice(&[12, 1]);
        let table = [
            (Vec::new(), Malformed::Short(0)),
            (message().write()[..239].to_vec(), Malformed::Short(239)),
            (vec![2; 1501], Malformed::Long(1501)),
            (with(0, 3), Malformed::Operation(3)),
            (with(1, 6), Malformed::Hardware { kind: 6, length: 6 }),
            (with(2, 255), Malformed::Hardware { kind: 1, length: 255 }),
            (with(236, 0), Malformed::Mark),
            (with(244, 200), Malformed::Truncated(51)),
            (overload(&[0]), Malformed::Overload),
            (overload(&[4]), Malformed::Overload),
            (overload(&[1, 1]), Malformed::Overload),
            (overload(&[]), Malformed::Overload),
            (nested, Malformed::Overload),
            (cut, Malformed::Truncated(12)),
        ];
        for (bytes, wanted) in table {
            assert_eq!(Message::read(&bytes), Err(wanted));
            assert!(wanted.reason().starts_with("Dhcp"));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]
        #[test]
        fn any_bytes_can_be_read(
            bytes in prop::collection::vec(any::<u8>(), 0..600),
            field in prop::collection::vec(any::<u8>(), 0..200),
            overload in any::<u8>(),
        ) {
            Message::read(&bytes).ok();
            let mut whole = message().write();
            whole.truncate(240);
            whole.extend([52, 1, overload]);
            whole.extend(&field);
            whole[44..236].iter_mut().zip(bytes).for_each(|(to, from)| *to = from);
            Message::read(&whole).ok();
        }

        #[test]
        fn what_is_written_says_the_same(
            parts in prop::collection::btree_map(
                (1u8..255).prop_filter("joined with other fields", |code| *code != 52),
                prop::collection::vec(any::<u8>(), 0..300), 0..4),
        ) {
            let options = parts.into_iter().fold(Options::new(), |all, (code, contents)| all.with(code, contents));
            let sent = Message { options, ..message() };
            prop_assert_eq!(Message::read(&sent.write()), Ok(sent));
        }
    }
}
