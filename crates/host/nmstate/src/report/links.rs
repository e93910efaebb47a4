//! The links of a report: as much of each as fits.
//!
//! The details go in steps, and the first that fits is taken: everything; everything but what a VLAN
//! has from its base; like ones folded; long lists cut, addresses of folded ones counted; the rest
//! only counted by type. Links that are no virtual ones, and those that are listened on, are never
//! folded and are the last to go.

use std::collections::{BTreeMap, BTreeSet};

use netloom_model::{Attr, Link, LinkKind, Observed, Source};
use netloom_types::IfName;
use serde_json::{Map, Value, json};

use super::{Heard, ReportOptions, fold, order_of, size};
use crate::{document::Interface, print, raw::Raw, show::View};

/// What is reported of, and with what beside.
pub(super) struct Scope<'a> {
    pub(super) observed: &'a Observed,
    pub(super) heard: &'a BTreeMap<IfName, Heard>,
    pub(super) containers: &'a BTreeSet<IfName>,
}

/// Entries, and what stands for those that are not there.
pub(super) struct Reported {
    pub(super) entries: Vec<Value>,
    pub(super) summary: Option<Value>,
}

/// The longest list of one entry once lists are cut, in bytes.
const LONGEST_LIST: usize = 4096;

/// The links, in at most five eighths of the whole report.
pub(super) fn report(scope: &Scope<'_>, options: &ReportOptions) -> Reported {
    let budget = options.max_bytes / 8 * 5;
    let reported = scope.observed.links.len() - scope.containers.len();
    let full = (reported <= options.few).then(|| Rendering::draw(scope, Detail::Full));
    if let Some(rendering) = full.filter(|rendering| rendering.bytes() <= budget) {
        return rendering.reported(scope, reported);
    }
    let mut rendering = Rendering::draw(scope, Detail::Lines);
    let steps: [&dyn Fn(&mut Rendering); 3] =
        [&|rendering| rendering.fold(scope), &|rendering| rendering.cut(), &|rendering| rendering.drop_to(budget)];
    for step in steps {
        if rendering.bytes() <= budget {
            break;
        }
        step(&mut rendering);
    }
    rendering.reported(scope, reported)
}

/// How much is given of each link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Detail {
    /// Everything that is known.
    Full,
    /// Without what follows from the base of a VLAN, and without what is given twice.
    Lines,
}

/// The links as they will be reported.
struct Rendering {
    entries: Vec<Value>,
    groups: Vec<Value>,
    summary: Map<String, Value>,
}

impl Rendering {
    fn draw(scope: &Scope<'_>, detail: Detail) -> Self {
        let view = View::new(scope.observed);
        let links = scope.observed.links.values().filter(|link| !scope.containers.contains(&link.name));
        let entries = links.map(|link| entry(scope, &view, link, detail)).collect();
        let mut summary = Map::new();
        if detail == Detail::Lines {
            let without = ["ifIndex", "mac-address and mtu of the base"];
            summary.insert("vlans-without".into(), without.as_slice().into());
        }
        Self { entries, groups: Vec::new(), summary }
    }

    /// Says once what is alike.
    fn fold(&mut self, scope: &Scope<'_>) {
        let may = |entry: &Value| name_of(entry).parse().is_ok_and(|name| is_like_others(scope, name));
        let folded = fold::fold(std::mem::take(&mut self.entries), may);
        (self.entries, self.groups) = (folded.single, folded.groups);
        self.sort();
    }

    /// Cuts long lists, and only counts the addresses of folded links.
    fn cut(&mut self) {
        fold::count_addresses(&mut self.groups);
        let mut cuts = Vec::new();
        for entry in &mut self.entries {
            let cut = size::shorten(entry, LONGEST_LIST);
            cuts.extend(cut.into_iter().map(|cut| json!({"interface": name_of(entry), "cut": Value::from(cut)})));
        }
        self.summary.extend((!cuts.is_empty()).then(|| ("cut".to_owned(), cuts.into())));
    }

    fn sort(&mut self) {
        self.entries.sort_by(|a, b| name_of(a).cmp(name_of(b)));
    }

    fn bytes(&self) -> usize {
        size::bytes(&self.entries) + size::bytes(&self.groups) + size::bytes(&self.summary)
    }

    /// Takes away until the rest fits, and counts what went.
    fn drop_to(&mut self, budget: usize) {
        let share = budget / 4;
        let (groups, fit) = (self.groups.len(), size::fitting(&self.groups, share));
        self.groups.truncate(fit);
        self.summary.extend((fit < groups).then(|| ("folded-more".to_owned(), (groups - fit).into())));
        if let Some(cuts) = self.summary.get_mut("cut").and_then(Value::as_array_mut) {
            let (total, fit) = (cuts.len(), size::fitting(cuts, share));
            cuts.truncate(fit);
            self.summary.extend((fit < total).then(|| ("cut-more".to_owned(), (total - fit).into())));
        }
        // Room for the counts by type: there are some dozen of those.
        let mut left = budget.saturating_sub(size::bytes(&self.summary) + size::bytes(&self.groups) + 4096);
        let mut dropped: BTreeMap<String, usize> = BTreeMap::new();
        self.entries.sort_by(|a, b| rank(a).cmp(&rank(b)));
        self.entries.retain(|entry| {
            let rest = left.checked_sub(size::bytes(entry) + 1);
            left = rest.unwrap_or(left);
            if rest.is_none() {
                *dropped.entry(entry["type"].as_str().unwrap_or_default().to_owned()).or_default() += 1;
            }
            rest.is_some()
        });
        self.sort();
        let count = |(kind, count): (String, usize)| json!({"type": kind, "count": count});
        self.summary.insert("only-counted".into(), dropped.into_iter().map(count).collect());
    }

