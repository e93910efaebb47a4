//! From text to a [`Document`]: every value typed and valid on its own, every key known.
//!
//! Takes today's spelling of the format and that of 2018. What needs the host to judge (does the
//! link exist, does the port list agree) is left to `resolve`.

mod interface;
mod ip;
mod layer2;
mod ports;
mod routes;
mod rules;
pub(crate) mod spot;
pub(crate) mod value;

use std::{mem, sync::Arc};

use netloom_model::Source;

use crate::{
    document::{Dns, Document, Hostname, Places},
    errors::{DocumentError, OBJECT, about, reason},
    read::spot::{Fields, Keys, Notes, Spot},
    tree,
};

/// Reads a document; `source` is the name that messages and origins use, such as the file's.
///
/// A text with nothing in it is an empty document. All refusals are reported together, as far as
/// the text can be understood at all.
pub fn parse(source: impl Into<Source>, bytes: &[u8]) -> Result<Document, DocumentError> {
    let source = source.into();
    let refused = |refusals| DocumentError::new(source.clone(), refusals);
    let Some(node) = tree::read(bytes).map_err(|refusal| refused(vec![refusal]))? else {
        return Ok(Document { places: Places { source, tree: None }, ..Document::default() });
    };
    let notes = Notes::default();
    let document = top(&Spot::root(&notes, &node)).unwrap_or_default();
    let mut refusals = notes.into_refusals();
    if !refusals.is_empty() {
        for refusal in &mut refusals {
            refusal.message = about(tree::link_at(&node, &refusal.path), mem::take(&mut refusal.message));
        }
        return Err(refused(refusals));
    }
    Ok(Document { places: Places { source, tree: Some(Arc::new(node)) }, ..document })
}

fn top(spot: &Spot<'_>) -> Option<Document> {
    let fields = spot.fields()?;
    if fields.has(&["apiVersion"]) && fields.has(&["kind"]) {
        spot.refuse(reason::WRONG_TYPE, OBJECT);
        return None;
    }
    let mut document = Document { description: fields.text(&["description"]), ..Document::default() };
    if let Some(spot) = fields.take(&["hostname"]) {
        document.hostname = hostname(&spot)?;
    }
    if let Some(spot) = fields.take(&["dns-resolver"]) {
        let fields = spot.fields()?;
        document.dns_running = fields.take(&["running"]).and_then(|s| dns(&s));
        document.dns = fields.take(&["config"]).and_then(|s| dns(&s));
        fields.finish();
    }
    if let Some(spot) = fields.take(&["route-rules"]) {
        let fields = spot.fields()?;
        document.rules = fields.take(&["config"]).map(|s| rules::list(&s)).unwrap_or_default();
        fields.finish();
    }
    if let Some(spot) = fields.take(&["routes"]) {
        let fields = spot.fields()?;
        document.routes_running = fields.take(&["running"]).map(|s| routes::list(&s)).unwrap_or_default();
        document.routes = fields.take(&["config"]).map(|s| routes::list(&s)).unwrap_or_default();
        fields.finish();
    }
    if let Some(spot) = fields.take(&["interfaces"]) {
        document.interfaces = interface::list(&spot);
    }
    // Reports of 2018 say what the engine can do; it changes nothing.
    fields.take(&["capabilities"]);
    refuse_ovs(&fields);
    fields.finish();
    Some(document)
}

fn refuse_ovs(fields: &Fields<'_>) {
    for spot in [fields.take(&["ovs-db"]), fields.take(&["ovn"])].into_iter().flatten() {
        spot.refuse(reason::NOT_SUPPORTED, "Open vSwitch is not supported; use linux-bridge, or remove it");
    }
}

fn hostname(spot: &Spot<'_>) -> Option<Hostname> {
    const CONFIG: Keys = &["config"];
    let fields = spot.fields()?;
    let one = |keys: Keys| {
        let spot: Spot<'_> = fields.take(keys)?;
        let name = spot.text()?;
        // No name at boot is a desired state too: there may have been none before.
        let none = name.is_empty() && keys == CONFIG;
        if let Some(why) = bad_hostname(name).filter(|_| !none) {
            spot.refuse(reason::INVALID_VALUE, format!("{name:?}: {why}"));
        }
        Some(name.to_owned())
    };
    let hostname = Hostname { running: one(&["running"]), config: one(CONFIG) };
    fields.finish();
    Some(hostname)
}

fn bad_hostname(name: &str) -> Option<&'static str> {
    /// What the kernel has room for.
    const MAX: usize = 64;
    if name.is_empty() || name.len() > MAX {
        Some("a host name has 1 to 64 bytes")
    } else if !name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._".contains(&b)) {
        Some("a host name has only letters, digits, '-', '.' and '_'")
    } else if name.starts_with(['-', '.']) || name.ends_with(['-', '.']) {
        Some("a host name neither starts nor ends with '-' or '.'")
    } else {
        None
    }
}

fn dns(spot: &Spot<'_>) -> Option<Dns> {
    let fields = spot.fields()?;
    let list = |keys, check: fn(&str) -> Option<&'static str>| -> Vec<String> {
        let Some(spot) = fields.take(keys) else { return Vec::new() };
        let spot: Spot<'_> = spot;
        let mut texts = Vec::new();
        for item in spot.items().into_iter().flatten() {
            let Some(text) = item.text() else { continue };
            if let Some(why) = check(text) {
                item.refuse(reason::INVALID_VALUE, format!("{text:?}: {why}"));
            }
            texts.push(text.to_owned());
        }
        texts
    };
    let dns = Dns {
        server: list(&["server"], bad_server),
        search: list(&["search"], bad_search),
        options: list(&["options"], bad_option),
    };
    fields.finish();
    Some(dns)
}

fn bad_server(text: &str) -> Option<&'static str> {
    let (address, link) = text.split_once('%').map_or((text, None), |(a, l)| (a, Some(l)));
    let link_is_bad = link.is_some_and(|l| l.parse::<netloom_types::IfName>().is_err());
    let bad = address.parse::<std::net::IpAddr>().is_err() || link_is_bad;
    bad.then_some("must be an IP address, for a link-local one with %link behind it")
}

fn bad_search(text: &str) -> Option<&'static str> {
    let bad = text.is_empty() || text.chars().any(|c| c.is_whitespace() || c.is_control());
    bad.then_some("must be a domain name")
}

fn bad_option(text: &str) -> Option<&'static str> {
    const WORDS: &[&str] = &[
        "debug",
        "edns0",
        "inet6",
        "ip6-bytestring",
        "ip6-dotint",
        "no-aaaa",
        "no-check-names",
        "no-ip6-dotint",
        "no-reload",
        "no-tld-query",
        "rotate",
        "single-request",
        "single-request-reopen",
        "trust-ad",
        "use-vc",
    ];
    let known = match text.split_once(':') {
        Some(("ndots" | "timeout" | "attempts", number)) => number.parse::<u32>().is_ok(),
        Some(_) => false,
        None => WORDS.contains(&text),
    };
    (!known)
        .then_some("is no resolver option; known are the words of resolv.conf(5) and ndots:N, timeout:N, attempts:N")
}
