//! The netlink wire format: messages of attributes, written and read.
//!
//! Pure bytes, no socket. Attributes are numbers with a payload, not typed enums: the model's table
//! of link properties maps to rows of (attribute number, width), an attribute that is not known here
//! is passed over, and reading allocates nothing.
//!
//! Invariants: what the writer makes is aligned and carries its own length; the reader never looks
//! outside the slice it was given and never panics, whatever the bytes are. A message or attribute
//! whose length is impossible ends the iteration.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use netloom_types::MacAddr;

use crate::consts::{NLA_F_NESTED, NLA_TYPE_MASK};

/// The size of the header of every message.
pub const HEADER_LEN: usize = 16;
/// The size of the header of every attribute.
const ATTR_HEADER_LEN: usize = 4;

/// Messages and attributes begin at multiples of this.
const fn align(len: usize) -> usize {
    (len + 3) & !3
}

/// A message that is being written.
///
/// The transport fills in the sequence number and asks for the acknowledgement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Msg {
    bytes: Vec<u8>,
    /// An attribute grew over the 16 bits of its length; the message must not be sent.
    too_long: bool,
}

impl Msg {
    /// A message without a body. `NLM_F_REQUEST` and `NLM_F_ACK` are set by the transport.
    pub fn new(kind: u16, flags: u16) -> Self {
        let mut bytes = Vec::with_capacity(128);
        bytes.extend_from_slice(&[0; 4]);
        bytes.extend_from_slice(&kind.to_ne_bytes());
        bytes.extend_from_slice(&flags.to_ne_bytes());
        bytes.extend_from_slice(&[0; 8]);
        Self { bytes, too_long: false }
    }

    /// Appends the header of the family (`ifinfomsg`, `rtmsg`, …), before any attribute.
    pub fn header(&mut self, bytes: &[u8]) -> &mut Self {
        self.bytes.extend_from_slice(bytes);
        self.pad();
        self
    }

