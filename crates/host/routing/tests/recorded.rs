//! What FRR 8.4.4 of Debian printed and took.
//!
//! `recorded/running-config` has the answers of four daemons to `show running-config`, with most of the lines that this
//! crate knows. `recorded/transitions` has configurations of all four together, before and after the commands beside them
//! were sent to them; each command was taken. The commands here must be those that were sent.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

use std::{fs, path::Path};

use netloom_routing::{Daemon, Release, RoutingConfig, commands, differences};

fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded").join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn parse(path: &str) -> RoutingConfig {
    RoutingConfig::parse(&read(path)).unwrap()
}

const DAEMONS: [(Daemon, &str); 4] = [
    (Daemon::Zebra, "running-config/zebra-8.4.4.txt"),
    (Daemon::Bgpd, "running-config/bgpd-8.4.4.txt"),
    (Daemon::Staticd, "running-config/staticd-8.4.4.txt"),
    (Daemon::Bfdd, "running-config/bfdd-8.4.4.txt"),
];

/// The texts of all daemons together.
fn whole() -> RoutingConfig {
    DAEMONS.iter().fold(RoutingConfig::default(), |whole, (_, path)| whole.union(&parse(path)))
}

#[test]
fn what_a_daemon_prints_is_read_and_printed_without_a_difference() {
    for (daemon, path) in DAEMONS {
        let config = parse(path);
        assert_eq!(RoutingConfig::parse(&config.to_string()).unwrap(), config, "{daemon}");
        assert_eq!(config.version(), Some("8.4.4"));
    }
    let bgpd = parse(DAEMONS[1].1);
    for (context, line) in [
        (&["router bgp 65001"][..], "neighbor 10.0.0.1 local-as 65009 no-prepend replace-as"),
        (&["router bgp 65001", "address-family l2vpn evpn", "vni 20100"], "rd 10.255.0.1:20100"),
        (&["router bgp 65001", "address-family l2vpn evpn"], "advertise-svi-ip"),
        (&["router bgp 65001 vrf blue", "address-family l2vpn evpn"], "advertise ipv4 unicast route-map rm_a"),
        (&["route-map rm_a permit 20"], "on-match goto 30"),
    ] {
        assert!(bgpd.contains(context, line), "{line}");
    }
}

#[test]
fn each_daemon_prints_the_lines_that_it_is_sent() {
    let whole = whole();
    for (daemon, path) in DAEMONS {
        // Lists that nobody sent to bfdd by this table were sent to it with all others, to see whether it takes them.
        let printed = parse(path).filter(|_, line| daemon != Daemon::Bfdd || !line.contains("-list "));
        let ours = |context: &[String], line: &str| !line.ends_with(" forwarding") || !context.is_empty();
        let expected = whole.printed_by(daemon, Release::V8_4).filter(ours);
        let unlike: Vec<String> =
            differences(&expected, &printed.filter(ours)).iter().map(ToString::to_string).collect();
        // The block of a VRF is printed where it has lines.
        let unlike: Vec<&String> = unlike.iter().filter(|line| *line != "vrf red").collect();
        assert!(unlike.is_empty(), "{daemon}: {unlike:?}");
    }
}

#[test]
fn commands_are_those_that_were_taken() {
    for name in ["evpn-and-vrfs", "filters-change", "vnis-swapped-and-neighbour-changed", "one-vrf-gone", "all-gone"] {
        let now = parse(&format!("transitions/{name}/now.txt"));
        let wanted = parse(&format!("transitions/{name}/wanted.txt"));
        let sent: Vec<String> = commands(&now, &wanted)
            .iter()
            .map(|command| {
                let daemons: Vec<&str> = command.daemons.in_release(Release::V8_4).iter().map(|of| of.name()).collect();
                format!("{} | {} | {}", daemons.join(","), command.context.join(" / "), command.line)
            })
            .collect();
        let taken = read(&format!("transitions/{name}/commands.txt"));
        assert_eq!(sent, taken.lines().collect::<Vec<_>>(), "{name}");
    }
}

#[test]
fn everything_goes_and_comes_back_in_an_order_that_ends() {
    let whole = whole();
    let nothing = whole.filter(|context, line| context.is_empty() && line.starts_with("frr "));
    let gone = commands(&whole, &nothing);
    assert_eq!(gone.last().unwrap().to_string(), "no vrf blue");
    let back = commands(&nothing, &whole);
    assert_eq!(back[0].to_string(), "router bgp 65001");
    assert_eq!(back[1].to_string(), "router bgp 65001, address-family l2vpn evpn: advertise-all-vni");
    assert!(!format!("{back:?}").contains("secret"));
}
