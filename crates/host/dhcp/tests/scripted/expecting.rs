//! Which answers count: everything else is somebody else's, and has no effect.

use std::net::Ipv4Addr;

use netloom_dhcp::{
    Ignored, Input, Kind, Malformed, Operation, Refusal,
    datagram::{Checksums, EVERYBODY, Unfit},
};
use netloom_types::{MacAddr, VlanId};

use crate::stage::{ADDRESS, Answer, OTHER_SERVER, STRANGER, Stage, secs};

/// What the client makes of an answer while it waits for offers.
fn offer(change: impl FnOnce(&mut Answer)) -> Option<Ignored> {
    let mut stage = Stage::up();
    let mut answer = Answer::new(Kind::Offer, stage.packet().message.xid);
    change(&mut answer);
    stage.answer(&answer);
    judged(&mut stage)
}

/// What the client makes of an answer while it waits for an address that it took up.
fn ack(change: impl FnOnce(&mut Answer)) -> Option<Ignored> {
    let mut stage = Stage::up();
    let mut answer = Answer::new(Kind::Ack, stage.requesting());
    change(&mut answer);
    stage.answer(&answer);
    judged(&mut stage)
}

/// Why the last frame had no effect: then nothing was done either.
fn judged(stage: &mut Stage) -> Option<Ignored> {
    let (why, done) = (stage.client.counts().last, stage.rest());
    assert_eq!(why.is_some(), done.is_empty(), "{why:?} {done:?}");
    why
}

#[test]
fn answers_to_everybody_and_to_the_address_that_is_given_are_heard() {
    assert_eq!(offer(|_| ()), None);
    let to_everybody = |answer: &mut Answer| {
        answer.to_mac = EVERYBODY;
        answer.to.set_ip(Ipv4Addr::BROADCAST);
    };
    assert_eq!(offer(to_everybody), None);
    assert_eq!(offer(|answer| answer.to.set_ip(Ipv4Addr::BROADCAST)), None);
}

#[test]
fn answers_to_others_are_not() {
    assert_eq!(offer(|answer| answer.to_mac = STRANGER), Some(Ignored::ForOthers));
    assert_eq!(offer(|answer| answer.to.set_ip([192, 0, 2, 77].into())), Some(Ignored::ForOthers));
    assert_eq!(offer(|answer| answer.to.set_port(67)), Some(Ignored::ForOthers));
    assert_eq!(offer(|answer| answer.message.xid ^= 1), Some(Ignored::OtherQuestion));
    assert_eq!(offer(|answer| answer.message.chaddr = STRANGER), Some(Ignored::OtherClient));
}

#[test]
fn an_answer_that_names_another_client_is_not_ours_although_the_hardware_is() {
    let id = Stage::settings().client_id;
    let other = netloom_dhcp::ClientId::new("node-1", "cn2", None);
    let named = |id: &netloom_dhcp::ClientId| {
        let bytes = id.bytes().to_vec();
        offer(move |answer| *answer = answer.clone().with(61, bytes))
    };
    assert_eq!(named(&id), None);
    assert_eq!(named(&other), Some(Ignored::OtherClient));
}

#[test]
fn a_frame_from_a_group_or_from_nobody_is_not_from_a_server() {
    for mac in [MacAddr::new([1, 0, 0x5e, 0, 0, 1]), EVERYBODY, MacAddr::new([0; 6])] {
        assert_eq!(offer(|answer| answer.from_mac = mac), Some(Ignored::ForOthers));
    }
}

