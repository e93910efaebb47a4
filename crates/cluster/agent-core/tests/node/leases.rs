//! Addresses from servers: what a lease changes on the host and in what is reported, and what it does not.

use jiff::{SignedDuration, Timestamp};
use netloom_agent_core::{CompanionNews, Drift, Event, Given, Leased, Settings, Standing, cut_off};
use netloom_api::pipeline::node_network_config::LeaseProblem;
use netloom_dhcp::{ClientId, Lease, Moment, Route};
use netloom_model::{Address, Attr, Attrs, KernelFeatures, Plan, PlannedStep, Step};
use netloom_types::{Lifetime, Protocol};
use serde_json::{Value, json};

use crate::{
    model::{HOUR, Rig, desire, set_mtu},
    revisions::pair,
};

const LINK: &str = "cn-br.7";

/// A VLAN on the card, with this in the block of IPv4.
fn vlan(ipv4: &Value) -> Value {
    json!({"interfaces": [{"name": "eth0", "state": "up"}, {"name": LINK, "type": "vlan", "state": "up", "vlan": {"id": 7, "base-iface": "eth0"},
        "ipv4": ipv4}]})
}

fn by_lease() -> Value {
    vlan(&json!({"enabled": true, "dhcp": true}))
}

fn fixed() -> Value {
    vlan(&json!({"enabled": true, "address": [{"ip": "198.51.100.9", "prefix-length": 24}]}))
}

fn given(rig: &Rig, address: &str, seconds: i64) -> Leased {
    let after = |part: i64| {
        let wall = rig.now.checked_add(SignedDuration::from_secs(part)).unwrap();
        Moment { since_boot_ms: u64::try_from(wall.as_millisecond()).unwrap(), wall }
    };
    let lease = Lease {
        client_id: ClientId::new("m", "cn", None),
        address: address.parse().unwrap(),
        server: [192, 0, 2, 1].into(),
        server_mac: "02:00:00:00:00:99".parse().unwrap(),
        boot: "b".to_owned(),
        given: after(0),
        renew: after(seconds / 2),
        rebind: after(seconds / 8 * 7),
        expires: Some(after(seconds)),
        broadcast: None,
        routes: Vec::new(),
        mtu: None,
        dns: Vec::new(),
        domain: None,
    };
    let routes = vec![Route { to: "203.0.113.0/24".parse().unwrap(), via: Some([192, 0, 2, 1].into()) }];
    Leased { given: Some(Given { ends: lease.expires.map(|end| end.wall), lease, routes }), problem: None }
}

/// The same by a server that gives addresses for ever.
fn given_for_ever(rig: &Rig, address: &str) -> Leased {
    let mut leased = given(rig, address, 3600);
    let given = leased.given.as_mut().unwrap();
    (given.ends, given.lease.expires) = (None, None);
    leased
}

/// A node with a host network that the controller wants a lease for.
fn with_host_network() -> Rig {
    let card = json!({"interfaces": [{"name": "eth0", "state": "up"}]});
    let mut rig = with(&card);
    let origin = json!({"kind": "HostNetworkConfig", "name": "h", "path": "spec.mode"});
    rig.write(json!({
        "apiVersion": "network.t-caas.telekom.com/v1alpha1", "kind": "NodeNetworkConfig",
        "metadata": {"name": "n"},
        "spec": {"revision": "r1", "digest": "x1", "stateDigest": "x1", "host": {
            "links": [{"name": LINK, "type": "vlan", "up": true, "base": "eth0", "vlanId": 7, "mtu": 1450, "origin": origin}],
            "dhcp": [{"link": LINK, "family": "ipv4", "routes": true, "gateway": false, "origin": origin}],
        }},
    }));
    pair(&mut rig, "r1", "x1", &card);
    rig.run();
    rig
}

fn trouble(reason: &str) -> LeaseProblem {
    LeaseProblem { reason: reason.to_owned(), message: "something is wrong".to_owned() }
}

