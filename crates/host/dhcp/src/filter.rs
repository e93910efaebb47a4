//! Programs for the kernel that let through only what a client listens to.
//!
//! A packet socket hears everything on its link; without these the process would be woken for all of
//! it. They are programs of the classic packet filter, as values: whoever owns the socket attaches
//! them. They judge coarsely and let through what may be of interest; the readers judge exactly.
//!
//! The kernel has taken the tag of a VLAN off before a program sees the frame.

use std::net::Ipv4Addr;

use netloom_types::{FilterInstruction, MacAddr};

use crate::{arp, datagram, message::CLIENT_PORT};

const LOAD_WORD: u16 = 0x20;
const LOAD_HALF: u16 = 0x28;
const LOAD_BYTE: u16 = 0x30;
/// Four times the low half of a byte, into the index: the length of a packet's header.
const LOAD_HEADER_LENGTH: u16 = 0xb1;
const LOAD_HALF_AT_INDEX: u16 = 0x48;
const IF_EQUAL: u16 = 0x15;
const IF_ANY_BIT: u16 = 0x45;
const RETURN: u16 = 0x06;
const WHOLE_FRAME: u32 = 0x0004_0000;

/// A line of a program before its ends are known.
enum Line {
    Load(u16, u32),
    /// Goes on if equal, else refuses.
    Must(u32),
    /// Goes on if none of these bits is set, else refuses.
    MustNot(u32),
    /// Goes on if equal, else passes over so many lines.
    Else(u32, u8),
    /// Passes over so many lines if equal, else refuses.
    Skip(u32, u8),
    /// Lets through if equal, else goes on.
    Enough(u32),
}

/// Packets of UDP for the port of clients, to this address or to everybody.
pub fn messages(mac: MacAddr) -> Vec<FilterInstruction> {
    use Line::{Else, Load, Must, MustNot, Skip};
    let [high @ .., _, _, _, _] = mac.bytes();
    let [_, _, low @ ..] = mac.bytes();
    program(&[
        Load(LOAD_HALF, 0),
        Else(0xffff, 2),
        Load(LOAD_WORD, 2),
        Skip(0xffff_ffff, 3),
        Must(u16::from_be_bytes(high).into()),
        Load(LOAD_WORD, 2),
        Must(u32::from_be_bytes(low)),
        Load(LOAD_HALF, 12),
        Must(u32::from(datagram::ETHERTYPE)),
        Load(LOAD_BYTE, 23),
        Must(17),
        Load(LOAD_HALF, 20),
        MustNot(0x3fff),
        Load(LOAD_HEADER_LENGTH, 14),
        Load(LOAD_HALF_AT_INDEX, 16),
        Must(u32::from(CLIENT_PORT)),
    ])
}

/// Frames of ARP in which somebody uses this address or asks whether it is free.
pub fn conflicts(address: Ipv4Addr) -> Vec<FilterInstruction> {
    use Line::{Enough, Load, Must};
    let [kinds @ .., _, _] = arp::KIND;
    let [_, _, _, _, lengths @ ..] = arp::KIND;
    program(&[
        Load(LOAD_HALF, 12),
        Must(u32::from(arp::ETHERTYPE)),
        Load(LOAD_WORD, 14),
        Must(u32::from_be_bytes(kinds)),
        Load(LOAD_HALF, 18),
        Must(u16::from_be_bytes(lengths).into()),
        Load(LOAD_WORD, 28),
        Enough(address.into()),
        Must(0),
        Load(LOAD_WORD, 38),
        Must(address.into()),
    ])
}

