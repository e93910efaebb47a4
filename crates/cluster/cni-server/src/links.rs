//! Links of pods: made, looked at and taken away, in the namespaces of pods.

use std::{
    collections::BTreeMap,
    net::IpAddr,
    path::{Path, PathBuf},
    str::FromStr,
};

use ipnet::IpNet;
use netloom_cnispec::{Attached, Code, Failure, Interface as Made, Ip, Route as MadeRoute};
use netloom_model::{
    Address, Attr, Engine as _, EngineError, NextHop, Observed, Route, RouteExtra, RouteMetrics, RouteType, Rule,
    RuleAction, RuleKey, Scope, Step, StepError,
};
use netloom_netlink::{Child, ChildKind, KernelHost, Namespace};
use netloom_podnet::{Interface, LinkKind, Record, RecordedRoute};
use netloom_types::{Family, IfName, Protocol, RouteTable};

/// The priority of the rules of pods; before those of the kernel.
const RULE_PRIORITY: u32 = 32_000;

/// Why one interface could not be made.
#[derive(Debug)]
struct Failed {
    interface: String,
    network: String,
    why: String,
    /// The link of the node is not there.
    no_parent: bool,
}

fn namespace(netns: &str) -> Namespace {
    Namespace::Path(PathBuf::from(netns))
}

/// Makes all interfaces of a record, or none.
pub(crate) fn make(node: &KernelHost, record: &Record) -> Result<Attached, Failure> {
    let mut pod = open(&record.netns)?;
    let (mut created, mut failed) = (Vec::new(), Vec::new());
    for interface in &record.interfaces {
        if let Err(why) = one(node, &mut pod, record, interface, &mut created) {
            failed.push(why);
        }
    }
    let attached = if failed.is_empty() { result(&mut pod, record).map_err(|why| vec![why]) } else { Err(failed) };
    attached.map_err(|failed| {
        let taken_back = delete(&mut pod, &created);
        let listed: Vec<String> = failed
            .iter()
            .map(|Failed { interface, network, why, .. }| format!("{interface} of {network}: {why}"))
            .collect();
        let code = if failed.iter().all(|failed| failed.no_parent) { Code::TryLater } else { Code::Interface };
        let msg = format!("cannot attach the pod: {}", listed.join("; "));
        match taken_back {
            Ok(()) => Failure::new(code, msg),
            Err(why) => Failure::new(code, msg).with(format!("and what was made could not be taken back: {why}")),
        }
    })
}

fn open(netns: &str) -> Result<KernelHost, Failure> {
    let failed = |why: EngineError| {
        Failure::new(Code::Namespace, format!("cannot use network namespace {netns}")).with(why.to_string())
    };
    KernelHost::open(namespace(netns)).map_err(failed)
}

fn one(
    node: &KernelHost,
    pod: &mut KernelHost,
    record: &Record,
    interface: &Interface,
    created: &mut Vec<IfName>,
) -> Result<(), Failed> {
    let failed = |why: String, no_parent: bool| Failed {
        interface: interface.name.clone(),
        network: interface.network_name.clone(),
        why,
        no_parent,
    };
    let link = |text: &str| IfName::from_str(text).map_err(|why| failed(why.to_string(), false));
    let (name, parent) = (link(&interface.name)?, link(&interface.parent)?);
    let kind = match interface.link {
        LinkKind::Ipvlan => ChildKind::Ipvlan,
        LinkKind::Macvlan => ChildKind::Macvlan,
    };
    let child = Child { name, parent, kind, mtu: interface.mtu };
    let refused = |why: StepError| {
        let is_carrier = why.errno == StepError::ENODEV;
        let text = if is_carrier { format!("the node has no link {parent}") } else { why.to_string() };
        failed(text, is_carrier)
    };
    let broken = |why: EngineError| failed(why.to_string(), false);
    node.child(child, &namespace(&record.netns)).map_err(broken)?.map_err(refused)?;
    created.push(name);
    let has_ipv6 = interface.ipv6.is_some() || interface.without_ipv6;
    pod.settle_child(name, has_ipv6).map_err(broken)?.map_err(|why| failed(why.to_string(), false))?;
    let steps = steps(name, interface);
    let results = pod.execute(&steps).map_err(broken)?;
    for (step, result) in steps.iter().zip(results) {
        result.map_err(|why| failed(format!("{step}: {why}"), false))?;
    }
    Ok(())
}

