//! Settings of drivers: offload features, rings, pause frames, speed and duplex.
//!
//! These travel over generic netlink, on a socket of its own. The number of the `ethtool` family is
//! asked for first ([`get_family`], [`decode_family`]). One [`dump`] reads the
//! features of all links; the rest is asked of network cards alone, one by one ([`questions`]). A
//! driver without such a setting refuses, and nothing is stored.
//!
//! Pure: messages both ways.

use std::collections::BTreeMap;

use netloom_model::{Attr, Attrs, Link, LinkKind, StepError, Value};

use crate::{
    link::{
        form::Form,
        table::{Layout, Wire, wire},
    },
    wire::{Attributes, Message, Msg, attributes},
};

/// Where a property stands among the driver's settings: attribute number and form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// `ETHTOOL_A_LINKMODES_*`
    Linkmodes(u16, Form),
    /// `ETHTOOL_A_PAUSE_*`
    Pause(u16, Form),
    /// `ETHTOOL_A_RINGS_*`
    Rings(u16, Form),
}

/// What is asked for in one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Topic {
    /// Speed, duplex, negotiation.
    Linkmodes,
    /// Offload features.
    Features,
    /// Ring sizes.
    Rings,
    /// Pause frames.
    Pause,
}

// linux/genetlink.h
/// The family that knows the families.
const GENL_ID_CTRL: u16 = 16;
const CTRL_CMD_GETFAMILY: u8 = 3;
const CTRL_ATTR_FAMILY_ID: u16 = 1;
const CTRL_ATTR_FAMILY_NAME: u16 = 2;
const GENLMSGHDR: usize = 4;

// linux/ethtool_netlink.h
/// The header nest is attribute 1 of every message.
const HEADER: u16 = 1;
const HEADER_DEV_INDEX: u16 = 1;
const HEADER_FLAGS: u16 = 3;
const FLAG_OMIT_REPLY: u32 = 2;
const FEATURES_HW: u16 = 2;
const FEATURES_WANTED: u16 = 3;
const FEATURES_ACTIVE: u16 = 4;
const BITSET_BITS: u16 = 3;
const BITSET_BIT: u16 = 1;
const BIT_NAME: u16 = 2;
const BIT_VALUE: u16 = 3;
/// Speed and duplex that the driver does not know.
const UNKNOWN: u64 = 0xffff_ffff;

impl Topic {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Linkmodes, Self::Features, Self::Rings, Self::Pause];

    const fn get_command(self) -> u8 {
        match self {
            Self::Linkmodes => 4,
            Self::Features => 11,
            Self::Rings => 15,
            Self::Pause => 21,
        }
    }

    const fn set_command(self) -> u8 {
        self.get_command() + 1
    }

    const fn reply(self) -> u8 {
        match self {
            Self::Linkmodes => 4,
            Self::Features => 11,
            Self::Rings => 16,
            Self::Pause => 22,
        }
    }

    /// Number and form of a property, when it belongs to this topic.
    fn place(self, attr: Attr) -> Option<(u16, Form)> {
        match (self, wire(attr, Layout::Plain)) {
            (Self::Linkmodes, Wire::Ethtool(Place::Linkmodes(id, form)))
            | (Self::Rings, Wire::Ethtool(Place::Rings(id, form)))
            | (Self::Pause, Wire::Ethtool(Place::Pause(id, form))) => Some((id, form)),
            _ => None,
        }
    }
}

/// The question for the number of the `ethtool` family.
pub fn get_family() -> Msg {
    let mut msg = Msg::new(GENL_ID_CTRL, 0);
    msg.header(&[CTRL_CMD_GETFAMILY, 1, 0, 0]).attr_str(CTRL_ATTR_FAMILY_NAME, "ethtool");
    msg
}

/// The answer to [`get_family`].
pub fn decode_family(message: &Message<'_>) -> Option<u16> {
    message.attrs(GENLMSGHDR).find(CTRL_ATTR_FAMILY_ID)?.u16()
}

/// The request for one topic of all links; the transport marks it as a dump.
pub fn dump(family: u16, topic: Topic) -> Msg {
    let mut msg = Msg::new(family, 0);
    msg.header(&[topic.get_command(), 1, 0, 0]).nest(HEADER, |_| {});
    msg
}

