//! A client of FRR, and the real FRR: lines, refusals, daemons that are stuck or gone, and what they report.

use std::time::{Duration, Instant};

use netloom_frr::{BfdState, Daemon, Daemons, FrrError, Limits, SessionState, Version, VniKind};
use netloom_testkit::{
    frr::{Frr, Programs},
    runner::{Ended, Outcome, Test},
    space::{Space, ip},
    timeouts::stretched,
};

/// As long as daemons may take to learn something from the kernel or from each other.
const TIME_LIMIT: Duration = Duration::from_secs(30);
const LINES: u32 = 100;

type Body = fn(&Programs) -> Outcome;

/// Each of them with the release that nodes have and with the newest one.
pub(crate) fn tests() -> Vec<Test<'static>> {
    const BODIES: [(&str, Body); 5] = [
        ("lines-are-taken-or-refused", lines_are_taken_or_refused),
        ("stuck-daemon-is-an-error", stuck_daemon_is_an_error),
        ("killed-daemon-is-an-error", killed_daemon_is_an_error),
        ("vnis-and-links-are-seen", vnis_and_links_are_seen),
        ("sessions-are-seen", sessions_are_seen),
    ];
    let both = [("of-nodes", Programs::of_nodes()), ("newest", Programs::newest())];
    let with = |(release, programs): (&'static str, Option<Programs>)| {
        BODIES.map(move |(name, body)| {
            let programs = programs.clone();
            Test::new(format!("frr/{release}/{name}"), move || match &programs {
                Some(programs) => body(programs),
                None => {
                    Ok(Ended::NotRun("there is no FRR of this release; `./x` unpacks it (lab/frr.bash)".to_owned()))
                }
            })
        })
    };
    both.into_iter().flat_map(with).collect()
}

/// One line after another goes in, and comes out of the running configuration; what a daemon does not know is refused in
/// its words, without the password.
fn lines_are_taken_or_refused(programs: &Programs) -> Outcome {
    let (space, frr, started) = start(programs)?;
    let mut client = frr.client()?;
    let release = client.release(Daemon::Zebra).ok_or("zebra is not there")?;
    let mgmtd = release >= Version::new(10, 0, 0);
    check("mgmtd is there in newer releases", client.there().any(|daemon| daemon == Daemon::Mgmtd) == mgmtd, &client)?;
    let lists = [owner(&client), Daemon::Bgpd];
    let list = "ip prefix-list one seq 5 permit 192.0.2.0/24";
    for _ in 0..2 {
        client.run(&lists, &[], list).map_err(|error| text(&error))?;
    }
    for daemon in lists {
        let config = client.running_config(daemon).map_err(|error| text(&error))?;
        check("the line is in the configuration once", config.matches(list).count() == 1, &config)?;
        check("and the release is", config.contains(&format!("frr version {release}")), &config)?;
    }
    let instance = ["router bgp 65001"];
    client.run(&[Daemon::Bgpd], &instance, "neighbor 192.0.2.2 remote-as 65002").map_err(|error| text(&error))?;
    // Known by another context only: within the first it would be something else.
    client.run(&[owner(&client)], &["vrf blue"], "vni 100").map_err(|error| text(&error))?;
    let refused = |client: &mut Daemons, context: &[&str], line: &str| match client.run(&[Daemon::Bgpd], context, line)
    {
        Err(FrrError::Refused(refusal)) => Ok(*refusal),
        other => Err(format!("{line}: {other:?}")),
    };
    let unknown = refused(&mut client, &instance, "neighbour 192.0.2.2 password s3cret")?;
    check("a refusal has FRR's words", unknown.words.contains("Unknown command: neighbour"), &unknown)?;
    check("and no password", !unknown.to_string().contains("s3cret"), &unknown)?;
    let other = refused(&mut client, &["router bgp 65009"], "neighbor 192.0.2.3 remote-as 65002")?;
    check("a context is refused too", other.line == "router bgp 65009" && other.words.contains("65001"), &other)?;
    let longest = format!("neighbor 192.0.2.2 description {}", "d".repeat(40));
    client.run(&[Daemon::Bgpd], &instance, &longest).map_err(|error| text(&error))?;
    let padded = format!("{}neighbor", " ".repeat(4094 - "neighbor".len()));
    let incomplete = refused(&mut client, &instance, &padded)?;
    check("the longest line is answered", incomplete.words.contains("incomplete"), &incomplete)?;
    let note = pace(&mut client)?;
    drop(client);
    frr.finish()?;
    drop(space);
    Ok(Ended::Passed(Some(format!("FRR {release}, started in {started:?}, {note}"))))
}

