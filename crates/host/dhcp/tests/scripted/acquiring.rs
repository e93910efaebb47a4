//! From nothing to an address: INIT, SELECTING, REQUESTING, and what is checked before it is used.

use netloom_dhcp::{Action, Configuration, Kind, Probing, arp::Arp};

use crate::stage::{ADDRESS, Answer, LEASE, MAC, OTHER_SERVER, Packet, SERVER, SERVER_MAC, Stage, net, secs};

#[test]
fn the_first_question_is_a_discover_with_exactly_its_fields() {
    let mut stage = Stage::up();
    let sent = stage.packet();
    assert_eq!(sent, Packet::question(Kind::Discover, sent.message.xid, &[]));
    stage.nothing();
    assert_eq!(stage.reported(), ["AcquiringLease"]);
}

#[test]
fn nothing_is_sent_before_the_link_is_up() {
    let mut stage = Stage::start(Stage::settings(), None, Stage::up().now);
    assert_eq!(stage.client.wake_at(), None);
    stage.nothing();
    stage.link(false);
    stage.nothing();
}

#[test]
fn a_discover_is_repeated_after_4_8_16_32_64_and_64_seconds_for_ever() {
    let mut stage = Stage::up();
    let xid = stage.packet().message.xid;
    let mut before = secs(0);
    for nominal in [4, 8, 16, 32, 64, 64, 64, 64] {
        let at = stage.wake();
        let waited = at.abs_diff(before).as_millis();
        assert!(((nominal - 1) * 1000..=(nominal + 1) * 1000).contains(&waited), "{waited} for {nominal}");
        assert_eq!(stage.packet(), Packet::question(Kind::Discover, xid, &[]).secs(at.as_secs()));
        before = at;
    }
    stage.nothing();
    assert_eq!(stage.reported(), ["AcquiringLease", "NoDHCPServer"], "users are notified once, after two questions");
}

#[test]
fn two_clients_do_not_repeat_at_the_same_moment_nor_with_the_same_number() {
    let times: std::collections::BTreeSet<_> = (0..20)
        .map(|seed| {
            let mut actions = Vec::new();
            let now = Stage::up().now;
            let mut client = netloom_dhcp::Client::start(Stage::settings(), seed, None, now, &mut actions);
            client.handle(netloom_dhcp::Input::Link { up: true }, now, &mut actions);
            client.wake_at()
        })
        .collect();
    assert!(times.len() > 15, "{times:?}");
}

#[test]
fn an_offer_is_taken_up_with_its_number_its_address_and_its_server() {
    let mut stage = Stage::up();
    let xid = stage.packet().message.xid;
    stage.answer(&Answer::new(Kind::Offer, xid));
    let options: [(u8, &[u8]); 2] = [(50, &ADDRESS.octets()), (54, &SERVER.octets())];
    assert_eq!(stage.packet(), Packet::question(Kind::Request, xid, &options));
    stage.nothing();
}

#[test]
fn a_request_says_the_same_about_the_time_as_the_discover_that_it_follows() {
    let mut stage = Stage::up();
    let xid = stage.packet().message.xid;
    stage.wake();
    let given = u64::from(stage.packet().message.secs);
    assert!(given >= 3);
    stage.pass(secs(2));
    stage.answer(&Answer::new(Kind::Offer, xid));
    let options: [(u8, &[u8]); 2] = [(50, &ADDRESS.octets()), (54, &SERVER.octets())];
    assert_eq!(stage.packet(), Packet::question(Kind::Request, xid, &options).secs(given));
    stage.wake();
    assert_eq!(stage.packet(), Packet::question(Kind::Request, xid, &options).secs(given), "repeated as it was");
}

#[test]
fn the_first_of_two_offers_is_taken() {
    let mut stage = Stage::up();
    let xid = stage.packet().message.xid;
    stage.answer(&Answer::new(Kind::Offer, xid));
    assert_eq!(stage.packet().message.options.get(54), Some(&SERVER.octets()[..]));
    stage.answer(&Answer::new(Kind::Offer, xid).with(54, OTHER_SERVER.octets()));
    stage.nothing();
}

