//! What comes after a restart of the process, of the machine, and of the link: INIT-REBOOT.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use netloom_dhcp::{Action, ClientId, Kind, Lease, Now, Remembered, Settings, arp::Arp};

use crate::stage::{ADDRESS, Answer, LEASE, MAC, OTHER_SERVER, Packet, Stage, net, secs};

fn reboot_request(xid: u32) -> Packet {
    Packet::question(Kind::Request, xid, &[(50, &ADDRESS.octets())])
}

/// A lease that was kept when it was given, and the moment of that.
fn kept() -> (Lease, Now) {
    let mut stage = Stage::up_with(|settings| settings.probing.count = 0);
    let xid = stage.requesting();
    stage.answer(&Answer::new(Kind::Ack, xid).seconds(58, 1000).seconds(59, 2000));
    let lease = stage.keep();
    let text = serde_json::to_string(&lease).expect("a lease can be written");
    (serde_json::from_str(&text).expect("and read"), stage.now)
}

fn later(now: Now, time: Duration) -> Now {
    Now { since_boot: now.since_boot + time, wall: now.wall + SignedDuration::try_from(time).expect("hours") }
}

/// The process was started again so long after the lease was given.
fn process(after: Duration) -> Stage {
    let (lease, given) = kept();
    let remembered = Some(Remembered { lease, installed: true });
    Stage::start(Stage::settings(), remembered, later(given, after))
}

/// The machine was started again so long after the lease was given: its clock starts from zero, and no
/// address is there.
fn machine_with(after: Duration, change: impl FnOnce(&mut Settings)) -> Stage {
    let (lease, given) = kept();
    let mut settings = Settings { boot: "boot-2".into(), ..Stage::settings() };
    change(&mut settings);
    let now = Now { since_boot: secs(5), ..later(given, after) };
    Stage::start(settings, Some(Remembered { lease, installed: false }), now)
}

fn machine(after: Duration) -> Stage {
    machine_with(after, |_| ())
}

#[test]
fn after_a_restart_of_the_machine_the_old_address_is_asked_for_checked_and_used() {
    let mut stage = machine(secs(600));
    stage.link(true);
    let sent = stage.packet();
    assert_eq!(sent, reboot_request(sent.message.xid), "without option 54");
    stage.nothing();
    assert_eq!(stage.reported(), ["ConfirmingLease"]);
    stage.answer(&Answer::new(Kind::Ack, sent.message.xid));
    stage.expect(&Action::Watch(Some(ADDRESS)));
    for _ in 0..3 {
        stage.wake();
        assert_eq!(stage.sent_arp(), Arp::probe(MAC, ADDRESS));
    }
    stage.wake();
    assert_eq!((stage.keep().boot.as_str(), stage.hold().address), ("boot-2", net()));
    assert_eq!(stage.reported(), ["ProbingAddress", "LeaseBound"]);
}

#[test]
fn after_a_restart_of_the_process_the_address_stays_and_is_not_checked_again() {
    let mut stage = process(secs(600));
    stage.expect(&Action::Watch(Some(ADDRESS)));
    stage.nothing();
    stage.link(true);
    let sent = stage.packet();
    assert_eq!(sent, reboot_request(sent.message.xid));
    stage.pass(secs(1));
    stage.answer(&Answer::new(Kind::Ack, sent.message.xid));
    assert_eq!((stage.keep().address, stage.hold().lifetime), (net(), Some(secs(LEASE - 1))));
    stage.nothing();
}

#[test]
fn the_question_is_repeated_with_its_number_and_the_time_that_has_passed() {
    let mut stage = machine(secs(600));
    stage.link(true);
    let xid = stage.packet().message.xid;
    let at = stage.wake();
    assert!(at.abs_diff(secs(4)) <= secs(1));
    assert_eq!(stage.packet(), reboot_request(xid).secs(at.as_secs()));
}

#[test]
fn any_server_may_confirm_and_any_may_refuse() {
    for kind in [Kind::Ack, Kind::Nak] {
        let mut stage = machine_with(secs(600), |settings| settings.probing.count = 0);
        stage.link(true);
        let xid = stage.packet().message.xid;
        stage.answer(&Answer::new(kind, xid).with(54, OTHER_SERVER.octets()));
        let held = stage.rest().iter().any(|action| matches!(action, Action::Hold(_)));
        assert_eq!(held, kind == Kind::Ack);
    }
}