/// What is done to a link that was made: addresses, up, routes, rules.
fn steps(name: IfName, interface: &Interface) -> Vec<Step> {
    let address = |net: IpNet| Step::AddAddress { name, address: own(net) };
    let mut steps: Vec<Step> = interface.addresses().map(address).collect();
    steps.push(Step::SetUp { name, up: true });
    steps.extend(interface.routes.iter().map(|to| Step::ReplaceRoute(route(name, to))));
    steps.extend(rules(interface).into_iter().map(Step::AddRule));
    steps
}

/// Nobody is asked whether somebody else has it: that it is given once is the pool's matter.
fn own(net: IpNet) -> Address {
    let mut address = Address::new(net.addr(), net.prefix_len(), Protocol::NETLOOM);
    address.extra.no_dad = net.addr().is_ipv6();
    address
}

fn route(name: IfName, to: &RecordedRoute) -> Route {
    let table = to.table.and_then(|table| RouteTable::try_from(table).ok()).unwrap_or(RouteTable::MAIN);
    let next_hop = NextHop { via: Some(to.via), link: Some(name), weight: 1, onlink: false };
    Route {
        table,
        destination: to.to,
        metric: Route::default_metric(Family::of_net(to.to)),
        kind: RouteType::Unicast,
        next_hops: vec![next_hop],
        source: None,
        protocol: Protocol::NETLOOM,
        metrics: RouteMetrics::default(),
        extra: RouteExtra::default(),
    }
}

/// One rule for each address whose family has routes in a table of their own.
fn rules(interface: &Interface) -> Vec<Rule> {
    let rule = |net: IpNet| {
        let family = Family::of_net(net);
        let table =
            interface.routes.iter().find(|route| Family::of_net(route.to) == family && route.table.is_some())?.table?;
        let table = RouteTable::try_from(table).ok()?;
        let from = IpNet::new(net.addr(), family.max_prefix_len()).ok()?;
        let key = RuleKey { from: Some(from), ..RuleKey::new(family, RULE_PRIORITY, RuleAction::Table(table)) };
        Some(Rule { key, protocol: Protocol::NETLOOM })
    };
    interface.addresses().filter_map(rule).collect()
}

/// What a runtime is answered: what there is now.
fn result(pod: &mut KernelHost, record: &Record) -> Result<Attached, Failed> {
    let failed = |interface: &Interface, why: String| Failed {
        interface: interface.name.clone(),
        network: interface.network_name.clone(),
        why,
        no_parent: false,
    };
    let Some(first) = record.interfaces.first() else { return Ok(Attached::default()) };
    let observed = observe(pod).map_err(|why| failed(first, why.to_string()))?;
    let mut attached = Attached::default();
    for interface in &record.interfaces {
        let link = IfName::from_str(&interface.name).ok().and_then(|name| observed.links.get(&name));
        let link = link.ok_or_else(|| failed(interface, "it is not there any more".to_owned()))?;
        let mut one = Attached {
            interfaces: vec![Made {
                name: interface.name.clone(),
                mac: link.attrs.mac(Attr::Mac).map(|mac| mac.to_string()).unwrap_or_default(),
                mtu: link.attrs.int(Attr::Mtu).and_then(|mtu| u32::try_from(mtu).ok()),
                sandbox: record.netns.clone(),
                ..Made::default()
            }],
            ..Attached::default()
        };
        let gateway = |net: IpNet| default_gateway(interface, net);
        one.ips.extend(interface.addresses().map(|address| Ip {
            interface: Some(0),
            address,
            gateway: gateway(address),
        }));
        one.routes.extend(interface.routes.iter().map(|route| MadeRoute {
            dst: route.to,
            gw: Some(route.via),
            mtu: None,
            advmss: None,
            priority: None,
            table: route.table,
            scope: None,
        }));
        attached.append(one);
    }
    Ok(attached)
}