/// How long a line takes, with its answer.
fn pace(client: &mut Daemons) -> Result<String, String> {
    let owner = owner(client);
    let started = now();
    for number in 0..LINES {
        let line = format!("ip prefix-list many seq {} permit 10.0.{number}.0/24", 5 * (number + 1));
        client.run(&[owner], &[], &line).map_err(|error| text(&error))?;
    }
    let lists = started.elapsed() / LINES;
    let started = now();
    for number in 1..=LINES {
        let line = format!("neighbor 198.51.100.{number} remote-as 65002");
        client.run(&[Daemon::Bgpd], &["router bgp 65001"], &line).map_err(|error| text(&error))?;
    }
    Ok(format!("an entry of a list in {lists:?}, a neighbour in {:?}", started.elapsed() / LINES))
}

/// A daemon that does not answer is not waited for longer than the limit, and is asked again once it does.
fn stuck_daemon_is_an_error(programs: &Programs) -> Outcome {
    let (_space, frr, _) = start(programs)?;
    let limits = Limits { answer: stretched(Duration::from_secs(1)), ..Limits::default() };
    let mut client = Daemons::open(&frr.sockets(), limits).map_err(|error| text(&error))?;
    client.run(&[Daemon::Bgpd], &[], "ip prefix-list one seq 5 permit 192.0.2.0/24").map_err(|error| text(&error))?;
    frr.pause(Daemon::Bgpd)?;
    let late = "ip prefix-list one seq 10 permit 198.51.100.0/24";
    let error = expect_error(client.run(&[Daemon::Bgpd], &[], late))?;
    check("a stuck daemon is silent", error.reason() == "FrrSilent" && error.may_be_done(), &error)?;
    // Of those who wait for a connection, it lets a few wait in line.
    for _ in 0..8 {
        let error = expect_error(client.running_config(Daemon::Bgpd))?;
        check("it stays so", matches!(error.reason(), "FrrSilent" | "FrrAway"), &error)?;
    }
    client.running_config(Daemon::Zebra).map_err(|error| text(&error))?;
    frr.resume(Daemon::Bgpd)?;
    let mut client = frr.client()?;
    // What it was sent before is carried out now: that is why nobody could know.
    until("the line was carried out in the end", || {
        let config = client.running_config(Daemon::Bgpd).map_err(|error| text(&error))?;
        Ok(config.contains(late).then_some(()).ok_or(config))
    })?;
    frr.finish()?;
    Ok(Ended::OK)
}

/// A daemon that is gone is away; one that is there again is found, with the configuration that it has then.
fn killed_daemon_is_an_error(programs: &Programs) -> Outcome {
    let (_space, mut frr, _) = start(programs)?;
    let mut client = frr.client()?;
    client.run(&[Daemon::Bgpd], &[], "router bgp 65001").map_err(|error| text(&error))?;
    frr.kill(Daemon::Bgpd)?;
    let error = expect_error(client.run(&[Daemon::Bgpd], &["router bgp 65001"], "neighbor 192.0.2.2 remote-as 65002"))?;
    check("a daemon that is gone is away", error.reason() == "FrrAway" && !error.may_be_done(), &error)?;
    check("and known to be", !client.there().any(|daemon| daemon == Daemon::Bgpd), &client)?;
    client.running_config(Daemon::Zebra).map_err(|error| text(&error))?;
    let again = Daemons::open(&frr.sockets(), Limits::default()).map_err(|error| text(&error))?;
    check("its socket leads nowhere", again.away().any(|(daemon, _)| daemon == Daemon::Bgpd), &again)?;
    frr.start_daemon(Daemon::Bgpd)?;
    let config = client.running_config(Daemon::Bgpd).map_err(|error| text(&error))?;
    check("a new one has nothing of the old one", !config.contains("router bgp"), &config)?;
    frr.finish()?;
    Ok(Ended::OK)
}

