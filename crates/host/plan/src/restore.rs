//! Back to what was: the undo of one step.
//!
//! A step may take more away than it was asked to: a link takes its addresses with it, a link that
//! goes down its routes. The simulated host says which objects a step changed and what they were;
//! from that and from what they are now, this makes the steps back.

use std::collections::{BTreeMap, BTreeSet};

use netloom_model::{
    Attr, Attrs, Host, KernelFeatures, Link, LinkKind, Observed, Route, RoutingChange, RoutingLine, Rule, RuleKey,
    Setting, SettingKey, Step, Target, Value, VlanMembership,
};
use netloom_types::{IfName, MacAddr, Protocol, VlanId};

use crate::{
    aspects::{self, Moment},
    follow::Around,
    goal,
};

/// The steps that bring the objects of `before` back to the values there, in a valid order.
pub(crate) fn steps(before: &Target, observed: &Observed) -> Vec<Step> {
    let now = &observed.host;
    let mut steps = Vec::new();
    let pairs: Vec<(IfName, Option<&Link>, Option<&Link>)> =
        before.links.iter().map(|(name, link)| (*name, link.as_ref(), now.links.get(name))).collect();
    rules(before, now, &mut steps, false);
    routes(before, now, &mut steps, false);
    steps.extend(routing(before.routing.iter().map(|(line, there)| (line, *there)), now));
    for (name, was, is) in &pairs {
        let recreated = was.zip(*is).is_some_and(|(was, is)| aspects::needs_recreation(was, is));
        if (was.is_none() && is.is_some()) || recreated {
            steps.push(Step::DeleteLink { name: *name });
        }
    }
    let mut links: Vec<_> = pairs.iter().filter_map(|(_, was, is)| was.map(|was| (was, *is))).collect();
    links.sort_by_key(|(was, _)| depth(was, before));
    let mut pairs: Vec<(&Link, Link)> = Vec::with_capacity(links.len());
    for (was, is) in links {
        let now = match is {
            Some(is) if !aspects::needs_recreation(was, is) => is.clone(),
            _ => {
                let peer = was.attrs.link(Attr::VethPeer);
                let came_with_peer = pairs.iter().any(|(other, _)| Some(other.name) == peer);
                if !came_with_peer {
                    steps.push(create(was));
                }
                if came_with_peer { other_end(was, peer) } else { created(was) }
            }
        };
        pairs.push((was, now));
    }
    let bridged = |was: &Link| {
        let controller = was
            .controller
            .and_then(|name| before.links.get(&name).and_then(Option::as_ref).or_else(|| now.links.get(&name)));
        controller.is_some_and(|link| link.kind == LinkKind::Bridge)
    };
    let around = Around { pairs: &pairs, before, now };
    for (was, is) in &pairs {
        let mut is = is.clone();
        if around.mac_follows(was, &is) {
            is.attrs.set(Attr::Mac, was.attrs.given(Attr::Mac).cloned().unwrap_or(Value::Unset));
        }
        properties(was, &is, &moved(was, &is, bridged(was)), &mut steps);
    }
    for (was, is) in &pairs {
        belongings(observed.kernel, was, &moved(was, is, bridged(was)), &mut steps);
    }
    routes(before, now, &mut steps, true);
    rules(before, now, &mut steps, true);
    steps.extend(settings(&before.settings, now));
    steps
}

/// How many of the touched links this one stands on: bases are made before what stands on them.
fn depth(link: &Link, before: &Target) -> usize {
    let mut below = 0;
    let mut at = link;
    while let Some(next) = at.base().and_then(|base| before.links.get(&base)).and_then(Option::as_ref) {
        below += 1;
        at = next;
        if below > before.links.len() {
            break;
        }
    }
    // Ports are made after their controllers.
    below * 2 + usize::from(link.controller.is_some())
}

/// Makes a link with everything that can be given at its creation.
pub(crate) fn create(link: &Link) -> Step {
    let attrs: Attrs = link
        .attrs
        .iter()
        .filter(|(attr, _)| aspects::moment(&link.kind, *attr) == Moment::Creation)
        .map(|(attr, value)| (attr, value.clone()))
        .collect();
    Step::CreateLink { name: link.name, kind: link.kind.clone(), attrs, controller: None, up: false }
}