#[test]
fn a_refused_address_goes_at_once_and_is_not_asked_for_again() {
    let mut stage = process(secs(600));
    stage.rest();
    stage.link(true);
    let xid = stage.packet().message.xid;
    stage.answer(&Answer::new(Kind::Nak, xid));
    stage.expect(&Action::Drop(net()));
    stage.expect(&Action::Watch(None));
    stage.expect(&Action::Forget);
    let sent = stage.packet();
    assert_eq!(sent, Packet::question(Kind::Discover, sent.message.xid, &[]));
    assert_eq!(stage.reported(), ["ConfirmingLease", "LeaseRefused", "AcquiringLease"]);
}

#[test]
fn without_an_answer_the_address_is_checked_used_and_asked_about_after_a_minute() {
    let mut stage = machine(secs(600));
    stage.link(true);
    stage.packet();
    stage.wake();
    stage.packet();
    let at = stage.wake();
    assert!(at.abs_diff(secs(12)) <= secs(2));
    stage.expect(&Action::Watch(Some(ADDRESS)));
    stage.pass(secs(8));
    let done = stage.rest();
    let held = done.iter().find_map(|action| match action {
        Action::Hold(held) => Some(held),
        _ => None,
    });
    let left = secs(LEASE - 600);
    assert!(
        held.and_then(|held| held.lifetime).is_some_and(|time| time < left && time > left.saturating_sub(secs(25)))
    );
    assert!(!done.iter().any(|action| matches!(action, Action::Keep(_))), "nothing new is known");
    assert_eq!(stage.reported(), ["ConfirmingLease", "ProbingAddress", "LeaseUnconfirmed"]);
    stage.pass(secs(30));
    stage.rest();
    let asked = stage.wake();
    assert!(asked > secs(72) && asked < secs(84), "not only at T1: {asked:?}");
    let sent = stage.packet();
    let renewal = Packet::question(Kind::Request, sent.message.xid, &[]).of_holder().for_server();
    assert_eq!(sent, renewal);
    stage.answer(&Answer::new(Kind::Ack, sent.message.xid));
    assert_eq!(stage.reported(), ["LeaseBound"]);
}

#[test]
fn without_an_answer_an_address_that_is_there_just_stays() {
    let mut stage = process(secs(600));
    stage.link(true);
    stage.pass(secs(20));
    assert!(stage.rest().iter().all(|action| !matches!(action, Action::Drop(_) | Action::Forget)));
    assert_eq!(stage.reported(), ["ConfirmingLease", "LeaseUnconfirmed"]);
    assert_eq!(stage.client.lease().unwrap().address, net());
}

#[test]
fn a_lease_that_is_late_when_it_is_taken_up_goes_straight_on_to_everybody() {
    let mut stage = process(secs(2500));
    stage.rest();
    stage.link(true);
    stage.pass(secs(20));
    let packets: Vec<_> = stage.rest().into_iter().filter(|action| matches!(action, Action::Send(_))).collect();
    assert_eq!(packets.len(), 3, "two questions, then T2 is long past");
    assert!(packets.iter().all(|action| matches!(action, Action::Send(frame) if frame[..6] == [0xff; 6])));
}

#[test]
fn a_lease_that_ended_meanwhile_is_forgotten_and_its_address_desired() {
    for (mut stage, installed) in [(machine(secs(LEASE)), false), (process(secs(LEASE)), true)] {
        if installed {
            stage.expect(&Action::Drop(net()));
        }
        stage.expect(&Action::Forget);
        stage.nothing();
        stage.link(true);
        let sent = stage.packet();
        assert_eq!(sent, Packet::question(Kind::Discover, sent.message.xid, &[(50, &ADDRESS.octets())]));
    }
}

#[test]
fn a_lease_of_unknown_age_is_not_used() {
    let (lease, given) = kept();
    let settings = Settings { boot: "boot-2".into(), ..Stage::settings() };
    let now = Now { since_boot: secs(5), wall: given.wall - SignedDuration::from_secs(86_400) };
    let mut stage = Stage::start(settings, Some(Remembered { lease, installed: false }), now);
    stage.expect(&Action::Forget);
    stage.link(true);
    assert_eq!(stage.packet().message.kind(), Some(Kind::Discover));
}

