//! Every decoder against arbitrary bytes: whatever a kernel, old, new or broken, may send, reading it
//! never panics.

use netloom_model::KernelFeatures;
use proptest::prelude::*;

use crate::{
    address, bridge, ethtool,
    events::decode_for_test,
    link, mirror, neighbour, route, rule,
    wire::{Message, messages},
};

fn decode_all(message: &Message<'_>) {
    let _ = address::decode(message).map(|reported| reported.is_generated(KernelFeatures::OLDEST, None, None));
    let _ = neighbour::decode(message);
    let _ = route::decode(message, &|_| None).map(|reported| reported.is_derived());
    let _ = rule::decode(message);
    let _ = link::decode(message).map(|raw| raw.resolve(|_| None));
    let _ = link::decode_token(message);
    let _ = link::Current::read(message);
    let _ = bridge::decode_vlans(message);
    let _ = bridge::decode_fdb(message);
    let _ = mirror::decode_queue(message);
    let _ = mirror::is_filter(message);
    let _ = mirror::decode(message).map(|report| mirror::gather([report], |_| None));
    let _ = ethtool::decode(message);
    let _ = ethtool::decode_family(message);
    decode_for_test(message);
}

/// An attribute with a plausible number and a payload that may itself be attributes.
fn attribute(depth: u32) -> BoxedStrategy<Vec<u8>> {
    let payload = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..20),
        Just(b"bridge\0".to_vec()),
        Just(b"vlan\0".to_vec()),
        Just(b"bond\0".to_vec()),
        Just(b"eth0\0".to_vec()),
        Just(b"flower\0".to_vec()),
        Just(b"clsact\0".to_vec()),
    ];
    let payload = if depth == 0 {
        payload.boxed()
    } else {
        prop_oneof![
            2 => payload,
            1 => prop::collection::vec(attribute(depth - 1), 0..4).prop_map(|inner| inner.concat()),
        ]
        .boxed()
    };
    (0u16..70, payload, 0u16..3)
        .prop_map(|(kind, payload, lie)| {
            let len = u16::try_from(payload.len() + 4).expect("payloads are short") + lie * 7;
            let mut bytes = [len.to_ne_bytes(), kind.to_ne_bytes()].concat();
            bytes.extend(payload);
            bytes.resize(bytes.len().next_multiple_of(4), 0);
            bytes
        })
        .boxed()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn no_decoder_panics(
        kind in 0u16..128,
        family in prop_oneof![Just(0u8), Just(2), Just(7), Just(10), any::<u8>()],
        header in prop::collection::vec(any::<u8>(), 0..24),
        attrs in prop::collection::vec(attribute(3), 0..8),
    ) {
        let mut body = header;
        body.extend(attrs.concat());
        if let Some(first) = body.first_mut() {
            *first = family;
        }
        decode_all(&Message { kind, flags: 0, seq: 0, port: 0, body: &body });
    }

    #[test]
    fn no_datagram_panics(bytes in prop::collection::vec(any::<u8>(), 0..512)) {
        messages(&bytes).for_each(|message| decode_all(&message));
    }
}
