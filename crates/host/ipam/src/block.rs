//! The addresses of one pool that a node may give to its pods, and who has them.

use std::collections::BTreeMap;

use crate::Numbers;

/// What a node has of one pool. `O` is the owner of an address.
///
/// The controller gives ranges and takes back only what the node returned. An address that was returned is given to no
/// pod from that moment on, whatever the controller has written so far.
#[derive(Debug, Clone)]
pub struct Block<O> {
    given: Numbers,
    returned: Numbers,
    used: BTreeMap<u128, O>,
    /// Kept for pods that ask for them by name.
    reserved: Numbers,
    last: Option<u128>,
}

/// An address is in use by somebody else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken<O>(pub O);

impl<O> Default for Block<O> {
    fn default() -> Self {
        Self {
            given: Numbers::new(),
            returned: Numbers::new(),
            used: BTreeMap::new(),
            reserved: Numbers::new(),
            last: None,
        }
    }
}

impl<O: Clone + PartialEq> Block<O> {
    /// Takes what the controller has written. What it no longer gives need not be returned any more.
    pub fn given(&mut self, ranges: Numbers) {
        self.returned = self.returned.both(&ranges);
        self.given = ranges;
    }

    /// Takes over what an earlier process of this node returned.
    pub fn returned_before(&mut self, ranges: &Numbers) {
        self.returned.add(&self.given.both(ranges));
    }

    /// The ranges that the controller gave, whether they are used or not.
    pub fn ranges(&self) -> &Numbers {
        &self.given
    }

    /// What the node gives back, as it is to be written.
    pub fn returned(&self) -> &Numbers {
        &self.returned
    }

    /// The addresses that a next pod can have.
    pub fn free(&self) -> Numbers {
        let mut free = self.given.without(&self.returned).without(&self.reserved);
        for used in self.used.keys() {
            free.remove(*used, *used);
        }
        free
    }

    /// Who has which address.
    pub fn used(&self) -> impl Iterator<Item = (u128, &O)> {
        self.used.iter().map(|(address, owner)| (*address, owner))
    }

    /// Keeps addresses for pods that ask for them by name.
    pub fn reserve(&mut self, asked: Numbers) {
        self.reserved = asked;
    }

    /// Whether an address may be given to a pod that asks for it by name.
    pub fn has(&self, address: u128) -> bool {
        self.given.contains(address) && !self.returned.contains(address)
    }

    /// Gives these back, as far as nobody has or asks for them.
    pub fn give_back_these(&mut self, these: &Numbers) {
        let surplus = self.free().both(these);
        self.returned.add(&surplus);
    }

    /// The next address of the pool after the one that was given last, starting over at the end: one that was just
    /// released is not given again while others are free.
    pub fn next(&mut self, owner: O, pool: &Numbers) -> Option<u128> {
        let free = self.free().both(pool);
        let after = self.last.and_then(|last| last.checked_add(1)).and_then(|from| free.at_or_after(from));
        let address = after.or_else(|| free.at_or_after(0))?;
        self.last = Some(address);
        self.used.insert(address, owner);
        Some(address)
    }

    /// Records that an owner has an address: one that was recorded before, or was asked for by name.
    pub fn take(&mut self, address: u128, owner: O) -> Result<(), Taken<O>> {
        match self.used.get(&address) {
            Some(other) if *other != owner => Err(Taken(other.clone())),
            _ => {
                self.used.insert(address, owner);
                Ok(())
            }
        }
    }

    /// Where the search for the next address goes on, as an earlier process left it.
    pub fn go_on_after(&mut self, address: u128) {
        self.last = Some(address);
    }

    /// An owner no longer has an address. Nothing happens when somebody else has it.
    pub fn release(&mut self, address: u128, owner: &O) -> bool {
        let own = self.used.get(&address).is_some_and(|has| has == owner);
        if own {
            self.used.remove(&address);
        }
        own
    }

    /// Gives back the highest free addresses, so many that `keep` free ones stay. Gives whether there were any.
    pub fn give_back(&mut self, keep: u128) -> bool {
        let free = self.free();
        let surplus = free.highest(free.count().saturating_sub(keep));
        self.returned.add(&surplus);
        !surplus.is_empty()
    }
}