/// Zebra sees a VRF with its VXLAN device, a segment, and addresses.
fn vnis_and_links_are_seen(programs: &Programs) -> Outcome {
    let (space, frr, _) = start(programs)?;
    let mut client = frr.client()?;
    check("before EVPN is on there is no VNI", client.evpn_vnis().map_err(|error| text(&error))?.is_empty(), &client)?;
    let evpn = ["router bgp 65001", "address-family l2vpn evpn"];
    client.run(&[Daemon::Bgpd], &evpn, "advertise-all-vni").map_err(|error| text(&error))?;
    let owner = owner(&client);
    client.run(&[owner], &["vrf blue"], "vni 10100").map_err(|error| text(&error))?;
    let waiting = client.vrf_vnis().map_err(|error| text(&error))?;
    check("without devices the VNI is down", waiting.len() == 1 && !waiting[0].up, &waiting)?;
    ip(&["-n", space.name(), "address", "add", "192.0.2.1/32", "dev", "lo"])?;
    ip(&["-n", space.name(), "link", "add", "blue", "up", "type", "vrf", "table", "1001"])?;
    segment(&space, "10100", Some("blue"))?;
    segment(&space, "200", None)?;
    until("the VNI of the VRF is up", || {
        let vrfs = client.vrf_vnis().map_err(|error| text(&error))?;
        let up = vrfs.iter().any(|vrf| {
            let devices = (vrf.vxlan.map(|name| name.to_string()), vrf.bridge.map(|name| name.to_string()));
            vrf.up && vrf.vrf == "blue" && devices == (Some("vx10100".to_owned()), Some("br10100".to_owned()))
        });
        Ok(up.then_some(()).ok_or(vrfs))
    })?;
    until("both VNIs are known", || {
        let vnis = client.evpn_vnis().map_err(|error| text(&error))?;
        let kinds: Vec<_> = vnis.iter().map(|vni| (vni.vni.get(), vni.kind, vni.vrf.as_str())).collect();
        Ok((kinds == [(200, VniKind::L2, "default"), (10100, VniKind::L3, "blue")]).then_some(()).ok_or(vnis))
    })?;
    ip(&["-n", space.name(), "address", "add", "203.0.113.1/24", "dev", "br10100"])?;
    until("the address is seen in its VRF", || {
        let links = client.links().map_err(|error| text(&error))?;
        let bridge = "br10100".parse().ok().and_then(|name| links.get(&name));
        let address = "203.0.113.1/24".parse().ok();
        let seen =
            bridge.is_some_and(|link| link.vrf == "blue" && link.up && link.addresses.first() == address.as_ref());
        Ok(seen.then_some(()).ok_or(links))
    })?;
    frr.finish()?;
    Ok(Ended::OK)
}

