//! Maps with structured keys, written as lists of pairs: JSON has only text keys.

use std::{collections::BTreeMap, fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{SeqAccess, Visitor},
};

pub(crate) fn serialize<K: Serialize, V: Serialize, S: Serializer>(
    map: &BTreeMap<K, V>,
    to: S,
) -> Result<S::Ok, S::Error> {
    to.collect_seq(map.iter())
}

pub(crate) fn deserialize<'de, K, V, D>(from: D) -> Result<BTreeMap<K, V>, D::Error>
where
    K: Deserialize<'de> + Ord,
    V: Deserialize<'de>,
    D: Deserializer<'de>,
{
    deserialize_each(from, |_| {})
}

/// Reads a map, with a look at each value before the next one is read.
pub(crate) fn deserialize_each<'de, K, V, D>(from: D, each: impl FnMut(&mut V)) -> Result<BTreeMap<K, V>, D::Error>
where
    K: Deserialize<'de> + Ord,
    V: Deserialize<'de>,
    D: Deserializer<'de>,
{
    let pairs: Vec<(K, V)> = from.deserialize_seq(Pairs(each, PhantomData))?;
    Ok(pairs.into_iter().collect())
}

struct Pairs<F, K, V>(F, PhantomData<(K, V)>);

impl<'de, F: FnMut(&mut V), K: Deserialize<'de>, V: Deserialize<'de>> Visitor<'de> for Pairs<F, K, V> {
    type Value = Vec<(K, V)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of pairs")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut pairs = Vec::new();
        while let Some((key, mut value)) = list.next_element()? {
            (self.0)(&mut value);
            pairs.push((key, value));
        }
        Ok(pairs)
    }
}
