//! Whether this kernel has what the tests need: one link of every kind, made and thrown away.

use netloom_model::{Attr, Attrs, Engine as _, LinkKind, Step, StepError, Value};
use netloom_testkit::space::Space;
use netloom_types::IfName;

/// Says what is missing, in words.
pub(crate) fn met() -> Result<(), String> {
    const HOW: &str = "run it by `./x test kernel`, which finds a kernel that will do";
    let space = Space::new().map_err(|why| format!("{why}; {HOW}"))?;
    let mut stage = space.stage()?;
    let missing: Vec<String> = LinkKind::KNOWN
        .iter()
        .filter(|kind| kind.is_virtual())
        .filter(|kind| {
            let made = stage.execute(&[dummy("base"), create(kind), Step::DeleteLink { name: name("base") }]);
            made.is_ok_and(|results| matches!(&results[1], Err(error) if error.errno == StepError::EOPNOTSUPP))
        })
        .map(ToString::to_string)
        .collect();
    if missing.is_empty() {
        Ok(())
    } else {
        Err(format!("this kernel has no links of kind {}; {HOW}", missing.join(", ")))
    }
}

fn create(kind: &LinkKind) -> Step {
    let base = (Attr::Base, Value::Link(name("base")));
    let v4 = |text: &str| Value::Ip(text.parse().expect("an address"));
    let attrs: Attrs = match kind {
        LinkKind::Vlan => [base, (Attr::VlanId, Value::Int(1))].into_iter().collect(),
        LinkKind::MacVlan | LinkKind::MacVtap | LinkKind::IpVlan => [base].into_iter().collect(),
        LinkKind::Vrf => [(Attr::VrfTable, Value::Int(1000))].into_iter().collect(),
        LinkKind::Vxlan => [(Attr::VxlanId, Value::Int(1))].into_iter().collect(),
        LinkKind::Veth => [(Attr::VethPeer, Value::Link(name("peer")))].into_iter().collect(),
        LinkKind::IpTunnel => {
            [(Attr::TunnelMode, Value::Int(1)), (Attr::TunnelRemote, v4("192.0.2.1"))].into_iter().collect()
        }
        LinkKind::Gre | LinkKind::Gretap => [(Attr::TunnelRemote, v4("192.0.2.1"))].into_iter().collect(),
        LinkKind::Ip6gre | LinkKind::Ip6gretap => [(Attr::TunnelRemote, v4("2001:db8::1"))].into_iter().collect(),
        LinkKind::Dummy
        | LinkKind::Bridge
        | LinkKind::Bond
        | LinkKind::Ethernet
        | LinkKind::Loopback
        | LinkKind::Other(_) => Attrs::new(),
    };
    Step::CreateLink { name: name("probe"), kind: kind.clone(), attrs, controller: None, up: false }
}

fn dummy(text: &str) -> Step {
    Step::CreateLink { name: name(text), kind: LinkKind::Dummy, attrs: Attrs::new(), controller: None, up: false }
}

fn name(text: &str) -> IfName {
    text.parse().expect("a short name")
}
