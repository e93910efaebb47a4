//! How the addresses of a pool are shared among nodes: what each of them gets now, and what it is asked to return.

use crate::Numbers;

/// What a node has of a pool and how much it wants.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Holding {
    /// The ranges that it was given.
    pub given: Numbers,
    /// What it returns of them.
    pub returned: Numbers,
    /// Addresses that it asks for by name; they need not be of the pool.
    pub asked: Numbers,
    /// How many addresses it cannot do without: those in use, and one for each pod that waits.
    pub needed: u128,
    /// How many addresses it wants to have altogether, with some ahead.
    pub wanted: u128,
}

/// What a node is to have from now on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Given {
    /// The ranges; without what it returned.
    pub ranges: Numbers,
    /// How many free addresses it may keep while others wait for some; nobody waits when absent.
    pub spare: Option<u128>,
    /// What of its ranges others ask for by name.
    pub back: Numbers,
}

/// Gives what is asked for by name to the first who asks, unless another one has it, who is told then.
fn give_asked(given: &mut [Given], holdings: &[Holding]) {
    for (place, holding) in holdings.iter().enumerate() {
        let mut missing = holding.asked.without(&given[place].ranges);
        for (_, other) in given.iter_mut().enumerate().filter(|(other, _)| *other != place) {
            let theirs = other.ranges.both(&missing);
            missing.subtract(&theirs);
            other.back.add(&theirs);
        }
        // What it still returns could be meant by either side.
        given[place].ranges.add(&missing.without(&holding.returned));
    }
}

/// Shares a pool. `free_of` is what may be given at all: the pool without claims and without addresses that nobody
/// gets. Results are in the order of `holdings`, which must be the same at each call (by name, for instance), since it
/// decides who is first.
///
/// Nobody gets what another node was given and has not returned, nor what it itself still returns.
pub fn share(pool: &Numbers, holdings: &[Holding]) -> Vec<Given> {
    let mut given: Vec<Given> = holdings
        .iter()
        .map(|holding| Given { ranges: holding.given.without(&holding.returned), ..Given::default() })
        .collect();
    give_asked(&mut given, holdings);
    let mut free = pool.clone();
    for one in &given {
        free.subtract(&one.ranges);
    }
    let mut somebody_waits = false;
    // What is needed comes first for everybody, what is ahead comes after it.
    for ahead in [false, true] {
        for (one, holding) in given.iter_mut().zip(holdings) {
            let asked = if ahead { holding.wanted } else { holding.needed };
            let missing = asked.saturating_sub(one.ranges.count());
            // What it still returns could be meant by either side: it gets others.
            let part = free.without(&holding.returned).lowest(missing);
            free.subtract(&part);
            somebody_waits |= !ahead && part.count() < missing;
            one.ranges.add(&part);
        }
    }
    // Addresses that are only ahead are no reason to take some from others.
    if somebody_waits {
        for one in &mut given {
            one.spare = Some(0);
        }
    }
    given
}
