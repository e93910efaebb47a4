//! The objects that an index has under one value: mostly one, now and then thousands.

use std::{collections::BTreeSet, sync::Arc};

/// Namespace and name with a zero byte between them, which gives the order of lists. Shared between
/// a kind and its indexes.
pub(super) type Key = Arc<str>;

/// At least one key, each once and in order.
#[derive(Debug)]
pub(super) enum Keys {
    /// A single one takes no more room than itself.
    One(Key),
    /// Several.
    Many(BTreeSet<Key>),
}

impl Keys {
    /// Adds a key; one that is there already stays there once.
    pub(super) fn insert(&mut self, key: Key) {
        match self {
            Self::One(one) if *one == key => {}
            Self::One(one) => *self = Self::Many(BTreeSet::from([Arc::clone(one), key])),
            Self::Many(many) => {
                many.insert(key);
            }
        }
    }

    /// Takes a key out; says whether none is left, in which case these keys must go.
    pub(super) fn remove(&mut self, key: &str) -> bool {
        match self {
            Self::One(one) => **one == *key,
            Self::Many(many) => {
                many.remove(key);
                many.is_empty()
            }
        }
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::One(_) => 1,
            Self::Many(many) => many.len(),
        }
    }

    /// All of them.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Key> {
        let (one, many) = match self {
            Self::One(one) => (Some(one), None),
            Self::Many(many) => (None, Some(many)),
        };
        one.into_iter().chain(many.into_iter().flatten())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_in_order_and_once() {
        let mut keys = Keys::One("b".into());
        keys.insert("b".into());
        assert_eq!(keys.len(), 1);
        for key in ["c", "a", "c"] {
            keys.insert(key.into());
        }
        assert_eq!(keys.iter().map(|key| &**key).collect::<Vec<_>>(), ["a", "b", "c"]);
        assert!(!keys.remove("x") && !keys.remove("a") && !keys.remove("b") && keys.len() == 1);
        assert!(keys.remove("c"));
        assert!(!Keys::One("a".into()).remove("b"));
        assert!(Keys::One("a".into()).remove("a"));
    }
}