#[test]
fn an_offer_to_an_earlier_repetition_counts() {
    let mut stage = Stage::up();
    let xid = stage.packet().message.xid;
    stage.pass(secs(30));
    stage.rest();
    stage.answer(&Answer::new(Kind::Offer, xid));
    assert_eq!(stage.packet().message.kind(), Some(Kind::Request));
}

#[test]
fn a_request_is_repeated_for_a_minute_and_then_all_begins_again() {
    let mut stage = Stage::up();
    let xid = stage.requesting();
    let mut before = secs(0);
    for nominal in [4, 8, 16] {
        let at = stage.wake();
        assert!(at.abs_diff(before).abs_diff(secs(nominal)) <= secs(1));
        let sent = stage.packet();
        assert_eq!((sent.message.kind(), sent.message.xid), (Some(Kind::Request), xid));
        before = at;
    }
    let at = stage.wake();
    assert!(at.abs_diff(before).abs_diff(secs(32)) <= secs(1));
    let sent = stage.packet();
    assert_eq!(sent, Packet::question(Kind::Discover, sent.message.xid, &[]), "counting from zero again");
    assert_ne!(sent.message.xid, xid, "another exchange has another number");
    assert_eq!(stage.reported(), ["AcquiringLease", "DHCPServerSilent", "AcquiringLease"]);
}

#[test]
fn an_address_is_probed_three_times_before_it_is_used_and_announced_twice_then() {
    let mut stage = Stage::up();
    stage.probing();
    assert_eq!(stage.reported(), ["AcquiringLease", "ProbingAddress"]);
    let mut times = Vec::new();
    for _ in 0..3 {
        times.push(stage.wake());
        assert_eq!(stage.sent_arp(), Arp::probe(MAC, ADDRESS));
        stage.nothing();
    }
    assert!(times[0] <= secs(1), "the first within a second");
    for pair in times.windows(2) {
        assert!((secs(1)..=secs(2)).contains(&pair[1].abs_diff(pair[0])), "one to two seconds between them");
    }
    assert_eq!(stage.wake().abs_diff(times[2]), secs(2), "two seconds for an answer to the last");
    assert_eq!(stage.keep().address, net());
    assert_eq!(stage.hold().address, net());
    stage.expect(&Action::Watch(Some(ADDRESS)));
    assert_eq!(stage.sent_arp(), Arp::announcement(MAC, ADDRESS));
    stage.nothing();
    let used = stage.elapsed();
    assert_eq!(stage.wake().abs_diff(used), secs(2));
    assert_eq!(stage.sent_arp(), Arp::announcement(MAC, ADDRESS));
    stage.nothing();
    assert_eq!(stage.reported(), ["LeaseBound"]);
}

#[test]
fn a_lease_counts_from_when_it_was_asked_for() {
    let mut stage = Stage::up_with(|settings| settings.probing.count = 0);
    let xid = stage.requesting();
    stage.began = stage.now.since_boot;
    stage.pass(secs(3));
    stage.answer(&Answer::new(Kind::Ack, xid));
    let lease = stage.keep();
    let wanted = Configuration {
        address: net(),
        broadcast: None,
        lifetime: Some(secs(LEASE - 3)),
        routes: Vec::new(),
        mtu: None,
        dns: Vec::new(),
        domain: None,
        server: SERVER,
    };
    assert_eq!(stage.hold(), wanted);
    let ends = u64::try_from((stage.began + secs(LEASE)).as_millis()).unwrap();
    assert_eq!(lease.expires.unwrap().since_boot_ms, ends);
    assert_eq!((lease.server, lease.server_mac, lease.boot.as_str()), (SERVER, SERVER_MAC, "boot-1"));
}

#[test]
fn a_repeated_request_counts_from_the_first_of_them() {
    let mut stage = Stage::up_with(|settings| settings.probing.count = 0);
    let xid = stage.requesting();
    stage.began = stage.now.since_boot;
    stage.pass(secs(20));
    stage.rest();
    stage.answer(&Answer::new(Kind::Ack, xid));
    stage.keep();
    assert_eq!(stage.hold().lifetime, Some(secs(LEASE - 20)));
}

