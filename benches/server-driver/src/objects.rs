//! What is written.

use bytes::Bytes;
use serde_json::json;

/// Bytes of text in an object: about those of a small custom resource.
const TEXT: usize = 1024;
/// Definitions of one router.
const DESTINATIONS: usize = 100;

/// Where objects of one kind are.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    pub path: &'static str,
    /// The n-th object, in its `edition`-th form.
    pub make: fn(number: usize, edition: usize) -> Bytes,
    /// The name of the n-th object.
    pub name: fn(number: usize) -> String,
}

/// A kind that every server has, and that no rule of ours looks at.
pub const CONFIG_MAPS: Place =
    Place { path: "/api/v1/namespaces/default/configmaps", make: config_map, name: |number| format!("o{number}") };
/// What the destinations below are in.
pub const VRFS: Place =
    Place { path: "/apis/network.t-caas.telekom.com/v1alpha1/vrfs", make: vrf, name: |number| format!("v{number}") };
/// A kind of ours that rules look at.
pub const DESTINATIONS_OF_VRFS: Place = Place {
    path: "/apis/network.t-caas.telekom.com/v1alpha1/destinations",
    make: destination,
    name: |number| format!("d{number}"),
};

impl Place {
    /// The path of the n-th object.
    pub fn path_of(&self, number: usize) -> String {
        format!("{}/{}", self.path, (self.name)(number))
    }
}

/// How many VRFs so many destinations are in.
pub fn vrfs_for(destinations: usize) -> usize {
    destinations.div_ceil(DESTINATIONS)
}

fn config_map(number: usize, edition: usize) -> Bytes {
    let text = format!("{edition:>TEXT$}");
    let object = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": format!("o{number}"), "labels": {"number": number.to_string()}},
        "data": {"text": text},
    });
    object.to_string().into()
}

fn vrf(number: usize, _: usize) -> Bytes {
    let object = json!({
        "apiVersion": "network.t-caas.telekom.com/v1alpha1", "kind": "VRF",
        "metadata": {"name": format!("v{number}")},
        "spec": {"vrf": format!("v{number}"), "vni": 1000 + number, "routeTarget": format!("1:{number}")},
    });
    object.to_string().into()
}

fn destination(number: usize, edition: usize) -> Bytes {
    let (vrf, place) = (number / DESTINATIONS, number % DESTINATIONS);
    let prefixes: Vec<String> = (0..20).map(|n| format!("10.{place}.{n}.0/24")).collect();
    let object = json!({
        "apiVersion": "network.t-caas.telekom.com/v1alpha1", "kind": "Destination",
        "metadata": {"name": format!("d{number}"), "labels": {"zone": format!("z{number}"), "edition": edition.to_string()}},
        "spec": {"vrfRef": format!("v{vrf}"), "prefixes": prefixes},
    });
    object.to_string().into()
}
