//! Every property of every kind of link on a real kernel: a link is made with it, changed to it and
//! put back, and after each step the kernel must report exactly that and nothing else changed.
//!
//! This is what keeps the table of wire formats honest; what the properties do is the scenarios'
//! matter.

use netloom_model::{Attr, Attrs, Change, Engine as _, Link, LinkKind, Scope, Section, Shape, Step, Value};
use netloom_netlink::KernelHost;
use netloom_testkit::{
    runner::{Ended, Outcome},
    space::Space,
};
use netloom_types::{IfName, MacAddr};

/// Everything, one kind after the other.
pub(crate) fn of_every_kind() -> Outcome {
    let space = Space::new()?;
    let mut bench = Bench::in_space(&space)?;
    for (kind, required) in kinds() {
        for &attr in Attr::ALL.iter().filter(|attr| is_own(**attr, &kind, &required)) {
            for value in values(attr, &required) {
                bench.make(&kind, &required, attr, &value)?;
                if attr.change() != Change::Recreate && !is_passthru(attr, &value) {
                    bench.change(&kind, &required, attr, &value)?;
                }
            }
        }
    }
    bench.end()
}

/// Properties of ports and of the address families, on links that can have them.
pub(crate) fn of_ports_and_families() -> Outcome {
    let space = Space::new()?;
    let mut bench = Bench::in_space(&space)?;
    let active_backup = attrs([(Attr::BondMode, Value::Int(1))]);
    bench.create("br", &LinkKind::Bridge, &Attrs::new(), None)?;
    bench.create("bo", &LinkKind::Bond, &active_backup, None)?;
    bench.create("inbr", &LinkKind::Dummy, &Attrs::new(), Some("br"))?;
    bench.create("inbo", &LinkKind::Dummy, &Attrs::new(), Some("bo"))?;
    let pair = attrs([(Attr::VethPeer, Value::Link(name("far")))]);
    bench.create("near", &LinkKind::Veth, &pair, None)?;
    for &attr in Attr::ALL {
        let (link, kind) = match attr.section() {
            Section::BridgePort => ("inbr", LinkKind::Dummy),
            Section::BondPort => ("inbo", LinkKind::Dummy),
            Section::Ipv4 | Section::Ipv6 | Section::SysctlIpv4 | Section::SysctlIpv6 => ("near", LinkKind::Veth),
            Section::Common
            | Section::Kind
            | Section::BridgeOptions
            | Section::BridgeStp
            | Section::BondOptions
            | Section::Ethernet
            | Section::Pause
            | Section::Ring => continue,
        };
        for value in values(attr, &Attrs::new()) {
            bench.there_and_back(link, &kind, attr, &value)?;
        }
    }
    bench.end()
}

struct Bench {
    host: KernelHost,
    tried: usize,
    wrong: Vec<String>,
}

impl Bench {
    /// A host with a link for others to stand on, and a port for bonds.
    fn in_space(space: &Space) -> Result<Self, String> {
        let host = KernelHost::open_with(space.options()).map_err(|error| error.to_string())?;
        let mut bench = Self { host, tried: 0, wrong: Vec::new() };
        let roomy = attrs([(Attr::Mtu, Value::Int(2000))]);
        bench.create("base", &LinkKind::Dummy, &roomy, None)?;
        bench.create("port", &LinkKind::Dummy, &Attrs::new(), None)?;
        Ok(bench)
    }

    fn end(self) -> Outcome {
        if self.wrong.is_empty() {
            return Ok(Ended::Passed(Some(format!("{} values", self.tried))));
        }
        Err(format!("{} of {} values:\n{}", self.wrong.len(), self.tried, self.wrong.join("\n")))
    }

    fn run(&mut self, step: Step) -> Result<(), String> {
        let what = step.to_string();
        let mut results = self.host.execute(&[step]).map_err(|error| error.to_string())?;
        results.remove(0).map_err(|error| format!("{what}: {error}"))
    }

    fn create(&mut self, link: &str, kind: &LinkKind, attrs: &Attrs, controller: Option<&str>) -> Result<(), String> {
        self.run(Step::CreateLink {
            name: name(link),
            kind: kind.clone(),
            attrs: attrs.clone(),
            controller: controller.map(name),
            // The link under test is down, because some properties can only be changed then.
            up: link != "x",
        })
    }

