//! The report of a host: what `show` says, in a document that always fits into a Kubernetes object.
//!
//! A host may have thousands of links and tens of thousands of routes; an object may not. Up to some
//! hundred of each, every one is an entry. Beyond that, what is alike is listed once, with the numbers
//! or destinations that it is so for, and only at the very end merely counted. Whatever is not an
//! entry of its own is reported in `summary`, with how many there are and where to see them all.
//! [`unfold`] gives back the links of a summary, so whoever matches links loses none.
//!
//! Equal hosts have equal reports, byte for byte. Nothing is in a report that changes by itself: no
//! counters, no life times, and of what containers and routing daemons add and remove all the time
//! only the order of magnitude.

mod fold;
mod links;
mod numbers;
mod routes;
mod size;

use std::collections::{BTreeMap, BTreeSet};

use netloom_model::{LinkKind, Observed};
use netloom_types::IfName;
use serde_json::{Map, Value};

use crate::{document::Document, print, show};

pub use fold::unfold;
pub use links::MADE_FOR_CONFIG;

/// Where a person sees what a report only counts.
const WHOLE: &str = "netloom state show";

/// How much a report may say, and of what.
#[derive(Debug, Clone)]
pub struct ReportOptions {
    /// The most that it may take as JSON without spaces.
    pub max_bytes: usize,
    /// Up to so many links, and so many routes, each is an entry with everything that is known of it.
    pub few: usize,
    /// Names (`*` any text, `?` any character) that container runtimes give their links. Such a link
    /// is theirs when it is one end of a pair whose other end is in another network namespace, and
    /// nobody here made it or wants it.
    pub container_links: Vec<String>,
    /// Links that are entries whatever they are called: those that a desired state names.
    pub keep: BTreeSet<IfName>,
}

impl Default for ReportOptions {
    /// Half of what etcd takes in one request: the other half is the desired state, in the same object.
    fn default() -> Self {
        let container_links = ["veth???????*", "cali???????????", "lxc*", "eni???????????", "azv???????????"];
        Self {
            max_bytes: 768 * 1024,
            few: 500,
            container_links: container_links.map(str::to_owned).into(),
            keep: BTreeSet::new(),
        }
    }
}

/// What was heard on a link that is listened on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Heard {
    /// Who announces itself, each as its list of announcements; none before anybody could be heard.
    pub neighbours: Option<Vec<Value>>,
}

/// The report of a host.
///
/// `heard` has the links that are listened on for neighbours.
pub fn report(observed: &Observed, heard: &BTreeMap<IfName, Heard>, options: &ReportOptions) -> Value {
    let containers = container_links(observed, heard, options);
    let links = links::report(&links::Scope { observed, heard, containers: &containers }, options);
    let routes = routes::report(observed, &containers, options);
    let mut document = rest(observed, options.max_bytes / 8);
    document.insert("capabilities".into(), LinkKind::KNOWN.iter().map(LinkKind::name).collect());
    document.insert("interfaces".into(), links.entries.into());
    let mut summary = Map::new();
    for (key, part) in [("interfaces", links.summary), ("routes", routes.summary), ("rest", document.remove("rest"))] {
        summary.extend(part.map(|part| (key.to_owned(), part)));
    }
    if !routes.entries.is_empty() {
        document.insert("routes".into(), routes.entries.into());
    }
    if !summary.is_empty() {
        summary.insert("see-all".into(), WHOLE.into());
        document.insert("summary".into(), summary.into());
    }
    document.into()
}

/// The links that belong to containers: no report lists them.
pub fn container_links(
    observed: &Observed,
    heard: &BTreeMap<IfName, Heard>,
    options: &ReportOptions,
) -> BTreeSet<IfName> {
    let elsewhere = |name: &IfName| observed.facts.get(name).is_some_and(|facts| facts.elsewhere);
    let called_so = |name: &IfName| options.container_links.iter().any(|p| show::matches(p, name.as_str()));
    let wanted = |name: &IfName| options.keep.contains(name) || heard.contains_key(name);
    let theirs = observed.links.values().filter(|link| link.kind == LinkKind::Veth && !link.is_ours());
    theirs.map(|link| link.name).filter(|name| elsewhere(name) && called_so(name) && !wanted(name)).collect()
}

/// Host name, resolver and rules; a list that does not fit is cut, and `rest` says where.
fn rest(observed: &Observed, budget: usize) -> Map<String, Value> {
    let mut document = print::value_of(&Document::show_settings(observed));
    let cuts = size::shorten(&mut document, budget / 8);
    let Value::Object(mut document) = document else { return Map::new() };
    if !cuts.is_empty() {
        document.insert("rest".into(), cuts.into_iter().map(Value::from).collect());
    }
    document
}

/// A number that stands for all those up to the double of it, so that few of them are seen to change.
fn order_of(count: usize) -> usize {
    if count == 0 { 0 } else { 1 << count.ilog2() }
}
