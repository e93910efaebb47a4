//! A plan as people read it: one entry for each thing that comes, changes or goes.
//!
//! A plan has steps in the order of execution, often several for one thing (down, change, up). Here
//! they are gathered by thing, in the order in which each is first touched, with old and new
//! values. Pure; printing is `output`'s.

use std::collections::{HashMap, hash_map};

use netloom_model::{
    Attr, Attrs, DesiredController, FdbKey, Link, LinkKind, MirrorKey, Observed, Origin, Plan, PlannedStep, RouteKey,
    RuleKey, SettingKey, Step, Value,
};
use netloom_types::IfName;
use serde_json::{Value as Json, json};
use std::net::IpAddr;

use crate::{
    output::{Colour, Output, plain},
    text::push,
};

/// Entries that are printed before the rest is only counted: a terminal's memory is finite.
const SHOWN: usize = 200;

/// What happens to a thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    /// It comes.
    Add,
    /// It changes in place.
    Change,
    /// It goes.
    Remove,
    /// It is deleted and created again, because the kernel cannot change it in place.
    Replace,
    /// The kernel takes it away with something else, and it is put back as it was.
    Restore,
}

impl Mark {
    fn symbol(self) -> &'static str {
        match self {
            Self::Add => "  +",
            Self::Change => "  ~",
            Self::Remove => "  -",
            Self::Replace => "-/+",
            Self::Restore => "   ",
        }
    }

    fn colour(self) -> Colour {
        match self {
            Self::Add => Colour::Green,
            Self::Change | Self::Replace | Self::Restore => Colour::Yellow,
            Self::Remove => Colour::Red,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Change => "change",
            Self::Remove => "remove",
            Self::Replace => "replace",
            Self::Restore => "restore",
        }
    }
}

/// One thing that a plan touches. Its text is made when it is printed: most plans that are too long
/// to be read are not.
#[derive(Debug)]
struct Entry<'a> {
    thing: Thing<'a>,
    mark: Mark,
    first: &'a PlannedStep,
    more: Vec<&'a PlannedStep>,
    /// The other end, where the kernel makes this link together with it.
    comes_with: Option<IfName>,
}

/// Everything that a plan touches.
#[derive(Debug)]
pub(crate) struct Preview<'a> {
    entries: Vec<Entry<'a>>,
    observed: &'a Observed,
}

impl<'a> Preview<'a> {
    /// Reads a plan against the host that it was made for.
    pub(crate) fn of(plan: &'a Plan, observed: &'a Observed) -> Self {
        let mut entries: Vec<Entry<'a>> = Vec::with_capacity(plan.steps.len());
        let mut places: HashMap<Thing<'a>, usize> = HashMap::with_capacity(plan.steps.len());
        for step in &plan.steps {
            let thing = Thing::of(&step.step);
            match places.entry(thing) {
                hash_map::Entry::Occupied(place) => entries[*place.get()].more.push(step),
                hash_map::Entry::Vacant(place) => {
                    place.insert(entries.len());
                    entries.push(Entry { thing, mark: Mark::Change, first: step, more: Vec::new(), comes_with: None });
                }
            }
        }
        let pairs: HashMap<IfName, IfName> = plan.steps.iter().filter_map(|step| other_end(&step.step)).collect();
        for entry in &mut entries {
            if let Thing::Link(name) = entry.thing {
                entry.comes_with = pairs.get(&name).copied();
            }
            entry.mark = entry.mark(observed);
        }
        Self { entries, observed }
    }

