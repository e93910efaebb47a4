//! What objects are called: keys, ranges of keys, revisions, and their form in the file.
//!
//! In the file a key is its three parts, each followed by a zero byte, so that byte order is the
//! order of (resource, namespace, name) and every range of keys is one range of bytes. A part may
//! hold any text: bytes 0 and 1 are written as two bytes, which keeps both the order and the
//! separators unambiguous.

use std::{cmp::Ordering, fmt, ops::Bound};

/// A moment in the life of the store: the number of the change that led to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Revision(pub u64);

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The name of one object: its resource, its namespace (empty if it has none) and its own name.
///
/// The resource is `group/plural`, such as `/pods` or `apps/deployments`.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Key {
    /// The three parts behind each other: one allocation, since lists hold many keys.
    text: Box<str>,
    namespace: usize,
    name: usize,
}

impl Key {
    /// The key of an object; `namespace` is empty for objects of the whole cluster.
    pub fn new(resource: &str, namespace: &str, name: &str) -> Self {
        Self {
            text: [resource, namespace, name].concat().into_boxed_str(),
            namespace: resource.len(),
            name: resource.len() + namespace.len(),
        }
    }

    /// The resource, as `group/plural`.
    pub fn resource(&self) -> &str {
        &self.text[..self.namespace]
    }

    /// The namespace; empty for objects of the whole cluster.
    pub fn namespace(&self) -> &str {
        &self.text[self.namespace..self.name]
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.text[self.name..]
    }

    fn parts(&self) -> (&str, &str, &str) {
        (self.resource(), self.namespace(), self.name())
    }

    /// The bytes that every version of this object starts with in the file.
    pub(crate) fn prefix(&self) -> Vec<u8> {
        let (resource, namespace, name) = self.parts();
        let mut bytes = Vec::with_capacity(self.text.len() + 3);
        for part in [resource, namespace, name] {
            push_part(&mut bytes, part);
        }
        bytes
    }

    /// Reads a key back from [`Key::prefix`]; nothing when these bytes are no key.
    pub(crate) fn from_prefix(bytes: &[u8]) -> Option<Self> {
        let mut parts = bytes.strip_suffix(&[0])?.split(|byte| *byte == 0);
        let key = Self::new(&plain_part(parts.next()?)?, &plain_part(parts.next()?)?, &plain_part(parts.next()?)?);
        parts.next().is_none().then_some(key)
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        self.parts().cmp(&other.parts())
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.resource().trim_start_matches('/'))?;
        if !self.namespace().is_empty() {
            write!(f, " {}", self.namespace())?;
        }
        write!(f, " {}", self.name())
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({:?})", self.parts())
    }
}

/// Which objects a list or a watch is about.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Range {
    resource: Option<String>,
    namespace: Option<String>,
    name: Option<String>,
}

impl Range {
    /// Every object of every resource.
    pub fn everything() -> Self {
        Self::default()
    }

    /// Every object of one resource.
    pub fn resource(resource: &str) -> Self {
        Self { resource: Some(resource.to_owned()), namespace: None, name: None }
    }

    /// Exactly one object.
    pub fn object(key: &Key) -> Self {
        Self::resource(key.resource()).in_namespace(key.namespace()).named(key.name())
    }

    /// Only those in this namespace; the empty one holds objects of the whole cluster.
    #[must_use]
    pub fn in_namespace(self, namespace: &str) -> Self {
        Self { namespace: Some(namespace.to_owned()), ..self }
    }

