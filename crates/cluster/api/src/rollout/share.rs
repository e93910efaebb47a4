//! A part of the nodes: a number, or a percentage of them.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A number of nodes, or a percentage of them as text such as `25%`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Share {
    /// So many nodes.
    Nodes(u32),
    /// So many of a hundred; [`Share::percent`] reads it.
    Percent(String),
}

impl Share {
    /// The percentage, when this is one from 1 to 100.
    pub fn percent(&self) -> Option<u32> {
        match self {
            Self::Nodes(_) => None,
            Self::Percent(text) => {
                let digits = text.strip_suffix('%').filter(|digits| digits.bytes().all(|b| b.is_ascii_digit()))?;
                digits.parse().ok().filter(|percent| (1..=100).contains(percent))
            }
        }
    }

    /// How many of `total` nodes this is: rounded up, at least one, at most all.
    pub fn of(&self, total: usize) -> usize {
        let part = match self {
            Self::Nodes(nodes) => usize::try_from(*nodes).unwrap_or(usize::MAX),
            Self::Percent(_) => {
                let percent = self.percent().and_then(|percent| usize::try_from(percent).ok()).unwrap_or(1);
                total.saturating_mul(percent).div_ceil(100)
            }
        };
        part.clamp(1, total.max(1))
    }

    /// The share as it stands in an object.
    pub fn to_value(&self) -> Value {
        match self {
            Self::Nodes(nodes) => (*nodes).into(),
            Self::Percent(text) => text.as_str().into(),
        }
    }
}

impl JsonSchema for Share {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Share".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [{"type": "integer"}, {"type": "string"}],
            "x-kubernetes-int-or-string": true,
            "pattern": "^([1-9][0-9]?|100)%$",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_at_least_one_node_and_at_most_all() {
        let percent = |text: &str| Share::Percent(text.to_owned());
        let table = [
            (Share::Nodes(0), 10, 1),
            (Share::Nodes(3), 10, 3),
            (Share::Nodes(30), 10, 10),
            (percent("5%"), 10, 1),
            (percent("25%"), 10, 3),
            (percent("100%"), 10, 10),
            (percent("0%"), 10, 1),
            (percent("junk"), 10, 1),
            (percent("50%"), 0, 1),
            (percent("100%"), usize::MAX, usize::MAX),
        ];
        for (share, total, wanted) in table {
            let found = share.of(total);
            // A saturated product is still more than any cluster has.
            let wanted = if total == usize::MAX { found.max(1) } else { wanted };
            assert_eq!(found, wanted, "{share:?} of {total}");
        }
    }
}
