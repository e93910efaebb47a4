//! From a document to a desired state: names resolved, rules checked, lists turned into the desired state of single
//! links. Nothing on a host is touched before this has succeeded.
//!
//! ```text
//! names     which link does each entry mean
//! links     the desired link of each entry
//! absent    what goes with a link that goes
//! ports     port lists become part of the ports
//! bridge    VLANs of bridge ports
//! check     everything that must hold of links afterwards
//! routes, rules, system
//! ```
//!
//! All refusals are collected; a desired state only comes out when there is none.

mod absent;
mod after;
mod bond;
mod bridge;
mod check;
mod ip;
mod kept;
mod kinds;
mod links;
mod names;
mod ports;
mod routes;
mod routes_absent;
mod rules;
mod topology;

use std::{
    cell::OnceCell,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use ipnet::IpNet;
use netloom_model::{
    Adoption, DesiredLink, DesiredSetting, HostState, Observed, Origin, Resolver, Setting, SettingKey,
};
use netloom_types::{IfName, Protocol};

use crate::{
    document::{Document, Hostname, Interface},
    errors::{DocumentError, Refusal, Warning, about},
};

pub(crate) use bridge::default_vlans;
pub(crate) use routes_absent::matches as absent_route_matches;
pub(crate) use rules::matches as absent_rule_matches;

/// For whom a document is resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolveOptions {
    /// Whether the document may take over links that somebody else made.
    pub adoption: Adoption,
    /// The protocol number of addresses, routes and rules that are new.
    pub protocol: Protocol,
    /// Set when the document is all that one source wants.
    pub whole_of: Option<Arc<str>>,
}

impl Default for ResolveOptions {
    fn default() -> Self {
        Self { adoption: Adoption::ByName, protocol: Protocol::NETLOOM, whole_of: None }
    }
}

/// What a document asks for on one host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// The desired state.
    pub state: HostState,
    /// What a person should know although it stops nothing.
    pub warnings: Vec<Warning>,
}

impl Document {
    /// Lays the document over the host that was observed.
    ///
    /// What the document does not name stays as it is; lists inside of an interface replace; routes
    /// and rules are added, and taken away only by entries that say so.
    pub fn resolve(&self, observed: &Observed, options: &ResolveOptions) -> Result<Resolved, DocumentError> {
        let mut merge = Merge::new(self, observed, options);
        merge.names();
        merge.links();
        merge.absences();
        merge.ports();
        merge.bridges();
        merge.check();
        let (routes, absent_routes) = merge.routes();
        let (rules, absent_rules) = merge.rules();
        if !merge.refusals.is_empty() {
            return Err(DocumentError::new(self.places.source.clone(), merge.refusals));
        }
        let state = HostState {
            settings: merge.settings(),
            routing: Vec::new(),
            links: merge.links,
            routes,
            absent_routes,
            rules,
            absent_rules,
            whole_of: options.whole_of.clone(),
            part_of: None,
        };
        Ok(Resolved { state, warnings: merge.warnings })
    }
}

/// A merge in progress.
struct Merge<'a> {
    doc: &'a Document,
    observed: &'a Observed,
    options: &'a ResolveOptions,
    refusals: Vec<Refusal>,
    warnings: Vec<Warning>,
    /// What a name in the document means, where that is another name.
    names: BTreeMap<IfName, IfName>,
    /// The entry of each link.
    entries: BTreeMap<IfName, usize>,
    /// Links that the document wants left alone.
    ignored: BTreeSet<IfName>,
    /// Links whose old self goes and whose name a link of another kind takes.
    replaced: BTreeSet<IfName>,
    links: BTreeMap<IfName, DesiredLink>,
    /// Prefixes of links, once a route needs them.
    prefixes: OnceCell<Vec<(IpNet, IfName)>>,
}

impl<'a> Merge<'a> {
    fn new(doc: &'a Document, observed: &'a Observed, options: &'a ResolveOptions) -> Self {
        Self {
            doc,
            observed,
            options,
            refusals: Vec::new(),
            warnings: Vec::new(),
            names: BTreeMap::new(),
            entries: BTreeMap::new(),
            ignored: BTreeSet::new(),
            replaced: BTreeSet::new(),
            links: BTreeMap::new(),
            prefixes: OnceCell::new(),
        }
    }

    fn refuse(&mut self, path: impl Into<String>, reason: &'static str, message: impl Into<String>) {
        let path = path.into();
        let line = self.doc.places.line(&path);
        let message = about(self.doc.link_at(&path), message.into());
        self.refusals.push(Refusal { path, line, reason, message });
    }

    fn warn(&mut self, path: impl Into<String>, message: impl Into<String>) {
        let path = path.into();
        let line = self.doc.places.line(&path);
        let document = self.doc.places.source.clone();
        let message = about(self.doc.link_at(&path), message.into());
        self.warnings.push(Warning { document, path, line, message });
    }

    fn origin(&self, path: impl Into<String>) -> Origin {
        let path = path.into();
        let line = self.doc.places.line(&path);
        Origin::new(self.doc.places.source.clone(), path, line)
    }

    /// The real name of a link that the document calls `name`.
    fn real(&self, name: IfName) -> IfName {
        self.names.get(&name).copied().unwrap_or(name)
    }

    /// The entry of a link and its path.
    fn entry(&self, name: IfName) -> Option<(&'a Interface, String)> {
        let &index = self.entries.get(&name)?;
        Some((&self.doc.interfaces[index], format!("interfaces[{index}]")))
    }

    /// Entries with their index, in the order of the document; ignored ones left out.
    fn entries_in_order(&self) -> Vec<(usize, IfName, &'a Interface)> {
        let mut list: Vec<_> =
            self.entries.iter().map(|(name, &index)| (index, *name, &self.doc.interfaces[index])).collect();
        list.sort_unstable_by_key(|(index, ..)| *index);
        list
    }

    /// What is desired of a link, made when the document does not name the link itself.
    fn desired_for(&mut self, name: IfName, path: &str) -> Option<&mut DesiredLink> {
        if !self.links.contains_key(&name) {
            let link = self.observed.links.get(&name)?;
            let mut desired = DesiredLink::new(name, link.kind.clone(), self.origin(path));
            desired.adoption = self.options.adoption;
            self.links.insert(name, desired);
        }
        self.links.get_mut(&name)
    }

    fn settings(&self) -> BTreeMap<SettingKey, DesiredSetting> {
        let resolver = self.doc.dns.as_ref().map(|dns| Resolver {
            servers: dns.server.clone(),
            search: dns.search.clone(),
            options: dns.options.clone(),
            file: None,
        });
        let Hostname { running, config } = &self.doc.hostname;
        let wanted = [
            (resolver.map(Setting::Resolver), "dns-resolver.config"),
            (running.clone().map(Setting::HostnameRunning), "hostname"),
            (config.clone().map(Setting::HostnameConfig), "hostname"),
        ];
        let desired = |(setting, path): (Option<Setting>, &str)| {
            setting.map(|setting| (setting.key(), DesiredSetting { setting, origin: self.origin(path) }))
        };
        wanted.into_iter().filter_map(desired).collect()
    }
}