/// The addresses of the link, each with the seconds that are left.
fn addresses(rig: &Rig) -> Vec<(String, Option<u32>)> {
    let observed = rig.host.sim.observed();
    let left = |address: &Address| match address.valid {
        Lifetime::Forever => None,
        Lifetime::Seconds(seconds) => Some(seconds),
    };
    let link = observed.links.get(&LINK.parse().unwrap());
    link.into_iter().flat_map(|link| &link.addresses).map(|a| (a.to_string(), left(a))).collect()
}

fn routes(rig: &Rig) -> Vec<String> {
    rig.host.sim.observed().routes.values().map(ToString::to_string).collect()
}

/// Whether the link has exactly this address, for about so many seconds.
fn has(rig: &Rig, address: &str, seconds: u32) -> bool {
    let list = addresses(rig);
    matches!(&list[..], [(one, Some(left))] if one == address && left.abs_diff(seconds) <= 2)
}

/// A node with that desired state.
fn with(document: &Value) -> Rig {
    let mut rig = Rig::usual();
    rig.run();
    desire(&mut rig, document);
    rig.run();
    rig
}

/// A node whose link has an address for an hour.
fn bound() -> Rig {
    let mut rig = with(&by_lease());
    let leased = given(&rig, "192.0.2.100/24", 3600);
    rig.serve(LINK, leased);
    assert!(has(&rig, "192.0.2.100/24", 3600), "{:?}", addresses(&rig));
    rig
}

#[test]
fn what_another_network_gave_is_nothing_to_a_link_that_kept_its_name() {
    let mut rig = bound();
    let before = rig.leasing.as_ref().unwrap().number;
    let leased = given(&rig, "192.0.2.100/24", 3600);
    // The clients give it back when asked to; a word of theirs may be on its way still.
    rig.leases.clear();
    let mut moved = by_lease();
    moved["interfaces"][1]["vlan"]["id"] = json!(8);
    desire(&mut rig, &moved);
    rig.run();
    assert_eq!((rig.condition("Available").1.as_str(), addresses(&rig)), ("AsDesired", Vec::new()));
    let links = [(LINK.parse().unwrap(), leased)].into();
    rig.agent.take(rig.now, Event::Companion(CompanionNews::Leases { order: before, links }));
    rig.run();
    assert_eq!(addresses(&rig), Vec::new());
}

#[test]
fn a_vlan_on_a_link_that_is_called_like_a_cluster_network_has_a_lease_of_its_own() {
    let by_lease = |name: &str, base: &str| {
        json!({"name": name, "type": "vlan", "state": "up", "vlan": {"id": 7, "base-iface": base},
            "ipv4": {"enabled": true, "dhcp": true}})
    };
    let rig = with(&json!({"interfaces": [{"name": "eth0-br", "type": "linux-bridge", "state": "up"},
        {"name": "eth0", "state": "up"}, by_lease("eth0-br.7", "eth0-br"), by_lease("eth0.7", "eth0")]}));
    let order = rig.leasing.as_ref().unwrap();
    let key = |link: &str| order.links[&link.parse().unwrap()].key();
    assert_eq!(key("eth0-br.7"), ("eth0", Some(7.try_into().unwrap())), "as ever: servers know the nodes by it");
    assert_ne!(key("eth0.7"), key("eth0-br.7"));
}

#[test]
fn the_desired_state_is_in_place_before_any_server_answers() {
    let rig = with(&by_lease());
    assert_eq!(rig.condition("Available").1, "AsDesired");
    assert!(rig.host.sim.observed().links.contains_key(&LINK.parse().unwrap()));
    assert_eq!(addresses(&rig), []);
    let order = rig.leasing.as_ref().unwrap();
    let desired = &order.links[&LINK.parse().unwrap()];
    assert_eq!((desired.network.as_str(), desired.vlan.map(u16::from)), ("@eth0", Some(7)));
}