    fn reported(mut self, scope: &Scope<'_>, total: usize) -> Reported {
        if !self.summary.is_empty() {
            self.summary.insert("total".into(), total.into());
            self.summary.insert("listed".into(), self.entries.len().into());
        }
        self.summary.extend((!self.groups.is_empty()).then(|| ("folded".to_owned(), self.groups.into())));
        if !scope.containers.is_empty() {
            self.summary.insert("of-containers-at-least".into(), order_of(scope.containers.len()).into());
        }
        let summary = (!self.summary.is_empty()).then(|| self.summary.into());
        Reported { entries: self.entries, summary }
    }
}

/// The kind of object that holds a node's desired state. That and what the controller has for the node are worked out
/// from what is reported here, so what they made must be reported from what is there without them.
const STATE: (&str, &str) = ("nmstate.io", "NodeNetworkState");
/// What `madeFor` says of links that came with what the controller has for the node: the kind of object that holds it.
pub const MADE_FOR_CONFIG: &str = "NodeNetworkConfig";

/// The object of the node that a link was made for, by who asked for it. The same on every link that it is on, or links
/// that are alike could not be folded.
fn made_for(owners: &[Source]) -> Option<String> {
    let is_config = |owner: &Source| owner.as_object().is_some() && !owner.is_of(STATE);
    match owners {
        owners if owners.iter().any(is_config) => Some(MADE_FOR_CONFIG.to_owned()),
        [state] if state.is_of(STATE) => Some(state.to_string()),
        _ => None,
    }
}

/// Whether a link is one of those that there are many of.
fn is_like_others(scope: &Scope<'_>, name: IfName) -> bool {
    let link = scope.observed.links.get(&name);
    link.is_some_and(|link| link.kind.is_virtual()) && !scope.heard.contains_key(&name)
}

/// What goes last comes first: links that nobody here made, and those with neighbours.
fn rank(entry: &Value) -> (bool, &str) {
    let stays = matches!(entry["type"].as_str(), Some("ethernet" | "loopback" | "bond")) || entry.get("lldp").is_some();
    (!stays, name_of(entry))
}

fn name_of(entry: &Value) -> &str {
    entry.get("name").and_then(Value::as_str).unwrap_or_default()
}

fn entry(scope: &Scope<'_>, view: &View<'_>, link: &Link, detail: Detail) -> Value {
    let mut interface = view.interface(link);
    match detail {
        Detail::Full => put_facts(&mut interface, scope.observed, link),
        Detail::Lines => shorten(&mut interface, scope.observed, link),
    }
    // Whoever decides what a node shall have must not take over a link that somebody else made.
    let alias = link.alias.as_ref().filter(|alias| alias.is_ours());
    interface.facts.extend(alias.map(|_| ("madeBy", "netloom".into())));
    let made_for = alias.and_then(|alias| made_for(&alias.owners()));
    interface.facts.extend(made_for.map(|object| ("madeFor", Raw::text(object))));
    let heard = scope.heard.get(&link.name);
    interface.lldp = heard.map(|_| true);
    let mut entry = print::interface_value(&interface);
    if let Some(neighbours) = heard.and_then(|heard| heard.neighbours.clone()) {
        entry["lldp"]["neighbors"] = neighbours.into();
    }
    entry
}

/// What follows from the rest, for readers who know links by those names.
fn put_facts(interface: &mut Interface, observed: &Observed, link: &Link) {
    interface.facts.insert("adminStatus", if link.up { "up" } else { "down" }.into());
    let burnt_in = observed.facts.get(&link.name).and_then(|facts| facts.permanent_mac);
    let physical = burnt_in.or_else(|| link.attrs.mac(Attr::Mac)).map(Raw::text);
    interface.facts.extend(physical.map(|mac| ("physAddress", mac)));
    interface.facts.extend(link.base().map(|base| ("lowerLayerInterface", Raw::text(base))));
    let above = link.controller.filter(|name| observed.links.contains_key(name));
    interface.facts.extend(above.map(|name| ("higherLayerInterface", Raw::text(name))));
}

/// Leaves out what a VLAN has like its base.
fn shorten(interface: &mut Interface, observed: &Observed, link: &Link) {
    let base = link.base().filter(|_| link.kind == LinkKind::Vlan).and_then(|name| observed.links.get(&name));
    let Some(base) = base else { return };
    interface.facts.remove("ifIndex");
    if interface.facts.get("linkStatus") == Some(&Raw::from("up")) {
        interface.facts.remove("linkStatus");
    }
    for attr in [Attr::Mac, Attr::Mtu] {
        if base.attrs.get(attr) == link.attrs.get(attr) {
            interface.attrs.remove(attr);
        }
    }
}