#[test]
fn a_lease_that_ends_while_it_is_checked_is_never_used() {
    let mut stage = Stage::up();
    let xid = stage.packet().message.xid;
    stage.answer(&Answer::new(Kind::Offer, xid).seconds(51, 10));
    stage.packet();
    stage.began = stage.now.since_boot;
    stage.pass(secs(8));
    stage.rest();
    stage.answer(&Answer::new(Kind::Ack, xid).seconds(51, 10));
    stage.expect(&Action::Watch(Some(ADDRESS)));
    stage.go_to(secs(10));
    let done = stage.rest();
    let (last, probes) = done.split_last().unwrap();
    assert!(matches!(last, Action::Send(frame) if frame[12..14] == [8, 0]), "it begins again on the second");
    assert_eq!(probes.last(), Some(&Action::Watch(None)));
    stage.pass(secs(20));
    assert!(!stage.rest().iter().any(|action| matches!(action, Action::Hold(_) | Action::Keep(_))));
}

#[test]
fn everything_that_a_server_gives_reaches_the_link() {
    let mut stage = Stage::up_with(|settings| settings.probing.count = 0);
    let xid = stage.requesting();
    let answer = Answer::new(Kind::Ack, xid).with(26, [5, 120]).with(6, [192, 0, 2, 53]).with(15, *b"example.org");
    stage.answer(&answer.with(28, [192, 0, 2, 255]));
    let lease = stage.keep();
    let held = stage.hold();
    assert_eq!((held.mtu, held.dns.as_slice()), (Some(1400), &[[192, 0, 2, 53].into()][..]));
    assert_eq!((held.domain.as_deref(), held.broadcast), (Some("example.org"), Some([192, 0, 2, 255].into())));
    assert_eq!(
        (lease.mtu, lease.dns, lease.domain, lease.broadcast),
        (held.mtu, held.dns, held.domain, held.broadcast)
    );
    let reported = stage.client.standing().unwrap().message();
    assert!(reported.contains("name servers and domain are not used"), "{reported}");
}

#[test]
fn a_quick_check_takes_a_fifth_of_a_second() {
    let mut stage = Stage::up_with(|settings| settings.probing = Probing::QUICK);
    stage.probing();
    stage.pass(std::time::Duration::from_millis(210));
    let sent = stage.rest().into_iter().filter(|action| matches!(action, Action::Send(_))).count();
    assert_eq!((sent, stage.client.lease().is_some()), (4, true), "three probes and an announcement");
}

#[test]
fn name_size_and_the_desired_state_for_broadcasts_are_reported_where_they_are_set() {
    let mut stage = Stage::up_with(|settings| {
        settings.host_name = Some("node-1".parse().unwrap());
        settings.mtu = 900;
        settings.broadcast = true;
    });
    let sent = stage.packet();
    let mut wanted = Packet::question(Kind::Discover, sent.message.xid, &[(12, b"node-1"), (57, &[3, 132])]);
    wanted.message.broadcast = true;
    assert_eq!(sent, wanted);
    for (mtu, given) in [(68, 576_u16), (576, 576), (1500, 1500), (9000, 1500)] {
        let sent = Stage::up_with(|settings| settings.mtu = mtu).packet();
        assert_eq!(sent.message.options.get(57), Some(&given.to_be_bytes()[..]));
    }
}

#[test]
fn a_refusal_of_what_was_offered_begins_again_at_once_and_then_ever_later() {
    let mut stage = Stage::up();
    let xid = stage.requesting();
    stage.answer(&Answer::new(Kind::Nak, xid));
    assert_eq!(stage.rest()[..2], [Action::Watch(None), Action::Forget]);
    assert_eq!(stage.reported(), ["AcquiringLease", "LeaseRefused", "AcquiringLease"]);
    // Drained with the rest: the client asks again at once. From here on it waits.
    let mut xid = None;
    for wait in [10, 20, 40, 60, 60] {
        stage.wake();
        let discover = stage.packet();
        assert_eq!(discover.message.options.get(50), None, "what was refused is not asked for again");
        assert_ne!(Some(discover.message.xid), xid);
        xid = Some(discover.message.xid);
        stage.answer(&Answer::new(Kind::Offer, discover.message.xid));
        stage.packet();
        stage.answer(&Answer::new(Kind::Nak, discover.message.xid));
        assert_eq!(stage.rest(), [Action::Watch(None), Action::Forget]);
        let due = stage.client.wake_at().unwrap().abs_diff(stage.now.since_boot);
        assert_eq!(due, secs(wait));
    }
}
