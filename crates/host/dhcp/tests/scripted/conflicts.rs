//! An address that somebody else has: DECLINE, and defence.

use netloom_dhcp::{Action, Kind, arp::Arp};

use crate::stage::{ADDRESS, Answer, MAC, Packet, SERVER, STRANGER, Stage, net, secs};

fn declined(xid: u32) -> Packet {
    Packet::to_everybody(
        Kind::Decline,
        xid,
        &[(50, &ADDRESS.octets()), (54, &SERVER.octets()), (56, b"address in use")],
    )
}

fn in_use() -> Arp {
    Arp::announcement(STRANGER, ADDRESS)
}

#[test]
fn an_address_that_somebody_has_is_declined_and_another_one_asked_for_after_ten_seconds() {
    let mut stage = Stage::up();
    let xid = stage.probing();
    stage.wake();
    stage.sent_arp();
    stage.reported();
    stage.arp(in_use());
    stage.expect(&Action::Watch(None));
    stage.expect(&Action::Forget);
    let sent = stage.packet();
    assert_eq!(sent, declined(sent.message.xid), "neither a list of options nor a size");
    assert_ne!(sent.message.xid, xid);
    stage.nothing();
    assert_eq!(stage.reported(), ["AddressInUse"]);
    assert!(stage.client.standing().unwrap().message().contains("02:00:00:00:00:77"));
    let before = stage.elapsed();
    assert_eq!(stage.wake().abs_diff(before), secs(10));
    let sent = stage.packet();
    assert_eq!(sent, Packet::question(Kind::Discover, sent.message.xid, &[]), "that address is not requested");
}

#[test]
fn somebody_who_probes_for_the_same_address_has_it_too() {
    let mut stage = Stage::up();
    stage.probing();
    stage.arp(Arp::probe(STRANGER, ADDRESS));
    stage.expect(&Action::Watch(None));
    assert_eq!(stage.reported().last(), Some(&"AddressInUse"));
}

#[test]
fn our_own_frames_and_questions_about_the_address_are_no_conflict() {
    let mut stage = Stage::up();
    stage.probing();
    let question = Arp { operation: 1, sender_mac: STRANGER, sender: SERVER, target: ADDRESS };
    let other = Arp::announcement(STRANGER, [192, 0, 2, 10].into());
    for arp in [Arp::probe(MAC, ADDRESS), Arp::announcement(MAC, ADDRESS), question, other] {
        stage.arp(arp);
        stage.nothing();
    }
}

#[test]
fn an_address_in_use_is_defended_once() {
    let mut stage = Stage::bound();
    stage.arp(in_use());
    assert_eq!(stage.sent_arp(), Arp::announcement(MAC, ADDRESS));
    stage.nothing();
    stage.pass(secs(11));
    stage.arp(in_use());
    assert_eq!(stage.sent_arp(), Arp::announcement(MAC, ADDRESS), "once in ten seconds");
    assert_eq!(stage.reported(), Vec::<&str>::new());
    assert!(stage.client.lease().is_some());
}

#[test]
fn an_address_that_somebody_insists_on_is_given_up() {
    let mut stage = Stage::bound();
    stage.arp(in_use());
    stage.sent_arp();
    stage.pass(secs(9));
    stage.arp(in_use());
    stage.expect(&Action::Drop(net()));
    stage.expect(&Action::Watch(None));
    stage.expect(&Action::Forget);
    let sent = stage.packet();
    assert_eq!(sent, declined(sent.message.xid));
    stage.nothing();
    assert_eq!(stage.reported(), ["AddressInUse"]);
    stage.wake();
    let sent = stage.packet();
    assert_eq!(sent, Packet::question(Kind::Discover, sent.message.xid, &[]), "it is not requested");
}

#[test]
fn an_address_that_was_had_again_may_be_defended_again() {
    let mut stage = Stage::bound_with(|settings| settings.probing.count = 0, |answer| answer);
    stage.wake();
    let xid = stage.packet().message.xid;
    stage.arp(in_use());
    stage.sent_arp();
    stage.answer(&Answer::new(Kind::Nak, xid));
    stage.expect(&Action::Drop(net()));
    stage.expect(&Action::Watch(None));
    stage.expect(&Action::Forget);
    let xid = stage.requesting();
    stage.answer(&Answer::new(Kind::Ack, xid));
    stage.rest();
    stage.arp(in_use());
    assert_eq!(stage.sent_arp(), Arp::announcement(MAC, ADDRESS));
    assert!(stage.client.lease().is_some());
}

#[test]
fn somebody_who_only_probes_does_not_shake_an_address_in_use() {
    let mut stage = Stage::bound();
    for _ in 0..5 {
        stage.arp(Arp::probe(STRANGER, ADDRESS));
    }
    stage.nothing();
}

#[test]
fn an_address_of_an_earlier_life_is_declined_too() {
    let mut stage = Stage::bound();
    stage.wake();
    let xid = stage.packet().message.xid;
    let other = [192, 0, 2, 10].into();
    stage.answer(&Answer::new(Kind::Ack, xid).giving(other));
    stage.rest();
    stage.arp(Arp::announcement(STRANGER, other));
    stage.expect(&Action::Drop(net()));
    stage.expect(&Action::Watch(None));
    stage.expect(&Action::Forget);
    let sent = stage.packet();
    let options: [(u8, &[u8]); 3] = [(50, &[192, 0, 2, 10]), (54, &SERVER.octets()), (56, b"address in use")];
    assert_eq!(sent, Packet::to_everybody(Kind::Decline, sent.message.xid, &options));
}

#[test]
fn each_address_in_use_makes_the_client_wait_longer_up_to_a_minute() {
    let mut stage = Stage::up();
    for wait in [10, 20, 40, 60, 60] {
        stage.probing();
        stage.arp(in_use());
        stage.rest();
        let before = stage.elapsed();
        assert_eq!(stage.wake().abs_diff(before), secs(wait));
    }
}

#[test]
fn a_link_that_goes_down_and_up_does_not_shorten_the_wait() {
    let mut stage = Stage::up();
    stage.probing();
    stage.arp(in_use());
    stage.rest();
    let until = stage.client.wake_at();
    stage.link(false);
    stage.link(true);
    stage.nothing();
    assert_eq!(stage.client.wake_at(), until);
}
