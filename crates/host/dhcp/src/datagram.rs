//! Frames around messages: Ethernet, IPv4, UDP.
//!
//! A client has no address while it asks for one, so it makes and reads whole frames. What comes in is
//! read strictly: lengths must fit into each other, checksums must be right, pieces of a packet are not
//! put together. Only the checksum of UDP is judged with care for how virtual links work. A sender on
//! the same machine leaves it to a card that never comes; what then stands there is the sum of the
//! addresses alone, and that is taken as right.

use std::net::{Ipv4Addr, SocketAddrV4};

use netloom_types::{MacAddr, VlanId};

/// The type of IPv4 frames on Ethernet.
pub const ETHERTYPE: u16 = 0x0800;

/// The address of everybody on a link.
pub const EVERYBODY: MacAddr = MacAddr::new([0xff; 6]);

const ETHERNET_HEADER: usize = 14;
const VLAN_TAG: u16 = 0x8100;
const IP_HEADER: usize = 20;
const UDP_HEADER: usize = 8;
const UDP: u8 = 17;
/// More pieces follow, or this is not the first.
const PIECES: u16 = 0x3fff;
const TIME_TO_LIVE: u8 = 64;

/// What is known of the checksums of a frame.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Checksums {
    /// They must be right.
    #[default]
    Verify,
    /// The kernel says that the one of UDP was never worked out (`TP_STATUS_CSUMNOTREADY`).
    NotReady,
}

/// How frames of a link are read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reading {
    /// What is known of the checksums.
    pub checksums: Checksums,
    /// The VLAN that the link carries: its tag may still be on the frame.
    pub vlan: Option<VlanId>,
}

/// Why a frame is not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// Not an Ethernet frame with IPv4 in it.
    #[error("the frame is not one of IPv4")]
    Foreign,
    /// The frame belongs to another VLAN.
    #[error("the frame belongs to VLAN {0}")]
    OtherVlan(u16),
    /// A header, or a length in it, does not fit.
    #[error("the lengths in the frame do not fit into each other")]
    Length,
    /// A checksum is wrong.
    #[error("a checksum of the frame is wrong")]
    Checksum,
    /// A piece of a packet.
    #[error("the frame holds a piece of a packet")]
    Piece,
    /// Not UDP.
    #[error("the packet is not one of UDP")]
    NotUdp,
}

impl Unfit {
    /// The stable name of this failure.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Foreign => "FrameForeign",
            Self::OtherVlan(_) => "FrameOtherVlan",
            Self::Length => "FrameLength",
            Self::Checksum => "FrameChecksum",
            Self::Piece => "FramePiece",
            Self::NotUdp => "FrameNotUdp",
        }
    }
}

/// A UDP packet with everything around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Datagram<'a> {
    /// Who sent the frame.
    pub from_mac: MacAddr,
    /// Whom the frame is for.
    pub to_mac: MacAddr,
    /// Who sent the packet.
    pub from: SocketAddrV4,
    /// Whom the packet is for.
    pub to: SocketAddrV4,
    /// What is in it.
    pub payload: &'a [u8],
}

impl<'a> Datagram<'a> {
    /// Reads a frame.
    ///
    /// # Errors
    /// The first rule that it breaks.
    pub fn read(frame: &'a [u8], how: Reading) -> Result<Self, Unfit> {
        let (header, packet) = frame.split_first_chunk::<ETHERNET_HEADER>().ok_or(Unfit::Foreign)?;
        let mac = |at: usize| MacAddr::new(std::array::from_fn(|i| header[at + i]));
        let packet = untagged(u16::from_be_bytes([header[12], header[13]]), packet, how.vlan)?;
        let (from, to, segment) = ip(packet)?;
        let (from_port, to_port, payload) = udp(from, to, segment, how.checksums)?;
        let (from, to) = (SocketAddrV4::new(from, from_port), SocketAddrV4::new(to, to_port));
        Ok(Self { from_mac: mac(6), to_mac: mac(0), from, to, payload })
    }

    /// Writes the frame. What is in it must be shorter than 65508 bytes, as every message is; the rest
    /// of something longer is left out.
    pub fn write(&self) -> Vec<u8> {
        let payload = &self.payload[..self.payload.len().min(usize::from(u16::MAX) - IP_HEADER - UDP_HEADER)];
        let length = |with: usize| u16::try_from(payload.len() + with).unwrap_or(u16::MAX).to_be_bytes();
        let mut frame = [self.to_mac.bytes(), self.from_mac.bytes()].concat();
        frame.extend(ETHERTYPE.to_be_bytes());

        let [high, low] = length(IP_HEADER + UDP_HEADER);
        let mut header = vec![0x45, 0, high, low, 0, 0, 0, 0, TIME_TO_LIVE, UDP, 0, 0];
        header.extend(self.from.ip().octets());
        header.extend(self.to.ip().octets());
        let check = !fold(sum(&header));
        header[10..12].copy_from_slice(&check.to_be_bytes());
        frame.extend(header);

        let mut segment = [self.from.port().to_be_bytes(), self.to.port().to_be_bytes()].concat();
        segment.extend(length(UDP_HEADER));
        segment.extend([0, 0]);
        segment.extend(payload);
        let check = !fold(addresses_sum(*self.from.ip(), *self.to.ip(), segment.len()) + sum(&segment));
        // Zero would say that there is none.
        segment[6..8].copy_from_slice(&if check == 0 { u16::MAX } else { check }.to_be_bytes());
        frame.extend(segment);
        frame
    }
}

