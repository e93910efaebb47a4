//! Floods and noise: whatever comes, no address changes, nothing grows, and time always goes on.

use std::time::Duration;

use netloom_dhcp::{
    Action, Clients, Input, Kind,
    arp::Arp,
    datagram::{Checksums, Datagram, Reading},
};
use netloom_types::IfName;
use proptest::prelude::*;

use crate::stage::{ADDRESS, Answer, MAC, STRANGER, Stage, secs};

/// CVE-2026-56116: something was kept of each message. A million packets of many kinds leave a machine's
/// clients as large as a thousand do.
#[test]
fn a_million_packets_leave_nothing_behind() {
    let now = Stage::up().now;
    let mut clients = Clients::new();
    let links: Vec<IfName> = (0..4).map(|number| format!("br.{number}").parse().unwrap()).collect();
    let mut xids = Vec::new();
    for (seed, link) in links.iter().enumerate() {
        clients.put(*link, Stage::settings(), seed as u64, None, now);
        for action in clients.handle(*link, Input::Link { up: true }, now) {
            let Action::Send(frame) = action else { continue };
            let datagram = Datagram::read(&frame, Reading::default()).unwrap();
            xids.push(netloom_dhcp::Message::xid_in(datagram.payload).unwrap());
        }
    }
    let kinds = [Kind::Offer, Kind::Ack, Kind::Nak];
    let mut frames: Vec<Vec<u8>> = Vec::new();
    for number in 0..64_u32 {
        let answer = Answer::new(kinds[number as usize % 3], number);
        frames.push(answer.clone().with(121, vec![7; number as usize * 10]).frame());
    }
    // Some are to questions that are open, and no good.
    let bad = xids.iter().map(|xid| Answer::new(Kind::Offer, *xid).with(15, vec![0xff; 900]).without(51).frame());
    frames.extend(bad);
    frames.push(vec![0xff; 1500]);
    let size = |clients: &Clients| format!("{clients:?}").len();
    let mut sizes = Vec::new();
    for round in 0..1_000_000_usize {
        let bytes = &frames[round % frames.len()];
        let link = links[round % links.len()];
        let done = clients.handle(link, Input::Frame { bytes, checksums: Checksums::NotReady }, now);
        assert!(done.is_empty());
        if round == 1000 || round == 999_999 {
            sizes.push(size(&clients));
        }
    }
    let heard: u64 = clients.iter().map(|(_, client)| client.counts().heard).sum();
    assert_eq!(heard, 1_000_000);
    assert!(sizes[1] <= sizes[0] + 4 * 2 * 3, "more than the digits of the counts: {sizes:?}");
}

/// Something that may happen to a link.
#[derive(Debug, Clone)]
enum Noise {
    Bytes(Vec<u8>),
    /// A right frame with a message to us, with anything in its options.
    Options(u8, Vec<u8>),
    /// A right answer with one byte changed.
    Flipped(u8, usize, u8),
    Arp(u8, [u8; 4]),
    Link(bool),
    Pass(u64),
}

fn noise() -> impl Strategy<Value = Noise> {
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..400).prop_map(Noise::Bytes),
        (0u8..9, prop::collection::vec(any::<u8>(), 0..60)).prop_map(|(kind, bytes)| Noise::Options(kind, bytes)),
        (prop::sample::select(vec![2u8, 5, 6]), 0usize..342, any::<u8>())
            .prop_map(|(kind, at, byte)| Noise::Flipped(kind, at, byte)),
        (0u8..3, any::<[u8; 4]>()).prop_map(|(kind, ip)| Noise::Arp(kind, ip)),
        any::<bool>().prop_map(Noise::Link),
        (0u64..4000).prop_map(Noise::Pass),
    ]
}