/// The request for one topic of one link.
pub fn get(family: u16, topic: Topic, index: u32) -> Msg {
    let mut msg = Msg::new(family, 0);
    msg.header(&[topic.get_command(), 1, 0, 0]).nest(HEADER, |msg| {
        msg.attr_u32(HEADER_DEV_INDEX, index);
    });
    msg
}

/// The requests for everything but features of one link; none for links without hardware. The model
/// has these settings for cards only, and a dump would ask thousands of links in vain.
///
/// Rings are asked for while the link is up: there are drivers that have none before, and at least
/// one (`vector` of User-Mode Linux) that brings the kernel down when it is asked then.
pub fn questions(family: u16, index: u32, link: &Link) -> Vec<Msg> {
    if link.kind != LinkKind::Ethernet {
        return Vec::new();
    }
    let rings = link.up.then_some(Topic::Rings);
    [Topic::Linkmodes, Topic::Pause].into_iter().chain(rings).map(|topic| get(family, topic, index)).collect()
}

/// What a driver reported of one link.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Report {
    /// The link.
    pub index: u32,
    /// Properties.
    pub attrs: Attrs,
    /// Features that can be changed, and whether they are on.
    pub features: BTreeMap<Box<str>, bool>,
}

impl Report {
    /// Adds to a link what belongs to its kind.
    pub fn add_to(self, link: &mut Link) {
        for (attr, value) in self.attrs.iter().filter(|(attr, _)| attr.applies_to(&link.kind)) {
            link.attrs.set(attr, value.clone());
        }
        link.features.extend(self.features);
    }
}

/// Reads an answer to [`dump`] or to one of the [`questions`].
pub fn decode(message: &Message<'_>) -> Option<Report> {
    let command = message.u8_at(0);
    let topic = Topic::ALL.into_iter().find(|topic| topic.reply() == command)?;
    let attributes = message.attrs(GENLMSGHDR);
    let index = attributes.find(HEADER)?.nested().find(HEADER_DEV_INDEX)?.u32()?;
    let mut report = Report { index, ..Report::default() };
    if topic == Topic::Features {
        report.features = features(attributes);
        return Some(report);
    }
    for &attr in Attr::ALL {
        let Some((id, form)) = topic.place(attr) else { continue };
        let value = attributes.find(id).and_then(|a| form.read(&a));
        if let Some(value) = value.filter(|value| attr.accepts(value) && *value != Value::Int(UNKNOWN)) {
            report.attrs.set(attr, value);
        }
    }
    Some(report)
}

/// The features that the driver lets be changed, each with whether it is on.
fn features(reply: Attributes<'_>) -> BTreeMap<Box<str>, bool> {
    let bits =
        |id| reply.find(id).and_then(|set| set.nested().find(BITSET_BITS)).map_or(attributes(&[]), |b| b.nested());
    let name = |bit: Attributes<'_>| bit.find(BIT_NAME).and_then(|a| a.str().map(Box::<str>::from));
    let mut features = BTreeMap::new();
    for bit in bits(FEATURES_HW).filter(|bit| bit.kind == BITSET_BIT).map(|bit| bit.nested()) {
        if let Some(name) = name(bit).filter(|_| bit.find(BIT_VALUE).is_some()) {
            features.insert(name, false);
        }
    }
    for bit in bits(FEATURES_ACTIVE).filter(|bit| bit.kind == BITSET_BIT).map(|bit| bit.nested()) {
        if let Some(on) = name(bit).and_then(|name| features.get_mut(&name)) {
            *on = true;
        }
    }
    features
}

/// The messages that change those of `attrs` that are driver settings; at most one for each topic.
pub fn set(family: u16, index: u32, attrs: &Attrs) -> Result<Vec<Msg>, StepError> {
    let mut messages = Vec::new();
    for topic in Topic::ALL {
        let mut msg = set_message(family, topic, index);
        let empty = msg.len();
        for (attr, value) in attrs.iter() {
            if let Some((id, form)) = topic.place(attr) {
                form.write(&mut msg, id, value, false, &|_| None)?;
            }
        }
        if msg.len() > empty {
            messages.push(msg);
        }
    }
    Ok(messages)
}

