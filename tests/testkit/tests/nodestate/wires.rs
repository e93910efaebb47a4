//! Hosts and the switch between them: network namespaces with veth pairs as wires.
//!
//! Every host has three cards, `eth0` with an address of its own and `eth1` and `eth2` without. All wires end
//! at the ports of one bridge in a namespace of its own, which passes on what it gets, tagged or not, and has
//! an address on the network of the first cards.

use std::{
    io::Write as _,
    net::Ipv4Addr,
    os::fd::AsRawFd as _,
    process::{Command, Stdio},
    time::Duration,
};

use netloom_model::EngineError;
use netloom_netlink::{
    Namespace,
    netns::{self, Worker},
    probe::{Answer, InvalidProbe, Probe},
};
use netloom_testkit::{announcement::announcement, frr::Programs};
use nix::{
    ifaddrs::getifaddrs,
    sys::socket::{AddressFamily, MsgFlags, SockFlag, SockType, sendto, socket},
};
use serde_json::Value;

use super::{cni, dhcp::Program, managers, story::Station, trace};

/// The address of the switch.
pub(super) const SWITCH: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 254);
/// As long as a packet may take to the next machine and back.
const ANSWER: Duration = Duration::from_secs(1);
const CARDS: [&str; 3] = ["eth0", "eth1", "eth2"];

/// The hosts of one story; they are gone when this value is.
pub(super) struct Wires {
    nodes: Vec<String>,
    stations: Vec<String>,
    vlans: Option<Vec<u16>>,
}

impl Wires {
    /// Makes these hosts and connects them. The switch passes on these VLANs, or all.
    pub(super) fn lay(nodes: &[String], vlans: Option<&[u16]>) -> Result<Self, String> {
        let wires = Self { nodes: nodes.to_vec(), stations: Vec::new(), vlans: vlans.map(<[u16]>::to_vec) };
        let filtering = u8::from(vlans.is_some());
        netns::create(&space("sw")).map_err(|error| error.to_string())?;
        let bridge = format!("link add sw0 type bridge vlan_filtering {filtering}\nlink set sw0 up\n");
        batch("ip", &["-n", &space("sw")], &format!("{bridge}addr add {SWITCH}/24 dev sw0\n"))?;
        // The switch itself hears them too: a server may be there.
        let own = vlans.into_iter().flatten().map(|vlan| format!("vlan add vid {vlan} dev sw0 self\n"));
        batch("bridge", &["-n", &space("sw")], &own.collect::<Vec<_>>().concat())?;
        for node in nodes {
            wires.connect(node)?;
        }
        Ok(wires)
    }

    /// Makes a host and connects it.
    fn connect(&self, node: &str) -> Result<(), String> {
        let (here, switch) = (space(node), space("sw"));
        netns::create(&here).map_err(|error| error.to_string())?;
        let wires = CARDS.map(|card| {
            format!("link add {card} netns {here} type veth peer name {} netns {switch}\n", port(node, card))
        });
        batch("ip", &[], &wires.concat())?;
        let ports = CARDS.map(|card| format!("link set {} up master sw0\n", port(node, card)));
        batch("ip", &["-n", &switch], &ports.concat())?;
        for vlan in self.vlans.iter().flatten() {
            let lines = CARDS.map(|card| format!("vlan add vid {vlan} dev {}\n", port(node, card)));
            batch("bridge", &["-n", &switch], &lines.concat())?;
        }
        let number = self.nodes.iter().position(|other| other == node).map_or(0, |place| place + 11);
        let cards = CARDS.map(|card| format!("link set {card} up\n")).concat();
        batch("ip", &["-n", &here], &format!("link set lo up\n{cards}addr add 192.0.2.{number}/24 dev eth0\n"))
    }

    /// Puts a workload behind a link of a host: its frames arrive there with the tag of its VLAN.
    pub(super) fn station(&mut self, name: &str, station: &Station) -> Result<(), String> {
        let Station { node, link, vlan, addresses, gateways, bird: _ } = station;
        self.stations.push(name.to_owned());
        let (here, node) = (space(name), space(node));
        netns::create(&here).map_err(|error| error.to_string())?;
        let made = format!(
            "link add link {link} name st{vlan} type vlan id {vlan}\nlink set st{vlan} netns {here} name eth0\n"
        );
        batch("ip", &["-n", &node], &made)?;
        let own: Vec<String> = addresses.iter().map(|address| format!("addr add {address} dev eth0 nodad\n")).collect();
        let routes = gateways.iter().map(|gateway| {
            let family = if gateway.contains(':') { "-6 " } else { "" };
            format!("{family}route add default via {gateway}\n")
        });
        let up = "link set lo up\nlink set eth0 up\n";
        batch("ip", &["-n", &here], &format!("{up}{}", own.concat()))?;
        routes.into_iter().try_for_each(|route| {
            let mut words = vec!["-n", &here];
            let route = route.strip_prefix("-6 ").inspect(|_| words.insert(0, "-6")).unwrap_or(&route);
            batch("ip", &words, route)
        })
    }

