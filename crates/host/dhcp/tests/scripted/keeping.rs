//! Keeping an address: T1, T2, the end, and what renewals change.

use std::time::Duration;

use netloom_dhcp::{Action, Ignored, Kind, Message, Route, RouteChoice};

use crate::stage::{ADDRESS, Answer, LEASE, OTHER_SERVER, Packet, STRANGER, Stage, net, secs};

const DAY: u64 = 86400;

fn renewal(xid: u32) -> Packet {
    Packet::question(Kind::Request, xid, &[]).of_holder().for_server()
}

fn rebinding(xid: u32) -> Packet {
    Packet::question(Kind::Request, xid, &[]).of_holder()
}

/// A client whose server reported exactly when to ask again.
fn bound_with_times() -> Stage {
    Stage::bound_with(|_| (), |answer| answer.seconds(58, 1000).seconds(59, 2000))
}

#[test]
fn at_half_of_the_time_the_server_alone_is_asked() {
    let mut stage = Stage::bound();
    let at = stage.wake();
    let earliest = secs(LEASE / 2).saturating_sub(secs(LEASE) / 64);
    assert!((earliest..=secs(LEASE / 2)).contains(&at), "{at:?}");
    let sent = stage.packet();
    assert_eq!(sent, renewal(sent.message.xid), "neither option 50 nor 54");
    stage.nothing();
    assert_eq!(stage.reported(), Vec::<&str>::new());
}

#[test]
fn the_servers_own_times_are_kept_to_the_second() {
    let mut stage = bound_with_times();
    assert_eq!(stage.wake(), secs(1000));
    stage.packet();
    stage.go_to(secs(1999));
    assert!(stage.rest().iter().all(|action| matches!(action, Action::Send(frame) if frame[0] != 0xff)));
    stage.go_to(secs(2000));
    let sent = stage.packet();
    assert_eq!(sent, rebinding(sent.message.xid).secs(1000));
}

#[test]
fn a_renewal_that_is_answered_gives_the_time_again_and_nothing_else() {
    let mut stage = bound_with_times();
    stage.wake();
    let xid = stage.packet().message.xid;
    stage.pass(secs(2));
    stage.answer(&Answer::new(Kind::Ack, xid));
    let lease = stage.keep();
    assert_eq!((stage.hold().lifetime, lease.address), (Some(secs(LEASE - 2)), net()));
    stage.nothing();
    assert_eq!(stage.reported(), Vec::<&str>::new(), "people know already");
    let next = stage.wake();
    assert!(next > secs(1000 + LEASE / 2 - LEASE / 32) && next <= secs(1000 + LEASE / 2), "counted from the question");
}

#[test]
fn renewals_are_repeated_at_half_of_the_time_to_t2_but_not_within_a_minute() {
    let mut stage = bound_with_times();
    let mut xids = std::collections::BTreeSet::new();
    for at in [1000, 1500, 1750, 1875, 1938] {
        let woken = stage.wake_to_act();
        assert!(woken.abs_diff(secs(at)) < secs(1), "{woken:?} for {at}");
        let sent = stage.packet();
        assert_eq!(sent, renewal(sent.message.xid).secs(woken.as_secs() - 1000));
        xids.insert(sent.message.xid);
    }
    assert_eq!(xids.len(), 5, "each has its own number, so that it is known which is answered");
    assert_eq!(stage.reported(), ["RenewalUnanswered"]);
    let woken = stage.wake_to_act();
    assert!(woken.abs_diff(secs(1998)) < secs(1), "a minute later: {woken:?}");
    assert_eq!(stage.packet().to_mac, crate::stage::SERVER_MAC);
    assert_eq!(stage.wake_to_act(), secs(2000), "and not beyond T2");
}

