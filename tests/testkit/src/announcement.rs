//! What a switch announces of itself, as a frame that tests send.

use netloom_lldp::{ETHERTYPE, GROUPS};

/// The frame of a neighbour with this name that has these VLANs on the wire.
pub fn announcement(chassis: &[u8], vlans: &[u16]) -> Vec<u8> {
    let part = |kind: u16, contents: &[u8]| {
        let head = kind << 9 | u16::try_from(contents.len()).unwrap_or_default();
        [&head.to_be_bytes(), contents].concat()
    };
    let mut frame = [GROUPS[0].bytes(), [2, 0, 0, 0, 0, 9]].concat();
    frame.extend(ETHERTYPE.to_be_bytes());
    frame.extend(part(1, &[&[7], chassis].concat()));
    frame.extend(part(2, b"\x07port"));
    frame.extend(part(3, &[0, 120]));
    for vlan in vlans {
        let [high, low] = vlan.to_be_bytes();
        frame.extend(part(127, &[0x00, 0x80, 0xc2, 3, high, low, 0]));
    }
    frame
}
