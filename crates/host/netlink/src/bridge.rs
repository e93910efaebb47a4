//! VLANs of bridges and their ports, and forwarding entries: messages both ways.
//!
//! VLANs travel as ranges: all 4 094 of a port are one range, two attributes, one message.
//!
//! Pure. [`decode_vlans`] reads a dump asked for by [`dump_vlans`], [`decode_fdb`] one asked for by
//! [`dump_fdb`]. Entries that the kernel makes by itself are distinguished by
//! [`FdbReport::is_kernels_own`], which needs the link.

use netloom_model::{Attr, FdbEntry, FdbKey, Link, LinkKind, Value, VlanMembership};
use netloom_types::{MacAddr, VlanId, VlanSet, Vni};

use crate::{
    consts::{
        AF_BRIDGE, IFLA_AF_SPEC, IFLA_EXT_MASK, NDA_DST, NDA_LLADDR, NLM_F_APPEND, NLM_F_CREATE, NLM_F_REPLACE,
        NUD_PERMANENT, RTEXT_FILTER_BRVLAN_COMPRESSED, RTM_DELLINK, RTM_DELNEIGH, RTM_GETLINK, RTM_GETNEIGH,
        RTM_NEWNEIGH, RTM_SETLINK,
    },
    wire::{Attribute, Message, Msg, ifinfomsg, ndmsg},
};

// linux/if_bridge.h
const IFLA_BRIDGE_FLAGS: u16 = 0;
const IFLA_BRIDGE_VLAN_INFO: u16 = 2;
const BRIDGE_FLAGS_SELF: u16 = 2;
const PVID: u16 = 1 << 1;
const UNTAGGED: u16 = 1 << 2;
const RANGE_BEGIN: u16 = 1 << 3;
const RANGE_END: u16 = 1 << 4;

// linux/neighbour.h
const NDA_VLAN: u16 = 5;
const NDA_VNI: u16 = 7;
const NDA_MASTER: u16 = 9;
const NTF_SELF: u8 = 1 << 1;
const NTF_MASTER: u8 = 1 << 2;
const NTF_EXT_LEARNED: u8 = 1 << 4;
const NUD_REACHABLE: u16 = 0x02;
const NUD_NOARP: u16 = 0x40;

const IFINFOMSG: usize = 16;
const NDMSG: usize = 12;

/// The request for the VLANs of all bridges and ports; the transport marks it as a dump.
pub fn dump_vlans() -> Msg {
    let mut msg = Msg::new(RTM_GETLINK, 0);
    msg.header(&ifinfomsg(AF_BRIDGE, 0, 0, 0)).attr_u32(IFLA_EXT_MASK, RTEXT_FILTER_BRVLAN_COMPRESSED);
    msg
}

/// Index and VLANs of a bridge or port; `None` for a message that is about something else.
pub fn decode_vlans(message: &Message<'_>) -> Option<(u32, VlanMembership)> {
    if message.u8_at(0) != AF_BRIDGE {
        return None;
    }
    let mut vlans = VlanMembership::default();
    let mut begun = None;
    let parts = message.attrs(IFINFOMSG).find(IFLA_AF_SPEC)?;
    for info in parts.nested().filter(|a| a.kind == IFLA_BRIDGE_VLAN_INFO) {
        let Some((flags, id)) = vlan_info(&info) else { continue };
        if flags & RANGE_BEGIN != 0 {
            begun = Some(id);
            continue;
        }
        let first = begun.take().filter(|_| flags & RANGE_END != 0).unwrap_or(id);
        let set = if flags & UNTAGGED != 0 { &mut vlans.untagged } else { &mut vlans.tagged };
        set.insert_range(first, id);
        if flags & PVID != 0 {
            vlans.pvid = Some(id);
        }
    }
    Some((message.u32_at(4), vlans))
}

fn vlan_info(info: &Attribute<'_>) -> Option<(u16, VlanId)> {
    let flags = info.u16()?;
    let id = u16::from_ne_bytes(*info.data.get(2..)?.first_chunk()?);
    Some((flags, VlanId::try_from(id).ok()?))
}