#[test]
fn a_lease_is_an_address_that_ends_and_routes_behind_those_of_the_node() {
    let rig = bound();
    assert_eq!(routes(&rig), ["203.0.113.0/24 via 192.0.2.1 dev cn-br.7 metric 1024"]);
    let observed = rig.host.sim.observed();
    assert!(observed.routes.values().all(|route| route.protocol == Protocol::NETLOOM));
    assert_eq!(rig.condition("Available").1, "AsDesired");
    assert_eq!(rig.host.changes, 2, "the link, then the lease");
}

#[test]
fn time_that_runs_down_is_no_drift_and_a_renewal_is_one_quiet_change() {
    let mut rig = bound();
    let (writes, changes, reported) = (rig.api.writes.len(), rig.host.changes, rig.reported());
    rig.run_for(SignedDuration::from_mins(30));
    assert_eq!((rig.api.writes.len(), rig.host.changes), (writes, changes));
    assert!(has(&rig, "192.0.2.100/24", 1800), "{:?}", addresses(&rig));
    let leased = given(&rig, "192.0.2.100/24", 3600);
    rig.serve(LINK, leased);
    assert!(has(&rig, "192.0.2.100/24", 3600), "{:?}", addresses(&rig));
    assert_eq!((rig.host.changes, rig.reported()), (changes + 1, reported), "it is no news");
    assert_eq!(rig.api.writes.len(), writes, "nothing that is reported of the node is another");
}

#[test]
fn what_somebody_does_to_the_address_is_put_right() {
    let mut rig = bound();
    let name = LINK.parse().unwrap();
    let there = rig.host.sim.observed().links[&name].addresses[0];
    let other = |time| Address { valid: time, preferred: time, ..there };
    let steps = [
        Step::RemoveAddress { name, address: there },
        Step::AddAddress { name, address: other(Lifetime::Forever) },
        Step::AddAddress { name, address: other(Lifetime::Seconds(60)) },
    ];
    for step in steps {
        rig.meddle(&step);
        rig.run_for(SignedDuration::from_mins(10));
        let left = addresses(&rig)[0].1.unwrap();
        let wanted = rig.leases[LINK].given.as_ref().unwrap().ends.unwrap().duration_since(rig.now).as_secs();
        assert!(i64::from(left).abs_diff(wanted) < 3, "{step}: {left} of {wanted}");
        assert_eq!(routes(&rig).len(), 1, "{step}");
    }
    let events = rig.api.list("Event");
    let drifted = events.iter().filter(|event| event["reason"] == "Drifted");
    let notes: Vec<&str> = drifted.map(|event| event["note"].as_str().unwrap()).collect();
    assert!(notes.iter().any(|note| note.contains("192.0.2.100/24 for ever")), "{notes:?}");
}

#[test]
fn a_lease_that_is_lost_takes_its_address_and_routes_along() {
    let mut rig = bound();
    rig.serve(LINK, Leased { given: None, problem: Some(trouble("DHCPNak")) });
    assert_eq!((addresses(&rig), routes(&rig)), (vec![], vec![]));
    assert_eq!(rig.condition("Available").1, "AsDesired", "the request is for a lease, not for an answer");
    assert_eq!(rig.condition("Degraded"), ("True".into(), "DHCPNak".into(), format!("{LINK}: something is wrong")));
}

#[test]
fn an_address_that_nobody_renews_goes_with_its_lease() {
    let mut rig = bound();
    rig.run_for(HOUR);
    assert_eq!(addresses(&rig), []);
    assert_eq!(rig.condition("Available").1, "AsDesired");
}

#[test]
fn a_fixed_address_goes_at_once_for_a_lease_that_nobody_gives() {
    let mut rig = with(&fixed());
    assert_eq!(addresses(&rig), [("198.51.100.9/24".to_owned(), None)]);
    desire(&mut rig, &by_lease());
    rig.run();
    assert_eq!((addresses(&rig), rig.given_back.len()), (vec![], 0));
}

