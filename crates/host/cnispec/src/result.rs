//! The result of ADD: interfaces, addresses and routes, in any version.

use std::net::IpAddr;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::Version;

/// What a container was attached with. It is also what is written down of it, so it can be read again.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Attached {
    /// Interfaces; addresses refer to them by their place here.
    pub interfaces: Vec<Interface>,
    /// Addresses.
    pub ips: Vec<Ip>,
    /// Routes.
    pub routes: Vec<Route>,
    /// Name servers and their like, which are passed on as they are.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub dns: Map<String, Value>,
}

/// An interface.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// Its hardware address.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub mac: String,
    /// Its largest packet; since 1.1.0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mtu: Option<u32>,
    /// Path of the network namespace that it is in; none for one of the host.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub sandbox: String,
    /// A socket in its place; since 1.1.0.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub socket_path: String,
    /// The device below it; since 1.1.0.
    #[serde(rename = "pciID", skip_serializing_if = "String::is_empty")]
    pub pci_id: String,
}

/// An address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ip {
    /// The place of its interface in the list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface: Option<usize>,
    /// The address with the length of its prefix.
    pub address: IpNet,
    /// The gateway of its network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gateway: Option<IpAddr>,
}

/// A route.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Route {
    /// Where to.
    pub dst: IpNet,
    /// Over whom.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gw: Option<IpAddr>,
    /// Since 1.1.0, as are the fields below.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu: Option<u32>,
    /// Largest segment to announce.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advmss: Option<u32>,
    /// Its metric.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<u32>,
    /// Its table; the main one when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table: Option<u32>,
    /// Its scope.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<u32>,
}

/// Why a value is no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadResult {
    /// It does not have the form.
    #[error("not a result of CNI: {0}")]
    Form(String),
    /// An address names an interface that is not there.
    #[error("address {address} is on interface {interface}, but there are {interfaces}")]
    NoInterface {
        /// The address.
        address: IpNet,
        /// The place that it names.
        interface: usize,
        /// How many there are.
        interfaces: usize,
    },
}

impl Attached {
    /// Reads a result of any supported version. The family of an address is that of its text; the field that named it
    /// before 1.0.0 is not looked at. A negative place of an interface, which old plugins print, is none.
    pub fn read(value: &Value) -> Result<Self, BadResult> {
        let mut value = value.clone();
        for ip in value.get_mut("ips").and_then(Value::as_array_mut).into_iter().flatten() {
            if let Some(ip) = ip.as_object_mut()
                && ip.get("interface").and_then(Value::as_i64).is_some_and(|place| place < 0)
            {
                ip.remove("interface");
            }
        }
        for key in ["interfaces", "ips", "routes", "dns"] {
            if value.get(key).is_some_and(Value::is_null)
                && let Some(keys) = value.as_object_mut()
            {
                keys.remove(key);
            }
        }
        let attached = Self::deserialize(value).map_err(|why| BadResult::Form(why.to_string()))?;
        let interfaces = attached.interfaces.len();
        let beyond = |ip: &&Ip| ip.interface.is_some_and(|place| place >= interfaces);
        match attached.ips.iter().find(beyond) {
            Some(Ip { address, interface, .. }) => {
                Err(BadResult::NoInterface { address: *address, interface: interface.unwrap_or_default(), interfaces })
            }
            None => Ok(attached),
        }
    }

    /// The result as a runtime of this version reads it.
    pub fn to_json(&self, version: Version) -> Value {
        let mut value = serde_json::to_value(self).unwrap_or_default();
        if version < Version::V1_1_0 {
            strip(&mut value, "interfaces", &["mtu", "socketPath", "pciID"]);
            strip(&mut value, "routes", &["mtu", "advmss", "priority", "table", "scope"]);
        }
        if version < Version::V1_0_0 {
            let ips = value.get_mut("ips").and_then(Value::as_array_mut).into_iter().flatten();
            for (json, ip) in ips.zip(&self.ips) {
                json["version"] = if ip.address.addr().is_ipv4() { "4" } else { "6" }.into();
            }
        }
        if self.dns.is_empty() {
            value["dns"] = json!({});
        }
        value["cniVersion"] = version.name().into();
        value
    }

    /// Appends another result; its addresses keep their interfaces.
    pub fn append(&mut self, other: Self) {
        let before = self.interfaces.len();
        self.interfaces.extend(other.interfaces);
        self.ips
            .extend(other.ips.into_iter().map(|ip| Ip { interface: ip.interface.map(|place| place + before), ..ip }));
        self.routes.extend(other.routes);
        for (key, value) in other.dns {
            self.dns.entry(key).or_insert(value);
        }
    }
}

fn strip(value: &mut Value, list: &str, fields: &[&str]) {
    for entry in value.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(entry) = entry.as_object_mut() {
            for field in fields {
                entry.remove(*field);
            }
        }
    }
}

/// What a delegate gets that asks `fakeipam` for addresses: those of its own configuration. Gives none where it has
/// none, which is an error there.
pub fn fake_ipam(config: &Value) -> Option<Attached> {
    let list = config.get("ipam")?.get("ips")?.as_array()?;
    let ips: Option<Vec<Ip>> = list
        .iter()
        .map(|entry| {
            let address = entry.get("ipcidr")?.as_str()?.parse().ok()?;
            Some(Ip { interface: None, address, gateway: None })
        })
        .collect();
    let ips = ips.filter(|ips| !ips.is_empty())?;
    Some(Attached { ips, ..Attached::default() })
}