    /// Makes the network namespace of a pod, as a runtime does before it calls a plugin.
    pub(super) fn pod(&mut self, name: &str) -> Result<(), String> {
        self.stations.push(name.to_owned());
        netns::create(&space(name)).map_err(|error| error.to_string())?;
        batch("ip", &["-n", &space(name)], "link set lo up\n")
    }

    /// Takes everything from a host that a kernel has, as a start of the machine does, and wires it again.
    pub(super) fn reboot(&self, node: &str) -> Result<(), String> {
        let text = |error: EngineError| error.to_string();
        netns::delete(&space(node)).map_err(text)?;
        // The kernel takes a namespace apart in its own time, and the switch's ends of its wires with it.
        for card in CARDS {
            batch("ip", &["-n", &space("sw")], &format!("link del {}\n", port(node, card))).ok();
        }
        self.connect(node)
    }

    /// Whether this kernel has links of a kind, or this machine a program.
    pub(super) fn can_have(kind: &str) -> bool {
        let of = match kind {
            "dnsmasq" => return Program::Dnsmasq.is_there(),
            "kea" => return Program::Kea.is_there(),
            "strace" => return trace::is_there(),
            "systemd-networkd" => return managers::is_there(),
            "frr" => return Programs::of_nodes().is_some(),
            "newest-frr" => return Programs::newest().is_some(),
            "cnitool" => return cni::is_there(),
            "vlan" => "link sw0 type vlan id 4000".to_owned(),
            "macvlan" | "ipvlan" => format!("link sw0 type {kind}"),
            "vrf" => "type vrf table 4000".to_owned(),
            "vxlan" => "type vxlan id 4000 dstport 4789 local 192.0.2.254".to_owned(),
            other => format!("type {other}"),
        };
        batch("ip", &["-n", &space("sw")], &format!("link add probe0 {of}\nlink del probe0\n")).is_ok()
    }

    /// The index of a link of a host.
    pub(super) fn index(node: &str, link: &str) -> Result<String, String> {
        let shown = Command::new("ip").args(["-n", &space(node), "-json", "link", "show", "dev", link]).output();
        let shown = shown.map_err(|error| format!("ip: {error}"))?;
        let all: Value = serde_json::from_slice(&shown.stdout).unwrap_or_default();
        let index = all[0]["ifindex"].as_u64().ok_or_else(|| format!("{node} has no link {link}"))?;
        Ok(index.to_string())
    }

    /// In how many seconds the first IPv4 address of a link ends; none without one, or when it never does.
    pub(super) fn left(node: &str, link: &str) -> Result<Option<u64>, String> {
        let shown =
            Command::new("ip").args(["-n", &space(node), "-json", "-4", "address", "show", "dev", link]).output();
        let shown = shown.map_err(|error| format!("ip: {error}"))?;
        // Nothing is reported of a link that is not there.
        let all: Value = serde_json::from_slice(&shown.stdout).unwrap_or_default();
        let left = all[0]["addr_info"][0]["valid_life_time"].as_u64();
        Ok(left.filter(|left| *left != u64::from(u32::MAX)))
    }

    fn spaces(&self) -> impl Iterator<Item = String> {
        // Workloads first: their links stand on those of nodes.
        self.stations.iter().chain(&self.nodes).map(String::as_str).chain(["sw"]).map(space)
    }

    /// Changes a host behind everybody's back; each line is words for a program of iproute2.
    pub(super) fn change(node: &str, program: &str, lines: &[String]) -> Result<(), String> {
        batch(program, &["-n", &space(node)], &(lines.join("\n") + "\n"))
    }

    /// What a program of iproute2 shows of a host; none when it shows nothing.
    pub(super) fn shown(node: &str, program: &str, words: &[&str]) -> Result<Option<Value>, String> {
        let done = Command::new(program).args(["-j", "-d", "-n", &space(node)]).args(words).output();
        let done = done.map_err(|error| format!("{program}: {error}"))?;
        let parsed: Option<Vec<Value>> = serde_json::from_slice(&done.stdout).ok();
        Ok(parsed.and_then(|all| all.into_iter().next()))
    }