#[test]
fn a_lease_is_given_back_once_its_address_is_gone() {
    for then in [fixed(), vlan(&json!({"enabled": false})), json!({"interfaces": []})] {
        let mut rig = bound();
        desire(&mut rig, &then);
        rig.run();
        assert_eq!(rig.given_back, [(LINK.to_owned(), false)], "{then}");
        assert!(addresses(&rig).iter().all(|(address, _)| address != "192.0.2.100/24"), "{then}");
        assert_eq!(routes(&rig), Vec::<String>::new(), "{then}");
    }
}

#[test]
fn a_change_that_is_taken_back_gives_no_lease_back() {
    let mut rig = bound();
    rig.host.cursed = Some("d0");
    let mut then = fixed();
    let dummy = json!({"name": "d0", "type": "dummy", "state": "up"});
    then["interfaces"].as_array_mut().unwrap().push(dummy);
    desire(&mut rig, &then);
    rig.run_for(SignedDuration::from_mins(10));
    assert_eq!(rig.condition("Available").0, "False");
    assert_eq!((rig.given_back.len(), addresses(&rig)[0].0.as_str()), (0, "192.0.2.100/24"));
    // Back to where it was: nothing has to be asked for again.
    desire(&mut rig, &by_lease());
    rig.run();
    assert_eq!((rig.given_back.len(), rig.condition("Available").0.as_str()), (0, "True"));
    assert!(has(&rig, "192.0.2.100/24", 3000), "{:?}", addresses(&rig));
    desire(&mut rig, &then);
    rig.host.cursed = None;
    rig.run();
    assert_eq!(rig.given_back, [(LINK.to_owned(), false)]);
    assert_eq!(addresses(&rig), [("198.51.100.9/24".to_owned(), None)]);
}

#[test]
fn a_lease_sets_nothing_else_again_where_drift_is_only_reported() {
    sets_nothing_else_again_on(KernelFeatures::default());
}

#[test]
fn a_lease_sets_nothing_else_again_where_the_kernel_does_not_say_whose_an_address_is() {
    sets_nothing_else_again_on(KernelFeatures::OLDEST);
}

fn sets_nothing_else_again_on(kernel: KernelFeatures) {
    let mut rig = Rig::new(Settings { drift: Drift::Report, ..Settings::of("n") }).on_kernel(kernel);
    rig.run();
    let mut document =
        vlan(&json!({"enabled": true, "dhcp": true, "address": [{"ip": "198.51.100.9", "prefix-length": 24}]}));
    document["interfaces"][1]["mtu"] = json!(1400);
    desire(&mut rig, &document);
    rig.run();
    let leased = given(&rig, "192.0.2.100/24", 3600);
    rig.serve(LINK, leased);
    let name = LINK.parse().unwrap();
    let fixed = rig.host.sim.observed().links[&name].addresses.iter().find(|a| a.valid == Lifetime::Forever).copied();
    rig.meddle(&set_mtu(LINK, 1300));
    rig.meddle(&Step::RemoveAddress { name, address: fixed.unwrap() });
    rig.run();
    let drifted = |rig: &Rig| rig.agent.drift().iter().map(|one| one.path.clone()).collect::<Vec<_>>();
    let left_alone = |rig: &Rig| {
        assert_eq!((rig.mtu(LINK), drifted(rig)), (Some(1300), vec![format!("{LINK}.mtu"), format!("{LINK}.address")]));
        assert_eq!(rig.condition("Available").1, "Drifted");
    };
    left_alone(&rig);
    let reported = rig.reported();
    rig.run_for(SignedDuration::from_mins(30));
    for (address, changes) in [("192.0.2.100/24", "renewed"), ("192.0.2.101/24", "another one")] {
        let leased = given(&rig, address, 3600);
        rig.serve(LINK, leased);
        assert!(has(&rig, address, 3600), "{changes}: {:?}", addresses(&rig));
        assert_eq!(routes(&rig).len(), 1, "{changes}");
        left_alone(&rig);
        assert!(changes != "renewed" || rig.reported() == reported, "it is no news");
    }
    rig.serve(LINK, Leased { given: None, problem: None });
    assert_eq!((addresses(&rig), routes(&rig)), (vec![], vec![]));
    left_alone(&rig);
    // Of what a lease brought nothing is left behind when nobody asks for the link any more.
    let leased = given(&rig, "192.0.2.102/24", 3600);
    rig.serve(LINK, leased);
    desire(&mut rig, &json!({"interfaces": []}));
    rig.run();
    assert!(!rig.host.sim.observed().links.contains_key(&name) && routes(&rig).is_empty());
}