    /// Whether the plan touches nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    fn count(&self, mark: Mark) -> usize {
        self.entries.iter().filter(|entry| entry.mark == mark).count()
    }

    /// `N to add, N to change, N to remove`; a replaced thing counts as changed.
    pub(crate) fn summary(&self) -> String {
        let (add, remove, replace) = (self.count(Mark::Add), self.count(Mark::Remove), self.count(Mark::Replace));
        let change = self.count(Mark::Change) + replace;
        let again = if replace > 0 { format!(" ({replace} recreated)") } else { String::new() };
        format!("{add} to add, {change} to change{again}, {remove} to remove")
    }

    /// The entries and the summary, for a terminal; all of them, or only the first ones.
    pub(crate) fn text(&self, output: Output, all: bool) -> String {
        let shown = if all { self.entries.len() } else { SHOWN.min(self.entries.len()) };
        let mut text = String::new();
        for entry in &self.entries[..shown] {
            text += &output.paint(entry.mark.colour(), entry.mark.symbol());
            text.push(' ');
            text += &plain(&entry.text(self.observed)).replace('\n', " ");
            text += if entry.mark == Mark::Restore { " (put back as it was)\n" } else { "\n" };
        }
        if shown < self.entries.len() {
            push(&mut text, format_args!("    … and {} more; --dry-run prints all\n", self.entries.len() - shown));
        }
        text + &format!("Plan: {}.\n", self.summary())
    }

    /// The entries and the counts as an object.
    pub(crate) fn json(&self) -> Json {
        let entries: Vec<Json> = self
            .entries
            .iter()
            .map(|entry| {
                json!({
                    "action": entry.mark.word(),
                    "what": entry.text(self.observed),
                    "origin": entry.origin().map(ToString::to_string),
                })
            })
            .collect();
        json!({
            "add": self.count(Mark::Add),
            "change": self.count(Mark::Change) + self.count(Mark::Replace),
            "remove": self.count(Mark::Remove),
            "changes": entries,
        })
    }
}

/// The other end of a pair that a step makes, and the end that it names.
fn other_end(step: &Step) -> Option<(IfName, IfName)> {
    let Step::CreateLink { name, attrs, .. } = step else { return None };
    Some((attrs.link(Attr::VethPeer)?, *name))
}

/// What steps are gathered by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Thing<'a> {
    Link(IfName),
    Address(IfName, IpAddr, u8),
    Vlans(IfName),
    Fdb(IfName, FdbKey),
    Neighbour(IfName, IpAddr),
    Mirror(IfName, MirrorKey),
    Route(RouteKey),
    Rule(&'a RuleKey),
    Setting(SettingKey),
    Routing,
}

impl<'a> Thing<'a> {
    fn of(step: &'a Step) -> Self {
        match step {
            Step::CreateLink { name, .. }
            | Step::DeleteLink { name }
            | Step::SetAttrs { name, .. }
            | Step::SetUp { name, .. }
            | Step::SetController { name, .. }
            | Step::SetAlias { name, .. }
            | Step::AddAltName { name, .. }
            | Step::RemoveAltName { name, .. }
            | Step::SetFeatures { name, .. } => Self::Link(*name),
            Step::AddAddress { name, address } | Step::RemoveAddress { name, address } => {
                Self::Address(*name, address.ip, address.prefix_len)
            }
            Step::SetVlans { name, .. } => Self::Vlans(*name),
            Step::AddFdb { name, key, .. } | Step::RemoveFdb { name, key, .. } => Self::Fdb(*name, *key),
            Step::AddNeighbour { name, neighbour } | Step::RemoveNeighbour { name, neighbour } => {
                Self::Neighbour(*name, neighbour.ip)
            }
            Step::AddMirror { name, key, .. } | Step::RemoveMirror { name, key, .. } => Self::Mirror(*name, *key),
            Step::AddRoute(route) | Step::ReplaceRoute(route) | Step::RemoveRoute(route) => Self::Route(route.key()),
            Step::AddRule(rule) | Step::RemoveRule(rule) => Self::Rule(&rule.key),
            Step::Set(setting) => Self::Setting(setting.key()),
            Step::ChangeRouting(_) => Self::Routing,
        }
    }

    /// Whether the thing is on the host now.
    fn exists(self, observed: &Observed) -> bool {
        let link = |name: IfName| observed.links.get(&name);
        match self {
            Self::Link(name) => link(name).is_some(),
            Self::Address(name, ip, len) => {
                link(name).is_some_and(|link| link.addresses.iter().any(|address| address.key() == (ip, len)))
            }
            Self::Vlans(name) => link(name).is_some_and(|link| !link.vlans.is_empty()),
            Self::Fdb(name, key) => link(name).is_some_and(|link| link.fdb.contains_key(&key)),
            Self::Neighbour(name, ip) => {
                link(name).is_some_and(|link| link.neighbours.iter().any(|neighbour| neighbour.ip == ip))
            }
            Self::Mirror(name, key) => link(name).is_some_and(|link| link.mirrors.contains_key(&key)),
            Self::Route(key) => observed.routes.contains_key(&key),
            Self::Rule(key) => observed.rules.contains_key(key),
            Self::Setting(_) | Self::Routing => true,
        }
    }
}

