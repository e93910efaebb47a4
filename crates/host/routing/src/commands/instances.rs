//! Instances of BGP: their settings, neighbours and address families.
//!
//! A neighbour that is wanted in another way than FRR can change (another peer group, from an interface to an address, from
//! within the AS to without) is removed and made again. Its session would be reset in any case, and FRR would silently
//! drop some of its settings.

use std::collections::BTreeSet;

use super::Planner;
use crate::{
    config::{Context, RoutingConfig},
    syntax::{self, Place},
};

impl Planner {
    /// The default instance first: the others take from it what EVPN needs.
    pub(super) fn set_instances(&mut self) {
        for opening in self.openings(&self.wanted, &[]) {
            if syntax::instance(&opening).is_some() {
                self.set_instance(&vec![opening]);
            }
        }
    }

    fn set_instance(&mut self, context: &Context) {
        self.put(&[], &context[0]);
        self.set_default_activation(context);
        self.take_neighbors(context);
        self.take_others(context, early);
        for family in self.families(&self.state, context) {
            self.take_others(&family, early);
            for opening in self.openings(&self.state, &family) {
                self.take_unwanted_block(&family, &opening);
            }
        }
        self.put_wanted(context, |line| !listens(line));
        for family in self.families(&self.wanted, context) {
            self.put_wanted(&family, |line| !line.starts_with("import vrf ") && !activates(line));
            for opening in self.openings(&self.wanted, &family) {
                self.settle(&syntax::inner(&family, &opening));
            }
        }
        for opening in self.openings(&self.state, context) {
            if Place::of(&syntax::inner(context, &opening)) == Place::Other {
                self.take_unwanted_block(context, &opening);
            }
        }
        for opening in self.openings(&self.wanted, context) {
            let inner = syntax::inner(context, &opening);
            if Place::of(&inner) == Place::Other {
                self.settle(&inner);
            }
        }
    }

    /// Contexts of the address families of an instance.
    fn families(&self, config: &RoutingConfig, context: &[String]) -> Vec<Context> {
        let families = self.ordered(config, context, |line| line.starts_with("address-family "));
        families.iter().map(|opening| syntax::inner(context, opening)).collect()
    }

    /// Changes first whether neighbours are active for IPv4 unless configured otherwise: what FRR prints about each of
    /// them depends on it.
    fn set_default_activation(&mut self, context: &Context) {
        let off = "no bgp default ipv4-unicast";
        match (self.state.has(context, off), self.wanted.has(context, off)) {
            (true, false) => self.take(context, off),
            (false, true) => self.put(context, off),
            (true, true) | (false, false) => {}
        }
    }

    /// Removes neighbours and peer groups that are not wanted, or not in a way that FRR can change.
    fn take_neighbors(&mut self, context: &Context) {
        let mut names: Vec<String> = names(&self.state, context).into_iter().collect();
        // Members before their groups.
        names.sort_by_key(|name| self.state.has(context, &format!("neighbor {name} peer-group")));
        for name in names {
            let now = definition(&self.state, context, &name);
            let wanted = definition(&self.wanted, context, &name);
            if now.is_empty() || (can_change(context, &now, &wanted) && !self.conflicts(context, &name)) {
                continue;
            }
            let group = format!("neighbor {name} peer-group");
            let interface = now.iter().find(|line| line.starts_with(&format!("neighbor {name} interface")));
            let removal = if now.contains(&group) {
                format!("no {group}")
            } else {
                interface.map_or_else(|| format!("no neighbor {name}"), |line| format!("no {line}"))
            };
            self.send(context, &removal);
        }
    }

    /// Whether FRR takes a wanted filter of the neighbour only after another one is gone, which would leave a moment
    /// without any.
    fn conflicts(&self, context: &Context, name: &str) -> bool {
        let attached = |config: &RoutingConfig, family: &Context, kind: &str, direction: &str| {
            config
                .lines_of(family)
                .filter_map(syntax::neighbor)
                .any(|(of, attribute)| of == name && attribute.starts_with(kind) && attribute.ends_with(direction))
        };
        let kinds = [("prefix-list ", "distribute-list "), ("distribute-list ", "prefix-list ")];
        self.families(&self.wanted, context).iter().any(|family| {
            kinds.iter().flat_map(|kind| [" in", " out"].map(|direction| (kind, direction))).any(
                |((old, new), direction)| {
                    attached(&self.state, family, old, direction) && attached(&self.wanted, family, new, direction)
                },
            )
        })
    }

    /// Imports routes from other instances, each of which is there by now: an import makes a missing one.
    pub(super) fn set_imports(&mut self) {
        self.put_in_families(|line| line.starts_with("import vrf "));
    }

    /// Activates neighbours, whose filters are there by now, and lets in those that nobody names: FRR makes one of them as
    /// soon as it listens, and does not always hold it to a limit that its group gets later.
    pub(super) fn activate(&mut self) {
        self.put_in_families(activates);
        for opening in self.openings(&self.wanted, &[]) {
            if syntax::instance(&opening).is_some() {
                self.put_wanted(&[opening], listens);
            }
        }
    }

    fn put_in_families(&mut self, passes: impl Fn(&str) -> bool) {
        let families: Vec<Context> = self
            .wanted
            .blocks()
            .map(|(context, _)| context)
            .filter(|context| Place::of(context) == Place::Family)
            .map(<[String]>::to_vec)
            .collect();
        for family in families {
            self.put_wanted(&family, &passes);
        }
    }
}

/// Whether a line that is not wanted goes before others come. A filter goes last.
fn early(line: &str) -> bool {
    !syntax::attaches_filter(line) && line != "advertise-all-vni"
}

/// Whether the line makes a neighbour exchange routes. Its opposite is sent with the rest.
fn activates(line: &str) -> bool {
    line.starts_with("neighbor ") && line.ends_with(" activate")
}

/// Whether the line lets in neighbours that nobody names.
fn listens(line: &str) -> bool {
    line.starts_with("bgp listen range ")
}

/// Neighbours and peer groups of an instance.
fn names(config: &RoutingConfig, context: &[String]) -> BTreeSet<String> {
    config.lines_of(context).filter_map(syntax::neighbor).map(|(name, _)| name.to_owned()).collect()
}

/// The lines that make a neighbour or peer group exist.
fn definition(config: &RoutingConfig, context: &[String], name: &str) -> BTreeSet<String> {
    let defining =
        |line: &&str| syntax::neighbor(line).is_some_and(|(of, attribute)| of == name && syntax::defines(attribute));
    config.lines_of(context).filter(defining).map(str::to_owned).collect()
}

/// Whether FRR changes the one into the other and keeps all other settings of the neighbour.
fn can_change(context: &[String], now: &BTreeSet<String>, wanted: &BTreeSet<String>) -> bool {
    let gone: Vec<&String> = now.difference(wanted).collect();
    let new: Vec<&String> = wanted.difference(now).collect();
    match (gone.as_slice(), new.as_slice()) {
        ([], []) => true,
        // A peer group gets what its members are.
        ([], [line]) => line.contains(" remote-as ") && now.iter().any(|line| line.ends_with(" peer-group")),
        ([old], [new]) => {
            let number =
                |line: &str| line.rsplit_once(" remote-as ").map(|(of, number)| (of.to_owned(), number.to_owned()));
            let within = context.first().and_then(|opening| syntax::instance(opening)).map(|found| found.number);
            let is_within = |number: &str| number == "internal" || Some(number) == within;
            match (number(old), number(new)) {
                (Some((of, old)), Some((other, new))) => of == other && is_within(&old) == is_within(&new),
                _ => false,
            }
        }
        _ => false,
    }
}