#[test]
fn people_are_reported_a_minute_after_a_renewal_that_nobody_answers_and_when_it_is_well_again() {
    let day = |answer: Answer| answer.seconds(51, 86400).seconds(58, 43200).seconds(59, 75600);
    let mut stage = Stage::bound_with(|_| (), day);
    for (sent, reported) in [(43200, "RenewalUnanswered"), (75600, "RebindingUnanswered")] {
        stage.go_to(secs(sent));
        stage.rest();
        stage.reported();
        stage.go_to(secs(sent + 59));
        assert_eq!(stage.reported(), Vec::<&str>::new(), "an answer may be on its way");
        stage.go_to(secs(sent + 60));
        assert_eq!(stage.reported(), [reported]);
        stage.nothing();
        assert!(stage.client.wake_at() > Some(stage.now.since_boot + secs(3600)), "nothing is sent for that");
    }
    stage.wake_to_act();
    let xid = stage.packet().message.xid;
    stage.pass(secs(61));
    stage.answer(&day(Answer::new(Kind::Ack, xid)));
    assert_eq!(stage.reported(), ["LeaseBound"]);
    stage.rest();
    stage.wake();
    let xid = stage.packet().message.xid;
    stage.pass(secs(59));
    stage.answer(&day(Answer::new(Kind::Ack, xid)));
    stage.pass(secs(600));
    assert_eq!(stage.reported(), Vec::<&str>::new(), "it was answered in time");
}

#[test]
fn only_the_last_of_several_renewals_can_be_answered() {
    let mut stage = bound_with_times();
    stage.wake();
    let old = stage.packet().message.xid;
    stage.wake_to_act();
    let new = stage.packet().message.xid;
    stage.answer(&Answer::new(Kind::Ack, old));
    stage.nothing();
    assert_eq!(stage.client.counts().last, Some(Ignored::OtherQuestion));
    stage.answer(&Answer::new(Kind::Ack, new));
    stage.keep();
    assert_eq!(stage.hold().lifetime, Some(secs(LEASE)));
    assert_eq!(stage.reported(), ["RenewalUnanswered", "LeaseBound"], "and users are notified that it is well again");
}

#[test]
fn a_renewal_is_answered_by_its_server_only() {
    let mut stage = bound_with_times();
    stage.wake();
    let xid = stage.packet().message.xid;
    for kind in [Kind::Ack, Kind::Nak] {
        stage.answer(&Answer::new(kind, xid).with(54, OTHER_SERVER.octets()));
        assert_eq!(stage.client.counts().last, Some(Ignored::OtherServer(OTHER_SERVER)));
    }
    stage.nothing();
}

#[test]
fn a_renewal_goes_to_where_the_lease_came_from_also_behind_a_relay() {
    let mut stage = Stage::up_with(|settings| settings.probing.count = 0);
    let far = [198, 51, 100, 1];
    let xid = stage.packet().message.xid;
    stage.answer(&Answer::new(Kind::Offer, xid).with(54, far));
    stage.packet();
    let mut ack = Answer::new(Kind::Ack, xid).with(54, far);
    ack.message.giaddr = [192, 0, 2, 254].into();
    ack.from_mac = STRANGER;
    stage.answer(&ack);
    stage.pass(secs(3));
    stage.rest();
    stage.wake();
    let sent = stage.packet();
    assert_eq!((sent.to_mac, *sent.to.ip(), sent.message.giaddr), (STRANGER, far.into(), [0; 4].into()));
}

#[test]
fn from_t2_on_everybody_is_asked_at_half_of_what_is_left() {
    let mut stage = bound_with_times();
    stage.go_to(secs(1999));
    stage.rest();
    stage.reported();
    for (at, reported) in [(2000, &[][..]), (2800, &["RebindingUnanswered"]), (3200, &[]), (3400, &[]), (3500, &[])] {
        assert_eq!(stage.wake_to_act(), secs(at));
        let sent = stage.packet();
        assert_eq!(sent, rebinding(sent.message.xid).secs(at - 1000));
        assert_eq!(stage.reported(), reported);
    }
    assert_eq!(stage.wake_to_act(), secs(3560), "a minute is the least");
    stage.packet();
    assert_eq!(stage.wake_to_act(), secs(LEASE), "the end comes first");
    stage.expect(&Action::Drop(net()));
}