    /// Appends bytes that are neither a header nor an attribute, padded: the `rtnexthop` and
    /// `ifinfomsg` structures that some attributes hold before their own attributes.
    pub fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        self.header(bytes)
    }

    /// Appends an attribute.
    pub fn attr(&mut self, kind: u16, payload: &[u8]) -> &mut Self {
        let start = self.open(kind);
        self.bytes.extend_from_slice(payload);
        self.close(start);
        self
    }

    /// Appends an attribute without payload, which is true by being there.
    pub fn attr_flag(&mut self, kind: u16) -> &mut Self {
        self.attr(kind, &[])
    }

    /// Appends a number of 8 bits.
    pub fn attr_u8(&mut self, kind: u16, value: u8) -> &mut Self {
        self.attr(kind, &[value])
    }

    /// Appends a number of 16 bits.
    pub fn attr_u16(&mut self, kind: u16, value: u16) -> &mut Self {
        self.attr(kind, &value.to_ne_bytes())
    }

    /// Appends a number of 32 bits.
    pub fn attr_u32(&mut self, kind: u16, value: u32) -> &mut Self {
        self.attr(kind, &value.to_ne_bytes())
    }

    /// Appends a number of 64 bits.
    pub fn attr_u64(&mut self, kind: u16, value: u64) -> &mut Self {
        self.attr(kind, &value.to_ne_bytes())
    }

    /// Appends a signed number of 32 bits.
    pub fn attr_i32(&mut self, kind: u16, value: i32) -> &mut Self {
        self.attr(kind, &value.to_ne_bytes())
    }

    /// Appends a number of 16 bits in network order.
    pub fn attr_be16(&mut self, kind: u16, value: u16) -> &mut Self {
        self.attr(kind, &value.to_be_bytes())
    }

    /// Appends a number of 32 bits in network order.
    pub fn attr_be32(&mut self, kind: u16, value: u32) -> &mut Self {
        self.attr(kind, &value.to_be_bytes())
    }

    /// Appends a number of 64 bits in network order.
    pub fn attr_be64(&mut self, kind: u16, value: u64) -> &mut Self {
        self.attr(kind, &value.to_be_bytes())
    }

    /// Appends text, ended by a zero byte.
    pub fn attr_str(&mut self, kind: u16, text: &str) -> &mut Self {
        let start = self.open(kind);
        self.bytes.extend_from_slice(text.as_bytes());
        self.bytes.push(0);
        self.close(start);
        self
    }

    /// Appends an internet address: 4 or 16 bytes.
    pub fn attr_ip(&mut self, kind: u16, ip: IpAddr) -> &mut Self {
        match ip {
            IpAddr::V4(ip) => self.attr(kind, &ip.octets()),
            IpAddr::V6(ip) => self.attr(kind, &ip.octets()),
        }
    }

    /// Appends a hardware address.
    pub fn attr_mac(&mut self, kind: u16, mac: MacAddr) -> &mut Self {
        self.attr(kind, &mac.bytes())
    }

    /// Appends an attribute that holds attributes, marked as nested.
    pub fn nest(&mut self, kind: u16, inside: impl FnOnce(&mut Self)) -> &mut Self {
        self.nest_unmarked(kind | NLA_F_NESTED, inside)
    }

    /// The same without the mark, for the few places where the kernel takes the number as it is.
    pub fn nest_unmarked(&mut self, kind: u16, inside: impl FnOnce(&mut Self)) -> &mut Self {
        let start = self.open(kind);
        inside(self);
        self.close(start);
        self
    }

    /// The same, but nothing at all when nothing was put inside.
    pub fn nest_unless_empty(&mut self, kind: u16, inside: impl FnOnce(&mut Self)) -> &mut Self {
        let start = self.bytes.len();
        self.nest(kind, inside);
        if self.bytes.len() == start + ATTR_HEADER_LEN {
            self.bytes.truncate(start);
        }
        self
    }

    /// The kind of the message.
    pub fn kind(&self) -> u16 {
        u16::from_ne_bytes([self.bytes[4], self.bytes[5]])
    }

    /// The flags of the message.
    pub fn flags(&self) -> u16 {
        u16::from_ne_bytes([self.bytes[6], self.bytes[7]])
    }

    /// Whether an attribute is longer than its length field can say; such a message is never sent.
    pub fn is_too_long(&self) -> bool {
        self.too_long
    }

    /// How many bytes the message has now.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Never: a message has at least its header.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Appends the finished message to `out`, with these further flags and this sequence number.
    pub fn write_to(&self, out: &mut Vec<u8>, more_flags: u16, seq: u32) {
        let start = out.len();
        out.extend_from_slice(&self.bytes);
        let len = u32::try_from(self.bytes.len()).unwrap_or(u32::MAX);
        out[start..start + 4].copy_from_slice(&len.to_ne_bytes());
        out[start + 6..start + 8].copy_from_slice(&(self.flags() | more_flags).to_ne_bytes());
        out[start + 8..start + 12].copy_from_slice(&seq.to_ne_bytes());
    }

    /// The finished message, with sequence number 0.
    pub fn finish(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.bytes.len());
        self.write_to(&mut out, 0, 0);
        out
    }

    fn open(&mut self, kind: u16) -> usize {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&[0; 2]);
        self.bytes.extend_from_slice(&kind.to_ne_bytes());
        start
    }

    fn close(&mut self, start: usize) {
        if let Ok(len) = u16::try_from(self.bytes.len() - start) {
            self.bytes[start..start + 2].copy_from_slice(&len.to_ne_bytes());
        } else {
            self.too_long = true;
        }
        self.pad();
    }

    /// Writes the length of a structure whose first two bytes are its length (`rtnexthop`): `start`
    /// is the value of [`Msg::len`] before it.
    pub fn patch_len16(&mut self, start: usize) {
        match u16::try_from(self.bytes.len() - start) {
            Ok(len) => self.bytes[start..start + 2].copy_from_slice(&len.to_ne_bytes()),
            Err(_) => self.too_long = true,
        }
    }

    fn pad(&mut self) {
        self.bytes.resize(align(self.bytes.len()), 0);
    }
}