#[test]
fn setting_the_clock_does_not_touch_a_lease_of_this_life_of_the_machine() {
    let (lease, given) = kept();
    for wall in [Timestamp::UNIX_EPOCH, given.wall + SignedDuration::from_hours(10_000)] {
        let now = Now { wall, ..later(given, secs(600)) };
        let remembered = Some(Remembered { lease: lease.clone(), installed: true });
        let stage = Stage::start(Stage::settings(), remembered, now);
        assert_eq!(stage.client.wake_at(), Some(given.since_boot + secs(LEASE)));
    }
}

#[test]
fn a_lease_of_another_client_is_dropped_and_not_desired() {
    let (lease, given) = kept();
    let settings = Settings { client_id: ClientId::new("node-2", "mgmt", None), ..Stage::settings() };
    let remembered = Some(Remembered { lease, installed: true });
    let mut stage = Stage::start(settings, remembered, later(given, secs(10)));
    stage.expect(&Action::Drop(net()));
    stage.expect(&Action::Forget);
    stage.link(true);
    assert_eq!(stage.packet().message.options.get(50), None);
}

#[test]
fn while_the_link_is_down_nothing_is_sent_and_the_address_stays() {
    let mut stage = Stage::bound();
    stage.link(false);
    stage.pass(secs(LEASE / 2 + 1000));
    stage.nothing();
    assert!(stage.client.lease().is_some());
    assert_eq!(stage.reported(), ["LinkDown"]);
    stage.link(true);
    let sent = stage.packet();
    assert_eq!(sent, reboot_request(sent.message.xid));
    stage.answer(&Answer::new(Kind::Ack, sent.message.xid));
    stage.keep();
    stage.hold();
    stage.nothing();
}

#[test]
fn a_link_that_goes_down_is_not_announced_on() {
    let mut stage = Stage::up_with(|settings| settings.probing.count = 0);
    let xid = stage.requesting();
    stage.answer(&Answer::new(Kind::Ack, xid));
    stage.rest();
    stage.link(false);
    stage.pass(secs(10));
    stage.nothing();
}

#[test]
fn a_link_that_carries_less_than_before_does_not_get_the_old_size() {
    for (mtu, wanted) in [(1500, Some(1400)), (1300, None)] {
        let (lease, given) = kept();
        let remembered = Some(Remembered { lease: Lease { mtu: Some(1400), ..lease }, installed: true });
        let mut stage = Stage::start(Settings { mtu, ..Stage::settings() }, remembered, later(given, secs(600)));
        stage.link(true);
        stage.pass(secs(20));
        let held = stage.rest().into_iter().find_map(|action| match action {
            Action::Hold(held) => Some(held.mtu),
            _ => None,
        });
        assert_eq!(held, Some(wanted));
    }
}

#[test]
fn a_lease_that_ends_while_the_link_is_down_is_dropped_on_its_day() {
    let mut stage = Stage::bound();
    stage.link(false);
    stage.go_to(secs(LEASE));
    assert_eq!(stage.rest(), [Action::Drop(net()), Action::Watch(None), Action::Forget]);
    assert_eq!(stage.client.wake_at(), None);
    stage.link(true);
    let sent = stage.packet();
    assert_eq!(sent, Packet::question(Kind::Discover, sent.message.xid, &[(50, &ADDRESS.octets())]));
}

#[test]
fn a_link_that_flaps_is_asked_on_once_a_second() {
    let mut stage = Stage::bound();
    stage.began = stage.now.since_boot;
    for _ in 0..100 {
        stage.link(false);
        stage.link(true);
        stage.pass(Duration::from_millis(100));
    }
    let sent = stage.rest().into_iter().filter(|action| matches!(action, Action::Send(_))).count();
    assert!((9..=11).contains(&sent), "{sent} questions in ten seconds");
}

#[test]
fn a_link_that_goes_down_while_an_address_is_checked_asks_for_it_again() {
    let mut stage = Stage::up();
    stage.probing();
    stage.pass(secs(2));
    stage.rest();
    stage.link(false);
    stage.expect(&Action::Watch(None));
    stage.pass(secs(10));
    stage.nothing();
    assert!(stage.client.lease().is_none(), "it was never used");
    stage.link(true);
    let sent = stage.packet();
    assert_eq!(sent, reboot_request(sent.message.xid));
}
