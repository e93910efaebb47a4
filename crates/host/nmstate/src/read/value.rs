//! Reads the properties of the model's table, by their shape.

use std::net::IpAddr;

use netloom_model::{Attr, Attrs, Section, Shape, Value};

use super::spot::{Fields, Spot, bool_word, number};
use crate::{errors::reason, table, tree};

/// Reads every property of a section other than `Kind`.
pub(super) fn section(fields: &Fields<'_>, section: Section, attrs: &mut Attrs) {
    all(fields, table::of_section(section), attrs);
}

/// Reads every property in the block of a kind.
pub(super) fn block(fields: &Fields<'_>, block: &str, attrs: &mut Attrs) {
    all(fields, table::of_block(block), attrs);
}

fn all(fields: &Fields<'_>, which: &[Attr], attrs: &mut Attrs) {
    for &attr in which {
        let Some(spot) = fields.take(table::keys(attr)) else { continue };
        let Some(value) = value(&spot, attr) else { continue };
        match attrs.given(attr) {
            Some(given) if *given != value => {
                let message = format!("says {}, and elsewhere {}: keep one", value.display(attr), given.display(attr));
                spot.refuse(reason::CONTRADICTION, message);
            }
            _ => attrs.require(attr, value),
        }
    }
}

/// Reads one property.
pub(crate) fn value(spot: &Spot<'_>, attr: Attr) -> Option<Value> {
    if spot.scalar() == Some("") && attr.accepts(&Value::Unset) {
        return Some(Value::Unset);
    }
    match attr.shape() {
        Shape::Bool => spot.bool().map(Value::Bool),
        Shape::Int { min, max } => spot.int(min.into(), max.into()).map(Value::Int),
        Shape::Enum(words) => word(spot, attr, words).map(Value::Int),
        Shape::Flags(words) => flags(spot, words).map(Value::Int),
        Shape::Mac => spot.parse("MAC address").map(Value::Mac),
        Shape::Ip => spot.parse("IP address").map(Value::Ip),
        Shape::Ips => ips(spot).map(Value::Ips),
        Shape::Link => spot.parse("link name").map(Value::Link),
        Shape::Map { from_max, to_max } => map(spot, from_max, to_max).map(Value::Map),
    }
}

/// A word or its number; yes and no stand for 1 and 0 where there is nothing else.
fn word(spot: &Spot<'_>, attr: Attr, words: &[(&'static str, u64)]) -> Option<u64> {
    const LACP: u64 = 4;
    let text = spot.text()?;
    let folded = text.replace('_', "-");
    let by_word = words.iter().find(|(w, _)| w.eq_ignore_ascii_case(text) || w.eq_ignore_ascii_case(&folded));
    let by_number = number(text).and_then(|n| words.iter().find(|(_, v)| i128::from(*v) == n));
    let two = words.len() == 2 && words.iter().all(|(_, v)| *v <= 1);
    let by_bool = bool_word(text).filter(|_| two).map(u64::from);
    let by_alias = (attr == Attr::BondMode && text.eq_ignore_ascii_case("lacp")).then_some(LACP);
    let found = by_word.or(by_number).map(|(_, v)| *v).or(by_bool).or(by_alias);
    if found.is_none() {
        let known: Vec<_> = words.iter().map(|(w, v)| format!("{w} ({v})")).collect();
        let message = format!("{}: must be one of {}", tree::found(spot.node), known.join(", "));
        spot.refuse(reason::INVALID_VALUE, message);
    }
    found
}

fn flags(spot: &Spot<'_>, words: &[(&'static str, u64)]) -> Option<u64> {
    let mut bits = 0;
    for item in spot.items()? {
        bits |= item.word(words)?;
    }
    Some(bits)
}

/// A list, or one text with commas as bonding has it.
fn ips(spot: &Spot<'_>) -> Option<Vec<IpAddr>> {
    if let Some(text) = spot.scalar() {
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        let parsed: Result<Vec<IpAddr>, _> = parts.map(str::parse).collect();
        if parsed.is_err() {
            let message = format!("{}: must be IP addresses with commas between them", tree::found(spot.node));
            spot.refuse(reason::INVALID_VALUE, message);
        }
        return parsed.ok();
    }
    spot.items()?.map(|item| item.parse("IP address")).collect()
}

fn map(spot: &Spot<'_>, from_max: u32, to_max: u32) -> Option<Vec<(u32, u32)>> {
    let mut pairs = Vec::new();
    for item in spot.items()? {
        let fields = item.fields()?;
        let from: Option<u32> = fields.required(&["from"]).and_then(|s| s.int(0, from_max.into()));
        let to: Option<u32> = fields.required(&["to"]).and_then(|s| s.int(0, to_max.into()));
        fields.finish();
        let pair = (from?, to?);
        if pairs.iter().any(|(from, _)| *from == pair.0) {
            item.refuse(reason::DUPLICATE, format!("{} is already mapped: keep one", pair.0));
        }
        pairs.push(pair);
    }
    // The kernel keeps no pair that maps to the priority 0, which is what it does without one.
    pairs.retain(|(_, to)| *to != 0);
    pairs.sort_unstable();
    Some(pairs)
}