/// The messages that change the VLANs of a port, or of the bridge itself: at most one for what goes
/// and one for what comes.
///
/// A VLAN that is there already takes the flags that it is added with, all of them: one added
/// without a flag loses it.
pub fn set_vlans(index: u32, on_bridge: bool, add: &VlanMembership, remove: &VlanSet) -> Vec<Msg> {
    let mut messages = Vec::new();
    if !remove.is_empty() {
        messages.push(vlan_message(RTM_DELLINK, index, on_bridge, |msg| write_ranges(msg, remove, 0)));
    }
    if !add.is_empty() {
        messages.push(vlan_message(RTM_SETLINK, index, on_bridge, |msg| {
            // The kernel takes no range with this flag, so that VLAN stands alone.
            let alone: VlanSet = add.pvid.into_iter().collect();
            write_ranges(msg, &add.tagged.minus(&alone), 0);
            write_ranges(msg, &add.untagged.minus(&alone), UNTAGGED);
            if let Some(pvid) = add.pvid {
                let untagged = if add.untagged.contains(pvid) { UNTAGGED } else { 0 };
                write_vlan(msg, PVID | untagged, pvid);
            }
        }));
    }
    messages
}

fn vlan_message(kind: u16, index: u32, on_bridge: bool, write: impl FnOnce(&mut Msg)) -> Msg {
    let mut msg = Msg::new(kind, 0);
    msg.header(&ifinfomsg(AF_BRIDGE, index, 0, 0)).nest(IFLA_AF_SPEC, |msg| {
        if on_bridge {
            msg.attr_u16(IFLA_BRIDGE_FLAGS, BRIDGE_FLAGS_SELF);
        }
        write(msg);
    });
    msg
}

fn write_ranges(msg: &mut Msg, set: &VlanSet, flags: u16) {
    for range in set.ranges() {
        if range.start() == range.end() {
            write_vlan(msg, flags, *range.start());
        } else {
            write_vlan(msg, flags | RANGE_BEGIN, *range.start());
            write_vlan(msg, flags | RANGE_END, *range.end());
        }
    }
}

fn write_vlan(msg: &mut Msg, flags: u16, id: VlanId) {
    let [a, b] = flags.to_ne_bytes();
    let [c, d] = id.get().to_ne_bytes();
    msg.attr(IFLA_BRIDGE_VLAN_INFO, &[a, b, c, d]);
}

/// The request for all forwarding entries; the transport marks it as a dump.
pub fn dump_fdb() -> Msg {
    let mut msg = Msg::new(RTM_GETNEIGH, 0);
    msg.header(&ndmsg(AF_BRIDGE, 0, 0, 0, 0));
    msg
}

/// A forwarding entry that does not age, as the kernel reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FdbReport {
    /// The link.
    pub index: u32,
    /// Which entry.
    pub key: FdbKey,
    /// Its value.
    pub entry: FdbEntry,
}

impl FdbReport {
    /// Whether the kernel made the entry by itself: addresses of the host's own links, groups that
    /// a card listens to, and the default destination that a VXLAN link has from its remote end.
    pub fn is_kernels_own(&self, link: &Link, is_own: impl Fn(MacAddr) -> bool) -> bool {
        if self.entry.local && is_own(self.key.mac) {
            return true;
        }
        if link.kind == LinkKind::Vxlan {
            let remote = self.key.dst.map(Value::Ip);
            return self.key.mac.is_zero()
                && remote.is_some()
                && link.attrs.given(Attr::VxlanRemote) == remote.as_ref();
        }
        self.entry.on_device && self.key.mac.is_multicast()
    }
}

