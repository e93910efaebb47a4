//! The addresses of one network that this node has.

use std::net::IpAddr;

use netloom_api::podnet::{Counts, Family, IPBlock, Ranges};
use netloom_ipam::{Block, Numbers, Pool, address, number};

use super::FAMILIES;

/// How many free addresses a node keeps ahead of its pods, of a network that it has pods of.
const AHEAD: u32 = 4;
/// So many free addresses more than that are kept before some are returned: pods come and go.
const LEEWAY: u128 = 16;

/// Who has an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Owner {
    pub(super) container: String,
    pub(super) ifname: String,
}

/// What becomes of an address that a pod asks for by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Named {
    /// The pod has it.
    Given,
    /// Another pod of this node has it.
    TakenHere,
    /// A pod of another node has it.
    TakenElsewhere,
    /// The controller is asked for it.
    Asked,
}

/// Both families of a network.
#[derive(Debug, Clone, Default)]
pub(super) struct Addresses {
    ipv4: Block<Owner>,
    ipv6: Block<Owner>,
    /// What pods of other nodes have of what was asked for by name.
    refused: Ranges,
    /// Whether this process has written the block; before that an earlier one may still return what it has.
    is_ours: bool,
}

impl Addresses {
    fn of(&self, family: Family) -> &Block<Owner> {
        match family {
            Family::Ipv4 => &self.ipv4,
            Family::Ipv6 => &self.ipv6,
        }
    }

    fn of_mut(&mut self, family: Family) -> &mut Block<Owner> {
        match family {
            Family::Ipv4 => &mut self.ipv4,
            Family::Ipv6 => &mut self.ipv6,
        }
    }

    /// Takes over what the controller has written, and what an earlier process of this node has returned.
    pub(super) fn given(&mut self, block: &IPBlock, waiting: Counts, is_ours: bool) {
        let status = block.status.clone().unwrap_or_default();
        for family in FAMILIES {
            let read = |texts: &[String]| Numbers::of_addresses(texts.iter().map(String::as_str)).unwrap_or_default();
            let own = self.of_mut(family);
            own.given(read(status.ranges.of(family)));
            own.returned_before(&read(block.spec.returned.of(family)));
            own.give_back_these(&read(status.back.of(family)));
            if let Some(keep) = status.spare.of(family) {
                own.give_back(u128::from(keep.max(waiting.of(family))));
            }
        }
        self.refused = status.refused;
        self.is_ours = is_ours;
    }

    /// The block is gone, and with it everything that is not in use.
    pub(super) fn lost(&mut self) {
        for family in FAMILIES {
            self.of_mut(family).given(Numbers::new());
        }
        self.refused = Ranges::default();
        self.is_ours = false;
    }

    /// The next free address of a pool.
    pub(super) fn next(&mut self, pool: &Pool, owner: Owner) -> Option<IpAddr> {
        if !self.is_ours {
            return None;
        }
        let family = Family::of(pool.start());
        self.of_mut(family).next(owner, &pool.dynamic()).map(|number| address(number, pool.like()))
    }

    /// Gives an owner the address that it asks for by name.
    pub(super) fn named(&mut self, address: IpAddr, owner: &Owner) -> Named {
        let family = Family::of(address);
        let refused = Numbers::of_addresses(self.refused.of(family).iter().map(String::as_str)).unwrap_or_default();
        let is_ours = self.is_ours;
        let block = self.of_mut(family);
        if block.used().any(|(used, other)| used == number(address) && other != owner) {
            Named::TakenHere
        } else if is_ours && block.has(number(address)) {
            match block.take(number(address), owner.clone()) {
                Ok(()) => Named::Given,
                Err(_) => Named::TakenHere,
            }
        } else if refused.contains(number(address)) {
            Named::TakenElsewhere
        } else {
            Named::Asked
        }
    }

    /// Keeps what pods ask for by name, and returns what no pod may have without asking for it.
    pub(super) fn reserve(&mut self, asked: &Ranges, pools: [Option<&Pool>; 2]) {
        for (family, pool) in FAMILIES.into_iter().zip(pools) {
            let names = Numbers::of_addresses(asked.of(family).iter().map(String::as_str)).unwrap_or_default();
            let block = self.of_mut(family);
            block.reserve(names);
            let outside = block.ranges().without(&pool.map(Pool::dynamic).unwrap_or_default());
            block.give_back_these(&outside);
        }
    }

    /// Records that an owner has an address.
    pub(super) fn take(&mut self, address: IpAddr, owner: &Owner) {
        let block = self.of_mut(Family::of(address));
        // Two records with one address cannot be: the first keeps it.
        if block.take(number(address), owner.clone()).is_ok() {
            block.go_on_after(number(address));
        }
    }

    /// An owner no longer has an address.
    pub(super) fn release(&mut self, address: IpAddr, owner: &Owner) {
        self.of_mut(Family::of(address)).release(number(address), owner);
    }

    /// How many addresses are needed, and how many wanted, when so many are waited for.
    pub(super) fn demand(&self, waiting: Counts) -> (Counts, Counts) {
        let (mut needed, mut wanted) = (Counts::default(), Counts::default());
        for family in FAMILIES {
            let used = u32::try_from(self.of(family).used().count()).unwrap_or(u32::MAX);
            let need = used.saturating_add(waiting.of(family));
            *needed.of_mut(family) = need;
            *wanted.of_mut(family) = if need == 0 { 0 } else { need.saturating_add(AHEAD) };
        }
        (needed, wanted)
    }

    /// Returns what is far more than wanted.
    pub(super) fn give_back(&mut self, wanted: Counts) {
        for family in FAMILIES {
            let wanted = u128::from(wanted.of(family));
            let block = self.of_mut(family);
            let usable = block.ranges().without(block.returned()).count();
            let leeway = if wanted == 0 { 0 } else { LEEWAY };
            if usable > wanted.saturating_add(leeway) {
                let used = u128::try_from(block.used().count()).unwrap_or(u128::MAX);
                block.give_back(wanted.saturating_sub(used));
            }
        }
    }

    /// What is returned, as it is written.
    pub(super) fn returned(&self) -> Ranges {
        let mut ranges = Ranges::default();
        for family in FAMILIES {
            *ranges.of_mut(family) = self.of(family).returned().to_addresses(family.everything().addr());
        }
        ranges
    }
}