/// Two neighbours with a session, prefixes and BFD; and what is seen of it when one of them is gone.
fn sessions_are_seen(programs: &Programs) -> Outcome {
    let (one, here, _) = start(programs)?;
    let (other, mut there, _) = start(programs)?;
    ip(&["link", "add", "e0", "netns", one.name(), "type", "veth", "peer", "name", "e0", "netns", other.name()])?;
    for (space, number, peer) in [(&one, 1, 2), (&other, 2, 1)] {
        ip(&["-n", space.name(), "address", "add", &format!("192.0.2.{number}/24"), "dev", "e0"])?;
        ip(&["-n", space.name(), "link", "set", "e0", "up"])?;
        let frr = if number == 1 { &here } else { &there };
        frr.load(&format!(
            "router bgp 6500{number}\n no bgp ebgp-requires-policy\n neighbor 192.0.2.{peer} remote-as 6500{peer}\n \
             neighbor 192.0.2.{peer} bfd\n neighbor 192.0.2.{peer} timers connect 1\n address-family ipv4 unicast\n  \
             redistribute connected\n exit-address-family\nexit\n"
        ))?;
    }
    let mut client = here.client()?;
    until("the session is established and its prefix is there", || {
        let sessions = client.sessions().map_err(|error| text(&error))?;
        let up = sessions.iter().any(|session| {
            session.peer == "192.0.2.2"
                && session.remote_as == Some(65002)
                && session.state == SessionState::Established
                && session.prefixes.get("ipv4Unicast").is_some_and(|prefixes| prefixes.received == 1)
        });
        Ok(up.then_some(()).ok_or(sessions))
    })?;
    let bfd = |client: &mut Daemons, wanted: &BfdState| {
        let peers = client.bfd_peers().map_err(|error| text(&error))?;
        let all = peers.len() == 1 && peers[0].peer.to_string() == "192.0.2.2" && peers[0].state == *wanted;
        Ok(all.then_some(()).ok_or(peers))
    };
    until("BFD sees the other end", || bfd(&mut client, &BfdState::Up))?;
    for daemon in [Daemon::Bfdd, Daemon::Bgpd] {
        there.kill(daemon)?;
    }
    until("BFD misses it", || bfd(&mut client, &BfdState::Down))?;
    until("the session is down", || {
        let sessions = client.sessions().map_err(|error| text(&error))?;
        let down = sessions.iter().all(|session| matches!(session.state, SessionState::Down(_)));
        Ok(down.then_some(()).ok_or(sessions))
    })?;
    here.finish()?;
    there.finish()?;
    Ok(Ended::OK)
}

/// FRR in a namespace of its own, and how long its start took.
fn start(programs: &Programs) -> Result<(Space, Frr, Duration), String> {
    let space = Space::new()?;
    ip(&["-n", space.name(), "link", "set", "lo", "up"])?;
    let begun = now();
    let frr = Frr::start(programs, space.name())?;
    Ok((space, frr, begun.elapsed()))
}

/// A bridge with a VXLAN device, in a VRF or in none.
fn segment(space: &Space, vni: &str, vrf: Option<&str>) -> Result<(), String> {
    let (bridge, vxlan) = (format!("br{vni}"), format!("vx{vni}"));
    let link = |words: &[&str]| ip(&[&["-n", space.name(), "link"], words].concat());
    link(&["add", &bridge, "type", "bridge"])?;
    link(&["set", &bridge, "addrgenmode", "none"])?;
    if let Some(vrf) = vrf {
        link(&["set", &bridge, "master", vrf])?;
    }
    link(&["set", &bridge, "up"])?;
    link(&["add", &vxlan, "type", "vxlan", "id", vni, "local", "192.0.2.1", "dstport", "4789", "nolearning"])?;
    link(&["set", &vxlan, "master", &bridge, "up"])
}

/// Whose the lines about VRFs and lists are: mgmtd's, where there is one.
fn owner(client: &Daemons) -> Daemon {
    if client.release(Daemon::Mgmtd).is_some() { Daemon::Mgmtd } else { Daemon::Zebra }
}

/// Asks again until it is so; what was seen last is in the error.
fn until<T: std::fmt::Debug>(
    what: &str,
    mut seen: impl FnMut() -> Result<Result<(), T>, String>,
) -> Result<(), String> {
    let begun = now();
    loop {
        match seen()? {
            Ok(()) => return Ok(()),
            Err(shown) if begun.elapsed() > stretched(TIME_LIMIT) => {
                return Err(format!("not in time: {what}: {shown:#?}"));
            }
            Err(_) => {}
        }
        // FRR notifies nobody of what it shows.
        std::thread::park_timeout(Duration::from_millis(50));
    }
}

fn expect_error<T: std::fmt::Debug>(done: Result<T, FrrError>) -> Result<FrrError, String> {
    done.err().ok_or_else(|| "it was done".to_owned())
}

fn check(what: &str, so: bool, shown: &impl std::fmt::Debug) -> Result<(), String> {
    if so { Ok(()) } else { Err(format!("not so: {what}: {shown:#?}")) }
}

fn text(error: &FrrError) -> String {
    error.to_string()
}

#[expect(clippy::disallowed_methods, reason = "a test that measures needs a clock")]
fn now() -> Instant {
    Instant::now()
}