#[test]
fn an_address_that_is_lent_for_ever_has_no_end_and_goes_with_its_lease() {
    let kernels = [KernelFeatures::default(), KernelFeatures::OLDEST];
    for (drift, kernel) in [Drift::Repair, Drift::Report].into_iter().flat_map(|drift| kernels.map(|k| (drift, k))) {
        let mut rig = Rig::new(Settings { drift, ..Settings::of("n") }).on_kernel(kernel);
        rig.run();
        desire(&mut rig, &by_lease());
        rig.run();
        for address in ["192.0.2.100/24", "192.0.2.101/24"] {
            let leased = given_for_ever(&rig, address);
            rig.serve(LINK, leased);
            assert_eq!(addresses(&rig), [(address.to_owned(), None)], "{drift:?}");
        }
        rig.run_for(SignedDuration::from_hours(48));
        assert_eq!(addresses(&rig).len(), 1, "{drift:?}");
        let leased = given(&rig, "192.0.2.101/24", 3600);
        rig.serve(LINK, leased);
        assert!(has(&rig, "192.0.2.101/24", 3600), "{drift:?}: it ends from now on");
        let leased = given_for_ever(&rig, "192.0.2.101/24");
        rig.serve(LINK, leased);
        assert_eq!(addresses(&rig), [("192.0.2.101/24".to_owned(), None)], "{drift:?}: and no more");
        rig.serve(LINK, Leased { given: None, problem: None });
        assert_eq!((addresses(&rig), routes(&rig)), (vec![], vec![]), "{drift:?}");
    }
}

#[test]
fn a_host_network_is_as_large_as_its_uplink_or_as_its_server_says() {
    let mut rig = with_host_network();
    for (lent, wanted) in [(None, 1450), (Some(1400), 1400), (Some(1480), 1450), (Some(1400), 1400), (None, 1450)] {
        let mut leased = given(&rig, "192.0.2.100/24", 3600);
        leased.given.as_mut().unwrap().lease.mtu = lent;
        rig.serve(LINK, leased);
        assert_eq!(rig.mtu(LINK), Some(wanted), "{lent:?}");
    }
}

#[test]
fn whoever_has_something_to_say_over_a_link_knows_when_it_is_cut_off() {
    let rig = bound();
    let observed = rig.host.sim.observed();
    let (card, link) = ("eth0".parse().unwrap(), LINK.parse().unwrap());
    let address = observed.links[&link].addresses[0];
    let table = [
        (Step::DeleteLink { name: link }, vec![link]),
        (Step::SetUp { name: card, up: false }, vec![link, card]),
        (Step::SetUp { name: card, up: true }, vec![]),
        (Step::RemoveAddress { name: link, address }, vec![]),
    ];
    for (step, cut) in table {
        let words = step.to_string();
        let plan = Plan { steps: vec![PlannedStep { step, undo: Vec::new(), origin: None }] };
        assert_eq!(cut_off(&plan, observed).into_iter().collect::<Vec<_>>(), cut, "{words}");
    }
}