/// The gateway of the default route of the family of an address.
fn default_gateway(interface: &Interface, net: IpNet) -> Option<IpAddr> {
    let is_default = |route: &&RecordedRoute| {
        route.to.prefix_len() == 0 && route.table.is_none() && route.to.addr().is_ipv4() == net.addr().is_ipv4()
    };
    interface.routes.iter().find(is_default).map(|route| route.via)
}

fn observe(pod: &mut KernelHost) -> Result<Observed, EngineError> {
    pod.observe(Scope { without_derived_routes: true, ..Scope::default() })
}

fn delete(pod: &mut KernelHost, links: &[IfName]) -> Result<(), String> {
    let steps: Vec<Step> = links.iter().map(|name| Step::DeleteLink { name: *name }).collect();
    let results = pod.execute(&steps).map_err(|why| why.to_string())?;
    let gone = |why: &StepError| why.errno == StepError::ENODEV;
    let failed: Vec<String> =
        results.into_iter().filter_map(Result::err).filter(|why| !gone(why)).map(|why| why.to_string()).collect();
    if failed.is_empty() { Ok(()) } else { Err(failed.join("; ")) }
}

/// Takes every interface of a record away: its rules and its link, with which addresses and routes go. What is not there
/// is as good, and so is a namespace that is gone.
pub(crate) fn remove(record: &Record) -> Result<(), Failure> {
    if !Path::new(&record.netns).exists() {
        return Ok(());
    }
    // A file that is left of a namespace cannot be entered.
    let Ok(mut pod) = open(&record.netns) else { return Ok(()) };
    let failed =
        |why: String| Failure::new(Code::TryLater, format!("cannot detach container {}", record.container)).with(why);
    let observed = observe(&mut pod).map_err(|why| failed(why.to_string()))?;
    let mut links = Vec::new();
    let mut steps = Vec::new();
    for interface in &record.interfaces {
        let own = rules(interface).into_iter().filter(|rule| observed.rules.contains_key(&rule.key));
        steps.extend(own.map(Step::RemoveRule));
        let name = IfName::from_str(&interface.name).ok();
        // Another link of that name is somebody else's: ours was never made.
        let is_ours = |name: &IfName| {
            observed.links.get(name).is_some_and(|link| match interface.link {
                LinkKind::Ipvlan => link.kind == netloom_model::LinkKind::IpVlan,
                LinkKind::Macvlan => link.kind == netloom_model::LinkKind::MacVlan,
            })
        };
        links.extend(name.filter(is_ours));
    }
    pod.execute(&steps).map_err(|why| failed(why.to_string()))?;
    delete(&mut pod, &links).map_err(failed)
}

/// What of a record is not there any more.
pub(crate) fn missing(record: &Record) -> Result<Vec<String>, Failure> {
    let mut pod = open(&record.netns)?;
    let failed = |why: EngineError| Failure::new(Code::Io, "cannot look at the pod").with(why.to_string());
    let observed = observe(&mut pod).map_err(failed)?;
    let mut missing = Vec::new();
    let mut links: BTreeMap<&str, Option<&netloom_model::Link>> = BTreeMap::new();
    for interface in &record.interfaces {
        let link = IfName::from_str(&interface.name).ok().and_then(|name| observed.links.get(&name));
        links.insert(&interface.name, link);
        match link {
            None => missing.push(format!("interface {}", interface.name)),
            Some(link) => {
                let has = |net: &IpNet| link.addresses.iter().any(|address| address.ip == net.addr());
                let gone = interface.addresses().filter(|net| !has(net));
                missing.extend(gone.map(|net| format!("address {net} of {}", interface.name)));
                if !link.up {
                    missing.push(format!("interface {} is down", interface.name));
                }
            }
        }
        let name = IfName::from_str(&interface.name).ok();
        let wanted = interface.routes.iter().filter_map(|to| Some((to, route(name?, to).key())));
        let gone = wanted.filter(|(_, key)| !observed.routes.contains_key(key));
        missing.extend(gone.map(|(to, _)| format!("route to {} over {}", to.to, to.via)));
    }
    Ok(missing)
}
