//! Which routing table each VRF of a node has.
//!
//! A VRF keeps the table that its device has, for as long as it is there. A new one gets the lowest free number, where
//! nothing is free that any VRF of the node has, also one that is about to go.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::RangeInclusive,
};

use crate::error::RenderError;

/// Where the tables of VRFs are that the agent makes.
pub const TABLES: RangeInclusive<u32> = 10_000..=11_999;

/// The table of each VRF by name: of those that are `wanted`, each with its path, and of those that the node has.
pub(crate) fn assign<'a>(
    wanted: impl Iterator<Item = (&'a String, String)>,
    there: &BTreeMap<String, u32>,
) -> Result<BTreeMap<String, u32>, RenderError> {
    let mut all = there.clone();
    let mut taken: BTreeSet<u32> = there.values().copied().collect();
    for (name, path) in wanted.filter(|(name, _)| !there.contains_key(*name)) {
        let full = || {
            let message = format!("all {} tables for VRFs are in use on the node", TABLES.count());
            RenderError::conflict(path, message)
        };
        let table = TABLES.clone().find(|table| !taken.contains(table)).ok_or_else(full)?;
        taken.insert(table);
        all.insert(name.clone(), table);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assigned(wanted: &[&str], there: &BTreeMap<String, u32>) -> BTreeMap<String, u32> {
        let names: Vec<String> = wanted.iter().map(|name| (*name).to_owned()).collect();
        assign(names.iter().map(|name| (name, String::new())), there).unwrap()
    }

    #[test]
    fn a_table_stays_with_its_vrf() {
        let first = assigned(&["b", "d"], &BTreeMap::from([("cluster".to_owned(), 10)]));
        assert_eq!((first["b"], first["d"]), (10_000, 10_001));
        let second = assigned(&["a", "d"], &first);
        assert_eq!((second["a"], second["d"]), (10_002, 10_001), "the table of b is in use until b is gone");
    }

    #[test]
    fn the_range_ends() {
        let there = TABLES.map(|table| (format!("v{table}"), table)).collect();
        let name = "one-more".to_owned();
        let error = assign([(&name, "spec.fabricVRFs.one-more".to_owned())].into_iter(), &there).unwrap_err();
        assert_eq!(error.reason(), "Conflict");
        assert_eq!(TABLES.count(), 2000);
    }
}
