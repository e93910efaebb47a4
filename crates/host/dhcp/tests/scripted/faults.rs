//! Faults that other clients had, each by the name under which it was published.

use netloom_dhcp::{Action, Input, Kind, RouteChoice, datagram::Checksums};

use crate::stage::{ADDRESS, Answer, Stage, secs};

/// A stage that waits for an acknowledgement, and that acknowledgement with something in it.
fn waiting(change: impl Fn(Answer) -> Answer) -> (Stage, Vec<u8>) {
    let mut stage = Stage::up_with(|settings| {
        settings.probing.count = 0;
        settings.routes = RouteChoice::Specific;
    });
    let xid = stage.requesting();
    let frame = change(Answer::new(Kind::Ack, xid)).frame();
    (stage, frame)
}

/// CVE-2018-1111, CVE-2011-0997, CVE-2011-2716 and CVE-2011-2717: texts of servers reached a shell.
#[test]
fn texts_of_servers_are_names_or_nothing() {
    for text in ["x'& touch /tmp/x #", "$(reboot)", "`id`", "a;b", "a|b", "a\nb", "../../etc/passwd", "a\0b", "é"] {
        let (mut stage, frame) = waiting(|answer| answer.with(15, text).with(12, text).with(56, text).with(66, text));
        stage.hear(&frame);
        let kept = serde_json::to_string(&stage.keep()).unwrap();
        let reported = stage.client.standing().unwrap().message();
        assert_eq!(stage.hold().domain, None);
        let part = text.split(['\n', '\0']).next().unwrap();
        assert!(part.len() == 1 || (!kept.contains(part) && !reported.contains(part)), "{text:?}: {kept} {reported}");
        assert!(reported.contains("domain are malformed"));
    }
}

/// CVE-2018-15688 and the like: lengths in answers were believed. Every answer that is cut anywhere, and
/// every one with any of its lengths changed, is refused or means what it says.
#[test]
fn lengths_that_lie_are_refused() {
    let full = |answer: Answer| answer.with(121, [24, 203, 0, 113, 192, 0, 2, 1]).with(15, *b"example.org");
    let (stage, frame) = waiting(full);
    for cut in 0..frame.len() {
        let (mut stage, frame) = waiting(full);
        stage.input(Input::Frame { bytes: &frame[..cut], checksums: Checksums::NotReady });
        stage.nothing();
    }
    // The options stand behind the headers and the fixed part, and lengths are among them.
    let options = 42 + 240;
    let end = frame.iter().rposition(|byte| *byte == 255).unwrap();
    for at in (options..end).chain([16, 17, 38, 39]) {
        for length in [0, 1, 3, 5, 127, 254, 255] {
            let (mut stage, mut frame) = waiting(full);
            frame[at] = length;
            stage.input(Input::Frame { bytes: &frame, checksums: Checksums::NotReady });
            for action in stage.rest() {
                let Action::Hold(held) = action else { continue };
                assert_eq!(held.address.addr(), ADDRESS);
                assert!(held.address.prefix_len() >= 8 && held.routes.len() <= 1 && held.lifetime >= Some(secs(10)));
            }
        }
    }
    drop(stage);
}

/// The overflow of `ConnMan` before 1.42: options hidden in the fields of names, and an option that grows
/// by being reported again and again.
#[test]
fn options_that_are_reported_again_and_again_have_the_wrong_length() {
    let (mut stage, _) = waiting(|answer| answer);
    let mut stuffed = Answer::new(Kind::Ack, 0).with(52, [3]);
    stuffed.message.options = stuffed.message.options.with(61, vec![7; 700]).with(1, [255; 250]);
    stage.answer(&stuffed);
    stage.nothing();
    let (mut stage, mut frame) = waiting(|answer| answer.with(52, [3]));
    for start in [42 + 108, 42 + 44] {
        frame[start..start + 12].copy_from_slice(&[51, 4, 0, 0, 14, 16, 51, 4, 0, 0, 14, 16]);
    }
    stage.input(Input::Frame { bytes: &frame, checksums: Checksums::NotReady });
    stage.nothing();
}

/// CVE-2024-3661: a server on the link pulls all traffic to itself with routes.
#[test]
fn routes_of_servers_do_not_take_other_peoples_traffic() {
    let pull = |answer: Answer| {
        let halves: [&[u8]; 3] = [&[1, 0, 192, 0, 2, 1], &[1, 128, 192, 0, 2, 1], &[0, 192, 0, 2, 1]];
        answer.with(121, halves.concat()).with(3, [192, 0, 2, 1]).with(33, [10, 0, 0, 0, 192, 0, 2, 1])
    };
    let (mut stage, frame) = waiting(pull);
    stage.hear(&frame);
    stage.keep();
    assert_eq!(stage.hold().routes, []);
    let mut usual = Stage::bound_with(|_| (), |answer| answer.with(121, [16, 172, 16, 192, 0, 2, 1]));
    usual.wake();
    let xid = usual.packet().message.xid;
    usual.answer(&Answer::new(Kind::Ack, xid).with(121, [16, 172, 16, 192, 0, 2, 1]));
    usual.keep();
    assert_eq!(usual.hold().routes, [], "none at all unless they are asked for");
}

/// The same with the subnet itself: one that takes in the networks that a node is managed through.
#[test]
fn a_subnet_of_servers_does_not_take_in_the_management_network() {
    let mut stage = Stage::up_with(|settings| settings.protected = vec!["192.0.99.0/24".parse().unwrap()]);
    let xid = stage.packet().message.xid;
    stage.answer(&Answer::new(Kind::Offer, xid).with(1, [255, 255, 0, 0]));
    stage.nothing();
    stage.wake();
    assert!(stage.client.standing().unwrap().message().contains("192.0.99.0/24"));
}

/// Nor one that is a part of them: the way into the smaller network would win over that of the node.
#[test]
fn a_subnet_of_servers_is_no_part_of_the_management_network() {
    let mut stage = Stage::up_with(|settings| settings.protected = vec!["192.0.2.0/23".parse().unwrap()]);
    let xid = stage.packet().message.xid;
    stage.answer(&Answer::new(Kind::Offer, xid).with(1, [255, 255, 255, 0]));
    stage.nothing();
    stage.wake();
    let message = stage.client.standing().unwrap().message();
    assert!(message.contains("/24, which overlaps 192.0.2.0/23"), "{message}");
}
