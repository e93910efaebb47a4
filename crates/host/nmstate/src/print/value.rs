//! Prints the properties of the model's table, by their shape.

use netloom_model::{Attr, Attrs, Section, Shape, Value};

use crate::{
    raw::{Block, Raw},
    table,
};

/// Puts the properties of a section other than `Kind` that are given.
pub(super) fn section(block: &mut Block, section: Section, attrs: &Attrs) {
    all(block, table::of_section(section), attrs);
}

/// Puts the properties in the block of a kind that are given.
pub(super) fn kind_block(block: &mut Block, name: &str, attrs: &Attrs) {
    all(block, table::of_block(name), attrs);
}

fn all(block: &mut Block, which: &[Attr], attrs: &Attrs) {
    for &attr in which {
        if let Some(given) = attrs.given(attr) {
            block.put(attr.key(), value(attr, given));
        }
    }
}

fn value(attr: Attr, value: &Value) -> Raw {
    match (value, attr.shape()) {
        (Value::Unset, _) => "".into(),
        (Value::Bool(value), _) => (*value).into(),
        (Value::Int(bits), Shape::Flags(words)) => {
            words.iter().filter(|(_, bit)| bits & bit != 0).map(|(word, _)| (*word).into()).collect::<Vec<_>>().into()
        }
        (Value::Int(number), Shape::Enum(words)) if words.iter().any(|(_, n)| n == number) => {
            Raw::text(value.display(attr))
        }
        (Value::Int(number), _) => (*number).into(),
        (Value::Map(pairs), _) => pairs.iter().map(|pair| pair_block(*pair)).collect::<Vec<_>>().into(),
        (Value::Mac(_) | Value::Ip(_) | Value::Ips(_) | Value::Link(_), _) => Raw::text(value.display(attr)),
    }
}

fn pair_block((from, to): (u32, u32)) -> Raw {
    let mut block = Block::new();
    block.put("from", from);
    block.put("to", to);
    block.into()
}
