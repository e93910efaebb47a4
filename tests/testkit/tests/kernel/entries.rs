//! Every form of a forwarding entry and of a mirror on a real kernel: added, added again where that
//! must do no harm, read back, removed, and everything is as it was.

use std::net::IpAddr;

use netloom_model::{
    Attr, Attrs, Direction, Engine as _, FdbEntry, FdbKey, FlowMatch, Link, LinkKind, Mirror, MirrorAction, MirrorKey,
    Scope, Step, Value,
};
use netloom_netlink::KernelHost;
use netloom_testkit::{
    runner::{Ended, Outcome},
    space::Space,
};
use netloom_types::{IfName, IpNet, MacAddr, VlanId};

/// Forwarding entries of ports, of the bridge itself and of VXLAN links.
pub(crate) fn of_forwarding() -> Outcome {
    let space = Space::new()?;
    let mut host = KernelHost::open_with(space.options()).map_err(|error| error.to_string())?;
    let filtering = [(Attr::BridgeVlanFiltering, Value::Bool(true))].into_iter().collect();
    let to_one = [(Attr::VxlanId, Value::Int(44)), (Attr::VxlanRemote, Value::Ip(address("192.0.2.200")))];
    for step in [
        create("br", LinkKind::Bridge, filtering, None),
        create("port", LinkKind::Dummy, Attrs::new(), Some("br")),
        create("vx", LinkKind::Vxlan, to_one.into_iter().collect(), Some("br")),
    ] {
        carry_out(&mut host, step)?;
    }
    let (in_bridge, own) = ((false, false, false), (false, true, false));
    let (external, on_device) = ((false, false, true), (true, false, false));
    let entries = [
        ("port", key(1, Some(1), None, None), in_bridge),
        ("port", key(2, Some(1), None, None), own),
        ("port", key(3, Some(1), None, None), external),
        ("port", key(4, None, None, None), (true, true, false)),
        ("br", key(5, Some(1), None, None), (true, true, false)),
        ("vx", key(0, None, Some("192.0.2.1"), None), (true, true, false)),
        ("vx", key(0, None, Some("192.0.2.2"), None), on_device),
        ("vx", key(6, None, Some("192.0.2.3"), Some(55)), on_device),
        ("vx", key(7, None, Some("192.0.2.3"), None), (true, false, true)),
        ("vx", key(8, Some(1), None, None), external),
    ];
    for (link, key, (on_device, local, external)) in entries {
        let entry = FdbEntry { on_device, local, external };
        let before = see(&mut host, link)?;
        carry_out(&mut host, Step::AddFdb { name: name(link), key, entry })?;
        carry_out(&mut host, Step::AddFdb { name: name(link), key, entry })?;
        let seen = see(&mut host, link)?.fdb;
        let mut expected = before.fdb.clone();
        expected.insert(key, entry);
        same(&format!("{key:?} on {link}"), &expected, &seen)?;
        carry_out(&mut host, Step::RemoveFdb { name: name(link), key, entry })?;
        same(&format!("{link} without {key:?}"), &before, &see(&mut host, link)?)?;
    }
    Ok(Ended::OK)
}

/// Mirrors of every match, both ways, both actions.
pub(crate) fn of_mirrors() -> Outcome {
    let space = Space::new()?;
    let mut host = KernelHost::open_with(space.options()).map_err(|error| error.to_string())?;
    for link in ["from", "to"] {
        carry_out(&mut host, create(link, LinkKind::Dummy, Attrs::new(), None))?;
    }
    let before = see(&mut host, "from")?;
    for direction in [Direction::Ingress, Direction::Egress] {
        for action in [MirrorAction::Mirror, MirrorAction::Redirect] {
            for matches in flows() {
                let key = MirrorKey { direction, priority: 100 };
                let mirror = Mirror { matches, action, to: name("to"), ours: true };
                carry_out(&mut host, Step::AddMirror { name: name("from"), key, mirror })?;
                let seen = see(&mut host, "from")?.mirrors;
                same(&format!("{matches:?}"), &[(key, mirror)].into(), &seen)?;
                carry_out(&mut host, Step::RemoveMirror { name: name("from"), key, mirror })?;
                same("without the mirror", &before, &see(&mut host, "from")?)?;
            }
        }
    }
    Ok(Ended::OK)
}

fn flows() -> Vec<FlowMatch> {
    let any = FlowMatch::default();
    let net = |text: &str| Some(text.parse::<IpNet>().expect("test prefixes are valid"));
    vec![
        any,
        FlowMatch { vlan: vlan(5), ..any },
        FlowMatch { src_mac: Some(station(1)), dst_mac: Some(station(2)), ..any },
        FlowMatch { src: net("10.0.0.0/8"), ..any },
        FlowMatch { dst: net("2001:db8::/32"), ip_proto: Some(6), dst_port: Some(80), ..any },
        FlowMatch { ip_proto: Some(17), src_port: Some(53), ..any },
        FlowMatch { vlan: vlan(7), ip_proto: Some(6), ..any },
        FlowMatch { vlan: vlan(7), src: net("10.1.0.0/16"), dst: net("10.2.0.1/32"), ip_proto: Some(132), ..any },
    ]
}

fn create(link: &str, kind: LinkKind, attrs: Attrs, controller: Option<&str>) -> Step {
    Step::CreateLink { name: name(link), kind, attrs, controller: controller.map(name), up: true }
}

fn carry_out(host: &mut KernelHost, step: Step) -> Result<(), String> {
    let what = step.to_string();
    let mut results = host.execute(&[step]).map_err(|error| error.to_string())?;
    results.remove(0).map_err(|error| format!("{what}: {error}"))
}

fn see(host: &mut KernelHost, link: &str) -> Result<Link, String> {
    let observed = host.observe(Scope::default()).map_err(|error| error.to_string())?;
    observed.links.get(&name(link)).cloned().ok_or_else(|| format!("link {link} is not there"))
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, expected: &T, seen: &T) -> Result<(), String> {
    if expected == seen { Ok(()) } else { Err(format!("{what}: expected {expected:?}, seen {seen:?}")) }
}

fn name(text: &str) -> IfName {
    text.parse().expect("test names are valid")
}

fn address(text: &str) -> IpAddr {
    text.parse().expect("test addresses are valid")
}

fn vlan(number: u16) -> Option<VlanId> {
    VlanId::try_from(number).ok()
}

/// A station's address; 0 for the one that stands for all others.
fn station(number: u8) -> MacAddr {
    MacAddr::new(if number == 0 { [0; 6] } else { [2, 0xaa, 0, 0, 0, number] })
}

fn key(mac: u8, on: Option<u16>, dst: Option<&str>, vni: Option<u32>) -> FdbKey {
    FdbKey {
        mac: station(mac),
        vlan: on.and_then(vlan),
        dst: dst.map(address),
        vni: vni.and_then(|vni| vni.try_into().ok()),
    }
}
