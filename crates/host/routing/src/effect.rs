//! What a command makes of a configuration: the line itself, and what FRR adds, replaces and takes away along with it.
//!
//! The planner of [`crate::commands`] sends nothing without carrying it out here first, so what goes along with a removal
//! is sent again where it is wanted, and nothing is removed twice.

use crate::{
    config::{Context, RoutingConfig},
    syntax::{self, Place},
};

/// Carries out one command.
pub(crate) fn apply(config: &mut RoutingConfig, context: &[String], line: &str) {
    if removes(config, context, line) {
        return;
    }
    if Place::of(context) == Place::Top {
        renumber(config, line);
    }
    if line == "no bgp default ipv4-unicast" && Place::of(context) == Place::Bgp {
        spell_activation(config, context, true);
    }
    let Some(setting) = syntax::setting(context, line) else {
        config.insert_closed(context.to_vec(), line.to_owned());
        return;
    };
    let replaced: Vec<String> = syntax::of_setting(config, context, &setting).map(str::to_owned).collect();
    for old in replaced {
        config.remove(context, &old);
    }
    config.insert_closed(context.to_vec(), line.to_owned());
}

/// Carries out a removal; whether it was one.
fn removes(config: &mut RoutingConfig, context: &[String], line: &str) -> bool {
    if Place::of(context) == Place::Bgp
        && let Some(name) = undefined(line)
    {
        undefine(config, context, name);
        return true;
    }
    let gone = removed(config, context, line);
    for found in &gone {
        config.remove_block(context, found);
        along_with(config, context, found);
    }
    if !gone.is_empty() && matches!(Place::of(context), Place::Bgp | Place::Family | Place::EvpnVni | Place::Interface)
    {
        config.drop_hollow_places();
    }
    !gone.is_empty()
}

/// The lines that the command removes. Only in some blocks is its text not that of the line.
fn removed(config: &RoutingConfig, context: &[String], line: &str) -> Vec<String> {
    let opposite = line.strip_prefix("no ").map_or_else(|| format!("no {line}"), str::to_owned);
    if config.has(context, &opposite) && syntax::removal(context, &opposite) == line {
        return vec![opposite];
    }
    match Place::of(context) {
        Place::Top | Place::Vrf | Place::Bgp | Place::EvpnVni | Place::Bfd | Place::Other => Vec::new(),
        Place::RouteMap | Place::Family | Place::BfdProfile | Place::Interface => {
            let lines = config.lines_of(context).filter(|found| syntax::removal(context, found) == line);
            lines.map(str::to_owned).collect()
        }
    }
}

/// The neighbour or peer group that the command takes away as a whole.
fn undefined(line: &str) -> Option<&str> {
    let named = line.strip_prefix("no neighbor ")?;
    match named.split_once(' ') {
        None => Some(named),
        Some((name, attribute)) => syntax::defines(attribute).then_some(name),
    }
}

/// Takes away a neighbour or peer group with all its settings, and the members of the group.
fn undefine(config: &mut RoutingConfig, context: &[String], name: &str) {
    let mut names = vec![name.to_owned()];
    while let Some(name) = names.pop() {
        let listens = format!(" peer-group {name}");
        names.extend(
            config
                .lines_of(context)
                .filter(|line| line.ends_with(&listens))
                .filter_map(syntax::neighbor)
                .map(|(member, _)| member.to_owned()),
        );
        let blocks: Vec<Context> = config.contexts_below(context).cloned().collect();
        for block in blocks {
            let lines: Vec<String> = config
                .lines_of(&block)
                .filter(|line| {
                    syntax::neighbor(line).is_some_and(|(of, _)| of == name)
                        || (line.starts_with("bgp listen range ") && line.ends_with(&listens))
                })
                .map(str::to_owned)
                .collect();
            for line in lines {
                config.remove(&block, &line);
            }
        }
    }
    config.drop_hollow_places();
}

/// What goes together with a line that was removed.
fn along_with(config: &mut RoutingConfig, context: &[String], line: &str) {
    if Place::of(context) != Place::Bgp {
        return;
    }
    if line == "no bgp default ipv4-unicast" {
        spell_activation(config, context, false);
        return;
    }
    let Some((_, "bfd")) = syntax::neighbor(line) else { return };
    let parts = format!("{line} ");
    let gone: Vec<String> =
        config.lines_of(context).filter(|found| found.starts_with(&parts)).map(str::to_owned).collect();
    for found in gone {
        config.remove(context, &found);
    }
}

/// An entry of a route map that is entered with the other action keeps its lines and gets that action.
fn renumber(config: &mut RoutingConfig, line: &str) {
    let Some(entry) = syntax::map_entry(line) else { return };
    let other = syntax::MapEntry { permits: !entry.permits, ..entry }.opening();
    if !config.has(&[], &other) {
        return;
    }
    let lines: Vec<String> = config.lines_of(std::slice::from_ref(&other)).map(str::to_owned).collect();
    config.remove_block(&[], &other);
    for inner in lines {
        config.insert_closed(vec![line.to_owned()], inner);
    }
}

/// Spells which neighbours are active for IPv4 in the other way: FRR prints what differs from its default, so the same
/// neighbours are printed as active, or the others as not.
pub(crate) fn spell_activation(config: &mut RoutingConfig, context: &[String], explicit: bool) {
    let names: std::collections::BTreeSet<String> = config
        .lines_of(context)
        .filter_map(syntax::neighbor)
        .filter(|(_, attribute)| {
            *attribute == "peer-group" || (syntax::defines(attribute) && !attribute.contains("peer-group"))
        })
        .map(|(name, _)| name.to_owned())
        .collect();
    let family = syntax::inner(context, "address-family ipv4 unicast");
    for name in names {
        let (active, inactive) = (format!("neighbor {name} activate"), format!("no neighbor {name} activate"));
        let is_active = if explicit { !config.has(&family, &inactive) } else { config.has(&family, &active) };
        config.remove(&family, &active);
        config.remove(&family, &inactive);
        match (explicit, is_active) {
            (true, true) => config.insert_closed(family.clone(), active),
            (false, false) => config.insert_closed(family.clone(), inactive),
            (true, false) | (false, true) => {}
        }
    }
    config.drop_hollow_places();
}