    fn set(&mut self, link: &str, kind: &LinkKind, attr: Attr, value: Value) -> Result<(), String> {
        self.run(Step::SetAttrs { name: name(link), kind: kind.clone(), attrs: attrs([(attr, value)]) })
    }

    fn see(&mut self, link: &str) -> Result<Link, String> {
        let observed = self.host.observe(Scope::default()).map_err(|error| error.to_string())?;
        observed.links.get(&name(link)).cloned().ok_or_else(|| format!("link {link} is not there"))
    }

    /// The link under test is gone, and the port that it may have had is free.
    fn clear(&mut self) -> Result<(), String> {
        self.run(Step::DeleteLink { name: name("x") })
    }

    /// A port for a bond whose primary port is asked for.
    fn attach(&mut self, attr: Attr) -> Result<(), String> {
        if attr == Attr::BondPrimary {
            self.run(Step::SetUp { name: name("port"), up: false })?;
            self.run(Step::SetController { name: name("port"), controller: Some(name("x")) })?;
        }
        Ok(())
    }

    fn make(&mut self, kind: &LinkKind, required: &Attrs, attr: Attr, value: &Value) -> Result<(), String> {
        self.tried += 1;
        let desired = desired(kind, required, attr, value);
        if let Err(refused) = self.create("x", kind, &desired, None) {
            self.wrong.push(refused);
            return Ok(());
        }
        self.attach(attr)?;
        let seen = self.see("x")?;
        let unmet = desired.unmet_by(&seen.attrs);
        if !unmet.is_empty() || seen.kind != *kind {
            self.wrong.push(format!("{kind} made with {attr} {}: not there: {unmet:?}", value.display(attr)));
        }
        self.clear()
    }

    fn change(&mut self, kind: &LinkKind, required: &Attrs, attr: Attr, value: &Value) -> Result<(), String> {
        let mut start = required.clone();
        for (needed, value) in needs(attr) {
            start.require(needed, value);
        }
        self.create("x", kind, &start, None)?;
        self.attach(attr)?;
        self.there_and_back("x", kind, attr, value)?;
        self.clear()
    }

    fn there_and_back(&mut self, link: &str, kind: &LinkKind, attr: Attr, value: &Value) -> Result<(), String> {
        self.tried += 1;
        let what = format!("{kind} {attr:?} changed to {}", value.display(attr));
        let before = self.see(link)?;
        if let Err(refused) = self.set(link, kind, attr, value.clone()) {
            self.wrong.push(refused);
            return Ok(());
        }
        let mut expected = before.attrs.clone();
        expected.set(attr, value.clone());
        let seen = self.see(link)?;
        self.compare(&what, &expected, &seen.attrs, &goes_along(attr));
        if let Err(refused) = self.set(link, kind, attr, before.attrs.get(attr).unwrap_or(Value::Unset)) {
            self.wrong.push(format!("back: {refused}"));
            return Ok(());
        }
        let seen = self.see(link)?;
        let stays: &[Attr] = if attr == Attr::BondMode { &[Attr::BondMiimon] } else { &[] };
        self.compare(&format!("{what} and back"), &before.attrs, &seen.attrs, stays);
        Ok(())
    }

    fn compare(&mut self, what: &str, expected: &Attrs, seen: &Attrs, except: &[Attr]) {
        for attr in Attr::ALL.iter().filter(|attr| !except.contains(attr)) {
            let (wanted, got) = (expected.get(*attr), seen.get(*attr));
            if !attr.same(wanted.as_ref(), got.as_ref()) {
                self.wrong.push(format!("{what}: {attr:?} is {got:?}, not {wanted:?}"));
            }
        }
    }
}

fn name(text: &str) -> IfName {
    text.parse().expect("test names are valid")
}

fn ip(text: &str) -> Value {
    Value::Ip(text.parse().expect("test addresses are valid"))
}

fn attrs<const N: usize>(pairs: [(Attr, Value); N]) -> Attrs {
    pairs.into_iter().collect()
}

