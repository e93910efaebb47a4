//! Reads frames.
//!
//! An announcement is a row of parts: seven bits of type, nine of length, contents. Three come first
//! and must; a part of type 0 ends the row, and what the wire added behind it means nothing. Parts
//! that are not known are passed over, as the protocol wants it.

use std::collections::BTreeMap;

use netloom_types::MacAddr;

use crate::{
    announcement::{Announcement, Capabilities, Id, MacPhy, ManagementAddress, network_address},
    malformed::Malformed,
};

/// The type of such frames on Ethernet.
pub const ETHERTYPE: u16 = 0x88cc;

/// Where such frames are sent to: the nearest bridge, the nearest that is no relay, and the nearest
/// that customers see.
pub const GROUPS: [MacAddr; 3] = [
    MacAddr::new([0x01, 0x80, 0xc2, 0, 0, 0x0e]),
    MacAddr::new([0x01, 0x80, 0xc2, 0, 0, 0x03]),
    MacAddr::new([0x01, 0x80, 0xc2, 0, 0, 0x00]),
];

const ETHERNET_HEADER: usize = 14;
/// The longest name of a machine, port or VLAN that the protocol knows.
const LONGEST_ID: usize = 255;
const LONGEST_VLAN_NAME: usize = 32;
const ORGANISATION: u8 = 127;
/// Who defined a part: 802.1 and 802.3.
const IEEE_802_1: [u8; 3] = [0x00, 0x80, 0xc2];
const IEEE_802_3: [u8; 3] = [0x00, 0x12, 0x0f];

/// Reads an Ethernet frame.
///
/// # Errors
/// The first rule that the frame breaks.
pub fn parse(frame: &[u8]) -> Result<Announcement, Malformed> {
    let (header, rest) = frame.split_at_checked(ETHERNET_HEADER).ok_or(Malformed::Foreign)?;
    let to_us = GROUPS.iter().any(|group| header[..6] == group.bytes());
    if !to_us || header[12..] != ETHERTYPE.to_be_bytes() {
        return Err(Malformed::Foreign);
    }
    let mut parts = Parts(rest);
    let chassis = mandatory(&mut parts, 1)?;
    let port = mandatory(&mut parts, 2)?;
    let ttl = number(3, mandatory(&mut parts, 3)?.get(..2))?;
    let chassis = id(1, chassis, &CHASSIS)?;
    let mut announcement = Announcement::new(chassis, id(2, port, &PORT)?, ttl);
    while let Some((kind, contents)) = parts.next()? {
        take(&mut announcement, kind, contents)?;
    }
    Ok(announcement)
}

/// Parts that are not read yet.
struct Parts<'a>(&'a [u8]);

impl<'a> Parts<'a> {
    /// The next part; none at the end.
    fn next(&mut self) -> Result<Option<(u8, &'a [u8])>, Malformed> {
        let (first, second, rest) = match *self.0 {
            [] => return Ok(None),
            [first] => return Err(Malformed::Truncated(first >> 1)),
            [first, second, ref rest @ ..] => (first, second, rest),
        };
        let (kind, length) = (first >> 1, usize::from(first & 1) << 8 | usize::from(second));
        let (contents, rest) = rest.split_at_checked(length).ok_or(Malformed::Truncated(kind))?;
        if kind == 0 {
            self.0 = &[];
            return if length == 0 { Ok(None) } else { Err(Malformed::Contents(0)) };
        }
        self.0 = rest;
        Ok(Some((kind, contents)))
    }
}

fn mandatory<'a>(parts: &mut Parts<'a>, wanted: u8) -> Result<&'a [u8], Malformed> {
    match parts.next()? {
        Some((kind, contents)) if kind == wanted => Ok(contents),
        Some(_) | None => Err(Malformed::Mandatory(wanted)),
    }
}

