//! The operator configuration: what the fabric of a cluster is told once, beside its objects.
//!
//! It stands in the `ConfigMap` `netloom-config` or in a file; both say the same, and everything has a usual value. A key
//! that is not known is refused: what somebody misspelt would be ignored otherwise. Pure; compiler, rules and tools read it
//! with the functions here, so that it means the same to all of them.

use std::collections::BTreeMap;

use netloom_schema::decode::{Limits, yaml};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::text::RouteTarget;

/// The namespace of the `ConfigMap`.
pub const NAMESPACE: &str = "netloom-system";
/// The name of the `ConfigMap`.
pub const NAME: &str = "netloom-config";
/// The key of its data that has the configuration.
pub const KEY: &str = "config.yaml";

/// The annotation of the `ConfigMap` that says why it is not in effect.
pub const REFUSED: &str = "netloom.dev/not-in-effect";

/// The largest VXLAN network identifier.
const MOST_VNI: u32 = 16_777_215;

/// The operator configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OperatorConfig {
    /// VNI and route target by the name of a VRF, for objects that leave them out.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub vrf_config: BTreeMap<String, VrfIdentity>,
    /// The same without a route target; `vrfConfig` goes before it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub vnimap: BTreeMap<String, u32>,
    /// The identifiers for segments whose network has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vni_range: Option<VniRange>,
    /// What tells this cluster from others on the same fabric.
    #[serde(default, rename = "clusterID", skip_serializing_if = "String::is_empty")]
    pub cluster_id: String,
    /// The autonomous system of workloads that name none.
    #[serde(default = "usual_as", rename = "workloadAS")]
    pub workload_as: WorkloadAs,
    /// What carries the fabric on the nodes.
    #[serde(default)]
    pub flavour: Flavour,
}

/// How the fabric knows a VRF.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VrfIdentity {
    /// Its VXLAN network identifier.
    pub vni: u32,
    /// Its route target; without it the routing daemon derives one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rt: Option<RouteTarget>,
}

/// Identifiers from one to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VniRange {
    /// The first.
    pub min: u32,
    /// The last.
    pub max: u32,
}

/// The number of an autonomous system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct WorkloadAs(pub u32);

impl Default for WorkloadAs {
    fn default() -> Self {
        usual_as()
    }
}

/// What carries the fabric on the nodes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Flavour {
    /// EVPN by FRR beside the node's own network.
    #[default]
    Evpn,
    /// The same, in clusters whose load balancers may be brought by tenants.
    LegacyFrr,
}

/// The first of those for private use.
fn usual_as() -> WorkloadAs {
    WorkloadAs(64_512)
}

impl OperatorConfig {
    /// Reads a document; the error says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        let read = yaml(text.as_bytes(), Limits::default()).map_err(|error| error.to_string())?;
        if let Some(twice) = read.duplicates.first() {
            return Err(twice.clone());
        }
        Self::of_value(read.value)
    }

    /// Reads the `ConfigMap`.
    pub fn of_config_map(object: &Value) -> Result<Self, String> {
        let data = object.get("data").and_then(Value::as_object);
        if let Some(other) = data.into_iter().flatten().map(|(key, _)| key).find(|key| *key != KEY) {
            return Err(format!("data.{other} is not known; the configuration stands in data[{KEY:?}]"));
        }
        match data.and_then(|data| data.get(KEY)?.as_str()) {
            Some(text) => Self::parse(text).map_err(|why| format!("data[{KEY:?}]: {why}")),
            None => Ok(Self::default()),
        }
    }

    /// The `ConfigMap` that says the same as a document, for whoever reads objects.
    pub fn config_map(text: &str) -> Value {
        json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": NAMESPACE, "name": NAME},
            "data": {KEY: text},
        })
    }

    fn of_value(value: Value) -> Result<Self, String> {
        if value.is_null() {
            return Ok(Self::default());
        }
        let config: Self = serde_json::from_value(value).map_err(|error| error.to_string())?;
        config.check()?;
        Ok(config)
    }

    fn check(&self) -> Result<(), String> {
        let vni = |path: String, vni: u32| {
            if (1..=MOST_VNI).contains(&vni) {
                Ok(())
            } else {
                Err(format!("{path}: {vni} is not from 1 to {MOST_VNI}"))
            }
        };
        for (name, identity) in &self.vrf_config {
            vni(format!("vrfConfig.{name}.vni"), identity.vni)?;
        }
        for (name, number) in &self.vnimap {
            vni(format!("vnimap.{name}"), *number)?;
        }
        if let Some(VniRange { min, max }) = self.vni_range {
            vni("vniRange.min".to_owned(), min)?;
            vni("vniRange.max".to_owned(), max)?;
            if min > max {
                return Err(format!("vniRange: min {min} is above max {max}"));
            }
        }
        if matches!(self.workload_as.0, 0 | u32::MAX) {
            return Err(format!("workloadAS: {} is reserved", self.workload_as.0));
        }
        Ok(())
    }

    /// How the fabric knows a VRF, as far as that is configured here.
    pub fn identity(&self, vrf: &str) -> Option<VrfIdentity> {
        let listed = || self.vnimap.get(vrf).map(|vni| VrfIdentity { vni: *vni, rt: None });
        self.vrf_config.get(vrf).cloned().or_else(listed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_has_a_usual_value() {
        let usual = OperatorConfig::default();
        assert_eq!(OperatorConfig::parse(""), Ok(usual.clone()));
        assert_eq!(OperatorConfig::parse("{}"), Ok(usual.clone()));
        assert_eq!((usual.workload_as.0, usual.flavour, usual.vni_range), (64_512, Flavour::Evpn, None));
        assert_eq!(OperatorConfig::of_config_map(&OperatorConfig::config_map("")), Ok(usual));
    }

    #[test]
    fn a_vrf_is_looked_up_in_both_maps() {
        let text = "vrfConfig: {a: {vni: 7, rt: '64500:7'}, b: {vni: 8}}\nvnimap: {b: 9, c: 10}\n";
        let config = OperatorConfig::parse(text).unwrap();
        let vni = |name: &str| config.identity(name).map(|identity| identity.vni);
        assert_eq!(["a", "b", "c", "d"].map(vni), [Some(7), Some(8), Some(10), None]);
        assert_eq!(config.identity("a").unwrap().rt, Some("64500:7".into()));
    }

    #[test]
    fn what_is_misspelt_or_impossible_is_refused() {
        let table = [
            ("vniRanges: {}", "unknown field `vniRanges`"),
            ("vniRange: {min: 9, max: 8}", "vniRange: min 9 is above max 8"),
            ("vnimap: {a: 16777216}", "vnimap.a: 16777216 is not from 1 to 16777215"),
            ("vrfConfig: {a: {vni: 1, target: x}}", "unknown field `target`"),
            ("workloadAS: 0", "workloadAS: 0 is reserved"),
            ("flavour: x", "unknown variant `x`"),
            ("clusterID: a\nclusterID: b", "\"clusterID\" already set"),
        ];
        for (text, wanted) in table {
            let why = OperatorConfig::parse(text).unwrap_err();
            assert!(why.contains(wanted), "{text}: {why}");
        }
        let mut object = OperatorConfig::config_map("");
        object["data"]["config.yml"] = json!("");
        assert!(OperatorConfig::of_config_map(&object).unwrap_err().contains("config.yml is not known"));
    }
}