#[test]
fn any_server_may_go_on_with_a_lease_that_is_being_rebound() {
    let mut stage = bound_with_times();
    stage.go_to(secs(1999));
    stage.rest();
    stage.wake();
    let xid = stage.packet().message.xid;
    let mut ack = Answer::new(Kind::Ack, xid).with(54, OTHER_SERVER.octets());
    ack.from_mac = STRANGER;
    stage.answer(&ack);
    let lease = stage.keep();
    assert_eq!((lease.server, lease.server_mac), (OTHER_SERVER, STRANGER));
    assert_eq!(stage.hold().server, OTHER_SERVER);
    stage.wake();
    let sent = stage.packet();
    assert_eq!((sent.to_mac, *sent.to.ip()), (STRANGER, OTHER_SERVER), "that one is asked the next time");
}

#[test]
fn at_the_end_the_address_goes_at_once_and_is_asked_for_again() {
    let mut stage = bound_with_times();
    stage.go_to(secs(LEASE).saturating_sub(Duration::from_millis(1)));
    assert!(stage.rest().iter().all(|action| matches!(action, Action::Send(_))));
    assert!(stage.client.lease().is_some());
    stage.reported();
    assert_eq!(stage.wake(), secs(LEASE));
    stage.expect(&Action::Drop(net()));
    stage.expect(&Action::Watch(None));
    stage.expect(&Action::Forget);
    let sent = stage.packet();
    assert_eq!(sent, Packet::question(Kind::Discover, sent.message.xid, &[(50, &ADDRESS.octets())]));
    stage.nothing();
    assert_eq!(stage.reported(), ["LeaseExpired", "AcquiringLease"]);
}

#[test]
fn a_refused_renewal_takes_the_address_away_at_once() {
    let mut stage = bound_with_times();
    stage.wake();
    let xid = stage.packet().message.xid;
    stage.answer(&Answer::new(Kind::Nak, xid));
    stage.expect(&Action::Drop(net()));
    stage.expect(&Action::Watch(None));
    stage.expect(&Action::Forget);
    let sent = stage.packet();
    assert_eq!(sent, Packet::question(Kind::Discover, sent.message.xid, &[]));
    stage.nothing();
    assert_eq!(stage.reported(), ["LeaseRefused", "AcquiringLease"]);
}

#[test]
fn a_refusal_long_after_another_one_is_a_first_one() {
    let mut stage = Stage::bound_with(|settings| settings.probing.count = 0, |answer| answer);
    for _ in 0..3 {
        stage.go_to(stage.elapsed() + secs(LEASE / 2));
        let xid = last_xid(&stage.rest());
        stage.answer(&Answer::new(Kind::Nak, xid));
        stage.expect(&Action::Drop(net()));
        stage.expect(&Action::Watch(None));
        stage.expect(&Action::Forget);
        let xid = stage.requesting();
        stage.answer(&Answer::new(Kind::Ack, xid));
        assert!(stage.client.lease().is_some(), "it was asked for at once");
    }
}

#[test]
fn the_usual_t2_is_not_before_the_servers_t1() {
    let mut stage = Stage::up_with(|settings| settings.probing.count = 0);
    let xid = stage.requesting();
    stage.answer(&Answer::new(Kind::Ack, xid).seconds(58, 3149));
    let lease = stage.keep();
    assert!(lease.renew.since_boot_ms <= lease.rebind.since_boot_ms, "{lease:?}");
    assert!(lease.rebind.since_boot_ms < lease.expires.unwrap().since_boot_ms);
}

#[test]
fn any_server_may_refuse_a_lease_that_is_being_rebound() {
    let mut stage = bound_with_times();
    stage.go_to(secs(1999));
    stage.rest();
    stage.wake();
    let xid = stage.packet().message.xid;
    stage.answer(&Answer::new(Kind::Nak, xid).with(54, OTHER_SERVER.octets()));
    stage.expect(&Action::Drop(net()));
}