/// Whether a step puts exactly the value there that the host has now.
fn is_restoring(step: &Step, observed: &Observed) -> bool {
    let link = |name: &IfName| observed.links.get(name);
    match step {
        Step::AddAddress { name, address } => link(name).is_some_and(|link| link.addresses.contains(address)),
        Step::AddFdb { name, key, entry } => link(name).is_some_and(|link| link.fdb.get(key) == Some(entry)),
        Step::AddNeighbour { name, neighbour } => link(name).is_some_and(|link| link.neighbours.contains(neighbour)),
        Step::AddMirror { name, key, mirror } => link(name).is_some_and(|link| link.mirrors.get(key) == Some(mirror)),
        Step::SetVlans { name, add, .. } => link(name).is_some_and(|link| link.vlans == *add),
        Step::AddRoute(route) | Step::ReplaceRoute(route) => observed.routes.get(&route.key()) == Some(route),
        Step::AddRule(rule) => observed.rules.get(&rule.key) == Some(&rule.protocol),
        Step::Set(setting) => observed.settings.shows(setting),
        // Links are reported as a whole, and what goes is not put back.
        _ => false,
    }
}

impl<'a> Entry<'a> {
    fn steps(&self) -> impl DoubleEndedIterator<Item = &'a PlannedStep> {
        std::iter::once(self.first).chain(self.more.iter().copied())
    }

    fn last(&self) -> &'a Step {
        &self.more.last().unwrap_or(&self.first).step
    }

    fn origin(&self) -> Option<&'a Origin> {
        self.steps().find_map(|step| step.origin.as_ref())
    }

    fn mark(&self, observed: &Observed) -> Mark {
        let existed = self.thing.exists(observed);
        if let Thing::Link(_) = self.thing {
            let created =
                self.comes_with.is_some() || self.steps().any(|step| matches!(step.step, Step::CreateLink { .. }));
            let deleted = self.steps().any(|step| matches!(step.step, Step::DeleteLink { .. }));
            return match (created, existed) {
                (false, _) if deleted => Mark::Remove,
                (true, false) => Mark::Add,
                (true, true) => Mark::Replace,
                (false, _) => Mark::Change,
            };
        }
        match (existed, self.last().is_removal()) {
            (_, true) => Mark::Remove,
            (false, false) => Mark::Add,
            (true, false) if is_restoring(self.last(), observed) => Mark::Restore,
            (true, false) => Mark::Change,
        }
    }

    fn text(&self, observed: &Observed) -> String {
        match (self.thing, self.last()) {
            (Thing::Link(name), _) => {
                let steps: Vec<&PlannedStep> = self.steps().collect();
                let before = observed.links.get(&name);
                match self.comes_with.filter(|_| before.is_none()) {
                    Some(end) => format!("link {name} ({})", join(&other_end_made(end, &LinkSteps::of(&steps)))),
                    None => link_text(name, self.mark, &steps, before),
                }
            }
            (_, Step::ReplaceRoute(route)) => match observed.routes.get(&route.key()) {
                Some(before) => format!("route {before} -> {route}"),
                None => self.last().to_string(),
            },
            (_, step) => step.to_string(),
        }
    }
}

/// A link's steps, gathered: how it was made, if it was, and what is reported of it after that.
struct LinkSteps<'a> {
    created: Option<(&'a LinkKind, Attrs)>,
    attrs: Attrs,
    up: Option<bool>,
    controller: DesiredController,
    other: Vec<String>,
}