    /// Only those of this name. Without a namespace, a list reads the whole resource to find them.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        Self { name: Some(name.to_owned()), ..self }
    }

    /// Whether the range holds this key.
    pub fn contains(&self, key: &Key) -> bool {
        let fits = |wanted: &Option<String>, part: &str| wanted.as_deref().is_none_or(|wanted| wanted == part);
        fits(&self.resource, key.resource()) && fits(&self.namespace, key.namespace()) && fits(&self.name, key.name())
    }

    /// The three parts; what is not specified holds for all.
    pub(crate) fn parts(&self) -> (Option<&str>, Option<&str>, Option<&str>) {
        (self.resource.as_deref(), self.namespace.as_deref(), self.name.as_deref())
    }

    /// The smallest range of bytes that holds every key of this range, and perhaps others.
    pub(crate) fn bounds(&self) -> (Vec<u8>, Bound<Vec<u8>>) {
        let mut start = Vec::new();
        for part in [&self.resource, &self.namespace, &self.name] {
            let Some(part) = part else { break };
            push_part(&mut start, part);
        }
        let end = past(&start).map_or(Bound::Unbounded, Bound::Excluded);
        (start, end)
    }

    /// Whether those bytes may hold keys that are not of this range.
    pub(crate) fn is_filtered(&self) -> bool {
        self.name.is_some() || (self.resource.is_none() && self.namespace.is_some())
    }
}

/// The first bytes that sort after everything that starts with `prefix`, where that is the beginning
/// of a key that ends with a separator; nothing for the empty beginning.
pub(crate) fn past(prefix: &[u8]) -> Option<Vec<u8>> {
    let (last, rest) = prefix.split_last()?;
    let mut bytes = rest.to_vec();
    bytes.push(last + 1);
    Some(bytes)
}

fn push_part(bytes: &mut Vec<u8>, part: &str) {
    for byte in part.bytes() {
        match byte {
            0 => bytes.extend([1, 1]),
            1 => bytes.extend([1, 2]),
            other => bytes.push(other),
        }
    }
    bytes.push(0);
}

fn plain_part(bytes: &[u8]) -> Option<String> {
    let mut plain = Vec::with_capacity(bytes.len());
    let mut rest = bytes.iter();
    while let Some(byte) = rest.next() {
        plain.push(match byte {
            1 => rest.next()?.checked_sub(1).filter(|byte| *byte < 2)?,
            other => *other,
        });
    }
    String::from_utf8(plain).ok()
}

#[cfg(test)]
mod tests {
    use std::ops::RangeBounds as _;

    use proptest::prelude::*;

    use super::*;

    fn part() -> impl Strategy<Value = String> {
        proptest::string::string_regex("[\0\x01\x02a/é]{0,4}").unwrap()
    }

    fn key() -> impl Strategy<Value = Key> {
        (part(), part(), part()).prop_map(|(resource, namespace, name)| Key::new(&resource, &namespace, &name))
    }

    proptest! {
        #[test]
        fn bytes_keep_the_key_and_the_order(left in key(), right in key()) {
            prop_assert_eq!(Key::from_prefix(&left.prefix()), Some(left.clone()));
            prop_assert_eq!(left.prefix().cmp(&right.prefix()), left.cmp(&right));
        }

        #[test]
        fn a_range_of_bytes_holds_exactly_the_range_of_keys(wanted in key(), other in key(), depth in 0..4) {
            let range = match depth {
                0 => Range::everything(),
                1 => Range::resource(wanted.resource()),
                2 => Range::resource(wanted.resource()).in_namespace(wanted.namespace()),
                _ => Range::object(&wanted),
            };
            for key in [wanted, other] {
                let (start, end) = range.bounds();
                prop_assert_eq!((Bound::Included(start), end).contains(&key.prefix()), range.contains(&key));
            }
        }

        #[test]
        fn arbitrary_bytes_are_a_key_or_none(bytes in proptest::collection::vec(0_u8..4, 0..12)) {
            if let Some(key) = Key::from_prefix(&bytes) {
                prop_assert_eq!(key.prefix(), bytes);
            }
        }
    }

    #[test]
    fn keys_read_well() {
        assert_eq!(Key::new("/pods", "default", "web").to_string(), "pods default web");
        assert_eq!(Key::new("apps/deployments", "", "web").to_string(), "apps/deployments web");
    }
}
