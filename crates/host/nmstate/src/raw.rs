//! A value without a meaning: what is kept as it was read, and what is printed.

use netloom_yaml::{Data, Node, Printable, Style, View};
use serde::ser::{Serialize, SerializeMap, Serializer};

/// A value of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Raw {
    Null,
    Bool(bool),
    Int(i128),
    Text(Box<str>),
    List(Vec<Raw>),
    Map(Vec<(Box<str>, Raw)>),
}

impl Raw {
    pub(crate) fn text(text: impl std::fmt::Display) -> Self {
        Self::Text(text.to_string().into())
    }

    /// The value of a node, types by the rules of YAML's core schema.
    pub(crate) fn of(node: &Node) -> Self {
        match &node.data {
            Data::Null => Self::Null,
            Data::Scalar { text, style: Style::Quoted } => Self::Text(text.clone()),
            Data::Scalar { text, style: Style::Plain | Style::Tagged(_) } => match (&**text, text.parse::<i64>()) {
                ("true" | "True" | "TRUE", _) => Self::Bool(true),
                ("false" | "False" | "FALSE", _) => Self::Bool(false),
                (_, Ok(number)) => Self::Int(number.into()),
                _ => Self::Text(text.clone()),
            },
            Data::List(items) => Self::List(items.iter().map(Self::of).collect()),
            Data::Map(entries) => Self::Map(entries.iter().map(|e| (e.key.clone(), Self::of(&e.value))).collect()),
        }
    }
}

impl From<bool> for Raw {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

macro_rules! from_int {
    ($($int:ty),*) => {$(
        impl From<$int> for Raw {
            fn from(value: $int) -> Self {
                Self::Int(value.into())
            }
        }
    )*};
}
from_int!(u8, u16, u32, u64, i64);

impl From<&str> for Raw {
    fn from(value: &str) -> Self {
        Self::Text(value.into())
    }
}

impl From<Vec<Raw>> for Raw {
    fn from(value: Vec<Raw>) -> Self {
        Self::List(value)
    }
}

impl From<Block> for Raw {
    fn from(value: Block) -> Self {
        Self::Map(value.0)
    }
}

impl Printable for Raw {
    fn view(&self) -> View<'_, Self> {
        match self {
            Self::Null => View::Bare("null".into()),
            Self::Bool(value) => View::Bare(value.to_string().into()),
            Self::Int(value) => View::Bare(value.to_string().into()),
            Self::Text(text) => View::Text(text),
            Self::List(items) => View::List(items.iter().collect()),
            Self::Map(entries) => View::Map(entries.iter().map(|(key, value)| (&**key, value)).collect()),
        }
    }
}

impl Serialize for Raw {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => to.serialize_unit(),
            Self::Bool(value) => to.serialize_bool(*value),
            Self::Int(value) => match (i64::try_from(*value), u64::try_from(*value)) {
                (Ok(value), _) => to.serialize_i64(value),
                (_, Ok(value)) => to.serialize_u64(value),
                _ => to.serialize_str(&value.to_string()),
            },
            Self::Text(value) => to.serialize_str(value),
            Self::List(items) => to.collect_seq(items),
            Self::Map(entries) => {
                let mut map = to.serialize_map(Some(entries.len()))?;
                for (key, value) in entries {
                    map.serialize_entry(key, value)?;
                }
                map.end()
            }
        }
    }
}

/// A block under construction, keys in the order in which they are put.
#[derive(Debug, Default)]
pub(crate) struct Block(Vec<(Box<str>, Raw)>);

impl Block {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn put(&mut self, key: &str, value: impl Into<Raw>) {
        self.0.push((key.into(), value.into()));
    }

    pub(crate) fn put_some(&mut self, key: &str, value: Option<impl Into<Raw>>) {
        if let Some(value) = value {
            self.put(key, value);
        }
    }

    pub(crate) fn put_text(&mut self, key: &str, value: Option<impl std::fmt::Display>) {
        self.put_some(key, value.map(Raw::text));
    }

    /// Puts a block that has something in it.
    pub(crate) fn put_block(&mut self, key: &str, block: Self) {
        if !block.is_empty() {
            self.put(key, block);
        }
    }

    /// Puts a list that has something in it.
    pub(crate) fn put_list(&mut self, key: &str, list: Vec<Raw>) {
        if !list.is_empty() {
            self.put(key, list);
        }
    }
}