#[test]
fn packets_are_as_large_as_a_server_says_and_never_larger_than_they_can_be() {
    let sized = |mtu: Option<u16>| {
        let mut document = by_lease();
        document["interfaces"][1]["mtu"] = json!(mtu);
        document
    };
    // What the document says, what the server says, and what comes of that.
    let table =
        [(None, Some(1400), 1400), (None, Some(9000), 1500), (Some(1450), Some(1400), 1450), (None, None, 1500)];
    for (reported, lent, wanted) in table {
        let mut rig = with(&if reported.is_some() { sized(reported) } else { by_lease() });
        let mut leased = given(&rig, "192.0.2.100/24", 3600);
        leased.given.as_mut().unwrap().lease.mtu = lent;
        rig.serve(LINK, leased);
        assert_eq!((rig.mtu(LINK), rig.mtu("eth0")), (Some(wanted), Some(1500)), "{reported:?} {lent:?}");
        assert_eq!(rig.condition("Available").1, "AsDesired");
        let leased = given(&rig, "192.0.2.100/24", 7200);
        rig.serve(LINK, leased);
        assert_eq!(rig.mtu(LINK), Some(reported.map_or(1500, u64::from)), "a lease says nothing of it any more");
    }
}

#[test]
fn whoever_starts_again_keeps_the_address_and_gives_nothing_back() {
    let mut rig = bound();
    let (changes, writes) = (rig.host.changes, rig.api.writes.len());
    rig.online = false;
    rig.restart();
    rig.run();
    assert_eq!((addresses(&rig).len(), routes(&rig).len(), rig.host.changes), (1, 1, changes));
    assert_eq!((rig.given_back.len(), rig.api.writes.len()), (0, writes));
}

#[test]
fn a_lease_that_nobody_wants_any_more_when_the_agent_is_back_is_given_back() {
    let mut rig = bound();
    rig.hears = false;
    desire(&mut rig, &fixed());
    rig.hears = true;
    rig.restart();
    rig.run();
    assert_eq!(rig.given_back, [(LINK.to_owned(), false)]);
    assert_eq!(addresses(&rig), [("198.51.100.9/24".to_owned(), None)]);
}

#[test]
fn an_object_that_is_gone_gives_nothing_back() {
    let mut rig = bound();
    rig.delete("NodeNetworkState");
    rig.run();
    assert!(rig.leasing.as_ref().unwrap().links.is_empty());
    assert_eq!((rig.given_back.len(), addresses(&rig).len()), (0, 1), "it ends when its time is over");
}

#[test]
fn a_node_that_is_left_alone_keeps_its_address_until_that_ends() {
    let mut rig = bound();
    rig.edit("NodeNetworkState", &json!({"spec": {"managed": false}}));
    rig.run();
    assert!(rig.leasing.as_ref().unwrap().links.is_empty(), "nobody renews it");
    assert!(has(&rig, "192.0.2.100/24", 3600), "{:?}", addresses(&rig));
    rig.run_for(HOUR);
    assert_eq!((rig.given_back.len(), addresses(&rig)), (0, vec![]));
    rig.edit("NodeNetworkState", &json!({"spec": {"managed": true}}));
    rig.run();
    assert_eq!(rig.leasing.as_ref().unwrap().links.len(), 1, "it asks again");
}