/// Puts the two ends behind the lines and the ways to them into the lines.
fn program(lines: &[Line]) -> Vec<FilterInstruction> {
    let accept = lines.len();
    let way = |from: usize, to: usize| u8::try_from(to - from - 1).expect("these programs have a few lines");
    let instruction = |(at, line): (usize, &Line)| {
        let (accept, refuse) = (way(at, accept), way(at, accept + 1));
        let (code, if_true, if_false, k) = match *line {
            Line::Load(code, k) => (code, 0, 0, k),
            Line::Must(k) => (IF_EQUAL, 0, refuse, k),
            Line::MustNot(k) => (IF_ANY_BIT, refuse, 0, k),
            Line::Else(k, over) => (IF_EQUAL, 0, over, k),
            Line::Skip(k, over) => (IF_EQUAL, over, refuse, k),
            Line::Enough(k) => (IF_EQUAL, accept, 0, k),
        };
        FilterInstruction { code, if_true, if_false, k }
    };
    let end = |k| FilterInstruction { code: RETURN, if_true: 0, if_false: 0, k };
    lines.iter().enumerate().map(instruction).chain([end(WHOLE_FRAME), end(0)]).collect()
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddrV4;

    use proptest::prelude::*;

    use super::*;
    use crate::{
        arp::Arp,
        datagram::{Datagram, EVERYBODY, Reading},
    };

    const OURS: MacAddr = MacAddr::new([2, 0, 0xff, 0xff, 0xff, 0xff]);
    const OTHER: MacAddr = MacAddr::new([2, 0, 0, 0, 0, 1]);
    const ADDRESS: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 9);

    /// Runs a program as the kernel does: what is loaded beyond the end refuses.
    fn passes(program: &[FilterInstruction], frame: &[u8]) -> bool {
        let bytes = |at: usize, count: usize| {
            let bytes = frame.get(at..at + count)?;
            Some(bytes.iter().fold(0, |all, byte| all << 8 | u32::from(*byte)))
        };
        let (mut a, mut x, mut at) = (0, 0, 0);
        loop {
            let FilterInstruction { code, if_true, if_false, k } = program[at];
            let place = usize::try_from(k).unwrap();
            let loaded = match code {
                LOAD_WORD => bytes(place, 4),
                LOAD_HALF => bytes(place, 2),
                LOAD_BYTE => bytes(place, 1),
                LOAD_HALF_AT_INDEX => bytes(place + x, 2),
                LOAD_HEADER_LENGTH => {
                    let Some(byte) = bytes(place, 1) else { return false };
                    x = usize::try_from(byte & 15).unwrap() * 4;
                    Some(a)
                }
                _ => Some(a),
            };
            let Some(loaded) = loaded else { return false };
            a = loaded;
            let over = match code {
                IF_EQUAL if a == k => if_true,
                IF_ANY_BIT if a & k != 0 => if_true,
                IF_EQUAL | IF_ANY_BIT => if_false,
                RETURN => return k > 0,
                _ => 0,
            };
            at += 1 + usize::from(over);
        }
    }

    fn frame(to_mac: MacAddr, port: u16) -> Vec<u8> {
        let (from, to) = (SocketAddrV4::new([192, 0, 2, 1].into(), 67), SocketAddrV4::new(ADDRESS, port));
        Datagram { from_mac: OTHER, to_mac, from, to, payload: b"x" }.write()
    }

    #[test]
    fn only_messages_for_us_or_everybody_pass() {
        let program = messages(OURS);
        let with = |at: usize, byte: u8| {
            let mut frame = frame(OURS, 68);
            frame[at] = byte;
            frame
        };
        let mut options = with(14, 0x46);
        options.splice(34..34, [0, 0, 0, 68]);
        let table = [
            (frame(OURS, 68), true),
            (frame(EVERYBODY, 68), true),
            (options, true),
            (frame(OTHER, 68), false),
            (frame(MacAddr::new([1, 0, 0x5e, 0, 0, 1]), 68), false),
            (frame(MacAddr::new([0xff, 0xff, 0, 0, 0, 1]), 68), false),
            (frame(OURS, 67), false),
            (with(13, 6), false),
            (with(23, 6), false),
            (with(20, 0x20), false),
            (with(21, 1), false),
            (frame(OURS, 68)[..36].to_vec(), false),
            (Vec::new(), false),
        ];
        for (frame, wanted) in table {
            assert_eq!(passes(&program, &frame), wanted, "{frame:02x?}");
        }
    }

    #[test]
    fn only_arp_about_the_address_passes() {
        let program = conflicts(ADDRESS);
        let ask = Arp { operation: 1, sender_mac: OTHER, sender: [192, 0, 2, 1].into(), target: ADDRESS };
        let mut token_ring = Arp::probe(OTHER, ADDRESS).write();
        token_ring[15] = 6;
        let table = [
            (Arp::probe(OTHER, ADDRESS).write(), true),
            (Arp::announcement(OTHER, ADDRESS).write(), true),
            (Arp { operation: 2, sender: ADDRESS, ..ask }.write(), true),
            (ask.write(), false),
            (Arp::probe(OTHER, [192, 0, 2, 8].into()).write(), false),
            (token_ring, false),
            (frame(OURS, 68), false),
        ];
        for (frame, wanted) in table {
            assert_eq!(passes(&program, &frame), wanted, "{frame:02x?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]
        #[test]
        fn nothing_is_held_back_that_is_read(at in 0usize..43, byte in any::<u8>(), port in 66u16..70) {
            let mut frame = frame(OURS, port);
            frame[at] = byte;
            let read = Datagram::read(&frame, Reading::default());
            let ours = read.is_ok_and(|read| read.to.port() == 68 && [OURS, EVERYBODY].contains(&read.to_mac));
            prop_assert!(!ours || passes(&messages(OURS), &frame));
        }
    }
}