/// Reads an `RTM_NEWNEIGH` message of [`dump_fdb`]; `None` for an entry that was learned and ages.
pub fn decode_fdb(message: &Message<'_>) -> Option<FdbReport> {
    if message.u8_at(0) != AF_BRIDGE {
        return None;
    }
    let (index, state, flags) = (message.u32_at(4), message.u16_at(8), message.u8_at(10));
    let external = flags & NTF_EXT_LEARNED != 0;
    if state & (NUD_PERMANENT | NUD_NOARP) == 0 && !external {
        return None;
    }
    let attrs = message.attrs(NDMSG);
    let key = FdbKey {
        mac: attrs.find(NDA_LLADDR)?.mac()?,
        vlan: attrs.find(NDA_VLAN).and_then(|a| VlanId::try_from(a.u16()?).ok()),
        dst: attrs.find(NDA_DST).and_then(|a| a.ip()),
        vni: attrs.find(NDA_VNI).and_then(|a| Vni::try_from(a.u32()?).ok()),
    };
    // The table of a bridge is its own: an entry that stands on the bridge itself is on the device.
    let is_bridge = attrs.find(NDA_MASTER).and_then(|a| a.u32()) == Some(index);
    let on_device = flags & NTF_SELF != 0 || is_bridge;
    Some(FdbReport { index, key, entry: FdbEntry { on_device, local: state & NUD_PERMANENT != 0, external } })
}

/// The message that adds or replaces a forwarding entry.
pub fn add_fdb(index: u32, key: &FdbKey, entry: &FdbEntry) -> Msg {
    // Only such addresses can have several destinations, and those are added one by one.
    let many = key.dst.is_some() && (key.mac.is_zero() || key.mac.is_multicast());
    let flags = NLM_F_CREATE | if many { NLM_F_APPEND } else { NLM_F_REPLACE };
    fdb_message(RTM_NEWNEIGH, flags, index, key, *entry)
}

/// The message that removes a forwarding entry.
pub fn remove_fdb(index: u32, key: &FdbKey, entry: &FdbEntry) -> Msg {
    fdb_message(RTM_DELNEIGH, 0, index, key, *entry)
}