fn take(to: &mut Announcement, kind: u8, contents: &[u8]) -> Result<(), Malformed> {
    match kind {
        1..=3 => Err(Malformed::Twice(kind)),
        4 => once(&mut to.port_description, kind, text(contents)),
        5 => once(&mut to.system_name, kind, text(contents)),
        6 => once(&mut to.system_description, kind, text(contents)),
        7 => {
            let supported = number(kind, contents.get(..2))?;
            once(&mut to.capabilities, kind, Capabilities { supported, enabled: number(kind, contents.get(2..4))? })
        }
        8 => {
            to.management.push(management(contents).ok_or(Malformed::Contents(kind))?);
            Ok(())
        }
        ORGANISATION => {
            let (who, rest) = contents.split_at_checked(4).ok_or(Malformed::Contents(kind))?;
            match ([who[0], who[1], who[2]], who[3]) {
                (IEEE_802_1, which) => ieee_802_1(to, which, rest),
                (IEEE_802_3, which) => ieee_802_3(to, which, rest),
                _ => Ok(()),
            }
        }
        _ => Ok(()),
    }
}

fn ieee_802_1(to: &mut Announcement, which: u8, contents: &[u8]) -> Result<(), Malformed> {
    match which {
        1 => once(&mut to.port_vlan, ORGANISATION, number(ORGANISATION, contents.get(..2))?),
        2 => {
            to.protocol_vlans.push(number(ORGANISATION, contents.get(1..3))?);
            Ok(())
        }
        3 => {
            let id = number(ORGANISATION, contents.get(..2))?;
            let length = usize::from(*contents.get(2).ok_or(Malformed::Contents(ORGANISATION))?);
            let name = contents.get(3..3 + length).filter(|_| length <= LONGEST_VLAN_NAME);
            put_vlan(&mut to.vlans, id, text(name.ok_or(Malformed::Contents(ORGANISATION))?))
        }
        _ => Ok(()),
    }
}

/// The numbers 0 and 4095 are no VLANs.
fn put_vlan(vlans: &mut BTreeMap<u16, String>, id: u16, name: String) -> Result<(), Malformed> {
    if !(1..=4094).contains(&id) {
        return Err(Malformed::Contents(ORGANISATION));
    }
    match vlans.insert(id, name) {
        None => Ok(()),
        Some(_) => Err(Malformed::Twice(ORGANISATION)),
    }
}

fn ieee_802_3(to: &mut Announcement, which: u8, contents: &[u8]) -> Result<(), Malformed> {
    match which {
        1 => {
            let autoneg = *contents.first().ok_or(Malformed::Contents(ORGANISATION))?;
            let advertised = number(ORGANISATION, contents.get(1..3))?;
            let mau_type = number(ORGANISATION, contents.get(3..5))?;
            once(&mut to.mac_phy, ORGANISATION, MacPhy { autoneg, advertised, mau_type })
        }
        4 => once(&mut to.max_frame_size, ORGANISATION, number(ORGANISATION, contents.get(..2))?),
        _ => Ok(()),
    }
}

fn once<T>(place: &mut Option<T>, kind: u8, value: T) -> Result<(), Malformed> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(Malformed::Twice(kind)),
    }
}

fn number(kind: u8, bytes: Option<&[u8]>) -> Result<u16, Malformed> {
    let bytes = bytes.and_then(|bytes| <[u8; 2]>::try_from(bytes).ok());
    bytes.map(u16::from_be_bytes).ok_or(Malformed::Contents(kind))
}

/// Which kinds of a name are a hardware and which a network address.
struct IdKinds {
    hardware: u8,
    network: u8,
}

const CHASSIS: IdKinds = IdKinds { hardware: 4, network: 5 };
const PORT: IdKinds = IdKinds { hardware: 3, network: 4 };

fn id(part: u8, contents: &[u8], kinds: &IdKinds) -> Result<Id, Malformed> {
    let wrong = Malformed::Contents(part);
    let (kind, bytes) = contents.split_first().ok_or(wrong)?;
    if bytes.is_empty() || bytes.len() > LONGEST_ID {
        return Err(wrong);
    }
    let name = if *kind == kinds.hardware {
        MacAddr::new(bytes.try_into().map_err(|_| wrong)?).to_string()
    } else if *kind == kinds.network {
        let (family, address) = bytes.split_first().ok_or(wrong)?;
        network_address(*family, address).unwrap_or_else(|| hex(bytes))
    } else {
        text(bytes)
    };
    Ok(Id { kind: *kind, name })
}