#[test]
fn nonsense_in_a_renewal_is_reported_and_the_address_stays_until_its_end() {
    let mut stage = bound_with_times();
    stage.wake();
    let xid = stage.packet().message.xid;
    for nonsense in [
        Answer::new(Kind::Ack, xid).without(51),
        Answer::new(Kind::Ack, xid).seconds(51, 0),
        Answer::new(Kind::Ack, xid).with(1, [0; 4]),
        Answer::new(Kind::Ack, xid).giving([0; 4]),
    ] {
        stage.answer(&nonsense);
        stage.nothing();
    }
    assert_eq!(stage.wake(), secs(1060));
    assert_eq!(stage.reported(), ["BadDHCPOffer"]);
    stage.wake_to_act();
    assert_eq!(stage.reported(), Vec::<&str>::new(), "it was answered, if badly");
    stage.go_to(secs(LEASE - 1));
    assert!(stage.client.lease().is_some());
}

#[test]
fn a_short_lease_is_asked_for_once_at_t1_once_at_t2_and_ends() {
    let answer = |answer: Answer| answer.seconds(51, 120).seconds(58, 60).seconds(59, 105);
    let mut stage = Stage::bound_with(|_| (), answer);
    assert_eq!(stage.wake(), secs(60));
    let sent = stage.packet();
    assert_eq!(sent, renewal(sent.message.xid));
    assert_eq!(stage.wake(), secs(105));
    let sent = stage.packet();
    assert_eq!(sent, rebinding(sent.message.xid).secs(45));
    assert_eq!(stage.wake(), secs(120));
    stage.expect(&Action::Drop(net()));
}

#[test]
fn a_lease_for_ever_stays_when_its_server_is_gone_and_is_asked_for_again() {
    let mut stage = Stage::bound_with(|_| (), |answer| answer.seconds(51, u32::MAX));
    assert!(stage.client.standing().unwrap().message().contains("for ever"));
    assert_eq!(stage.client.lease().unwrap().expires, None);
    let at = stage.wake();
    assert!((secs(14 * DAY)..=secs(15 * DAY)).contains(&at), "{at:?}");
    assert_eq!(stage.packet().to_mac, crate::stage::SERVER_MAC);
    stage.go_to(secs(400 * DAY));
    let done = stage.rest();
    assert!(done.iter().all(|action| matches!(action, Action::Send(_))) && done.len() > 300, "once a day: {done:?}");
    assert_eq!(stage.reported(), ["RenewalUnanswered", "RebindingUnanswered"]);
    stage.wake_to_act();
    let xid = stage.packet().message.xid;
    stage.answer(&Answer::new(Kind::Ack, xid).seconds(51, u32::MAX));
    stage.keep();
    assert_eq!(stage.hold().lifetime, None);
    assert_eq!(stage.reported(), ["LeaseBound"]);
}

#[test]
fn a_long_lease_ends_on_its_own_day() {
    let mut stage = Stage::bound_with(|_| (), |answer| answer.seconds(51, 90 * 86400));
    let at = stage.wake();
    assert!((secs(14 * DAY)..=secs(15 * DAY)).contains(&at), "{at:?}");
    stage.go_to(secs(90 * DAY - 1));
    assert!(stage.client.lease().is_some());
    stage.go_to(secs(90 * DAY));
    assert!(stage.client.lease().is_none());
}

#[test]
fn a_subnet_that_changes_is_set_before_the_old_one_goes() {
    let mut stage = bound_with_times();
    stage.wake();
    let xid = stage.packet().message.xid;
    stage.answer(&Answer::new(Kind::Ack, xid).with(1, [255, 255, 0, 0]));
    stage.keep();
    assert_eq!(stage.hold().address.to_string(), "192.0.2.9/16");
    stage.expect(&Action::Drop(net()));
    stage.nothing();
}