    /// Writes a kernel setting of a host.
    pub(super) fn setting(node: &str, name: &str, value: &str) -> Result<(), String> {
        let value = value.to_owned();
        with_setting(node, name, move |path| std::fs::write(path, value))
    }

    /// What a kernel setting of a host is.
    pub(super) fn setting_of(node: &str, name: &str) -> Result<String, String> {
        with_setting(node, name, |path| Ok(std::fs::read_to_string(path)?.trim_end().to_owned()))
    }

    /// Pulls a wire out of the switch, or puts it in again: the host's card sees no carrier meanwhile.
    pub(super) fn wire(node: &str, card: &str, plugged: bool) -> Result<(), String> {
        let state = if plugged { "up" } else { "down" };
        batch("ip", &["-n", &space("sw")], &format!("link set {} {state}\n", port(node, card)))
    }

    /// Whether one packet to an address is answered.
    pub(super) fn ping(node: &str, to: &str) -> Result<bool, String> {
        let probe: Probe = format!("ping:{to}").parse().map_err(|error: InvalidProbe| error.to_string())?;
        let worker = Worker::start(Namespace::Named(space(node)), || Ok(())).map_err(|error| error.to_string())?;
        let answer = worker.run(move |()| probe.run(None, ANSWER)).map_err(|error| error.to_string())?;
        Ok(answer == Answer::Reached)
    }

    /// Sends an announcement from the switch's end of a wire.
    pub(super) fn announce(node: &str, card: &str, chassis: &str, vlans: &[u16]) -> Result<(), String> {
        let (frame, port) = (announcement(chassis.as_bytes(), vlans), port(node, card));
        let failed = |why: &dyn ToString| EngineError { doing: "send a frame".to_owned(), why: why.to_string() };
        let text = |error: EngineError| error.to_string();
        let worker = Worker::start(Namespace::Named(space("sw")), || Ok(())).map_err(text)?;
        let sent = worker.run(move |()| {
            let card = getifaddrs().map_err(|e| failed(&e))?.find(|one| one.interface_name == port);
            let address =
                card.and_then(|card| Some(*card.address?.as_link_addr()?)).ok_or_else(|| failed(&"no such link"))?;
            let socket =
                socket(AddressFamily::Packet, SockType::Raw, SockFlag::SOCK_CLOEXEC, None).map_err(|e| failed(&e))?;
            sendto(socket.as_raw_fd(), &frame, &address, MsgFlags::empty()).map(drop).map_err(|e| failed(&e))
        });
        sent.map_err(text)?.map_err(text)
    }
}

impl Drop for Wires {
    fn drop(&mut self) {
        for name in self.spaces() {
            netns::delete(&name).ok();
        }
    }
}

/// Does something with the file of a kernel setting, as the host sees it.
fn with_setting<T: Send + 'static>(
    node: &str,
    name: &str,
    what: impl FnOnce(&str) -> std::io::Result<T> + Send + 'static,
) -> Result<T, String> {
    let path = format!("/proc/sys/net/{name}");
    let worker = Worker::start(Namespace::Named(space(node)), || Ok(())).map_err(|error| error.to_string())?;
    let done = worker.run(move |()| what(&path).map_err(|error| format!("{path}: {error}")));
    done.map_err(|error| error.to_string())?
}

/// The network namespace of a host, as `ip netns` knows it.
pub(super) fn space(node: &str) -> String {
    format!("nl{}-{node}", std::process::id())
}

/// The switch's end of a wire.
fn port(node: &str, card: &str) -> String {
    format!("{node}-{card}")
}

fn batch(program: &str, words: &[&str], lines: &str) -> Result<(), String> {
    let mut child = Command::new(program)
        .args(words)
        .args(["-batch", "-"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("{program}: {error}"))?;
    let mut input = child.stdin.take().ok_or_else(|| format!("{program} has no input"))?;
    input.write_all(lines.as_bytes()).map_err(|error| format!("{program}: {error}"))?;
    drop(input);
    let done = child.wait_with_output().map_err(|error| format!("{program}: {error}"))?;
    if done.status.success() {
        return Ok(());
    }
    Err(format!("{program} {} -batch: {}\n{lines}", words.join(" "), String::from_utf8_lossy(&done.stderr).trim()))
}
