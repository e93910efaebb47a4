//! Which link has which index: the kernel speaks in indexes, the model in names.

use std::collections::HashMap;

use netloom_types::IfName;

use crate::{
    consts::IFLA_IFNAME,
    link,
    socket::{Connection, NetlinkError},
    wire::Message,
};

/// The length of `ifinfomsg`.
pub(crate) const IFINFOMSG_LEN: usize = 16;

/// The links of one network namespace as they were when they were last read, kept up with what was
/// made and deleted since.
#[derive(Debug, Clone, Default)]
pub struct LinkMap {
    by_name: HashMap<IfName, u32>,
    by_index: HashMap<u32, IfName>,
    /// Above every index that was ever seen: one that was in use is never given out again.
    next_index: u32,
}

/// The name and index that a message about a link says.
pub(crate) fn name_and_index(message: &Message<'_>) -> Option<(IfName, u32)> {
    let name = message.attrs(IFINFOMSG_LEN).find(IFLA_IFNAME)?.str()?.parse().ok()?;
    Some((name, message.u32_at(4)))
}

impl LinkMap {
    /// Reads the links of the namespace that `connection` is in.
    pub fn read(connection: &mut Connection) -> Result<Self, NetlinkError> {
        connection.dump(&link::dump(), Self::default, |map, message| {
            if let Some((name, index)) = name_and_index(&message) {
                map.insert(name, index);
            }
        })
    }

    /// The index of a link.
    pub fn index(&self, name: IfName) -> Option<u32> {
        self.by_name.get(&name).copied()
    }

    /// The link with an index.
    pub fn name(&self, index: u32) -> Option<IfName> {
        self.by_index.get(&index).copied()
    }

    /// Notes a link; one that had its name or its index before is forgotten.
    pub fn insert(&mut self, name: IfName, index: u32) {
        self.remove(name);
        if let Some(old) = self.by_index.insert(index, name) {
            self.by_name.remove(&old);
        }
        self.by_name.insert(name, index);
        self.next_index = self.next_index.max(index.saturating_add(1));
    }

    /// Forgets a link.
    pub fn remove(&mut self, name: IfName) {
        if let Some(index) = self.by_name.remove(&name) {
            self.by_index.remove(&index);
        }
    }

    /// Takes over a fresh reading.
    pub fn replace_with(&mut self, fresh: Self) {
        let next_index = self.next_index.max(fresh.next_index);
        *self = Self { next_index, ..fresh };
    }

    /// An index that no link has had, for a link that is about to be made.
    pub fn fresh_index(&mut self) -> u32 {
        let index = self.next_index.max(1);
        self.next_index = index.saturating_add(1);
        index
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> IfName {
        text.parse().unwrap()
    }

    #[test]
    fn an_index_is_never_given_out_twice() {
        let mut map = LinkMap::default();
        map.insert(name("lo"), 1);
        map.insert(name("eth0"), 9);
        map.remove(name("eth0"));
        assert_eq!((map.fresh_index(), map.fresh_index()), (10, 11));
        map.replace_with(LinkMap::default());
        assert_eq!(map.fresh_index(), 12);
    }

    #[test]
    fn a_renamed_link_has_one_name() {
        let mut map = LinkMap::default();
        map.insert(name("a"), 3);
        map.insert(name("b"), 3);
        assert_eq!((map.index(name("a")), map.index(name("b")), map.name(3)), (None, Some(3), Some(name("b"))));
    }
}