/// What follows the type of a frame, without the tag of its VLAN. VLAN 0 is a priority and no VLAN.
fn untagged(ethertype: u16, rest: &[u8], vlan: Option<VlanId>) -> Result<&[u8], Unfit> {
    match (ethertype, rest) {
        (ETHERTYPE, _) => Ok(rest),
        (VLAN_TAG, &[high, low, 0x08, 0x00, ref packet @ ..]) => {
            let id = u16::from_be_bytes([high, low]) & 0x0fff;
            if id == 0 || vlan.is_some_and(|vlan| vlan.get() == id) { Ok(packet) } else { Err(Unfit::OtherVlan(id)) }
        }
        _ => Err(Unfit::Foreign),
    }
}

/// Reads a packet: both addresses and what is in it.
fn ip(packet: &[u8]) -> Result<(Ipv4Addr, Ipv4Addr, &[u8]), Unfit> {
    let fixed = packet.first_chunk::<IP_HEADER>().ok_or(Unfit::Length)?;
    if fixed[0] >> 4 != 4 {
        return Err(Unfit::Foreign);
    }
    let header_length = usize::from(fixed[0] & 0x0f) * 4;
    let total = usize::from(u16::from_be_bytes([fixed[2], fixed[3]]));
    // Short frames are padded, so there may be more than the packet.
    let packet = packet.get(..total).ok_or(Unfit::Length)?;
    let (header, segment) = packet.split_at_checked(header_length).ok_or(Unfit::Length)?;
    if header_length < IP_HEADER {
        return Err(Unfit::Length);
    }
    if fold(sum(header)) != u16::MAX {
        return Err(Unfit::Checksum);
    }
    if u16::from_be_bytes([fixed[6], fixed[7]]) & PIECES != 0 {
        return Err(Unfit::Piece);
    }
    if fixed[9] != UDP {
        return Err(Unfit::NotUdp);
    }
    let address = |at: usize| Ipv4Addr::new(fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]);
    Ok((address(12), address(16), segment))
}

/// Reads a segment: both ports and what is in it.
fn udp(from: Ipv4Addr, to: Ipv4Addr, segment: &[u8], checksums: Checksums) -> Result<(u16, u16, &[u8]), Unfit> {
    let header = segment.first_chunk::<UDP_HEADER>().ok_or(Unfit::Length)?;
    let number = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
    let segment = segment.get(..usize::from(number(4))).ok_or(Unfit::Length)?;
    let payload = segment.get(UDP_HEADER..).ok_or(Unfit::Length)?;
    let addresses = addresses_sum(from, to, segment.len());
    let right = match checksums {
        Checksums::NotReady => true,
        Checksums::Verify => {
            let given = number(6);
            given == 0 || given == fold(addresses) || fold(addresses + sum(segment)) == u16::MAX
        }
    };
    if right { Ok((number(0), number(2), payload)) } else { Err(Unfit::Checksum) }
}

/// The sum of what UDP adds to its own bytes: the addresses, the protocol and the length.
fn addresses_sum(from: Ipv4Addr, to: Ipv4Addr, length: usize) -> u64 {
    sum(&from.octets()) + sum(&to.octets()) + u64::from(UDP) + length as u64
}

/// The sum of bytes in pairs; an odd one counts as if a zero followed.
fn sum(bytes: &[u8]) -> u64 {
    let pair = |pair: &[u8]| u64::from(pair[0]) << 8 | u64::from(pair.get(1).copied().unwrap_or_default());
    bytes.chunks(2).map(pair).sum()
}