#[test]
fn the_controller_is_reported_of_each_link_that_it_wants_a_lease_for() {
    let mut rig = with_host_network();
    let status = |rig: &Rig| rig.api.get("NodeNetworkConfig", "n").unwrap()["status"].clone();
    assert_eq!(status(&rig)["configStatus"], "provisioned", "{}", status(&rig));
    assert_eq!(status(&rig)["leases"], json!([{"link": LINK}]));
    rig.serve(LINK, Leased { given: None, problem: Some(trouble("DHCPNoOffer")) });
    let problem = json!({"reason": "DHCPNoOffer", "message": "something is wrong"});
    assert_eq!(status(&rig)["leases"], json!([{"link": LINK, "problem": problem}]));
    assert_eq!(rig.condition("Degraded").0, "False", "the object that asked is reported");
    let mut leased = Leased { problem: Some(trouble("DHCPNotRenewed")), ..given(&rig, "192.0.2.100/24", 3600) };
    let lease = &mut leased.given.as_mut().unwrap().lease;
    (lease.dns, lease.domain) = (vec!["192.0.2.53".parse().unwrap()], Some("example.org".to_owned()));
    let at = |seconds: i64| -> String {
        let wall: Timestamp = rig.now.checked_add(SignedDuration::from_secs(seconds)).unwrap();
        wall.round(jiff::TimestampRound::new().smallest(jiff::Unit::Second).mode(jiff::RoundMode::Trunc))
            .unwrap()
            .to_string()
    };
    let (acquired, renew, rebind, expires) = (at(0), at(1800), at(3150), at(3600));
    rig.serve(LINK, leased);
    assert_eq!(
        status(&rig)["leases"],
        json!([{"link": LINK, "address": "192.0.2.100/24", "server": "192.0.2.1", "acquired": acquired,
            "renewAt": renew, "rebindAt": rebind, "expiresAt": expires,
            "nameServers": ["192.0.2.53"], "domain": "example.org",
            "problem": {"reason": "DHCPNotRenewed", "message": "something is wrong"}}])
    );
    assert_eq!(status(&rig)["configStatus"], "provisioned");
    assert_eq!(addresses(&rig).len(), 1);
    let leased = given_for_ever(&rig, "192.0.2.100/24");
    rig.serve(LINK, leased);
    assert_eq!(status(&rig)["leases"][0]["address"], "192.0.2.100/24");
    assert_eq!(status(&rig)["leases"][0].get("expiresAt"), None, "{}", status(&rig));
}

#[test]
fn what_cannot_be_had_by_a_lease_is_refused_in_words() {
    let table = [
        (vlan(&json!({"enabled": true, "dhcp": true, "auto-dns": true})), "name servers of a lease"),
        (vlan(&json!({"enabled": true, "dhcp": true, "dhcp-client-id": "ll"})), "iaid+duid"),
        (vlan(&json!({"enabled": true, "dhcp": true, "auto-routes": false, "auto-gateway": true})), "auto-routes"),
        (vlan(&json!({"enabled": true, "dhcp": true, "dhcp-custom-hostname": "a b"})), "host name"),
        (
            json!({"interfaces": [{"name": "x", "identifier": "mac-address", "mac-address": "02:00:00:00:00:01",
                "type": "ethernet", "ipv4": {"enabled": true, "dhcp": true}}]}),
            "must be named",
        ),
        (json!({"interfaces": [{"name": "eth0", "ipv6": {"enabled": true, "dhcp": true}}]}), "DHCPv6"),
    ];
    for (document, words) in table {
        let rig = with(&document);
        let (status, reason, message) = rig.condition("Available");
        assert_eq!((status.as_str(), reason.as_str()), ("False", "InvalidDesiredState"), "{document}");
        assert!(message.contains(words), "{message}");
    }
}

#[test]
fn whoever_works_only_once_asks_for_no_lease() {
    let mut rig = Rig::new(Settings { resident: false, ..Settings::of("n") });
    rig.run();
    desire(&mut rig, &by_lease());
    rig.run();
    assert!(rig.condition("Available").2.contains("run the agent of the node as a service"));
    assert!(matches!(rig.agent.standing(), Standing::Failed(_)) && rig.leasing.is_none());
}

#[test]
fn a_server_cannot_take_what_somebody_asked_for() {
    let mut document = by_lease();
    document["routes"] = json!({"config": [{"destination": "203.0.113.0/24", "next-hop-interface": "eth0",
        "metric": 1024}]});
    let mut rig = with(&document);
    let leased = given(&rig, "192.0.2.100/24", 3600);
    rig.serve(LINK, leased);
    assert_eq!(routes(&rig), ["203.0.113.0/24 dev eth0 metric 1024"]);
    assert_eq!((rig.condition("Available").1.as_str(), addresses(&rig).len()), ("AsDesired", 1));
}

