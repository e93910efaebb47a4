//! Permanent neighbours, to and from the wire.

use netloom_model::Neighbour;
use netloom_types::Family;

use crate::{
    address::{family_number, family_of},
    consts::{
        NDA_DST, NDA_LLADDR, NLM_F_CREATE, NLM_F_REPLACE, NUD_PERMANENT, RTM_DELNEIGH, RTM_GETNEIGH, RTM_NEWNEIGH,
    },
    wire::{Message, Msg, ndmsg},
};

const HEADER_LEN: usize = 12;
/// Kept by a daemon, such as a routing daemon: not configured.
const NTF_EXT_LEARNED: u8 = 0x10;

/// Asks for a neighbour.
pub fn encode_add(neighbour: &Neighbour, index: u32) -> Msg {
    let mut msg = Msg::new(RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE);
    msg.header(&ndmsg(family_number(Family::of(neighbour.ip)), index, NUD_PERMANENT, 0, 0))
        .attr_ip(NDA_DST, neighbour.ip)
        .attr_mac(NDA_LLADDR, neighbour.mac);
    msg
}

/// Asks that a neighbour goes.
pub fn encode_remove(neighbour: &Neighbour, index: u32) -> Msg {
    let mut msg = Msg::new(RTM_DELNEIGH, 0);
    msg.header(&ndmsg(family_number(Family::of(neighbour.ip)), index, 0, 0, 0)).attr_ip(NDA_DST, neighbour.ip);
    msg
}

/// Asks for all neighbours of a family.
pub fn encode_dump(family: Family) -> Msg {
    let mut msg = Msg::new(RTM_GETNEIGH, 0);
    msg.header(&ndmsg(family_number(family), 0, 0, 0, 0));
    msg
}

/// Reads a neighbour with the index of its link; `None` for one that is learned.
pub fn decode(message: &Message<'_>) -> Option<(u32, Neighbour)> {
    let family = family_of(message.u8_at(0))?;
    if message.u16_at(8) & NUD_PERMANENT == 0 || message.u8_at(10) & NTF_EXT_LEARNED != 0 {
        return None;
    }
    let attrs = message.attrs(HEADER_LEN);
    let ip = attrs.find(NDA_DST)?.ip().filter(|ip| Family::of(*ip) == family)?;
    let mac = attrs.find(NDA_LLADDR)?.mac()?;
    Some((message.u32_at(4), Neighbour { ip, mac }))
}

#[cfg(test)]
mod tests {
    use netloom_types::MacAddr;

    use super::*;
    use crate::wire::messages;

    #[test]
    fn what_is_written_is_read_back() {
        for ip in ["192.0.2.9", "2001:db8::9"] {
            let neighbour = Neighbour { ip: ip.parse().unwrap(), mac: MacAddr::new([2, 0, 0, 0, 0, 9]) };
            let bytes = encode_add(&neighbour, 4).finish();
            assert_eq!(decode(&messages(&bytes).next().unwrap()), Some((4, neighbour)));
        }
    }

    #[test]
    fn learned_ones_are_left_out() {
        let neighbour = Neighbour { ip: "192.0.2.9".parse().unwrap(), mac: MacAddr::new([2, 0, 0, 0, 0, 9]) };
        for (state, flags) in [(2, 0), (NUD_PERMANENT, NTF_EXT_LEARNED)] {
            let mut msg = Msg::new(RTM_NEWNEIGH, 0);
            msg.header(&ndmsg(2, 4, state, flags, 0))
                .attr_ip(NDA_DST, neighbour.ip)
                .attr_mac(NDA_LLADDR, neighbour.mac);
            let bytes = msg.finish();
            assert_eq!(decode(&messages(&bytes).next().unwrap()), None);
        }
    }
}
