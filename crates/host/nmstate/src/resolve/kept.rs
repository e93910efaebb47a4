//! What is shown and kept: its part of a document may only say what is so already.

use netloom_model::DesiredLink;

use super::Merge;
use crate::{changes, document::Interface, errors::reason, print, raw::Raw, show::View};

impl Merge<'_> {
    /// Parts of the format that are kept, and refused when they ask for something.
    pub(super) fn refuse_kept(&mut self, path: &str, interface: &Interface) {
        for (key, raw) in &interface.kept {
            if !asks_nothing(raw) {
                let message = "netloom keeps this as it is and does not set it; remove it";
                self.refuse(format!("{path}.{key}"), reason::NOT_SUPPORTED, message);
            }
        }
        if interface.lldp == Some(true) {
            let message = "listening for LLDP takes a running agent; remove it or set it to false";
            self.refuse(format!("{path}.lldp.enabled"), reason::NEEDS_AGENT, message);
        }
        for (key, ip) in [("ipv4", &interface.ipv4), ("ipv6", &interface.ipv6)] {
            for (j, item) in ip.addresses.iter().flatten().enumerate() {
                if item.mptcp.as_ref().is_some_and(|raw| !asks_nothing(raw)) {
                    let message = "netloom does not set up multipath TCP; remove it";
                    self.refuse(format!("{path}.{key}.address[{j}].mptcp-flags"), reason::NOT_SUPPORTED, message);
                }
            }
        }
    }

    /// Links of kinds that are shown and kept: whatever would change is refused where it stands.
    pub(super) fn kept_links(&mut self, desired_states: &[DesiredLink]) {
        if desired_states.is_empty() {
            return;
        }
        let view = View::new(self.observed);
        for desired in desired_states {
            let Some(link) = self.current(desired.name) else { continue };
            let mut keys = Vec::new();
            leaves("", &print::interface(&changes::unmet(desired, link, &view)), &mut keys);
            for key in keys.iter().filter(|key| !NO_CHANGE.contains(&key.rsplit('.').next().unwrap_or_default())) {
                let message = format!(
                    "{} is of type {}, which netloom shows and does not change; remove it",
                    desired.name, desired.kind
                );
                self.refuse(format!("{}.{key}", desired.origin.path), reason::NOT_SUPPORTED, message);
            }
        }
    }
}

/// Keys that say which link is meant, or stand beside an `address` list that changes.
const NO_CHANGE: &[&str] = &["name", "type", "allow-extra-address", "prefix-route-metric"];

/// The keys of everything in a block; a list is one thing.
fn leaves(path: &str, raw: &Raw, to: &mut Vec<String>) {
    let Raw::Map(entries) = raw else {
        to.push(path.to_owned());
        return;
    };
    for (key, value) in entries {
        let path = if path.is_empty() { key.to_string() } else { format!("{path}.{key}") };
        leaves(&path, value, to);
    }
}

/// Whether a kept part only says what is so anyway: reports of nmstate are full of these.
fn asks_nothing(raw: &Raw) -> bool {
    match raw {
        Raw::Null | Raw::Bool(false) => true,
        Raw::Bool(true) | Raw::Int(_) => false,
        Raw::Text(text) => matches!(&**text, "" | "any"),
        Raw::List(items) => items.iter().all(asks_nothing),
        Raw::Map(entries) => entries.iter().all(|(_, value)| asks_nothing(value)),
    }
}