impl Stage {
    /// The number of the question that was last sent, if any is still on the stage.
    fn suffer(&mut self, noise: &Noise, xid: u32) {
        match noise {
            Noise::Bytes(bytes) => self.input(Input::Frame { bytes, checksums: Checksums::NotReady }),
            Noise::Options(kind, bytes) => {
                let mut message = Answer::new(Kind::Offer, xid).message.write();
                message.truncate(240);
                message.extend([53, 1, *kind]);
                message.extend(bytes);
                let frame = Answer::new(Kind::Offer, xid).frame();
                let datagram = Datagram::read(&frame, Reading::default()).unwrap();
                self.hear(&Datagram { payload: &message, ..datagram }.write());
            }
            Noise::Flipped(kind, at, byte) => {
                let mut frame = Answer::new(Kind::of(*kind).unwrap(), xid).frame();
                let at = at % frame.len();
                frame[at] = *byte;
                self.input(Input::Frame { bytes: &frame, checksums: Checksums::NotReady });
            }
            Noise::Arp(0, ip) => self.arp(Arp::announcement(STRANGER, (*ip).into())),
            Noise::Arp(1, _) => self.arp(Arp::announcement(STRANGER, ADDRESS)),
            Noise::Arp(_, _) => self.arp(Arp::probe(MAC, ADDRESS)),
            Noise::Link(up) => self.link(*up),
            Noise::Pass(time) => self.pass(secs(*time)),
        }
    }
}

/// Whether an action changes an address or what is known about one.
fn changes(action: &Action) -> bool {
    match action {
        Action::Hold(_) | Action::Drop(_) | Action::Keep(_) | Action::Forget => true,
        Action::Send(_) | Action::Watch(_) | Action::Tell(_) => false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Without the number of a question nobody can change anything, whatever the client is doing.
    #[test]
    fn noise_changes_no_address(
        bytes in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..400), 1..6),
        options in prop::collection::vec((0u8..9, prop::collection::vec(any::<u8>(), 0..60)), 1..6),
        place in 0usize..4,
    ) {
        let mut stage = match place {
            0 => Stage::up(),
            1 => Stage::bound(),
            2 => {
                let mut stage = Stage::bound();
                stage.pass(secs(1900));
                stage
            }
            _ => {
                let mut stage = Stage::bound();
                stage.link(false);
                stage.link(true);
                stage
            }
        };
        stage.rest();
        let lease = stage.client.lease().cloned();
        for bytes in &bytes {
            stage.suffer(&Noise::Bytes(bytes.clone()), 0);
        }
        for (kind, bytes) in options {
            stage.suffer(&Noise::Options(kind, bytes), 0);
        }
        prop_assert!(!stage.rest().iter().any(changes));
        prop_assert_eq!(stage.client.lease().cloned(), lease);
    }

    /// Somebody who hears every question and answers as he likes cannot stop the clock, cannot make the
    /// client use what no host can have, and cannot keep an address beyond its lease.
    #[test]
    fn whatever_happens_an_address_in_use_is_a_lease_that_runs(story in prop::collection::vec(noise(), 1..40)) {
        let mut stage = Stage::up();
        let mut xid = 0;
        for noise in &story {
            stage.suffer(noise, xid);
            for action in stage.rest() {
                match action {
                    Action::Send(frame) if frame[12..14] == [8, 0] => {
                        xid = netloom_dhcp::Message::xid_in(&frame[42..]).unwrap();
                    }
                    Action::Hold(held) => {
                        prop_assert!(held.address.prefix_len() >= 8 && !held.address.addr().is_unspecified());
                        prop_assert!(held.lifetime.is_none_or(|time| time > Duration::ZERO));
                        prop_assert!(held.routes.is_empty());
                    }
                    _ => {}
                }
            }
            if let Some(lease) = stage.client.lease() {
                let now = u64::try_from(stage.now.since_boot.as_millis()).unwrap();
                prop_assert!(lease.expires.is_none_or(|end| end.since_boot_ms > now), "the address outlives its lease");
            }
            for _ in 0..5 {
                if stage.client.wake_at().is_some_and(|at| at <= stage.now.since_boot) {
                    stage.wake();
                }
            }
            prop_assert!(stage.client.wake_at().is_none_or(|at| at > stage.now.since_boot), "time does not go on");
        }
    }
}