fn fdb_message(kind: u16, message_flags: u16, index: u32, key: &FdbKey, entry: FdbEntry) -> Msg {
    // What does not age is `NOARP`; a VXLAN link wants one of the other two besides.
    let state = NUD_NOARP | if entry.local { NUD_PERMANENT } else { NUD_REACHABLE };
    let place = if entry.on_device { NTF_SELF } else { NTF_MASTER };
    let external = if entry.external { NTF_EXT_LEARNED } else { 0 };
    let mut msg = Msg::new(kind, message_flags);
    msg.header(&ndmsg(AF_BRIDGE, index, state, place | external, 0)).attr_mac(NDA_LLADDR, key.mac);
    if let Some(vlan) = key.vlan {
        msg.attr_u16(NDA_VLAN, vlan.get());
    }
    if let Some(dst) = key.dst {
        msg.attr_ip(NDA_DST, dst);
    }
    if let Some(vni) = key.vni {
        msg.attr_u32(NDA_VNI, vni.get());
    }
    msg
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::wire::messages;

    fn id(number: u16) -> VlanId {
        number.try_into().unwrap()
    }

    /// What a port with nothing has after these messages, by the kernel's rules.
    fn replay(sent: &[Msg]) -> VlanMembership {
        let mut vlans = VlanMembership::default();
        for msg in sent {
            let bytes = msg.finish();
            let message = messages(&bytes).next().unwrap();
            let (_, part) = decode_vlans(&message).unwrap();
            if message.kind == RTM_DELLINK {
                vlans.tagged = vlans.tagged.minus(&part.all());
                vlans.untagged = vlans.untagged.minus(&part.all());
            } else {
                vlans.tagged = vlans.tagged.minus(&part.all()).plus(&part.tagged);
                vlans.untagged = vlans.untagged.minus(&part.all()).plus(&part.untagged);
                vlans.pvid = part.pvid.or(vlans.pvid);
            }
        }
        vlans
    }

    fn membership() -> impl Strategy<Value = VlanMembership> {
        let ids = || prop::collection::btree_set(prop_oneof![1u16..30, 4085u16..=4094], 0..20);
        (ids(), ids(), any::<prop::sample::Index>()).prop_map(|(tagged, untagged, at)| {
            let untagged: VlanSet = untagged.into_iter().map(id).collect();
            let tagged = tagged.into_iter().map(id).collect::<VlanSet>().minus(&untagged);
            let all: Vec<VlanId> = tagged.plus(&untagged).iter().collect();
            let pvid = (!all.is_empty()).then(|| all[at.index(all.len())]);
            VlanMembership { tagged, untagged, pvid }
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn what_is_set_is_read_back(wanted in membership(), on_bridge: bool) {
            let sent = set_vlans(7, on_bridge, &wanted, &VlanSet::new());
            prop_assert_eq!(replay(&sent), wanted);
        }

        #[test]
        fn a_forwarding_entry_is_read_back(mac: [u8; 6], vlan in prop::option::of(1u16..4095), dst: Option<[u8; 4]>,
                                           vni in prop::option::of(0u32..1 << 24), on_device: bool, local: bool,
                                           external: bool) {
            let key = FdbKey {
                mac: MacAddr::new(mac),
                vlan: vlan.map(id),
                dst: dst.map(Into::into),
                vni: vni.map(|v| v.try_into().unwrap()),
            };
            let entry = FdbEntry { on_device, local, external };
            let bytes = add_fdb(3, &key, &entry).finish();
            let read = decode_fdb(&messages(&bytes).next().unwrap());
            prop_assert_eq!(read, Some(FdbReport { index: 3, key, entry }));
        }

        #[test]
        fn arbitrary_bytes_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let message = Message { kind: 16, flags: 0, seq: 0, port: 0, body: &bytes };
            let _ = decode_vlans(&message);
            let _ = decode_fdb(&message);
        }
    }

    #[test]
    fn every_vlan_is_one_message_of_two_attributes() {
        let all = VlanMembership { tagged: VlanSet::all(), ..VlanMembership::default() };
        let sent = set_vlans(1, false, &all, &VlanSet::new());
        assert_eq!(sent.len(), 1);
        assert_eq!(sent[0].len(), 16 + 16 + 4 + 2 * 8);
    }

    #[test]
    fn the_worst_case_fits_into_two_messages() {
        let odd: VlanSet = (1..=4094).step_by(2).map(id).collect();
        let even: VlanSet = (2..=4094).step_by(2).map(id).collect();
        let add = VlanMembership { tagged: odd.clone(), untagged: even, pvid: Some(id(2)) };
        let sent = set_vlans(1, false, &add, &odd);
        assert_eq!(sent.len(), 2);
        assert!(sent.iter().all(|msg| !msg.is_too_long()));
    }

    #[test]
    fn the_kernels_own_entries_are_reported_apart() {
        let own = MacAddr::new([2, 0, 0, 0, 0, 1]);
        let report = |mac: MacAddr, on_device, local, dst: Option<&str>| FdbReport {
            index: 1,
            key: FdbKey { mac, vlan: None, dst: dst.map(|ip| ip.parse().unwrap()), vni: None },
            entry: FdbEntry { on_device, local, external: false },
        };
        let port = Link::new("p0".parse().unwrap(), LinkKind::Dummy);
        let is_own = |mac| mac == own;
        assert!(report(own, false, true, None).is_kernels_own(&port, is_own));
        assert!(!report(MacAddr::new([2, 0, 0, 0, 0, 9]), false, true, None).is_kernels_own(&port, is_own));
        let group = MacAddr::new([0x33, 0x33, 0, 0, 0, 1]);
        assert!(report(group, true, true, None).is_kernels_own(&port, is_own));
        let mut vxlan = Link::new("vx0".parse().unwrap(), LinkKind::Vxlan);
        vxlan.attrs.set(Attr::VxlanRemote, Value::Ip("192.0.2.1".parse().unwrap()));
        let zero = MacAddr::new([0; 6]);
        assert!(report(zero, true, true, Some("192.0.2.1")).is_kernels_own(&vxlan, is_own));
        assert!(!report(zero, true, true, Some("192.0.2.2")).is_kernels_own(&vxlan, is_own));
    }
}