/// The message that switches features on and off.
pub fn set_features(family: u16, index: u32, features: &BTreeMap<Box<str>, bool>) -> Msg {
    let mut msg = set_message(family, Topic::Features, index);
    msg.nest(FEATURES_WANTED, |msg| {
        msg.nest(BITSET_BITS, |msg| {
            for (name, on) in features {
                msg.nest(BITSET_BIT, |msg| {
                    msg.attr_str(BIT_NAME, name);
                    if *on {
                        msg.attr_flag(BIT_VALUE);
                    }
                });
            }
        });
    });
    msg
}

fn set_message(family: u16, topic: Topic, index: u32) -> Msg {
    let mut msg = Msg::new(family, 0);
    msg.header(&[topic.set_command(), 1, 0, 0]).nest(HEADER, |msg| {
        msg.attr_u32(HEADER_DEV_INDEX, index).attr_u32(HEADER_FLAGS, FLAG_OMIT_REPLY);
    });
    msg
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::wire::messages;

    /// A set message has the attributes of a reply; only the command differs.
    fn as_reply(msg: &Msg, topic: Topic) -> Vec<u8> {
        let mut bytes = msg.finish();
        bytes[16] = topic.reply();
        bytes
    }

    #[test]
    fn what_is_set_is_read_back() {
        let attrs: Attrs = [
            (Attr::EthernetAutoNegotiation, Value::Bool(false)),
            (Attr::EthernetSpeed, Value::Int(1000)),
            (Attr::EthernetDuplex, Value::Int(1)),
            (Attr::PauseRx, Value::Bool(true)),
            (Attr::RingTx, Value::Int(512)),
        ]
        .into_iter()
        .collect();
        let sent = set(0x20, 5, &attrs).unwrap();
        assert_eq!(sent.len(), 3);
        let mut link = Link::new("eth0".parse().unwrap(), LinkKind::Ethernet);
        for (msg, topic) in sent.iter().zip([Topic::Linkmodes, Topic::Rings, Topic::Pause]) {
            let bytes = as_reply(msg, topic);
            let report = decode(&messages(&bytes).next().unwrap()).unwrap();
            assert_eq!(report.index, 5);
            report.add_to(&mut link);
        }
        assert_eq!(link.attrs, attrs);
    }

    #[test]
    fn only_features_that_can_be_changed_are_reported() {
        let bit = |msg: &mut Msg, name: &str, on: bool| {
            msg.nest(BITSET_BIT, |msg| {
                msg.attr_str(BIT_NAME, name);
                if on {
                    msg.attr_flag(BIT_VALUE);
                }
            });
        };
        let mut answer = Msg::new(0x20, 0);
        answer.header(&[11, 1, 0, 0]).nest(HEADER, |m| {
            m.attr_u32(HEADER_DEV_INDEX, 2);
        });
        answer.nest(FEATURES_HW, |m| {
            m.nest(BITSET_BITS, |m| {
                bit(m, "tx-checksum", true);
                bit(m, "rx-gro", true);
                bit(m, "fixed", false);
            });
        });
        answer.nest(FEATURES_ACTIVE, |m| {
            m.nest(BITSET_BITS, |m| {
                bit(m, "rx-gro", true);
                bit(m, "fixed", true);
            });
        });
        let bytes = answer.finish();
        let report = decode(&messages(&bytes).next().unwrap()).unwrap();
        let shown: Vec<_> = report.features.iter().map(|(name, on)| (&**name, *on)).collect();
        assert_eq!(shown, [("rx-gro", true), ("tx-checksum", false)]);
    }

    #[test]
    fn only_cards_are_asked_and_their_rings_only_while_up() {
        let mut card = Link::new("eth0".parse().unwrap(), LinkKind::Ethernet);
        assert_eq!(questions(0x20, 1, &card).len(), 2);
        card.up = true;
        assert_eq!(questions(0x20, 1, &card).len(), 3);
        assert!(questions(0x20, 1, &Link::new("d0".parse().unwrap(), LinkKind::Dummy)).is_empty());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn arbitrary_bytes_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..200), command in 0u8..30) {
            let mut body = bytes;
            if let Some(first) = body.first_mut() {
                *first = command;
            }
            let message = Message { kind: 0x20, flags: 0, seq: 0, port: 0, body: &body };
            let _ = decode(&message);
            let _ = decode_family(&message);
        }
    }
}