#[test]
fn only_answers_of_the_right_kind_count() {
    for kind in [Kind::Discover, Kind::Request, Kind::Decline, Kind::Ack, Kind::Nak, Kind::Release] {
        let change = |answer: &mut Answer| *answer = answer.clone().with(53, [kind.number()]);
        assert_eq!(offer(change), Some(Ignored::Kind), "{kind:?} instead of an offer");
    }
    for kind in [Kind::Discover, Kind::Offer, Kind::Request, Kind::Decline, Kind::Release] {
        let change = |answer: &mut Answer| *answer = answer.clone().with(53, [kind.number()]);
        assert_eq!(ack(change), Some(Ignored::Kind), "{kind:?} instead of an ack");
    }
    for contents in [&[][..], &[2, 2], &[0], &[99]] {
        assert_eq!(offer(|answer| *answer = answer.clone().with(53, contents)), Some(Ignored::Kind));
    }
    assert_eq!(offer(|answer| *answer = answer.clone().without(53)), Some(Ignored::Kind), "the older protocol");
    assert_eq!(offer(|answer| answer.message.operation = Operation::Request), Some(Ignored::Kind));
}

#[test]
fn what_was_taken_up_comes_from_that_server_and_is_that_address() {
    let from = |server: Ipv4Addr| ack(move |answer| *answer = answer.clone().with(54, server.octets()));
    assert_eq!(from(OTHER_SERVER), Some(Ignored::OtherServer(OTHER_SERVER)));
    let other = Ipv4Addr::new(192, 0, 2, 10);
    assert_eq!(ack(|answer| *answer = answer.clone().giving(other)), Some(Ignored::OtherAddress(other)));
    assert_eq!(ack(|answer| *answer = answer.clone().without(54)), Some(Ignored::Refused(Refusal::Missing(54))));
    assert_eq!(ack(|answer| *answer = answer.clone().without(51)), Some(Ignored::Refused(Refusal::Missing(51))));
    assert_eq!(ack(|answer| *answer = answer.clone().without(1)), Some(Ignored::Refused(Refusal::Missing(1))));
}

#[test]
fn a_refusal_of_another_server_or_of_nobody_changes_nothing() {
    for (answer, wanted) in [
        (Answer::new(Kind::Nak, 0).with(54, OTHER_SERVER.octets()), Ignored::OtherServer(OTHER_SERVER)),
        (Answer::new(Kind::Nak, 0).without(54), Ignored::Refused(Refusal::Missing(54))),
    ] {
        let mut stage = Stage::up();
        let mut answer = answer;
        answer.message.xid = stage.requesting();
        stage.answer(&answer);
        assert_eq!(judged(&mut stage), Some(wanted));
    }
}

#[test]
fn what_was_wrong_with_an_answer_is_not_reported_of_the_next_question() {
    let mut stage = Stage::up();
    let xid = stage.requesting();
    stage.answer(&Answer::new(Kind::Ack, xid).without(51));
    stage.answer(&Answer::new(Kind::Nak, xid));
    stage.reported();
    stage.wake();
    stage.wake();
    assert_eq!(stage.reported(), ["NoDHCPServer"]);
}

#[test]
fn an_answer_that_comes_when_its_lease_is_over_is_too_late() {
    let mut stage = Stage::up();
    let xid = stage.packet().message.xid;
    stage.answer(&Answer::new(Kind::Offer, xid).seconds(51, 10));
    stage.pass(secs(11));
    stage.rest();
    stage.answer(&Answer::new(Kind::Ack, xid).seconds(51, 10));
    assert_eq!(judged(&mut stage), Some(Ignored::Late));
}

#[test]
fn nothing_is_heard_while_nothing_was_asked() {
    let mut stage = Stage::bound();
    stage.answer(&Answer::new(Kind::Ack, 7));
    stage.answer(&Answer::new(Kind::Nak, 7));
    assert_eq!(stage.client.counts().last, Some(Ignored::Unasked));
    stage.nothing();
    let mut probing = Stage::up();
    let xid = probing.probing();
    probing.answer(&Answer::new(Kind::Nak, xid));
    assert_eq!(probing.client.counts().last, Some(Ignored::Unasked));
    probing.nothing();
}

