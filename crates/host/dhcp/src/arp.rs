//! Whether an address is in use on the link: questions and answers of ARP, as RFC 5227 uses them.
//!
//! Only what is about one IPv4 address is of interest here; nobody's neighbours are learned.

use std::net::Ipv4Addr;

use netloom_types::MacAddr;

use crate::datagram::EVERYBODY;

/// The type of such frames on Ethernet.
pub const ETHERTYPE: u16 = 0x0806;

/// Ethernet addresses of six bytes for IPv4 addresses of four.
pub(crate) const KIND: [u8; 6] = [0, 1, 0x08, 0x00, 6, 4];
const HEADER: usize = 14;
const QUESTION: u16 = 1;
const LENGTH: usize = 42;

/// What a frame says about addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arp {
    /// Whether it is a question (1) or an answer (2).
    pub operation: u16,
    /// The hardware address of who says it.
    pub sender_mac: MacAddr,
    /// The address of who says it; none (0.0.0.0) while it is only probing.
    pub sender: Ipv4Addr,
    /// The address that it is about.
    pub target: Ipv4Addr,
}

impl Arp {
    /// Asks whether anybody has the address, without claiming it.
    pub const fn probe(mac: MacAddr, address: Ipv4Addr) -> Self {
        Self { operation: QUESTION, sender_mac: mac, sender: Ipv4Addr::UNSPECIFIED, target: address }
    }

    /// Tells everybody who has the address now.
    pub const fn announcement(mac: MacAddr, address: Ipv4Addr) -> Self {
        Self { operation: QUESTION, sender_mac: mac, sender: address, target: address }
    }

    /// Reads a frame; none for anything that is not ARP between Ethernet and IPv4.
    pub fn read(frame: &[u8]) -> Option<Self> {
        let frame = frame.first_chunk::<LENGTH>()?;
        if frame[12..14] != ETHERTYPE.to_be_bytes() || frame[HEADER..20] != KIND {
            return None;
        }
        let address = |at: usize| Ipv4Addr::new(frame[at], frame[at + 1], frame[at + 2], frame[at + 3]);
        Some(Self {
            operation: u16::from_be_bytes([frame[20], frame[21]]),
            sender_mac: MacAddr::new(std::array::from_fn(|i| frame[22 + i])),
            sender: address(28),
            target: address(38),
        })
    }

    /// Writes the frame, to everybody.
    pub fn write(&self) -> Vec<u8> {
        let mut frame = [EVERYBODY.bytes(), self.sender_mac.bytes()].concat();
        frame.extend(ETHERTYPE.to_be_bytes());
        frame.extend(KIND);
        frame.extend(self.operation.to_be_bytes());
        frame.extend(self.sender_mac.bytes());
        frame.extend(self.sender.octets());
        frame.extend([0; 6]);
        frame.extend(self.target.octets());
        frame
    }

    /// Whether this shows that somebody else than `mac` uses the address.
    pub fn uses(&self, address: Ipv4Addr, mac: MacAddr) -> bool {
        self.sender_mac != mac && self.sender == address
    }

    /// Whether this shows that somebody else than `mac` is about to use the address.
    pub fn probes(&self, address: Ipv4Addr, mac: MacAddr) -> bool {
        let asks = self.operation == QUESTION && self.sender.is_unspecified();
        self.sender_mac != mac && asks && self.target == address
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const OURS: MacAddr = MacAddr::new([2, 0, 0, 0, 0, 9]);
    const OTHER: MacAddr = MacAddr::new([2, 0, 0, 0, 0, 1]);
    const ADDRESS: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 9);

    #[test]
    fn a_probe_is_the_frame_of_the_book() {
        let frame = Arp::probe(OURS, ADDRESS).write();
        let wanted = [
            &[0xff; 6][..],
            &[2, 0, 0, 0, 0, 9, 8, 6, 0, 1, 8, 0, 6, 4, 0, 1],
            &[2, 0, 0, 0, 0, 9, 0, 0, 0, 0],
            &[0, 0, 0, 0, 0, 0, 192, 0, 2, 9],
        ];
        assert_eq!(frame, wanted.concat());
        assert_eq!(Arp::read(&frame), Some(Arp::probe(OURS, ADDRESS)));
    }

    #[test]
    fn use_and_probes_of_others_are_reported_apart_from_our_own_and_from_questions() {
        let ask = |mac| Arp { operation: 1, sender_mac: mac, sender: [192, 0, 2, 1].into(), target: ADDRESS };
        let table = [
            (Arp::announcement(OTHER, ADDRESS), true, false),
            (Arp::announcement(OURS, ADDRESS), false, false),
            (Arp { operation: 2, sender: ADDRESS, ..ask(OTHER) }, true, false),
            (Arp::probe(OTHER, ADDRESS), false, true),
            (Arp::probe(OURS, ADDRESS), false, false),
            (Arp { operation: 2, ..Arp::probe(OTHER, ADDRESS) }, false, false),
            (ask(OTHER), false, false),
        ];
        for (arp, uses, probes) in table {
            assert_eq!((arp.uses(ADDRESS, OURS), arp.probes(ADDRESS, OURS)), (uses, probes), "{arp:?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]
        #[test]
        fn any_bytes_can_be_read(bytes in prop::collection::vec(any::<u8>(), 0..50), at in 0usize..20, byte in any::<u8>()) {
            Arp::read(&bytes);
            let mut frame = Arp::probe(OURS, ADDRESS).write();
            frame[at] = byte;
            let kept = at < 12 || Arp::probe(OURS, ADDRESS).write()[at] == byte;
            prop_assert_eq!(Arp::read(&frame).is_some(), kept);
        }
    }
}