/// The end of a pair that was made with its peer: nothing of its own was given about it.
fn other_end(link: &Link, peer: Option<IfName>) -> Link {
    let mut now = Link::new(link.name, link.kind.clone());
    now.attrs.set(Attr::VethPeer, peer.map_or(Value::Unset, Value::Link));
    now
}

/// What a link is right after [`create`], as far as it matters for what is still to do.
fn created(link: &Link) -> Link {
    let mut now = Link::new(link.name, link.kind.clone());
    for (attr, value) in link.attrs.iter().filter(|(attr, _)| aspects::moment(&link.kind, *attr) == Moment::Creation) {
        now.attrs.set(attr, value.clone());
    }
    now
}

/// Both ways: a property that the link had, and one that it has now and had not.
fn attrs_back(was: &Link, is: &Link) -> Attrs {
    let mut back = was.attrs.unmet_by(&is.attrs);
    for (attr, _) in is.attrs.iter().filter(|(attr, _)| was.attrs.given(*attr).is_none()) {
        back.require(attr, attr.default_value().unwrap_or(Value::Unset));
    }
    if was.kind == LinkKind::Bond {
        let mode = was.attrs.bond_mode();
        back = back.iter().filter(|(attr, _)| attr.in_bond_mode(mode)).map(|(attr, v)| (attr, v.clone())).collect();
    }
    // A bridge without ports has no hardware address, and none can be given to it.
    if was.attrs.mac(Attr::Mac).is_none_or(MacAddr::is_zero) {
        back.remove(Attr::Mac);
    }
    back
}

fn properties(was: &Link, is: &Link, attached: &Link, steps: &mut Vec<Step>) {
    let name = was.name;
    if was.alias != is.alias {
        steps.push(Step::SetAlias { name, alias: was.alias.clone() });
    }
    steps.extend(aspects::alt_names(was, Some(is)));
    let (_, early) = split(&attrs_back(was, is), |attr| aspects::moment(&is.kind, attr) == Moment::Attached);
    let (late, _) = split(&attrs_back(was, attached), |attr| aspects::moment(&is.kind, attr) == Moment::Attached);
    let needs_down = early.iter().any(|(attr, _)| attr.change() == netloom_model::Change::Down);
    let was_down = needs_down && is.up;
    if was_down {
        steps.push(Step::SetUp { name, up: false });
    }
    steps.extend(aspects::set_attrs(is, early));
    let up = is.up && !was_down;
    if was.controller != is.controller {
        // A bond takes only ports that are down, and puts them up itself.
        if was.controller.is_some() && up {
            steps.push(Step::SetUp { name, up: false });
        }
        steps.push(Step::SetController { name, controller: was.controller });
        steps.push(Step::SetUp { name, up: was.up });
    } else if up != was.up {
        steps.push(Step::SetUp { name, up: was.up });
    }
    steps.extend(aspects::set_attrs(is, late));
}

/// What the link is once it is back with its controller: a port that moves starts again.
fn moved(was: &Link, is: &Link, bridged: bool) -> Link {
    let mut link = is.clone();
    if was.controller != is.controller {
        goal::drop_port_attrs(&mut link.attrs);
        // Which VLAN a bridge puts a new port into is not known here; asking for all that the port
        // had, and taking the usual one away where it had not, is right for any.
        link.vlans = if bridged {
            VlanMembership { pvid: None, ..VlanMembership::access(VlanId::MIN) }
        } else {
            was.vlans.clone()
        };
        link.fdb.retain(|_, entry| entry.on_device);
    }
    link
}

fn belongings(kernel: KernelFeatures, was: &Link, is: &Link, steps: &mut Vec<Step>) {
    steps.extend(aspects::vlans(was, is));
    steps.extend(aspects::fdb(was, is));
    steps.extend(aspects::addresses(kernel, was, is));
    steps.extend(aspects::neighbours(was, is));
    steps.extend(aspects::mirrors(was, is));
    steps.extend(aspects::features(was, is));
}