#[test]
fn checksums_must_be_right_unless_they_were_never_made() {
    let hear = |checksums, change: &dyn Fn(&mut Vec<u8>)| {
        let mut stage = Stage::up();
        let mut frame = Answer::new(Kind::Offer, stage.packet().message.xid).frame();
        change(&mut frame);
        stage.input(Input::Frame { bytes: &frame, checksums });
        stage.client.counts().last
    };
    let wrong = |frame: &mut Vec<u8>| frame[41] ^= 0x55;
    let none = |frame: &mut Vec<u8>| frame[40..42].fill(0);
    assert_eq!(hear(Checksums::Verify, &wrong), Some(Ignored::Unfit(Unfit::Checksum)));
    assert_eq!(hear(Checksums::NotReady, &wrong), None);
    assert_eq!(hear(Checksums::Verify, &none), None);
}

#[test]
fn a_tag_is_taken_off_only_where_the_vlan_belongs() {
    let tagged = |vlan: Option<u16>| {
        let vlan = vlan.map(|id| VlanId::try_from(id).unwrap());
        let mut stage = Stage::up_with(|settings| settings.vlan = vlan);
        let mut frame = Answer::new(Kind::Offer, stage.packet().message.xid).frame();
        frame.splice(12..12, [0x81, 0, 0, 100]);
        stage.hear(&frame);
        stage.client.counts().last
    };
    assert_eq!(tagged(Some(100)), None);
    assert_eq!(tagged(Some(101)), Some(Ignored::Unfit(Unfit::OtherVlan(100))));
    assert_eq!(tagged(None), Some(Ignored::Unfit(Unfit::OtherVlan(100))));
}

#[test]
fn messages_of_another_kind_of_hardware_or_protocol_are_not_read() {
    let mangled = |at: usize, byte: u8| {
        let mut stage = Stage::up();
        let mut frame = Answer::new(Kind::Offer, stage.packet().message.xid).frame();
        frame[42 + at] = byte;
        frame[40..42].fill(0);
        stage.hear(&frame);
        stage.client.counts().last
    };
    assert_eq!(mangled(1, 6), Some(Ignored::Malformed(Malformed::Hardware { kind: 6, length: 6 })));
    assert_eq!(mangled(2, 16), Some(Ignored::Malformed(Malformed::Hardware { kind: 1, length: 16 })));
    assert_eq!(mangled(236, 0), Some(Ignored::Malformed(Malformed::Mark)));
}

#[test]
fn offers_that_nobody_can_use_are_refused_in_words_and_a_good_one_is_still_taken() {
    let mut stage = Stage::up_with(|settings| settings.protected = vec!["192.0.2.128/25".parse().unwrap()]);
    let xid = stage.packet().message.xid;
    let offer = || Answer::new(Kind::Offer, xid).with(1, [255, 255, 255, 128]);
    let nonsense = [
        (offer().with(1, [0; 4]), "OfferSubnet"),
        (offer().with(1, [255, 0, 255, 0]), "OfferSubnet"),
        (offer().with(1, [255, 255, 255, 0]), "OfferSubnet"),
        (offer().seconds(51, 0), "OfferTooShort"),
        (offer().without(51), "OfferIncomplete"),
        (offer().with(51, [1]), "OfferMalformed"),
        (offer().giving([224, 0, 0, 9]), "OfferAddress"),
        (offer().giving([192, 0, 2, 127]), "OfferAddress"),
        (offer().with(54, [0; 4]), "OfferServer"),
    ];
    for (answer, wanted) in nonsense {
        stage.answer(&answer);
        stage.nothing();
        assert_eq!(stage.client.counts().last.map(Ignored::reason), Some(wanted));
    }
    assert_eq!(stage.reported(), ["AcquiringLease"], "not for each packet");
    stage.wake();
    assert_eq!(stage.reported(), ["BadDHCPOffer"], "but when it is asked again");
    assert_eq!(stage.packet().message.kind(), Some(Kind::Discover));
    stage.answer(&offer());
    assert_eq!(stage.packet().message.options.get(50), Some(&ADDRESS.octets()[..]));
    stage.nothing();
}