/// Every kind that can be made, with the properties that it cannot be made without.
fn kinds() -> Vec<(LinkKind, Attrs)> {
    let on_base = || attrs([(Attr::Base, Value::Link(name("base")))]);
    let ends = |local: &str, remote: &str| attrs([(Attr::TunnelLocal, ip(local)), (Attr::TunnelRemote, ip(remote))]);
    let with = |mut attrs: Attrs, attr, value| {
        attrs.require(attr, value);
        attrs
    };
    let tunnel = |mode: u64| {
        let ends = if mode > 2 { ends("2001:db8::1", "2001:db8::2") } else { ends("192.0.2.1", "192.0.2.2") };
        (LinkKind::IpTunnel, with(ends, Attr::TunnelMode, Value::Int(mode)))
    };
    vec![
        (LinkKind::Dummy, Attrs::new()),
        (LinkKind::Vlan, with(on_base(), Attr::VlanId, Value::Int(10))),
        (LinkKind::Bridge, Attrs::new()),
        (LinkKind::Bond, Attrs::new()),
        (LinkKind::Vrf, attrs([(Attr::VrfTable, Value::Int(70_000))])),
        (LinkKind::Vxlan, with(on_base(), Attr::VxlanId, Value::Int(100))),
        (LinkKind::Veth, attrs([(Attr::VethPeer, Value::Link(name("peer")))])),
        (LinkKind::MacVlan, on_base()),
        (LinkKind::MacVtap, on_base()),
        (LinkKind::IpVlan, on_base()),
        (LinkKind::Gre, ends("192.0.2.1", "192.0.2.3")),
        (LinkKind::Gretap, ends("192.0.2.1", "192.0.2.3")),
        (LinkKind::Ip6gre, ends("2001:db8::1", "2001:db8::3")),
        (LinkKind::Ip6gretap, ends("2001:db8::1", "2001:db8::3")),
        tunnel(1),
        // A sit tunnel of the kernel's own hop limit always finds the path's MTU.
        (LinkKind::IpTunnel, with(tunnel(2).1, Attr::TunnelTtl, Value::Int(0))),
        tunnel(3),
        tunnel(4),
    ]
}

fn over_ipv6(required: &Attrs) -> bool {
    matches!(required.given(Attr::TunnelLocal), Some(Value::Ip(ip)) if ip.is_ipv6())
}

/// Whether a link of this kind is made with this property.
fn is_own(attr: Attr, kind: &LinkKind, required: &Attrs) -> bool {
    let has_place = match attr {
        // Fixed by the kind itself; newer kernels trust every driver's carrier.
        Attr::TunnelMode | Attr::VethPeer | Attr::BondUseCarrier => false,
        Attr::Mac => !matches!(kind, LinkKind::IpTunnel | LinkKind::Gre | LinkKind::Ip6gre | LinkKind::IpVlan),
        Attr::TunnelPmtuDisc => !over_ipv6(required),
        Attr::TunnelFlowLabel | Attr::TunnelFlags | Attr::TunnelEncapLimit => over_ipv6(required),
        _ => true,
    };
    let in_create = matches!(
        attr.section(),
        Section::Common | Section::Kind | Section::BridgeOptions | Section::BridgeStp | Section::BondOptions
    );
    has_place && in_create && attr.applies_to(kind)
}