/// A message that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message<'a> {
    /// What it is.
    pub kind: u16,
    /// Its flags.
    pub flags: u16,
    /// The sequence number of the request that it answers; 0 for a notification.
    pub seq: u32,
    /// The socket that asked.
    pub port: u32,
    /// Everything after the header.
    pub body: &'a [u8],
}

impl<'a> Message<'a> {
    /// The attributes after a family header of this many bytes.
    pub fn attrs(&self, header_len: usize) -> Attributes<'a> {
        Attributes(self.body.get(align(header_len)..).unwrap_or_default())
    }

    /// The byte at `at` of the family header; 0 where the message is too short.
    pub fn u8_at(&self, at: usize) -> u8 {
        self.body.get(at).copied().unwrap_or_default()
    }

    /// The 16-bit number at `at` of the family header; 0 where the message is too short.
    pub fn u16_at(&self, at: usize) -> u16 {
        array(self.body.get(at..).unwrap_or_default()).map_or(0, u16::from_ne_bytes)
    }

    /// The 32-bit number at `at` of the family header; 0 where the message is too short.
    pub fn u32_at(&self, at: usize) -> u32 {
        array(self.body.get(at..).unwrap_or_default()).map_or(0, u32::from_ne_bytes)
    }
}

/// The messages in a datagram.
#[derive(Debug, Clone)]
pub struct Messages<'a>(&'a [u8]);

/// The messages in what one receive call gave.
pub fn messages(datagram: &[u8]) -> Messages<'_> {
    Messages(datagram)
}

impl<'a> Iterator for Messages<'a> {
    type Item = Message<'a>;

    fn next(&mut self) -> Option<Message<'a>> {
        let len = u32::from_ne_bytes(array(self.0)?);
        let len = usize::try_from(len).ok().filter(|&len| len >= HEADER_LEN)?;
        let whole = self.0.get(..len)?;
        self.0 = self.0.get(align(len)..).unwrap_or_default();
        Some(Message {
            kind: u16::from_ne_bytes(array(&whole[4..])?),
            flags: u16::from_ne_bytes(array(&whole[6..])?),
            seq: u32::from_ne_bytes(array(&whole[8..])?),
            port: u32::from_ne_bytes(array(&whole[12..])?),
            body: &whole[HEADER_LEN..],
        })
    }
}

/// The attributes in a slice: a view, copied for each walk over it.
#[derive(Debug, Clone, Copy)]
pub struct Attributes<'a>(&'a [u8]);

/// The attributes in `bytes`, which hold nothing else.
pub fn attributes(bytes: &[u8]) -> Attributes<'_> {
    Attributes(bytes)
}

impl<'a> Attributes<'a> {
    /// The last attribute with this number.
    pub fn find(self, kind: u16) -> Option<Attribute<'a>> {
        self.filter(|attr| attr.kind == kind).last()
    }
}

#[expect(clippy::copy_iterator, reason = "a copy is a second walk from the same place, which is what is wanted")]
impl<'a> Iterator for Attributes<'a> {
    type Item = Attribute<'a>;

    fn next(&mut self) -> Option<Attribute<'a>> {
        let len = usize::from(u16::from_ne_bytes(array(self.0)?));
        if len < ATTR_HEADER_LEN {
            self.0 = &[];
            return None;
        }
        let whole = self.0.get(..len)?;
        self.0 = self.0.get(align(len)..).unwrap_or_default();
        let kind = u16::from_ne_bytes(array(&whole[2..])?);
        Some(Attribute { kind: kind & NLA_TYPE_MASK, data: &whole[ATTR_HEADER_LEN..] })
    }
}

/// One attribute that was read. Numbers are read from the front of the payload and are `None` when
/// it is too short.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attribute<'a> {
    /// Its number, without the marks for nesting and byte order.
    pub kind: u16,
    /// Its payload.
    pub data: &'a [u8],
}