fn management(contents: &[u8]) -> Option<ManagementAddress> {
    let (length, rest) = contents.split_first()?;
    let (address, rest) = rest.split_at_checked(usize::from(*length))?;
    let (family, address) = address.split_first().filter(|(_, address)| (1..=31).contains(&address.len()))?;
    let hardware = (*family == 6).then(|| address.try_into().ok().map(|mac| MacAddr::new(mac).to_string())).flatten();
    let text = network_address(*family, address).or(hardware).unwrap_or_else(|| hex(address));
    let interface = u32::from_be_bytes(rest.get(1..5)?.try_into().ok()?);
    Some(ManagementAddress { family: *family, address: text, interface_kind: *rest.first()?, interface })
}

/// A text of the wire without what cannot be printed, and without the zero bytes at its end.
fn text(bytes: &[u8]) -> String {
    let printable = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    String::from_utf8_lossy(bytes).trim_end_matches('\0').chars().map(printable).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(":")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The Ethernet header of a frame to the nearest bridge.
    const HEADER: &[u8] = &[0x01, 0x80, 0xc2, 0, 0, 0x0e, 2, 0, 0, 0, 0, 9, 0x88, 0xcc];

    fn part(kind: u8, contents: &[u8]) -> Vec<u8> {
        let length = u16::try_from(contents.len()).unwrap();
        let head = u16::from(kind) << 9 | length;
        [&head.to_be_bytes(), contents].concat()
    }

    fn frame(parts: &[Vec<u8>]) -> Vec<u8> {
        [HEADER.to_vec(), parts.concat()].concat()
    }

    fn must() -> Vec<Vec<u8>> {
        vec![part(1, &[4, 2, 0, 0, 0, 0, 9]), part(2, b"\x05ge-0/0/1"), part(3, &[0, 120])]
    }

    fn with(more: &[Vec<u8>]) -> Vec<u8> {
        frame(&[must(), more.to_vec()].concat())
    }

    fn vlan(id: u16, name: &str) -> Vec<u8> {
        let head = [&IEEE_802_1[..], &[3], &id.to_be_bytes(), &[u8::try_from(name.len()).unwrap()]].concat();
        part(127, &[&head, name.as_bytes()].concat())
    }

    #[test]
    fn an_announcement_with_everything_is_read() {
        let parts = [
            part(4, b"to the server"),
            part(5, b"leaf1\0"),
            part(6, b"a switch\nof some kind"),
            part(7, &[0, 0x14, 0, 4]),
            part(8, &[5, 1, 192, 0, 2, 9, 2, 0, 0, 0, 7, 0]),
            part(127, &[0, 0x80, 0xc2, 1, 0, 42]),
            part(127, &[0, 0x80, 0xc2, 2, 1, 0, 43]),
            vlan(20, "storage"),
            vlan(10, ""),
            part(127, &[0, 0x12, 0x0f, 1, 3, 0x6c, 0x01, 0, 30]),
            part(127, &[0, 0x12, 0x0f, 4, 0x24, 0x00]),
            part(127, &[0xaa, 0xbb, 0xcc, 1]),
            part(99, b"later"),
            part(0, &[]),
            vec![0xff; 7],
        ];
        let read = parse(&with(&parts)).unwrap();
        assert_eq!(read.chassis, Id { kind: 4, name: "02:00:00:00:00:09".into() });
        assert_eq!((read.port.name.as_str(), read.ttl), ("ge-0/0/1", 120));
        assert_eq!(read.system_name.as_deref(), Some("leaf1"));
        assert_eq!(read.system_description.as_deref(), Some("a switch\u{fffd}of some kind"));
        assert_eq!(read.capabilities, Some(Capabilities { supported: 0x14, enabled: 4 }));
        assert_eq!(read.management[0].address, "192.0.2.9");
        assert_eq!((read.management[0].interface_kind, read.management[0].interface), (2, 7));
        assert_eq!((read.port_vlan, read.protocol_vlans.as_slice()), (Some(42), &[43][..]));
        assert_eq!(read.vlans, BTreeMap::from([(10, String::new()), (20, "storage".into())]));
        assert_eq!(read.mac_phy, Some(MacPhy { autoneg: 3, advertised: 0x6c01, mau_type: 30 }));
        assert_eq!(read.max_frame_size, Some(0x2400));
    }

    #[test]
    fn names_are_read_by_their_kind() {
        let chassis = |contents: &[u8]| parse(&frame(&[part(1, contents), must().remove(1), must().remove(2)]));
        assert_eq!(chassis(&[5, 1, 192, 0, 2, 1]).unwrap().chassis.name, "192.0.2.1");
        assert_eq!(chassis(&[5, 9, 1, 2]).unwrap().chassis.name, "09:01:02");
        assert_eq!(chassis(b"\x07my switch").unwrap().chassis.name, "my switch");
        assert_eq!(chassis(&[4, 1, 2]), Err(Malformed::Contents(1)));
        assert_eq!(chassis(&[4]), Err(Malformed::Contents(1)));
    }

    #[test]
    fn a_broken_rule_is_named() {
        let mut other = with(&[]);
        other[13] = 0;
        let mut unicast = with(&[]);
        unicast[0] = 2;
        let mut wrong_order = must();
        wrong_order.swap(0, 1);
        let table = [
            (Vec::new(), Malformed::Foreign),
            (other, Malformed::Foreign),
            (unicast, Malformed::Foreign),
            (frame(&[]), Malformed::Mandatory(1)),
            (frame(&must()[..2]), Malformed::Mandatory(3)),
            (frame(&wrong_order), Malformed::Mandatory(1)),
            (frame(&[&must()[..2], &[part(3, &[1])]].concat()), Malformed::Contents(3)),
            (with(&[vec![0x0a, 5, b'x']]), Malformed::Truncated(5)),
            (with(&[vec![0x0a]]), Malformed::Truncated(5)),
            (with(&[part(0, b"x")]), Malformed::Contents(0)),
            (with(&[part(1, b"\x07x")]), Malformed::Twice(1)),
            (with(&[part(5, b"a"), part(5, b"b")]), Malformed::Twice(5)),
            (with(&[part(7, &[0])]), Malformed::Contents(7)),
            (with(&[part(8, &[9, 1])]), Malformed::Contents(8)),
            (with(&[part(127, &[0])]), Malformed::Contents(127)),
            (with(&[part(127, &[0, 0x80, 0xc2, 3, 0, 9, 5, b'x'])]), Malformed::Contents(127)),
            (with(&[vlan(0, "")]), Malformed::Contents(127)),
            (with(&[vlan(4095, "")]), Malformed::Contents(127)),
            (with(&[vlan(7, "a"), vlan(7, "b")]), Malformed::Twice(127)),
        ];
        for (frame, wanted) in table {
            assert_eq!(parse(&frame), Err(wanted), "{frame:02x?}");
            assert!(wanted.reason().starts_with("Lldp"));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn any_bytes_can_be_read(
            bytes in prop::collection::vec(any::<u8>(), 0..80),
            parts in prop::collection::vec((prop_oneof![0u8..10, Just(127)], prop::collection::vec(any::<u8>(), 0..12)), 0..6),
            organised in prop::collection::vec((0u8..6, prop::collection::vec(any::<u8>(), 0..8), any::<bool>()), 0..4),
        ) {
            parse(&bytes).ok();
            parse(&[HEADER, &bytes].concat()).ok();
            let parts: Vec<Vec<u8>> = parts.iter().map(|(kind, contents)| part(*kind, contents)).collect();
            parse(&frame(&parts)).ok();
            let organised: Vec<Vec<u8>> = organised.iter().map(|(which, contents, first)| {
                let who = if *first { IEEE_802_1 } else { IEEE_802_3 };
                part(127, &[&who[..], &[*which], contents].concat())
            }).collect();
            parse(&with(&[parts, organised.clone()].concat())).ok();
            let whole = with(&organised);
            for cut in 0..whole.len() {
                parse(&whole[..cut]).ok();
            }
        }
    }
}
