//! Which routing table each VRF of a node has.
//!
//! A table follows from what the VRF is: so it is the same after a restart and on every node, and stays when other VRFs
//! come and go. Those of the base file have the table that the file names.

use std::collections::BTreeMap;

use netloom_api::pipeline::node_network_config::NodeNetworkConfigSpec;
use sha2::{Digest as _, Sha256};

use crate::{base::Base, error::RenderError};

/// A VRF of the fabric has its VNI behind this.
const FABRIC: u32 = 1_000_000_000;
/// A VRF of the node alone has a number made of its name behind this.
const LOCAL: u32 = 1_100_000_000;
/// So many numbers are for those.
const LOCAL_NUMBERS: u32 = 100_000_000;

/// The table of each VRF by name.
pub(crate) fn of(config: &NodeNetworkConfigSpec, base: &Base) -> Result<BTreeMap<String, u32>, RenderError> {
    let base = base.vrfs().map(|vrf| (vrf.name.to_string(), vrf.table));
    let fabric = config.fabric_vrfs.iter().map(|(name, vrf)| (name.clone(), FABRIC.saturating_add(vrf.vni)));
    let mut all: BTreeMap<String, u32> = base.chain(fabric).collect();
    let mut taken: BTreeMap<u32, &str> = BTreeMap::new();
    for name in config.local_vrfs.keys() {
        let table = LOCAL + number(name);
        if let Some(other) = taken.insert(table, name) {
            let message = format!("comes to the same table as {other}; rename one of them");
            return Err(RenderError::conflict(format!("spec.localVRFs.{name}"), message));
        }
        all.insert(name.clone(), table);
    }
    Ok(all)
}

/// The number that is made of a name.
fn number(name: &str) -> u32 {
    let digest = Sha256::digest(name.as_bytes());
    u32::from_be_bytes([digest[0], digest[1], digest[2], digest[3]]) % LOCAL_NUMBERS
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tables(config: serde_json::Value) -> BTreeMap<String, u32> {
        let base = Base::parse(
            "vtepLoopbackIP: 192.0.2.1\ntrunkInterfaceName: hbn\nlocalASN: 64512\nclusterVRF: {name: cluster}\n\
             managementVRF: {name: oob, table: 77}\n",
        );
        of(&serde_json::from_value(config).unwrap(), &base.unwrap()).unwrap()
    }

    #[test]
    fn a_table_depends_on_its_vrf_alone() {
        let targets = json!({"evpnImportRouteTargets": [], "evpnExportRouteTargets": []});
        let fabric = |vni: u32| {
            let mut vrf = targets.clone();
            vrf["vni"] = json!(vni);
            vrf
        };
        let few = tables(json!({"fabricVRFs": {"red": fabric(10_100)}, "localVRFs": {"s-red": {}}}));
        assert_eq!((few["cluster"], few["oob"], few["red"]), (10, 77, 1_000_010_100));
        let more = tables(
            json!({"fabricVRFs": {"blue": fabric(1), "red": fabric(10_100)}, "localVRFs": {"a": {}, "s-red": {}}}),
        );
        assert!(few.iter().all(|(name, table)| more[name] == *table), "{few:?} {more:?}");
    }
}