impl<'a> Attribute<'a> {
    /// The payload as a number of 8 bits.
    pub fn u8(&self) -> Option<u8> {
        self.data.first().copied()
    }

    /// The payload as a number of 16 bits.
    pub fn u16(&self) -> Option<u16> {
        array(self.data).map(u16::from_ne_bytes)
    }

    /// The payload as a number of 32 bits.
    pub fn u32(&self) -> Option<u32> {
        array(self.data).map(u32::from_ne_bytes)
    }

    /// The payload as a number of 64 bits.
    pub fn u64(&self) -> Option<u64> {
        array(self.data).map(u64::from_ne_bytes)
    }

    /// The payload as a signed number of 32 bits.
    pub fn i32(&self) -> Option<i32> {
        array(self.data).map(i32::from_ne_bytes)
    }

    /// The payload as a number of 16 bits in network order.
    pub fn be16(&self) -> Option<u16> {
        array(self.data).map(u16::from_be_bytes)
    }

    /// The payload as a number of 32 bits in network order.
    pub fn be32(&self) -> Option<u32> {
        array(self.data).map(u32::from_be_bytes)
    }

    /// The payload as a number of 64 bits in network order.
    pub fn be64(&self) -> Option<u64> {
        array(self.data).map(u64::from_be_bytes)
    }

    /// The payload as an internet address, its family reported by its length.
    pub fn ip(&self) -> Option<IpAddr> {
        match self.data.len() {
            4 => array(self.data).map(|bytes: [u8; 4]| IpAddr::V4(Ipv4Addr::from(bytes))),
            16 => array(self.data).map(|bytes: [u8; 16]| IpAddr::V6(Ipv6Addr::from(bytes))),
            _ => None,
        }
    }

    /// The payload as a hardware address of exactly six bytes.
    pub fn mac(&self) -> Option<MacAddr> {
        <[u8; 6]>::try_from(self.data).ok().map(MacAddr::new)
    }

    /// The payload as text, up to the first zero byte.
    pub fn str(&self) -> Option<&'a str> {
        let end = self.data.iter().position(|&b| b == 0).unwrap_or(self.data.len());
        std::str::from_utf8(&self.data[..end]).ok()
    }

    /// The attributes inside.
    pub fn nested(&self) -> Attributes<'a> {
        Attributes(self.data)
    }
}

/// The first `N` bytes.
fn array<const N: usize>(bytes: &[u8]) -> Option<[u8; N]> {
    bytes.first_chunk::<N>().copied()
}

/// The header of messages about links.
pub fn ifinfomsg(family: u8, index: u32, flags: u32, change: u32) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[0] = family;
    bytes[4..8].copy_from_slice(&index.to_ne_bytes());
    bytes[8..12].copy_from_slice(&flags.to_ne_bytes());
    bytes[12..16].copy_from_slice(&change.to_ne_bytes());
    bytes
}

/// The header of messages about neighbours and forwarding entries.
pub fn ndmsg(family: u8, index: u32, state: u16, flags: u8, kind: u8) -> [u8; 12] {
    let mut bytes = [0; 12];
    bytes[0] = family;
    bytes[4..8].copy_from_slice(&index.to_ne_bytes());
    bytes[8..10].copy_from_slice(&state.to_ne_bytes());
    bytes[10] = flags;
    bytes[11] = kind;
    bytes
}