#[test]
fn an_address_that_changes_is_checked_announced_and_set_before_the_old_one_goes() {
    let mut stage = bound_with_times();
    stage.wake();
    let xid = stage.packet().message.xid;
    let other = [192, 0, 2, 10].into();
    stage.answer(&Answer::new(Kind::Ack, xid).giving(other));
    stage.expect(&Action::Watch(Some(other)));
    stage.pass(secs(10));
    let done = stage.rest();
    let place = |wanted: &dyn Fn(&Action) -> bool| done.iter().position(wanted).expect("it is done");
    let held = place(&|action| matches!(action, Action::Hold(held) if held.address.addr() == other));
    let announced = done.iter().rposition(|action| matches!(action, Action::Send(_))).unwrap();
    assert!(held < announced && held < place(&|action| *action == Action::Drop(net())));
    assert_eq!(stage.client.lease().unwrap().address.addr(), other);
    assert_eq!(stage.reported(), ["ProbingAddress", "LeaseBound"]);
}

#[test]
fn a_link_that_goes_down_while_a_new_address_is_checked_keeps_the_old_one() {
    let mut stage = bound_with_times();
    stage.wake();
    let xid = stage.packet().message.xid;
    stage.answer(&Answer::new(Kind::Ack, xid).giving([192, 0, 2, 10]));
    stage.rest();
    stage.link(false);
    stage.expect(&Action::Watch(Some(ADDRESS)));
    stage.nothing();
    stage.pass(secs(2));
    stage.link(true);
    let sent = stage.packet();
    assert_eq!(sent.message.options.get(50), Some(&ADDRESS.octets()[..]), "the server decides again");
    assert_eq!(stage.client.lease().unwrap().address, net());
}

#[test]
fn an_old_address_ends_on_its_day_while_a_new_one_is_checked() {
    let mut stage = bound_with_times();
    stage.go_to(secs(LEASE - 2));
    let xid = last_xid(&stage.rest());
    stage.answer(&Answer::new(Kind::Ack, xid).giving([192, 0, 2, 10]));
    stage.go_to(secs(LEASE));
    let done = stage.rest();
    assert!(done.contains(&Action::Drop(net())), "{done:?}");
    assert_eq!(done.last(), Some(&Action::Watch(Some([192, 0, 2, 10].into()))), "still listened for the new one");
    stage.pass(secs(10));
    assert_eq!(stage.client.lease().unwrap().address.addr().octets(), [192, 0, 2, 10]);
}

/// The number of the last message among these.
fn last_xid(actions: &[Action]) -> u32 {
    let xid = |action: &Action| match action {
        Action::Send(frame) => Message::xid_in(&frame[42..]),
        _ => None,
    };
    actions.iter().rev().find_map(xid).expect("a message was sent")
}

/// Ways to a network, to everywhere, to half of it, and to one that is protected.
fn with_routes(answer: Answer) -> Answer {
    let routes: [&[u8]; 4] =
        [&[16, 172, 16, 192, 0, 2, 1], &[0, 192, 0, 2, 1], &[1, 128, 192, 0, 2, 1], &[24, 203, 0, 113, 192, 0, 2, 1]];
    answer.with(121, routes.concat()).with(3, [192, 0, 2, 254])
}

#[test]
fn routes_are_set_only_as_asked() {
    let held = |routes: RouteChoice| {
        let mut stage = Stage::bound_with(
            |settings| {
                settings.routes = routes;
                settings.protected = vec!["203.0.113.7/32".parse().unwrap()];
            },
            with_routes,
        );
        assert_eq!(stage.client.lease().unwrap().routes.len(), 4, "the lease has them all");
        stage.wake();
        let xid = stage.packet().message.xid;
        stage.answer(&with_routes(Answer::new(Kind::Ack, xid)));
        stage.keep();
        let text = |route: &Route| route.to.to_string();
        let routes: Vec<String> = stage.hold().routes.iter().map(text).collect();
        (routes, stage.client.standing().unwrap().message().contains("managed through"))
    };
    assert_eq!(held(RouteChoice::None), (vec![], false));
    assert_eq!(held(RouteChoice::Specific), (vec!["172.16.0.0/16".into()], true));
    let all = vec!["172.16.0.0/16".into(), "0.0.0.0/0".into()];
    assert_eq!(held(RouteChoice::All), (all, true), "half of everywhere would take in what is protected");
}