/// A sum in sixteen bits, with everything above added back.
fn fold(mut sum: u64) -> u16 {
    while sum > u64::from(u16::MAX) {
        sum = (sum >> 16) + (sum & u64::from(u16::MAX));
    }
    u16::try_from(sum).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn datagram(payload: &[u8]) -> Datagram<'_> {
        Datagram {
            from_mac: MacAddr::new([2, 0, 0, 0, 0, 1]),
            to_mac: EVERYBODY,
            from: "192.0.2.1:67".parse().unwrap(),
            to: "255.255.255.255:68".parse().unwrap(),
            payload,
        }
    }

    fn read(frame: &[u8]) -> Result<Datagram<'_>, Unfit> {
        Datagram::read(frame, Reading::default())
    }

    /// Changes a frame and makes the header of its packet right again.
    fn changed(change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        let mut frame = datagram(b"hello").write();
        change(&mut frame);
        frame[24..26].fill(0);
        let check = !fold(sum(&frame[14..34]));
        frame[24..26].copy_from_slice(&check.to_be_bytes());
        frame
    }

    #[test]
    fn the_bytes_of_a_frame_are_those_that_others_make() {
        let frame = datagram(b"hi").write();
        let wanted = [
            &[0xff; 6][..],
            &[2, 0, 0, 0, 0, 1, 8, 0],
            &[0x45, 0, 0, 30, 0, 0, 0, 0, 64, 17, 0xb8, 0xce, 192, 0, 2, 1, 255, 255, 255, 255],
            &[0, 67, 0, 68, 0, 10, 0xd4, 0xe8, b'h', b'i'],
        ];
        assert_eq!(frame, wanted.concat());
    }

    #[test]
    fn what_the_wire_adds_does_not_matter() {
        let padded = [datagram(b"hello").write(), vec![0; 18]].concat();
        assert_eq!(read(&padded), Ok(datagram(b"hello")));
        let mut options = datagram(b"hello").write();
        options[14] = 0x46;
        options[17] += 4;
        options.splice(34..34, [1, 1, 1, 0]);
        options[24..26].fill(0);
        let check = !fold(sum(&options[14..38]));
        options[24..26].copy_from_slice(&check.to_be_bytes());
        assert_eq!(read(&options), Ok(datagram(b"hello")));
    }

    #[test]
    fn a_tag_is_read_only_where_its_vlan_belongs() {
        let tagged = |id: u16| {
            let mut frame = datagram(b"hello").write();
            let [high, low] = (id | 0xe000).to_be_bytes();
            frame.splice(12..12, [0x81, 0, high, low]);
            frame
        };
        let on = |vlan: Option<u16>, frame: &[u8]| {
            let vlan = vlan.map(|id| VlanId::try_from(id).unwrap());
            Datagram::read(frame, Reading { vlan, ..Reading::default() }).map(|read| read.payload.len())
        };
        assert_eq!(on(Some(7), &tagged(7)), Ok(5));
        assert_eq!(on(None, &tagged(0)), Ok(5));
        assert_eq!(on(None, &tagged(7)), Err(Unfit::OtherVlan(7)));
        assert_eq!(on(Some(8), &tagged(7)), Err(Unfit::OtherVlan(7)));
    }

    #[test]
    fn checksums_are_judged_with_care_for_virtual_links() {
        let with = |check: [u8; 2]| changed(|frame| frame[40..42].copy_from_slice(&check));
        let partial = fold(addresses_sum([192, 0, 2, 1].into(), [255; 4].into(), 13)).to_be_bytes();
        for check in [[0, 0], partial] {
            assert!(read(&with(check)).is_ok());
        }
        assert_eq!(read(&with([0x12, 0x34])), Err(Unfit::Checksum));
        let not_ready = Reading { checksums: Checksums::NotReady, vlan: None };
        assert!(Datagram::read(&with([0x12, 0x34]), not_ready).is_ok());
    }

    #[test]
    fn a_broken_rule_is_named() {
        let mut header = datagram(b"hello").write();
        header[24] ^= 1;
        let table = [
            (Vec::new(), Unfit::Foreign),
            (changed(|frame| frame[13] = 6), Unfit::Foreign),
            (changed(|frame| frame[14] = 0x65), Unfit::Foreign),
            (datagram(b"hello").write()[..40].to_vec(), Unfit::Length),
            (changed(|frame| frame[14] = 0x44), Unfit::Length),
            (changed(|frame| frame[16] = 0xff), Unfit::Length),
            (changed(|frame| frame[39] = 200), Unfit::Length),
            (changed(|frame| frame[39] = 7), Unfit::Length),
            (header, Unfit::Checksum),
            (changed(|frame| frame[44] ^= 1), Unfit::Checksum),
            (changed(|frame| frame[20] = 0x20), Unfit::Piece),
            (changed(|frame| frame[21] = 1), Unfit::Piece),
            (changed(|frame| frame[23] = 6), Unfit::NotUdp),
        ];
        for (frame, wanted) in table {
            assert_eq!(read(&frame), Err(wanted), "{frame:02x?}");
            assert!(wanted.reason().starts_with("Frame"));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]
        #[test]
        fn what_is_written_is_read_back(payload in prop::collection::vec(any::<u8>(), 0..80), to in any::<u32>()) {
            let sent = Datagram { to: SocketAddrV4::new(to.into(), 68), ..datagram(&payload) };
            let frame = sent.write();
            prop_assert_eq!(read(&frame), Ok(sent));
        }

        #[test]
        fn any_bytes_can_be_read(bytes in prop::collection::vec(any::<u8>(), 0..80), at in 0usize..47, byte in any::<u8>()) {
            read(&bytes).ok();
            read(&[&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45][..], &bytes].concat()).ok();
            read(&changed(|frame| frame[at] = byte)).ok();
        }
    }
}