#[test]
fn a_route_of_people_over_a_link_waits_for_its_lease_and_goes_with_it() {
    let route = json!({"destination": "198.18.0.0/15", "next-hop-interface": LINK, "next-hop-address": "192.0.2.1", "metric": 300});
    let mut document = by_lease();
    document["routes"] = json!({"config": [route]});
    let mut rig = with(&document);
    assert_eq!((rig.condition("Available").1.as_str(), routes(&rig)), ("AsDesired", vec![]), "no server, no fault");
    let leased = given(&rig, "192.0.2.100/24", 3600);
    rig.serve(LINK, leased);
    let there = "198.18.0.0/15 via 192.0.2.1 dev cn-br.7 metric 300".to_owned();
    assert!(routes(&rig).contains(&there), "{:?}", routes(&rig));
    rig.serve(LINK, Leased { given: None, problem: Some(trouble("DHCPExpired")) });
    assert_eq!(routes(&rig), Vec::<String>::new());
    assert_eq!(rig.condition("Degraded").1, "DHCPExpired");
}

#[test]
fn an_address_by_a_policy_goes_from_a_link_that_the_controller_keeps() {
    let mut rig = Rig::usual();
    rig.run();
    rig.write(json!({
        "apiVersion": "network.t-caas.telekom.com/v1alpha1", "kind": "NodeNetworkConfig", "metadata": {"name": "n"},
        "spec": {"revision": "r1", "digest": "x1", "stateDigest": "x1", "host": {"links": [
            {"name": LINK, "type": "bridge", "up": true, "origin": {"kind": "VlanConfig", "name": "v", "path": "spec"}},
        ]}},
    }));
    pair(&mut rig, "r1", "x1", &json!({"interfaces": [{"name": LINK, "ipv4": {"enabled": true, "dhcp": true}}]}));
    rig.run();
    let leased = given(&rig, "192.0.2.100/24", 3600);
    rig.serve(LINK, leased);
    assert!(has(&rig, "192.0.2.100/24", 3600), "{:?}", addresses(&rig));
    rig.edit("NodeNetworkConfig", &json!({"spec": {"revision": "r2", "digest": "x2", "stateDigest": "x2"}}));
    pair(&mut rig, "r2", "x2", &Value::Null);
    rig.run();
    assert_eq!(addresses(&rig), []);
}

#[test]
fn a_route_over_two_links_waits_only_with_the_hop_that_needs_the_lease() {
    let hop = |link: &str, via: &str| json!({"destination": "198.18.0.0/15", "next-hop-interface": link, "next-hop-address": via, "weight": 1});
    let mut document = by_lease();
    document["interfaces"][0]["ipv4"] =
        json!({"enabled": true, "address": [{"ip": "198.51.100.9", "prefix-length": 24}]});
    document["routes"] = json!({"config": [hop("eth0", "198.51.100.1"), hop(LINK, "192.0.2.1")]});
    let mut rig = with(&document);
    let ours = |rig: &Rig| routes(rig).into_iter().find(|route| route.starts_with("198.18.0.0/15")).unwrap_or_default();
    assert!(ours(&rig).contains("198.51.100.1") && !ours(&rig).contains("192.0.2.1"), "{:?}", routes(&rig));
    let leased = given(&rig, "192.0.2.100/24", 3600);
    rig.serve(LINK, leased);
    assert!(ours(&rig).contains("198.51.100.1") && ours(&rig).contains("192.0.2.1"), "{:?}", routes(&rig));
}

#[test]
fn a_vlan_of_somebody_else_keeps_the_size_that_nobody_speaks_of() {
    let mut rig = with(&by_lease());
    desire(&mut rig, &json!({"interfaces": [{"name": "eth0", "state": "up"}]}));
    rig.run();
    let mut attrs = Attrs::new();
    attrs.set(Attr::Base, netloom_model::Value::Link("eth0".parse().unwrap()));
    attrs.set(Attr::VlanId, netloom_model::Value::Int(7));
    attrs.set(Attr::Mtu, netloom_model::Value::Int(1400));
    let kind = netloom_model::LinkKind::Vlan;
    rig.meddle(&Step::CreateLink { name: LINK.parse().unwrap(), kind, attrs, controller: None, up: true });
    desire(&mut rig, &by_lease());
    rig.run();
    assert_eq!(rig.mtu(LINK), Some(1400));
}
