//! Documents about a change: what would change, and what undoes it.
//!
//! Both come from the resolved desired state, so what a document implies (ports that leave, children that go)
//! is in them too. A list that changes is given in full; what does not change is left out.

mod link;
mod ports;
mod routes;
mod rules;

use netloom_model::{DesiredLink, HostState, Link, Observed, Presence, SettingKey};

use self::ports::Ports;
use crate::{
    document::{Dns, Document, Hostname, Interface, State},
    errors::DocumentError,
    resolve::ResolveOptions,
    show::View,
};

/// Which end of a change a document describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    /// The values that are wanted.
    After,
    /// The values that are there before.
    Before,
}

/// The parts of `desired` that the host does not fulfil.
pub fn diff(desired: &Document, observed: &Observed, options: &ResolveOptions) -> Result<Document, DocumentError> {
    let state = desired.resolve(observed, options)?.state;
    Ok(describe(desired, &state, observed, Side::After))
}

/// The document that undoes `desired` on a host that was like `before`.
pub fn revert(desired: &Document, before: &Observed, options: &ResolveOptions) -> Result<Document, DocumentError> {
    let state = desired.resolve(before, options)?.state;
    Ok(describe(desired, &state, before, Side::Before))
}

/// What a desired state changes on a link that is there, as an entry that says nothing else.
pub(crate) fn unmet(wanted_link: &DesiredLink, link: &Link, view: &View<'_>) -> Interface {
    link::changed(wanted_link, link, view, Side::After)
}

fn describe(desired: &Document, state: &HostState, observed: &Observed, side: Side) -> Document {
    let view = View::new(observed);
    let ports = Ports::of(state, observed, side);
    let mut wanted_links: Vec<&DesiredLink> = state.links.values().collect();
    wanted_links.sort_by_key(|wanted_link| (wanted_link.origin.line, wanted_link.name));
    let mut document = Document { places: desired.places.clone(), ..Document::default() };
    document.places.tree = None;
    for wanted_link in wanted_links {
        document.interfaces.extend(entries(&view, wanted_link, &ports, side));
    }
    // Ports come and go without a word about their controller.
    for name in ports.changed() {
        if !state.links.contains_key(&name)
            && let Some(link) = observed.links.get(&name)
        {
            let mut entry = Interface { kind: Some(link.kind.clone()), ..Interface::new(name) };
            ports.put(&mut entry);
            document.interfaces.push(entry);
        }
    }
    document.routes = routes::entries(state, observed, side);
    document.rules = rules::entries(state, observed, side);
    files(&mut document, state, observed, side);
    document
}

fn entries(view: &View<'_>, wanted_link: &DesiredLink, ports: &Ports<'_>, side: Side) -> Vec<Interface> {
    let now = view.observed.links.get(&wanted_link.name);
    let gone = |kind: &netloom_model::LinkKind| Interface {
        kind: Some(kind.clone()),
        state: Some(State::Absent),
        ..Interface::new(wanted_link.name)
    };
    match (side, wanted_link.presence, now) {
        (_, Presence::Absent, None) => Vec::new(),
        (Side::After, Presence::Absent, Some(link)) => vec![gone(&link.kind)],
        (Side::Before, Presence::Absent, Some(link)) => vec![view.interface(link).without_facts()],
        (Side::Before, Presence::Present, None) => vec![gone(&wanted_link.kind)],
        (Side::After, Presence::Present, None) => vec![link::wanted(wanted_link, ports)],
        (side, Presence::Present, Some(link)) if link.kind != wanted_link.kind => match side {
            Side::After => vec![gone(&link.kind), link::wanted(wanted_link, ports)],
            Side::Before => vec![gone(&wanted_link.kind), view.interface(link).without_facts()],
        },
        (side, Presence::Present, Some(link)) => {
            let mut entry = link::changed(wanted_link, link, view, side);
            ports.put(&mut entry);
            if entry.says_nothing() { Vec::new() } else { vec![entry] }
        }
    }
}

fn files(document: &mut Document, state: &HostState, observed: &Observed, side: Side) {
    let (now, mut then) = (&observed.settings, observed.settings.clone());
    state.settings.values().for_each(|wanted| then.set(wanted.setting.clone()));
    let differs = |key: SettingKey| now.get(key) != then.get(key);
    let shown = match side {
        Side::After => &then,
        Side::Before => now,
    };
    if differs(SettingKey::Resolver) {
        let resolver = shown.resolver();
        document.dns = Some(Dns {
            server: resolver.servers.clone(),
            search: resolver.search.clone(),
            options: resolver.options.clone(),
        });
    }
    document.hostname = Hostname {
        // A running host name cannot be taken away, only changed.
        running: Some(shown.hostname_running())
            .filter(|name| differs(SettingKey::HostnameRunning) && !name.is_empty())
            .map(str::to_owned),
        config: differs(SettingKey::HostnameConfig).then(|| shown.hostname_config().to_owned()),
    };
}