fn split(attrs: &Attrs, late: impl Fn(Attr) -> bool) -> (Attrs, Attrs) {
    let (mut yes, mut no) = (Attrs::new(), Attrs::new());
    for (attr, value) in attrs.iter() {
        if late(attr) { yes.require(attr, value.clone()) } else { no.require(attr, value.clone()) }
    }
    (yes, no)
}

fn routes(before: &Target, now: &Host, steps: &mut Vec<Step>, add: bool) {
    for (key, was) in &before.routes {
        steps.extend(route(was.as_ref(), now.routes.get(key)).filter(|step| step.is_removal() != add));
    }
    if add {
        // Routes to a router come after the routes on which it is reached.
        let gateway = |step: &Step| match step {
            Step::AddRoute(route) | Step::ReplaceRoute(route) => route.next_hops.iter().any(|hop| hop.via.is_some()),
            _ => false,
        };
        let first = steps.iter().position(|step| matches!(step, Step::AddRoute(_) | Step::ReplaceRoute(_)));
        if let Some(first) = first {
            steps[first..].sort_by_key(gateway);
        }
    }
}

/// The step that turns one route into another.
pub(crate) fn route(was: Option<&Route>, is: Option<&Route>) -> Option<Step> {
    match (was, is) {
        (Some(was), None) => Some(Step::AddRoute(was.clone())),
        (None, Some(is)) => Some(Step::RemoveRoute(is.clone())),
        (Some(was), Some(is)) if was != is => Some(Step::ReplaceRoute(was.clone())),
        (Some(_), Some(_)) | (None, None) => None,
    }
}

fn rules(before: &Target, now: &Host, steps: &mut Vec<Step>, add: bool) {
    for (key, was) in &before.rules {
        let made = rule(*key, *was, now.rules.get(key).copied());
        steps.extend(made.into_iter().filter(|step| step.is_removal() != add));
    }
}

/// The steps that turn one rule into another; a rule of another maker is not changed in place.
pub(crate) fn rule(key: RuleKey, was: Option<Protocol>, is: Option<Protocol>) -> Vec<Step> {
    if was == is {
        return Vec::new();
    }
    let gone = is.map(|protocol| Step::RemoveRule(Rule { key, protocol }));
    let new = was.map(|protocol| Step::AddRule(Rule { key, protocol }));
    gone.into_iter().chain(new).collect()
}

/// The steps that set what is not as wanted. Where the host has no such setting, there is nothing to be set.
pub(crate) fn settings(wanted: &BTreeMap<SettingKey, Setting>, now: &Host) -> Vec<Step> {
    let differs = |wanted: &&Setting| now.settings.get(wanted.key()).is_some_and(|there| *there != **wanted);
    wanted.values().filter(differs).cloned().map(Step::Set).collect()
}

/// The step that brings lines of routing daemons to what is wanted of each; none where no daemon answers.
pub(crate) fn routing<'a>(wanted: impl Iterator<Item = (&'a RoutingLine, bool)>, now: &Host) -> Option<Step> {
    let lines = now.routing.as_ref()?;
    let differs = |(line, there): &(&RoutingLine, bool)| lines.contains(line) != *there;
    let (add, remove): (Vec<_>, Vec<_>) = wanted.filter(differs).partition(|(_, there)| *there);
    let set =
        |lines: Vec<(&RoutingLine, bool)>| lines.into_iter().map(|(line, _)| line.clone()).collect::<BTreeSet<_>>();
    let change = RoutingChange { add: set(add), remove: set(remove) };
    (!change.is_empty()).then_some(Step::ChangeRouting(change))
}

/// Remembers the value of each object before its first change.
pub(crate) fn remember(first: &mut Target, before: Target) {
    let Target { links, routes, rules, settings, routing } = before;
    for (name, link) in links {
        first.links.entry(name).or_insert(link);
    }
    for (key, route) in routes {
        first.routes.entry(key).or_insert(route);
    }
    for (key, rule) in rules {
        first.rules.entry(key).or_insert(rule);
    }
    for (key, setting) in settings {
        first.settings.entry(key).or_insert(setting);
    }
    for (line, there) in routing {
        first.routing.entry(line).or_insert(there);
    }
}