/// The header of messages about queues and filters.
pub fn tcmsg(index: u32, handle: u32, parent: u32, info: u32) -> [u8; 20] {
    let mut bytes = [0; 20];
    bytes[4..8].copy_from_slice(&index.to_ne_bytes());
    bytes[8..12].copy_from_slice(&handle.to_ne_bytes());
    bytes[12..16].copy_from_slice(&parent.to_ne_bytes());
    bytes[16..20].copy_from_slice(&info.to_ne_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let mut msg = Msg::new(16, 0x600);
        msg.header(&ifinfomsg(7, 42, 1, 1))
            .attr_u8(1, 0xab)
            .attr_u16(2, 0x1234)
            .attr_be16(3, 0x8100)
            .attr_u32(4, 77)
            .attr_u64(5, u64::MAX - 1)
            .attr_i32(6, -3)
            .attr_str(7, "br0")
            .attr_ip(8, "2001:db8::1".parse().unwrap())
            .attr_mac(9, MacAddr::new([2, 0, 0, 0, 0, 1]))
            .nest(10, |m| {
                m.attr_u32(1, 5);
            })
            .nest_unless_empty(11, |_| {});
        let bytes = msg.finish();
        let read: Vec<_> = messages(&bytes).collect();
        assert_eq!(read.len(), 1);
        assert_eq!((read[0].kind, read[0].flags, read[0].u8_at(0), read[0].u32_at(4)), (16, 0x600, 7, 42));
        let attrs = read[0].attrs(16);
        assert_eq!(attrs.count(), 10);
        assert_eq!(attrs.find(1).and_then(|a| a.u8()), Some(0xab));
        assert_eq!(attrs.find(2).and_then(|a| a.u16()), Some(0x1234));
        assert_eq!(attrs.find(3).and_then(|a| a.be16()), Some(0x8100));
        assert_eq!(attrs.find(4).and_then(|a| a.u32()), Some(77));
        assert_eq!(attrs.find(5).and_then(|a| a.u64()), Some(u64::MAX - 1));
        assert_eq!(attrs.find(6).and_then(|a| a.i32()), Some(-3));
        assert_eq!(attrs.find(7).and_then(|a| a.str()), Some("br0"));
        assert_eq!(attrs.find(8).and_then(|a| a.ip()), "2001:db8::1".parse().ok());
        assert_eq!(attrs.find(9).and_then(|a| a.mac()), Some(MacAddr::new([2, 0, 0, 0, 0, 1])));
        assert_eq!(attrs.find(10).and_then(|a| a.nested().find(1)).and_then(|a| a.u32()), Some(5));
    }

    #[test]
    fn messages_follow_each_other() {
        let mut bytes = Vec::new();
        Msg::new(1, 0).write_to(&mut bytes, 4, 7);
        let mut second = Msg::new(2, 1);
        second.attr_str(1, "odd").write_to(&mut bytes, 4, 8);
        let read: Vec<_> = messages(&bytes).map(|m| (m.kind, m.flags, m.seq)).collect();
        assert_eq!(read, [(1, 4, 7), (2, 5, 8)]);
    }

    #[test]
    fn an_attribute_over_64_kib_is_marked() {
        let mut msg = Msg::new(1, 0);
        msg.attr(1, &vec![0; 70_000]);
        assert!(msg.is_too_long());
    }

    fn walk(attrs: Attributes<'_>, depth: u8) -> usize {
        attrs
            .map(|a| {
                let _ = (a.u8(), a.u16(), a.u32(), a.u64(), a.i32(), a.be16(), a.be32(), a.be64());
                let _ = (a.ip(), a.mac(), a.str());
                1 + if depth == 0 { 0 } else { walk(a.nested(), depth - 1) }
            })
            .sum()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]

        #[test]
        fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..256), small in any::<bool>()) {
            // Small length fields make it likely that something is read at all.
            let bytes: Vec<u8> = if small { bytes.iter().map(|b| b % 24).collect() } else { bytes };
            for message in messages(&bytes) {
                let _ = (message.u8_at(3), message.u16_at(255), message.u32_at(1));
                walk(message.attrs(16), 3);
            }
            walk(attributes(&bytes), 3);
        }

        #[test]
        fn truncated_messages_never_panic(cut in 0usize..80) {
            let mut msg = Msg::new(16, 0);
            msg.header(&ifinfomsg(0, 1, 0, 0)).attr_str(3, "eth0").nest(18, |m| { m.attr_str(1, "vlan"); });
            let bytes = msg.finish();
            let cut = cut.min(bytes.len());
            for message in messages(&bytes[..cut]) {
                walk(message.attrs(16), 3);
            }
            walk(attributes(&bytes[cut..]), 3);
        }
    }
}