/// Values that differ from the default, and some that do not.
fn values(attr: Attr, required: &Attrs) -> Vec<Value> {
    let ips = |list: &[&str]| Value::Ips(list.iter().map(|ip| ip.parse().expect("an address")).collect());
    match attr {
        Attr::Mtu => vec![Value::Int(1400)],
        Attr::BridgeGroupAddr => vec![Value::Mac(MacAddr::new([1, 0x80, 0xc2, 0, 0, 0xe]))],
        Attr::BridgeGroupForwardMask => vec![Value::Int(0x4000)],
        Attr::BridgeAgeingTime => vec![Value::Int(0), Value::Int(77)],
        Attr::BridgeMcastLastMemberInterval
        | Attr::BridgeMcastMembershipInterval
        | Attr::BridgeMcastQuerierInterval
        | Attr::BridgeMcastQueryInterval
        | Attr::BridgeMcastQueryResponseInterval
        | Attr::BridgeMcastStartupQueryInterval => vec![Value::Int(777)],
        Attr::VxlanLocal => vec![ip("192.0.2.9"), ip("2001:db8::9")],
        Attr::VxlanRemote => vec![ip("192.0.2.8"), ip("2001:db8::8"), ip("239.1.1.1")],
        Attr::TunnelLocal | Attr::TunnelRemote if over_ipv6(required) => vec![ip("2001:db8::77")],
        Attr::TunnelLocal | Attr::TunnelRemote => vec![ip("192.0.2.77")],
        Attr::Ipv6Token => vec![ip("::1:2")],
        Attr::BondArpIpTarget => vec![ips(&["192.0.2.1", "192.0.2.2"])],
        Attr::BondNsIp6Target => vec![ips(&["2001:db8::1"])],
        Attr::BondPrimary => vec![Value::Link(name("port"))],
        Attr::VlanIngressQos => vec![Value::Map(vec![(1, 5), (7, 9)])],
        Attr::VlanEgressQos => vec![Value::Map(vec![(1, 5), (20, 3)])],
        _ => values_of_shape(attr.shape()),
    }
}

fn values_of_shape(shape: Shape) -> Vec<Value> {
    match shape {
        Shape::Bool => vec![Value::Bool(true), Value::Bool(false)],
        Shape::Int { min, max } => vec![Value::Int((min + 3).min(max))],
        Shape::Enum(words) => words.iter().map(|(_, number)| Value::Int(*number)).collect(),
        Shape::Flags(words) => vec![Value::Int(words.iter().take(2).fold(0, |all, (_, bit)| all | bit))],
        Shape::Mac => vec![Value::Mac(MacAddr::new([2, 0, 0, 0, 0, 0x55]))],
        Shape::Link => vec![Value::Link(name("base"))],
        Shape::Ip | Shape::Ips | Shape::Map { .. } => Vec::new(),
    }
}

/// What a bond must have before it takes an option.
fn needs(attr: Attr) -> Vec<(Attr, Value)> {
    let mode = |mode| (Attr::BondMode, Value::Int(mode));
    match attr {
        Attr::BondLacpActive
        | Attr::BondLacpRate
        | Attr::BondAdActorSysPrio
        | Attr::BondAdActorSystem
        | Attr::BondAdUserPortKey => vec![mode(4)],
        Attr::BondUpdelay | Attr::BondDowndelay => vec![(Attr::BondMiimon, Value::Int(1))],
        Attr::BondPrimary => vec![mode(1)],
        Attr::BondTlbDynamicLb => vec![mode(5)],
        Attr::BondArpValidate => vec![mode(1), (Attr::BondArpInterval, Value::Int(100))],
        _ => Vec::new(),
    }
}

/// The properties that a link is made with to try one of them.
fn desired(kind: &LinkKind, required: &Attrs, attr: Attr, value: &Value) -> Attrs {
    let mut desired = required.clone();
    for (needed, value) in needs(attr) {
        desired.require(needed, value);
    }
    desired.require(attr, value.clone());
    if *value == Value::Bool(true) && matches!(attr, Attr::VxlanExternal | Attr::VxlanVnifilter) {
        desired.require(Attr::VxlanExternal, Value::Bool(true));
        desired.remove(Attr::VxlanId);
    }
    if *value == Value::Bool(true) && attr == Attr::GreExternal {
        desired.remove(Attr::TunnelLocal);
        desired.remove(Attr::TunnelRemote);
    }
    debug_assert!(desired.iter().all(|(attr, _)| attr.applies_to(kind)));
    desired
}

/// What the kernel changes by itself when a property changes.
fn goes_along(attr: Attr) -> Vec<Attr> {
    match attr {
        // A key makes the outer header longer.
        Attr::GreOutputKey => vec![Attr::Mtu],
        // Some modes need a monitor and start one.
        Attr::BondMode => vec![Attr::BondMiimon],
        _ => Vec::new(),
    }
}

/// A mode that a link can only be made with.
fn is_passthru(attr: Attr, value: &Value) -> bool {
    attr == Attr::MacvlanMode && *value == Value::Int(8)
}