impl<'a> LinkSteps<'a> {
    fn of(steps: &[&'a PlannedStep]) -> Self {
        let mut all = Self {
            created: None,
            attrs: Attrs::new(),
            up: None,
            controller: DesiredController::Keep,
            other: Vec::new(),
        };
        for step in steps {
            match &step.step {
                Step::CreateLink { kind, attrs, controller, up, .. } => {
                    all.created = Some((kind, attrs.clone()));
                    all.controller = controller.map_or(all.controller, DesiredController::Of);
                    all.up = Some(*up);
                }
                // Shown by the mark.
                Step::DeleteLink { .. } => {}
                Step::SetAttrs { attrs, .. } => attrs.iter().for_each(|(a, v)| all.attrs.require(a, v.clone())),
                Step::SetUp { up, .. } => all.up = Some(*up),
                Step::SetController { controller, .. } => {
                    all.controller = controller.map_or(DesiredController::Detached, DesiredController::Of);
                }
                Step::SetAlias { alias, .. } => {
                    let text =
                        alias.as_ref().map_or_else(|| "no alias".to_owned(), |a| format!("alias {:?}", a.as_str()));
                    all.other.push(text);
                }
                Step::AddAltName { alt_name, .. } => all.other.push(format!("+further name {alt_name}")),
                Step::RemoveAltName { alt_name, .. } => all.other.push(format!("-further name {alt_name}")),
                Step::SetFeatures { features, .. } => {
                    all.other
                        .extend(features.iter().map(|(key, on)| format!("{key} {}", if *on { "on" } else { "off" })));
                }
                other => debug_assert!(false, "{other} is not gathered by link"),
            }
        }
        all
    }
}

fn link_text(name: IfName, mark: Mark, steps: &[&PlannedStep], before: Option<&Link>) -> String {
    let steps = LinkSteps::of(steps);
    match (mark, &steps.created, before) {
        (Mark::Remove, _, Some(before)) => match before.attrs.link(Attr::VethPeer) {
            Some(peer) => format!("link {name} ({}) and its peer {peer}", before.kind),
            None => format!("link {name} ({})", before.kind),
        },
        (_, Some((kind, attrs)), None) => format!("link {name} ({})", join(&made(kind, attrs, &steps))),
        (_, Some((kind, attrs)), Some(before)) => {
            let mut all = attrs.clone();
            steps.attrs.iter().for_each(|(attr, value)| all.require(attr, value.clone()));
            let changed = changes(&all.unmet_by(&before.attrs), &steps, before);
            let why = if changed.is_empty() { String::new() } else { format!(", {}", join(&changed)) };
            format!("link {name} ({kind}{why})")
        }
        (_, None, Some(before)) => format!("link {name}: {}", join(&changes(&steps.attrs, &steps, before))),
        (_, None, None) => format!("link {name}"),
    }
}

/// What a new link is made as. Its alias is left out: every link of ours has one.
fn made(kind: &LinkKind, attrs: &Attrs, steps: &LinkSteps<'_>) -> Vec<String> {
    let mut words = vec![kind.to_string()];
    let given = attrs.iter().chain(steps.attrs.iter());
    words.extend(given.map(|(attr, value)| format!("{attr} {}", value.display(attr))));
    if let DesiredController::Of(controller) = steps.controller {
        words.push(format!("port of {controller}"));
    }
    // A link that is made down may still come up by itself, with the link that it stands on.
    if steps.up == Some(true) {
        words.push("up".to_owned());
    }
    words.extend(steps.other.iter().filter(|word| !word.starts_with("alias")).cloned());
    words
}

/// What the other end of a new pair is made as.
fn other_end_made(end: IfName, steps: &LinkSteps<'_>) -> Vec<String> {
    let peer = [(Attr::VethPeer, Value::Link(end))].into_iter().collect();
    made(&LinkKind::Veth, &peer, steps)
}

/// What becomes different on a link that exists.
fn changes(attrs: &Attrs, steps: &LinkSteps<'_>, before: &Link) -> Vec<String> {
    let show = |attr: Attr, value: Option<Value>| value.map_or_else(|| "none".to_owned(), |value| value.display(attr));
    let mut words: Vec<String> = attrs
        .iter()
        .map(|(attr, value)| format!("{attr} {} -> {}", show(attr, before.attrs.get(attr)), value.display(attr)))
        .collect();
    if let Some(up) = steps.up {
        let word = |up: bool| if up { "up" } else { "down" };
        if up != before.up {
            words.push(format!("{} -> {}", word(before.up), word(up)));
        } else if steps.created.is_none() {
            words.push("down for a moment".to_owned());
        }
    }
    let controller = match steps.controller {
        DesiredController::Keep => before.controller,
        DesiredController::Detached => None,
        DesiredController::Of(controller) => Some(controller),
    };
    if controller != before.controller {
        let word = |of: Option<IfName>| of.map_or_else(|| "no port".to_owned(), |of| format!("port of {of}"));
        words.push(format!("{} -> {}", word(before.controller), word(controller)));
    }
    if steps.created.is_none() {
        words.extend(steps.other.iter().cloned());
    }
    words
}

fn join(words: &[String]) -> String {
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use netloom_model::{Address, Alias, Host};
    use netloom_types::Protocol;

    use super::*;

    fn name(text: &str) -> IfName {
        text.parse().unwrap()
    }

    fn plan(steps: Vec<Step>) -> Plan {
        Plan { steps: steps.into_iter().map(|step| PlannedStep { step, undo: Vec::new(), origin: None }).collect() }
    }

    fn address(text: &str) -> Address {
        Address::new(text.parse().unwrap(), 24, Protocol::NETLOOM)
    }

    fn vlan(id: u64) -> Attrs {
        [(Attr::Base, Value::Link(name("eth0"))), (Attr::VlanId, Value::Int(id))].into_iter().collect()
    }

    fn text(steps: Vec<Step>, observed: &Observed) -> String {
        Preview::of(&plan(steps), observed).text(Output::new(false), true)
    }

    fn create(link: &str, attrs: Attrs) -> Step {
        Step::CreateLink { name: name(link), kind: LinkKind::Vlan, attrs, controller: None, up: true }
    }

    #[test]
    fn a_new_link_is_one_line_and_its_address_another() {
        let steps = vec![
            create("eth0.5", vlan(5)),
            Step::SetAlias { name: name("eth0.5"), alias: Some(Alias::ours([&"a.yaml".into()], None)) },
            Step::AddAddress { name: name("eth0.5"), address: address("192.0.2.1") },
        ];
        assert_eq!(
            text(steps, &Observed::default()),
            "  + link eth0.5 (vlan, base-iface eth0, id 5, up)\n  + address 192.0.2.1/24 on eth0.5\nPlan: 2 to add, 0 to change, 0 to remove.\n"
        );
    }

    #[test]
    fn a_link_recreated_tells_why_and_what_is_put_back() {
        let mut before = Link::new(name("eth0.5"), LinkKind::Vlan);
        before.attrs = vlan(5);
        before.up = true;
        before.addresses.push(address("192.0.2.1"));
        let host = Host { links: [(before.name, before)].into(), ..Host::default() };
        let observed = Observed { host, ..Observed::default() };
        let steps = vec![
            Step::DeleteLink { name: name("eth0.5") },
            create("eth0.5", vlan(6)),
            Step::AddAddress { name: name("eth0.5"), address: address("192.0.2.1") },
        ];
        assert_eq!(
            text(steps, &observed),
            "-/+ link eth0.5 (vlan, id 5 -> 6)\n    address 192.0.2.1/24 on eth0.5 (put back as it was)\n\
             Plan: 0 to add, 1 to change (1 recreated), 0 to remove.\n"
        );
    }

    #[test]
    fn several_steps_on_one_link_are_one_change() {
        let mut before = Link::new(name("bond0"), LinkKind::Bond);
        before.up = true;
        let host = Host { links: [(before.name, before)].into(), ..Host::default() };
        let observed = Observed { host, ..Observed::default() };
        let steps = vec![
            Step::SetUp { name: name("bond0"), up: false },
            Step::SetAttrs {
                name: name("bond0"),
                kind: LinkKind::Bond,
                attrs: [(Attr::BondLacpRate, Value::Int(1))].into_iter().collect(),
            },
            Step::SetUp { name: name("bond0"), up: true },
        ];
        assert_eq!(
            text(steps, &observed),
            "  ~ link bond0: lacp_rate slow -> fast, down for a moment\nPlan: 0 to add, 1 to change, 0 to remove.\n"
        );
    }

    #[test]
    fn both_ends_of_a_pair_come_and_go() {
        let peer = |of: &str| -> Attrs { [(Attr::VethPeer, Value::Link(name(of)))].into_iter().collect() };
        let make = |up: bool| Step::CreateLink {
            name: name("va"),
            kind: LinkKind::Veth,
            attrs: peer("vb"),
            controller: None,
            up,
        };
        let up = Step::SetUp { name: name("vb"), up: true };
        assert_eq!(
            text(vec![make(true), up.clone()], &Observed::default()),
            "  + link va (veth, peer vb, up)\n  + link vb (veth, peer va, up)\nPlan: 2 to add, 0 to change, 0 to remove.\n"
        );
        let end =
            |link: &str, other: &str| Link { attrs: peer(other), up: true, ..Link::new(name(link), LinkKind::Veth) };
        let links = [end("va", "vb"), end("vb", "va")].map(|link| (link.name, link));
        let host = Host { links: links.into_iter().collect(), ..Host::default() };
        let observed = Observed { host, ..Observed::default() };
        let remove = Step::DeleteLink { name: name("vb") };
        assert_eq!(
            text(vec![remove.clone()], &observed),
            "  - link vb (veth) and its peer va\nPlan: 0 to add, 0 to change, 1 to remove.\n"
        );
        let again = text(vec![remove, make(true), up], &observed);
        assert!(again.contains("-/+ link vb") && !again.contains("  - link"), "{again}");
    }
}
